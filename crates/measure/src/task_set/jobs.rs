// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The loop of a task: it sleeps to a release, works, and says how the job went.
//!
//! Releases lie on a grid that nothing moves. A job that is released while the one before is going on begins when that
//! ends, as analysis has it, and its response counts from its own release.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use punctual_model::{Clock, CpuId, Nanos, Sample};
use punctual_sys::mutex::ProtocolMutex;
use punctual_sys::sched_ext::Seat;
use punctual_sys::timer::{Errno, Nanosleep, Sleeper as _};
use punctual_sys::{clock, compute_loop, sched};
use rtrb::Producer;

use crate::stream::Tap;

/// A part of a job.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Step {
    /// This number of additions.
    Work(u64),
    /// Take a resource, by its number.
    Lock(usize),
    /// Give it back.
    Unlock(usize),
}

/// How a job went. Times are of the monotonic clock.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Job {
    /// Its number, from 0.
    pub number: u64,
    /// When it was to begin.
    pub release: Nanos,
    /// When it began.
    pub begin: Nanos,
    /// When it ended.
    pub end: Nanos,
    /// CPU time of the thread from the end of the job before: waking up, the job, and what measures it.
    pub execution: Nanos,
}

/// What the thread of a task does.
#[derive(Debug)]
pub struct Jobs {
    /// The parts of each job.
    pub steps: Box<[Step]>,
    /// The resources of the set.
    pub locks: Arc<[ProtocolMutex]>,
    /// First release, after time zero.
    pub offset: Nanos,
    /// Time between releases.
    pub period: Nanos,
    /// Time zero, set before the threads start.
    pub origin: Arc<AtomicU64>,
    /// Releases from this time on are none of this run's.
    pub duration: Nanos,
    /// The CPU, where the thread cannot leave it.
    pub pinned_to: Option<CpuId>,
    /// Ends the loop before the next job.
    pub stop: Arc<AtomicBool>,
    /// What its BPF scheduler knows of the thread, where it has one.
    pub seat: Option<Seat>,
}

/// What one thread counted.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Counted {
    /// Jobs that ended.
    pub jobs: u64,
    /// Jobs that found no room in the log.
    pub lost: u64,
    /// What the kernel said to a sleep or a lock, if that ended the loop.
    pub failure: Option<Errno>,
}

impl Jobs {
    /// Does job after job.
    ///
    /// Hot: it allocates nothing, locks nothing but the set's own resources, and calls only the clocks and the sleep: a
    /// system call to sleep and one to read the thread's CPU time for each job. `tests/no_alloc.rs` holds that it
    /// allocates nothing.
    pub fn run(&self, tap: &mut Tap, log: &mut Producer<Job>) -> Counted {
        let mut counted = Counted::default();
        let mut sleeper = Nanosleep::new(Clock::Monotonic);
        let origin = Nanos::new(self.origin.load(Ordering::Relaxed));
        let end = origin + self.duration;
        let mut release = origin + self.offset;
        let mut executed = clock::thread_cpu();
        while release < end && !self.stop.load(Ordering::Relaxed) {
            self.announce(release);
            match sleeper.sleep_until(release) {
                Ok(()) => {}
                Err(Errno::INTR) => continue,
                Err(errno) => {
                    counted.failure = Some(errno);
                    break;
                }
            }
            let begin = clock::monotonic();
            if let Err(errno) = self.job() {
                counted.failure = Some(errno);
                break;
            }
            let done = clock::monotonic();
            let now = clock::thread_cpu();
            // The end of the run ends a backlog too: what it leaves never begins.
            let left = match done >= end {
                true => (end - release).get().saturating_sub(1) / self.period.get(),
                false => 0,
            };
            tap.overran(left);
            tap.push(Sample {
                t_ns: (done - origin).get(),
                latency_ns: (done - release).get(),
                cpu: self.pinned_to.unwrap_or_else(sched::current_cpu),
                skipped: u32::try_from(left).unwrap_or(u32::MAX),
            });
            let job = Job {
                number: counted.jobs,
                release,
                begin,
                end: done,
                execution: now - executed,
            };
            counted.lost += u64::from(log.push(job).is_err());
            executed = now;
            counted.jobs += 1;
            release = release + self.period.times(left + 1);
        }
        if let Some(seat) = &self.seat {
            seat.leave();
        }
        if counted.failure.is_some() {
            // Others may wait for what this thread would have done.
            self.stop.store(true, Ordering::Relaxed);
        }
        counted
    }

    /// Tells a BPF scheduler which job comes. One that is late already does not sleep, and so the scheduler would not look
    /// again who goes first.
    fn announce(&self, release: Nanos) {
        let Some(seat) = &self.seat else { return };
        seat.release(release);
        if clock::monotonic() >= release {
            std::thread::yield_now();
        }
    }

    fn job(&self) -> Result<(), Errno> {
        for (at, step) in self.steps.iter().enumerate() {
            let done = match *step {
                Step::Work(additions) => {
                    black_box(compute_loop::add(additions));
                    Ok(())
                }
                Step::Lock(resource) => self.locks[resource].lock(),
                Step::Unlock(resource) => self.locks[resource].unlock(),
            };
            if let Err(errno) = done {
                self.give_back(at);
                return Err(errno);
            }
        }
        Ok(())
    }

    /// Gives back what is held before step `at`: whoever waits for it would wait for ever.
    fn give_back(&self, at: usize) {
        for step in self.steps.iter().take(at) {
            if let Step::Lock(resource) = *step {
                // What is not held is refused.
                let _ = self.locks[resource].unlock();
            }
        }
    }
}
