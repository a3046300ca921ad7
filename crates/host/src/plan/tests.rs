// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Plans for machines that are files.

mod groups;
mod slices;
mod unseen;

use std::fs;

use punctual_sys::SysRoot;
use tempfile::TempDir;

use super::*;
use crate::knob::Scope;
use crate::profile::builtin;
use crate::testing::machine;

const CPU: &str = "/sys/devices/system/cpu";

/// Four cores, eight threads, as the desktop of raju2015 has them.
fn desktop(more: &[(&str, &str)]) -> (TempDir, Survey) {
    let mut files: Vec<(String, String)> = vec![
        (format!("{CPU}/online"), "0-7".into()),
        ("/proc/cpuinfo".into(), "vendor_id : GenuineIntel".into()),
        (
            "/proc/meminfo".into(),
            "MemTotal: 8000000 kB\nHugepagesize: 2048 kB".into(),
        ),
        (
            "/proc/sys/kernel/sched_rt_runtime_us".into(),
            "950000".into(),
        ),
        (
            "/proc/sys/kernel/sched_rt_period_us".into(),
            "1000000".into(),
        ),
        ("/proc/sys/vm/swappiness".into(), "60".into()),
    ];
    for cpu in 0..8 {
        let core = cpu % 4;
        files.push((
            format!("{CPU}/cpu{cpu}/topology/thread_siblings_list"),
            format!("{core},{}", core + 4),
        ));
        if cpu > 0 {
            files.push((format!("{CPU}/cpu{cpu}/online"), "1".into()));
        }
        let policy = format!("{CPU}/cpufreq/policy{cpu}");
        for (name, text) in [
            ("affected_cpus", cpu.to_string()),
            ("scaling_governor", "powersave".into()),
            (
                "scaling_available_governors",
                "performance powersave".into(),
            ),
            ("scaling_min_freq", "800000".into()),
            ("scaling_max_freq", "2000000".into()),
            ("cpuinfo_min_freq", "800000".into()),
            ("cpuinfo_max_freq", "3900000".into()),
        ] {
            files.push((format!("{policy}/{name}"), text));
        }
    }
    for (irq, mask) in [("24", "ff"), ("25", "20"), ("26", "06")] {
        files.push((format!("/proc/irq/{irq}/smp_affinity"), mask.into()));
    }
    files.extend(thread(1, "init", 0, "0-7", "0"));
    files.extend(thread(2, "kthreadd", 0x20_0000, "0-7", "0"));
    files.extend(thread(30, "ksoftirqd/5", 0x420_0000, "5", "0"));
    files.extend(thread(40, "irq/26-nic", 0x20_0000, "1-2", "1"));
    files.extend(thread(50, "bound", 0, "5", "0"));
    let mut all = borrowed(&files);
    all.extend(more);
    let (dir, sys) = machine(&all);
    let survey = Survey::read(&sys, Scope::WithThreads, true);
    (dir, survey)
}

fn borrowed(files: &[(String, String)]) -> Vec<(&str, &str)> {
    files
        .iter()
        .map(|(p, t)| (p.as_str(), t.as_str()))
        .collect()
}

/// Makes the files of a process of one thread.
fn thread(tid: u32, name: &str, flags: u32, cpus: &str, policy: &str) -> [(String, String); 2] {
    let zeros = "0 ".repeat(9);
    let more = "0 ".repeat(16);
    let stat = format!("{tid} ({name}) S 1 1 1 0 -1 {flags} {zeros}0 1 0 77 {more}0 50 {policy}");
    let status = format!("Tgid:\t{tid}\nCpus_allowed_list:\t{cpus}");
    let task = format!("/proc/{tid}/task/{tid}");
    [
        (format!("{task}/stat"), stat),
        (format!("{task}/status"), status),
    ]
}

fn profile(knobs: &str) -> Profile {
    let text = format!("format = \"punctual.profile/1\"\nname = \"t\"\n[knobs]\n{knobs}\n");
    Profile::parse(&text, "t").unwrap()
}

fn built_in(name: &str) -> Profile {
    let own = Profile::parse(builtin(name).unwrap(), name).unwrap();
    match own.base.clone() {
        Some(base) => own.over(built_in(&base)),
        None => own,
    }
}

fn made(profile: &Profile, survey: &Survey, cpus: &str) -> Plan {
    let options = PlanOptions {
        cpus: (!cpus.is_empty()).then(|| cpus.parse().unwrap()),
        ..PlanOptions::default()
    };
    plan(profile, survey, &options).unwrap()
}

fn lines(plan: &Plan) -> Vec<String> {
    let line = |step: &PlanStep| format!("{} {} -> {}", step.full_name(), step.old, step.new);
    plan.steps.iter().map(line).collect()
}

#[test]
fn the_tuning_of_raju_takes_the_sibling_offline_last() {
    let (_dir, survey) = desktop(&[]);
    let plan = made(&built_in("raju"), &survey, "");
    let lines = lines(&plan);
    assert_eq!(lines.len(), 9);
    assert_eq!(
        lines[0],
        "cpufreq.governor@policy0 powersave -> performance"
    );
    assert_eq!(lines[8], "cpu.online@4 1 -> 0");
    assert_eq!(plan.cpus_rt.to_string(), "0");
    assert!(plan.refusals.is_empty(), "{:?}", plan.refusals);
    // What lies on CPU 4 alone is kept: its frequency limits.
    let guards: Vec<_> = plan.guards.iter().map(|g| g.knob.as_str()).collect();
    assert!(guards.contains(&"cpufreq.max_freq"), "{guards:?}");
}

#[test]
fn an_idle_state_that_someone_disabled_stays_disabled() {
    let state = |number: u32, name: &str| format!("{CPU}/cpu1/cpuidle/state{number}/{name}");
    let files = [
        (state(1, "latency"), "2".to_owned()),
        (state(1, "disable"), "1".to_owned()),
        (state(2, "latency"), "133".to_owned()),
        (state(2, "disable"), "0".to_owned()),
    ];
    let (_dir, survey) = desktop(&borrowed(&files));
    let wanted = profile("\"cpuidle.disable\" = \"above 10us\"");
    let plan = made(&wanted, &survey, "");
    assert_eq!(lines(&plan), ["cpuidle.disable@1/state2 0 -> 1"]);
    assert_eq!(plan.satisfied, 1);
}

#[test]
fn isolation_keeps_what_interrupts_and_threads_had_of_the_other_cpus() {
    let (_dir, survey) = desktop(&[]);
    let wants = "\"irq.affinity\" = \"housekeeping\"\nthreads.affinity = \"housekeeping\"\n\
                 kthreads.affinity = \"housekeeping\"";
    let plan = made(&profile(wants), &survey, "1,5");
    assert_eq!(
        lines(&plan),
        [
            "irq.affinity@24 0-7 -> 0,2-4,6-7",
            "irq.affinity@25 5 -> 0,2-4,6-7",
            "irq.affinity@26 1-2 -> 2",
            "threads.affinity@1 0-7 -> 0,2-4,6-7",
            "kthreads.affinity@2 0-7 -> 0,2-4,6-7",
        ]
    );
    let skipped: Vec<_> = plan
        .skipped
        .iter()
        .map(|s| (s.instances.join(" "), s.reason, s.detail.as_str()))
        .collect();
    assert_eq!(
        skipped,
        [
            (
                "50".into(),
                SkipReason::Bound,
                "it is bound only to other CPUs"
            ),
            (
                "30".into(),
                SkipReason::Bound,
                "the kernel keeps it where it is"
            ),
            (
                "40".into(),
                SkipReason::Bound,
                "it follows its interrupt (irq.affinity)"
            ),
        ]
    );
    assert!(plan.warnings.is_empty(), "{:?}", plan.warnings);
    // Without its sibling a CPU is not alone on its core.
    let plan = made(&profile(wants), &survey, "1");
    assert!(
        plan.warnings[0].contains("CPUs 5 share cores"),
        "{:?}",
        plan.warnings
    );
}

#[test]
fn threads_that_came_later_are_planned_apart() {
    let (_dir, survey) = desktop(&[]);
    let profile = profile("threads.affinity = \"housekeeping\"");
    let made_before = made(&profile, &survey, "1");
    let late = thread(60, "late", 0, "0-7", "0");
    let (_dir, later) = desktop(&borrowed(&late));
    let more = plan_threads(&profile, &later, &made_before, &PlanOptions::default());
    assert_eq!(more.len(), 1);
    assert_eq!(more[0].full_name(), "threads.affinity@60");
    assert_eq!(more[0].new, "0,2-7");
}

#[test]
fn our_own_processes_stay() {
    let (_dir, survey) = desktop(&[]);
    let options = PlanOptions {
        cpus: Some([1].into_iter().collect()),
        leave: vec![1],
        ..PlanOptions::default()
    };
    let plan = plan(
        &profile("threads.affinity = \"housekeeping\""),
        &survey,
        &options,
    )
    .unwrap();
    assert!(plan.steps.is_empty(), "{plan:?}");
}

#[test]
fn frequency_limits_never_cross() {
    let (_dir, survey) = desktop(&[]);
    let order = |knobs: &str| -> Vec<String> {
        let plan = made(&profile(knobs), &survey, "");
        plan.steps.iter().map(PlanStep::full_name).collect()
    };
    let raised = "\"cpufreq.min_freq@0\" = \"max\"\n\"cpufreq.max_freq@0\" = \"max\"";
    assert_eq!(
        order(raised),
        ["cpufreq.max_freq@policy0", "cpufreq.min_freq@policy0"]
    );
    let lowered = "\"cpufreq.max_freq@0\" = 900000\n\"cpufreq.min_freq@0\" = 850000";
    assert_eq!(
        order(lowered),
        ["cpufreq.min_freq@policy0", "cpufreq.max_freq@policy0"]
    );
}

#[test]
fn a_later_line_wins_and_what_is_so_already_is_counted() {
    let (_dir, survey) = desktop(&[]);
    let knobs = "\"cpufreq.governor\" = \"performance\"\n\"cpufreq.governor@1-7\" = \"powersave\"\n\
                 vm.swappiness = 60";
    let plan = made(&profile(knobs), &survey, "");
    assert_eq!(
        lines(&plan),
        ["cpufreq.governor@policy0 powersave -> performance"]
    );
    assert_eq!(plan.satisfied, 8);
}

#[test]
fn a_limit_that_is_held_to_stay_is_as_wanted() {
    let (_dir, survey) = desktop(&[("/dev/cpu_dma_latency", "")]);
    let first = made(&profile("dma_latency = \"0us\""), &survey, "");
    assert_eq!((first.held.len(), first.satisfied), (1, 0));
    let options = PlanOptions {
        held: first.held,
        ..PlanOptions::default()
    };
    for (limit, as_wanted) in [("0us", true), ("5us", false)] {
        let knobs = format!("dma_latency = \"{limit}\"");
        let again = plan(&profile(&knobs), &survey, &options).unwrap();
        assert_eq!(again.is_empty(), as_wanted, "{again:?}");
        assert_eq!(again.notes.is_empty(), as_wanted, "{again:?}");
        assert_eq!(again.satisfied, u64::from(as_wanted));
    }
}

#[test]
fn a_bound_changes_only_what_is_beyond_it() {
    let (_dir, survey) = desktop(&[("/proc/sys/vm/stat_interval", "300")]);
    let of = |knobs: &str| lines(&made(&profile(knobs), &survey, ""));
    assert_eq!(
        of("vm.swappiness = \"at most 10\""),
        ["vm.swappiness 60 -> 10"]
    );
    assert!(of("vm.swappiness = \"at least 10\"").is_empty());
    assert!(of("vm.stat_interval = \"at least 120\"").is_empty());
    assert_eq!(
        of("vm.stat_interval = 120"),
        ["vm.stat_interval 300 -> 120"]
    );
}

#[test]
fn what_is_narrower_than_housekeeping_stays_so() {
    let (_dir, survey) = desktop(&[
        ("/proc/irq/default_smp_affinity", "f"),
        ("/sys/devices/virtual/workqueue/cpumask", "ff"),
        ("/proc/sys/kernel/watchdog_cpumask", "2-5"),
        ("/sys/class/net/eth0/queues/rx-0/rps_cpus", "00"),
        ("/sys/class/net/eth1/queues/rx-0/rps_cpus", "ff"),
    ]);
    let housekeeping = "\"irq.default_affinity\" = \"housekeeping\"\n\
        workqueue.cpumask = \"housekeeping\"\nkernel.watchdog_cpumask = \"housekeeping\"\n\
        net.rps_cpus = \"housekeeping\"";
    assert_eq!(
        lines(&made(&profile(housekeeping), &survey, "5")),
        [
            "workqueue.cpumask 0-7 -> 0-4,6-7",
            "kernel.watchdog_cpumask 2-5 -> 2-4",
            "net.rps_cpus@eth1/rx-0 0-7 -> 0-4,6-7",
        ]
    );
    // CPUs that are named are meant.
    let named = "workqueue.cpumask = \"0-1\"\nnet.rps_cpus = \"0-1\"";
    assert_eq!(lines(&made(&profile(named), &survey, "5")).len(), 3);
}

#[test]
fn what_cannot_be_had_says_why() {
    let (_dir, survey) = desktop(&[
        ("/sys/devices/system/cpu/smt/control", "notsupported"),
        ("/proc/sys/vm/dirty_ratio", "0"),
    ]);
    let knobs = "cpufreq.governor = \"ondemand\"\nsmt = \"off\"\nvm.dirty_ratio = 5\n\
                 thp.enabled = \"never\"\n\"irq.affinity@99\" = \"0\"\n\"irq.affinity@24\" = \"64\"\n\
                 \"cpufreq.max_freq@0\" = 100\ncpuidle.disable = \"above 10us\"";
    let plan = made(&profile(knobs), &survey, "");
    assert!(plan.is_empty(), "{:?}", plan.steps);
    for (knob, part) in [
        (
            "cpufreq.governor",
            "ondemand is not available; available: performance, powersave",
        ),
        ("smt", "the kernel says notsupported"),
        ("vm.dirty_ratio", "vm.dirty_bytes"),
        ("thp.enabled", "this kernel or hardware does not have it"),
        ("irq.affinity", "none of CPUs 64 (64) is online"),
        ("irq.affinity", "none has that name"),
        ("cpufreq.max_freq", "100 is not between 800000 and 3900000"),
        ("cpuidle.disable", "does not have it"),
    ] {
        let said = |s: &Skipped| s.knob == knob && s.detail.contains(part);
        assert!(
            plan.skipped.iter().any(said),
            "{knob} {part}: {:#?}",
            plan.skipped
        );
    }
}

#[test]
fn idle_states_are_disabled_by_their_latency() {
    let state = |n: u32, latency: &'static str| {
        let path = format!("{CPU}/cpu3/cpuidle/state{n}");
        [
            (format!("{path}/disable"), "0"),
            (format!("{path}/latency"), latency),
        ]
    };
    let files: Vec<_> = [state(0, "0"), state(1, "2"), state(2, "133")].concat();
    let more: Vec<(&str, &str)> = files.iter().map(|(p, t)| (p.as_str(), *t)).collect();
    let (_dir, survey) = desktop(&more);
    let plan = made(&profile("cpuidle.disable = \"above 10us\""), &survey, "");
    assert_eq!(lines(&plan), ["cpuidle.disable@3/state2 0 -> 1"]);
}

#[test]
fn cpus_for_real_time_work_must_be_named_and_leave_others() {
    let (_dir, survey) = desktop(&[]);
    let isolate = profile("irq.affinity = \"housekeeping\"");
    let failed = |cpus: &str| {
        let options = PlanOptions {
            cpus: (!cpus.is_empty()).then(|| cpus.parse().unwrap()),
            ..PlanOptions::default()
        };
        plan(&isolate, &survey, &options).unwrap_err()
    };
    assert!(matches!(failed(""), PlanError::NoCpus { .. }));
    assert!(matches!(failed("7-8"), PlanError::NotOnline { .. }));
    assert!(matches!(failed("0-7"), PlanError::NoHousekeeping { .. }));
}

#[test]
fn what_locks_the_user_out_is_refused() {
    let running = |tid: u32, cpu: u32| {
        let [(path, stat), status] = thread(tid, "spin", 0, "0-7", "1");
        let stat = stat
            .replace(") S ", ") R ")
            .replace("0 50 1", &format!("{cpu} 50 1"));
        [(path, stat), status]
    };
    let files: Vec<_> = (0..8).flat_map(|cpu| running(100 + cpu, cpu)).collect();
    let more = borrowed(&files);
    let zero = format!("{CPU}/cpu0/online");
    let (_dir, calm) = desktop(&[
        (&zero, "1"),
        ("/proc/sys/vm/min_free_kbytes", "67584"),
        ("/proc/sys/vm/nr_hugepages", "0"),
        (
            "/sys/devices/system/clocksource/clocksource0/current_clocksource",
            "tsc",
        ),
    ]);
    let (_dir, busy) = desktop(&more);
    let refused = |survey: &Survey, knobs: &str, cpus: &str, yes: bool| {
        let plan = made(&profile(knobs), survey, cpus);
        plan.obstacles(yes).next().is_some()
    };
    let no_throttling = "kernel.sched_rt_runtime_us = -1";
    for (survey, knobs, cpus, with_yes) in [
        (&calm, "cpu.online = false", "", true),
        (&calm, "\"cpu.online@0\" = false", "", false),
        (&calm, "\"cpu.online@3\" = false", "3", false),
        (&busy, no_throttling, "", false),
        (&busy, "kernel.sched_rt_runtime_us = 1000000", "", false),
        (&calm, "kernel.sched_rt_runtime_us = 0", "", false),
        (&calm, "vm.min_free_kbytes = 4000000", "", false),
        (&calm, "vm.nr_hugepages = 3500", "", false),
        (&calm, "clocksource = \"jiffies\"", "", true),
    ] {
        assert!(refused(survey, knobs, cpus, false), "{knobs}");
        assert_eq!(
            refused(survey, knobs, cpus, true),
            with_yes,
            "{knobs} --yes"
        );
    }
    let plan = made(&profile(no_throttling), &calm, "");
    assert!(plan.refusals.is_empty());
    assert!(plan.warnings[0].contains("without throttling"));
    for fine in [
        "\"cpu.online@3\" = false",
        "vm.nr_hugepages = 64",
        "vm.min_free_kbytes = 100000",
    ] {
        assert!(!refused(&calm, fine, "", false), "{fine}");
    }
}

#[test]
fn a_partition_is_made_of_either_version_of_control_groups() {
    let both = profile("cgroup.partition = \"isolated\"");
    let (_dir, v2) = desktop(&[
        ("/sys/fs/cgroup/cgroup.controllers", "cpuset cpu io"),
        ("/sys/fs/cgroup/cgroup.subtree_control", "cpu io"),
    ]);
    let plan = made(&both, &v2, "1,5");
    let targets: Vec<String> = plan.steps.iter().map(|s| s.target.to_string()).collect();
    assert_eq!(
        targets,
        [
            "cpuset in /sys/fs/cgroup/cgroup.subtree_control",
            "/sys/fs/cgroup/punctual",
            "/sys/fs/cgroup/punctual/cpuset.cpus",
            "/sys/fs/cgroup/punctual/cpuset.cpus.partition",
        ]
    );
    assert_eq!(plan.steps[3].new, "isolated");
    // Before 6.1 the kernel knows `root` alone, unless a distribution added the rest.
    let old = [
        ("/sys/fs/cgroup/cgroup.controllers", "cpuset cpu io"),
        ("/proc/sys/kernel/osrelease", "5.15.0-119-generic"),
    ];
    let plan = made(&both, &desktop(&old).1, "1,5");
    assert!(plan.steps.is_empty(), "{:?}", plan.steps);
    assert!(plan.skipped[0].detail.contains("6.1"));
    let root = profile("cgroup.partition = \"root\"");
    assert_eq!(made(&root, &desktop(&old).1, "1,5").steps.len(), 4);
    let added = [&old[..], &[("/sys/fs/cgroup/cpuset.cpus.isolated", "")]].concat();
    assert_eq!(made(&both, &desktop(&added).1, "1,5").steps.len(), 4);
    let (_dir, v1) = desktop(&[
        ("/sys/fs/cgroup/cpuset/cpuset.mems", "0"),
        ("/sys/fs/cgroup/cpuset/cpuset.sched_load_balance", "1"),
    ]);
    let plan = made(&both, &v1, "1,5");
    assert_eq!(plan.steps.len(), 8);
    assert_eq!(plan.steps[1].new, "0,2-4,6-7");
    let last = plan.steps[7].target.to_string();
    assert_eq!(last, "/sys/fs/cgroup/cpuset/cpuset.sched_load_balance");
    let (_dir, none) = desktop(&[]);
    assert_eq!(
        made(&both, &none, "1").skipped[0].reason,
        SkipReason::Absent
    );
}

#[test]
fn another_tuner_at_work_is_told() {
    let (_dir, survey) = desktop(&[("/proc/9/stat", "9 (irqbalance) S 1")]);
    let plan = made(&profile("irq.affinity = \"housekeeping\""), &survey, "1,5");
    assert!(
        plan.warnings[0].contains("irqbalance is running"),
        "{:?}",
        plan.warnings
    );
    let plan = made(&profile("vm.swappiness = 10"), &survey, "");
    assert!(plan.warnings.is_empty());
}

#[test]
fn every_built_in_profile_has_a_plan_for_an_empty_machine() {
    let dir = TempDir::new().unwrap();
    let survey = Survey::read(&SysRoot::at(dir.path()), Scope::WithThreads, true);
    for (name, _) in crate::profile::BUILT_IN {
        let made = plan(&built_in(name), &survey, &PlanOptions::default());
        assert!(made.is_err() || made.unwrap().is_empty(), "{name}");
    }
}

#[test]
fn what_a_revert_does_not_bring_back_is_told_before() {
    let stat =
        "S 2 0 0 0 -1 2097216 0 0 0 0 0 0 0 0 20 0 1 0 5 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 1 0 0";
    let (_dir, sys) = machine(&[
        ("/sys/devices/system/cpu/online", "0-1"),
        ("/sys/devices/system/cpu/cpu1/online", "1"),
        ("/sys/fs/cgroup/cpuset/app/cpuset.cpus", "1"),
        ("/sys/fs/cgroup/cpuset/both/cpuset.cpus", "0-1"),
        (
            "/sys/kernel/mm/transparent_hugepage/enabled",
            "always [madvise] never",
        ),
        ("/proc/30/task/30/stat", &format!("30 (khugepaged) {stat}")),
        ("/proc/30/task/30/status", "Cpus_allowed_list:\t0-1"),
    ]);
    let survey = Survey::read(&sys, Scope::WithThreads, true);
    let warnings = |setting: &str| {
        let mut profile = Profile::empty("t");
        profile.set(setting).unwrap();
        plan(&profile, &survey, &PlanOptions::default())
            .unwrap()
            .warnings
    };
    let offline = warnings("cpu.online@1=off");
    assert!(
        offline[0].starts_with("the cpuset app loses"),
        "{offline:?}"
    );
    assert_eq!(offline.len(), 1, "{offline:?}");
    let never = warnings("thp.enabled=never");
    assert!(never[0].starts_with("khugepaged ends"), "{never:?}");
    assert!(warnings("thp.enabled=always").is_empty());
}

#[test]
fn a_cpu_that_was_named_and_has_no_such_setting_is_told() {
    let (_dir, sys) = machine(&[
        ("/sys/devices/system/cpu/online", "0-1"),
        ("/sys/devices/system/cpu/cpu1/online", "1"),
    ]);
    let survey = Survey::read(&sys, Scope::Settings, true);
    for (which, steps) in [("0-1", 1), ("0", 0)] {
        let mut profile = Profile::empty("t");
        profile.set(&format!("cpu.online@{which}=off")).unwrap();
        let plan = plan(&profile, &survey, &PlanOptions::default()).unwrap();
        assert_eq!(plan.steps.len(), steps);
        let skipped = &plan.skipped[0];
        assert_eq!(skipped.instances, ["0"]);
        assert_eq!(skipped.detail, "the kernel does not have it for this CPU");
        assert_eq!(plan.is_out_of_reach(), steps == 0);
    }
}
