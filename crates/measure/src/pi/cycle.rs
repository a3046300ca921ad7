// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What the three threads do in each cycle.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use punctual_model::{Clock, Nanos};
use punctual_sys::clock;
use punctual_sys::mutex::ProtocolMutex;
use punctual_sys::timer::{Errno, Nanosleep, Sleeper as _};

/// Between two readings of the clock a thread that is not interrupted takes far less than this. What
/// is longer was not its own work.
const STEP: Nanos = Nanos::from_micros(10);

/// Which thread.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Work {
    Low,
    Mid,
    High,
}

/// When a thread began and ended its part of a cycle, in ns on the monotonic clock; 0 if it had none.
///
/// Of low: lock and unlock. Of mid: the first and the last moment of its work. Of high: when it ran
/// and when it had the lock.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Part {
    pub(super) begin: u64,
    pub(super) end: u64,
}

/// The cycles of a run, as each thread has them.
#[derive(Clone, Debug)]
pub(super) struct Cycles {
    pub(super) interval: Nanos,
    pub(super) hold: Nanos,
    pub(super) spin: Nanos,
    pub(super) count: u64,
    /// Time zero, set before the threads start.
    pub(super) origin: Arc<AtomicU64>,
    pub(super) stop: Arc<AtomicBool>,
    /// Cycles that are over.
    pub(super) done: Arc<AtomicU64>,
    /// A lock a protocol.
    pub(super) locks: Vec<Arc<ProtocolMutex>>,
}

impl Cycles {
    /// Returns room for all cycles, present in memory.
    pub(super) fn log(&self) -> Vec<Part> {
        let parts = usize::try_from(self.count).unwrap_or(0);
        // Zeroed memory is not present until somebody writes to it.
        let mut log = vec![Part { begin: 1, end: 1 }; parts];
        log.fill(Part::default());
        log
    }

    /// Returns how many kinds of cycles take turns: two a protocol.
    pub(super) fn kinds(&self) -> u64 {
        2 * self.locks.len() as u64
    }

    /// Returns when a thread is to begin its part, after the beginning of the cycle.
    pub(super) fn offset(&self, work: Work) -> Nanos {
        Nanos::new(match work {
            Work::Low => 0,
            Work::High => self.hold.get() / 4,
            Work::Mid => self.hold.get() / 2,
        })
    }

    /// Returns the time when a cycle begins.
    pub(super) fn begin(&self, cycle: u64) -> Nanos {
        Nanos::new(self.origin.load(Ordering::Relaxed)) + self.interval.times(cycle)
    }

    /// Works cycle by cycle as one of the threads. What it did is in `log`.
    ///
    /// Hot: it allocates nothing, locks nothing but the lock that is measured, and calls only the
    /// clock and the sleep.
    pub(super) fn run(&self, work: Work, log: &mut [Part]) -> Result<(), Errno> {
        let mut sleeper = Nanosleep::new(Clock::Monotonic);
        for (cycle, part) in (0..).zip(log) {
            let begin = self.begin(cycle) + self.offset(work);
            while clock::monotonic() < begin {
                match sleeper.sleep_until(begin) {
                    Ok(()) | Err(Errno::INTR) => {}
                    Err(errno) => return Err(errno),
                }
                if self.stop.load(Ordering::Relaxed) {
                    return Ok(());
                }
            }
            // Whoever is half a cycle late would have to work through the next ones without a pause.
            if clock::monotonic() > begin + Nanos::new(self.interval.get() / 2) {
                continue;
            }
            let kind = cycle % self.kinds();
            let lock = usize::try_from(kind / 2)
                .ok()
                .and_then(|n| self.locks.get(n));
            let Some(lock) = lock else { return Ok(()) };
            *part = match work {
                Work::Low => self.low(lock)?,
                Work::High => high(lock)?,
                Work::Mid => self.mid(kind % 2 == 1),
            };
            if work == Work::High {
                self.done.store(cycle + 1, Ordering::Relaxed);
            }
        }
        Ok(())
    }

    fn low(&self, lock: &ProtocolMutex) -> Result<Part, Errno> {
        lock.lock()?;
        let begin = clock::monotonic();
        let (mut last, mut worked) = (begin, Nanos::ZERO);
        while worked < self.hold {
            let now = clock::monotonic();
            // Its own work, and not what others did in its place.
            worked = worked + now.since(last).min(STEP);
            last = now;
        }
        lock.unlock()?;
        Ok(Part {
            begin: begin.get(),
            end: last.get(),
        })
    }

    /// By the clock, and not by its own work: it ends, whatever happens.
    fn mid(&self, full: bool) -> Part {
        let begin = clock::monotonic();
        let halves = if full { 2 } else { 1 };
        let end = begin + Nanos::new(self.spin.get() / 2 * halves);
        let mut now = begin;
        while now < end {
            std::hint::spin_loop();
            now = clock::monotonic();
        }
        Part {
            begin: begin.get(),
            end: now.get(),
        }
    }
}

fn high(lock: &ProtocolMutex) -> Result<Part, Errno> {
    let begin = clock::monotonic();
    lock.lock()?;
    let end = clock::monotonic();
    lock.unlock()?;
    Ok(Part {
        begin: begin.get(),
        end: end.get(),
    })
}
