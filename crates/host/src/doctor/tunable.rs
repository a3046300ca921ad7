// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Which settings of `tune` fix what a rule finds. A rule that is not here, tune cannot fix.

/// Rules and the knobs for them.
const KNOBS: &[(&str, &[&str])] = &[
    ("preempt-model", &["sched.preempt"]),
    ("efi-runtime", &["workqueue.queue_cpumask"]),
    ("housekeeping", &["cgroup.partition", "threads.affinity"]),
    ("isolation", &["cgroup.partition", "threads.affinity"]),
    ("kernel-threads", &["kthreads.affinity"]),
    ("services", &["threads.affinity", "cgroup.cpus"]),
    ("smt", &["cpu.online", "smt"]),
    (
        "rt-throttling",
        &["kernel.sched_rt_runtime_us", "cgroup.rt_runtime_us"],
    ),
    ("rt-group-budget", &["cgroup.rt_runtime_us"]),
    ("fair-server", &["sched.fair_server_runtime_ns"]),
    ("numa-balancing", &["kernel.numa_balancing"]),
    ("rcu-expedited", &["rcu.expedited"]),
    ("rcu-normal", &["rcu.normal"]),
    (
        "idle-deep",
        &["dma_latency", "cpuidle.disable", "cpu.resume_latency_us"],
    ),
    (
        "idle-states",
        &["dma_latency", "cpuidle.disable", "cpu.resume_latency_us"],
    ),
    ("idle-halt-guest", &["dma_latency", "cpuidle.disable"]),
    ("governor", &["cpufreq.governor"]),
    ("energy-preference", &["cpufreq.epp"]),
    ("energy-bias", &["cpu.energy_perf_bias"]),
    ("turbo", &["cpufreq.turbo"]),
    ("clock-source", &["clocksource"]),
    ("clock-source-virtual", &["clocksource"]),
    ("timer-migration", &["kernel.timer_migration"]),
    ("interrupts", &["irq.affinity"]),
    ("default-affinity", &["irq.default_affinity"]),
    (
        "workqueues",
        &["workqueue.cpumask", "workqueue.queue_cpumask"],
    ),
    ("packet-steering", &["net.rps_cpus"]),
    (
        "lockup-watchdog",
        &["kernel.watchdog_cpumask", "kernel.watchdog"],
    ),
    ("nmi-watchdog", &["kernel.nmi_watchdog"]),
    ("schedstats", &["kernel.sched_schedstats"]),
    ("latencytop", &["kernel.latencytop"]),
    ("bpf-stats", &["kernel.bpf_stats_enabled"]),
    ("stack-tracer", &["kernel.stack_tracer_enabled"]),
    ("split-lock", &["kernel.split_lock_mitigate"]),
    ("uncore-frequency", &["uncore.min_freq"]),
    ("swappiness", &["vm.swappiness"]),
    ("huge-pages", &["thp.enabled"]),
    ("huge-page-defrag", &["thp.defrag"]),
    ("same-page-merging", &["ksm.run"]),
    ("compaction", &["vm.compaction_proactiveness"]),
    ("zone-reclaim", &["vm.zone_reclaim_mode"]),
    ("vm-statistics", &["vm.stat_interval"]),
    ("serial-console", &["kernel.printk"]),
];

/// Returns the settings that fix what a rule finds.
pub(super) fn knobs(rule: &str) -> &'static [&'static str] {
    let entry = KNOBS.iter().find(|(id, _)| *id == rule);
    entry.map_or(&[], |(_, knobs)| knobs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_is_one_that_tune_has_and_every_rule_is_a_rule() {
        for (rule, knobs) in KNOBS {
            assert!(
                super::super::rules::all().any(|entry| entry.id == *rule),
                "{rule}"
            );
            for knob in *knobs {
                assert!(crate::knob::find(knob).is_some(), "{rule}: {knob}");
            }
            assert_eq!(
                KNOBS.iter().filter(|(id, _)| id == rule).count(),
                1,
                "{rule}"
            );
        }
    }
}
