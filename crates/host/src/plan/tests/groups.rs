// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Control groups: whom confining them, or a partition, would take the CPUs from.

use super::*;

/// The machine with these control groups of version 2, not confined, and a real-time thread bound to CPU 5 in `bound_in`.
fn with_groups(groups: &[&str], bound_in: &str, own: &str) -> (TempDir, Survey) {
    with_files(groups, bound_in, own, &[])
}

fn with_files(
    groups: &[&str],
    bound_in: &str,
    own: &str,
    more: &[(&str, &str)],
) -> (TempDir, Survey) {
    let lists: Vec<String> = groups
        .iter()
        .map(|group| format!("/sys/fs/cgroup/{group}/cpuset.cpus"))
        .collect();
    let mut files: Vec<(&str, &str)> = lists.iter().map(|list| (list.as_str(), "")).collect();
    files.push(("/proc/50/cgroup", bound_in));
    files.push(("/proc/self/cgroup", own));
    files.extend(more);
    desktop(&files)
}

#[test]
fn a_group_with_threads_bound_to_the_real_time_cpus_is_not_confined_nor_is_that_of_this_program() {
    let groups = ["init.scope", "system.slice", "user.slice"];
    let (_dir, survey) = with_groups(
        &groups,
        "0::/system.slice/rtapp.service",
        "0::/user.slice/user-0.slice/session-3.scope",
    );
    let by_role = profile("cgroup.cpus = \"housekeeping\"");
    let plan = made(&by_role, &survey, "5");
    assert_eq!(lines(&plan), ["cgroup.cpus@init.scope  -> 0-4,6-7"]);
    let skipped = |group: &str| {
        let of = |s: &&Skipped| s.instances == [group];
        let skipped = plan.skipped.iter().find(of).unwrap();
        assert_eq!(skipped.reason, SkipReason::Bound);
        skipped.detail.clone()
    };
    assert_eq!(
        skipped("system.slice"),
        "threads in it are bound only to other CPUs"
    );
    assert!(skipped("user.slice").starts_with("this program is in it"));
    // The thread needs no other CPU than those that are left.
    let plan = made(&by_role, &survey, "1");
    assert_eq!(plan.steps.len(), 2, "{plan:#?}");
    // A partition takes the CPUs from every group anyway, and the kernel makes none of those that a group lists.
    let (_dir, closed) = with_files(
        &groups,
        "0::/system.slice/rtapp.service",
        "0::/user.slice/user-0.slice/session-3.scope",
        &[("/sys/fs/cgroup/cgroup.controllers", "cpuset cpu io")],
    );
    let both = profile("cgroup.cpus = \"housekeeping\"\ncgroup.partition = \"isolated\"");
    let plan = made(&both, &closed, "5");
    let narrowed = plan.steps.iter().filter(|step| step.knob == "cgroup.cpus");
    assert_eq!(narrowed.count(), 3, "{plan:#?}");
    // A list is meant as it is given.
    let plan = made(&profile("cgroup.cpus = \"0-3\""), &survey, "5");
    assert_eq!(plan.steps.len(), 3, "{plan:#?}");
    let told = |group: &str| plan.warnings.iter().any(|told| told.contains(group));
    assert!(told("cgroup.cpus@system.slice: threads in it"), "{plan:#?}");
    assert!(told("cgroup.cpus@user.slice: this program") && !told("init.scope"));
}

#[test]
fn a_partition_of_version_2_says_whom_it_shuts_out() {
    let groups = [("/sys/fs/cgroup/cgroup.controllers", "cpuset cpu io")];
    let knob = profile("cgroup.partition = \"isolated\"");
    let [closed, bound] = &*made(&knob, &desktop(&groups).1, "1,5").warnings else {
        panic!("two warnings");
    };
    assert!(closed.contains("nothing outside the control group punctual can use CPUs 1,5"));
    assert!(closed.contains("echo PID > /sys/fs/cgroup/punctual/cgroup.procs"));
    assert!(bound.contains("1 thread of a program is bound only to CPUs 1,5"));
    assert!(bound.ends_with("(thread 50 (bound))"), "{bound}");
    let inside = [groups[0], ("/proc/50/cgroup", "0::/punctual")];
    let plan = made(&knob, &desktop(&inside).1, "1,5");
    assert_eq!(plan.warnings.len(), 1, "{:?}", plan.warnings);
}

#[test]
fn a_group_that_has_no_other_cpus_anyway_is_as_wanted() {
    let (_dir, survey) = desktop(&[
        ("/sys/fs/cgroup/cpuset/app/cpuset.cpus", "0-3"),
        ("/sys/fs/cgroup/cpuset/rt/cpuset.cpus", "5"),
        ("/proc/self/cgroup", "3:cpuset:/app/a\n0::/user.slice"),
    ]);
    let plan = made(&profile("cgroup.cpus = \"housekeeping\""), &survey, "5");
    assert_eq!((plan.steps.len(), plan.satisfied), (0, 1));
    assert!(plan.skipped[0].detail.starts_with("it may run only on"));
}

#[test]
fn a_set_of_somebody_else_that_is_balanced_prevents_a_partition_of_version_1() {
    let root = "/sys/fs/cgroup/cpuset";
    let [cpus, balance, inner] = [
        "docker/cpuset.cpus",
        "docker/cpuset.sched_load_balance",
        "docker/ab/cpuset.cpus",
    ]
    .map(|file| format!("{root}/{file}"));
    let partition = "cgroup.partition = \"isolated\"";
    let both = format!("cgroup.cpus = \"housekeeping\"\n{partition}");
    let planned = |files: &[(&str, &str)], knobs: &str| {
        let mut all = vec![
            ("/sys/fs/cgroup/cpuset/cpuset.mems", "0"),
            ("/sys/fs/cgroup/cpuset/cpuset.sched_load_balance", "1"),
        ];
        all.extend(files);
        let plan = made(&profile(knobs), &desktop(&all).1, "5");
        let skipped = plan.skipped.iter().find(|s| s.knob == "cgroup.partition");
        let steps = plan.steps.iter().filter(|s| s.knob == "cgroup.partition");
        (steps.count(), skipped.map(|s| s.detail.clone()))
    };
    let docker = [(&*cpus, "0-7"), (&*balance, "1")];
    let (steps, why) = planned(&docker, partition);
    assert_eq!(steps, 0);
    assert!(why.unwrap().contains("cpuset docker has some"));
    // Without CPU 5, or the flag, it does not.
    assert_eq!(planned(&[(&cpus, "0-3"), (&balance, "1")], partition).0, 8);
    assert_eq!(planned(&[(&cpus, "0-7"), (&balance, "0")], partition).0, 8);
    // So if it loses CPU 5 in the same plan, which it cannot while a set in it has it.
    assert_eq!(planned(&docker, &both).0, 8);
    let container = [docker[0], docker[1], (&*inner, "0-7")];
    assert_eq!(planned(&container, &both).0, 0);
}

#[test]
fn before_linux_6_2_the_cpus_of_bound_threads_are_kept_with_those_of_their_group() {
    let group = "/sys/fs/cgroup/system.slice/cpuset.cpus";
    let threads: Vec<_> = [("60", "logger", "0"), ("61", "database", "0,5")]
        .iter()
        .flat_map(|(tid, name, cpus)| thread(tid.parse().unwrap(), name, 0, cpus, "0"))
        .chain(thread(62, "elsewhere", 0, "0", "0"))
        .chain(thread(63, "free", 0, "0-7", "0"))
        .chain(thread(64, "kernel", 0x20_0000, "0,5", "0"))
        .collect();
    let of = |release: &str, knobs: &str| {
        let mut files = borrowed(&threads);
        files.extend([
            ("/proc/sys/kernel/osrelease", release),
            ("/sys/fs/cgroup/cgroup.controllers", "cpuset cpu io"),
            (group, ""),
            ("/proc/60/cgroup", "0::/system.slice/a.service"),
            ("/proc/61/cgroup", "0::/system.slice/b.service"),
            ("/proc/62/cgroup", "0::/user.slice"),
            ("/proc/63/cgroup", "0::/system.slice/a.service"),
        ]);
        let plan = made(&profile(knobs), &desktop(&files).1, "5");
        let guards = plan.guards.iter();
        let guards = guards.filter(|guard| guard.target.thread().is_some());
        let guards: Vec<String> = guards.filter_map(|guard| guard.instance.clone()).collect();
        let told = plan
            .warnings
            .iter()
            .any(|told| told.contains("before Linux 6.2"));
        (guards.join(" "), told)
    };
    let both = "cgroup.cpus = \"housekeeping\"\nthreads.affinity = \"housekeeping\"";
    assert_eq!(of("6.1.0-28-amd64", both), ("60 61".to_owned(), true));
    assert_eq!(of("6.2.0", both), (String::new(), false));
    let root = "cgroup.partition = \"root\"";
    assert_eq!(of("6.1.0", root), ("40 50 60 61 62 64".to_owned(), true));
    // The kernel's own are reset still, also that of an interrupt unless it follows that.
    assert_eq!(of("6.12.0", root), ("40 64".to_owned(), false));
    let with_interrupts = format!("{root}\n\"irq.affinity@26\" = \"3\"");
    assert_eq!(of("6.12.0", &with_interrupts), ("64".to_owned(), false));
    let offline = "\"cpu.online@3\" = false";
    assert_eq!(of("6.1.0", offline), ("60 61 62".to_owned(), true));
    assert_eq!(of("6.12.0", offline), (String::new(), false));
}

#[test]
fn threads_are_moved_after_what_makes_the_kernel_move_them() {
    let (_dir, survey) = desktop(&[
        ("/sys/fs/cgroup/cgroup.controllers", "cpuset cpu io"),
        ("/sys/fs/cgroup/system.slice/cpuset.cpus", ""),
    ]);
    let knobs = "threads.affinity = \"housekeeping\"\n\"cpu.online@1\" = false\n\
                 cgroup.partition = \"isolated\"\ncgroup.cpus = \"housekeeping\"";
    let plan = made(&profile(knobs), &survey, "5");
    let mut order: Vec<&str> = plan.steps.iter().map(|step| step.knob.as_str()).collect();
    order.dedup();
    assert_eq!(
        order,
        [
            "cgroup.cpus",
            "cgroup.partition",
            "threads.affinity",
            "cpu.online"
        ]
    );
}
