// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What the kernel changes by itself because of a step. Those values are kept in the journal too, and
//! put back after the steps are undone, if the kernel has not done so.
//!
//! Seen on Linux 6.18: a CPU that goes offline takes along the masks that have no other CPU, of
//! interrupts, threads and version 1 control groups, and what was set of its idle states; only some of
//! it comes back with the CPU, and drivers place their interrupts anew when it does. Both watchdogs
//! follow `kernel.watchdog`. Another I/O scheduler brings its own queue depth and tunables. Whenever
//! huge pages are switched on, the memory that is kept free is raised to what they need.

use punctual_model::{Codec, CpuSet, KnobGuard, Target, Writable};

use super::Planner;
use crate::knob::Reading;

/// Knobs that follow another one of the same instance.
const FOLLOWERS: &[(&str, &[&str])] = &[
    (
        "block.scheduler",
        &[
            "block.nr_requests",
            "block.wbt_lat_usec",
            "block.rq_affinity",
            "block.iosched",
        ],
    ),
    ("block.nr_requests", &["block.iosched"]),
    (
        "cpufreq.governor",
        &[
            "cpufreq.min_freq",
            "cpufreq.max_freq",
            "cpufreq.epp",
            "cpufreq.tunable",
            "cpufreq.setspeed",
        ],
    ),
    ("cpufreq.min_freq", &["cpufreq.max_freq"]),
    ("cpufreq.max_freq", &["cpufreq.min_freq"]),
];

/// Knobs that all follow one that there is one of.
const MACHINE_FOLLOWERS: &[(&str, &[&str])] = &[
    (
        "kernel.watchdog",
        &["kernel.soft_watchdog", "kernel.nmi_watchdog"],
    ),
    ("kernel.soft_watchdog", &["kernel.watchdog"]),
    ("kernel.nmi_watchdog", &["kernel.watchdog"]),
    (
        "cpufreq.turbo",
        &[
            "cpufreq.min_freq",
            "cpufreq.max_freq",
            "cpufreq.boost",
            "cpufreq.min_perf_pct",
        ],
    ),
    ("cpufreq.governor", &["cpufreq.shared_tunable"]),
    ("smt", &["cpu.online"]),
    ("thp.enabled", &["vm.min_free_kbytes"]),
];

/// A knob and those that follow it.
type Row = (&'static str, &'static [&'static str]);

/// Lists the knobs that follow `knob`, by one of the tables.
fn followers(tables: &[&'static [Row]], knob: &str) -> impl Iterator<Item = &'static str> {
    let rows = tables.iter().flat_map(|table| table.iter());
    let rows: Vec<&Row> = rows.filter(|(name, _)| *name == knob).collect();
    rows.into_iter()
        .flat_map(|(_, followers)| followers.iter().copied())
}

/// Whether `knob` follows `leader`, and not the other way round as well.
pub(super) fn follows(knob: &str, leader: &str) -> bool {
    let is = |knob, leader| followers(&[FOLLOWERS, MACHINE_FOLLOWERS], leader).any(|n| n == knob);
    is(knob, leader) && !is(leader, knob)
}

/// Whether `inner` is `outer`, or one of several in it: `vda/read_expire` in `vda`.
fn is_within(inner: Option<&str>, outer: Option<&str>) -> bool {
    let (Some(inner), Some(outer)) = (inner, outer) else {
        return inner == outer;
    };
    let rest = inner.strip_prefix(outer);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

impl Planner<'_> {
    /// Returns the CPUs that the plan takes offline.
    pub(super) fn going_offline(&self) -> CpuSet {
        let steps = self.plan.steps.iter();
        let named = steps.clone().filter_map(|step| match step.knob.as_str() {
            "cpu.online" if step.new == "0" => step.instance.as_ref()?.parse().ok(),
            _ => None,
        });
        let smt_goes = steps
            .clone()
            .any(|step| step.knob == "smt" && step.new != "on");
        let seconds = self.survey.siblings.iter().filter_map(|(cpu, core)| {
            let first = core.iter().next()?;
            (smt_goes && *cpu != first).then_some(*cpu)
        });
        named.chain(seconds).collect()
    }

    /// Adds the guards of all steps.
    pub(super) fn guards(&mut self) {
        let survey = self.survey;
        let changed: Vec<(String, Option<String>)> = self
            .plan
            .steps
            .iter()
            .map(|step| (step.knob.clone(), step.instance.clone()))
            .collect();
        for (knob, instance) in &changed {
            for follower in followers(&[FOLLOWERS], knob) {
                for reading in survey.of(follower) {
                    let inner = reading.shown.instance.as_deref();
                    if is_within(inner, instance.as_deref()) {
                        self.guard(reading, follows(follower, knob));
                    }
                }
            }
            for follower in followers(&[MACHINE_FOLLOWERS], knob) {
                for reading in survey.of(follower) {
                    self.guard(reading, follows(follower, knob));
                }
            }
        }
        let offline = self.going_offline();
        if !offline.is_empty() {
            self.guards_of_cpus(&offline);
        }
    }

    fn guards_of_cpus(&mut self, offline: &CpuSet) {
        let survey = self.survey;
        for reading in survey.kept.iter().chain(&survey.readings) {
            let value = reading.shown.value.as_deref().unwrap_or_default();
            let had: CpuSet = value.parse().unwrap_or_default();
            let theirs = reading
                .cpus
                .as_ref()
                .is_some_and(|cpus| cpus.without(offline).is_empty());
            let v1 =
                matches!(&reading.shown.target, Target::File { path } if path.contains("/cpuset/"));
            let affected = match reading.knob.name {
                // Drivers place theirs anew when the CPU comes back.
                "irq.affinity" | "net.xps_cpus" => true,
                // Version 2 keeps what was asked for; version 1 forgets it.
                "cgroup.cpus" | "cgroup.inner_cpus" => v1 && !had.common(offline).is_empty(),
                name => theirs && (name.starts_with("cpuidle.") || name.starts_with("cpufreq.")),
            };
            if affected {
                self.guard(reading, false);
            }
        }
        for thread in &survey.threads {
            if !thread.fixed && thread.cpus.without(offline).is_empty() {
                let guard = KnobGuard {
                    knob: if thread.kernel {
                        "kthreads.affinity".to_owned()
                    } else {
                        "threads.affinity".to_owned()
                    },
                    instance: Some(thread.id.tid.to_string()),
                    target: Target::ThreadCpus(thread.id.clone()),
                    codec: Codec::List,
                    old: thread.cpus.to_string(),
                };
                self.add_guard(guard, false);
            }
        }
    }

    /// Adds the guard of a setting, `planned` also where a step has it.
    fn guard(&mut self, reading: &Reading, planned: bool) {
        let Some(old) = reading.shown.value.clone() else {
            return;
        };
        if matches!(reading.shown.writable, Writable::No { .. }) {
            return;
        }
        let guard = KnobGuard {
            knob: reading.knob.name.to_owned(),
            instance: reading.shown.instance.clone(),
            target: reading.shown.target.clone(),
            codec: reading.codec,
            old,
        };
        self.add_guard(guard, planned);
    }

    /// Adds a guard, unless another guard or, but for `planned`, a step has that setting.
    fn add_guard(&mut self, guard: KnobGuard, planned: bool) {
        let has_step = self.plan.steps.iter().any(|s| s.target == guard.target);
        let guarded = self.plan.guards.iter().any(|g| g.target == guard.target);
        if (planned || !has_step) && !guarded {
            self.plan.guards.push(guard);
        }
    }
}
