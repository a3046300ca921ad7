// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The run, its machine and its specification in words.

use punctual_model::{
    Clock, Ended, HostFacts, Instrument, Makes, Nanos, Origin, Pin, Policy, RunRecord, RunSpec,
    Setup, TimerKind,
};

use super::guest;
use crate::number::{clean, percent, span};
pub(crate) use punctual_verdict::words::{plural, tuned};

/// Says which run this is, where it came from and what is noted of it.
pub(crate) fn run_facts(run: &RunRecord) -> Vec<(String, String)> {
    let mut facts = vec![("Run", identity(run))];
    facts.extend(run.note.iter().map(|note| ("Note", note.clone())));
    if !run.tags.is_empty() {
        let tags: Vec<String> = run.tags.iter().map(|(k, v)| format!("{k}={v}")).collect();
        facts.push(("Tags", tags.join(", ")));
    }
    facts.extend(
        run.guest
            .iter()
            .map(|guest| ("Guest", guest::said_of(guest))),
    );
    if let Some(origin) = &run.origin {
        facts.push(("Source", source(origin)));
        facts.extend(
            origin
                .stated
                .iter()
                .map(|stated| ("Stated", stated.clone())),
        );
    }
    let facts = facts.into_iter();
    facts.map(|(name, said)| (name.to_owned(), said)).collect()
}

/// Says what machine and kernel it was.
pub(crate) fn machine_facts(host: &HostFacts) -> Vec<(String, String)> {
    vec![
        ("Machine".to_owned(), hardware(host)),
        ("Kernel".to_owned(), kernel(host)),
    ]
}

/// Says what machine and kernel it was in a line.
pub(crate) fn in_short(host: &HostFacts) -> String {
    format!("{}; {}", hardware(host), kernel(host))
}

/// Says what machine and kernel it was, how it was booted and what had been changed of it.
///
/// Of an imported run nobody looked for what had been changed.
pub(crate) fn host_facts(host: &HostFacts, is_imported: bool) -> Vec<(String, String)> {
    let mut facts = machine_facts(host);
    let booted = host.cmdline.iter().cloned();
    facts.extend(booted.map(|line| ("Booted".to_owned(), line)));
    let tuned = host.tuning.as_ref().map(tuned);
    let tuned = tuned.unwrap_or_else(|| match &host.tuning_unknown {
        Some(why) => clean(&format!("unknown: {why}")).into_owned(),
        None if is_imported => "unknown".to_owned(),
        None => "no tuning in effect was found".to_owned(),
    });
    facts.push(("Tuned".to_owned(), tuned));
    facts
}

fn identity(run: &RunRecord) -> String {
    let name = run.name.as_ref().map(|name| format!(" `{name}`"));
    let ended = match run.ended {
        Some(Ended::Completed) => "completed",
        Some(Ended::Precision) => "ended at the wanted precision",
        Some(Ended::Threshold) => "ended by the threshold",
        Some(Ended::Interrupted) => "ended by a signal",
        None => "ended",
    };
    let text = format!(
        "{}{}, {}, started {}, {ended} after {}",
        run.id,
        name.unwrap_or_default(),
        run.instrument,
        run.started
            .as_deref()
            .map_or_else(|| "at a time unknown".to_owned(), seconds_of),
        duration(run),
    );
    clean(&text).into_owned()
}

/// Says how long a run was.
pub(crate) fn duration(run: &RunRecord) -> String {
    run.duration_ns
        .map_or_else(|| "a time unknown".to_owned(), |ns| ns.to_string())
}

/// Says what an imported run was imported from, and how finely that states its figures.
fn source(origin: &Origin) -> String {
    let mut parts = vec![format!("{} in {}", origin.format, origin.file)];
    parts.push(match origin.resolution_ns {
        // Versions of it differ: what its figures are is stated below.
        Some(ns) if origin.tool == "oslat" => format!("resolution {}", span(Nanos::new(ns))),
        Some(ns) => format!(
            "resolution {} (a minimum is the lower end, other figures are the upper end of it)",
            span(Nanos::new(ns))
        ),
        None => "resolution unknown".to_owned(),
    });
    if let Some(ns) = origin.mean_error_ns {
        parts.push(format!("means off by up to {ns:.0} ns"));
    }
    if let Some(line) = &origin.command_line {
        parts.push(format!("command `{line}`"));
    }
    parts.join(", ")
}

/// Cuts the fraction of a second off an RFC 3339 time.
pub(crate) fn seconds_of(time: &str) -> String {
    match (time.split_once('.'), time.strip_suffix('Z')) {
        (Some((seconds, _)), Some(_)) => format!("{seconds}Z"),
        _ => time.to_owned(),
    }
}

fn hardware(host: &HostFacts) -> String {
    let cpus = match host.cpus_online.len() {
        0 => "CPUs unknown".to_owned(),
        n => format!("{n} CPU{} online", plural(n)),
    };
    let mut facts = vec![
        or_unknown(host.hostname.as_deref(), "name"),
        or_unknown(host.cpu_model.as_deref(), "processor"),
        cpus,
    ];
    facts.extend(host.board.clone());
    let unequal = host.unequal(&host.cpus_online);
    facts.extend(unequal.map(|kinds| format!("capacities {kinds}")));
    let kinds = [
        (&host.cpus_isolated, "isolated"),
        (&host.cpus_nohz_full, "nohz_full"),
    ];
    let kinds = kinds.into_iter().filter(|(cpus, _)| !cpus.is_empty());
    facts.extend(kinds.map(|(cpus, what)| format!("{cpus} {what}")));
    facts.extend(
        host.smt_active
            .map(|on| format!("SMT {}", if on { "on" } else { "off" })),
    );
    let nodes = host.numa_nodes.filter(|nodes| *nodes > 1);
    facts.extend(nodes.map(|nodes| format!("{nodes} NUMA nodes")));
    #[expect(clippy::cast_precision_loss, reason = "display only")]
    let gib = |bytes: u64| format!("{:.1} GiB", bytes as f64 / (1_u64 << 30) as f64);
    facts.extend(host.memory_bytes.map(gib));
    if let Some(hypervisor) = &host.hypervisor {
        facts.push(match hypervisor.as_str() {
            "yes" => "virtual".to_owned(),
            name => format!("virtual ({name})"),
        });
    }
    clean(&facts.join(", ")).into_owned()
}

fn kernel(host: &HostFacts) -> String {
    let mut facts = vec![or_unknown(host.kernel_release.as_deref(), "release")];
    facts.extend(host.architecture.clone());
    facts.extend(host.kernel_version.clone());
    facts.push(match (host.preempt_rt, &host.preemption) {
        (Some(true), _) => "PREEMPT_RT".to_owned(),
        (_, Some(model)) => format!("preemption {model}"),
        (_, None) => "preemption model unknown".to_owned(),
    });
    facts.push(format!(
        "clock source {}",
        host.clocksource.as_deref().unwrap_or("unknown")
    ));
    if !host.cpufreq_governors.is_empty() {
        facts.push(format!("governor {}", host.cpufreq_governors.join(" ")));
    }
    facts.extend(
        host.cpuidle
            .as_ref()
            .map(|driver| format!("idle driver {driver}")),
    );
    facts.extend(match (host.sched_rt_runtime_us, host.sched_rt_period_us) {
        (Some(-1), _) => Some("real-time threads not throttled".to_owned()),
        (Some(runtime), Some(period)) if period > 0 => {
            #[expect(clippy::cast_precision_loss, reason = "display only")]
            let share = runtime as f64 / period as f64;
            Some(format!("real-time threads may use {}", percent(share)))
        }
        _ => None,
    });
    clean(&facts.join(", ")).into_owned()
}

fn or_unknown(fact: Option<&str>, what: &str) -> String {
    fact.map_or_else(|| format!("{what} unknown"), ToOwned::to_owned)
}

/// Says how it was measured.
pub(crate) fn spec(spec: &RunSpec) -> String {
    let threads = spec.threads;
    let mut parts = vec![
        format!("{threads} thread{}", if threads == 1 { "" } else { "s" }),
        policy(spec),
        match spec.pin {
            Pin::Each if spec.cpus.len() == 1 => format!("on CPU {}", spec.cpus),
            Pin::Each => format!("one CPU of {} each", spec.cpus),
            Pin::Set => format!("on CPUs {}", spec.cpus),
            Pin::None => "not pinned".to_owned(),
        },
        interval(spec),
        format!("{} on {}", timer(spec.timer), clock(spec.clock)),
        limit(spec),
        if spec.warm_up_ns.is_zero() {
            "no warm-up".to_owned()
        } else {
            format!("after a warm-up of {}", span(spec.warm_up_ns))
        },
        idle_bound(spec.dma_latency_ns),
        locked(spec.mlock).to_owned(),
    ];
    if !spec.loads.is_empty() {
        parts.push(format!("under load: {}", spec.loads.join(" ")));
    }
    clean(&parts.join(", ")).into_owned()
}

/// Says how a run was measured.
pub(crate) fn measured(run: &RunRecord) -> String {
    match (&run.spec, &run.setup, &run.origin) {
        (Some(spec), _, _) => self::spec(spec),
        (_, Some(setup), _) => {
            let of = Instrument::of(&run.instrument);
            let watches = of.is_some_and(|of| of.makes == Makes::Observations);
            self::setup(setup, watches)
        }
        (_, _, Some(origin)) => {
            let line = origin.command_line.as_deref().unwrap_or("unknown");
            clean(&format!("by {}, command line {line}", origin.tool)).into_owned()
        }
        _ => "not recorded".to_owned(),
    }
}

/// Says how another instrument than `wakeup` measured. Where it `watches` others, policy and memory of our own threads
/// would be read as theirs.
fn setup(setup: &Setup, watches: bool) -> String {
    let cpus = setup.cpus.len();
    let mut parts = vec![format!("CPU{} {}", plural(cpus), setup.cpus)];
    parts.extend((!watches).then(|| one_policy(setup.priority)));
    parts.extend(
        setup
            .options
            .iter()
            .map(|(name, value)| format!("{name} {value}")),
    );
    parts.extend(setup.duration_ns.map(|ns| format!("for {}", span(ns))));
    parts.push(idle_bound(setup.dma_latency_ns));
    parts.extend((!watches).then(|| locked(setup.mlock).to_owned()));
    if !setup.loads.is_empty() {
        parts.push(format!("under load: {}", setup.loads.join(" ")));
    }
    clean(&parts.join(", ")).into_owned()
}

fn idle_bound(held: Option<Nanos>) -> String {
    held.map_or_else(
        || "/dev/cpu_dma_latency left alone".to_owned(),
        |ns| format!("/dev/cpu_dma_latency held at {} µs", ns.get() / 1_000),
    )
}

const fn locked(mlock: bool) -> &'static str {
    if mlock {
        "memory locked"
    } else {
        "memory not locked"
    }
}

fn one_policy(policy: Policy) -> String {
    let name = policy.kernel_name();
    match policy {
        Policy::Fifo { priority } | Policy::RoundRobin { priority } => {
            format!("{name} priority {priority}")
        }
        Policy::Deadline { runtime, period } => {
            format!("{name} {} in {}", span(runtime), span(period))
        }
        Policy::Other { nice } if nice != 0 => format!("{name} nice {nice} (not real-time)"),
        Policy::Ext => format!("{name} (a BPF scheduler's)"),
        _ => format!("{name} (not real-time)"),
    }
}

fn policy(spec: &RunSpec) -> String {
    let name = spec.priority.kernel_name();
    let last = spec.policy_of(spec.threads.saturating_sub(1));
    match (spec.priority, last) {
        (
            Policy::Fifo { priority } | Policy::RoundRobin { priority },
            Policy::Fifo { priority: last } | Policy::RoundRobin { priority: last },
        ) if priority != last => format!("{name} priority {priority} down to {last}"),
        (first, _) => one_policy(first),
    }
}

fn interval(spec: &RunSpec) -> String {
    let first = span(spec.interval_ns);
    if spec.threads < 2 || spec.distance_ns == Nanos::ZERO {
        format!("every {first}")
    } else {
        format!("every {first}, {} longer a thread", span(spec.distance_ns))
    }
}

fn limit(spec: &RunSpec) -> String {
    let mut limits = Vec::new();
    limits.extend(spec.duration_ns.map(|ns| format!("for {}", span(ns))));
    limits.extend(spec.samples.map(|n| format!("{n} samples a thread")));
    limits.extend((!spec.until.is_empty()).then(|| format!("until {}", spec.until.join(" and "))));
    if limits.is_empty() {
        return "without an end".to_owned();
    }
    limits.join(" or ")
}

const fn timer(timer: TimerKind) -> &'static str {
    match timer {
        TimerKind::Nanosleep => "clock_nanosleep to absolute deadlines",
        TimerKind::Relative => "clock_nanosleep for a span (measured minus requested time)",
        TimerKind::Timerfd => "timerfd to absolute deadlines",
        TimerKind::Posix => "POSIX timer to absolute deadlines",
        TimerKind::Uring => "io_uring timeout to absolute deadlines",
        TimerKind::Futex => "futex wait to absolute deadlines",
    }
}

const fn clock(clock: Clock) -> &'static str {
    match clock {
        Clock::Monotonic => "CLOCK_MONOTONIC",
        Clock::Realtime => "CLOCK_REALTIME",
        Clock::Tai => "CLOCK_TAI",
        Clock::Boottime => "CLOCK_BOOTTIME",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tuning_that_could_not_be_seen_is_not_called_none() {
        let said = |tuning_unknown: Option<&str>, is_imported| {
            let host = HostFacts {
                tuning_unknown: tuning_unknown.map(str::to_owned),
                ..HostFacts::default()
            };
            let facts = host_facts(&host, is_imported);
            let tuned = facts.into_iter().find(|(name, _)| name == "Tuned");
            tuned.unwrap().1
        };
        assert_eq!(
            said(Some("only root can see it"), false),
            "unknown: only root can see it"
        );
        assert_eq!(said(None, false), "no tuning in effect was found");
        assert_eq!(said(None, true), "unknown");
    }
}
