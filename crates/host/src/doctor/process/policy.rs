// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What the scheduler is to do with the threads of a process.

use punctual_model::{Evidence, Severity};
use punctual_sys::proc::{Stat, release_numbers};

use super::super::case::{
    Answer, Fix, NotKnown, evidence, fine, found, found_if, not_applicable, unread,
};
use super::super::groups::{self, is_root};
use super::super::parse::{CAP_SYS_NICE, capability, soft_limit};
use super::{Entry, Subject, numbers, odd, threads};
use crate::machine::{Config, PLACES, Unread};

const RELEASE: &str = "/proc/sys/kernel/osrelease";
const RUNTIME: &str = "/proc/sys/kernel/sched_rt_runtime_us";

pub(super) const RULES: &[Entry] = &[
    Entry {
        id: "ordinary-policy",
        severity: Severity::High,
        title: "runs with an ordinary policy",
        why: "Ordinary threads share the CPU by weight: any of them may run first, for milliseconds.",
        fix: "call sched_setscheduler(2) with SCHED_FIFO in the thread with the deadline, or start the program with chrt(1)",
        by: &[Fix::Program, Fix::Setup],
        source: "sched(7)",
        check: ordinary,
    },
    Entry {
        id: "real-time-refused",
        severity: Severity::High,
        title: "the process may not use real-time scheduling",
        why: "SCHED_FIFO and SCHED_RR are refused. Without CAP_SYS_NICE the limit on real-time priority applies, and it \
              may be 0. With CONFIG_RT_GROUP_SCHED a cgroup without real-time budget refuses them even to root.",
        fix: "set LimitRTPRIO= in its service, or add the line `@realtime - rtprio 95` in /etc/security/limits.d; where \
              the cgroup is the reason, see rt-group-denied",
        by: &[Fix::Setup],
        source: "sched(7), getrlimit(2), limits.conf(5); Linux Documentation/scheduler/sched-rt-group.rst",
        check: refused,
    },
    Entry {
        id: "above-irq-threads",
        severity: Severity::Low,
        title: "has a priority at or above that of interrupt threads",
        why: "If the thread waits for such an interrupt, or needs what it delivers, its own work delays it.",
        fix: "give the interrupts that it waits for a higher priority with chrt(1), or the thread a lower one",
        by: &[Fix::Setup, Fix::Program],
        source: "sched(7); Linux kernel/irq/manage.c (irq_thread)",
        check: above_interrupts,
    },
    Entry {
        id: "timer-slack",
        severity: Severity::Medium,
        title: "the kernel may delay its timers",
        why: "Timers of ordinary threads may expire later by the timer slack, 50 µs by default, so that several expire \
              together. Real-time threads have none.",
        fix: "call prctl(PR_SET_TIMERSLACK, 1) in the thread, or use a real-time policy",
        by: &[Fix::Program],
        source: "prctl(2) (PR_SET_TIMERSLACK), proc_pid_timerslack_ns(5)",
        check: timer_slack,
    },
    Entry {
        id: "cpu-quota",
        severity: Severity::High,
        title: "a CPU quota stops its ordinary threads",
        why: "Once the threads of the group have used the quota of a period, they all wait for the next one: tens of \
              milliseconds.",
        fix: "take the quota away: CPUQuota= in the service, --cpus of a container, or write max to cpu.max \
              (-1 to cpu.cfs_quota_us)",
        by: &[Fix::Setup],
        source: "Linux Documentation/scheduler/sched-bwc.rst; admin-guide/cgroup-v2.rst (cpu.max)",
        check: quota,
    },
    Entry {
        id: "rt-budget",
        severity: Severity::Medium,
        title: "its cgroup limits real-time threads",
        why: "With CONFIG_RT_GROUP_SCHED the real-time threads of a group that have used its budget wait for the next \
              period.",
        fix: "raise cpu.rt_runtime_us of the group, or move the process to a group with a larger budget",
        by: &[Fix::Setup],
        source: "Linux Documentation/scheduler/sched-rt-group.rst",
        check: budget,
    },
];

fn ordinary(subject: &Subject<'_>) -> Answer {
    let (all, real_time) = (subject.threads.len(), subject.real_time().len());
    let looked_at = subject.judged();
    let cited = looked_at.iter().map(|thread| {
        let value = format!("{}, {}", thread.of.name, thread.of.policy);
        evidence(subject.thread_file(thread, "stat"), value)
    });
    let cited: Vec<_> = cited.collect();
    match real_time {
        0 => found(format!("{} {} ordinary", threads(all, all), is(all)), cited),
        n => fine(format!("{} {} real-time", threads(n, all), is(n)), cited),
    }
}

const fn is(n: usize) -> &'static str {
    if n == 1 { "is" } else { "are" }
}

fn refused(subject: &Subject<'_>) -> Answer {
    if !subject.real_time().is_empty() {
        return not_applicable("it uses real-time scheduling");
    }
    let path = subject.file("status");
    let text = subject.read(&path)?;
    let capability = capability(&text, CAP_SYS_NICE).ok_or_else(|| odd(&path, &text))?;
    if let Some(word) = capability
        && !subject.in_user_namespace()?
    {
        let looked_at = vec![evidence(path, format!("CapEff: {word}"))];
        return allowed(subject, "the process has CAP_SYS_NICE", looked_at);
    }
    let path = subject.file("limits");
    let text = subject.read(&path)?;
    let name = "Max realtime priority";
    let limit = soft_limit(&text, name).ok_or_else(|| odd(&path, &text))?;
    let looked_at = vec![evidence(path, format!("{name}: {limit}"))];
    match limit {
        "0" => found("the limit is 0", looked_at),
        "unlimited" => allowed(subject, "any priority is allowed", looked_at),
        limit => {
            let says = format!("priorities up to {limit} are allowed");
            allowed(subject, says, looked_at)
        }
    }
}

/// Says what the process may, unless its group takes that away.
fn allowed(subject: &Subject<'_>, says: impl Into<String>, mut looked_at: Vec<Evidence>) -> Answer {
    let groups = subject.read_if(&subject.file("cgroup"))?;
    let Some(groups) = groups else {
        return fine(says, looked_at);
    };
    if !groups::have_budgets(subject.sys, &groups) {
        return match denied_by_version_2(subject)? {
            Some(none) => found(groups::NO_BUDGET, none),
            None => fine(says, looked_at),
        };
    }
    for path in subject.groups("cpu")?.budget_files() {
        let Some(text) = subject.read_if(&path)? else {
            continue;
        };
        if text == "0" {
            let none = vec![evidence(path, text)];
            return found("the real-time budget of its cgroup is 0", none);
        }
        looked_at.push(evidence(path, text));
        break;
    }
    fine(says, looked_at)
}

/// Returns why a group of version 2 that has a real-time budget has none left, if the process is in one.
fn denied_by_version_2(subject: &Subject<'_>) -> Result<Option<Vec<Evidence>>, NotKnown> {
    let system = subject.read_if(RUNTIME)?.unwrap_or_default();
    if system.starts_with('-') {
        return Ok(None);
    }
    // Of a group that cannot be seen other rules say so.
    let files = subject
        .groups("cpu")
        .map_or_else(|_| Vec::new(), |of| of.controlled_files());
    for path in files {
        let Some(text) = subject.read_if(&path)? else {
            continue;
        };
        let osrelease = subject.read(RELEASE)?;
        let release = release_numbers(&osrelease).ok_or_else(|| odd(RELEASE, &osrelease))?;
        let Some(config) = Config::of_running(subject.sys, &osrelease) else {
            return Err(NotKnown(vec![unread(PLACES[0], &Unread::Missing)]));
        };
        let cmdline = subject.read("/proc/cmdline")?;
        return Ok(groups::are_budgeted(&config, &cmdline, release).then(|| {
            vec![
                evidence(path, text),
                config.evidence("RT_GROUP_SCHED"),
                evidence(RUNTIME, system),
            ]
        }));
    }
    Ok(None)
}

fn above_interrupts(subject: &Subject<'_>) -> Answer {
    let real_time = subject.real_time();
    let Some(highest) = real_time
        .iter()
        .max_by_key(|thread| (thread.has_deadlines, thread.priority))
    else {
        return not_applicable("it has no real-time thread");
    };
    let mut handlers = Vec::new();
    let mut below = Vec::new();
    for pid in numbers(subject.sys, "/proc") {
        let path = format!("/proc/{pid}/stat");
        // Processes come and go.
        let Ok(text) = subject.sys.read(&path) else {
            continue;
        };
        let Some(stat) = Stat::parse(&text).filter(|stat| stat.name.starts_with("irq/")) else {
            continue;
        };
        let priority: u32 = stat.number(40).unwrap_or(0);
        let cited = evidence(path, format!("{} priority {priority}", stat.name));
        if highest.has_deadlines || priority <= highest.priority {
            below.push(cited.clone());
        }
        handlers.push(cited);
    }
    if handlers.is_empty() {
        return not_applicable("there are no interrupt threads");
    }
    let says = format!(
        "{}; {} of {} interrupt threads have at most that",
        highest.of.policy,
        below.len(),
        handlers.len()
    );
    found_if(below, says.clone(), says, handlers)
}

/// More than this delays a timer noticeably, in ns.
const SLACK_NS: u64 = 5_000;

fn timer_slack(subject: &Subject<'_>) -> Answer {
    if !subject.real_time().is_empty() {
        return not_applicable("timers of real-time threads have no slack");
    }
    let mut delayed = Vec::new();
    let mut looked_at = Vec::new();
    let mut worst = 0;
    for thread in &subject.threads {
        let path = format!("/proc/{}/timerslack_ns", thread.of.tid);
        let text = subject.read(&path)?;
        let slack: u64 = text.parse().map_err(|_| odd(&path, &text))?;
        let cited = evidence(path, text);
        if slack > SLACK_NS {
            worst = worst.max(slack);
            delayed.push(cited.clone());
        }
        looked_at.push(cited);
    }
    let says = format!("by up to {} µs", worst / 1_000);
    found_if(delayed, says, "the slack is small", looked_at)
}

fn quota(subject: &Subject<'_>) -> Answer {
    if !subject.real_time().is_empty() {
        return not_applicable("the quota is for ordinary threads");
    }
    let groups = subject.groups("cpu")?;
    groups.quota(|path| subject.read_if(path))
}

fn budget(subject: &Subject<'_>) -> Answer {
    if subject.real_time().is_empty() {
        return not_applicable("it has no real-time thread");
    }
    let mut limits = Vec::new();
    let mut says = String::new();
    let is_root = |dir: &str| is_root(dir, |path| subject.sys.exists(path));
    let none = "no cgroup has a real-time budget that limits it";
    if !groups::have_budgets(subject.sys, &subject.read(&subject.file("cgroup"))?) {
        return fine(none, Vec::new());
    }
    let groups = subject.groups("cpu")?;
    for (at, dir) in groups.dirs.iter().enumerate() {
        // The root's is another rule's.
        if at + 1 == groups.dirs.len() && is_root(dir) {
            continue;
        }
        let path = format!("{dir}/cpu.rt_runtime_us");
        let Some(text) = subject.read_if(&path)? else {
            continue;
        };
        let runtime: i64 = text.parse().map_err(|_| odd(&path, &text))?;
        let period = subject.read_if(&format!("{dir}/cpu.rt_period_us"))?;
        let period: i64 = period
            .and_then(|text| text.parse().ok())
            .unwrap_or(1_000_000);
        if (0..period).contains(&runtime) {
            says = format!("{runtime} µs of each {period} µs");
            limits.push(evidence(path, text));
        }
    }
    found_if(limits, says, none, Vec::new())
}
