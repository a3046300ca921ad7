// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Where a reading does not show something, or a setting cannot help: nothing is called fine or offered then.

use punctual_model::RuleOutcome;

use super::common::archive;
use super::{judged, verdict};

#[test]
fn a_machine_without_sys_is_not_known_rather_than_fine() {
    let text = archive("kvm-guest").to_string();
    // A file with several lines has them below it.
    let mut kept = String::new();
    let mut keeps = true;
    for line in text.lines() {
        keeps = if line.starts_with('|') {
            keeps
        } else {
            !line.starts_with("/sys/")
        };
        if keeps {
            kept += line;
            kept.push('\n');
        }
    }
    let diagnosis = judged(&kept.parse().unwrap(), None);
    for rule in [
        "housekeeping",
        "isolation",
        "fair-server",
        "huge-pages",
        "mitigations",
        "pcie-aspm",
        "idle-states",
        "idle-halt-guest",
        "smt",
        "numa-span",
        "rcu-normal",
        "lockdown",
    ] {
        let verdict = verdict(&diagnosis, rule);
        assert_eq!(verdict.outcome, RuleOutcome::Unknown, "{verdict:#?}");
    }
}

#[test]
fn what_cannot_help_here_is_not_offered() {
    let knobs = |files: &str, cpus: Option<&str>, rule: &str| {
        let mut changed = archive("kvm-guest");
        changed.overlay(files.parse().unwrap());
        let diagnosis = judged(&changed, cpus);
        let verdict = verdict(&diagnosis, rule);
        assert_eq!(verdict.outcome, RuleOutcome::Found, "{verdict:#?}");
        verdict.rule.knobs.clone()
    };
    let none = "/sys/devices/system/cpu/cpu{0-1}/cpuidle/state0/latency! not there";
    assert!(knobs(none, None, "idle-halt-guest").is_empty());
    assert!(!knobs("", None, "idle-halt-guest").is_empty());
    let empty = "/sys/fs/cgroup/cpuset.cpus.isolated:";
    assert_eq!(knobs(empty, Some("1"), "isolation"), ["cgroup.partition"]);
    let none = "/sys/fs/cgroup/cpuset.cpus.isolated! not there";
    assert!(knobs(none, Some("1"), "isolation").is_empty());
}

#[test]
fn a_cpuset_with_one_of_the_judged_cpus_says_which() {
    let mut changed = archive("kvm-guest");
    let files = "/proc/self/cgroup: 3:cpuset:/a\n/sys/fs/cgroup/cpuset/a/cpuset.effective_cpus: 1";
    changed.overlay(files.parse().unwrap());
    let diagnosis = judged(&changed, Some("0-1"));
    let verdict = verdict(&diagnosis, "cpus-allowed");
    assert_eq!(verdict.says, "out of reach: CPU 0; within reach: CPU 1");
}

#[test]
fn a_capability_in_a_user_namespace_does_not_count() {
    let mut changed = archive("kvm-guest");
    let files = "/proc/self/status: CapEff:\t000001ffffffffff\n/proc/self/uid_map: 0 1000 1\n\
                 /proc/self/limits:\n|Max locked memory 65536 65536 bytes\n|Max realtime priority 0 0";
    changed.overlay(files.parse().unwrap());
    for (map, expected) in [
        ("0 1000 1", RuleOutcome::Found),
        ("0 0 4294967295", RuleOutcome::Fine),
    ] {
        changed.overlay(format!("/proc/self/uid_map: {map}").parse().unwrap());
        let diagnosis = judged(&changed, None);
        for rule in ["rt-priority-limit", "memory-lock-limit"] {
            let verdict = verdict(&diagnosis, rule);
            assert_eq!(verdict.outcome, expected, "{map}: {verdict:#?}");
        }
    }
}

#[test]
fn without_a_budget_the_fair_server_is_not_denied() {
    let says = |files: &str| {
        let mut changed = archive("kvm-guest");
        changed.overlay(files.parse().unwrap());
        let diagnosis = judged(&changed, None);
        let verdict = verdict(&diagnosis, "rt-throttling");
        assert_eq!(verdict.outcome, RuleOutcome::Fine, "{verdict:#?}");
        verdict.says.clone()
    };
    let open = "/proc/sys/kernel/sched_rt_runtime_us: -1\n/proc/sys/kernel/osrelease: 6.18.1";
    assert!(says(open).contains("see fair-server"));
    let files = "/sys/kernel/debug/sched/fair_server/cpu{0-1}/runtime: 0";
    assert!(says(&format!("{open}\n{files}")).contains("all CPU time"));
    assert!(says(&open.replace("6.18.1", "6.1.0")).contains("all CPU time"));
}

#[test]
fn a_counter_that_the_kernel_offers_is_not_one_that_it_does_not_trust() {
    let text = archive("kvm-guest").to_string();
    let without = text
        .replace(" constant_tsc", "")
        .replace(" nonstop_tsc", "");
    let diagnosis = judged(&without.parse().unwrap(), None);
    let found = verdict(&diagnosis, "tsc-unstable");
    assert_eq!(found.outcome, RuleOutcome::Found, "{found:#?}");
    assert!(
        found.says.ends_with("the kernel offers it all the same"),
        "{found:#?}"
    );
    let mut distrusted = archive("kvm-guest");
    let offers = "/sys/devices/system/clocksource/clocksource0/available_clocksource: kvm-clock";
    distrusted.overlay(offers.parse().unwrap());
    let diagnosis = judged(&distrusted, None);
    let found = verdict(&diagnosis, "tsc-unstable");
    assert_eq!(found.says, "the kernel does not trust it", "{found:#?}");
}
