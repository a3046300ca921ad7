// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What interrupts the judged CPUs.

use punctual_model::{CpuSet, Evidence, Ordered as _, Severity};

use super::super::case::{
    Answer, Case, Entry, Fix, NotKnown, evidence, fine, found, found_if, named, not_applicable,
};
use super::super::parse::{Interrupt, interrupts, mask};
use super::NOT_APART;
use super::scheduling::processes;

pub(super) const RULES: &[Entry] = &[
    Entry {
        id: "interrupts",
        severity: Severity::Medium,
        title: "devices interrupt the judged CPUs",
        why: "A handler runs before every thread, and the work that it wakes (softirqs, threads, \
              timers) stays on that CPU.",
        fix: "write the other CPUs to /proc/irq/N/smp_affinity_list; the kernel places managed \
              interrupts (NVMe and virtio queues) itself, and isolcpus=managed_irq keeps them away \
              at boot",
        by: &[Fix::Tune("irq.affinity=housekeeping"), Fix::Boot],
        source: "Linux Documentation/core-api/irq/irq-affinity.rst",
        check: on_judged,
    },
    Entry {
        id: "default-affinity",
        severity: Severity::Low,
        title: "new interrupts go to the judged CPUs too",
        why: "Devices that are plugged in or configured later use the default affinity.",
        fix: "write the mask of the other CPUs to /proc/irq/default_smp_affinity, or boot with irqaffinity=",
        by: &[Fix::Tune("irq.default_affinity=housekeeping"), Fix::Boot],
        source: "Linux Documentation/core-api/irq/irq-affinity.rst",
        check: |case| masked(case, "/proc/irq/default_smp_affinity"),
    },
    Entry {
        id: "irqbalance",
        severity: Severity::Medium,
        title: "irqbalance moves interrupts around",
        why: "It may move interrupts back to the judged CPUs whenever the load changes. It spares \
              only CPUs named by isolcpus or nohz_full, and these are not.",
        fix: "stop it, or name the CPUs in IRQBALANCE_BANNED_CPULIST",
        by: &[Fix::Setup],
        source: "irqbalance(1)",
        check: irqbalance,
    },
    Entry {
        id: "shared-interrupts",
        severity: Severity::Low,
        title: "devices share an interrupt line",
        why: "Each interrupt runs the handlers of all devices on the line.",
        fix: "use message-signalled interrupts where driver and device support them, another slot, or another port",
        by: &[Fix::Setup, Fix::Firmware],
        source: "Linux Documentation/PCI/msi-howto.rst",
        check: shared,
    },
    Entry {
        id: "workqueues",
        severity: Severity::Medium,
        title: "unbound kernel work may run on the judged CPUs",
        why: "Disk writeback, crypto and much deferred driver work use these workqueues.",
        fix: "write the mask of the other CPUs to /sys/devices/virtual/workqueue/cpumask",
        by: &[Fix::Tune("workqueue.cpumask=housekeeping")],
        source: "Linux Documentation/core-api/workqueue.rst; admin-guide/kernel-per-CPU-kthreads.rst",
        check: workqueues,
    },
    Entry {
        id: "packet-steering",
        severity: Severity::Low,
        title: "network packets are steered to the judged CPUs",
        why: "Receive packet steering sends interrupts and packet processing to the CPUs in its mask.",
        fix: "write a mask without these CPUs to rps_cpus of the queue",
        by: &[Fix::Tune("net.rps_cpus=housekeeping")],
        source: "Linux Documentation/networking/scaling.rst (RPS)",
        check: packet_steering,
    },
    Entry {
        id: "lockup-watchdog",
        severity: Severity::Medium,
        title: "the lockup watchdog runs on the judged CPUs",
        why: "Every few seconds a timer fires there in interrupt context and wakes a thread of the highest \
              priority.",
        fix: "write the other CPUs to /proc/sys/kernel/watchdog_cpumask, or 0 to /proc/sys/kernel/watchdog; \
              a hardware watchdog does the same without the interruptions",
        by: &[
            Fix::Tune("kernel.watchdog_cpumask=housekeeping"),
            Fix::Tune("kernel.watchdog=off"),
            Fix::Boot,
        ],
        source: "Linux Documentation/admin-guide/lockup-watchdogs.rst; \
                 core-api/real-time/kernel-configuration.rst",
        check: |case| watchdog(case, "/proc/sys/kernel/soft_watchdog"),
    },
    Entry {
        id: "nmi-watchdog",
        severity: Severity::Low,
        title: "the NMI watchdog runs on the judged CPUs",
        why: "A performance counter, reserved for this, raises a non-maskable interrupt every \
              watchdog_thresh seconds.",
        fix: "write 0 to /proc/sys/kernel/nmi_watchdog, or boot with nmi_watchdog=0",
        by: &[Fix::Tune("kernel.nmi_watchdog=off"), Fix::Boot],
        source: "Linux Documentation/admin-guide/lockup-watchdogs.rst",
        check: |case| watchdog(case, "/proc/sys/kernel/nmi_watchdog"),
    },
];

/// Where an interrupt goes, as far as the kernel says, with the file that says it.
enum Goes {
    /// To none of the judged CPUs.
    Elsewhere,
    /// There once more: many x86 interrupts get the CPUs that were written when they next fire.
    OnceMore(Evidence),
    /// There.
    There(Evidence),
}

fn goes(case: &Case<'_>, number: u32) -> Option<Goes> {
    let file = |name: &str| {
        let path = format!("/proc/irq/{number}/{name}");
        let seen = case.value_if::<CpuSet>(&path).ok().flatten()?;
        Some((seen.evidence(), seen.value))
    };
    let allowed = file("smp_affinity_list");
    let (evidence, cpus) = file("effective_affinity_list").or_else(|| allowed.clone())?;
    let judged = |cpus: &CpuSet| !cpus.common(&case.cpus).is_empty();
    // An empty effective affinity is that of an interrupt which is not in use, or which each CPU has for itself.
    if cpus.is_empty() {
        return None;
    }
    Some(match allowed {
        _ if !judged(&cpus) => Goes::Elsewhere,
        Some((evidence, allowed)) if !judged(&allowed) => Goes::OnceMore(evidence),
        _ => Goes::There(evidence),
    })
}

fn on_judged(case: &Case<'_>) -> Answer {
    if !case.apart() {
        return not_applicable(NOT_APART);
    }
    let table = case.text("/proc/interrupts")?;
    let mut there: Vec<(u64, Evidence)> = Vec::new();
    let mut moving: Vec<Evidence> = Vec::new();
    let mut known = 0;
    for interrupt in interrupts(table.value) {
        let Some(goes) = goes(case, interrupt.number) else {
            continue;
        };
        known += 1;
        // What is allowed there and has never come need not ever come.
        let count = interrupt
            .counts
            .values()
            .fold(0_u64, |sum, n| sum.saturating_add(*n));
        match goes {
            Goes::There(seen) if count > 0 => there.push((count, cite(&interrupt, count, &seen))),
            Goes::OnceMore(seen) if count > 0 => moving.push(cite(&interrupt, count, &seen)),
            _ => {}
        }
    }
    there.order_by_key(|(count, _)| std::cmp::Reverse(*count));
    let says = format!("{} of {known} interrupts go to judged CPUs", there.len());
    let evidence = there.into_iter().map(|(_, evidence)| evidence).collect();
    let fine_says = match moving.len() {
        0 => "no active interrupt goes to them".to_owned(),
        1 => "no active interrupt stays there; 1 moves away when it next fires".to_owned(),
        n => format!("no active interrupt stays there; {n} move away when they next fire"),
    };
    let looked_at = [vec![evidence_of_table(known)], moving].concat();
    found_if(evidence, says, fine_says, looked_at)
}

fn cite(interrupt: &Interrupt, count: u64, seen: &Evidence) -> Evidence {
    let value = seen.value.as_deref().unwrap_or_default();
    evidence(
        &*seen.path,
        format!("{value} ({}, {count} since boot)", interrupt.devices),
    )
}

fn evidence_of_table(known: usize) -> Evidence {
    evidence("/proc/interrupts", format!("{known} interrupts"))
}

/// A mask that should not have the judged CPUs.
fn masked(case: &Case<'_>, path: &str) -> Answer {
    if !case.apart() {
        return not_applicable(NOT_APART);
    }
    let Some(seen) = case.text_if(path)? else {
        return not_applicable("the kernel does not say");
    };
    let cpus = case.parsed(&seen, mask)?;
    let common = cpus.value.common(&case.cpus);
    if common.is_empty() {
        return fine("the judged CPUs are not allowed", &cpus);
    }
    found(format!("allowed: {}", named(&common)), &cpus)
}

fn workqueues(case: &Case<'_>) -> Answer {
    // A queue's own mask only narrows this one (`wqattrs_actualize_cpumask`). Before 4.2 there is no other.
    let all = "/sys/devices/virtual/workqueue/cpumask";
    match case.text_if(all)? {
        Some(_) => masked(case, all),
        None => masked(case, "/sys/bus/workqueue/devices/writeback/cpumask"),
    }
}

fn irqbalance(case: &Case<'_>) -> Answer {
    if !case.apart() {
        return not_applicable(NOT_APART);
    }
    let running = processes(case)?
        .into_iter()
        .find(|process| process.name == "irqbalance");
    let Some(process) = running else {
        return fine("irqbalance does not run", Vec::new());
    };
    let looked_at = vec![evidence(
        format!("/proc/{}/stat", process.pid),
        process.name,
    )];
    let open = case.cpus.without(&case.machine.isolated());
    if open.is_empty() {
        return fine("irqbalance leaves isolated CPUs alone", looked_at);
    }
    found(
        format!("irqbalance runs, and may choose {}", named(&open)),
        looked_at,
    )
}

fn shared(case: &Case<'_>) -> Answer {
    let table = case.text("/proc/interrupts")?;
    let all = interrupts(table.value);
    let shared = all
        .iter()
        .filter(|interrupt| interrupt.devices.contains(", "))
        .map(|interrupt| {
            evidence(
                "/proc/interrupts",
                format!("{}: {}", interrupt.number, interrupt.devices),
            )
        })
        .collect();
    let looked_at = vec![evidence_of_table(all.len())];
    found_if(
        shared,
        "several devices share a line",
        "each device has its own interrupt line",
        looked_at,
    )
}

fn packet_steering(case: &Case<'_>) -> Answer {
    if !case.apart() {
        return not_applicable(NOT_APART);
    }
    let mut steered = Vec::new();
    let mut queues = 0_usize;
    for seen in case.files("/sys/class/net/", "/rps_cpus")? {
        let cpus = case.parsed(&seen, mask)?;
        queues += 1;
        if !cpus.value.common(&case.cpus).is_empty() {
            steered.push(cpus.evidence());
        }
    }
    if queues == 0 {
        return not_applicable("there are no receive queues, or no packet steering");
    }
    let looked_at = vec![evidence(
        "/sys/class/net/",
        format!("{queues} receive queues"),
    )];
    found_if(
        steered,
        "some queues do",
        "no queue steers packets there",
        looked_at,
    )
}

fn watchdog(case: &Case<'_>, path: &str) -> Answer {
    // Before 4.3 there was one switch for both.
    let on = match case.number_if(path)? {
        Some(on) => Some(on),
        None => case.number_if("/proc/sys/kernel/watchdog")?,
    };
    let Some(on) = on else {
        return not_applicable("this kernel does not have it");
    };
    let mut looked_at = vec![on.evidence()];
    // The master switch.
    let master = case.number_if("/proc/sys/kernel/watchdog")?;
    if on.value == 0 || master.as_ref().is_some_and(|master| master.value == 0) {
        looked_at.extend(master.map(|master| master.evidence()));
        return fine("the watchdog is off", looked_at);
    }
    let cpus: Option<Result<CpuSet, NotKnown>> = case
        .text_if("/proc/sys/kernel/watchdog_cpumask")?
        .map(|seen| {
            looked_at.push(seen.evidence());
            // A list, in spite of its name.
            Ok(case.parsed(&seen, |text| text.parse().ok())?.value)
        });
    let watched = cpus.transpose()?.unwrap_or_else(|| case.online.clone());
    let common = watched.common(&case.cpus);
    if common.is_empty() {
        return fine("the watchdog runs on other CPUs", looked_at);
    }
    found(format!("it is on, on {}", named(&common)), looked_at)
}
