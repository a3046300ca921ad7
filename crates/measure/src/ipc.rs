// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Wake-ups between threads: how long it takes from the moment before one thread wakes another to the
//! moment when that one runs.
//!
//! Each way, on one CPU and across two, has a sender and a receiver of its own. All are there from the
//! beginning; they take turns, so that a change of the machine meets them alike. The sender sleeps to
//! a deadline, reads the clock, wakes; the receiver reads the same clock as soon as it runs. A sender
//! whose receiver is not back yet does not wake it: that deadline is an overrun.

mod turns;
mod work;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use punctual_model::{Check, CpuId, Finding, Nanos, Policy, Progress, SeriesProgress, choices};
use punctual_stats::float;
use punctual_sys::wake;
use punctual_sys::wake::{Condvar, Eventfd, Futex, Path, PiMutex, Pipe, Queue, Signal};

use self::turns::Turns;
use self::work::{Counted, Pair, Role};
use crate::crew::{Crew, Post, ThreadReport};
use crate::error::MeasureError;
use crate::figures;
use crate::frame::{Found, Frame};
use crate::stream::{LOOK_EVERY, Stream, sample_checks};

/// Share of the wake-ups before which a receiver must have slept.
const MOST: f64 = 0.99;

/// A way in which one thread wakes another.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Way {
    /// `futex(2)`.
    Futex,
    /// `pipe(2)`.
    Pipe,
    /// `eventfd(2)`.
    Eventfd,
    /// A POSIX message queue.
    Queue,
    /// A signal for which the receiver waits.
    Signal,
    /// A condition variable of the C library.
    Condvar,
    /// A mutex with priority inheritance that is handed over.
    PiMutex,
}

choices!(Way {
    Futex => "futex",
    Pipe => "pipe",
    Eventfd => "eventfd",
    Queue => "mqueue",
    Signal => "signal",
    Condvar => "condvar",
    PiMutex => "pi-mutex",
});

/// Where sender and receiver run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Placement {
    /// Both on the receiver's CPU.
    Same,
    /// Each on its own.
    Cross,
}

choices!(Placement { Same => "same", Cross => "cross" });

/// What to measure.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Ipc {
    /// The ways, at least one.
    pub ways: Vec<Way>,
    /// Whether a way that the machine lacks is an error, and not only told.
    pub insist: bool,
    /// The placements, at least one.
    pub placements: Vec<Placement>,
    /// CPU of the sender across CPUs.
    pub sender: CpuId,
    /// CPU of the receiver, and of both on one CPU.
    pub receiver: CpuId,
    /// Time between the wake-ups of a pair.
    pub interval: Nanos,
}

impl Ipc {
    /// Returns the shortest time in which each pair has its turn: in less some have no sample.
    pub fn shortest(&self) -> Nanos {
        Turns::new(self.ways.len() * self.placements.len(), self.interval).until_all()
    }

    /// Returns the policy that a sender runs with: one priority below the receiver's, which then runs
    /// at once on the same CPU too. `None` if there is no lower one.
    pub fn sender_policy(receiver: Policy) -> Option<Policy> {
        Some(match receiver {
            Policy::Fifo { priority } => Policy::Fifo {
                priority: priority.checked_sub(1).filter(|p| *p > 0)?,
            },
            Policy::RoundRobin { priority } => Policy::RoundRobin {
                priority: priority.checked_sub(1).filter(|p| *p > 0)?,
            },
            other => other,
        })
    }
}

/// A way and a placement, with what is known of it before the threads are.
struct Case {
    way: Way,
    placement: Placement,
    sender: Post,
    receiver: Post,
    stream: Stream,
    pair: Arc<Pair>,
    sleeps: u64,
}

type Work = Box<dyn FnOnce() -> Counted + Send>;

/// Measures as `ipc` says.
///
/// # Errors
///
/// [`MeasureError::Unsupported`] if a way is missing and insisted on; else as a thread cannot be
/// started, or the kernel refuses to wake or wait in the middle.
pub fn run(ipc: &Ipc, frame: &mut Frame<'_>) -> Result<Found, MeasureError> {
    let setup = frame.setup().clone();
    let sender_policy = Ipc::sender_policy(setup.priority).unwrap_or(setup.priority);
    let (ways, missing) = available(ipc)?;
    let cases: Vec<(Way, Placement)> = ways
        .iter()
        .flat_map(|way| ipc.placements.iter().map(|placement| (*way, *placement)))
        .collect();
    let turns = Turns::new(cases.len(), ipc.interval);
    let origin = Arc::<AtomicU64>::default();
    let duration = setup.duration_ns.unwrap_or(Nanos::from_secs(10));
    let mut made = Vec::new();
    let mut works: Vec<(Post, Work)> = Vec::new();
    for (number, (way, placement)) in (0..).zip(cases) {
        let number: u32 = number;
        let from = match placement {
            Placement::Same => ipc.receiver,
            Placement::Cross => ipc.sender,
        };
        let sender = Post::on(format!("ipc/{number}s"), sender_policy, from);
        let receiver = Post::on(format!("ipc/{number}r"), setup.priority, ipc.receiver);
        let (tap, stream) = Stream::pair(number, &receiver, ipc.interval, &frame.keep());
        let pair = Arc::<Pair>::default();
        let role = Role {
            turns,
            turn: number,
            duration,
            origin: Arc::clone(&origin),
            stop: frame.stop_flag(),
            pair: Arc::clone(&pair),
            cpu: ipc.receiver,
        };
        let (send, receive, sleeps) = match way {
            Way::Futex => works_of::<Futex>(role, tap),
            Way::Pipe => works_of::<Pipe>(role, tap),
            Way::Eventfd => works_of::<Eventfd>(role, tap),
            Way::Queue => works_of::<Queue>(role, tap),
            Way::Signal => works_of::<Signal>(role, tap),
            Way::Condvar => works_of::<Condvar>(role, tap),
            Way::PiMutex => works_of::<PiMutex>(role, tap),
        }
        .map_err(|source| unsupported(way, &source))?;
        works.push((sender.clone(), send));
        works.push((receiver.clone(), receive));
        made.push(Case {
            way,
            placement,
            sender,
            receiver,
            stream,
            pair,
            sleeps,
        });
    }
    let crew = Crew::assemble(works)?;
    frame.start_at(&crew, |begun| origin.store(begun.get(), Ordering::Release))?;
    while !crew.is_done() {
        std::thread::sleep(LOOK_EVERY);
        made.iter_mut().for_each(|case| case.stream.drain(|_| ()));
        frame.look(|| progress(&mut made));
        if frame.is_stopped() {
            // Senders sleep through the others' turns.
            crew.interrupt();
        }
    }
    let results = crew.join()?;
    made.iter_mut().for_each(|case| case.stream.drain(|_| ()));
    frame.last(progress(&mut made));
    conclude(frame, &made, results, missing)
}

fn progress(made: &mut [Case]) -> Progress {
    Progress {
        series: made
            .iter_mut()
            .map(|case| SeriesProgress {
                overruns: Some(case.pair.missed()),
                ..case.stream.progress()
            })
            .collect(),
        ..Progress::default()
    }
}

/// Returns the ways that this machine has, and says what it lacks.
fn available(ipc: &Ipc) -> Result<(Vec<Way>, Vec<Finding>), MeasureError> {
    let (mut there, mut missing) = (Vec::new(), Vec::new());
    for way in ipc.ways.iter().copied() {
        let tried = match way {
            Way::Futex => Futex::new().map(drop),
            Way::Pipe => Pipe::new().map(drop),
            Way::Eventfd => Eventfd::new().map(drop),
            Way::Queue => Queue::new().map(drop),
            Way::Signal => Signal::new().map(drop),
            Way::Condvar => Condvar::new().map(drop),
            Way::PiMutex => PiMutex::new().map(drop),
        };
        match tried {
            Ok(()) => there.push(way),
            Err(err) if ipc.insist => return Err(unsupported(way, &err)),
            Err(err) => missing.push(Finding::observed(
                "way-missing",
                format!("{} was not measured: {err}", way.name()),
            )),
        }
    }
    Ok((there, missing))
}

fn unsupported(way: Way, err: &std::io::Error) -> MeasureError {
    MeasureError::Unsupported {
        what: format!("wake-ups by {} are unavailable here: {err}", way.name()),
        hint: Some("--path all measures those that are available".to_owned()),
    }
}

/// Makes the work of both ends of a way.
fn works_of<P: Path>(
    role: Role,
    mut tap: crate::stream::Tap,
) -> std::io::Result<(Work, Work, u64)> {
    let path = Arc::new(P::new()?);
    let (sender, receiver) = (role.clone(), role);
    let (send, receive) = (Arc::clone(&path), path);
    let send: Work = Box::new(move || work::send(&sender, &*send));
    let receive: Work = Box::new(move || {
        if let Err(err) = receive.prepare() {
            let errno = wake::Errno::from_io_error(&err).unwrap_or(wake::Errno::IO);
            return Counted::failed(errno);
        }
        receiver.pair.ready();
        work::receive(&receiver, &*receive, &mut tap)
    });
    Ok((send, receive, P::SLEEPS))
}

fn conclude(
    frame: &Frame<'_>,
    cases: &[Case],
    results: Vec<(Counted, ThreadReport)>,
    missing: Vec<Finding>,
) -> Result<Found, MeasureError> {
    let mut found = Found {
        ended: frame.ended(),
        faults_spoil: true,
        findings: missing,
        ..Found::default()
    };
    let (mut backwards, mut awake) = (0, Vec::new());
    let mut results = results.into_iter();
    for case in cases {
        let context = format!("{}-{}", case.way.name(), case.placement.name());
        let mut series = case.stream.series(Some(&context));
        for end in [&case.sender, &case.receiver] {
            // In the order in which they were made: the sender first.
            let Some((counted, report)) = results.next() else {
                return Err(MeasureError::Defect { thread: 0 });
            };
            if let Some(errno) = counted.failure {
                return Err(MeasureError::Wake {
                    thread: end.name.clone(),
                    source: errno.into(),
                });
            }
            backwards += counted.backwards;
            if end.name == case.receiver.name {
                let slept = report.usage().voluntary_switches;
                if float(slept) < MOST * float(case.sleeps * series.count) {
                    awake.push(format!(
                        "{context}: {slept} sleeps for {} wake-ups",
                        series.count
                    ));
                }
            }
            found.threads.push(report);
        }
        series.overruns = Some(case.pair.missed());
        let tag = format!("{}/{context}", series.thread.unwrap_or_default());
        found.store(tag, case.stream.tally());
        found.series.push(series);
    }
    found.total = figures::counts(&found.series);
    found.checks = sample_checks(&found.series);
    found.checks.push(Check::of(
        "receivers-slept",
        awake.is_empty(),
        match awake.is_empty() {
            true => format!(
                "every receiver slept before at least {} % of its wake-ups",
                100.0 * MOST
            ),
            false => awake.join("; "),
        },
    ));
    found.checks.push(Check::of(
        "one-clock",
        backwards == 0,
        format!("{backwards} messages received before they were sent, according to the clock"),
    ));
    Ok(found)
}
