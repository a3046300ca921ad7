// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What a plan must not do, or not without being told twice.

use punctual_model::{CpuSet, Policy, Refusal, Target};

use super::{PARTITION, Planner, part};
use crate::doctor::named;
use crate::knob::{Part, all, playing};

/// The threads that a warning names.
const NAMED: usize = 5;

/// Begins a sentence about threads of programs.
pub(super) fn counted(threads: usize) -> String {
    match threads {
        1 => "1 thread of a program is".to_owned(),
        _ => format!("{threads} threads of programs are"),
    }
}

impl Planner<'_> {
    /// Adds refusals and warnings.
    pub(super) fn safety(&mut self) {
        self.cpus_stay();
        self.groups_keep_their_processes();
        self.groups_keep_their_cpus();
        self.partition_is_closed();
        self.khugepaged_begins_anew();
        self.throttling_stays();
        self.memory_stays();
        self.others_at_work();
        self.cores_are_shared();
        self.values();
    }

    fn refuse(&mut self, knob: &str, yes_overrides: bool, reason: String) {
        self.plan.refusals.push(Refusal {
            knob: knob.to_owned(),
            reason,
            yes_overrides,
        });
    }

    /// Returns the value that a step gives to a knob that there is one of.
    fn new_value(&self, knob: &str) -> Option<i64> {
        let step = self.plan.steps.iter().rfind(|step| step.knob == knob)?;
        step.new.parse().ok()
    }

    fn cpus_stay(&mut self) {
        let offline = self.going_offline();
        if offline.is_empty() {
            return;
        }
        if self.plan.cpus_online.without(&offline).is_empty() {
            let reason = format!("CPUs {offline} are all online CPUs");
            self.refuse(playing(Part::Cpu), false, reason);
        } else if offline.contains(0) && self.survey.x86 {
            let reason = "CPU 0 of an x86 machine may not come back online, and suspend needs it";
            self.refuse(playing(Part::Cpu), true, reason.to_owned());
        }
        let rt = offline.common(&self.plan.cpus_rt);
        if !rt.is_empty() {
            let verb = if rt.len() == 1 { "is" } else { "are" };
            let reason = format!("{} {verb} set apart for real-time work", named(&rt));
            self.refuse(playing(Part::Cpu), true, reason);
        }
        let bound = self
            .survey
            .threads
            .iter()
            .filter(|thread| !thread.kernel && thread.cpus.without(&offline).is_empty())
            .count();
        if bound > 0 {
            let they = match bound {
                1 => ["it runs", "is"],
                _ => ["they run", "are"],
            };
            self.plan.warnings.push(format!(
                "{} bound only to {}: {} elsewhere meanwhile, and {} bound again on revert",
                counted(bound),
                named(&offline),
                they[0],
                they[1]
            ));
        }
    }

    /// Warns of control groups (version 1) that lose their last CPU: the kernel moves their processes up, for good.
    fn groups_keep_their_processes(&mut self) {
        let offline = self.going_offline();
        if offline.is_empty() {
            return;
        }
        let survey = self.survey;
        for reading in survey.kept.iter().chain(&survey.readings) {
            let value = reading.shown.value.as_deref().unwrap_or_default();
            let cpus: CpuSet = value.parse().unwrap_or_default();
            let Target::File { path } = &reading.shown.target else {
                continue;
            };
            let group = path
                .strip_prefix("/sys/fs/cgroup/cpuset/")
                .and_then(|path| path.strip_suffix("/cpuset.cpus"));
            if let Some(group) = group
                && !cpus.is_empty()
                && cpus.without(&offline).is_empty()
            {
                self.plan.warnings.push(format!(
                    "the cpuset {group} loses its last CPU: the kernel moves its processes to the group above it, \
                     and revert does not move them back"
                ));
            }
        }
    }

    /// Warns of control groups that are confined as asked, by a list, although threads in them need other CPUs.
    fn groups_keep_their_cpus(&mut self) {
        let steps = self.plan.steps.iter();
        let warnings = steps
            .filter(|step| part(step) == Part::Group)
            .filter_map(|step| {
                let cpus = step.new.parse().ok()?;
                let why = self.needs_others(step.instance.as_deref()?, &cpus)?;
                Some(format!("{}: {why}", step.full_name()))
            });
        let warnings: Vec<String> = warnings.collect();
        self.plan.warnings.extend(warnings);
    }

    /// Warns that a partition of version 2 shuts out everything that is not in its group, also what is bound to its CPUs.
    fn partition_is_closed(&mut self) {
        if !self.is_closed() {
            return;
        }
        let rt = &self.plan.cpus_rt;
        let bound = self.survey.threads.iter().filter(|thread| {
            let inside = self.survey.groups.get(&thread.process);
            !thread.kernel
                && thread.cpus.without(rt).is_empty()
                && inside.is_none_or(|group| group != PARTITION)
        });
        let bound: Vec<String> = bound.map(|thread| thread.id.to_string()).collect();
        self.plan.warnings.push(format!(
            "nothing outside the control group {PARTITION} can use {} then, even if it is bound to nothing else: \
             `punctual tune run` puts its command there, `echo PID > /sys/fs/cgroup/{PARTITION}/cgroup.procs` any other \
             process",
            named(rt)
        ));
        if !bound.is_empty() {
            let first = bound.iter().take(NAMED).cloned().collect::<Vec<_>>();
            let more = if bound.len() > NAMED { ", ..." } else { "" };
            self.plan.warnings.push(format!(
                "{} bound only to {}: on other CPUs meanwhile, unless put into that group ({}{more})",
                counted(bound.len()),
                named(rt),
                first.join(", ")
            ));
        }
    }

    /// Warns where the kernel ends khugepaged, and starts one with its own CPUs and nice value later.
    fn khugepaged_begins_anew(&mut self) {
        let switched = self.plan.steps.iter().any(|step| {
            step.knob == "thp.enabled" && (step.new == "never") != (step.old == "never")
        });
        let online = &self.plan.cpus_online;
        let changed = self.survey.threads.iter().any(|thread| {
            let as_started = thread.policy == Some(Policy::Other { nice: 19 })
                && online.without(&thread.cpus).is_empty();
            thread.kernel && thread.id.name == "khugepaged" && !as_started
        });
        if switched && changed {
            self.plan.warnings.push(
                "khugepaged ends with huge pages: its CPUs and its nice value are not restored by revert"
                    .to_owned(),
            );
        }
    }

    fn throttling_stays(&mut self) {
        let [name, period] = [0, 1].map(|place| playing(Part::Budget(place)));
        let Some(runtime) = self.new_value(name) else {
            return;
        };
        let now = || self.survey.value(period)?.parse().ok();
        let period = self.new_value(period).or_else(now).unwrap_or(i64::MAX);
        if runtime == 0 {
            let reason = "with 0 no real-time thread runs any more, not even those of the kernel";
            self.refuse(name, true, reason.to_owned());
        } else if runtime < 0 || runtime >= period {
            let busy = self.busy_with_real_time();
            if self.plan.cpus_online.is_empty() {
                let reason = "which CPUs are online cannot be read here, and so not whether real-time threads keep all of them busy";
                self.refuse(name, true, reason.to_owned());
            } else if self.plan.cpus_online.without(&busy).is_empty() {
                let reason = format!(
                    "real-time threads run on every CPU ({busy}) now: without throttling nothing \
                     else may run any more, not even a terminal"
                );
                self.refuse(name, true, reason);
            } else {
                self.plan.warnings.push(
                    "without throttling, a real-time thread that never sleeps keeps its CPU; only the fair server of \
                     Linux 6.12 and later leaves others some of it"
                        .to_owned(),
                );
            }
        }
    }

    /// Returns the CPUs on which a real-time thread of a program is running or waiting.
    fn busy_with_real_time(&self) -> CpuSet {
        let threads = self.survey.threads.iter();
        let busy = threads.filter(|thread| {
            !thread.kernel && thread.runnable && thread.policy.is_some_and(Policy::is_real_time)
        });
        busy.map(|thread| thread.last_cpu).collect()
    }

    fn memory_stays(&mut self) {
        let Some(memory) = self.survey.memory_kib.filter(|kib| *kib > 0) else {
            return;
        };
        let huge_kib = self.survey.hugepage_kib.unwrap_or(2_048);
        for knob in all() {
            let Part::Memory { most, huge } = knob.part else {
                continue;
            };
            let number = self
                .new_value(knob.name)
                .and_then(|n| u64::try_from(n).ok());
            let asked = number.map(|n| n.saturating_mul(if huge { huge_kib } else { 1 }));
            let Some(asked) = asked.filter(|asked| *asked > memory / 100 * most) else {
                continue;
            };
            let reason = format!(
                "{asked} KiB of the machine's {memory} KiB, more than {most} %: programs may be \
                 killed for lack of memory"
            );
            self.refuse(knob.name, true, reason);
        }
    }

    /// Refuses what a knob never takes, and warns of what weakens the machine.
    fn values(&mut self) {
        for step in self.plan.steps.clone() {
            match part(&step) {
                Part::Never(value, why) if step.new.contains(value) => {
                    self.refuse(&step.knob, false, why.to_owned());
                }
                Part::Protects(what) if step.new < step.old => {
                    self.plan.warnings.push(format!("{}: {what}", step.knob));
                }
                _ => {}
            }
        }
    }

    fn others_at_work(&mut self) {
        let moves_irqs = self
            .plan
            .steps
            .iter()
            .any(|step| part(step) == Part::Interrupts);
        for tuner in &self.survey.tuners {
            let what = match tuner.as_str() {
                "irqbalance" if moves_irqs => "it moves interrupts as it likes",
                "irqbalance" => continue,
                _ => "it sets some of the same settings",
            };
            self.plan.warnings.push(format!(
                "{tuner} is running: {what}; stop it, or the settings will not last"
            ));
        }
    }

    fn cores_are_shared(&mut self) {
        let rt = &self.plan.cpus_rt;
        let offline = self.going_offline();
        let shared: CpuSet = rt
            .iter()
            .filter_map(|cpu| self.survey.siblings.get(&cpu))
            .flat_map(|core| core.iter().collect::<Vec<_>>())
            .collect();
        let shared = shared.without(rt).without(&offline);
        if !shared.is_empty() {
            self.plan.warnings.push(format!(
                "CPUs {shared} share cores with those for real-time work ({rt}): what runs there \
                 slows these; take them offline with --set cpu.online@siblings=off, or name them too"
            ));
        }
    }
}
