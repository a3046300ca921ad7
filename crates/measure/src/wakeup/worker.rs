// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What one thread does: made ready before all start, then the loop.

use std::any::Any;
use std::sync::Arc;

use punctual_model::{Nanos, RunSpec, TimerKind};
use punctual_sys::clock;
use punctual_sys::thread::{self, Usage};
use punctual_sys::timer::{Errno, Futex, Nanosleep, Posix, Relative, Sleeper, Timerfd, Uring};

use crate::cyclic::{self, Counts, Cycle, Shared, WakeBy};
use crate::error::MeasureError;
use crate::gate::Start;
use crate::stream::Tap;

/// One thread's part of a run.
#[derive(Clone, Debug)]
pub(super) struct Role {
    /// Number of the thread, from 0.
    pub(super) index: u32,
    /// The one CPU, if it is one.
    pub(super) pinned_to: Option<u32>,
    /// Time between deadlines.
    pub(super) interval: Nanos,
    /// The run's specification.
    pub(super) spec: Arc<RunSpec>,
    /// What all threads share while they measure.
    pub(super) shared: Arc<Shared>,
}

/// What a thread leaves.
#[derive(Debug)]
pub(super) struct Slept {
    /// What the kernel refused, if the loop ended by that.
    pub(super) result: Result<(), Errno>,
    /// What the loop used.
    pub(super) usage: Usage,
}

/// The loop with all that it needs. Its timer outlives it.
pub(super) type Work = Box<dyn FnOnce(Start) -> (Slept, Box<dyn Any>)>;

/// Makes the thread's timer and memory ready. To be called on that thread: the memory is near its CPU then.
///
/// Picks the sleeper's type, so that the loop is compiled for each and calls nothing indirectly.
pub(super) fn prepare(role: Role, tap: Tap) -> Result<Work, MeasureError> {
    let clock = role.spec.clock;
    match role.spec.timer {
        TimerKind::Nanosleep => with(role, tap, Ok(Nanosleep::new(clock))),
        TimerKind::Relative => {
            let sleeper = Relative::new(clock, role.interval);
            with(role, tap, Ok(sleeper))
        }
        TimerKind::Timerfd => with(role, tap, Timerfd::new(clock)),
        TimerKind::Posix => with(role, tap, Posix::new(clock)),
        TimerKind::Uring => with(role, tap, Uring::new(clock)),
        TimerKind::Futex => with(role, tap, Futex::new(clock)),
    }
}

fn with<S: Sleeper + 'static>(
    role: Role,
    mut tap: Tap,
    sleeper: Result<S, Errno>,
) -> Result<Work, MeasureError> {
    let mut sleeper = sleeper.map_err(|errno| MeasureError::Timer {
        timer: role.spec.timer,
        clock: role.spec.clock,
        source: errno.into(),
    })?;
    tap.touch();
    Ok(Box::new(move |start| {
        let cycle = cycle(&role, start);
        if start.rehearse {
            rehearse(&role, &cycle, &mut sleeper);
        }
        let (ring, counts) = tap.parts();
        let before = thread::usage();
        let result = cyclic::run(&cycle, &mut sleeper, ring, &role.shared, counts);
        let usage = thread::usage().since(&before);
        (Slept { result, usage }, Box::new((sleeper, tap)))
    }))
}

/// Goes through the loop once, so that its code and its stack are in memory before the
/// first deadline. The deadlines are over, so that no timer sleeps; a relative sleep of any length would.
fn rehearse<S: Sleeper>(role: &Role, cycle: &Cycle, sleeper: &mut S) {
    let past = Cycle {
        origin: clock::read(cycle.clock) - cycle.interval - Nanos::from_millis(1),
        samples: 1,
        record_from: Nanos::ZERO,
        end: Nanos::MAX,
        threshold: Nanos::MAX,
        ..*cycle
    };
    let (mut own, _taken) = rtrb::RingBuffer::new(1);
    let (shared, counts) = (&role.shared, Counts::default());
    // A timer that fails here fails in the measurement too, where it is reported.
    let _ = match role.spec.timer {
        TimerKind::Relative => {
            let mut none = Relative::new(cycle.clock, Nanos::ZERO);
            cyclic::run(&past, &mut none, &mut own, shared, &counts)
        }
        _ => cyclic::run(&past, sleeper, &mut own, shared, &counts),
    };
}

fn cycle(role: &Role, start: Start) -> Cycle {
    let spec = &role.spec;
    let origin = start.origin + start.stagger.times(role.index.into());
    let record_from = origin + spec.warm_up_ns;
    Cycle {
        clock: spec.clock,
        origin,
        interval: role.interval,
        record_from,
        end: spec
            .duration_ns
            .map_or(Nanos::MAX, |duration| record_from + duration),
        samples: spec.samples.unwrap_or(u64::MAX),
        threshold: spec.on_threshold_ns.unwrap_or(Nanos::MAX),
        after_threshold: start.after_threshold,
        pinned_to: role.pinned_to,
        asked: if spec.timer == TimerKind::Relative {
            WakeBy::Span
        } else {
            WakeBy::Deadline
        },
    }
}
