// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What the kernel changes by itself because of a step. Those values are kept in the journal too, and
//! put back after the steps are undone, if the kernel has not done so.
//!
//! Seen on Linux 6.18: a CPU that goes offline takes along the masks that have no other CPU, of
//! interrupts, threads and version 1 control groups, and what was set of its idle states; only some of
//! it comes back with the CPU. Both watchdogs follow `kernel.watchdog`. Another I/O scheduler brings
//! its own queue depth.

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
        ],
    ),
    (
        "cpufreq.governor",
        &["cpufreq.min_freq", "cpufreq.max_freq", "cpufreq.epp"],
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
    ("cpufreq.turbo", &["cpufreq.min_freq", "cpufreq.max_freq"]),
    ("smt", &["cpu.online"]),
];

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
            let pick = |table: &'static [(&'static str, &'static [&'static str])]| {
                let row = table.iter().find(|(name, _)| name == knob);
                row.map_or(&[][..], |(_, followers)| followers)
            };
            for follower in pick(FOLLOWERS) {
                for reading in survey.of(follower) {
                    if reading.shown.instance == *instance {
                        self.guard(reading);
                    }
                }
            }
            for follower in pick(MACHINE_FOLLOWERS) {
                survey.of(follower).for_each(|reading| self.guard(reading));
            }
        }
        let offline = self.going_offline();
        if !offline.is_empty() {
            self.guards_of_cpus(&offline);
        }
    }

    fn guards_of_cpus(&mut self, offline: &CpuSet) {
        let survey = self.survey;
        let loses_all = |text: &str| {
            let had: CpuSet = text.parse().unwrap_or_default();
            !had.is_empty() && had.without(offline).is_empty()
        };
        for reading in &survey.readings {
            let value = reading.shown.value.as_deref().unwrap_or_default();
            let had: CpuSet = value.parse().unwrap_or_default();
            let theirs = reading
                .cpus
                .as_ref()
                .is_some_and(|cpus| cpus.without(offline).is_empty());
            let v1 =
                matches!(&reading.shown.target, Target::File { path } if path.contains("/cpuset/"));
            let affected = match reading.knob.name {
                "irq.affinity" => loses_all(value),
                // Version 2 keeps what was asked for; version 1 forgets it.
                "cgroup.cpus" => v1 && !had.common(offline).is_empty(),
                name => theirs && (name.starts_with("cpuidle.") || name.starts_with("cpufreq.")),
            };
            if affected {
                self.guard(reading);
            }
        }
        for thread in &survey.threads {
            if !thread.fixed && thread.cpus.without(offline).is_empty() {
                self.add_guard(KnobGuard {
                    knob: if thread.kernel {
                        "kthreads.affinity".to_owned()
                    } else {
                        "threads.affinity".to_owned()
                    },
                    instance: Some(thread.id.tid.to_string()),
                    target: Target::ThreadCpus(thread.id.clone()),
                    codec: Codec::List,
                    old: thread.cpus.to_string(),
                });
            }
        }
    }

    fn guard(&mut self, reading: &Reading) {
        let Some(old) = reading.shown.value.clone() else {
            return;
        };
        if matches!(reading.shown.writable, Writable::No { .. }) {
            return;
        }
        self.add_guard(KnobGuard {
            knob: reading.knob.name.to_owned(),
            instance: reading.shown.instance.clone(),
            target: reading.shown.target.clone(),
            codec: reading.codec,
            old,
        });
    }

    /// Adds a guard, unless a step or another guard has that setting.
    fn add_guard(&mut self, guard: KnobGuard) {
        let planned = self.plan.steps.iter().any(|s| s.target == guard.target);
        let guarded = self.plan.guards.iter().any(|g| g.target == guard.target);
        if !planned && !guarded {
            self.plan.guards.push(guard);
        }
    }
}
