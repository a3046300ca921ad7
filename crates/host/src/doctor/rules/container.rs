// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What a container hides, and what it limits.

use punctual_model::{Evidence, Severity};

use super::super::case::{Answer, Case, Entry, Fix, NotKnown, evidence, fine, found};
use super::super::groups::Groups;

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
    let groups = Groups::usual(case.text("/proc/self/cgroup")?.value, "cpu");
    groups.quota(|path| Ok(case.text_if(path)?.map(|seen| seen.value.to_owned())))
}
