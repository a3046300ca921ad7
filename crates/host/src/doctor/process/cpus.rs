// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The CPUs that the threads of a process may use, and what else is on them.

use std::collections::BTreeSet;

use punctual_model::{CpuSet, Ordered as _, Severity};

use super::super::case::{Answer, Fix, evidence, fine, found, found_if, named, not_applicable};
use super::super::parse::interrupts;
use super::{Entry, Subject, odd, threads};

pub(super) const RULES: &[Entry] = &[
    Entry {
        id: "not-pinned",
        severity: Severity::Medium,
        title: "may move between CPUs",
        why: "After a move caches are cold, and the thread meets whatever else runs on the other CPU.",
        fix: "bind each real-time thread to a CPU with pthread_setaffinity_np(3) or taskset(1); the kernel binds a \
              SCHED_DEADLINE thread only by a cpuset partition of that CPU",
        by: &[Fix::Program, Fix::Setup],
        source: "sched_setaffinity(2), NOTES on performance; Linux Documentation/scheduler/sched-deadline.rst, 5",
        check: pinned,
    },
    Entry {
        id: "interrupts-on-cpu",
        severity: Severity::Medium,
        title: "devices interrupt the CPUs that its threads are bound to",
        why: "A handler runs before every thread, and the work that it wakes stays on that CPU. Interrupts that are \
              allowed on several CPUs may come there later.",
        fix: "write the other CPUs to /proc/irq/N/smp_affinity_list, or bind the threads to other CPUs",
        by: &[Fix::Setup],
        source: "Linux Documentation/core-api/irq/irq-affinity.rst",
        check: shared,
    },
    Entry {
        id: "cpuset",
        severity: Severity::Low,
        title: "its cpuset leaves it only some of the CPUs",
        why: "The threads cannot be bound to the other CPUs, such as isolated ones.",
        fix: "add the CPUs to cpuset.cpus of its group (AllowedCPUs= in the service, --cpuset-cpus of a container)",
        by: &[Fix::Setup],
        source: "cpuset(7); Linux Documentation/admin-guide/cgroup-v2.rst (cpuset.cpus)",
        check: cpuset,
    },
];

fn pinned(subject: &Subject<'_>) -> Answer {
    if subject.online.len() < 2 {
        return not_applicable("there is only one CPU");
    }
    let judged = subject.judged();
    let free = judged.iter().filter(|thread| thread.of.cpus.len() > 1);
    let cited: Vec<_> = free
        .map(|thread| {
            let value = format!("{}, Cpus_allowed_list: {}", thread.of.name, thread.of.cpus);
            evidence(subject.thread_file(thread, "status"), value)
        })
        .collect();
    let says = format!(
        "{} {}",
        threads(cited.len(), judged.len()),
        match cited.len() {
            1 => "is not bound to one",
            _ => "are not bound to one",
        }
    );
    found_if(cited, says, "each thread is bound to a CPU", Vec::new())
}

fn shared(subject: &Subject<'_>) -> Answer {
    let all = &subject.online;
    let bound = subject.judged().into_iter().map(|thread| &thread.of.cpus);
    let bound: CpuSet = bound
        .filter(|cpus| !all.without(cpus).is_empty())
        .flat_map(|cpus| cpus.iter().collect::<Vec<_>>())
        .collect();
    if bound.is_empty() {
        return not_applicable("no thread is bound to some of the CPUs");
    }
    let path = "/proc/interrupts";
    let mut there = Vec::new();
    let mut there_now = BTreeSet::new();
    for interrupt in interrupts(&subject.read(path)?) {
        let count: u64 = interrupt
            .counts
            .values()
            .fold(0, |sum, n| sum.saturating_add(*n));
        let cpus = |name: &str| -> Option<(String, CpuSet)> {
            let path = format!("/proc/irq/{}/{name}", interrupt.number);
            let cpus = subject.sys.fact::<CpuSet>(&path)?;
            Some((path, cpus))
        };
        // What has never come need not ever come.
        let Some((path, allowed)) = cpus("smp_affinity_list").filter(|_| count > 0) else {
            continue;
        };
        if allowed.common(&bound).is_empty() {
            continue;
        }
        let now = cpus("effective_affinity_list").map_or_else(|| allowed.clone(), |(_, cpus)| cpus);
        // It is not in use, or each CPU has it for itself, whatever is allowed.
        if now.is_empty() {
            continue;
        }
        if !now.common(&bound).is_empty() {
            there_now.insert(interrupt.number);
        }
        let value = format!(
            "{allowed}, now {now} ({}, {count} since boot)",
            interrupt.devices
        );
        there.push((
            there_now.contains(&interrupt.number),
            count,
            evidence(path, value),
        ));
    }
    there.order_by_key(|(is_now, count, _)| std::cmp::Reverse((*is_now, *count)));
    let says = format!(
        "{} may come to {}, {} do now",
        match there.len() {
            1 => "1 interrupt".to_owned(),
            n => format!("{n} interrupts"),
        },
        named(&bound),
        there_now.len()
    );
    let cited = there.into_iter().map(|(.., evidence)| evidence).collect();
    found_if(
        cited,
        says,
        format!("no active interrupt may come to {}", named(&bound)),
        vec![evidence(path, "looked through")],
    )
}

fn cpuset(subject: &Subject<'_>) -> Answer {
    for path in subject.groups("cpuset")?.cpuset_files() {
        let Some(text) = subject
            .read_if(&path)?
            .filter(|text| !text.trim().is_empty())
        else {
            continue;
        };
        let cpus: CpuSet = text.trim().parse().map_err(|_| odd(&path, &text))?;
        let looked_at = vec![evidence(path, &*text)];
        let left = subject.online.without(&cpus);
        return match left.is_empty() {
            true => fine("its cpuset has all CPUs", looked_at),
            false => found(format!("not {}", named(&left)), looked_at),
        };
    }
    not_applicable("it is in no cpuset")
}
