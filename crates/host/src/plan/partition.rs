// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! CPUs that the scheduler does not balance over, by control groups.
//!
//! Version 2 has partitions: a group `punctual` that owns the CPUs. Version 1 balances over the sets
//! that ask for it: the root stops asking, a set of the housekeeping CPUs asks, one of the real-time
//! CPUs does not (Documentation/admin-guide/cgroup-v1/cpusets.rst, cgroup-v2.rst).

use punctual_model::{Codec, CpuSet, PlanStep, SkipReason, Target};

use super::{Planner, part};
use crate::knob::{BalancedSet, KnobKind, Part, PartitionRoot, Survey};
use crate::profile::{Value, Want};

/// The group of the CPUs for real-time work.
pub(crate) const PARTITION: &str = "punctual";

/// Whether a partition of version 2 is wanted.
pub(super) fn closes(wants: &[Want], survey: &Survey) -> bool {
    let is_it = |want: &Want| matches!(want.knob.kind, KnobKind::Partition);
    matches!(survey.partition, Some(PartitionRoot::V2 { .. })) && wants.iter().any(is_it)
}

impl Planner<'_> {
    /// Plans a partition of the CPUs for real-time work.
    pub(super) fn partition(&mut self, wants: &[Want]) {
        let wanted = wants.iter().rev().find_map(|want| match &want.value {
            Value::Plain(kind) if matches!(want.knob.kind, KnobKind::Partition) => {
                Some((want.knob.name, kind.clone()))
            }
            _ => None,
        });
        let Some((knob, kind)) = wanted else { return };
        if self.plan.cpus_rt.without(&self.survey.isolated).is_empty() {
            // isolcpus has done it at boot.
            self.plan.satisfied += 1;
            return;
        }
        let none = "no cpuset control group is mounted at /sys/fs/cgroup";
        match &self.survey.partition {
            None => self.skip(knob, None, SkipReason::Absent, none),
            Some(PartitionRoot::V2 {
                isolates: false, ..
            }) if kind == "isolated" => {
                let detail = "this kernel has no isolated partitions (Linux 6.1 and newer have)";
                self.skip(knob, None, SkipReason::Absent, detail);
            }
            Some(PartitionRoot::V2 { path, enabled, .. }) => {
                self.v2(knob, &path.clone(), *enabled, &kind)
            }
            Some(PartitionRoot::V1 {
                balanced: false, ..
            }) => {
                let detail = "the CPUs are already partitioned (cpuset.sched_load_balance is 0)";
                self.skip(knob, None, SkipReason::Bound, detail);
            }
            Some(PartitionRoot::V1 {
                path, mems, others, ..
            }) => match others.iter().find(|set| self.stays_balanced(set)) {
                Some(set) => {
                    let detail = format!(
                        "the cpuset {} has some of these CPUs too, and the scheduler goes on to balance over \
                         them (cpuset.sched_load_balance is 1)",
                        set.group
                    );
                    self.skip(knob, None, SkipReason::NoSuchValue, &detail);
                }
                None => self.v1(knob, &path.clone(), &mems.clone()),
            },
        }
    }

    /// Whether the plan makes a partition of version 2: nothing outside has its CPUs.
    pub(super) fn is_closed(&self) -> bool {
        self.plan.steps.iter().any(|step| {
            matches!(&step.target, Target::File { path } if path.ends_with("/cpuset.cpus.partition"))
        })
    }

    /// Whether a set of somebody else would keep the scheduler balancing over CPUs for real-time work. The kernel refuses to take
    /// CPUs from a set while sets in it have them.
    fn stays_balanced(&self, set: &BalancedSet) -> bool {
        let is_it = |step: &&PlanStep| {
            part(step) == Part::Group && step.instance.as_deref() == Some(&*set.group)
        };
        let step = self.plan.steps.iter().rfind(is_it);
        let narrowed: Option<CpuSet> = step.and_then(|step| step.new.parse().ok());
        let left = narrowed.filter(|new| set.inner.without(new).is_empty());
        let stays = left.as_ref().unwrap_or(&set.cpus);
        !set.group.starts_with(PARTITION) && !stays.common(&self.plan.cpus_rt).is_empty()
    }

    fn v2(&mut self, knob: &str, root: &str, enabled: bool, kind: &str) {
        if !enabled {
            let target = Target::Controller {
                path: format!("{root}/cgroup.subtree_control"),
                name: "cpuset".to_owned(),
            };
            self.presence(knob, target);
        }
        let group = format!("{root}/{PARTITION}");
        self.presence(
            knob,
            Target::Directory {
                path: group.clone(),
            },
        );
        let cpus = self.plan.cpus_rt.to_string();
        let file = |name: &str| format!("{group}/{name}");
        self.bare_step(knob, &file("cpuset.cpus"), Codec::List, ["", &cpus]);
        let partition = file("cpuset.cpus.partition");
        self.bare_step(knob, &partition, Codec::Word, ["member", kind]);
    }

    fn v1(&mut self, knob: &str, root: &str, mems: &str) {
        let sets = [
            (
                "punctual-housekeeping",
                self.plan.cpus_housekeeping.to_string(),
            ),
            (PARTITION, self.plan.cpus_rt.to_string()),
        ];
        for (name, cpus) in &sets {
            let group = format!("{root}/{name}");
            self.presence(
                knob,
                Target::Directory {
                    path: group.clone(),
                },
            );
            let file = |name: &str| format!("{group}/cpuset.{name}");
            self.bare_step(knob, &file("cpus"), Codec::List, ["", cpus]);
            self.bare_step(knob, &file("mems"), Codec::List, ["", mems]);
        }
        let balance = |group: &str| format!("{group}/cpuset.sched_load_balance");
        let own = balance(&format!("{root}/{PARTITION}"));
        self.bare_step(knob, &own, Codec::Flag, ["1", "0"]);
        self.bare_step(knob, &balance(root), Codec::Flag, ["1", "0"]);
    }

    fn presence(&mut self, knob: &str, target: Target) {
        let values = ["absent".to_owned(), "present".to_owned()];
        self.step(knob, None, target, Codec::Presence, values);
    }
}
