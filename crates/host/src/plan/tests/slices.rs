// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The scheduler's slices, which the kernel computes anew when CPUs change.

use super::*;

#[test]
fn what_the_scheduler_forgets_with_a_cpu_or_a_domain_is_kept() {
    let debug = "/sys/kernel/debug/sched";
    let slice = format!("{debug}/base_slice_ns");
    let latency = format!("{debug}/latency_ns");
    let (_dir, survey) = desktop(&[
        (slice.as_str(), "10000000"),
        (latency.as_str(), "24000000"),
        ("/sys/devices/system/cpu/smt/control", "on"),
        ("/sys/fs/cgroup/cgroup.controllers", "cpuset cpu io"),
        ("/sys/fs/cgroup/cgroup.subtree_control", "cpuset cpu io"),
    ]);
    let kept = |knobs: &str| {
        let plan = made(&profile(knobs), &survey, "1,5");
        assert!(!plan.steps.is_empty(), "{knobs}: {plan:#?}");
        let names = plan.guards.iter().map(|guard| guard.knob.clone());
        let mut names: Vec<String> = names.filter(|name| name.starts_with("sched.")).collect();
        names.sort_unstable();
        names
    };
    for knobs in [
        "\"cpu.online@3\" = false",
        "smt = \"off\"",
        "cgroup.partition = \"isolated\"",
    ] {
        assert_eq!(
            kept(knobs),
            ["sched.base_slice_ns", "sched.latency_ns"],
            "{knobs}"
        );
    }
    assert!(kept("vm.swappiness = 1").is_empty());
}
