// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The memory of a process: whether it stays where it is.

use punctual_model::Severity;

use super::super::case::{Answer, Fix, evidence, fine, found, not_applicable};
use super::super::parse::{CAP_IPC_LOCK, capability, chosen, soft_limit, status};
use super::{Entry, Subject, odd};

pub(super) const RULES: &[Entry] = &[
    Entry {
        id: "memory-not-locked",
        severity: Severity::Medium,
        title: "its memory is not locked",
        why: "Memory that is not locked may be paged out or not yet allocated. The next access is then a page fault, \
              which may wait for the disk.",
        fix: "call mlockall(MCL_CURRENT | MCL_FUTURE) before the loop begins",
        by: &[Fix::Program],
        source: "mlock(2), proc_pid_status(5) (VmLck, VmRSS)",
        check: locked,
    },
    Entry {
        id: "locking-refused",
        severity: Severity::Medium,
        title: "the process may not lock its memory",
        why: "Without CAP_IPC_LOCK mlockall(2) fails with ENOMEM where the process has more memory than its limit.",
        fix: "set LimitMEMLOCK=infinity in its service, or add the line `@realtime - memlock unlimited` in \
              /etc/security/limits.d",
        by: &[Fix::Setup],
        source: "mlock(2), getrlimit(2), limits.conf(5)",
        check: refused,
    },
    Entry {
        id: "process-huge-pages",
        severity: Severity::Medium,
        title: "its memory is turned into huge pages automatically",
        why: "A page fault may clear 2 MiB or compact memory first; khugepaged copies pages that the process uses.",
        fix: "call prctl(PR_SET_THP_DISABLE, 1) in the program, or write madvise to \
              /sys/kernel/mm/transparent_hugepage/enabled",
        by: &[Fix::Program, Fix::Setup],
        source: "prctl(2) (PR_SET_THP_DISABLE); Linux Documentation/admin-guide/mm/transhuge.rst",
        check: huge_pages,
    },
];

/// Returns a number of KiB in a status file.
fn kib(text: &str, key: &str) -> Option<u64> {
    status(text, key)?.split_whitespace().next()?.parse().ok()
}

fn mib(kib: u64) -> String {
    match kib {
        0..10_240 => format!(
            "{:.1} MiB",
            f64::from(u32::try_from(kib).unwrap_or(0)) / 1_024.0
        ),
        _ => format!("{} MiB", kib / 1_024),
    }
}

fn locked(subject: &Subject<'_>) -> Answer {
    let path = subject.file("status");
    let text = subject.read(&path)?;
    let (Some(locked), Some(resident)) = (kib(&text, "VmLck"), kib(&text, "VmRSS")) else {
        return not_applicable("it has no memory of its own");
    };
    let looked_at = vec![evidence(
        path,
        format!("VmLck: {locked} kB, VmRSS: {resident} kB"),
    )];
    match locked {
        0 => found("no page is locked", looked_at),
        // The kernel's own pages in it cannot be locked.
        _ if locked < resident / 10 * 9 => {
            let says = format!("{} is locked, of {} in use", mib(locked), mib(resident));
            found(says, looked_at)
        }
        _ => fine(format!("{} is locked", mib(locked)), looked_at),
    }
}

fn refused(subject: &Subject<'_>) -> Answer {
    let path = subject.file("status");
    let text = subject.read(&path)?;
    let Some(size) = kib(&text, "VmSize") else {
        return not_applicable("it has no memory of its own");
    };
    let capability = capability(&text, CAP_IPC_LOCK).ok_or_else(|| odd(&path, &text))?;
    if let Some(word) = capability
        && !subject.in_user_namespace()?
    {
        let looked_at = vec![evidence(path, format!("CapEff: {word}"))];
        return fine("the process has CAP_IPC_LOCK", looked_at);
    }
    let limits = subject.file("limits");
    let text = subject.read(&limits)?;
    let name = "Max locked memory";
    let limit = soft_limit(&text, name).ok_or_else(|| odd(&limits, &text))?;
    let looked_at = vec![
        evidence(&*limits, format!("{name}: {limit}")),
        evidence(path, format!("VmSize: {size} kB")),
    ];
    if limit == "unlimited" {
        return fine("it may lock all memory", looked_at);
    }
    let bytes: u64 = limit.parse().map_err(|_| odd(&limits, &text))?;
    let says = format!("the limit is {}, it has {}", mib(bytes >> 10), mib(size));
    match bytes >> 10 < size {
        true => found(says, looked_at),
        false => fine(says, looked_at),
    }
}

fn huge_pages(subject: &Subject<'_>) -> Answer {
    let path = "/sys/kernel/mm/transparent_hugepage/enabled";
    let Some(text) = subject.read_if(path)? else {
        return not_applicable("the kernel has none");
    };
    let mode = chosen(&text).ok_or_else(|| odd(path, &text))?;
    let mut looked_at = vec![evidence(path, &*text)];
    if mode != "always" {
        return fine(format!("huge pages: {mode}"), looked_at);
    }
    let path = subject.file("status");
    let status_text = subject.read(&path)?;
    match status(&status_text, "THP_enabled") {
        Some("0") => {
            looked_at.push(evidence(path, "THP_enabled: 0"));
            fine("the process has switched them off", looked_at)
        }
        _ => found("it has not switched them off", looked_at),
    }
}
