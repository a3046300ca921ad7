// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Our own threads, and the kernel's trace events of their wake-ups.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use punctual_model::{Clock, Nanos, Sample, Setup};
use punctual_sys::clock;
use punctual_sys::timer::{Errno, Nanosleep};
use punctual_sys::tracefs::{Tracefs, TracefsError};
use rtrb::{Consumer, RingBuffer};

use super::blocks::Blocks;
use super::judge::{Judge, Ledger};
use super::leftover;
use super::marks::Marks;
use super::pair::Woken;
use super::probe::{Moment, MomentKind, Probe};
use crate::crew::{Crew, Post};
use crate::cyclic::{self, Counts, Cycle, Shared, WakeBy};
use crate::error::MeasureError;
use crate::frame::{Found, Frame, HEAD_START};
use crate::stream::ring_slots;
use crate::trace::{self, Reader};

/// Time after tracing was switched, in which the kernel patches its code on all CPUs. What is
/// measured then is in no figure.
const SETTLE: Nanos = Nanos::from_millis(10);

/// Time between two looks at the buffers.
const LOOK_EVERY: Duration = Duration::from_millis(25);

/// The shortest of them, at the end of a block.
const STEP: Duration = Duration::from_millis(1);

/// Bytes of trace buffer for each CPU: seconds of records at an interval of a millisecond.
const BUFFER_KIB: u32 = 1_024;

/// The measuring threads, as seen from outside.
struct Sleepers {
    rings: Vec<Consumer<Sample>>,
    counts: Vec<Arc<Counts>>,
    posts: Vec<Post>,
    shared: Arc<Shared>,
    origin: Arc<AtomicU64>,
}

/// Ends the threads whatever ends the run: a crew waits for its members.
struct StopAtEnd(Arc<Shared>);

impl Drop for StopAtEnd {
    fn drop(&mut self) {
        self.0.stop();
    }
}

type Slept = Result<(), Errno>;

pub(super) fn run(
    interval: Nanos,
    tracefs: &Tracefs,
    frame: &mut Frame<'_>,
) -> Result<Found, MeasureError> {
    let setup = frame.setup().clone();
    let duration = setup.duration_ns.unwrap_or(Nanos::from_secs(10));
    let blocks = Blocks::plan(duration, interval)?;
    let (crew, mut sleepers) = assemble(interval, &setup)?;
    let _stop = StopAtEnd(Arc::clone(&sleepers.shared));
    let probe = Probe::of(frame.sys(), tracefs, &crew.tids())?;
    let mut tracer = Tracer::new(frame, tracefs, probe)?;
    let mut judge = Judge::new(
        &sleepers.posts,
        interval,
        tracer.probe.has_syscall_exit(),
        &frame.keep(),
    );
    tracer.mark()?;
    let begun = &sleepers.origin;
    frame.start_at(&crew, |origin| begun.store(origin.get(), Ordering::Relaxed))?;
    frame.wait(HEAD_START + SETTLE, || judge.progress(&sleepers.lost()));
    judge.settled(sleepers.warmed_up(), Nanos::ZERO);
    let mut on = false;
    for traced in blocks.order() {
        if traced != on {
            tracer.switch(traced)?;
            on = traced;
            frame.wait(SETTLE, || judge.progress(&sleepers.lost()));
        }
        let working = || crew.done() == 0;
        if !one_block(
            frame,
            working,
            (&blocks, interval),
            traced,
            &mut sleepers,
            &mut tracer,
            &mut judge,
        )? {
            break;
        }
    }
    let ended = frame.ended();
    sleepers.shared.stop();
    // They have nothing left to do, and their next deadline may be far away.
    while !crew.is_done() {
        crew.interrupt();
        std::thread::sleep(STEP);
    }
    let results = crew.join()?;
    let mut threads = Vec::new();
    for (thread, (slept, report)) in (0..).zip(results) {
        slept.map_err(|errno| MeasureError::Sleep {
            thread,
            source: errno.into(),
        })?;
        threads.push(report);
    }
    tracer.mark()?;
    let ledger = Ledger {
        samples: sleepers.lost(),
        records: tracer.reader.lost()?.records,
        read: tracer.reader.records(),
        marks: tracer.marks.clone(),
    };
    let options = [
        ("block".to_owned(), blocks.length.to_string()),
        ("events".to_owned(), tracer.probe.events()),
        ("source".to_owned(), "events".to_owned()),
    ];
    frame.last(judge.progress(&sleepers.lost()));
    let lacking = tracer.probe.lacking();
    tracer.reader.remove()?;
    let mut found = judge.conclude(&ledger);
    found.findings.splice(0..0, lacking);
    found.options = options.into();
    found.ended = ended;
    found.faults_spoil = true;
    found.threads = threads;
    Ok(found)
}

/// Starts the threads; they wait until the frame lets them work.
fn assemble(interval: Nanos, setup: &Setup) -> Result<(Crew<Slept>, Sleepers), MeasureError> {
    let mut sleepers = Sleepers {
        rings: Vec::new(),
        counts: Vec::new(),
        posts: Vec::new(),
        shared: Arc::default(),
        origin: Arc::default(),
    };
    let mut works = Vec::new();
    for (thread, cpu) in (0..).zip(setup.cpus.iter()) {
        let thread: u32 = thread;
        let post = Post::on(format!("irq/{thread}"), setup.priority, cpu);
        let (mut ring, taken) = RingBuffer::<Sample>::new(ring_slots(interval));
        // Makes the memory present. What is written is not committed, so nobody reads it.
        drop(ring.write_chunk(ring.slots()));
        let counts = Arc::<Counts>::default();
        sleepers.rings.push(taken);
        sleepers.counts.push(Arc::clone(&counts));
        sleepers.posts.push(post.clone());
        let (shared, origin) = (Arc::clone(&sleepers.shared), Arc::clone(&sleepers.origin));
        works.push((post, move || {
            let cycle = Cycle {
                clock: Clock::Monotonic,
                origin: Nanos::new(origin.load(Ordering::Relaxed)),
                interval,
                record_from: Nanos::ZERO,
                end: Nanos::MAX,
                samples: u64::MAX,
                threshold: Nanos::MAX,
                after_threshold: 0,
                pinned_to: Some(cpu),
                asked: WakeBy::Deadline,
            };
            let mut sleeper = Nanosleep::new(Clock::Monotonic);
            cyclic::run(&cycle, &mut sleeper, &mut ring, &shared, &counts)
        }));
    }
    Ok((Crew::assemble(works)?, sleepers))
}

/// Measures one block, while all threads are `working`. Returns whether it came to its end.
fn one_block(
    frame: &mut Frame<'_>,
    working: impl Fn() -> bool,
    (blocks, interval): (&Blocks, Nanos),
    traced: bool,
    sleepers: &mut Sleepers,
    tracer: &mut Tracer,
    judge: &mut Judge,
) -> Result<bool, MeasureError> {
    let from = clock::monotonic();
    let end = from + blocks.length;
    let origin = sleepers.origin.load(Ordering::Relaxed);
    let mut samples = vec![Vec::new(); sleepers.rings.len()];
    let mut whole = false;
    while !whole && !frame.is_stopped() && working() {
        let left = Duration::from(end.since(clock::monotonic()));
        std::thread::sleep(left.clamp(STEP, LOOK_EVERY));
        sleepers.drain(&mut samples);
        if traced {
            tracer.read()?;
        }
        frame.look(|| judge.progress(&sleepers.lost()));
        // Whoever is late at the end of a block is waited for, unless its deadline is beyond it: the next block has that.
        let is_beyond = |of: &Vec<Sample>| is_beyond(of, origin, interval, end);
        whole = clock::monotonic() >= end && samples.iter().all(is_beyond);
    }
    // What was recorded of the last samples is in the buffers now.
    tracer.read()?;
    let windows: Vec<Vec<(Woken, u32)>> = samples
        .iter()
        .map(|samples| {
            let (count, latest) = outside(samples, origin, [from, end]);
            judge.settled(count, latest);
            of_block(samples, origin, interval, [from, end])
        })
        .collect();
    if traced {
        judge.traced_block(from, &windows, &mut tracer.moments, whole);
    } else {
        judge.untraced_block(&windows, whole);
    }
    tracer.moments.clear();
    Ok(whole)
}

/// Returns the samples whose deadlines lie in a block: each of a run is in one block, however late it was, or between two of them. Who
/// is late for a deadline before the block and for some in it too is late for the first of these, as after a warm-up.
fn of_block(
    samples: &[Sample],
    origin: u64,
    interval: Nanos,
    [from, end]: [Nanos; 2],
) -> Vec<(Woken, u32)> {
    let interval = interval.get().max(1);
    let in_block = |sample: &Sample| {
        let mut own = woken(sample, origin);
        let before = from.get().saturating_sub(own.deadline);
        let passed = u32::try_from(before.div_ceil(interval)).unwrap_or(u32::MAX);
        let skipped = sample.skipped.checked_sub(passed)?;
        own.deadline += u64::from(passed) * interval;
        (own.deadline < end.get()).then_some((own, skipped))
    };
    samples.iter().filter_map(in_block).collect()
}

/// Counts the samples whose deadlines lie outside of a block, and says how late the latest of them was.
fn outside(samples: &[Sample], origin: u64, [from, end]: [Nanos; 2]) -> (u64, Nanos) {
    let block = from.get()..end.get();
    let outside = |sample: &&Sample| !block.contains(&woken(sample, origin).deadline);
    let outside = samples.iter().filter(outside);
    let latest = outside.clone().map(|sample| sample.latency_ns).max();
    (outside.count() as u64, Nanos::new(latest.unwrap_or(0)))
}

/// Whether the next deadline of a thread is beyond the end of a block.
fn is_beyond(samples: &[Sample], origin: u64, interval: Nanos, end: Nanos) -> bool {
    samples.last().is_some_and(|last| {
        let next = interval.times(u64::from(last.skipped) + 1).get();
        woken(last, origin).deadline + next >= end.get()
    })
}

fn woken(sample: &Sample, origin: u64) -> Woken {
    let woke = origin + sample.t_ns;
    Woken {
        deadline: woke.saturating_sub(sample.latency_ns),
        woke,
        cpu: sample.cpu,
    }
}

impl Sleepers {
    fn drain(&mut self, samples: &mut [Vec<Sample>]) {
        for (ring, samples) in self.rings.iter_mut().zip(samples) {
            while let Ok(sample) = ring.pop() {
                samples.push(sample);
            }
        }
    }

    /// Counts the first wake-ups, of threads that have just begun.
    fn warmed_up(&mut self) -> u64 {
        let mut samples = vec![Vec::new(); self.rings.len()];
        self.drain(&mut samples);
        samples.iter().map(|of| of.len() as u64).sum()
    }

    fn lost(&self) -> Vec<u64> {
        self.counts
            .iter()
            .map(|counts| counts.lost.load(Ordering::Relaxed))
            .collect()
    }
}

/// Our tracing instance and what was read from it.
struct Tracer {
    reader: Reader,
    probe: Probe,
    moments: Vec<Moment>,
    marks: Marks,
}

impl Tracer {
    fn new(frame: &Frame<'_>, tracefs: &Tracefs, probe: Probe) -> Result<Self, MeasureError> {
        let sys = frame.sys();
        // A timer of an isolated CPU may expire on another one, so all CPUs are recorded.
        let cpus = trace::cpus(sys)?;
        let kib = trace::buffer_kib(BUFFER_KIB, &cpus);
        let reader = Reader::new(tracefs, &leftover::name(sys), &cpus, kib)?;
        let set_up = reader.instance().trace_only(&cpus);
        set_up
            .and_then(|()| probe.prepare(reader.instance()))
            .map_err(TracefsError::Use)?;
        Ok(Self {
            reader,
            probe,
            moments: Vec::new(),
            marks: Marks::default(),
        })
    }

    fn switch(&self, on: bool) -> Result<(), MeasureError> {
        Ok(self
            .probe
            .switch(self.reader.instance(), on)
            .map_err(TracefsError::Use)?)
    }

    /// Takes in what is in the buffers.
    fn read(&mut self) -> Result<(), MeasureError> {
        let (probe, moments) = (&self.probe, &mut self.moments);
        self.reader.read(false, |cpu, record| {
            moments.extend(probe.read(cpu, record));
        })
    }

    /// Writes marks into the trace, between readings of the clock.
    fn mark(&mut self) -> Result<(), MeasureError> {
        let brackets = Marks::write(self.reader.instance())?;
        self.read()?;
        let mut marks: Vec<&Moment> = self
            .moments
            .iter()
            .filter(|m| m.kind == MomentKind::Mark)
            .collect();
        marks.sort_by_key(|moment| moment.time);
        self.marks.add(&brackets, marks.iter().map(|m| m.time));
        self.moments.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORIGIN: u64 = 5_000;
    const INTERVAL: Nanos = Nanos::new(100);

    const fn at(n: u64) -> u64 {
        ORIGIN + n
    }

    const fn sample(deadline: u64, latency: u64, skipped: u32) -> Sample {
        Sample {
            t_ns: deadline + latency - ORIGIN,
            latency_ns: latency,
            cpu: 0,
            skipped,
        }
    }

    #[test]
    fn a_wake_up_that_is_late_over_the_end_of_a_block_is_counted_once() {
        // Deadlines at each 100 ns; the one at 900 is 350 late and misses three more.
        let before: Vec<_> = (1..9).map(|n| sample(at(100 * n), 10, 0)).collect();
        let late = sample(at(900), 350, 3);
        let after: Vec<_> = (13..22).map(|n| sample(at(100 * n), 10, 0)).collect();
        let all = [&before[..], &[late], &after[..]].concat();
        // The second block begins when whoever was late has been waited for.
        let edges = [at(50), at(1_000), at(1_260), at(2_050)].map(Nanos::new);
        assert!(!is_beyond(&all[..8], ORIGIN, INTERVAL, edges[1]));
        assert!(is_beyond(&all[..9], ORIGIN, INTERVAL, edges[1]));
        let first = of_block(&all, ORIGIN, INTERVAL, [edges[0], edges[1]]);
        let second = of_block(&all[9..], ORIGIN, INTERVAL, [edges[2], edges[3]]);
        assert_eq!((first.len(), second.len()), (9, 8));
        let overruns = |block: &[(Woken, u32)]| block.iter().map(|(_, n)| n).sum::<u32>();
        assert_eq!((overruns(&first), overruns(&second)), (3, 0));
        assert_eq!(first[8].0.woke - first[8].0.deadline, 350);
    }

    #[test]
    fn a_wake_up_that_is_late_over_the_beginning_of_a_block_is_late_for_its_first_deadline() {
        // Between two blocks the wake-up due at 900 is late by 450: until 1350, and for the deadlines at 1000 to 1300.
        let all = [
            sample(at(800), 10, 0),
            sample(at(900), 450, 4),
            sample(at(1_400), 10, 0),
            sample(at(1_500), 10, 0),
        ];
        let edges = [at(1_050), at(1_450)].map(Nanos::new);
        let block = of_block(&all, ORIGIN, INTERVAL, edges);
        let late = Woken {
            deadline: at(1_100),
            woke: at(1_350),
            cpu: 0,
        };
        assert_eq!(block[0], (late, 2));
        assert_eq!(block.len(), 2);
        assert_eq!(outside(&all, ORIGIN, edges), (3, Nanos::new(450)));
        // Who wakes up in the block, but in time for all of its deadlines, is not late in it.
        let edges = [at(1_310), at(1_450)].map(Nanos::new);
        assert_eq!(of_block(&all, ORIGIN, INTERVAL, edges).len(), 1);
    }

    #[test]
    fn a_stall_after_the_last_deadline_of_a_block_belongs_to_the_next_block() {
        // The thread is due at 1100, and wakes up at 1850.
        let before: Vec<_> = (1..11).map(|n| sample(at(100 * n), 10, 0)).collect();
        let first = [at(50), at(1_050)].map(Nanos::new);
        assert!(
            is_beyond(&before, ORIGIN, INTERVAL, first[1]),
            "nobody waits for it"
        );
        let second = [at(1_150), at(2_050)].map(Nanos::new);
        let after = [sample(at(1_100), 750, 7), sample(at(1_900), 10, 0)];
        let block = of_block(&after, ORIGIN, INTERVAL, second);
        assert_eq!(block[0].0.woke - block[0].0.deadline, 650);
        assert_eq!((block[0].1, block.len()), (6, 2));
    }
}
