// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The loop: read the counter again and again, and keep what is too long between two readings.
//!
//! The end of one turn is the begin of the next, so that the turns are all of the time: what storing
//! a gap costs is in the next turn.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use punctual_model::{Clock, CpuId, Nanos, Sample};
use punctual_sys::clock;
use punctual_sys::timer::{Errno, Nanosleep, Sleeper as _};

use super::ticker::{Scale, Ticker};
use crate::stream::Tap;

/// What one thread does.
#[derive(Debug)]
pub struct Turns<T> {
    /// What it reads.
    pub ticker: T,
    /// The length of a tick.
    pub scale: Scale,
    /// A turn longer than this is a gap.
    pub threshold: Nanos,
    /// Part of each period that is watched. None: all of the time is.
    pub window: Option<Window>,
    /// Time zero of the run.
    pub origin: Nanos,
    /// Time of the loop.
    pub duration: Nanos,
    /// CPU of the thread.
    pub cpu: CpuId,
    /// Ends the loop.
    pub stop: Arc<AtomicBool>,
    /// Where the loop says when it began, since the origin, in ns.
    pub begun: Arc<AtomicU64>,
}

/// How a part of the time is watched.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Window {
    /// What is watched of each period.
    pub runtime: Nanos,
    /// Time from one window to the next.
    pub period: Nanos,
}

/// What one thread counted.
#[derive(Clone, Copy, Debug, Default)]
pub struct Watched {
    /// Readings of the counter.
    pub turns: u64,
    /// Time that was watched, in ticks.
    pub ticks: u64,
    /// Gaps, whether or not the ring had room for them.
    pub gaps: u64,
    /// Readings before the one before them: the counter is none.
    pub backward: u64,
    /// What the kernel said to a sleep, if that ended the loop.
    pub failure: Option<Errno>,
}

impl<T: Ticker> Turns<T> {
    /// Watches until the time is up.
    ///
    /// Hot: it allocates nothing, locks nothing, and calls only the counter and, between windows,
    /// the clock and the sleep. `tests/no_alloc.rs` holds it to that.
    pub fn run(&self, tap: &mut Tap) -> Watched {
        let mut watched = Watched::default();
        let begin = clock::monotonic();
        // The moments of gaps are counted from here.
        let zero = (self.ticker.read(), begin - self.origin);
        self.begun.store(zero.1.get(), Ordering::Relaxed);
        let Some(window) = self.window else {
            self.watch(self.duration, zero, tap, &mut watched);
            return watched;
        };
        let mut sleeper = Nanosleep::new(Clock::Monotonic);
        let (mut next, end) = (begin, begin + self.duration);
        while next < end && !self.stop.load(Ordering::Relaxed) {
            match sleeper.sleep_until(next) {
                Ok(()) => {}
                Err(Errno::INTR) => continue,
                Err(errno) => {
                    watched.failure = Some(errno);
                    break;
                }
            }
            let now = clock::monotonic();
            // A window that begins late is shorter: what follows is not to be late as well.
            let left = (next + window.runtime).min(end) - now;
            self.watch(left, zero, tap, &mut watched);
            let passed = (clock::monotonic() - next).get() / window.period.get();
            next = next + window.period.times(passed.max(1));
        }
        // The pause of the last period too: the duty is of the whole time.
        while !self.stop.load(Ordering::Relaxed) && sleeper.sleep_until(end) == Err(Errno::INTR) {}
        watched
    }

    #[inline]
    fn watch(&self, span: Nanos, zero: (u64, Nanos), tap: &mut Tap, watched: &mut Watched) {
        let threshold = self.scale.ticks(self.threshold);
        let span = self.scale.ticks(span);
        let begin = self.ticker.read();
        let mut last = begin;
        while last.wrapping_sub(begin) < span && !self.stop.load(Ordering::Relaxed) {
            let now = self.ticker.read();
            watched.turns += 1;
            if now < last {
                watched.backward += 1;
                break;
            }
            let gap = now - last;
            if gap > threshold {
                watched.gaps += 1;
                tap.push(Sample {
                    t_ns: (zero.1 + self.scale.nanos(now.saturating_sub(zero.0))).get(),
                    latency_ns: self.scale.nanos(gap).get(),
                    cpu: self.cpu,
                    skipped: 0,
                });
            }
            last = now;
        }
        watched.ticks += last.wrapping_sub(begin);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crew::Post;
    use crate::stream::Stream;
    use punctual_model::Policy;
    use punctual_stats::Keep;
    use std::cell::Cell;

    thread_local! {
        static AT: Cell<(u64, usize)> = const { Cell::new((0, 0)) };
    }

    /// A counter that makes these steps, then steps of 10.
    #[derive(Clone, Copy, Debug)]
    struct Steps(&'static [u64]);

    impl Ticker for Steps {
        fn read(self) -> u64 {
            let (at, n) = AT.get();
            let at = at + self.0.get(n).copied().unwrap_or(10);
            AT.set((at, n + 1));
            at
        }
    }

    fn turns(steps: &'static [u64]) -> Turns<Steps> {
        AT.set((0, 0));
        Turns {
            ticker: Steps(steps),
            scale: Scale::NANOS,
            threshold: Nanos::new(100),
            window: None,
            origin: Nanos::ZERO,
            duration: Nanos::new(2_000),
            cpu: 3,
            stop: Arc::default(),
            begun: Arc::default(),
        }
    }

    fn run(turns: &Turns<Steps>) -> (Watched, Vec<Sample>) {
        let post = Post::on("x", Policy::Other { nice: 0 }, 3);
        let (mut tap, mut stream) = Stream::pair(0, &post, Nanos::from_millis(1), &Keep::default());
        let watched = turns.run(&mut tap);
        let mut samples = Vec::new();
        stream.drain(|block| samples.extend_from_slice(block));
        (watched, samples)
    }

    #[test]
    fn what_is_longer_than_the_threshold_is_a_gap() {
        // The first reading is time zero, the second the begin of the loop.
        let (watched, samples) = run(&turns(&[0, 0, 100, 101, 10, 500]));
        let gaps: Vec<u64> = samples.iter().map(|s| s.latency_ns).collect();
        assert_eq!(gaps, [101, 500]);
        assert_eq!((watched.gaps, watched.backward), (2, 0));
        assert_eq!(samples[1].t_ns - samples[0].t_ns, 510);
        assert_eq!(samples[0].cpu, 3);
        assert!((2_000..2_010).contains(&watched.ticks), "{watched:?}");
        // 100 + 101 + 10 + 500, and the rest in steps of 10.
        assert_eq!(watched.turns, 4 + (2_000 - 711_u64).div_ceil(10));
    }

    #[test]
    fn a_counter_that_goes_back_is_told_and_ends_the_window() {
        #[derive(Clone, Copy, Debug)]
        struct Back;
        impl Ticker for Back {
            fn read(self) -> u64 {
                let (at, n) = AT.get();
                AT.set((at, n + 1));
                1_000 - n as u64
            }
        }
        let base = turns(&[]);
        let turns = Turns {
            ticker: Back,
            scale: base.scale,
            threshold: base.threshold,
            window: None,
            origin: base.origin,
            duration: base.duration,
            cpu: base.cpu,
            stop: base.stop,
            begun: base.begun,
        };
        let post = Post::on("x", Policy::Other { nice: 0 }, 3);
        let (mut tap, _stream) = Stream::pair(0, &post, Nanos::from_millis(1), &Keep::default());
        assert_eq!(turns.run(&mut tap).backward, 1);
    }

    #[test]
    fn windows_leave_the_rest_of_each_period() {
        // What a stall adds to a window is one gap, on any machine; the rest is no longer than was asked for.
        let most = Nanos::from_millis(25).get() + 5 * GAP.get();
        let mut watched = 0;
        for _ in 0..10 {
            let (window, gaps) = half_of_each_period();
            assert!(window.ticks - gaps <= most, "{window:?}, {gaps} of gaps");
            watched += window.turns;
        }
        assert!(watched > 0);
    }

    const GAP: Nanos = Nanos::from_micros(100);

    /// Watches 5 ms of each 10 ms, five times. Returns how long the gaps were beside it.
    fn half_of_each_period() -> (Watched, u64) {
        let post = Post::on("x", Policy::Other { nice: 0 }, 3);
        let (mut tap, mut stream) = Stream::pair(0, &post, Nanos::from_millis(1), &Keep::default());
        let turns = Turns {
            ticker: super::super::ticker::Clock,
            scale: Scale::NANOS,
            threshold: GAP,
            window: Some(Window {
                runtime: Nanos::from_millis(5),
                period: Nanos::from_millis(10),
            }),
            origin: clock::monotonic(),
            duration: Nanos::from_millis(50),
            cpu: 3,
            stop: Arc::default(),
            begun: Arc::default(),
        };
        let watched = turns.run(&mut tap);
        let mut gaps = 0;
        stream.drain(|block| gaps += block.iter().map(|gap| gap.latency_ns).sum::<u64>());
        assert_eq!(stream.lost(), 0);
        (watched, gaps)
    }
}
