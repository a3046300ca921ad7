// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Validity checks: each looks at evidence and says pass, fail or unknown, with figures.
//!
//! They fail closed: a run is valid only if every check passed. Each is decidable on an ordinary
//! machine, also without privilege; where a thing does not exist (no cpufreq, no loads) it cannot
//! have gone wrong, and the check says that.

use punctual_model::{Check, Clock, LoadRecord, Nanos, Pin, Policy};

use crate::conditions::{Conditions, Ticks};
use crate::crew::ThreadEvidence;
use crate::steadiness::Steadiness;
use crate::throttling::RtLoad;

/// Steal time above this share of a measured CPU's time makes a run say more about the
/// hypervisor's other guests than about this machine.
const STEAL_LIMIT: f64 = 0.05;

/// The recorder looks ten times a second. A silence this long is no scheduling delay.
const PAUSE_LIMIT: Nanos = Nanos::from_secs(1);
/// The same where nothing but the recorder can tell: real-time threads on all CPUs leave it one turn a second.
const PAUSE_LIMIT_ALONE: Nanos = Nanos::from_millis(1_500);

/// NTP slews a clock by 0.05 % at most, 50 µs between two looks; more is a step.
const STEP_LIMIT: Nanos = Nanos::from_millis(1);

/// A clock that steps by more than this cannot time wake-ups of microseconds.
const RESOLUTION_LIMIT: Nanos = Nanos::new(1_000);

/// What became of the wish to lock the memory.
#[derive(Debug)]
pub(crate) enum Locking {
    /// Locked.
    Locked,
    /// Not asked for.
    Off,
    /// Refused, and not insisted on.
    Refused(String),
}

/// What became of the wish to bound the idle latency.
#[derive(Debug)]
pub(crate) enum IdleBound {
    /// Held at this value.
    Held(Nanos),
    /// Not asked for.
    Off,
    /// Refused, and not insisted on.
    Refused(String),
}

/// What was asked for, as far as the checks look at it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expected {
    pub(crate) priority: Policy,
    pub(crate) pin: Pin,
    pub(crate) clock: Clock,
    /// Number of loads.
    pub(crate) loads: usize,
}

/// Everything that the checks look at.
#[derive(Debug)]
pub(crate) struct Evidence<'a> {
    pub(crate) asked: Expected,
    pub(crate) threads: &'a [ThreadEvidence],
    pub(crate) before: &'a Conditions,
    pub(crate) after: &'a Conditions,
    pub(crate) locking: &'a Locking,
    pub(crate) idle_bound: &'a IdleBound,
    pub(crate) resolution: Nanos,
    pub(crate) observed_step: Option<Nanos>,
    pub(crate) rt_load: &'a RtLoad,
    pub(crate) loads: &'a [LoadRecord],
    pub(crate) watch: &'a Steadiness,
}

/// Judges what the kernel said of the measuring threads.
pub(crate) fn threads(evidence: &Evidence<'_>) -> Vec<Check> {
    vec![scheduling(evidence), affinity(evidence)]
}

/// Judges the machine around any run.
pub(crate) fn surroundings(evidence: &Evidence<'_>) -> Vec<Check> {
    vec![
        idle_bound(evidence),
        unchanged_cpus(evidence),
        frequency([evidence.before, evidence.after]),
        clock(evidence),
        clock_steps(evidence),
        suspend(evidence),
        pauses(evidence),
        steal(evidence),
        cpu_use(evidence),
    ]
}

/// Judges whether every one of them was taken in, `count` being those that were. `what` they are: `samples`.
pub(crate) fn lost_samples(what: &str, count: u64, lost: u64) -> Check {
    let all = count.saturating_add(lost);
    let detail = format!("{lost} of {all} {what} lost because the ring was full");
    Check::of("lost-samples", lost == 0, detail)
}

fn scheduling(e: &Evidence<'_>) -> Check {
    let id = "scheduling";
    for thread in e.threads {
        let end = match &thread.finished.policy {
            Ok(policy) => *policy,
            Err(err) => {
                return Check::unknown(id, format!("policy cannot be read back: {err}"));
            }
        };
        for (when, got) in [("start", thread.ready.policy), ("end", end)] {
            if got != thread.asked_policy {
                return Check::fail(
                    id,
                    format!(
                        "thread {} was asked to run with {} and ran with {got} at the {when}",
                        thread.ready.index, thread.asked_policy
                    ),
                );
            }
        }
    }
    let mut policies: Vec<String> = e
        .threads
        .iter()
        .map(|t| t.asked_policy.to_string())
        .collect();
    policies.dedup();
    let policies = policies.join(", ");
    let slack = e.threads.iter().find_map(|t| t.ready.timer_slack);
    let slack = match slack.filter(|_| !e.asked.priority.is_real_time()) {
        Some(slack) => format!("; the kernel may wake these threads {slack} late (timer slack)"),
        None => String::new(),
    };
    Check::pass(
        id,
        format!("as asked, read back at start and end: {policies}{slack}"),
    )
}

fn affinity(e: &Evidence<'_>) -> Check {
    let id = "affinity";
    for thread in e.threads {
        let end = match &thread.finished.affinity {
            Ok(cpus) => cpus,
            Err(err) => {
                return Check::unknown(id, format!("affinity cannot be read back: {err}"));
            }
        };
        for (when, got) in [("start", &thread.ready.affinity), ("end", end)] {
            if *got != thread.asked_cpus {
                return Check::fail(
                    id,
                    format!(
                        "thread {} was to run on CPUs {} and was bound to {got} at the {when}",
                        thread.ready.index, thread.asked_cpus
                    ),
                );
            }
        }
    }
    Check::pass(
        id,
        format!("as asked, read back at start and end: pin {}", e.asked.pin),
    )
}

/// A page fault in a measuring thread is time that the machine did not take by itself, or memory
/// that was not locked: either way it is in the samples.
pub(crate) fn memory(e: &Evidence<'_>) -> Check {
    let id = "memory";
    let faults: u64 = e.threads.iter().map(|t| t.finished.faults).sum();
    let faulted = format!("{faults} page faults in the measuring threads");
    match e.locking {
        Locking::Locked => match e.after.locked_kib {
            Some(kib) => Check::of(
                id,
                kib > 0 && faults == 0,
                format!("{kib} KiB locked, {faulted}"),
            ),
            None => Check::unknown(id, "cannot read VmLck"),
        },
        Locking::Off => Check::of(id, faults == 0, format!("not locked, as asked; {faulted}")),
        Locking::Refused(why) => {
            Check::of(id, faults == 0, format!("not locked ({why}); {faulted}"))
        }
    }
}

fn idle_bound(e: &Evidence<'_>) -> Check {
    let id = "idle-latency";
    match e.idle_bound {
        IdleBound::Held(bound) => Check::pass(
            id,
            format!("/dev/cpu_dma_latency held at {bound} during the run"),
        ),
        IdleBound::Off => Check::pass(id, "/dev/cpu_dma_latency left alone, as asked"),
        IdleBound::Refused(why) => Check::pass(
            id,
            format!(
                "/dev/cpu_dma_latency not held ({why}): exit latencies of idle states may be included"
            ),
        ),
    }
}

fn unchanged_cpus(e: &Evidence<'_>) -> Check {
    let id = "cpus-online";
    match (&e.before.cpus_online, &e.after.cpus_online) {
        (Some(before), Some(after)) if before == after => {
            Check::pass(id, format!("CPUs {before} at start and end"))
        }
        (Some(before), Some(after)) => Check::fail(
            id,
            format!("CPUs {before} at the start, but {after} at the end"),
        ),
        _ => Check::unknown(id, "the list of online CPUs cannot be read"),
    }
}

fn frequency(conditions: [&Conditions; 2]) -> Check {
    let id = "frequency-settings";
    if conditions.iter().any(|read| read.cpus_online.is_none()) {
        return Check::unknown(id, "/sys/devices/system/cpu cannot be read");
    }
    let [before, after] = conditions.map(|read| &read.frequency);
    if before.is_empty() && after.is_empty() {
        return Check::pass(id, "this machine has no cpufreq, so nothing could change");
    }
    let changed = before
        .iter()
        .find(|(cpu, setting)| after.get(cpu) != Some(setting));
    match changed {
        Some((cpu, setting)) => Check::fail(
            id,
            format!(
                "CPU {cpu} had {setting} at the start and {} at the end",
                after.get(cpu).map_or("no setting", String::as_str)
            ),
        ),
        None if before.len() != after.len() => {
            Check::fail(id, "cpufreq appeared on a CPU during the run")
        }
        None => {
            let mut settings: Vec<&str> = before.values().map(String::as_str).collect();
            settings.sort_unstable();
            settings.dedup();
            Check::pass(id, format!("unchanged: {}", settings.join(", ")))
        }
    }
}

fn clock(e: &Evidence<'_>) -> Check {
    let id = "clock";
    let (Some(before), Some(after)) = (&e.before.clocksource, &e.after.clocksource) else {
        return Check::unknown(id, "the clock source cannot be read");
    };
    if before != after {
        return Check::fail(
            id,
            format!("clock source {before} at the start, {after} at the end"),
        );
    }
    let Some(step) = e.observed_step else {
        return Check::fail(id, format!("clock {} does not advance", e.asked.clock));
    };
    Check::of(
        id,
        e.resolution <= RESOLUTION_LIMIT && step <= RESOLUTION_LIMIT,
        format!(
            "clock source {before}, stated resolution {}, smallest step seen {step}",
            e.resolution
        ),
    )
}

/// Deadlines on a clock that is set are early or late by the step, and so are the samples.
fn clock_steps(e: &Evidence<'_>) -> Check {
    let id = "clock-steps";
    if matches!(e.asked.clock, Clock::Monotonic | Clock::Boottime) {
        return Check::pass(id, format!("clock {} cannot be set", e.asked.clock));
    }
    clock_steps_check(e.asked.clock, e.watch.largest_step())
}

/// Judges the largest `step` of a clock that can be set.
pub(crate) fn clock_steps_check(clock: Clock, step: Nanos) -> Check {
    Check::of(
        "clock-steps",
        step <= STEP_LIMIT,
        format!(
            "clock {clock} moved by at most {step} against the monotonic clock between two checks, ten a second"
        ),
    )
}

/// When everything stood still, the recorder and a measuring thread alike, it was not the machine
/// that was late: the program was stopped, or the virtual machine was.
fn pauses(e: &Evidence<'_>) -> Check {
    pauses_check(e.watch.longest_pause(), e.rt_load.worst)
}

/// Judges the longest `pause` between two looks of the recorder, by the `worst` sample. Where there are no samples nobody can say
/// that the measuring threads went on meanwhile.
pub(crate) fn pauses_check(pause: Nanos, worst: Option<Nanos>) -> Check {
    let id = "pauses";
    match worst {
        None if pause < PAUSE_LIMIT_ALONE => {
            Check::pass(id, format!("longest pause of the recorder: {pause}"))
        }
        Some(_) if pause < PAUSE_LIMIT => {
            Check::pass(id, format!("longest pause of the recorder: {pause}"))
        }
        None => Check::fail(
            id,
            format!(
                "the program stopped for {pause} (SIGSTOP, Ctrl-Z, a paused machine), or its recorder had no CPU for as long"
            ),
        ),
        Some(worst) if worst.get() >= pause.get() / 2 => Check::fail(
            id,
            format!("the whole program stopped for {pause}: SIGSTOP, Ctrl-Z, or a paused machine"),
        ),
        Some(_) => Check::pass(
            id,
            format!("longest pause of the recorder: {pause}; the measuring threads went on"),
        ),
    }
}

fn suspend(e: &Evidence<'_>) -> Check {
    let slept = e.after.suspended - e.before.suspended;
    // The two clocks are read one after the other, with the machine's own delays between.
    Check::of(
        "suspend",
        slept < Nanos::from_millis(500),
        if slept < Nanos::from_millis(500) {
            "the machine was not suspended during the run".to_owned()
        } else {
            format!("the machine was suspended for {slept} during the run")
        },
    )
}

fn steal(e: &Evidence<'_>) -> Check {
    let id = "steal";
    match busiest(e, |ticks| ticks.steal) {
        None => Check::unknown(id, "steal time cannot be read"),
        Some((cpu, share, ms)) => Check::of(
            id,
            share <= STEAL_LIMIT,
            format!(
                "the hypervisor stole at most {ms} ms of a measured CPU's time ({:.2} %, CPU \
                 {cpu}), in steps of 10 ms; limit {:.0} %",
                100.0 * share,
                100.0 * STEAL_LIMIT
            ),
        ),
    }
}

/// No verdict, but who calls a run idle must be able to see whether it was.
fn cpu_use(e: &Evidence<'_>) -> Check {
    let id = "cpu-use";
    match busiest(e, |ticks| ticks.total.saturating_sub(ticks.idle)) {
        None => Check::unknown(id, "CPU time cannot be read"),
        Some((cpu, share, _)) => Check::pass(
            id,
            format!(
                "measured CPUs were at most {:.0} % busy (CPU {cpu}), measuring threads and loads included",
                100.0 * share
            ),
        ),
    }
}

/// Returns the CPU with the largest share of `part` in its time, the share, and `part` in ms.
#[expect(clippy::cast_precision_loss, reason = "shares")]
fn busiest(e: &Evidence<'_>, part: impl Fn(&Ticks) -> u64) -> Option<(u32, f64, u64)> {
    let shares = e.before.ticks.iter().filter_map(|(cpu, before)| {
        let after = e.after.ticks.get(cpu)?;
        let total = after.total.checked_sub(before.total)?;
        let part = part(after).saturating_sub(part(before));
        // A clock tick of /proc is 10 ms (USER_HZ is 100, time(7)).
        Some((*cpu, part as f64 / total.max(1) as f64, part * 10))
    });
    shares.max_by(|a, b| a.1.total_cmp(&b.1))
}

pub(crate) fn loads(e: &Evidence<'_>) -> Check {
    let id = "loads";
    if e.asked.loads == 0 {
        return Check::pass(id, "no load requested");
    }
    let dead: Vec<String> = e
        .loads
        .iter()
        .filter_map(|load| Some(format!("{}: {}", load.load, load.fault.as_ref()?)))
        .collect();
    if !dead.is_empty() {
        return Check::fail(id, dead.join("; "));
    }
    let work: Vec<String> = e.loads.iter().map(work_of).collect();
    Check::of(
        id,
        e.loads.len() == e.asked.loads,
        format!("alive from start to end: {}", work.join(", ")),
    )
}

fn work_of(load: &LoadRecord) -> String {
    let silence = load.longest_silence_ns.unwrap_or_default();
    format!(
        "{} did {} {} (longest gap between reports {silence})",
        load.load, load.work, load.unit
    )
}

/// Returns the clock that a resolution check must look at.
pub(crate) fn observe(clock: Clock) -> (Nanos, Option<Nanos>) {
    (
        punctual_sys::clock::resolution(clock),
        punctual_sys::clock::observed_step(clock, 1_000),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_model::CheckStatus;

    #[test]
    fn without_sys_it_is_not_known_whether_there_is_cpufreq() {
        let hidden = Conditions::default();
        let seen = Conditions {
            cpus_online: Some("0-1".to_owned()),
            ..Conditions::default()
        };
        assert!(frequency([&seen, &seen]).passed());
        for unknown in [[&hidden, &hidden], [&seen, &hidden]] {
            assert_eq!(frequency(unknown).status, CheckStatus::Unknown);
        }
    }
}
