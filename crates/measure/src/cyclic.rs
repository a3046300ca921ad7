// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The cyclic wake-up loop: sleep to a deadline, record how late the wake-up was.
//!
//! Deadlines lie on a grid, `origin + n * interval`. A wake-up that is later than one or more
//! further deadlines is one sample; the deadlines that it missed are counted as overruns, and the
//! loop goes on with the next deadline of the grid. With [`WakeBy::Span`] there is no grid: each
//! cycle asks for one interval from now, and the sample is the measured minus the requested time.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use punctual_model::{Clock, CpuId, Nanos, Sample};
use punctual_sys::timer::{Errno, Sleeper};
use punctual_sys::{clock, sched};
use rtrb::Producer;

/// What one thread measures.
#[derive(Clone, Copy, Debug)]
pub struct Cycle {
    /// Clock of the deadlines.
    pub clock: Clock,
    /// Time zero of the run on that clock. The first deadline is one interval later.
    pub origin: Nanos,
    /// Time between deadlines.
    pub interval: Nanos,
    /// Samples whose deadline is not after this are counted, not recorded.
    pub record_from: Nanos,
    /// No deadline after this is waited for.
    pub end: Nanos,
    /// Samples to record.
    pub samples: u64,
    /// A sample above this ends the run of all threads.
    pub threshold: Nanos,
    /// Samples to take after another thread's, or this thread's, sample was above the threshold.
    pub after_threshold: u32,
    /// The CPU, where the thread cannot leave it. Else it is read at each wake-up.
    pub pinned_to: Option<CpuId>,
    /// How the thread asks to be woken.
    pub asked: WakeBy,
}

impl Cycle {
    /// Returns how many of the `passed` deadlines after `deadline` belong to the time that is
    /// recorded: not to the warm-up, and not past the end.
    fn recorded_of(&self, deadline: Nanos, passed: u64) -> u64 {
        let index = |at: Nanos| at.since(self.origin).get() / self.interval.get();
        let last = (deadline + self.interval.times(passed)).min(self.end);
        index(last).saturating_sub(index(deadline.max(self.record_from)))
    }

    /// Returns the first deadline after the warm-up.
    fn first_recorded(&self) -> Nanos {
        let before = self.record_from.since(self.origin).get() / self.interval.get();
        self.origin + self.interval.times(before + 1)
    }
}

/// How a thread asks to be woken.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum WakeBy {
    /// At a time.
    Deadline,
    /// After a span from now.
    Span,
}

/// What the threads of a run have in common.
#[derive(Debug, Default)]
pub struct Shared {
    phase: AtomicU32,
}

const MEASURING: u32 = 0;
const THRESHOLD_HIT: u32 = 1;
const STOPPED: u32 = 2;

impl Shared {
    /// Ends all loops at their next wake-up.
    pub fn stop(&self) {
        self.phase.store(STOPPED, Ordering::Relaxed);
    }

    /// Whether a sample was above the threshold.
    pub fn threshold_was_hit(&self) -> bool {
        self.phase.load(Ordering::Relaxed) == THRESHOLD_HIT
    }
}

/// What a thread counts besides its samples. Written by that thread alone.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Counts {
    /// Deadlines of the recorded time that passed while the thread was late for an earlier one.
    pub overruns: AtomicU64,
    /// Samples that found the ring full.
    pub lost: AtomicU64,
    /// Wake-ups before their deadline: the clock was set back. Recorded as 0.
    pub early: AtomicU64,
    /// Samples of the warm-up.
    pub warm_up: AtomicU64,
    /// Recorded samples, lost ones included.
    pub taken: AtomicU64,
}

/// Adds without a locked instruction: there is one writer.
#[inline]
pub(crate) fn add(counter: &AtomicU64, n: u64) {
    counter.store(counter.load(Ordering::Relaxed) + n, Ordering::Relaxed);
}

/// Measures until the samples are taken, the end is near, or the run is stopped.
///
/// Hot path: from the first sleep to the return this allocates nothing, locks nothing, logs
/// nothing, and calls only the clock, the sleep and, for threads that may move, the vDSO's
/// `getcpu`. `tests/no_alloc.rs` holds it to that.
///
/// # Errors
///
/// Fails with what the kernel said to the sleep, other than `EINTR`.
pub fn run<S: Sleeper>(
    cycle: &Cycle,
    sleeper: &mut S,
    ring: &mut Producer<Sample>,
    shared: &Shared,
    counts: &Counts,
) -> Result<(), Errno> {
    let mut deadline = cycle.origin + cycle.interval;
    let mut left = cycle.samples;
    let mut after = cycle.after_threshold;
    while left > 0 && deadline <= cycle.end {
        match shared.phase.load(Ordering::Relaxed) {
            MEASURING => {}
            THRESHOLD_HIT if after > 0 => after -= 1,
            _ => break,
        }
        if cycle.asked == WakeBy::Span {
            deadline = clock::read(cycle.clock) + cycle.interval;
        }
        match sleeper.sleep_until(deadline) {
            Ok(()) => {}
            Err(Errno::INTR) => continue,
            Err(errno) => return Err(errno),
        }
        let woke = clock::read(cycle.clock);
        let mut late = woke.since(deadline);
        let mut passed = 0;
        let mut skipped = 0;
        if late >= cycle.interval && cycle.asked == WakeBy::Deadline {
            passed = late.get() / cycle.interval.get();
            skipped = cycle.recorded_of(deadline, passed);
        }
        if woke < deadline {
            add(&counts.early, 1);
        }
        let mut is_recorded = deadline > cycle.record_from;
        if !is_recorded {
            add(&counts.warm_up, 1);
            // What holds it up since the warm-up is late for recorded deadlines too: the sample is that of the first of them.
            if skipped > 0 {
                is_recorded = true;
                late = woke.since(cycle.first_recorded());
                skipped -= 1;
            }
        }
        if is_recorded {
            left -= 1;
            add(&counts.overruns, skipped);
            let sample = Sample {
                t_ns: woke.since(cycle.origin).get(),
                latency_ns: late.get(),
                cpu: cycle.pinned_to.unwrap_or_else(sched::current_cpu),
                skipped: u32::try_from(skipped).unwrap_or(u32::MAX),
            };
            add(&counts.taken, 1);
            if ring.push(sample).is_err() {
                add(&counts.lost, 1);
            }
            if late > cycle.threshold {
                // Only from MEASURING: a stop must not be taken back.
                let _ = shared.phase.compare_exchange(
                    MEASURING,
                    THRESHOLD_HIT,
                    Ordering::Relaxed,
                    Ordering::Relaxed,
                );
            }
        }
        deadline = deadline + cycle.interval.times(passed + 1);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// A sleeper that asks the fake time to pass: `stalls[n]` more than asked at wake-up `n`.
    struct Stalling<'a> {
        stalls: &'a [u64],
        at: Cell<usize>,
    }

    impl Sleeper for Stalling<'_> {
        fn sleep_until(&mut self, deadline: Nanos) -> Result<(), Errno> {
            let n = self.at.get();
            self.at.set(n + 1);
            let stall = Nanos::from_millis(self.stalls.get(n).copied().unwrap_or(0));
            while clock::monotonic() < deadline + stall {
                std::hint::spin_loop();
            }
            Ok(())
        }
    }

    fn cycle(samples: u64) -> Cycle {
        Cycle {
            clock: Clock::Monotonic,
            origin: clock::monotonic(),
            interval: Nanos::from_millis(10),
            record_from: Nanos::ZERO,
            end: Nanos::MAX,
            samples,
            threshold: Nanos::MAX,
            after_threshold: 0,
            pinned_to: Some(0),
            asked: WakeBy::Deadline,
        }
    }

    fn samples(cycle: &Cycle, stalls: &[u64], slots: usize) -> (Vec<Sample>, Counts) {
        let (mut ring, mut out) = rtrb::RingBuffer::new(slots);
        let counts = Counts::default();
        let mut sleeper = Stalling {
            stalls,
            at: Cell::new(0),
        };
        run(cycle, &mut sleeper, &mut ring, &Shared::default(), &counts).unwrap();
        let taken = std::iter::from_fn(|| out.pop().ok()).collect();
        (taken, counts)
    }

    #[test]
    fn a_stall_is_one_sample_and_counted_overruns() {
        let cycle = cycle(3);
        // The second wake-up comes 34 ms late: three further deadlines passed (if the machine
        // itself stalls the test, more): the third sample is on the grid again.
        let (taken, counts) = samples(&cycle, &[0, 34, 0], 8);
        assert_eq!(taken.len(), 3);
        let overruns = counts.overruns.load(Ordering::Relaxed);
        assert!(taken[1].latency_ns >= 34_000_000);
        assert!(taken[1].skipped >= 3);
        assert_eq!(
            overruns,
            taken.iter().map(|s| u64::from(s.skipped)).sum::<u64>()
        );
        let deadline = taken[2].t_ns - taken[2].latency_ns;
        assert_eq!(deadline % cycle.interval.get(), 0, "off the grid");
    }

    #[test]
    fn a_full_ring_loses_samples_and_says_so() {
        let (taken, counts) = samples(&cycle(5), &[], 2);
        assert_eq!(taken.len(), 2);
        assert_eq!(counts.lost.load(Ordering::Relaxed), 3);
        assert_eq!(counts.taken.load(Ordering::Relaxed), 5);
    }

    #[test]
    fn the_warm_up_is_counted_and_not_recorded() {
        let mut cycle = cycle(2);
        cycle.record_from = cycle.origin + Nanos::from_millis(25);
        let (taken, counts) = samples(&cycle, &[], 8);
        assert_eq!(taken.len(), 2);
        assert!(counts.warm_up.load(Ordering::Relaxed) >= 1);
    }

    #[test]
    fn overruns_are_those_of_the_recorded_time() {
        let mut cycle = cycle(u64::MAX);
        cycle.record_from = cycle.origin + Nanos::from_millis(20);
        cycle.end = cycle.origin + Nanos::from_millis(60);
        // The first wake-up misses the deadlines at 20 and 30 ms, and is the sample of that at 30 ms, which is no warm-up; the next
        // one misses those at 50 to 90, of which two are not past the end.
        let (taken, counts) = samples(&cycle, &[24, 54], 8);
        let overruns = counts.overruns.load(Ordering::Relaxed);
        assert_eq!(taken.len() as u64 + overruns, 4);
        assert!(overruns >= 2);
        assert!(taken.iter().all(|s| s.skipped <= 3), "those past the end");
        assert_eq!(counts.warm_up.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn a_stall_that_begins_in_the_warm_up_is_late_for_what_is_recorded() {
        let mut cycle = cycle(u64::MAX);
        cycle.record_from = cycle.origin + Nanos::from_millis(20);
        cycle.end = cycle.origin + Nanos::from_millis(100);
        cycle.threshold = Nanos::from_millis(40);
        // From the deadline at 10 ms until 85 ms: the first of the recorded ones is that at 30 ms.
        let (taken, counts) = samples(&cycle, &[75], 8);
        assert_eq!(taken[0].t_ns - taken[0].latency_ns, 30_000_000);
        assert!(taken[0].latency_ns >= 55_000_000);
        assert!((5..=7).contains(&taken[0].skipped), "{}", taken[0].skipped);
        let overruns = counts.overruns.load(Ordering::Relaxed);
        assert_eq!(overruns, u64::from(taken[0].skipped));
        assert_eq!(taken.len(), 1, "it is above the threshold");
        assert_eq!(counts.warm_up.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn a_sample_above_the_threshold_ends_the_run_after_those_that_follow() {
        let mut cycle = cycle(100);
        cycle.threshold = Nanos::from_millis(5);
        cycle.after_threshold = 2;
        // If the machine stalls by itself, the end comes earlier and the count is smaller.
        let (taken, _) = samples(&cycle, &[0, 7], 128);
        let hit = taken.iter().position(|s| s.latency_ns > 5_000_000).unwrap();
        assert_eq!(taken.len(), hit + 3);
    }

    #[test]
    fn the_end_is_respected() {
        let mut cycle = cycle(u64::MAX);
        cycle.end = cycle.origin + Nanos::from_millis(40);
        let (taken, counts) = samples(&cycle, &[], 128);
        let overruns = counts.overruns.load(Ordering::Relaxed);
        assert_eq!(taken.len() as u64 + overruns, 4);
        assert!(taken.iter().all(|s| s.t_ns - s.latency_ns <= 40_000_000));
    }
}
