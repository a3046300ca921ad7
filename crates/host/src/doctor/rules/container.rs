// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What a container hides, and what it limits.

use punctual_model::{Evidence, Severity};

use super::super::case::{
    Answer, Case, Entry, Fix, NotKnown, evidence, fine, found, not_applicable,
};
use super::super::parse::cpu_limit_files;

/// Files that engines put into a container.
const MARKS: [&str; 3] = [
    "/run/.containerenv",
    "/.dockerenv",
    "/run/systemd/container",
];

pub(super) const RULES: &[Entry] = &[
    Entry {
        id: "container",
        severity: Severity::Info,
        title: "doctor runs in a container that hides processes",
        why: "Kernel facts are the host's. The container hides the rest: \
              kernel threads, services and real-time threads of the host, and what of /sys and /proc is masked.",
        fix: "run doctor on the host, or start the container with --pid=host",
        by: &[Fix::Setup],
        source: "namespaces(7); pid_namespaces(7)",
        check: container,
    },
    Entry {
        id: "group-quota",
        severity: Severity::Medium,
        title: "a CPU quota stops what runs in this cgroup",
        why: "Once the threads of the group have used the quota of a period, its ordinary threads all wait for the \
              next one: tens of milliseconds, usually. Real-time threads are not subject to it.",
        fix: "take the quota away: --cpus and --cpu-quota of a container, CPUQuota= of a service, or write max to \
              cpu.max (-1 to cpu.cfs_quota_us)",
        by: &[Fix::Setup],
        source: "Linux Documentation/scheduler/sched-bwc.rst; admin-guide/cgroup-v2.rst (cpu.max)",
        check: group_quota,
    },
];

/// Returns the signs of a container.
fn signs(case: &Case<'_>) -> Result<Vec<Evidence>, NotKnown> {
    let mut signs = Vec::new();
    for path in MARKS {
        if case.text_if(path)?.is_some() {
            signs.push(evidence(path, "is there"));
        }
    }
    Ok(signs)
}

fn container(case: &Case<'_>) -> Answer {
    // Without any process nothing can be said.
    drop(case.text("/proc/1/status")?);
    let mut signs = signs(case)?;
    // The second process of a machine is the one that makes kernel threads; a PID name space of a container has none.
    let second = case.text_if("/proc/2/comm")?;
    if second
        .as_ref()
        .is_some_and(|comm| comm.value.trim() == "kthreadd")
    {
        // An image that became a machine keeps the marks.
        return match signs.is_empty() {
            true => fine("no sign of a container", Vec::new()),
            false => fine("kernel threads are visible, so no process is hidden", signs),
        };
    }
    let seen = second.map_or("is not there", |comm| comm.value);
    signs.push(evidence("/proc/2/comm", format!("{seen}, not kthreadd")));
    found(
        "the host's kernel threads and programs are hidden: rules about them say nothing",
        signs,
    )
}

fn group_quota(case: &Case<'_>) -> Answer {
    let groups = case.text("/proc/self/cgroup")?;
    let mut limits = Vec::new();
    let mut looked_at = Vec::new();
    let mut says = String::new();
    for (path, period) in cpu_limit_files(groups.value) {
        let Some(seen) = case.text_if(&path)? else {
            continue;
        };
        // `max 100000`, or `50000 100000`; of version 1 the period is a file of its own.
        let quota = case.parsed(&seen, |text| {
            let mut words = text.split_whitespace();
            let quota = words.next()?;
            match quota {
                "max" | "-1" => Some(None),
                _ => Some(Some((
                    quota.parse::<u64>().ok()?,
                    words.next().and_then(|of| of.parse::<u64>().ok()),
                ))),
            }
        })?;
        match quota.value {
            None => looked_at.push(quota.evidence()),
            Some((quota_us, own)) => {
                let period = match (own, period) {
                    (Some(period), _) => period,
                    (None, Some(path)) => case
                        .value_if::<u64>(&path)?
                        .map_or(100_000, |period| period.value),
                    (None, None) => 100_000,
                };
                says = format!("{quota_us} µs of CPU time each {period} µs");
                limits.push(quota.evidence());
            }
        }
    }
    if limits.is_empty() && looked_at.is_empty() {
        return not_applicable("this cgroup has no quota of CPU time");
    }
    match limits.is_empty() {
        true => fine("no quota is set", looked_at),
        false => found(says, limits),
    }
}
