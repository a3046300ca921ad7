// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What the kernel does to memory behind its users' backs.

use punctual_model::Severity;

use super::super::case::{
    Answer, Case, Entry, Fix, evidence, fine, found, found_if, not_applicable,
};
use super::super::parse::chosen;
use super::NOT_APART;

const THP: &str = "/sys/kernel/mm/transparent_hugepage";

pub(super) const RULES: &[Entry] = &[
    Entry {
        id: "swap",
        severity: Severity::Medium,
        title: "there is swap",
        why: "A swapped-out page comes back from disk in milliseconds. Only locked memory is safe \
              from that.",
        fix: "swapoff -a, or lock all memory of real-time programs with mlockall(2)",
        by: &[Fix::Setup],
        source: "mlock(2), swapon(8)",
        check: swap,
    },
    Entry {
        id: "swappiness",
        severity: Severity::Low,
        title: "the kernel swaps early",
        why: "It swaps out programs to cache files even when memory is not short.",
        fix: "write 10 or less to /proc/sys/vm/swappiness",
        by: &[Fix::Tune("vm.swappiness=10")],
        source: "Linux Documentation/admin-guide/sysctl/vm.rst (swappiness)",
        check: swappiness,
    },
    Entry {
        id: "huge-pages",
        severity: Severity::Medium,
        title: "memory is turned into huge pages automatically",
        why: "A page fault may clear 2 MiB or compact memory first; khugepaged copies pages and \
              interrupts the CPUs that use them.",
        fix: "write madvise or never to /sys/kernel/mm/transparent_hugepage/enabled, or boot with \
              transparent_hugepage=never",
        by: &[Fix::Tune("thp.enabled=madvise"), Fix::Boot],
        source: "Linux Documentation/admin-guide/mm/transhuge.rst",
        check: huge_pages,
    },
    Entry {
        id: "huge-page-defrag",
        severity: Severity::Low,
        title: "page faults compact memory to get huge pages",
        why: "The faulting thread moves other pages before it continues.",
        fix: "write madvise or never to /sys/kernel/mm/transparent_hugepage/defrag",
        by: &[Fix::Tune("thp.defrag=madvise")],
        source: "Linux Documentation/admin-guide/mm/transhuge.rst (defrag)",
        check: huge_page_defrag,
    },
    Entry {
        id: "same-page-merging",
        severity: Severity::Medium,
        title: "identical pages are merged",
        why: "The next write to a merged page is a page fault that copies it; ksmd itself uses CPU \
              time to find them.",
        fix: "write 2 to /sys/kernel/mm/ksm/run: it stops and unmerges pages",
        by: &[Fix::Tune("ksm.run=0")],
        source: "Linux Documentation/admin-guide/mm/ksm.rst",
        check: same_page_merging,
    },
    Entry {
        id: "compaction",
        severity: Severity::Low,
        title: "memory is compacted proactively",
        why: "kcompactd moves pages, and each page that moves is a fault or an interrupt for its users.",
        fix: "write 0 to /proc/sys/vm/compaction_proactiveness",
        by: &[Fix::Tune("vm.compaction_proactiveness=0")],
        source: "Linux Documentation/admin-guide/sysctl/vm.rst (compaction_proactiveness)",
        check: |case| {
            super::debugging::off(
                case,
                "proactive compaction",
                "/proc/sys/vm/compaction_proactiveness",
            )
        },
    },
    Entry {
        id: "zone-reclaim",
        severity: Severity::Low,
        title: "a node reclaims its own memory before it uses another node's",
        why: "An allocation scans and frees pages although other nodes have free ones.",
        fix: "write 0 to /proc/sys/vm/zone_reclaim_mode",
        by: &[Fix::Tune("vm.zone_reclaim_mode=0")],
        source: "Linux Documentation/admin-guide/sysctl/vm.rst (zone_reclaim_mode)",
        check: |case| {
            super::debugging::off(
                case,
                "reclaim within a node",
                "/proc/sys/vm/zone_reclaim_mode",
            )
        },
    },
    Entry {
        id: "vm-statistics",
        severity: Severity::Low,
        title: "memory statistics are collected on the judged CPUs",
        why: "Every stat_interval seconds a kernel worker runs on each CPU that has counters to fold in.",
        fix: "write a larger number, such as 120, to /proc/sys/vm/stat_interval",
        by: &[Fix::Tune("vm.stat_interval=120")],
        source: "Linux Documentation/admin-guide/sysctl/vm.rst (stat_interval)",
        check: vm_statistics,
    },
];

fn swap(case: &Case<'_>) -> Answer {
    let Some(seen) = case.text_if("/proc/swaps")? else {
        return not_applicable("the kernel has none");
    };
    let areas: Vec<_> = seen
        .value
        .lines()
        .skip(1)
        .filter(|line| !line.trim().is_empty())
        .map(|line| {
            let words: Vec<_> = line.split_whitespace().collect();
            evidence("/proc/swaps", words.join(" "))
        })
        .collect();
    found_if(
        areas,
        "swap is in use",
        "no swap is in use",
        vec![evidence("/proc/swaps", "none")],
    )
}

/// Above this the kernel swaps early; 60 is its default.
const SWAPPINESS: i64 = 10;

fn swappiness(case: &Case<'_>) -> Answer {
    let swaps = case.text_if("/proc/swaps")?;
    if swaps.is_none_or(|seen| seen.value.lines().count() < 2) {
        return not_applicable("there is no swap");
    }
    let seen = case.value::<i64>("/proc/sys/vm/swappiness")?;
    if seen.value > SWAPPINESS {
        return found(format!("swappiness is {}", seen.value), &seen);
    }
    fine(format!("swappiness is {}", seen.value), &seen)
}

fn huge_pages(case: &Case<'_>) -> Answer {
    let Some(seen) = case.text_if(&format!("{THP}/enabled"))? else {
        return not_applicable("the kernel has none");
    };
    let mode = case.parsed(&seen, chosen)?;
    match mode.value {
        "always" => found("for every program", &mode),
        "madvise" => fine("huge pages only for programs that ask for them", &mode),
        _ => fine("transparent huge pages are off", &mode),
    }
}

fn huge_page_defrag(case: &Case<'_>) -> Answer {
    let Some(seen) = case.text_if(&format!("{THP}/defrag"))? else {
        return not_applicable("the kernel has no transparent huge pages");
    };
    if let Some(enabled) = case.text_if(&format!("{THP}/enabled"))?
        && chosen(enabled.value) == Some("never")
    {
        return not_applicable("transparent huge pages are off");
    }
    let mode = case.parsed(&seen, chosen)?;
    match mode.value {
        "always" => found("page faults always compact", &mode),
        name => fine(format!("compaction for huge pages: {name}"), &mode),
    }
}

fn same_page_merging(case: &Case<'_>) -> Answer {
    let Some(seen) = case.number_if("/sys/kernel/mm/ksm/run")? else {
        return not_applicable("the kernel cannot");
    };
    match seen.value {
        1 => found("ksmd runs", &seen),
        _ => fine("ksmd does not run", &seen),
    }
}

/// From this interval on, in seconds, the worker is rare.
const RARE_S: i64 = 10;

fn vm_statistics(case: &Case<'_>) -> Answer {
    if !case.apart() {
        return not_applicable(NOT_APART);
    }
    let Some(seen) = case.number_if("/proc/sys/vm/stat_interval")? else {
        return not_applicable("this kernel does not have it");
    };
    if seen.value < RARE_S {
        return found(format!("every {} s", seen.value), &seen);
    }
    fine(format!("memory statistics every {} s", seen.value), &seen)
}
