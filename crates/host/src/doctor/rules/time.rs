// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Clocks and timers.

use punctual_model::Severity;

use super::super::case::{
    Answer, Boot, Case, Entry, Fix, evidence, fine, found, found_if, not_applicable,
};
use super::NOT_APART;
use super::environment::{hypervisor, x86};

pub(super) const CURRENT: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
const AVAILABLE: &str = "/sys/devices/system/clocksource/clocksource0/available_clocksource";

pub(super) const RULES: &[Entry] = &[
    Entry {
        id: "clock-source",
        severity: Severity::High,
        title: "the clock is slow to read",
        why: "hpet, acpi_pm and the like are registers on a bus: each read takes a microsecond or \
              more, all CPUs queue for it, and the kernel reads the clock at every timer and \
              context switch.",
        fix: "write tsc to current_clocksource if it is available; if not, see tsc-unstable",
        by: &[Fix::Tune("clocksource=tsc"), Fix::Boot, Fix::Firmware],
        source: "Linux Documentation/timers/timekeeping.rst",
        check: clock_source,
    },
    Entry {
        id: "clock-source-virtual",
        severity: Severity::Low,
        title: "the clock is provided by the hypervisor",
        why: "Reading it takes the TSC plus extra arithmetic, in a loop that repeats when the host updates it.",
        fix: "write tsc to current_clocksource if it is available and the host guarantees it",
        by: &[Fix::Tune("clocksource=tsc"), Fix::Hypervisor],
        source: "Linux Documentation/virt/kvm/x86/timekeeping.rst",
        check: clock_source_virtual,
    },
    Entry {
        id: "tsc-unstable",
        severity: Severity::Medium,
        title: "the time stamp counter is unreliable",
        why: "If the counter stops in idle states or changes its rate, the kernel falls back to a \
              slow clock, at an unpredictable moment.",
        fix: "update the firmware; if the processor is known to be good, boot with tsc=reliable",
        by: &[Fix::Firmware, Fix::Boot],
        source: "Linux Documentation/timers/timekeeping.rst; kernel-parameters.txt (tsc=)",
        check: tsc_unstable,
    },
    Entry {
        id: "clock-event",
        severity: Severity::High,
        title: "the judged CPUs do not use their own timer device",
        why: "hpet and pit are outside the processor and shared: arming them takes microseconds, \
              and one CPU has to wake the others.",
        fix: "use the local APIC timer: remove nolapic, noapictimer and hpet=force from the command line",
        by: &[Fix::Boot, Fix::Firmware],
        source: "Linux Documentation/timers/highres.rst; timers/hpet.rst",
        check: clock_event,
    },
    Entry {
        id: "timer-migration",
        severity: Severity::Low,
        title: "timers may move to the judged CPUs",
        why: "The kernel moves timers from idle CPUs to busy ones so that idle CPUs can sleep; \
              they then expire on another CPU.",
        fix: "write 0 to /proc/sys/kernel/timer_migration",
        by: &[Fix::Tune("kernel.timer_migration=off")],
        source: "Linux Documentation/admin-guide/sysctl/kernel.rst (timer_migration)",
        check: timer_migration,
    },
    Entry {
        id: "skew-tick",
        severity: Severity::Low,
        title: "all CPUs tick at the same moment",
        why: "On machines with many CPUs they contend for the same locks, HZ times a second.",
        fix: "boot with skew_tick=1",
        by: &[Fix::Boot],
        source: "Linux Documentation/admin-guide/kernel-parameters.txt (skew_tick=)",
        check: skew_tick,
    },
];

fn clock_source(case: &Case<'_>) -> Answer {
    const SLOW: [&str; 6] = [
        "hpet",
        "acpi_pm",
        "pit",
        "jiffies",
        "refined-jiffies",
        "cyclone",
    ];
    let seen = case.text(CURRENT)?;
    if SLOW.contains(&seen.value.trim()) {
        let available = case.text_if(AVAILABLE)?.map(|seen| seen.evidence());
        let looked_at: Vec<_> = [seen.evidence()].into_iter().chain(available).collect();
        return found(format!("it is {}", seen.value.trim()), looked_at);
    }
    fine(format!("the clock is {}", seen.value.trim()), &seen)
}

fn clock_source_virtual(case: &Case<'_>) -> Answer {
    if hypervisor(case)?.is_none() {
        return not_applicable("the machine is not virtual");
    }
    let seen = case.text(CURRENT)?;
    let name = seen.value.trim();
    if name == "kvm-clock" || name == "xen" || name.starts_with("hyperv") {
        return found(format!("it is {name}"), &seen);
    }
    fine(format!("the clock is {name}"), &seen)
}

fn tsc_unstable(case: &Case<'_>) -> Answer {
    if !x86(case)? {
        return not_applicable("the processor has none");
    }
    let cpuinfo = case.text("/proc/cpuinfo")?;
    let flags = cpuinfo
        .value
        .lines()
        .find(|line| line.starts_with("flags"))
        .unwrap_or_default();
    let has = |flag: &str| flags.split_whitespace().any(|f| f == flag);
    let mut signs = Vec::new();
    for flag in ["constant_tsc", "nonstop_tsc"] {
        if !has(flag) {
            signs.push(evidence("/proc/cpuinfo", format!("flags: no {flag}")));
        }
    }
    let boot = case.boot()?;
    let distrusted = boot.find("notsc").is_some() || boot.is("tsc", "unstable");
    if distrusted {
        signs.extend(boot.evidence(&["notsc", "tsc"]));
    }
    let available = case.text(AVAILABLE)?;
    let offered = available.value.split_whitespace().any(|name| name == "tsc");
    if !offered {
        signs.push(available.evidence());
    }
    let what = match offered && !distrusted {
        true => {
            "the processor does not promise that it is constant and does not stop; the kernel offers it all the same"
        }
        false => "the kernel does not trust it",
    };
    found_if(
        signs,
        what,
        "the time stamp counter is constant, does not stop, and the kernel trusts it",
        &available,
    )
}

fn clock_event(case: &Case<'_>) -> Answer {
    case.some_cpu()?;
    if !x86(case)? {
        return not_applicable("known for x86 only");
    }
    let mut foreign = Vec::new();
    let mut looked_at = Vec::new();
    let mut names = Vec::new();
    for cpu in case.cpus.iter() {
        let path = format!("/sys/devices/system/clockevents/clockevent{cpu}/current_device");
        let Some(seen) = case.text_if(&path)? else {
            continue;
        };
        let name = seen.value.trim();
        looked_at.push(seen.evidence());
        if ["hpet", "pit"].iter().any(|slow| name.starts_with(slow)) {
            foreign.push(seen.evidence());
        }
        if !names.contains(&name) {
            names.push(name);
        }
    }
    if looked_at.is_empty() {
        return not_applicable("the kernel does not say");
    }
    let names = names.join(", ");
    found_if(
        foreign,
        format!("they come from {names}"),
        format!("timers come from {names}"),
        looked_at,
    )
}

fn timer_migration(case: &Case<'_>) -> Answer {
    if !case.apart() {
        return not_applicable(NOT_APART);
    }
    super::debugging::off(
        case,
        "migration of timers",
        "/proc/sys/kernel/timer_migration",
    )
}

/// From this many CPUs on the queue for the tick's locks is worth a word.
const MANY_CPUS: usize = 8;

fn skew_tick(case: &Case<'_>) -> Answer {
    case.some_cpu()?;
    if case.online.len() < MANY_CPUS {
        return not_applicable(format!("fewer than {MANY_CPUS} CPUs are online"));
    }
    let boot = case.boot()?;
    if boot.is("skew_tick", "1") {
        return fine(
            "the ticks of the CPUs are staggered",
            boot.evidence(&["skew_tick"]),
        );
    }
    found(
        format!("{} CPUs tick at once", case.online.len()),
        vec![Boot::without("skew_tick=1")],
    )
}
