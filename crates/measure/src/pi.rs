// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Priority inversion: how long a thread waits for a lock that a less urgent one holds, while a third
//! thread in between has work to do.
//!
//! Three FIFO threads share a CPU (L. Sha, R. Rajkumar, J. P. Lehoczky, *Priority Inheritance Protocols*,
//! IEEE Transactions on Computers 39(9), 1990). In each cycle, from its beginning:
//!
//! | time | thread | does |
//! |---|---|---|
//! | 0 | low | locks, works for `hold`, unlocks |
//! | `hold`/4 | high | is released, locks, unlocks |
//! | `hold`/2 | mid | spins for half of `spin` or for all of it; needs no lock |
//!
//! Without a protocol mid keeps low from going on, and so high from its lock, for as long as mid likes.
//! With priority inheritance, or a ceiling, high waits for low's work alone. The protocols, and the
//! two lengths of mid's work, take turns from cycle to cycle.
//!
//! That mid came first is seen by the order of events, not by how long anything took: a slow or
//! disturbed machine changes the latter.

mod cycle;
mod judge;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use punctual_model::{Bytes, Finding, Nanos, Policy, Progress, SeriesProgress, choices};
use punctual_sys::mutex::{Protocol as Raw, ProtocolMutex};
use punctual_sys::timer::Errno;

use self::cycle::{Cycles, Work};
use self::judge::{Case, Judge};
use crate::budget::Budgets;
use crate::crew::{Crew, Post};
use crate::error::MeasureError;
use crate::frame::{Found, Frame};
use crate::free_memory;

/// What of the real-time budget the threads may use, so that the kernel never throttles them.
const SAFE_SHARE: f64 = 0.6;

/// What three threads note of a cycle, and what is computed from that at the end.
const BYTES_A_CYCLE: Bytes = Bytes::new(80);

/// What a mutex does about the priority of the thread that holds it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Protocol {
    /// `PTHREAD_PRIO_NONE`.
    None,
    /// `PTHREAD_PRIO_INHERIT`.
    Inherit,
    /// `PTHREAD_PRIO_PROTECT`, with the priority of the most urgent thread.
    Protect,
}

choices!(Protocol { None => "none", Inherit => "inherit", Protect => "protect" });

/// What to measure.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Pi {
    /// The protocols, at least one.
    pub protocols: Vec<Protocol>,
    /// Whether a protocol that the machine lacks is an error, and not only told.
    pub insist: bool,
    /// Time between the beginnings of cycles.
    pub interval: Nanos,
    /// What low works while it holds the lock.
    pub hold: Nanos,
    /// What mid works in every second cycle of a protocol; half of it in the others.
    pub spin: Nanos,
}

impl Pi {
    /// Returns the priorities of high, mid and low for that of high; `None` unless that is FIFO with
    /// two priorities below it.
    pub fn priorities(high: Policy) -> Option<[u8; 3]> {
        match high {
            Policy::Fifo { priority } if priority > 2 => {
                Some([priority, priority - 1, priority - 2])
            }
            _ => None,
        }
    }
}

/// Measures on the one CPU of the frame's set-up.
///
/// # Errors
///
/// [`MeasureError::Unsupported`] if a protocol is missing and insisted on; [`MeasureError::Spec`] if the
/// threads would use more than the kernel's budget; else as a thread cannot be started or a lock or
/// a sleep fails.
pub fn run(pi: &Pi, frame: &mut Frame<'_>) -> Result<Found, MeasureError> {
    let setup = frame.setup().clone();
    let priorities = Pi::priorities(setup.priority);
    let (Some([high, mid, low]), Some(cpu)) = (priorities, setup.cpus.iter().next()) else {
        return Err(MeasureError::Spec {
            option: format!("--priority {}", setup.priority),
            reason: "must be f:3 or above: the three FIFO threads have consecutive priorities"
                .to_owned(),
        });
    };
    stay_below_the_budget(pi, frame)?;
    let duration = setup.duration_ns.unwrap_or(Nanos::from_secs(30));
    let cycles = duration.get() / pi.interval.get();
    free_memory::check(
        frame.sys(),
        &format!("--duration {duration}"),
        BYTES_A_CYCLE.times(cycles),
    )?;
    let (locks, missing) = locks(pi, high)?;
    let keep = frame.keep();
    let cases: Vec<Case> = locks
        .iter()
        .flat_map(|(protocol, _)| [false, true].map(|full| Case::new(*protocol, full, &keep)))
        .collect();
    let cycles = Cycles {
        interval: pi.interval,
        hold: pi.hold,
        spin: pi.spin,
        count: cycles,
        origin: Arc::<AtomicU64>::default(),
        stop: frame.stop_flag(),
        done: Arc::<AtomicU64>::default(),
        locks: locks.into_iter().map(|(_, lock)| lock).collect(),
    };
    let works = [
        ("low", low, Work::Low),
        ("mid", mid, Work::Mid),
        ("high", high, Work::High),
    ]
    .map(|(name, priority, work)| {
        let post = Post::on(format!("pi/{name}"), Policy::Fifo { priority }, cpu);
        let own = cycles.clone();
        let mut log = cycles.log();
        (post, move || {
            let end = own.run(work, &mut log);
            (log, end)
        })
    });
    let crew = Crew::assemble(works.into())?;
    frame.start_at(&crew, |origin| {
        cycles.origin.store(origin.get(), Ordering::Release);
    })?;
    frame.attend(&crew, || Progress {
        series: vec![SeriesProgress {
            cpu: Some(cpu),
            policy: setup.priority.to_string(),
            interval_ns: pi.interval,
            count: cycles.done.load(Ordering::Relaxed),
            ..SeriesProgress::default()
        }],
        ..Progress::default()
    });
    let mut logs = Vec::new();
    let mut threads = Vec::new();
    for (name, ((log, end), report)) in ["low", "mid", "high"].iter().zip(crew.join()?) {
        end.map_err(|errno: Errno| MeasureError::Wake {
            thread: (*name).to_owned(),
            source: errno.into(),
        })?;
        logs.push(log);
        threads.push(report);
    }
    let judge = Judge::new(&cycles, cases, setup.priority, cpu);
    let mut found = judge.conclude(&logs);
    found.findings.extend(missing);
    found.ended = frame.ended();
    found.threads = threads;
    found.faults_spoil = true;
    Ok(found)
}

/// Refuses work that the kernel might throttle: it would stop all three threads, and with them what is
/// to be seen.
fn stay_below_the_budget(pi: &Pi, frame: &Frame<'_>) -> Result<(), MeasureError> {
    let used = (pi.hold + pi.spin).as_secs_f64() / pi.interval.as_secs_f64();
    let budget = Budgets::read(frame.sys());
    let share = budget.tightest().map_or(1.0, |budget| budget.share());
    // Without any budget there is no real-time thread to be throttled, and that is said where the first one is made.
    if used <= SAFE_SHARE * share || share <= 0.0 {
        return Ok(());
    }
    Err(MeasureError::Spec {
        option: format!("--spin {}", pi.spin),
        reason: format!(
            "with --hold {} in each --interval {} the threads may use {:.0} % of the CPU; more \
             than {:.0} % would be throttled here ({})",
            pi.hold,
            pi.interval,
            100.0 * used,
            100.0 * SAFE_SHARE * share,
            budget.describe()
        ),
    })
}

type Locks = Vec<(Protocol, Arc<ProtocolMutex>)>;

/// Makes a mutex of each protocol, and says which the machine lacks.
fn locks(pi: &Pi, ceiling: u8) -> Result<(Locks, Vec<Finding>), MeasureError> {
    let (mut locks, mut missing) = (Vec::new(), Vec::new());
    for protocol in pi.protocols.iter().copied() {
        let raw = match protocol {
            Protocol::None => Raw::None,
            Protocol::Inherit => Raw::Inherit,
            Protocol::Protect => Raw::Protect { ceiling },
        };
        match ProtocolMutex::new(raw) {
            Ok(mutex) => locks.push((protocol, Arc::new(mutex))),
            Err(err) if pi.insist || locks.is_empty() && protocol == Protocol::None => {
                return Err(MeasureError::Unsupported {
                    what: format!(
                        "this machine has no mutexes with protocol {}: {err}",
                        protocol.name()
                    ),
                    hint: Some("leave it out with --protocol".to_owned()),
                });
            }
            Err(err) => missing.push(Finding::observed(
                "protocol-missing",
                format!("{} was not measured: {err}", protocol.name()),
            )),
        }
    }
    Ok((locks, missing))
}
