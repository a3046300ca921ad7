// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! How much samples depend on each other, and those above a quantile, or above a threshold.
//!
//! The interval of a quantile rests on how many samples lie above it, and so does that of a share of
//! misses. Latencies come in bursts: that number varies more than that of independent samples. The
//! batch means ([`BatchMeans`]) of the series "above, or not", 0 or 1, tell by how much.
//!
//! A quantile is not known beforehand. Its threshold is taken from the histogram of the samples so
//! far and looked at again each time that they are four times as many. Where it has turned out to be far
//! from the quantile it is renewed, and what was counted against the older one is forgotten.
//!
//! Few samples lie beyond a quantile of the tail, and how they come in a run that is short against its
//! correlation shows little of how they depend on each other. Intervals that were made of that alone would
//! be there exactly where the dependence was taken for too small. So a quantile of the tail claims no
//! less dependence than those between it and the median do, and where the run is too short for an interval
//! of the mean does not exist for a quantile ([`Dependence`]).

use crate::batch::Batches;
use crate::worth::Worth;
use crate::{BatchMeans, LatencyHistogram, Moments};

const RENEW: u64 = 4;
/// Samples above a threshold that tell how they depend on each other.
const SETTLED: u64 = 16;
const MEDIAN: f64 = 0.5;
/// How far the odds of a sample to be below may be from those of the quantile.
const NEAR: f64 = 2.5;

/// How the samples of a run depend on each other, for the mean and for each of some quantiles.
///
/// ```
/// use punctual_stats::{Dependence, LatencyHistogram};
///
/// let (mut dependence, mut histogram) = (Dependence::new(&[0.9]), LatencyHistogram::default());
/// for latency in 1_000..3_000_u64 {
///     histogram.record(latency);
///     dependence.extend(&[latency], &[latency as f64], &histogram);
/// }
/// // Samples that only rise are one long wave.
/// let worth = dependence.worth(0.9);
/// assert!(worth.is_some_and(|worth| !worth.is_enough()));
/// ```
#[derive(Clone, Debug)]
pub struct Dependence {
    values: BatchMeans,
    /// With the median, in ascending order.
    quantiles: Vec<(f64, Exceedances)>,
}

impl Dependence {
    /// Takes the memory for the mean, the median and `quantiles`.
    pub fn new(quantiles: &[f64]) -> Self {
        let mut followed: Vec<f64> = quantiles.to_vec();
        followed.push(MEDIAN);
        followed.sort_by(f64::total_cmp);
        followed.dedup();
        Self {
            values: BatchMeans::new(),
            quantiles: followed
                .into_iter()
                .map(|p| (p, Exceedances::of_quantile(p)))
                .collect(),
        }
    }

    /// Adds samples, in the order in which they were measured, as integers and as floating-point
    /// numbers. `histogram` has all samples so far.
    ///
    /// Hot: it allocates nothing.
    pub fn extend(&mut self, ns: &[u64], values: &[f64], histogram: &LatencyHistogram) {
        let max = ns.iter().copied().max().unwrap_or(0);
        self.extend_up_to(max, ns, values, histogram);
    }

    /// As [`Self::extend`], of samples whose largest is known.
    pub(crate) fn extend_up_to(
        &mut self,
        max: u64,
        ns: &[u64],
        values: &[f64],
        histogram: &LatencyHistogram,
    ) {
        self.values.extend_from_slice(values);
        for (_, exceedances) in &mut self.quantiles {
            exceedances.extend_up_to(max, ns, histogram);
        }
    }

    /// The moments of all samples.
    pub fn moments(&self) -> &Moments {
        self.values.moments()
    }

    /// The highest of the quantiles above which enough samples were followed to tell how they depend on
    /// each other.
    pub fn highest(&self) -> Option<&Exceedances> {
        highest(self.quantiles.iter().map(|(_, of)| of))
    }

    /// What the samples are worth for their mean; `None` while there are too few of them.
    pub fn worth_of_mean(&self) -> Option<Worth> {
        self.values.worth()
    }

    /// Whether the `p` quantile is one of those that are followed.
    pub(crate) fn follows(&self, p: f64) -> bool {
        self.quantiles.iter().any(|(q, _)| q.total_cmp(&p).is_eq())
    }

    /// What the samples are worth for the `p` quantile, which is one of those that were asked for.
    pub fn worth(&self, p: f64) -> Option<Worth> {
        let values = self.values.worth()?;
        let (from, to) = (p.min(MEDIAN), p.max(MEDIAN));
        let between = self
            .quantiles
            .iter()
            .filter(|(q, _)| (from..=to).contains(q));
        between
            // Too few samples against the threshold: the dependence of the values is what is known.
            .map(|(q, of)| (*q, of.worth().unwrap_or(values).gated_by(&values)))
            .reduce(|(q, a), (r, b)| {
                // The one that is further out is what is asked for.
                let out = (q - MEDIAN).abs() > (r - MEDIAN).abs();
                if out {
                    (q, a.limited_by(&b))
                } else {
                    (r, b.limited_by(&a))
                }
            })
            .map(|(_, worth)| worth)
    }
}

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
    /// Samples since the threshold was set, and those of them that are above.
    followed: u64,
    above: u64,
    batches: Batches,
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
            followed: 0,
            above: 0,
            batches: Batches::default(),
        }
    }

    /// Adds samples, in the order in which they were measured. `histogram` has all samples so far.
    ///
    /// Hot: it allocates nothing.
    pub fn extend(&mut self, ns: &[u64], histogram: &LatencyHistogram) {
        self.extend_up_to(u64::MAX, ns, histogram);
    }

    /// As [`Self::extend`], of samples none of which is larger than `max`: most slices hold nothing above a
    /// quantile of the tail.
    pub(crate) fn extend_up_to(&mut self, max: u64, ns: &[u64], histogram: &LatencyHistogram) {
        self.renew(histogram);
        let (threshold, mut above) = (self.threshold, 0);
        self.batches.extend(ns, |part| {
            if max <= threshold {
                return 0.0;
            }
            let late = part
                .iter()
                .map(|ns| u64::from(*ns > threshold))
                .sum::<u64>();
            above += late;
            late as f64
        });
        self.above += above;
        self.followed += ns.len() as u64;
        self.count += ns.len() as u64;
    }

    /// Adds `n` deadlines that were all missed, or all met, without a sample.
    pub fn extend_unsampled(&mut self, missed: bool, n: u64) {
        // More than this is one long stall whatever its length.
        let followed = n.min(10_000);
        self.batches
            .extend_alike(f64::from(u8::from(missed)), followed);
        self.followed += followed;
        self.above += if missed { followed } else { 0 };
        self.count += n;
    }

    fn renew(&mut self, histogram: &LatencyHistogram) {
        let Some(p) = self.quantile else { return };
        if self.count < self.renew_at {
            return;
        }
        let n = histogram.count();
        if self.renew_at == 0 || !is_near(self.threshold, p, histogram) {
            self.threshold = histogram.quantile(p).unwrap_or(0);
            (self.followed, self.above) = (0, 0);
            self.batches = Batches::default();
        }
        self.renew_at = n.max(1).saturating_mul(RENEW);
    }

    /// What the samples are worth for the share of those above; `None` while there are too few
    /// samples. All of them while all or none are above: nothing is known of how they would come.
    pub fn worth(&self) -> Option<Worth> {
        let (n, above) = (self.followed as f64, self.above as f64);
        let variance = above * (n - above) / (n * (n - 1.0));
        let worth = Worth::of(&self.batches, self.followed, variance)?;
        Some(worth.of_count(self.count))
    }

    /// The integrated autocorrelation time of "above, or not"; `None` while there are too few
    /// samples. 1 while all or none are above: nothing is known of how they would come.
    pub fn autocorrelation_time(&self) -> Option<f64> {
        Some(self.worth()?.autocorrelation_time)
    }

    /// The number of samples above the threshold that were followed.
    pub const fn above(&self) -> u64 {
        self.above
    }

    /// The number of independent samples that would say as much; `None` as for
    /// [`autocorrelation_time`](Self::autocorrelation_time).
    pub fn effective_samples(&self) -> Option<f64> {
        Some(self.worth()?.effective_samples())
    }
}

/// The last, of quantiles in ascending order, above which enough samples were followed to tell how they
/// depend on each other.
pub fn highest<'a>(
    quantiles: impl DoubleEndedIterator<Item = &'a Exceedances>,
) -> Option<&'a Exceedances> {
    let mut from_above = quantiles.rev();
    from_above.find(|of| of.above() >= SETTLED && of.autocorrelation_time().is_some())
}

/// Whether a threshold is still close to the `p` quantile, after many further samples.
fn is_near(threshold: u64, p: f64, histogram: &LatencyHistogram) -> bool {
    let above = histogram.count_above(threshold) as f64;
    let below = histogram.count() as f64 - above;
    // A NaN, of no sample above, is not near.
    let ratio = (below / above) / (p / (1.0 - p));
    (1.0 / NEAR..=NEAR).contains(&ratio)
}
