// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Who may be real-time, for how long, and what else is.

use punctual_model::{CpuSet, Ordered as _, RuleOutcome, Severity};

use super::super::case::{
    Answer, Case, Entry, Fix, NotKnown, evidence, fine, found, found_if, not_applicable, unread,
};
use super::super::groups::{self, Groups, NOT_THE_ROOT, UNLIMITED, is_root};
use super::super::parse::{
    CAP_IPC_LOCK, CAP_SYS_NICE, Process, capability, is_of_user_namespace, soft_limit, status,
};
use super::NOT_APART;
use crate::machine::Unread;

const RUNTIME: &str = "/proc/sys/kernel/sched_rt_runtime_us";
const PERIOD: &str = "/proc/sys/kernel/sched_rt_period_us";
const GROUP: &str = "/sys/fs/cgroup/cpu/cpu.rt_runtime_us";

pub(super) const RULES: &[Entry] = &[
    Entry {
        id: "rt-throttling",
        severity: Severity::Medium,
        title: "real-time threads are throttled",
        why: "Real-time threads that use up the runtime of a period are off the CPU for the rest \
              of it, by default 50 ms in each second. Threads that sleep enough are unaffected.",
        fix: "write -1 to /proc/sys/kernel/sched_rt_runtime_us if a real-time thread may use a \
              whole CPU; an endless loop in it then blocks that CPU for everything else. Since 6.12 an ordinary \
              thread that waits there gets its time all the same, see fair-server",
        by: &[Fix::Tune("kernel.sched_rt_runtime_us=-1")],
        source: "Linux Documentation/scheduler/sched-rt-group.rst; sched(7)",
        check: throttling,
    },
    Entry {
        id: "rt-group-budget",
        severity: Severity::Medium,
        title: "the root cgroup has less real-time budget than the system",
        why: "With CONFIG_RT_GROUP_SCHED the cgroup's cpu.rt_runtime_us decides about throttling, \
              whatever the sysctl says.",
        fix: "raise the sysctl first, then write the same value to /sys/fs/cgroup/cpu/cpu.rt_runtime_us",
        by: &[Fix::Tune("cgroup.rt_runtime_us={budget}")],
        source: "Linux Documentation/scheduler/sched-rt-group.rst",
        check: group_budget,
    },
    Entry {
        id: "rt-group-denied",
        severity: Severity::High,
        title: "this cgroup has no real-time budget",
        why: "With CONFIG_RT_GROUP_SCHED a new cgroup has a budget of 0, and SCHED_FIFO and \
              SCHED_RR are refused in it, even to root.",
        fix: "write a budget to cpu.rt_runtime_us of the group, or move the shell to the root group. Version 2 of \
              cgroups has no such file: write -1 to /proc/sys/kernel/sched_rt_runtime_us, or boot with \
              rt_group_sched=0 (Linux 6.16 and newer)",
        by: &[Fix::Setup, Fix::Boot, Fix::Rebuild],
        source: "Linux Documentation/scheduler/sched-rt-group.rst; admin-guide/kernel-parameters.txt \
                 (rt_group_sched=); kernel/sched/core.c",
        check: group_denied,
    },
    Entry {
        id: "fair-server",
        severity: Severity::Low,
        title: "ordinary threads have reserved time on the judged CPUs",
        why: "Since 6.12 an ordinary thread that waits behind a busy real-time thread gets the CPU \
              for up to 50 ms in each second. This matters only if real-time threads do not sleep.",
        fix: "keep ordinary threads off these CPUs, or write 0 to fair_server/cpuN/runtime in debugfs",
        by: &[Fix::Tune("sched.fair_server_runtime_ns=0")],
        source: "Linux kernel/sched/deadline.c and debug.c (fair_server)",
        check: fair_server,
    },
    Entry {
        id: "rt-priority-limit",
        severity: Severity::High,
        title: "this user cannot use real-time scheduling",
        why: "Without CAP_SYS_NICE the limit on real-time priority applies, and it is 0: \
              SCHED_FIFO and SCHED_RR are refused.",
        fix: "add the line `@realtime - rtprio 95` in /etc/security/limits.d and join that group, \
              or set LimitRTPRIO= in the service; a file capability would grant it to everybody \
              who may run the file",
        by: &[Fix::Setup],
        source: "sched(7), getrlimit(2), limits.conf(5), capabilities(7)",
        check: priority_limit,
    },
    Entry {
        id: "memory-lock-limit",
        severity: Severity::Medium,
        title: "this user can lock little memory",
        why: "Memory that is not locked may be paged out or not yet allocated. The first access is \
              then a page fault, which may wait for the disk.",
        fix: "add the line `@realtime - memlock unlimited` in /etc/security/limits.d, or set \
              LimitMEMLOCK=infinity in the service",
        by: &[Fix::Setup],
        source: "mlockall(2), getrlimit(2), limits.conf(5)",
        check: memory_limit,
    },
    Entry {
        id: "other-real-time",
        severity: Severity::Low,
        title: "other programs have real-time priority too",
        why: "A thread of higher priority runs first, one of equal priority may, and one with SCHED_DEADLINE \
              comes before all of them. Only the main thread of each process was checked.",
        fix: "choose priorities with them in mind, or keep them on other CPUs",
        by: &[Fix::Setup],
        source: "sched(7)",
        check: other_real_time,
    },
    Entry {
        id: "numa-balancing",
        severity: Severity::Medium,
        title: "memory is moved between NUMA nodes automatically",
        why: "To see which node uses a page the kernel unmaps pages from time to time: the next \
              access is a page fault, even in locked memory, and may copy the page.",
        fix: "write 0 to /proc/sys/kernel/numa_balancing",
        by: &[Fix::Tune("kernel.numa_balancing=0")],
        source: "Linux Documentation/admin-guide/sysctl/kernel.rst (numa_balancing)",
        check: numa_balancing,
    },
    Entry {
        id: "rcu-expedited",
        severity: Severity::Medium,
        title: "every RCU grace period is expedited",
        why: "Each one interrupts every CPU that is not idle.",
        fix: "write 0 to /sys/kernel/rcu_expedited",
        by: &[Fix::Tune("rcu.expedited=off")],
        source: "Linux Documentation/ABI/testing/sysfs-kernel-rcu_expedited; RCU/Design",
        check: |case| {
            super::debugging::off(
                case,
                "expediting every grace period",
                "/sys/kernel/rcu_expedited",
            )
        },
    },
    Entry {
        id: "rcu-normal",
        severity: Severity::Low,
        title: "RCU grace periods may be expedited",
        why: "Work on other CPUs, such as a change to a network device, may request one, and that \
              interrupts the judged CPUs.",
        fix: "write 1 to /sys/kernel/rcu_normal, or boot with rcupdate.rcu_normal_after_boot=1 (PREEMPT_RT \
              does by default)",
        by: &[Fix::Tune("rcu.normal=on"), Fix::Boot],
        source: "Linux Documentation/admin-guide/kernel-parameters.txt (rcupdate.rcu_normal_after_boot)",
        check: rcu_normal,
    },
    Entry {
        id: "split-lock",
        severity: Severity::Low,
        title: "a split lock stops its thread for 10 ms or more",
        why: "The kernel puts a thread to sleep when its atomic access crosses a cache line, \
              whether it is real-time or not.",
        fix: "fix the program, or write 0 to /proc/sys/kernel/split_lock_mitigate",
        by: &[
            Fix::Tune("kernel.split_lock_mitigate=off"),
            Fix::Setup,
            Fix::Boot,
        ],
        source: "Linux Documentation/arch/x86/buslock.rst; admin-guide/sysctl/kernel.rst",
        check: split_lock,
    },
];

/// Returns major and minor number of the kernel's release.
pub(super) fn release(case: &Case<'_>) -> Result<(u32, u32), NotKnown> {
    let seen = case.text("/proc/sys/kernel/osrelease")?;
    let numbers = case.parsed(&seen, |text| {
        let mut parts = text.split(['.', '-'].as_slice());
        Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
    })?;
    Ok(numbers.value)
}

/// The first kernel with the fair server, and without throttling but of groups.
const FAIR_SERVER: (u32, u32) = (6, 12);

fn throttling(case: &Case<'_>) -> Answer {
    let runtime = case.value::<i64>(RUNTIME)?;
    let period = case.value::<i64>(PERIOD)?;
    let mut looked_at = vec![runtime.evidence(), period.evidence()];
    let served = release(case)? >= FAIR_SERVER;
    if runtime.value < 0 || runtime.value >= period.value {
        // Reserved time is another rule's finding, and this one must not deny it.
        let reserved =
            served && !fair_server(case).is_ok_and(|fair| fair.outcome == RuleOutcome::Fine);
        return match reserved {
            true => fine(
                "no budget throttles real-time threads; the fair server may still stop them, see fair-server",
                looked_at,
            ),
            false => fine("real-time threads may use all CPU time", looked_at),
        };
    }
    if served {
        let config = case.config()?;
        if !config.has("RT_GROUP_SCHED") {
            return not_applicable(
                "since 6.12 a kernel without CONFIG_RT_GROUP_SCHED does not throttle, see fair-server",
            );
        }
        looked_at.push(config.evidence("RT_GROUP_SCHED"));
    }
    let says = format!("they may use {} of each {} µs", runtime.value, period.value);
    found(says, looked_at)
}

fn group_budget(case: &Case<'_>) -> Answer {
    let Some(group) = case.number_if(GROUP)? else {
        return not_applicable("cgroups have no real-time budgets");
    };
    // A container's own group, of which `rt-group-denied` says what matters.
    if !is_root("/sys/fs/cgroup/cpu", |path| case.machine.read(path).is_ok()) {
        return Err(NotKnown(vec![unread(
            GROUP,
            &Unread::LeftAlone(NOT_THE_ROOT),
        )]));
    }
    let system = case.value::<i64>(RUNTIME)?;
    let looked_at = vec![group.evidence(), system.evidence()];
    if system.value < 0 {
        return fine(UNLIMITED, looked_at);
    }
    if group.value >= 0 && group.value < system.value {
        return found(
            format!("{} µs, while the system has {}", group.value, system.value),
            looked_at,
        );
    }
    fine("the root cgroup has the budget of the system", looked_at)
}

fn group_denied(case: &Case<'_>) -> Answer {
    let groups = case.text("/proc/self/cgroup")?;
    let groups = Groups::usual(groups.value, "cpu");
    let files = groups.budget_files();
    if files.is_empty() {
        return denied_by_version_2(case, &groups);
    }
    let nearest = files
        .iter()
        .find_map(|path| case.number_if(path).transpose());
    let Some(budget) = nearest.transpose()? else {
        return not_applicable("cgroups have no real-time budgets");
    };
    if let Some(system) = case.number_if(RUNTIME)?.filter(|system| system.value < 0) {
        return fine(UNLIMITED, vec![budget.evidence(), system.evidence()]);
    }
    match budget.value {
        0 => found("its budget is 0", &budget),
        _ => fine("this cgroup has a budget", &budget),
    }
}

/// Says whether the process is in a group of version 2 that has a real-time budget, which is 0.
fn denied_by_version_2(case: &Case<'_>, groups: &Groups) -> Answer {
    let controlled = groups
        .controlled_files()
        .iter()
        .find_map(|path| case.text_if(path).transpose());
    let Some(controlled) = controlled.transpose()? else {
        return not_applicable("no cpu controller limits this cgroup");
    };
    let config = case.config()?;
    if !config.has("RT_GROUP_SCHED") {
        return not_applicable("cgroups have no real-time budgets");
    }
    let cmdline = case.text("/proc/cmdline")?.value;
    if !groups::are_budgeted(config, cmdline, release(case)?) {
        return not_applicable("real-time budgets of cgroups are switched off");
    }
    let system = case.value::<i64>(RUNTIME)?;
    let looked_at = vec![
        controlled.evidence(),
        config.evidence("RT_GROUP_SCHED"),
        system.evidence(),
    ];
    match system.value {
        ..0 => fine(UNLIMITED, looked_at),
        _ => found(groups::NO_BUDGET, looked_at),
    }
}

fn fair_server(case: &Case<'_>) -> Answer {
    if release(case)? < FAIR_SERVER {
        return not_applicable("this kernel is older than the fair server");
    }
    case.some_cpu()?;
    let mut reserved = Vec::new();
    let mut looked_at = Vec::new();
    for cpu in case.cpus.iter() {
        let path = format!("/sys/kernel/debug/sched/fair_server/cpu{cpu}/runtime");
        let runtime = case.value::<u64>(&path)?;
        looked_at.push(runtime.evidence());
        if runtime.value > 0 {
            reserved.push(runtime.evidence());
        }
    }
    found_if(
        reserved,
        "ordinary threads have reserved time",
        "ordinary threads have no reserved time",
        looked_at,
    )
}

/// Whether this user's programs have a capability that the kernel heeds for scheduling and locked memory.
fn capable(case: &Case<'_>, bit: u32) -> Result<Option<punctual_model::Evidence>, NotKnown> {
    if let Some(map) = case.text_if("/proc/self/uid_map")?
        && is_of_user_namespace(map.value)
    {
        return Ok(None);
    }
    let seen = case.text("/proc/self/status")?;
    let has = case.parsed(&seen, |text| capability(text, bit))?.value;
    // What the file of this program gives its user's other programs do not have: only root's, and an ambient
    // capability, go over exec(2) (capabilities(7)).
    let is_users = match status(seen.value, "Uid").and_then(|ids| ids.split_whitespace().next()) {
        None | Some("0") => true,
        Some(_) => status(seen.value, "CapAmb")
            .and_then(|bits| u64::from_str_radix(bits, 16).ok())
            .is_some_and(|bits| bits >> bit & 1 == 1),
    };
    Ok(has
        .filter(|_| is_users)
        .map(|word| evidence(seen.path, format!("CapEff: {word}"))))
}

/// Returns the soft limit of a resource; nothing if there is none.
fn limit(case: &Case<'_>, name: &str) -> Result<(Option<u64>, punctual_model::Evidence), NotKnown> {
    let seen = case.text("/proc/self/limits")?;
    let soft = case.parsed(&seen, |text| soft_limit(text, name))?;
    let shown = evidence(seen.path.clone(), format!("{name}: {}", soft.value));
    if soft.value == "unlimited" {
        return Ok((None, shown));
    }
    let number = case.parsed(&seen, |_| soft.value.parse::<u64>().ok())?;
    Ok((Some(number.value), shown))
}

fn priority_limit(case: &Case<'_>) -> Answer {
    if let Some(capability) = capable(case, CAP_SYS_NICE)? {
        return fine("this process has CAP_SYS_NICE", vec![capability]);
    }
    match limit(case, "Max realtime priority")? {
        (Some(0), shown) => found("the limit is 0", vec![shown]),
        (Some(n), shown) => fine(format!("priorities up to {n} are allowed"), vec![shown]),
        (None, shown) => fine("any priority is allowed", vec![shown]),
    }
}

/// Less than this is soon used up: a program with a few threads and libraries locks some 100 MB.
const ENOUGH_BYTES: u64 = 256 << 20;

fn memory_limit(case: &Case<'_>) -> Answer {
    if let Some(capability) = capable(case, CAP_IPC_LOCK)? {
        return fine("this process has CAP_IPC_LOCK", vec![capability]);
    }
    match limit(case, "Max locked memory")? {
        (Some(bytes), shown) if bytes < ENOUGH_BYTES => {
            found(format!("the limit is {} KiB", bytes >> 10), vec![shown])
        }
        (_, shown) => fine("enough memory may be locked", vec![shown]),
    }
}

/// Returns the processes, by their main threads.
pub(super) fn processes(case: &Case<'_>) -> Result<Vec<Process>, NotKnown> {
    // Where /proc is mounted with hidepid, others are not there; silence is no answer then.
    drop(case.text("/proc/1/stat")?);
    drop(case.text_if("/proc/#/stat")?);
    let all = case.machine.under("/proc/").filter_map(|(path, reading)| {
        let pid = path.strip_prefix("/proc/")?.strip_suffix("/stat")?;
        pid.parse::<u32>().ok()?;
        Process::parse(reading.as_deref().ok()?)
    });
    Ok(all.collect())
}

fn other_real_time(case: &Case<'_>) -> Answer {
    let mut all: Vec<_> = processes(case)?
        .into_iter()
        .filter(|process| !process.is_kernel && (process.priority > 0 || process.has_deadlines))
        .collect();
    all.order_by_key(|process| std::cmp::Reverse((process.has_deadlines, process.priority)));
    let cite = |process: &Process| {
        let what = match process.has_deadlines {
            true => format!("{} SCHED_DEADLINE", process.name),
            false => format!("{} priority {}", process.name, process.priority),
        };
        evidence(format!("/proc/{}/stat", process.pid), what)
    };
    let deadlines = all.iter().filter(|process| process.has_deadlines).count();
    let highest = all.iter().map(|process| process.priority).max();
    let with = match (deadlines, highest.unwrap_or(0)) {
        (0, highest) => format!("priorities up to {highest}"),
        (_, 0) => "SCHED_DEADLINE".to_owned(),
        (n, highest) => format!("SCHED_DEADLINE ({n}) and priorities up to {highest}"),
    };
    let says = format!("found {}, with {with}", all.len());
    found_if(
        all.iter().map(cite).collect(),
        says,
        "no other program is",
        Vec::new(),
    )
}

fn numa_balancing(case: &Case<'_>) -> Answer {
    if let Some(nodes) = case.value_if::<CpuSet>("/sys/devices/system/node/online")?
        && nodes.value.len() < 2
    {
        return not_applicable("there is only one node");
    }
    super::debugging::off(case, "NUMA balancing", "/proc/sys/kernel/numa_balancing")
}

fn split_lock(case: &Case<'_>) -> Answer {
    let path = "/proc/sys/kernel/split_lock_mitigate";
    let answer = super::debugging::off(case, "split lock mitigation", path)?;
    // A processor that only reports bus locks has them logged: the mitigation hangs on the other exception.
    if answer.outcome == RuleOutcome::Found
        && let Some(cpuinfo) = case.text_if("/proc/cpuinfo")?
        && let Some(flags) = cpuinfo.value.lines().find(|l| l.starts_with("flags"))
        && !flags
            .split_whitespace()
            .any(|flag| flag == "split_lock_detect")
    {
        return not_applicable("this processor does not stop at a split lock");
    }
    Ok(answer)
}

fn rcu_normal(case: &Case<'_>) -> Answer {
    if !case.apart() {
        return not_applicable(NOT_APART);
    }
    let Some(normal) = case.number_if("/sys/kernel/rcu_normal")? else {
        return not_applicable("this kernel does not have it");
    };
    match normal.value {
        0 => found("they may be", &normal),
        _ => fine("RCU grace periods are never expedited", &normal),
    }
}
