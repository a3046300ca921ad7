// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Every online statistic of one series behind one call, as a recorder needs it.

use crate::{BatchMeans, CountWindow, LatencyHistogram, Moments, PSquare, ThresholdCounter};

/// Integers that are converted at a time, on the stack.
const BLOCK: usize = 256;

/// What an [`OnlineStats`] keeps.
#[derive(Clone, Debug, PartialEq)]
pub struct OnlineConfig {
    /// The highest value of the histogram, in ns.
    pub highest_ns: u64,
    /// The number of samples in the moving window.
    pub window: usize,
    /// The thresholds in ns whose exceedances are counted.
    pub thresholds_ns: Vec<u64>,
}

impl Default for OnlineConfig {
    /// The default histogram, a window of 1000 samples, no thresholds.
    fn default() -> Self {
        Self {
            highest_ns: LatencyHistogram::DEFAULT_HIGHEST,
            window: 1000,
            thresholds_ns: Vec::new(),
        }
    }
}

/// Moments, P-square of the default quantiles, histogram, moving window, batch means and threshold
/// counts of one series of latencies in ns.
///
/// All memory is taken in [`new`](Self::new).
///
/// ```
/// use punctual_stats::{OnlineConfig, OnlineStats};
///
/// let mut stats = OnlineStats::new(&OnlineConfig::default());
/// stats.record_slice(&[1_900, 2_100, 2_000]);
/// assert_eq!(stats.moments().mean(), Some(2_000.0));
/// assert_eq!(stats.histogram().quantile(0.5), Some(2_000));
/// assert_eq!(stats.window().summary(&[]).count, 3);
/// ```
#[derive(Clone, Debug)]
pub struct OnlineStats {
    /// Holds the moments too.
    batches: BatchMeans,
    psquare: PSquare,
    histogram: LatencyHistogram,
    window: CountWindow,
    thresholds: ThresholdCounter,
}

impl OnlineStats {
    /// Creates the statistics and takes all their memory.
    pub fn new(config: &OnlineConfig) -> Self {
        Self {
            batches: BatchMeans::new(),
            psquare: PSquare::of(&PSquare::DEFAULT),
            histogram: LatencyHistogram::new(config.highest_ns),
            window: CountWindow::new(config.window),
            thresholds: ThresholdCounter::new(&config.thresholds_ns),
        }
    }

    /// Records latencies in ns, in the order in which they were measured.
    ///
    /// Hot: it allocates nothing. The cost a sample falls with the length of the slice, up to 256.
    pub fn record_slice(&mut self, ns: &[u64]) {
        let mut block = [0.0; BLOCK];
        for part in ns.chunks(BLOCK) {
            let values = &mut block[..part.len()];
            for (value, &x) in values.iter_mut().zip(part) {
                *value = x as f64;
            }
            self.batches.extend_from_slice(values);
            self.psquare.extend_from_slice(values);
            self.window.extend_from_slice(values);
            self.histogram.record_slice(part);
            self.thresholds.record_slice(part);
        }
    }

    /// The number of samples.
    pub fn count(&self) -> u64 {
        self.histogram.count()
    }

    /// The moments of all samples.
    pub fn moments(&self) -> &Moments {
        self.batches.moments()
    }

    /// The P-square estimates of the [default](PSquare::DEFAULT) quantiles.
    pub fn psquare(&self) -> &PSquare {
        &self.psquare
    }

    /// The histogram of all samples.
    pub fn histogram(&self) -> &LatencyHistogram {
        &self.histogram
    }

    /// The latest samples; mutable, because a summary sorts a copy that the window holds.
    pub fn window(&mut self) -> &mut CountWindow {
        &mut self.window
    }

    /// The batch means, for the effective number of samples.
    pub fn batches(&self) -> &BatchMeans {
        &self.batches
    }

    /// The exact counts above each threshold.
    pub fn thresholds(&self) -> &ThresholdCounter {
        &self.thresholds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_sees_every_sample() {
        let config = OnlineConfig {
            window: 10,
            thresholds_ns: vec![500],
            ..OnlineConfig::default()
        };
        let mut stats = OnlineStats::new(&config);
        let ns: Vec<u64> = (1..=1000).collect();
        stats.record_slice(&ns);
        stats.record_slice(&[]);
        assert_eq!((stats.count(), stats.moments().count()), (1000, 1000));
        assert_eq!(stats.moments().mean(), Some(500.5));
        assert_eq!(stats.psquare().count(), 1000);
        assert_eq!(stats.thresholds().above(500), Some(500));
        assert_eq!(
            stats.window().summary(&[0.5]).quantiles,
            [(0.5, Some(995.0))]
        );
        assert!(stats.batches().autocorrelation_time().unwrap() > 7.0);
    }

    #[test]
    fn the_largest_integer_passes_through_every_part() {
        let mut stats = OnlineStats::new(&OnlineConfig::default());
        stats.record_slice(&[u64::MAX; 300]);
        assert_eq!(stats.histogram().clamped(), 300);
        assert_eq!(stats.moments().variance(), Some(0.0));
        assert_eq!(stats.psquare().estimate(1), Some(u64::MAX as f64));
    }
}
