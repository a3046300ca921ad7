// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The wake-up instrument: how late does this machine wake a thread that sleeps to a deadline?
//!
//! The threads go through [`cyclic::run`](crate::cyclic::run). Whoever shows or stores what is found may be
//! slow, so a recorder on a thread of its own takes the samples in, and a queue leads from there to the frame.
//!
//! A record of this instrument has the specification in place of the set-up: [`setup`] is what the frame
//! gets of it, [`carried_out`] what became of it.

mod follow;
mod recorder;
mod worker;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread::Builder;

use punctual_model::{CpuSet, Misses, Nanos, Pin, RunSpec, Series, Setup};
use punctual_stats::{Accumulator, Keep, PSquare, PrecisionTarget, StopRule};
use punctual_sys::{clock, sched};

use self::follow::Follower;
use self::recorder::{Message, Recorded, Recorder};
use self::worker::{Role, Slept};
use crate::crew::{Crew, Post};
use crate::cyclic::Shared;
use crate::error::MeasureError;
use crate::figures::{self, worst};
use crate::frame::{Found, Frame};
use crate::gate::Start;
use crate::pacing::Pacing;
use crate::stream::{Stream, sample_checks};

/// Stack of a measuring thread. It is locked in memory, so it is small; the loop needs some 4 KiB.
const STACK_BYTES: usize = 128 * 1_024;

/// Time from the opening of the gate to the first deadline, at least: the threads must be asleep
/// by then.
const HEAD_START: Nanos = Nanos::from_micros(500);

/// The same where the threads rehearse first: they fault their memory in, one after the other
/// where they share CPUs.
const REHEARSAL: Nanos = Nanos::from_millis(20);

/// Returns what the frame is to hold while `spec` is measured.
pub fn setup(spec: &RunSpec) -> Setup {
    Setup {
        cpus: spec.cpus.clone(),
        priority: spec.priority,
        duration_ns: spec.duration_ns,
        dma_latency_ns: spec.dma_latency_ns,
        mlock: spec.mlock,
        housekeeping: spec.housekeeping.clone(),
        loads: spec.loads.clone(),
        options: BTreeMap::from([("threads".to_owned(), spec.threads.to_string())]),
    }
}

/// Returns the specification as it was carried out: what was refused and not insisted on is off.
pub fn carried_out(spec: &RunSpec, setup: &Setup) -> RunSpec {
    RunSpec {
        dma_latency_ns: setup.dma_latency_ns,
        mlock: setup.mlock,
        ..spec.clone()
    }
}

/// Measures as `spec` says, which is what the frame was set up for.
///
/// # Errors
///
/// Fails when the machine cannot do what is asked, or when a sleep fails.
pub fn run(spec: &RunSpec, pacing: Pacing, frame: &mut Frame<'_>) -> Result<Found, MeasureError> {
    let targets = targets(spec)?;
    let spec = Arc::new(spec.clone());
    let shared = Arc::<Shared>::default();
    let psquare = frame.keep().psquare;
    let (crew, followers) = assemble(&spec, &targets, psquare, &shared, frame.original_cpus())?;
    let pinned_to: Vec<Option<u32>> = (0..spec.threads).map(|n| spec.cpu_of(n)).collect();
    let tids = crew.tids();
    let ends = crew.ends();
    let rehearse = !frame.renew_lock()?;
    let head_start = if rehearse { REHEARSAL } else { HEAD_START } - spec.interval_ns;
    let soon = clock::read(spec.clock) + head_start;
    let origin = pacing.begin.origin(soon, spec.interval_ns);
    crew.open(Start {
        origin,
        rehearse,
        stagger: pacing.stagger,
        after_threshold: pacing.after_threshold,
    });
    let (out, messages) = channel();
    let recorder = Recorder {
        spec: Arc::clone(&spec),
        followers,
        crew,
        total: psquare.then(PSquare::default),
        shared,
        stop: frame.stop_flag(),
        out,
        origin,
        progress_every: frame.progress_every(),
        pacing,
    };
    let recorder = Builder::new()
        .name("recorder".to_owned())
        .spawn(move || {
            // The caller may be a real-time thread, and with that policy this one would compete
            // with those that measure. If the policy cannot be read it cannot be left either.
            drop(sched::leave_real_time());
            recorder.run()
        })
        .map_err(MeasureError::Spawn)?;
    ends.tell(recorder.thread().clone());
    frame.begun(&tids, spec.clock, origin);
    for message in messages {
        match message {
            Message::Event(event) => frame.relay(event),
            Message::Samples(thread, samples) => frame.samples(thread, &samples),
            Message::Tick => frame.tick(),
        }
    }
    let recorded = recorder
        .join()
        .map_err(|_| MeasureError::Defect { thread: 0 })?;
    frame.was_watched(spec.clock, recorded.watch, recorded.duration);
    conclude(&spec, &pinned_to, recorded)
}

/// Starts the threads; they wait then.
fn assemble(
    spec: &Arc<RunSpec>,
    targets: &[PrecisionTarget],
    psquare: bool,
    shared: &Arc<Shared>,
    original: &CpuSet,
) -> Result<(Crew<Slept>, Vec<Follower>), MeasureError> {
    let keep = Keep {
        thresholds_ns: spec.deadlines_ns.iter().map(|d| d.get()).collect(),
        psquare,
    };
    let mut works = Vec::new();
    let mut followers = Vec::new();
    for index in 0..spec.threads {
        let role = Role {
            index,
            pinned_to: spec.cpu_of(index),
            interval: spec.interval_of(index),
            spec: Arc::clone(spec),
            shared: Arc::clone(shared),
        };
        let post = Post {
            name: format!("measure/{index}"),
            policy: spec.policy_of(index),
            cpus: match (spec.pin, role.pinned_to) {
                (Pin::Each, Some(cpu)) => std::iter::once(cpu).collect(),
                (Pin::None, _) => original.clone(),
                (Pin::Each | Pin::Set, _) => spec.cpus.clone(),
            },
        };
        let rule = (!targets.is_empty()).then(|| StopRule::new(targets.to_vec()));
        let (tap, stream) = Stream::pair_untouched(index, &post, role.interval, &keep);
        followers.push(Follower::new(stream, rule, spec.on_threshold_ns));
        works.push((post, move || worker::prepare(role, tap)));
    }
    Ok((Crew::prepare(STACK_BYTES, works)?, followers))
}

/// Turns a finished recording into what was found.
fn conclude(
    spec: &RunSpec,
    pinned_to: &[Option<u32>],
    recorded: Recorded,
) -> Result<Found, MeasureError> {
    let mut found = Found {
        ended: recorded.ended,
        faults_spoil: true,
        pin: Some(spec.pin),
        threshold: recorded.hit,
        precision: recorded.precision,
        ..Found::default()
    };
    let threads = recorded.followers.iter().zip(recorded.threads?);
    for ((thread, (follower, (slept, mut report))), cpu) in (0..).zip(threads).zip(pinned_to) {
        slept.result.map_err(|errno| MeasureError::Sleep {
            thread,
            source: errno.into(),
        })?;
        report.narrow_to(slept.usage);
        let mut series = follower.stream.series(None);
        series.cpu = *cpu;
        series.policy = Some(report.policy().to_string());
        found.series.push(series);
        found.store(thread.to_string(), follower.stream.tally());
        found.threads.push(report);
    }
    let parts: Vec<&Accumulator> = recorded
        .followers
        .iter()
        .map(|f| f.stream.tally())
        .collect();
    found.total = total(&parts, &found.series, recorded.total.as_ref());
    found.checks = sample_checks(&found.series);
    Ok(found)
}

/// Returns the figures of all threads together. `psquare` has seen all samples, block by block in
/// the order in which the recorder took them.
fn total(parts: &[&Accumulator], series: &[Series], psquare: Option<&PSquare>) -> Series {
    let mut total = figures::total(parts);
    if let Some(psquare) = psquare {
        figures::add_psquare(&mut total, psquare, parts);
    }
    let sum = |count: fn(&Series) -> Option<u64>| series.iter().map(count).sum();
    total.overruns = sum(|part| part.overruns);
    total.lost = sum(|part| part.lost);
    total.warm_up_samples = sum(|part| part.warm_up_samples);
    total.clamped = sum(|part| part.clamped);
    for part in series {
        add_misses(&mut total.misses, &part.misses);
    }
    total
}

/// Adds one thread's misses; all threads have the deadlines of one specification.
fn add_misses(total: &mut Vec<Misses>, part: &[Misses]) {
    if total.is_empty() {
        total.extend_from_slice(part);
        return;
    }
    for (sum, misses) in total.iter_mut().zip(part) {
        sum.count += misses.count;
        sum.overruns += misses.overruns;
        sum.effective = worst(sum.effective, misses.effective);
    }
}

fn targets(spec: &RunSpec) -> Result<Vec<PrecisionTarget>, MeasureError> {
    spec.until
        .iter()
        .map(|text| {
            text.parse()
                .map_err(|err: punctual_stats::ParseTargetError| MeasureError::Spec {
                    option: format!("--until {text}"),
                    reason: err.to_string(),
                })
        })
        .collect()
}
