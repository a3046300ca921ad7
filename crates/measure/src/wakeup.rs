// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The wake-up instrument: how late does this machine wake a thread that sleeps to a deadline?
//!
//! [`run`] starts the threads, verifies them, lets them measure, and returns figures, checks and
//! evidence. It changes nothing that outlives it: policies and affinities are those of its own
//! threads, `/dev/cpu_dma_latency` is held by a descriptor, and the calling thread's affinity is
//! put back.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};

use punctual_model::{
    Check, Ended, Event, LoadRecord, Nanos, PrecisionState, RunSpec, Series, ThresholdHit,
};
use punctual_stats::{LatencyHistogram, PSquare, PrecisionTarget};
use punctual_sys::thread::{Tid, allow_interrupts};
use punctual_sys::{SysRoot, clock, sched};

use crate::checks::Locking;
use crate::conclude::{Surroundings, conclude};
use crate::conditions::Conditions;
use crate::cyclic::Shared;
use crate::error::MeasureError;
use crate::hold::{AffinityGuard, hold_idle_bound, lock_memory};
use crate::loads::LoadProcess;
use crate::pacing::Pacing;
use crate::recorder::{Message, Recorder};
use crate::sink::{Sink, SinkError};
use crate::standing::loads_check;
use crate::team::Team;
use crate::throttling;
use crate::worker::Start;

/// Time from the opening of the gate to the first deadline, at least: the threads must be asleep
/// by then.
const HEAD_START: Nanos = Nanos::from_micros(500);

/// The same where the threads rehearse first: they fault their memory in, one after the other
/// where they share CPUs.
const REHEARSAL: Nanos = Nanos::from_millis(20);

/// How a run is done beyond its specification.
#[derive(Debug)]
pub struct Options {
    /// Identity of the run, for its events.
    pub id: String,
    /// Set by whoever wants the run to end.
    pub stop: Arc<AtomicBool>,
    /// Whether a refused memory lock is an error, and not only told.
    pub insist_on_mlock: bool,
    /// Whether a refused bound on idle latency is an error, and not only told.
    pub insist_on_dma_latency: bool,
    /// Time between progress events.
    pub progress_every: Nanos,
    /// Whether quantiles are estimated by P-square too.
    pub psquare: bool,
    /// How it starts, is looked at, and ends.
    pub pacing: Pacing,
}

/// What a run found.
#[derive(Debug)]
pub struct Outcome {
    /// The specification as carried out: what was refused and not insisted on is off.
    pub spec: RunSpec,
    /// One entry a thread.
    pub series: Vec<Series>,
    /// All threads together.
    pub total: Series,
    /// One histogram a thread.
    pub histograms: Vec<LatencyHistogram>,
    /// Whether the run may be believed.
    pub checks: Vec<Check>,
    /// Why it ended.
    pub ended: Ended,
    /// How long it took.
    pub duration: Nanos,
    /// The sample above the threshold.
    pub hit: Option<ThresholdHit>,
    /// State of the precision targets.
    pub precision: Vec<PrecisionState>,
    /// What each load did.
    pub loads: Vec<LoadRecord>,
}

/// Measures as `spec` says, beside `load`, and tells `sink` how it goes.
///
/// # Errors
///
/// Fails when the machine cannot do what is asked, when a sleep fails, or when `sink` does.
pub fn run(
    sys: &SysRoot,
    spec: &RunSpec,
    options: &Options,
    mut load: Option<&mut LoadProcess>,
    sink: &mut dyn Sink,
) -> Result<Outcome, MeasureError> {
    let targets = targets(spec)?;
    allow_interrupts().map_err(MeasureError::Spawn)?;
    let original = sched::affinity().map_err(|source| MeasureError::ReadBack { source })?;
    let mut spec = spec.clone();
    let (held, idle_bound) =
        hold_idle_bound(sys, &mut spec.dma_latency_ns, options.insist_on_dma_latency)?;
    let before = Conditions::read(sys, &spec.cpus);
    let _back = AffinityGuard::move_to(&spec.housekeeping, &original)?;
    let shared = Arc::new(Shared::default());
    let mut team = Team::assemble(&spec, &original, &targets, options.psquare, &shared)?;
    let (lock, locking) = match lock_memory(&mut spec.mlock, options.insist_on_mlock) {
        Ok(locked) => locked,
        Err(err) => {
            team.dismiss();
            return Err(err);
        }
    };
    let spec = Arc::new(spec);

    let tids: Vec<Tid> = team.ready.iter().map(|r| r.tid).collect();
    let (out, messages) = channel();
    let rehearse = !matches!(locking, Locking::Locked);
    let head_start = if rehearse { REHEARSAL } else { HEAD_START } - spec.interval_ns;
    let pacing = options.pacing;
    let soon = clock::read(spec.clock) + head_start;
    let origin = pacing.begin.origin(soon, spec.interval_ns);
    let recorder = Recorder {
        spec: Arc::clone(&spec),
        sources: std::mem::take(&mut team.sources),
        total: options.psquare.then(PSquare::default),
        shared: Arc::clone(&shared),
        stop: Arc::clone(&options.stop),
        out,
        origin,
        progress_every: options.progress_every,
        pacing,
    };
    let start = Start {
        origin,
        rehearse,
        stagger: pacing.stagger,
        after_threshold: pacing.after_threshold,
    };
    let recorder = team.go(start, recorder)?;
    // After the start, so that it costs no start-up time.
    let foreign_before = throttling::foreign_rt_ticks(sys, &tids);
    let started = Event::Started {
        id: options.id.clone(),
        threads: spec.threads,
    };
    let listened = sink
        .event(&started)
        .and_then(|()| sink.begun(&tids, origin))
        .and_then(|()| listen(&messages, load.as_deref_mut(), sink));
    if listened.is_err() {
        options.stop.store(true, Ordering::Relaxed);
    }
    let recorded = recorder
        .join()
        .map_err(|_| MeasureError::Defect { thread: 0 })?;
    let after = Conditions::read(sys, &spec.cpus);
    let foreign = throttling::foreign_rt_ticks(sys, &tids);
    drop((lock, held));
    listened.map_err(MeasureError::Sink)?;
    let around = Surroundings {
        before,
        after,
        locking,
        idle_bound,
        foreign_rt_ticks: foreign.saturating_sub(foreign_before),
        loads: load.map(LoadProcess::evidence).unwrap_or_default(),
    };
    conclude(&spec, team, recorded, &around)
}

/// Passes what the recorder says on to the listener, until the recorder is done.
fn listen(
    messages: &Receiver<Message>,
    mut load: Option<&mut LoadProcess>,
    sink: &mut dyn Sink,
) -> Result<(), SinkError> {
    for message in messages {
        match message {
            Message::Event(mut event) => {
                if let (Event::Progress(progress), Some(load)) = (&mut event, load.as_deref_mut()) {
                    progress.loads = load.progress();
                    progress.checks.push(loads_check(&progress.loads));
                }
                sink.event(&event)?;
            }
            Message::Samples(thread, samples) => sink.samples(thread, &samples)?,
            Message::Tick => sink.tick()?,
        }
    }
    Ok(())
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
