// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What cannot be seen where the survey was made is not said to be missing, nor written as if it were another.

use super::*;

#[test]
fn of_what_would_be_in_debugfs_nothing_is_known_where_it_is_not_mounted() {
    let (dir, _) = desktop(&[]);
    fs::create_dir_all(dir.path().join("sys/kernel/debug")).unwrap();
    let of = |knobs: &str| {
        let survey = Survey::read(&SysRoot::at(dir.path()), Scope::WithThreads, true);
        let plan = made(&profile(knobs), &survey, "");
        let [skipped] = plan.skipped.as_slice() else {
            panic!("{:#?}", plan.skipped);
        };
        (skipped.reason, skipped.detail.clone())
    };
    let (reason, why) = of("sched.preempt = \"full\"");
    assert_eq!(
        (reason, why.as_str()),
        (SkipReason::Unreadable, "debugfs is not mounted")
    );
    // The kernel has these elsewhere, or nowhere.
    assert_eq!(of("thp.enabled = \"never\"").0, SkipReason::Absent);
    // Mounted, it has other files; then this kernel has no such setting.
    fs::create_dir_all(dir.path().join("sys/kernel/debug/sched")).unwrap();
    assert_eq!(of("sched.preempt = \"full\"").0, SkipReason::Absent);
}

#[test]
fn a_group_that_is_not_the_root_is_not_written_as_if_it_were() {
    let group = "/sys/fs/cgroup/cpu";
    let files: Vec<_> = [
        ("cpu.rt_runtime_us", "0"),
        ("cpu.rt_period_us", "1000000"),
        ("notify_on_release", "0"),
    ]
    .map(|(name, text)| (format!("{group}/{name}"), text.to_owned()))
    .to_vec();
    let system = [
        ("/proc/sys/kernel/sched_rt_runtime_us", "950000"),
        ("/proc/sys/kernel/sched_rt_period_us", "1000000"),
    ];
    let of = |more: &[(&str, &str)], knobs: &str| {
        let mut all = borrowed(&files);
        all.extend(system);
        all.extend(more.iter().map(|(path, text)| (&**path, &**text)));
        let (_dir, survey) = desktop(&all);
        made(&profile(knobs), &survey, "")
    };
    let system = "kernel.sched_rt_runtime_us = 900000";
    let plan = of(&[], system);
    assert_eq!(
        lines(&plan),
        ["kernel.sched_rt_runtime_us 950000 -> 900000"]
    );
    let plan = of(&[], "cgroup.rt_runtime_us = 900000");
    assert_eq!(lines(&plan), [""; 0]);
    assert_eq!(plan.satisfied, 0, "{plan:#?}");
    let [skipped] = plan.skipped.as_slice() else {
        panic!("{:#?}", plan.skipped);
    };
    assert_eq!(skipped.reason, SkipReason::Unreadable);
    assert_eq!(skipped.detail, "the cgroup mounted here is not the root");
    // The root has a file that no other group has.
    let root = [("/sys/fs/cgroup/cpu/cgroup.sane_behavior", "0")];
    let plan = of(&root, "kernel.sched_rt_runtime_us = 980000");
    assert_eq!(
        lines(&plan),
        [
            "kernel.sched_rt_runtime_us 950000 -> 980000",
            "cgroup.rt_runtime_us 0 -> 980000"
        ]
    );
}

#[test]
fn a_budget_of_a_group_that_the_kernel_does_not_have_is_not_as_wanted() {
    let system = [
        ("/proc/sys/kernel/sched_rt_runtime_us", "950000"),
        ("/proc/sys/kernel/sched_rt_period_us", "1000000"),
    ];
    let (_dir, survey) = desktop(&system);
    let plan = made(&profile("cgroup.rt_runtime_us = 900000"), &survey, "");
    assert_eq!((plan.satisfied, plan.skipped.len()), (0, 1), "{plan:#?}");
    assert_eq!(plan.skipped[0].reason, SkipReason::Absent);
}

#[test]
fn a_device_that_only_dev_lacks_is_not_one_that_the_kernel_lacks() {
    let of = |misc: &str| {
        let (_dir, survey) = desktop(&[("/proc/misc", misc)]);
        let plan = made(&profile("dma_latency = \"0us\""), &survey, "");
        let [skipped] = plan.skipped.as_slice() else {
            panic!("{:#?}", plan.skipped);
        };
        let knob = find("dma_latency").unwrap();
        assert_eq!(survey.unlisted(knob), skipped.detail);
        (skipped.reason, skipped.detail.clone())
    };
    let (reason, why) = of("124 cpu_dma_latency\n235 autofs");
    assert_eq!(reason, SkipReason::Unreadable);
    assert_eq!(why, "the kernel has it, /dev does not");
    assert_eq!(of("235 autofs").0, SkipReason::Absent);
}
