// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What only somebody who looks all the time can see: pauses of the program, steps of its clock.

use punctual_model::{Clock, Nanos};
use punctual_sys::clock;

/// Two readings further apart than this were interrupted, and say nothing about the clocks.
const TOGETHER: Nanos = Nanos::from_micros(200);

/// What was seen in all looks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Steadiness {
    clock: Clock,
    started: Nanos,
    last_look: Nanos,
    longest_pause: Nanos,
    /// The run's clock minus the monotonic one, when they could last be read together.
    offset: Option<i128>,
    largest_step: Nanos,
}

impl Steadiness {
    /// Starts to look at `clock`, on which the run began at `origin`.
    pub(crate) fn new(clock: Clock, origin: Nanos) -> Self {
        let now = clock::monotonic();
        Self {
            clock,
            started: now - (clock::read(clock) - origin),
            last_look: now,
            longest_pause: Nanos::ZERO,
            offset: offset(clock),
            largest_step: Nanos::ZERO,
        }
    }

    /// Looks.
    pub(crate) fn look(&mut self) {
        let now = clock::monotonic();
        self.longest_pause = self.longest_pause.max(now - self.last_look);
        self.last_look = now;
        if let Some(offset) = offset(self.clock) {
            self.step_to(offset);
        }
    }

    /// Looks after something that may take long by itself: that was no pause.
    pub(crate) fn look_again(&mut self) {
        self.last_look = clock::monotonic();
        self.look();
    }

    fn step_to(&mut self, offset: i128) {
        let step = self.offset.map_or(0, |before| offset.abs_diff(before));
        let step = Nanos::new(u64::try_from(step).unwrap_or(u64::MAX));
        self.largest_step = self.largest_step.max(step);
        self.offset = Some(offset);
    }

    /// Returns the longest time between two looks.
    pub(crate) const fn longest_pause(&self) -> Nanos {
        self.longest_pause
    }

    /// Returns the largest change of the run's clock against the monotonic one between two looks.
    pub(crate) const fn largest_step(&self) -> Nanos {
        self.largest_step
    }

    /// Returns the time since the start, by the monotonic clock.
    pub(crate) fn elapsed(&self) -> Nanos {
        clock::monotonic() - self.started
    }
}

fn offset(run: Clock) -> Option<i128> {
    let before = clock::monotonic();
    let there = clock::read(run);
    let after = clock::monotonic();
    let wide = |t: Nanos| i128::from(t.get());
    (after - before <= TOGETHER).then(|| wide(there) - wide(before))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_that_is_taken_back_stays_seen() {
        let mut watch = Steadiness::new(Clock::Realtime, clock::read(Clock::Realtime));
        let offset = watch.offset.unwrap_or(0);
        watch.offset = Some(offset);
        watch.step_to(offset + 5_000_000_000);
        watch.step_to(offset);
        assert_eq!(watch.largest_step(), Nanos::from_secs(5));
    }

    #[test]
    fn a_pause_is_the_time_between_looks() {
        let mut watch = Steadiness::new(Clock::Monotonic, clock::monotonic());
        std::thread::sleep(std::time::Duration::from_millis(20));
        watch.look();
        watch.look();
        assert!(watch.longest_pause() >= Nanos::from_millis(20));
        assert!(watch.elapsed() >= Nanos::from_millis(20));
        std::thread::sleep(std::time::Duration::from_millis(60));
        let longest = watch.longest_pause();
        watch.look_again();
        assert_eq!(watch.longest_pause(), longest);
    }
}
