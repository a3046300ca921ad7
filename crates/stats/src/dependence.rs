// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! How much the samples above a quantile, or above a threshold, depend on each other.
//!
//! The interval of a quantile rests on how many samples lie above it, and so does that of a share of
//! misses. Latencies come in bursts: that number varies more than that of independent samples. The
//! batch means ([`BatchMeans`]) of the series "above, or not", 0 or 1, tell by how much.
//!
//! A quantile is not known beforehand. Its threshold is taken from the histogram of the samples so
//! far and renewed each time that they are four times as many, until 16 samples lie beyond it;
//! what was counted against an older threshold is forgotten.

use crate::{BatchMeans, LatencyHistogram};

const RENEW: u64 = 4;
const SETTLED: f64 = 16.0;

/// The dependence of the samples above one threshold.
///
/// ```
/// use punctual_stats::{Exceedances, LatencyHistogram};
///
/// let (mut above, mut histogram) = (Exceedances::of_threshold(500), LatencyHistogram::default());
/// let mut seed = 1u64;
/// for _ in 0..1_000 {
///     seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
///     // Ten samples at a time, and one time in ten all of them are bad.
///     let block = [if (seed >> 33) % 10 == 0 { 900 } else { 100 }; 10];
///     histogram.record_slice(&block);
///     above.extend(&block, &histogram);
/// }
/// // Ten thousand samples, worth about a thousand.
/// assert!(above.effective_samples() < Some(2_000.0));
/// ```
#[derive(Clone, Debug)]
pub struct Exceedances {
    /// `None` for a fixed threshold.
    quantile: Option<f64>,
    threshold: u64,
    renew_at: u64,
    count: u64,
    indicator: BatchMeans,
}

impl Exceedances {
    /// Follows the samples above a quantile.
    pub fn of_quantile(p: f64) -> Self {
        Self {
            quantile: Some(p),
            ..Self::of_threshold(0)
        }
    }

    /// Follows the samples strictly above `ns`.
    pub fn of_threshold(ns: u64) -> Self {
        Self {
            quantile: None,
            threshold: ns,
            renew_at: 0,
            count: 0,
            indicator: BatchMeans::new(),
        }
    }

    /// Adds samples, in the order in which they were measured. `histogram` has all samples so far.
    ///
    /// Hot: it allocates nothing.
    pub fn extend(&mut self, ns: &[u64], histogram: &LatencyHistogram) {
        self.renew(histogram);
        for late in ns {
            self.indicator
                .push(f64::from(u8::from(*late > self.threshold)));
        }
        self.count += ns.len() as u64;
    }

    /// Adds `n` deadlines that were all missed, or all met, without a sample.
    pub fn extend_unsampled(&mut self, missed: bool, n: u64) {
        // More than this is one long stall whatever its length.
        for _ in 0..n.min(10_000) {
            self.indicator.push(f64::from(u8::from(missed)));
        }
        self.count += n;
    }

    fn renew(&mut self, histogram: &LatencyHistogram) {
        let Some(p) = self.quantile else { return };
        if self.count < self.renew_at || self.renew_at == u64::MAX {
            return;
        }
        let n = histogram.count();
        self.threshold = histogram.quantile(p).unwrap_or(0);
        self.indicator = BatchMeans::new();
        let settled = n as f64 * p.min(1.0 - p) >= SETTLED;
        self.renew_at = if settled {
            u64::MAX
        } else {
            n.saturating_mul(RENEW)
        };
    }

    /// The integrated autocorrelation time of "above, or not"; `None` while there are too few
    /// samples. 1 while all or none are above: nothing is known of how they would come.
    pub fn autocorrelation_time(&self) -> Option<f64> {
        self.indicator.autocorrelation_time()
    }

    /// The number of samples above the threshold that were followed.
    pub fn above(&self) -> f64 {
        let moments = self.indicator.moments();
        moments.mean().unwrap_or(0.0) * moments.count() as f64
    }

    /// The number of independent samples that would say as much; `None` as for
    /// [`autocorrelation_time`](Self::autocorrelation_time).
    pub fn effective_samples(&self) -> Option<f64> {
        self.autocorrelation_time()
            .map(|tau| self.count as f64 / tau)
    }
}

/// The last, of quantiles in ascending order, above which enough samples were followed to tell how they
/// depend on each other.
pub fn highest(quantiles: &[Exceedances]) -> Option<&Exceedances> {
    let mut from_above = quantiles.iter().rev();
    from_above.find(|of| of.above() >= SETTLED && of.autocorrelation_time().is_some())
}
