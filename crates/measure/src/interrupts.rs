// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Interrupts of devices, of the processor itself, and soft interrupts: how long their handlers run, how long a soft interrupt waits,
//! and when the thread runs that an interrupt woke.
//!
//! | kind | from | to |
//! |---|---|---|
//! | `NAME/handler` | `irq_handler_entry` (or the entry of the processor's own vector) | its exit |
//! | `NAME/waking` | the same | `sched_waking` of a thread, in the handler or in a soft interrupt that it raised |
//! | `NAME/thread` | the same | that thread has a CPU |
//! | `KIND/delay` | `softirq_raise` | `softirq_entry` |
//! | `KIND/run` | `softirq_entry` | `softirq_exit`, with the interrupts that came in between |
//! | `KIND/waking`, `KIND/thread` | `softirq_raise` | as above |
//!
//! The events are read as those of `watch` are, and Punctual runs nothing but that. How many there were is compared
//! with what the kernel itself counted in `/proc/interrupts` and `/proc/softirqs`.

mod choice;
mod pair;
mod tally;

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use punctual_model::{CpuId, Finding, Nanos, Progress};
use punctual_sys::tracefs::Tracefs;
use punctual_sys::{SysRoot, clock};

pub use self::choice::{Choice, Wish};
use self::tally::{Evidence, Tally};
use crate::error::MeasureError;
use crate::frame::{Found, Frame, Throttling};
use crate::irq::instance_name;
use crate::noise::counters::Counters;
use crate::trace::{self, Reader};
use crate::watch::event::{Decoder, Event, What};
use crate::watch::who::Names;

/// Trace buffer of each CPU, in KiB: switches of a busy machine fill some 4 MB a second.
const BUFFER_KIB: u32 = 8 * 1_024;

/// Time between two looks at the buffers.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// How long it is measured where nothing is said.
const DURATION: Nanos = Nanos::from_secs(10);

/// Time after which an event is in the buffers, in ns: it gets its time before it is put there.
const ON_ITS_WAY: u64 = 200_000;

/// Sleeps after each of which the kernel should record a switch out of idle, and how long each is.
const SLEEPS: u32 = 20;
const SLEEP: Duration = Duration::from_millis(1);

const SWITCH: &str = "sched/sched_switch";
const CALL_ENDS: &str = "raw_syscalls/sys_exit";

/// The events that are recorded, besides those of the processor's own vectors.
const EVENTS: [&str; 8] = [
    "irq/irq_handler_entry",
    "irq/irq_handler_exit",
    "irq/softirq_entry",
    "irq/softirq_exit",
    "irq/softirq_raise",
    "sched/sched_waking",
    SWITCH,
    CALL_ENDS,
];

/// Measures the interrupts that `wish` names, on the CPUs of the frame's set-up. Each CPU's trace buffer has `buffer_kib`
/// where that is asked for.
///
/// # Errors
///
/// [`MeasureError::Spec`] where a name matches nothing, [`MeasureError::Tracing`] where tracing is unavailable.
pub fn run(
    wish: &Wish,
    buffer_kib: Option<u32>,
    frame: &mut Frame<'_>,
) -> Result<Found, MeasureError> {
    let sys = frame.sys().clone();
    let tracefs = Tracefs::open(&sys)?;
    let choice = Choice::of(wish, &sys, &tracefs)?;
    let mut source = Source::new(&sys, &tracefs, buffer_kib)?;
    let inferred = source.lacks_switches_out_of_idle()?;
    let cpus = frame.setup().cpus.clone();
    let mut tally = Tally::new(choice, cpus.clone(), inferred, frame.keep());
    let count = |sys: &SysRoot| Counters::read(sys, &cpus);
    let before = count(&sys);
    source.switch(true, inferred)?;
    let on = count(&sys);
    // Switching the events on took time of its own, in a guest more than a second.
    let duration = frame.setup().duration_ns.unwrap_or(DURATION);
    let end = frame.elapsed() + duration;
    while frame.elapsed() < end && !frame.is_stopped() {
        let left = Duration::from(end - frame.elapsed());
        std::thread::sleep(left.min(LOOK_EVERY));
        let events = source.read(true)?;
        tally.take(&events, &source.names);
        frame.look(|| progress(&tally));
    }
    let ended = frame.ended();
    let off = count(&sys);
    source.switch(false, inferred)?;
    let after = count(&sys);
    let events = source.read(false)?;
    tally.take(&events, &source.names);
    frame.last(progress(&tally));
    let evidence = Evidence {
        at_least: off.since(&on),
        at_most: after.since(&before),
        lost: source.reader.lost()?,
        records: source.reader.records(),
    };
    let mut found = tally.found(&evidence);
    if tally.inferred() > 0 {
        found.findings.push(Finding::observed(
            "inferred-switches",
            "some woken threads ran without a recorded switch: each counts as running from the end of its system call, which is \
             later",
        ));
    }
    for wanted in source.decoder.lacking() {
        if let Some(what) = wanted.without {
            let detail = format!("this kernel does not record {what} ({})", wanted.event);
            found.findings.push(Finding::observed("no-event", detail));
        }
    }
    let events: Vec<&str> = source.events(inferred).collect();
    found.options = [("events".to_owned(), events.join(" "))].into();
    found.ended = ended;
    found.throttling = Throttling::IsAResult;
    source.reader.remove()?;
    Ok(found)
}

fn progress(tally: &Tally) -> Progress {
    Progress {
        doing: Some(tally.says()),
        ..Progress::default()
    }
}

/// The trace of a running kernel.
struct Source {
    reader: Reader,
    decoder: Decoder,
    names: Names,
    waiting: VecDeque<Event>,
}

impl Source {
    fn new(sys: &SysRoot, tracefs: &Tracefs, kib: Option<u32>) -> Result<Self, MeasureError> {
        let decoder = Decoder::of(tracefs, |wanted| {
            EVENTS.contains(&wanted.event) || wanted.event.starts_with("irq_vectors/")
        })?;
        let cpus = trace::cpus(sys)?;
        let kib = kib.unwrap_or_else(|| trace::buffer_kib(BUFFER_KIB, &cpus));
        let reader = Reader::new(tracefs, &instance_name(sys), &cpus, kib)?;
        // What is lost is to be the newest: what was recorded stays whole.
        reader.write("options/overwrite", "0")?;
        Ok(Self {
            reader,
            decoder,
            names: Names::default(),
            waiting: VecDeque::new(),
        })
    }

    /// Returns the events that are recorded. The ends of all system calls are many, and wanted only where they stand for switches.
    fn events(&self, call_ends: bool) -> impl Iterator<Item = &'static str> {
        let chosen = self.decoder.chosen().iter().map(|wanted| wanted.event);
        chosen.filter(move |event| call_ends || *event != CALL_ENDS)
    }

    /// Begins or ends recording, all events at once: to switch one takes milliseconds, in which others would be alone.
    fn switch(&self, on: bool, call_ends: bool) -> Result<(), MeasureError> {
        let recording = |on: bool| self.reader.write("tracing_on", if on { "1" } else { "0" });
        recording(false)?;
        self.events(call_ends)
            .try_for_each(|event| self.reader.switch(event, on))?;
        if on { recording(true) } else { Ok(()) }
    }

    /// Whether the kernel, unlike most, does not record every switch from idle to a thread. This sleeps for a moment to see some.
    fn lacks_switches_out_of_idle(&mut self) -> Result<bool, MeasureError> {
        self.reader.switch(SWITCH, true)?;
        for _ in 0..SLEEPS {
            std::thread::sleep(SLEEP);
        }
        self.reader.switch(SWITCH, false)?;
        let events = self.read(false)?;
        Ok(misses_switches_out_of_idle(&events) && self.decoder.has(CALL_ENDS))
    }

    /// Reads what is in the buffers, in the order of time. While recording goes on, events that others may still come before wait.
    fn read(&mut self, goes_on: bool) -> Result<Vec<Event>, MeasureError> {
        let upto = clock::monotonic().get().saturating_sub(ON_ITS_WAY);
        let (decoder, names, waiting) = (&self.decoder, &mut self.names, &mut self.waiting);
        self.reader.read(goes_on, |cpu, record| {
            waiting.extend(decoder.read(cpu, record, names));
        })?;
        // Stable: events of one CPU with the same time keep their order.
        waiting.make_contiguous().sort_by_key(|event| event.time);
        let ready = match goes_on {
            true => waiting.partition_point(|event| event.time < upto),
            false => waiting.len(),
        };
        Ok(waiting.drain(..ready).collect())
    }
}

/// Whether a CPU went idle and the next switch there is another thread's, so that the one between was not recorded. True also where
/// no CPU was seen to leave idle: then nothing is known.
fn misses_switches_out_of_idle(events: &[Event]) -> bool {
    let mut idle: BTreeSet<CpuId> = BTreeSet::new();
    let mut seen = false;
    for event in events {
        let What::Switch { next, .. } = event.what else {
            continue;
        };
        let was_idle = idle.remove(&event.cpu);
        if was_idle && event.pid != 0 {
            return true;
        }
        seen |= event.pid == 0;
        if next == 0 {
            idle.insert(event.cpu);
        }
    }
    !seen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn switches(events: &[(CpuId, i32, i32)]) -> Vec<Event> {
        let event = |(time, &(cpu, pid, next)): (u64, &(CpuId, i32, i32))| Event {
            time,
            cpu,
            pid,
            what: What::Switch {
                prev_prio: 120,
                prev_state: 0,
                next,
                next_prio: 120,
                next_name: Names::UNKNOWN,
            },
        };
        (0..).zip(events).map(event).collect()
    }

    #[test]
    fn one_switch_out_of_idle_is_no_proof_that_all_are_recorded() {
        let misses = |events| misses_switches_out_of_idle(&switches(events));
        let all = [(0, 7, 0), (1, 0, 9), (0, 0, 7), (1, 9, 0), (0, 7, 0)];
        assert!(!misses(&all));
        let one = [(0, 7, 0), (0, 0, 7), (0, 7, 0), (0, 7, 0), (0, 7, 0)];
        assert!(misses(&one));
        // Nothing was idle, or nothing came: not known.
        assert!(misses(&[(0, 7, 8), (0, 8, 7)]));
        assert!(misses(&[]));
    }
}
