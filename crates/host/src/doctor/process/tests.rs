// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Processes of made-up trees.

use std::collections::BTreeMap;

use tempfile::TempDir;

use super::*;
use crate::testing::machine;

/// A process `loop` with the number 70, whose thread 71 is real-time and 70 is not, on a machine with two CPUs.
fn tree() -> BTreeMap<String, String> {
    let stat = |tid: u32, name: &str, nice: i32, priority: u32, policy: u32| {
        let fields = (4..=52).map(|n| match n {
            19 => nice.to_string(),
            40 => priority.to_string(),
            41 => policy.to_string(),
            _ => "0".to_owned(),
        });
        format!("{tid} ({name}) S {}", fields.collect::<Vec<_>>().join(" "))
    };
    let status = |tid: u32, cpus: &str| {
        format!(
            "Name:\tloop\nTgid:\t70\nPid:\t{tid}\nVmSize:\t  9000 kB\nVmLck:\t  8000 kB\nVmRSS:\t  8000 kB\n\
             THP_enabled:\t1\nCapEff:\t0000000000000000\nCpus_allowed_list:\t{cpus}"
        )
    };
    let limits = "Limit  Soft Limit  Hard Limit  Units\nMax locked memory  67108864  67108864  bytes\n\
                  Max realtime priority  0  0";
    let interrupts = "     CPU0 CPU1\n 30:  5 0 PCI-MSI 0-edge nic\n 31: 5 0 PCI-MSI 0-edge disk\n 32: 0 0 PCI-MSI \
                      0-edge idle";
    [
        ("/proc/70/comm", "loop".to_owned()),
        ("/proc/70/status", status(70, "0-1")),
        ("/proc/70/limits", limits.to_owned()),
        ("/proc/70/cgroup", "3:cpu:/a/b\n2:cpuset:/\n0::/".to_owned()),
        ("/proc/70/stat", stat(70, "loop", 5, 0, 0)),
        ("/proc/70/task/70/stat", stat(70, "loop", 5, 0, 0)),
        ("/proc/70/task/70/status", status(70, "0-1")),
        ("/proc/70/task/71/stat", stat(71, "rt ) x", 0, 80, 1)),
        ("/proc/70/task/71/status", status(71, "1")),
        ("/proc/70/timerslack_ns", "50000".to_owned()),
        ("/proc/71/status", status(71, "1")),
        ("/proc/90/stat", stat(90, "irq/30-nic", 0, 50, 1)),
        ("/proc/91/stat", stat(91, "irq/31-disk", 0, 90, 1)),
        ("/proc/interrupts", interrupts.to_owned()),
        ("/proc/irq/30/smp_affinity_list", "0-1".to_owned()),
        ("/proc/irq/30/effective_affinity_list", "0".to_owned()),
        ("/proc/irq/31/smp_affinity_list", "0".to_owned()),
        ("/proc/irq/32/smp_affinity_list", "0-1".to_owned()),
        ("/sys/devices/system/cpu/online", "0-1".to_owned()),
        ("/sys/fs/cgroup/cpu/a/b/cpu.shares", "1024".to_owned()),
        (
            "/sys/fs/cgroup/cpuset/cpuset.effective_cpus",
            "0-1".to_owned(),
        ),
        (
            "/sys/kernel/mm/transparent_hugepage/enabled",
            "always [madvise] never".to_owned(),
        ),
    ]
    .into_iter()
    .map(|(path, text)| (path.to_owned(), text))
    .collect()
}

/// Writes a tree with these changes; an empty text leaves a file out.
fn with(changes: &[(&str, &str)]) -> (TempDir, SysRoot) {
    let mut tree = tree();
    for (path, text) in changes {
        tree.insert((*path).to_owned(), (*text).to_owned());
    }
    let files = tree.iter().filter(|(_, text)| !text.is_empty());
    let files: Vec<(&str, &str)> = files
        .map(|(path, text)| (path.as_str(), text.as_str()))
        .collect();
    machine(&files)
}

/// Makes the real-time thread an ordinary one.
fn ordinary() -> String {
    tree()["/proc/70/task/71/stat"].replace(" 80 1 0", " 0 0 0")
}

fn judge(changes: &[(&str, &str)]) -> Result<JudgedProcess, NoProcess> {
    let (_dir, sys) = with(changes);
    let host = crate::inspect(&sys);
    let mut diagnosis = Processes::Pid(70).judge(&sys, host)?;
    assert_eq!(diagnosis.processes.len(), 1);
    Ok(diagnosis.processes.remove(0))
}

fn outcome(id: &str, changes: &[(&str, &str)]) -> (RuleOutcome, String) {
    let process = judge(changes).unwrap();
    let verdict = process.verdicts.iter().find(|v| v.rule.id == id).unwrap();
    (verdict.outcome, verdict.says.clone())
}

#[track_caller]
fn is(id: &str, changes: &[(&str, &str)], wanted: RuleOutcome, says: &str) {
    let (outcome, said) = outcome(id, changes);
    assert_eq!(outcome, wanted, "{id}: {said}");
    assert!(said.contains(says), "{id}: {said}");
}

use RuleOutcome::{Fine, Found, NotApplicable, Unknown};

#[test]
fn a_process_that_is_set_up_well_has_one_finding_about_interrupts() {
    let process = judge(&[]).unwrap();
    assert_eq!((process.pid, process.name.as_str()), (70, "loop"));
    let [main, rt] = &process.threads[..] else {
        panic!("{:?}", process.threads);
    };
    assert_eq!(
        (main.policy.as_str(), main.is_real_time),
        ("SCHED_OTHER, nice 5", false)
    );
    assert_eq!(
        (rt.name.as_str(), rt.policy.as_str()),
        ("rt ) x", "SCHED_FIFO 80")
    );
    assert_eq!(rt.cpus.to_string(), "1");
    let found: Vec<_> = process
        .verdicts
        .iter()
        .filter(|v| v.outcome == Found)
        .collect();
    let ids: Vec<_> = found.iter().map(|v| v.rule.id.as_str()).collect();
    assert_eq!(ids, ["interrupts-on-cpu", "above-irq-threads"]);
    // The one that is bound to the other CPU and the one that never came are none.
    assert_eq!(found[0].says, "1 interrupt may come to CPU 1, 0 do now");
    assert_eq!(
        found[1].says,
        "SCHED_FIFO 80; 1 of 2 interrupt threads have at most that"
    );
    assert!(
        process.verdicts.iter().all(|v| v.outcome != Unknown),
        "{process:#?}"
    );
}

#[test]
fn policies_and_limits() {
    let rt = "/proc/70/task/71/stat";
    let plain = ordinary();
    is("ordinary-policy", &[], Fine, "1 of 2 threads is real-time");
    is(
        "ordinary-policy",
        &[(rt, &plain)],
        Found,
        "all 2 threads are ordinary",
    );
    is("real-time-refused", &[], NotApplicable, "uses");
    is(
        "real-time-refused",
        &[(rt, &plain)],
        Found,
        "the limit is 0",
    );
    let capable =
        tree()["/proc/70/status"].replace("CapEff:\t0000000000000000", "CapEff:\t0000000000804000");
    let capable = [(rt, plain.as_str()), ("/proc/70/status", capable.as_str())];
    is("real-time-refused", &capable, Fine, "CAP_SYS_NICE");
    is("locking-refused", &capable, Fine, "CAP_IPC_LOCK");
    let within = [capable[0], capable[1], ("/proc/70/uid_map", "0 1000 1")];
    is("real-time-refused", &within, Found, "the limit is 0");
    let slack = [(rt, plain.as_str()), ("/proc/71/timerslack_ns", "1")];
    is("timer-slack", &slack, Found, "by up to 50 µs");
    let small = [slack[0], slack[1], ("/proc/70/timerslack_ns", "1")];
    is("timer-slack", &small, Fine, "small");
    is("timer-slack", &[(rt, &plain)], Unknown, "could not be read");
    is("timer-slack", &[], NotApplicable, "no slack");
    let limits = "Max locked memory  1048576  1048576  bytes";
    is(
        "locking-refused",
        &[("/proc/70/limits", limits)],
        Found,
        "the limit is 1.0 MiB, it has 8.8 MiB",
    );
    is(
        "locking-refused",
        &[("/proc/70/limits", "nonsense")],
        Unknown,
        "",
    );
}

#[test]
fn memory() {
    let status = tree()["/proc/70/status"].clone();
    let with = |from: &str, to: &str| status.replace(from, to);
    is("memory-not-locked", &[], Fine, "7.8 MiB is locked");
    let none = with("VmLck:\t  8000", "VmLck:\t  0");
    is(
        "memory-not-locked",
        &[("/proc/70/status", &none)],
        Found,
        "no page is",
    );
    let some = with("VmLck:\t  8000", "VmLck:\t  4096");
    is(
        "memory-not-locked",
        &[("/proc/70/status", &some)],
        Found,
        "4.0 MiB is locked, of 7.8 MiB",
    );
    let kernel = with("VmLck", "Other");
    is(
        "memory-not-locked",
        &[("/proc/70/status", &kernel)],
        NotApplicable,
        "",
    );
    let always = (
        "/sys/kernel/mm/transparent_hugepage/enabled",
        "[always] madvise never",
    );
    is("process-huge-pages", &[], Fine, "madvise");
    is(
        "process-huge-pages",
        &[always],
        Found,
        "not switched them off",
    );
    let off = with("THP_enabled:\t1", "THP_enabled:\t0");
    is(
        "process-huge-pages",
        &[always, ("/proc/70/status", &off)],
        Fine,
        "switched them off",
    );
}

#[test]
fn groups_of_both_kinds() {
    let rt = "/proc/70/task/71/stat";
    let plain = ordinary();
    is("cpu-quota", &[], NotApplicable, "ordinary");
    is("cpu-quota", &[(rt, &plain)], NotApplicable, "has no quota");
    let none = [
        (rt, plain.as_str()),
        ("/sys/fs/cgroup/cpu/a/b/cpu.cfs_quota_us", "-1"),
    ];
    is("cpu-quota", &none, Fine, "no quota");
    let old = [
        (rt, plain.as_str()),
        ("/sys/fs/cgroup/cpu/a/b/cpu.cfs_quota_us", "-1"),
        ("/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "5000"),
        ("/sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "20000"),
    ];
    is(
        "cpu-quota",
        &old,
        Found,
        "5000 µs of CPU time each 20000 µs",
    );
    let new = [
        (rt, plain.as_str()),
        ("/proc/70/cgroup", "0::/x.slice/y.service"),
        ("/sys/fs/cgroup/x.slice/cpu.max", "50000 100000"),
        ("/sys/fs/cgroup/x.slice/y.service/cpu.max", "max 100000"),
    ];
    is(
        "cpu-quota",
        &new,
        Found,
        "50000 µs of CPU time each 100000 µs",
    );
    let odd = [new[0], new[1], ("/sys/fs/cgroup/x.slice/cpu.max", "much")];
    is("cpu-quota", &odd, Unknown, "");
    is("rt-budget", &[], Fine, "no cgroup has a real-time budget");
    let budget = [
        ("/sys/fs/cgroup/cpu/a/b/cpu.rt_runtime_us", "2000"),
        ("/sys/fs/cgroup/cpu/a/b/cpu.rt_period_us", "10000"),
    ];
    is("rt-budget", &budget, Found, "2000 µs of each 10000 µs");
    is("cpuset", &[], Fine, "all CPUs");
    let cut = [("/sys/fs/cgroup/cpuset/cpuset.effective_cpus", "0")];
    is("cpuset", &cut, Found, "not CPU 1");
}

/// The evidence that a rule could not be judged by.
#[track_caller]
fn unknown(id: &str, changes: &[(&str, &str)], path: &str, why: &str) {
    let process = judge(changes).unwrap();
    let verdict = process.verdicts.iter().find(|v| v.rule.id == id).unwrap();
    assert_eq!(verdict.outcome, Unknown, "{id}: {verdict:#?}");
    let [evidence] = &*verdict.evidence else {
        panic!("{verdict:#?}");
    };
    assert_eq!(evidence.path, path);
    let problem = evidence.problem.as_deref().unwrap();
    assert!(problem.contains(why), "{problem}");
}

/// What a container of cgroups version 1 has mounted: its own group, which is `root` of the hierarchy as it sees that.
fn mounted(root: &str) -> String {
    // What was mounted there before is hidden.
    ["/", root]
        .map(|root| {
            let line =
                |c| format!("40 39 0:29 {root} /sys/fs/cgroup/{c} ro - cgroup cgroup rw,{c}\n");
            ["cpu", "cpuset"].map(line).concat()
        })
        .concat()
}

#[test]
fn in_a_container_the_group_may_be_the_root_of_the_mount() {
    let rt = "/proc/70/task/71/stat";
    let plain = ordinary();
    let says = "30000 µs of CPU time each 100000 µs";
    let new = [
        (rt, plain.as_str()),
        ("/proc/70/cgroup", "0::/"),
        ("/sys/fs/cgroup/cpu.max", "30000 100000"),
    ];
    is("cpu-quota", &new, Found, says);
    let old = |group, root| {
        [
            (rt, plain.as_str()),
            ("/proc/70/cgroup", group),
            ("/proc/self/mountinfo", root),
            ("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "30000"),
            ("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000"),
            ("/sys/fs/cgroup/cpuset/cpuset.effective_cpus", "0"),
        ]
    };
    let (bound, own) = (mounted("/docker/ab"), mounted("/"));
    let bound = old("2:cpu:/docker/ab\n1:cpuset:/docker/ab\n0::/", &bound);
    let own = old("2:cpu:/\n1:cpuset:/\n0::/", &own);
    for tree in [&bound, &own] {
        is("cpu-quota", tree, Found, says);
        is("cpuset", tree, Found, "not CPU 1");
    }
    // A group below that of the container, too.
    let mut below = bound.to_vec();
    below[1].1 = "2:cpu:/docker/ab/c\n1:cpuset:/docker/ab/c\n0::/";
    below.push(("/sys/fs/cgroup/cpu/c/cpu.cfs_quota_us", "-1"));
    is("cpu-quota", &below, Found, says);
}

#[test]
fn limits_of_groups_that_cannot_be_seen_are_not_known() {
    let rt = "/proc/70/task/71/stat";
    let plain = ordinary();
    let (bound, own, foreign) = (mounted("/docker/ab"), mounted("/"), mounted("/.."));
    let ours = "2:cpu:/docker/ab\n1:cpuset:/docker/ab\n0::/";
    let another = "it does not show the group of this process";
    for (group, mounts, why) in [
        ("2:cpu:/other\n1:cpuset:/other\n0::/", &*bound, another),
        (
            "2:cpu:/docker/abc\n1:cpuset:/docker/abc\n0::/",
            &bound,
            another,
        ),
        (
            "2:cpu:/../other\n1:cpuset:/../other\n0::/../other",
            &own,
            another,
        ),
        (
            "2:cpu:/\n1:cpuset:/\n0::/",
            &foreign,
            "for another name space",
        ),
        ("2:cpu:/other\n1:cpuset:/other\n0::/other", "", another),
        ("2:cpu:/../other\n1:cpuset:/../other\n0::/", "", another),
    ] {
        let ordinary = [
            (rt, plain.as_str()),
            ("/proc/self/cgroup", ours),
            ("/proc/70/cgroup", group),
            ("/proc/self/mountinfo", mounts),
            ("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "30000"),
            ("/sys/fs/cgroup/cpu/cpu.rt_runtime_us", "1000"),
            ("/sys/fs/cgroup/cpuset/cpuset.effective_cpus", "0"),
        ];
        unknown("cpu-quota", &ordinary, "/sys/fs/cgroup/cpu", why);
        unknown("cpuset", &ordinary, "/sys/fs/cgroup/cpuset", why);
        unknown("rt-budget", &ordinary[1..], "/sys/fs/cgroup/cpu", why);
    }
    // Nothing is mounted, or another version.
    for mounts in ["", "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n"] {
        let bare = [
            (rt, plain.as_str()),
            ("/proc/70/cgroup", "0::/"),
            ("/proc/self/mountinfo", mounts),
            ("/sys/fs/cgroup/cpuset/cpuset.effective_cpus", ""),
        ];
        let why = "cgroups are not mounted";
        unknown("cpu-quota", &bare, "/sys/fs/cgroup", why);
        unknown("cpuset", &bare, "/sys/fs/cgroup", why);
    }
}

#[test]
fn a_group_of_version_2_has_no_budget_where_the_kernel_has_budgets() {
    let rt = "/proc/70/task/71/stat";
    let plain = ordinary();
    let status = tree()["/proc/70/status"].replace("0000000000000000", "0000000000800000");
    let config = ("/boot/config-6.16.0", "CONFIG_RT_GROUP_SCHED=y");
    let all = [
        (rt, plain.as_str()),
        ("/proc/70/status", &*status),
        ("/proc/70/cgroup", "0::/a/b"),
        ("/sys/fs/cgroup/a/cpu.max", "max 100000"),
        ("/sys/fs/cgroup/a/b/cgroup.procs", "70"),
        ("/proc/sys/kernel/osrelease", "6.16.0"),
        ("/proc/sys/kernel/sched_rt_runtime_us", "950000"),
        ("/proc/cmdline", "quiet"),
    ];
    let with = |more| [all.as_slice(), &[more]].concat();
    let id = "real-time-refused";
    is(id, &with(config), Found, "cgroups of version 2");
    is(id, &all, Unknown, "could not be read");
    let built_without = (config.0, "CONFIG_HZ=250");
    is(id, &with(built_without), Fine, "CAP_SYS_NICE");
    let mut off = with(config);
    off.push(("/proc/cmdline", "rt_group_sched=0"));
    is(id, &off, Fine, "CAP_SYS_NICE");
    off.push(("/proc/sys/kernel/osrelease", "6.15.0"));
    off.push(("/boot/config-6.15.0", config.1));
    is(id, &off, Found, "cgroups of version 2");
    off.push(("/proc/sys/kernel/sched_rt_runtime_us", "-1"));
    is(id, &off, Fine, "CAP_SYS_NICE");
}

#[test]
fn a_group_without_budget_refuses_real_time_whatever_the_process_may() {
    let rt = "/proc/70/task/71/stat";
    let plain = ordinary();
    let budget = "/sys/fs/cgroup/cpu/a/b/cpu.rt_runtime_us";
    let status = tree()["/proc/70/status"].replace("0000000000000000", "0000000000800000");
    let capable = |more: &[(&str, &str)]| {
        let mut all = vec![(rt, plain.as_str()), ("/proc/70/status", &*status)];
        all.extend(more.iter().map(|(path, text)| (&**path, &**text)));
        outcome("real-time-refused", &all)
    };
    let says = |outcome: RuleOutcome, says: &str| (outcome, says.to_owned());
    assert_eq!(
        capable(&[(budget, "0")]),
        says(Found, "the real-time budget of its cgroup is 0")
    );
    let has = says(Fine, "the process has CAP_SYS_NICE");
    assert_eq!(capable(&[(budget, "1000")]), has);
    // Without a limit of the system the kernel heeds no group's.
    let unlimited = ("/proc/sys/kernel/sched_rt_runtime_us", "-1");
    assert_eq!(capable(&[(budget, "0"), unlimited]), has);
    // The kernel has no budgets of groups, or they cannot be seen.
    assert_eq!(capable(&[]), has);
    let unseen = ("/sys/fs/cgroup/cpu/a/b/cpu.shares", "");
    assert_eq!(capable(&[unseen]).0, Unknown);
    assert_eq!(capable(&[("/proc/70/cgroup", "0::/x")]), has);
}

#[test]
fn cpus() {
    is("not-pinned", &[], Fine, "bound");
    let free = tree()["/proc/70/task/71/status"].replace("list:\t1", "list:\t0-1");
    let free = [("/proc/70/task/71/status", free.as_str())];
    is("not-pinned", &free, Found, "the thread is not bound to one");
    is(
        "interrupts-on-cpu",
        &free,
        NotApplicable,
        "no thread is bound",
    );
    let one = [("/sys/devices/system/cpu/online", "1")];
    is("not-pinned", &one, NotApplicable, "only one CPU");
    let none = [("/proc/interrupts", "")];
    is("interrupts-on-cpu", &none, Unknown, "");
    let per_cpu = [("/proc/irq/30/effective_affinity_list", "\n")];
    is("interrupts-on-cpu", &per_cpu, Fine, "no active interrupt");
    let gone = [("/proc/90/stat", ""), ("/proc/91/stat", "")];
    is(
        "above-irq-threads",
        &gone,
        NotApplicable,
        "no interrupt threads",
    );
}

#[test]
fn whoever_is_not_there_is_not_judged() {
    let (_dir, sys) = with(&[("/proc/70/task/70/stat", ""), ("/proc/70/task/71/stat", "")]);
    let host = || crate::inspect(&sys);
    assert_eq!(
        Processes::Pid(70).judge(&sys, host()),
        Err(NoProcess::Ended(70))
    );
    assert_eq!(
        Processes::Pid(7).judge(&sys, host()),
        Err(NoProcess::Missing(7))
    );
    let named = |name: &str| Processes::Named(name.to_owned());
    let none = NoProcess::NoneNamed("other".to_owned());
    assert_eq!(named("other").judge(&sys, host()), Err(none));
    assert_eq!(judge_thread(&sys, 71), []);
    assert_eq!(judge_thread(&sys, -1), []);
}

#[test]
fn a_name_a_thread_and_a_process_lead_to_the_same() {
    let (_dir, sys) = with(&[]);
    let of = |which: Processes| which.judge(&sys, crate::inspect(&sys)).unwrap();
    assert_eq!(of(Processes::Pid(71)), of(Processes::Pid(70)));
    assert_eq!(
        of(Processes::Named("loop".to_owned())),
        of(Processes::Pid(70))
    );
    // Of one thread alone only what is wrong is said.
    let ids = |tid| {
        judge_thread(&sys, tid)
            .into_iter()
            .map(|v| v.rule.id)
            .collect::<Vec<_>>()
    };
    assert_eq!(ids(71), ["interrupts-on-cpu", "above-irq-threads"]);
    let main = ids(70);
    assert!(
        main.contains(&"ordinary-policy".to_owned()) && main.contains(&"timer-slack".to_owned()),
        "{main:?}"
    );
}

#[test]
fn a_process_whose_name_is_cut_in_a_letter_is_judged() {
    let (dir, sys) = with(&[]);
    for name in ["status", "stat", "comm", "task/70/stat", "task/70/status"] {
        let path = dir.path().join("proc/70").join(name);
        let text = sys.read(&format!("/proc/70/{name}")).unwrap();
        let mut bytes = text.replace("loop", "loo?").into_bytes();
        let last = bytes.iter().position(|byte| *byte == b'?').unwrap();
        bytes[last] = 0xc3;
        std::fs::write(path, bytes).unwrap();
    }
    let judged = Processes::Pid(70)
        .judge(&sys, crate::inspect(&sys))
        .unwrap();
    let process = &judged.processes[0];
    assert_eq!(process.name, "loo\u{fffd}");
    assert_eq!(process.threads.len(), 2);
    assert!(
        process
            .verdicts
            .iter()
            .all(|verdict| verdict.outcome != Unknown)
    );
}

#[test]
fn rules_have_names_of_their_own() {
    let mut ids: Vec<String> = process_rules()
        .into_iter()
        .chain(super::super::rules())
        .map(|r| r.id)
        .collect();
    let all = ids.len();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), all);
}
