// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What records or prints while the machine should work.

use punctual_model::{Evidence, Severity};

use super::super::case::{Answer, Case, Entry, Fix, NotKnown, evidence, fine, found, found_if};
use super::scheduling::processes;

const TRACING: &str = "/sys/kernel/tracing";

pub(super) const RULES: &[Entry] = &[
    Entry {
        id: "tracer",
        severity: Severity::High,
        title: "a tracer is on",
        why: "Function tracers record every kernel call, latency tracers every section with \
              interrupts off; osnoise and timerlat load a CPU on purpose.",
        fix: "write nop to /sys/kernel/tracing/current_tracer",
        by: &[Fix::Setup],
        source: "Linux Documentation/trace/ftrace.rst",
        check: tracer,
    },
    Entry {
        id: "trace-events",
        severity: Severity::Medium,
        title: "trace events are being recorded",
        why: "Each event writes a record as it happens, at context switches, wake-ups and \
              interrupts, with interrupts off.",
        fix: "write 0 to /sys/kernel/tracing/events/enable",
        by: &[Fix::Setup],
        source: "Linux Documentation/trace/events.rst; core-api/real-time/kernel-configuration.rst",
        check: trace_events,
    },
    Entry {
        id: "stack-tracer",
        severity: Severity::Medium,
        title: "the stack tracer is on",
        why: "Every kernel function call measures the stack.",
        fix: "write 0 to /proc/sys/kernel/stack_tracer_enabled",
        by: &[
            Fix::Tune("kernel.stack_tracer_enabled=off"),
            Fix::Setup,
            Fix::Boot,
        ],
        source: "Linux Documentation/trace/ftrace.rst (stack trace)",
        check: |case| {
            super::debugging::off(
                case,
                "the stack tracer",
                "/proc/sys/kernel/stack_tracer_enabled",
            )
        },
    },
    Entry {
        id: "audit",
        severity: Severity::Low,
        title: "system calls are audited",
        why: "With audit on, every thread takes the slow path into and out of each system call.",
        fix: "boot with audit=0, or stop auditd and set Audit=no in journald.conf, where policy allows it",
        by: &[Fix::Setup, Fix::Boot],
        source: "auditd(8), auditctl(8), journald.conf(5); kernel-parameters.txt (audit=)",
        check: audit,
    },
    Entry {
        id: "serial-console",
        severity: Severity::Medium,
        title: "kernel messages go to a serial line",
        why: "At 115200 baud a character takes 87 µs, and an ordinary kernel may print it with interrupts \
              off.",
        fix: "remove the serial line's console=tty* from the command line, or write 1 to the first number of \
              /proc/sys/kernel/printk: then only emergencies are printed",
        by: &[Fix::Tune("kernel.printk=1 4 1 7"), Fix::Boot],
        source: "Linux Documentation/admin-guide/serial-console.rst; sysctl/kernel.rst (printk)",
        check: serial_console,
    },
];

fn tracer(case: &Case<'_>) -> Answer {
    let seen = case.text(&format!("{TRACING}/current_tracer"))?;
    match seen.value.trim() {
        "nop" => fine("no tracer is on", &seen),
        name => found(format!("it is {name}"), &seen),
    }
}

fn trace_events(case: &Case<'_>) -> Answer {
    let events = case.text(&format!("{TRACING}/events/enable"))?;
    let on = case.text(&format!("{TRACING}/tracing_on"))?;
    let looked_at = vec![events.evidence(), on.evidence()];
    match (events.value.trim(), on.value.trim()) {
        (_, "0") => fine("recording is off", looked_at),
        ("0", _) => fine("no event is on", looked_at),
        ("1", _) => found("all events are on", looked_at),
        // X: some are on, and some are not.
        _ => found("some events are on", looked_at),
    }
}

fn audit(case: &Case<'_>) -> Answer {
    let boot = case.boot()?;
    if boot.is("audit", "0") || boot.is("audit", "off") {
        return fine("auditing is off", boot.evidence(&["audit"]));
    }
    let mut signs = Vec::new();
    if boot.is("audit", "1") || boot.is("audit", "on") {
        signs.extend(boot.evidence(&["audit"]));
    }
    let processes = processes(case)?;
    let running = |name: &str| {
        let process = processes.iter().find(|process| process.name == name)?;
        Some(evidence(format!("/proc/{}/stat", process.pid), name))
    };
    signs.extend(running("auditd"));
    // Before version 258 journald switches auditing on unless it was built or configured otherwise. The kernel shortens its name.
    if signs.is_empty()
        && let Some(journal) = running("systemd-journal")
    {
        let problem = "systemd-journald may have switched auditing on; auditctl -s tells root";
        return Err(NotKnown(vec![Evidence {
            problem: Some(problem.to_owned()),
            ..journal
        }]));
    }
    found_if(
        signs,
        "it is on",
        "neither auditd nor systemd-journald runs, and no audit= is set at boot",
        Vec::new(),
    )
}

fn serial_console(case: &Case<'_>) -> Answer {
    let seen = case.text("/proc/consoles")?;
    let serial = |line: &&str| {
        let name = line.split_whitespace().next().unwrap_or_default();
        let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
        // E: enabled, in the flags between parentheses.
        let flags = line.split_once('(').map_or("", |(_, rest)| rest);
        // The null console prints nowhere.
        name.starts_with("tty") && !matches!(stem, "tty" | "ttynull") && flags.contains('E')
    };
    let lines: Vec<_> = seen.value.lines().filter(serial).collect();
    let mut looked_at: Vec<_> = lines
        .iter()
        .map(|line| {
            let words: Vec<_> = line.split_whitespace().collect();
            evidence("/proc/consoles", words.join(" "))
        })
        .collect();
    if lines.is_empty() {
        return fine("no console on a serial line", &seen);
    }
    if let Some(seen) = case.text_if("/proc/sys/kernel/printk")? {
        looked_at.push(seen.evidence());
        // Messages of a level below the first number are printed; 0 are emergencies.
        let level = seen.value.split_whitespace().next();
        if level
            .and_then(|level| level.parse().ok())
            .is_some_and(|level: i64| level <= 1)
        {
            return fine("only emergencies go to the serial line", looked_at);
        }
    }
    let names: Vec<_> = lines
        .iter()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    found(format!("the console is on {}", names.join(", ")), looked_at)
}
