// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! One measuring thread: made ready, verified, and only then let loose.

use std::io;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::thread::{Builder, JoinHandle, Thread};

use punctual_model::{CpuSet, Nanos, Policy, RunSpec, Sample, TimerKind};
use punctual_sys::thread::{self, Tid};
use punctual_sys::timer::{Errno, Futex, Nanosleep, Posix, Relative, Sleeper, Timerfd, Uring};
use punctual_sys::{clock, sched};
use rtrb::Producer;

use crate::cyclic::{self, Asked, Counts, Cycle, Shared};
use crate::error::MeasureError;

/// Stack of a measuring thread. It is locked in memory, so it is small; the loop needs some 4 KiB.
const STACK_BYTES: usize = 128 * 1_024;

/// What all threads wait at until every one of them is ready.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    state: Mutex<GateState>,
    changed: Condvar,
}

#[derive(Clone, Copy, Debug, Default)]
enum GateState {
    #[default]
    Closed,
    Open(Start),
    CalledOff,
}

/// How the threads start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Start {
    /// Time zero on the run's clock.
    pub(crate) origin: Nanos,
    /// Whether the threads touch what they will need first, since it is not locked in memory.
    pub(crate) rehearse: bool,
    /// How much later than the thread before it each thread starts.
    pub(crate) stagger: Nanos,
    /// Samples to take after one was above the threshold.
    pub(crate) after_threshold: u32,
}

impl Gate {
    /// Lets the threads measure.
    pub(crate) fn open(&self, start: Start) {
        self.set(GateState::Open(start));
    }

    /// Sends the threads home.
    pub(crate) fn call_off(&self) {
        self.set(GateState::CalledOff);
    }

    fn set(&self, state: GateState) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = state;
        self.changed.notify_all();
    }

    /// Waits; returns how to start, or nothing when the run is called off.
    pub(crate) fn wait(&self) -> Option<Start> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match *state {
                GateState::Open(start) => return Some(start),
                GateState::CalledOff => return None,
                GateState::Closed => {
                    state = self
                        .changed
                        .wait(state)
                        .unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }
}

/// One thread's part of a run.
#[derive(Clone, Debug)]
pub(crate) struct Role {
    /// Number of the thread, from 0.
    pub(crate) index: u32,
    /// Policy to run with.
    pub(crate) policy: Policy,
    /// CPUs to bind to.
    pub(crate) cpus: CpuSet,
    /// The one CPU, if it is one.
    pub(crate) pinned_to: Option<u32>,
    /// Time between deadlines.
    pub(crate) interval: Nanos,
    /// The run's specification.
    pub(crate) spec: Arc<RunSpec>,
    /// Where all threads start from.
    pub(crate) gate: Arc<Gate>,
    /// What all threads share while they measure.
    pub(crate) shared: Arc<Shared>,
    /// What this thread counts.
    pub(crate) counts: Arc<Counts>,
}

/// What the kernel says of a thread that is ready.
#[derive(Clone, Debug)]
pub(crate) struct Ready {
    /// Number of the thread, from 0.
    pub(crate) index: u32,
    /// The kernel's number of it.
    pub(crate) tid: Tid,
    /// Policy as read back.
    pub(crate) policy: Policy,
    /// Affinity as read back.
    pub(crate) affinity: CpuSet,
    /// How much later than asked the kernel may wake the thread.
    pub(crate) timer_slack: Option<Nanos>,
}

/// What a thread reports when it is done.
#[derive(Debug)]
pub(crate) struct Finished {
    /// Policy as read back at the end.
    pub(crate) policy: io::Result<Policy>,
    /// Affinity as read back at the end.
    pub(crate) affinity: io::Result<CpuSet>,
    /// Page faults during the loop.
    pub(crate) faults: u64,
    /// CPU time of the loop.
    pub(crate) cpu_time: Nanos,
    /// What the kernel refused, if the loop ended by that.
    pub(crate) failure: Option<Errno>,
}

/// Starts a measuring thread. It reports through `ready`, then waits at the gate; when it is done
/// it wakes `recorder`.
pub(crate) fn spawn(
    role: Role,
    ring: Producer<Sample>,
    ready: Sender<Result<Ready, MeasureError>>,
    recorder: Arc<OnceLock<Thread>>,
) -> Result<JoinHandle<Option<Finished>>, MeasureError> {
    Builder::new()
        .name(format!("measure/{}", role.index))
        .stack_size(STACK_BYTES)
        .spawn(move || {
            let finished = with_timer(&role, ring, &ready);
            if let Some(recorder) = recorder.get() {
                recorder.unpark();
            }
            finished
        })
        .map_err(MeasureError::Spawn)
}

type ReadyResult = Result<Ready, MeasureError>;

/// Picks the sleeper's type, so that the loop is compiled for each and calls nothing indirectly.
fn with_timer(
    role: &Role,
    ring: Producer<Sample>,
    ready: &Sender<ReadyResult>,
) -> Option<Finished> {
    let clock = role.spec.clock;
    match role.spec.timer {
        TimerKind::Nanosleep => measure(role, ring, ready, Ok(Nanosleep::new(clock))),
        TimerKind::Relative => measure(role, ring, ready, Ok(Relative::new(clock, role.interval))),
        TimerKind::Timerfd => measure(role, ring, ready, Timerfd::new(clock)),
        TimerKind::Posix => measure(role, ring, ready, Posix::new(clock)),
        TimerKind::Uring => measure(role, ring, ready, Uring::new(clock)),
        TimerKind::Futex => measure(role, ring, ready, Futex::new(clock)),
    }
}

fn measure<S: Sleeper>(
    role: &Role,
    mut ring: Producer<Sample>,
    ready: &Sender<ReadyResult>,
    sleeper: Result<S, Errno>,
) -> Option<Finished> {
    let prepared = sleeper
        .map_err(|errno| MeasureError::Timer {
            timer: role.spec.timer,
            clock: role.spec.clock,
            source: errno.into(),
        })
        .and_then(|sleeper| {
            bind(role.index, role.policy, &role.cpus).map(|facts| (sleeper, facts))
        });
    touch(&mut ring);
    let mut sleeper = match prepared {
        Ok((sleeper, facts)) => {
            // The coordinator listens until every thread has answered.
            ready.send(Ok(facts)).ok()?;
            sleeper
        }
        Err(err) => {
            ready.send(Err(err)).ok()?;
            return None;
        }
    };
    let start = role.gate.wait()?;
    let cycle = cycle(role, start);
    if start.rehearse {
        rehearse(role, &cycle, &mut sleeper);
    }
    let before = thread::usage();
    let outcome = cyclic::run(&cycle, &mut sleeper, &mut ring, &role.shared, &role.counts);
    let after = thread::usage();
    let policy = sched::policy_of(0);
    // To end takes the kernel some hundred microseconds, which are no latency of the threads below this one
    // on its CPU that wait for their last deadline. To be an ordinary thread takes no privilege.
    if policy.as_ref().is_ok_and(|policy| policy.is_real_time()) {
        drop(sched::set_policy(Policy::Other { nice: 0 }));
    }
    let faults = |usage: &thread::Usage| usage.minor_faults + usage.major_faults;
    Some(Finished {
        policy,
        affinity: sched::affinity(),
        faults: faults(&after) - faults(&before),
        cpu_time: after.cpu_time - before.cpu_time,
        failure: outcome.err(),
    })
}

/// Goes through the loop once, so that its code and its stack are in memory before the
/// first deadline. The deadlines are over, so that no timer sleeps; a relative sleep does, once.
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
    // A timer that fails here fails in the measurement too, where it is reported.
    let _ = cyclic::run(&past, sleeper, &mut own, &role.shared, &Counts::default());
}

/// Binds the thread, sets its policy, and reads both back.
pub(crate) fn bind(index: u32, policy: Policy, cpus: &CpuSet) -> ReadyResult {
    sched::set_affinity(cpus).map_err(|source| MeasureError::Affinity {
        cpus: cpus.clone(),
        source,
    })?;
    sched::set_policy(policy).map_err(|source| MeasureError::Policy { policy, source })?;
    let read_back = |source| MeasureError::ReadBack { source };
    Ok(Ready {
        index,
        tid: Tid::current(),
        policy: sched::policy_of(0).map_err(read_back)?,
        affinity: sched::affinity().map_err(read_back)?,
        timer_slack: sched::timer_slack(),
    })
}

/// Makes the ring's memory present: locking does that too, but it may be off or refused, and then
/// every page would fault in the loop. Done here, so that it lies near this thread's CPU.
fn touch(ring: &mut Producer<Sample>) {
    // What is written is not committed, so nobody reads it.
    drop(ring.write_chunk(ring.slots()));
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
            Asked::Span
        } else {
            Asked::Deadline
        },
    }
}
