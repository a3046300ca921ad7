// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! How a run starts, how often it is looked at, and how it ends, where that is not part of what is
//! measured.

use std::time::Duration;

use punctual_model::Nanos;

/// Time between two looks at the rings. They hold far more.
const TICK: Duration = Duration::from_millis(100);

/// How a run starts, is looked at, and ends.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Pacing {
    /// Time between two looks at the samples.
    pub tick: Duration,
    /// Whether the listener hears of each look.
    pub tell_ticks: bool,
    /// Samples that every thread still takes after one was above the threshold.
    pub after_threshold: u32,
    /// When the first thread that has taken its samples ends the run.
    pub end: EndWith,
    /// Where time zero lies.
    pub begin: Begin,
    /// How much later than the thread before it each further thread starts.
    pub stagger: Nanos,
}

impl Default for Pacing {
    fn default() -> Self {
        Self {
            tick: TICK,
            tell_ticks: false,
            after_threshold: 10,
            end: EndWith::Last,
            begin: Begin::Soon,
            stagger: Nanos::ZERO,
        }
    }
}

/// Which thread's end is the end of the run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum EndWith {
    /// The last one's: each takes all its samples.
    Last,
    /// The first one's that has taken its samples: the others stop some milliseconds later. One that only has no deadline left
    /// in the run's time ends nothing: its interval is longer than theirs.
    First,
}

/// Where a run's time zero lies on its clock.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Begin {
    /// As soon as the threads can be asleep.
    Soon,
    /// One interval before this long after a full second, so that the first deadlines lie there.
    FullSecond(Nanos),
}

impl Begin {
    /// Returns time zero of a run with `interval` that may start at `soon`.
    pub(crate) fn origin(self, soon: Nanos, interval: Nanos) -> Nanos {
        match self {
            Self::Soon => soon,
            Self::FullSecond(offset) => {
                let second = Nanos::from_secs(1).get();
                let first = (soon + interval).get().div_ceil(second);
                Nanos::from_secs(first) + offset - interval
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_deadline_of_an_aligned_run_lies_after_a_full_second() {
        let interval = Nanos::from_millis(3);
        let offset = Nanos::from_micros(200);
        for soon in [Nanos::from_millis(1), Nanos::from_millis(4_999)] {
            let origin = Begin::FullSecond(offset).origin(soon, interval);
            let first = origin + interval - offset;
            assert!(origin >= soon);
            assert_eq!(first.get() % 1_000_000_000, 0);
        }
        let soon = Nanos::from_millis(7);
        assert_eq!(Begin::Soon.origin(soon, interval), soon);
    }
}
