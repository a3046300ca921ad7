// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The loop: iteration after iteration, one reading of the clock each, and where they are long one of the
//! thread's CPU time.
//!
//! At full duty an iteration is released by the end of the one before, and that end is the one
//! reading of the clock: there is no moment between two iterations in which a stall could hide. At
//! a lower duty the releases lie on a grid, and the response counts from the release: a late
//! wake-up is in it.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use punctual_model::{Clock, CpuId, Nanos, Sample};
use punctual_sys::timer::{Errno, Nanosleep, Sleeper as _};
use punctual_sys::{clock, compute_loop, sched};

use super::stalls::Stalls;
use crate::stream::Tap;

/// What one thread does.
#[derive(Debug)]
pub struct Iterations {
    /// Additions in an iteration.
    pub additions: u64,
    /// Time between releases. None: each ends with the next one's release.
    pub period: Option<Nanos>,
    /// Time zero of the run.
    pub origin: Nanos,
    /// Time of the loop.
    pub duration: Nanos,
    /// The CPU, where the thread cannot leave it. Else it is asked for, without a system call.
    pub pinned_to: Option<CpuId>,
    /// Ends the loop after the iteration.
    pub stop: Arc<AtomicBool>,
}

/// What one thread counted.
#[derive(Clone, Copy, Debug, Default)]
pub struct Worked {
    /// Begin of the loop.
    pub begin: Nanos,
    /// End of the last iteration.
    pub end: Nanos,
    /// Iterations that were done.
    pub iterations: u64,
    /// What the kernel said to a sleep, if that ended the loop.
    pub failure: Option<Errno>,
}

impl Iterations {
    /// Works until the time is up.
    ///
    /// Hot: it allocates nothing, locks nothing, and calls only the clocks and, with a period, the
    /// sleep; at full duty, iterations below 1 ms make no system call, and longer ones one, which reads the
    /// thread's CPU time. `tests/no_alloc.rs` holds that it allocates nothing.
    pub fn run(&self, tap: &mut Tap, stalls: &mut Stalls) -> Worked {
        stalls.begin();
        match self.period {
            None => self.without_pause(tap, stalls),
            Some(period) => self.with_pauses(period, tap, stalls),
        }
    }

    fn without_pause(&self, tap: &mut Tap, stalls: &mut Stalls) -> Worked {
        let mut released = clock::monotonic();
        let mut worked = Worked {
            begin: released,
            end: released,
            ..Worked::default()
        };
        let end = released + self.duration;
        while released < end && !self.stop.load(Ordering::Relaxed) {
            black_box(compute_loop::add(self.additions));
            let now = clock::monotonic();
            self.tell(tap, now, now - released, 0);
            stalls.take(now - self.origin, now - released);
            worked.iterations += 1;
            released = now;
        }
        worked.end = released;
        worked
    }

    fn with_pauses(&self, period: Nanos, tap: &mut Tap, stalls: &mut Stalls) -> Worked {
        let mut sleeper = Nanosleep::new(Clock::Monotonic);
        let begin = clock::monotonic();
        let end = begin + self.duration;
        let mut worked = Worked {
            begin,
            end: begin,
            ..Worked::default()
        };
        let mut release = begin + period;
        while release <= end && !self.stop.load(Ordering::Relaxed) {
            match sleeper.sleep_until(release) {
                Ok(()) => {}
                Err(Errno::INTR) => continue,
                Err(errno) => {
                    worked.failure = Some(errno);
                    break;
                }
            }
            black_box(compute_loop::add(self.additions));
            let now = clock::monotonic();
            let response = now - release;
            let passed = response.get() / period.get();
            // Releases after the end are none of this run's.
            let skipped = (now.min(end) - release).get() / period.get();
            tap.overran(skipped);
            self.tell(tap, now, response, skipped);
            stalls.take(now - self.origin, response);
            worked.iterations += 1;
            worked.end = now;
            release = release + period.times(passed + 1);
        }
        worked
    }

    #[inline]
    fn tell(&self, tap: &mut Tap, now: Nanos, response: Nanos, skipped: u64) {
        tap.push(Sample {
            t_ns: (now - self.origin).get(),
            latency_ns: response.get(),
            cpu: self.pinned_to.unwrap_or_else(sched::current_cpu),
            skipped: u32::try_from(skipped).unwrap_or(u32::MAX),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crew::Post;
    use crate::stream::Stream;
    use punctual_model::Policy;
    use punctual_stats::Keep;

    fn worked(period: Option<Nanos>, additions: u64) -> (Worked, Vec<Sample>, u64) {
        let post = Post::on("x", Policy::Other { nice: 0 }, 0);
        let (mut tap, mut stream) =
            Stream::pair(0, &post, Nanos::from_micros(100), &Keep::default());
        let iterations = Iterations {
            additions,
            period,
            origin: clock::monotonic(),
            duration: Nanos::from_millis(50),
            pinned_to: Some(0),
            stop: Arc::default(),
        };
        let mut stalls = Stalls::of(Nanos::from_millis(1));
        let worked = iterations.run(&mut tap, &mut stalls);
        let mut samples = Vec::new();
        stream.drain(|block| samples.extend_from_slice(block));
        let overruns = stream.series(None).overruns.unwrap();
        (worked, samples, overruns)
    }

    #[test]
    fn at_full_duty_the_responses_are_all_of_the_time() {
        let (worked, samples, overruns) = worked(None, 100_000);
        let sum: u64 = samples.iter().map(|s| s.latency_ns).sum();
        assert_eq!(sum, (worked.end - worked.begin).get());
        assert_eq!((samples.len() as u64, overruns), (worked.iterations, 0));
        assert!(worked.end - worked.begin >= Nanos::from_millis(50));
    }

    #[test]
    fn every_release_is_a_sample_or_an_overrun() {
        // Some iterations take longer than the period on any machine: additions for about 3 ms.
        let period = Nanos::from_millis(2);
        let (worked, samples, overruns) = worked(Some(period), 10_000_000);
        assert_eq!(worked.iterations + overruns, 25);
        let skipped: u64 = samples.iter().map(|s| u64::from(s.skipped)).sum();
        assert_eq!(skipped, overruns);
        assert!(overruns > 0);
    }
}
