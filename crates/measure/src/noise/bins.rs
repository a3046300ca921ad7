// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! How many gaps there are in each 10 ms, and what they take: rates with intervals.
//!
//! Gaps come in bursts, and some at every tick of the clock. The batch means of the counts of the
//! bins tell how much more, or less, the total varies than that of independent gaps would: by φ,
//! the variance of the total over the total. The rate has the exact interval of a Poisson mean
//! after k/φ events, times φ (quasi-Poisson, McCullagh and Nelder 1989, section 6.2). φ is larger by
//! what an estimate of few degrees of freedom takes, and at least 1: a count that is steadier than
//! chance is not credited. Where gaps depend on each other for too long there is no interval.

use punctual_model::{Interval, Nanos};
use punctual_stats::{BatchMeans, Worth, dependent_mean_interval, poisson_interval};

use super::turns::Window;
use crate::figures::CONFIDENCE;

/// Width of a bin.
const WIDTH: Nanos = Nanos::from_millis(10);

/// Bins that a stall is at most followed by one after the other. More are one long quiet.
const FILL: u64 = 1_000_000;

/// Counts in bins of watched time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bins {
    window: Option<Window>,
    /// Number of the open bin.
    open: u64,
    count: u64,
    lost: u64,
    counts: BatchMeans,
    losses: BatchMeans,
    gaps: u64,
}

impl Bins {
    /// Makes them for a loop that watches a part of the time, or all.
    pub(crate) fn new(window: Option<Window>) -> Self {
        Self {
            window,
            ..Self::default()
        }
    }

    /// Takes a gap that ended `at` after the begin of the loop.
    pub(crate) fn take(&mut self, at: Nanos, gap: Nanos) {
        self.close_until(self.watched_at(at).get() / WIDTH.get());
        self.count += 1;
        self.gaps += 1;
        self.lost += gap.get();
    }

    /// Closes the bins of the time that was watched.
    pub(crate) fn finish(&mut self, watched: Nanos) {
        self.close_until(watched.get() / WIDTH.get());
    }

    /// Returns how much had been watched `at` after the begin of the loop.
    fn watched_at(&self, at: Nanos) -> Nanos {
        let Some(window) = self.window else { return at };
        let (whole, rest) = (
            at.get() / window.period.get(),
            at.get() % window.period.get(),
        );
        window.runtime.times(whole) + Nanos::new(rest).min(window.runtime)
    }

    #[expect(clippy::cast_precision_loss, reason = "counts and times of 10 ms")]
    fn close_until(&mut self, bin: u64) {
        let empty = bin.saturating_sub(self.open).saturating_sub(1).min(FILL);
        if bin > self.open {
            self.counts.push(self.count as f64);
            self.losses.push(self.lost as f64);
            (self.count, self.lost) = (0, 0);
            for _ in 0..empty {
                self.counts.push(0.0);
                self.losses.push(0.0);
            }
            self.open = bin;
        }
    }

    /// Returns the interval of the number of gaps in `watched`, or none while there are too few bins.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "counts, and parts of counts"
    )]
    pub(crate) fn gaps_interval(&self) -> Option<Interval> {
        let spread = self.dispersion()?;
        let worth = self.gaps as f64 / spread;
        Some(Interval {
            low: poisson_interval(worth.floor() as u64, CONFIDENCE)?.0 * spread,
            high: poisson_interval(worth.ceil() as u64, CONFIDENCE)?.1 * spread,
            confidence: CONFIDENCE,
        })
    }

    /// Returns φ.
    fn dispersion(&self) -> Option<f64> {
        let worth = self.counts.worth().filter(Worth::is_enough)?;
        let tau = worth.autocorrelation_time * worth.widening(CONFIDENCE)?;
        let moments = self.counts.moments();
        let (mean, variance) = (moments.mean()?, moments.variance()?);
        Some(if mean > 0.0 {
            (tau * variance / mean).max(1.0)
        } else {
            1.0
        })
    }

    /// Returns the interval of the share of the time that gaps take.
    pub(crate) fn share_interval(&self) -> Option<Interval> {
        let worth = self.losses.worth()?;
        let interval = dependent_mean_interval(self.losses.moments(), &worth, CONFIDENCE)?;
        let width = WIDTH.as_secs_f64() * 1e9;
        (self.gaps > 0).then_some(Interval {
            low: (interval.low / width).max(0.0),
            high: (interval.high / width).min(1.0),
            confidence: CONFIDENCE,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GAP: Nanos = Nanos::from_micros(100);

    /// Gaps at these times in ms, of 10 s that were watched.
    fn of(at_ms: impl Iterator<Item = u64>) -> Bins {
        let mut bins = Bins::new(None);
        at_ms.for_each(|ms| bins.take(Nanos::from_millis(ms), GAP));
        bins.finish(Nanos::from_secs(10));
        bins
    }

    fn width(interval: Interval) -> f64 {
        interval.high - interval.low
    }

    #[test]
    fn steady_gaps_have_the_poisson_interval_and_bursts_a_wider_one() {
        let steady = of((0..1_000).map(|n| n * 10 + 5));
        let (low, high) = poisson_interval(1_000, 0.95).unwrap();
        let interval = steady.gaps_interval().unwrap();
        assert!((interval.low - low).abs() < 1e-9 && (interval.high - high).abs() < 1e-9);
        // Ten at once, at uneven times.
        let bursts = of((0..1_000).map(|n| n / 10 * 100 + (n / 10) % 7 * 9));
        let wider = bursts.gaps_interval().unwrap();
        assert!(width(wider) > 2.0 * width(interval), "{wider:?}");
        assert!(wider.low < 1_000.0 && 1_000.0 < wider.high);
    }

    #[test]
    fn the_share_is_of_all_of_the_time() {
        let bins = of((0..2_000).map(|n| n * 5));
        // 100 µs each 5 ms are 2 %.
        let share = bins.share_interval().unwrap();
        assert!(share.low <= 0.02 && 0.02 <= share.high, "{share:?}");
        assert!(share.high < 0.021);
    }

    #[test]
    fn no_gap_still_allows_some() {
        let quiet = of(std::iter::empty());
        let interval = quiet.gaps_interval().unwrap();
        assert!(interval.low == 0.0 && (3.6..3.8).contains(&interval.high));
        assert_eq!(quiet.share_interval(), None);
        assert_eq!(Bins::new(None).gaps_interval(), None, "no time was watched");
    }

    #[test]
    fn pauses_are_no_watched_time() {
        let window = Window {
            runtime: Nanos::from_millis(750),
            period: Nanos::from_secs(1),
        };
        let bins = Bins::new(Some(window));
        for (at_ms, watched_ms) in [(100, 100), (749, 749), (900, 750), (1_010, 760)] {
            let at = bins.watched_at(Nanos::from_millis(at_ms));
            assert_eq!(at, Nanos::from_millis(watched_ms));
        }
    }
}
