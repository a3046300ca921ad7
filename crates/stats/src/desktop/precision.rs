// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What a number of samples allows to be claimed.
//!
//! - the mean: Student's t with the effective number of samples
//!   ([`BatchMeans`](crate::BatchMeans)), since latencies are correlated;
//! - a quantile: the distribution-free interval between two order statistics (Wilks, *Annals of
//!   Mathematical Statistics* 12, 1941; David and Nagaraja, *Order Statistics*, 7.1): the number of
//!   samples below the p quantile is binomial whatever the distribution is;
//! - the probability of exceeding a deadline: Clopper and Pearson (*Biometrika* 26, 1934), whose
//!   case of no exceedance is the rule of three.
//!
//! Counts are of independent samples. For correlated ones there are [`dependent_mean_interval`] and
//! [`dependent_quantile_interval`]: the number of independent samples that they are worth is itself an
//! estimate, of few degrees of freedom, and the intervals are wider by Student's t of these; from a run
//! that is too short against its correlation there is none ([`Worth::is_enough`]).
//! `None` means that nothing can be claimed: too few samples, or a confidence outside 0 to 1.

use crate::binomial;
use crate::num::{finite, floor_u64};
use crate::student::{normal_quantile, student_t};
use crate::{LatencyHistogram, Moments, Worth};

/// A two-sided confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The lower end, in the unit of the samples.
    pub low: f64,
    /// The upper end, in the unit of the samples.
    pub high: f64,
    /// The confidence, 0 to 1.
    pub confidence: f64,
    /// The number of independent samples that it rests on.
    pub effective_samples: f64,
}

/// The interval of the mean: mean ± t s/√m, with Student's t of m - 1 degrees of freedom.
///
/// `effective_samples` is m, at most the count; `None` below two.
///
/// ```
/// use punctual_stats::{Moments, mean_interval};
///
/// let mut moments = Moments::new();
/// moments.extend_from_slice(&[1.0, 2.0, 3.0, 4.0, 5.0]);
/// let Some(interval) = mean_interval(&moments, 5.0, 0.95) else { return };
/// assert!((interval.low - 1.036757).abs() < 1e-5);
/// assert!((interval.high - 4.963243).abs() < 1e-5);
/// ```
pub fn mean_interval(
    moments: &Moments,
    effective_samples: f64,
    confidence: f64,
) -> Option<Interval> {
    let effective_samples = at_most(effective_samples, moments.count())?;
    if !valid(confidence) || effective_samples < 2.0 {
        return None;
    }
    around_mean(
        moments,
        effective_samples,
        effective_samples - 1.0,
        confidence,
    )
}

/// The interval of the mean of correlated samples: mean ± t s √(τ/n), with Student's t of as many
/// degrees of freedom as τ has.
pub fn dependent_mean_interval(
    moments: &Moments,
    worth: &Worth,
    confidence: f64,
) -> Option<Interval> {
    let effective_samples = at_most(worth.effective_samples(), moments.count())?;
    if !valid(confidence) || !worth.is_enough() {
        return None;
    }
    around_mean(moments, effective_samples, worth.freedom, confidence)
}

fn around_mean(
    moments: &Moments,
    effective_samples: f64,
    freedom: f64,
    confidence: f64,
) -> Option<Interval> {
    let t = student_t(freedom, f64::midpoint(1.0, confidence))?;
    let mean = moments.mean()?;
    let half = finite(t * moments.std_dev()? / effective_samples.sqrt())?;
    Some(Interval {
        low: mean - half,
        high: mean + half,
        confidence,
        effective_samples,
    })
}

/// The 1-based ranks of the two samples, of `n`, between which the `p` quantile lies.
///
/// The lower is the largest, the upper the smallest whose tail is at most (1 - confidence)/2.
/// `None` when `n` is too small: the quantile may lie beyond the extremes.
///
/// ```
/// use punctual_stats::quantile_ranks;
///
/// assert_eq!(quantile_ranks(100, 0.5, 0.95), Some((40, 61)));
/// assert_eq!(quantile_ranks(100, 0.99, 0.95), None);
/// ```
pub fn quantile_ranks(n: u64, p: f64, confidence: f64) -> Option<(u64, u64)> {
    if !valid(confidence) || !valid(p) || n == 0 {
        return None;
    }
    let alpha = (1.0 - confidence) / 2.0;
    let z = normal_quantile(1.0 - alpha)?;
    let (mean, spread) = (n as f64 * p, (n as f64 * p * (1.0 - p)).sqrt());
    let below = |rank: u64| binomial::lower(rank - 1, n, p).probability() <= alpha;
    let above = |rank: u64| binomial::upper(rank, n, p).probability() <= alpha;

    // The normal approximation is off by a few ranks; the exact tails decide.
    let mut low = floor_u64(mean - z * spread).clamp(1, n);
    while low > 1 && !below(low) {
        low -= 1;
    }
    while low < n && below(low + 1) {
        low += 1;
    }
    let mut high = floor_u64(mean + z * spread + 1.0).clamp(1, n);
    while high < n && !above(high) {
        high += 1;
    }
    while high > 1 && above(high - 1) {
        high -= 1;
    }
    (below(low) && above(high)).then_some((low, high))
}

/// The interval of the `p` quantile in ns, low and high, from a histogram.
///
/// The ranks are those of [`quantile_ranks`] for `effective_samples`, at most the count, spread over
/// the samples that there are; the ends are the outer borders of their buckets.
pub fn quantile_interval(
    histogram: &LatencyHistogram,
    effective_samples: f64,
    p: f64,
    confidence: f64,
) -> Option<(u64, u64)> {
    let n = histogram.count();
    let effective = floor_u64(at_most(effective_samples, n)?);
    let (low, high) = quantile_ranks(effective, p, confidence)?;
    let stretch = n as f64 / effective as f64;
    // Outward: the first of the samples that `low` stands for, the last of those of `high`.
    let low = floor_u64((low as f64 - 1.0) * stretch) + 1;
    let high = floor_u64((high as f64 * stretch).ceil());
    Some((
        histogram.bucket_at_rank(low.clamp(1, n))?.0,
        histogram.bucket_at_rank(high.clamp(1, n))?.1,
    ))
}

/// The interval of the `p` quantile of correlated samples, as [`quantile_interval`] makes it of
/// (z/t)² times as many independent ones as they are worth: by the factor t/z wider.
///
/// `worth` is that of the samples above the quantile ([`Exceedances`](crate::Exceedances)).
pub fn dependent_quantile_interval(
    histogram: &LatencyHistogram,
    worth: &Worth,
    p: f64,
    confidence: f64,
) -> Option<(u64, u64)> {
    let effective = worth.effective_samples() / worth.widening(confidence)?;
    let interval = quantile_interval(histogram, effective, p, confidence)?;
    worth.is_enough().then_some(interval)
}

/// The fewest samples that a run like this may give an interval of the `p` quantile with.
pub fn samples_for_quantile(worth: &Worth, p: f64, confidence: f64) -> Option<f64> {
    if !valid(confidence) || !valid(p) {
        return None;
    }
    // All samples are on one side of the quantile with at most the probability of a tail.
    let independent = ((1.0 - confidence) / 2.0).ln() / p.max(1.0 - p).ln();
    finite(worth.samples_for(independent.ceil() * worth.widening(confidence)?))
}

/// The two-sided Clopper-Pearson interval of a probability, after `k` hits in `n` trials.
///
/// `None` for `k > n`.
///
/// ```
/// use punctual_stats::clopper_pearson;
///
/// let Some((low, high)) = clopper_pearson(3, 10, 0.95) else { return };
/// assert!((low - 0.066740).abs() < 1e-6);
/// assert!((high - 0.652453).abs() < 1e-6);
/// ```
pub fn clopper_pearson(k: u64, n: u64, confidence: f64) -> Option<(f64, f64)> {
    if !valid(confidence) || k > n {
        return None;
    }
    let alpha = (1.0 - confidence) / 2.0;
    let low = if k == 0 {
        0.0
    } else {
        binomial::p_of_upper(k, n, alpha)
    };
    let high = if k == n {
        1.0
    } else {
        binomial::p_of_lower(k, n, alpha)
    };
    Some((low, high))
}

/// The one-sided upper bound of a probability, after `k` hits in `n` trials.
///
/// The bound to quote for a deadline: "missed in at most this share of cycles". `None` for `k > n`.
///
/// ```
/// use punctual_stats::exceedance_upper_bound;
///
/// let bound = exceedance_upper_bound(0, 1_000_000, 0.95).unwrap_or(1.0);
/// assert!((bound - 2.995728e-6).abs() < 1e-12);
/// ```
pub fn exceedance_upper_bound(k: u64, n: u64, confidence: f64) -> Option<f64> {
    if !valid(confidence) || k > n {
        return None;
    }
    Some(if k == n {
        1.0
    } else {
        binomial::p_of_lower(k, n, 1.0 - confidence)
    })
}

/// The number of trials without a hit that are needed to claim a probability of at most `p`.
///
/// ```
/// assert_eq!(punctual_stats::samples_for_bound(0.01, 0.95), Some(299));
/// assert_eq!(punctual_stats::samples_for_bound(1e-6, 0.95), Some(2_995_731));
/// ```
pub fn samples_for_bound(p: f64, confidence: f64) -> Option<u64> {
    if !valid(confidence) || !valid(p) {
        return None;
    }
    let samples = ((1.0 - confidence).ln() / (-p).ln_1p()).ceil();
    // 2^64: beyond it there is no such count.
    (samples < 18_446_744_073_709_551_616.0).then(|| floor_u64(samples).max(1))
}

/// Whether `x` is a probability that leaves room on both sides; a NaN is not.
pub(crate) fn valid(x: f64) -> bool {
    x > 0.0 && x < 1.0
}

/// The effective number of samples, at most the number that there are.
fn at_most(effective_samples: f64, count: u64) -> Option<f64> {
    // `f64::min` alone would turn a NaN into the count.
    (!effective_samples.is_nan()).then(|| effective_samples.min(count as f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Samples, assert_close};

    #[test]
    fn clopper_pearson_agrees_with_known_values() {
        for (k, n, low, high) in [
            (0, 10, 0.0, 0.308_497_107_819),
            (10, 10, 0.691_502_892_181, 1.0),
            (1, 100, 0.000_253_146_033, 0.054_459_385_392),
            (50, 100, 0.398_321_129_503, 0.601_678_870_497),
        ] {
            let (l, h) = clopper_pearson(k, n, 0.95).unwrap();
            assert!(
                (l - low).abs() < 1e-9 && (h - high).abs() < 1e-9,
                "{k}/{n}: {l} {h}"
            );
        }
        // For rare hits it is the Poisson interval: 3 events give 0.618672 to 8.767273.
        let (low, high) = clopper_pearson(3, 1_000_000_000, 0.95).unwrap();
        assert_close(Some(low), 0.618_672_12e-9, 1e-7);
        assert_close(Some(high), 8.767_273_07e-9, 1e-7);
    }

    #[test]
    fn a_billion_trials_take_no_noticeable_time_and_match_the_normal_limit() {
        let (n, k) = (1_000_000_000u64, 500_000_000u64);
        let (low, high) = clopper_pearson(k, n, 0.95).unwrap();
        let half = 1.959_963_985 * (0.25 / n as f64).sqrt();
        assert_close(Some(0.5 - low), half, 1e-4);
        assert_close(Some(high - 0.5), half, 1e-4);
    }

    #[test]
    fn the_samples_for_a_bound_are_the_fewest_that_give_it() {
        for p in [0.3, 0.01, 1e-4, 1e-9] {
            let n = samples_for_bound(p, 0.99).unwrap();
            assert!(exceedance_upper_bound(0, n, 0.99).unwrap() <= p * (1.0 + 1e-12));
            assert!(exceedance_upper_bound(0, n - 1, 0.99).unwrap() > p);
        }
    }

    #[test]
    fn quantile_ranks_are_the_tightest_that_keep_the_confidence() {
        for (n, p) in [(10, 0.5), (59, 0.95), (1000, 0.99), (100_000, 0.999)] {
            let Some((low, high)) = quantile_ranks(n, p, 0.95) else {
                // P(all below) or P(all above) alone is more than 2.5 %.
                assert!(p.powf(n as f64) > 0.025 || (1.0 - p).powf(n as f64) > 0.025);
                continue;
            };
            assert!(binomial::lower(low - 1, n, p).probability() <= 0.025);
            assert!(binomial::lower(low, n, p).probability() > 0.025);
            assert!(binomial::upper(high, n, p).probability() <= 0.025);
            assert!(binomial::upper(high - 1, n, p).probability() > 0.025);
        }
        assert_eq!(quantile_ranks(10, 0.5, 0.95), Some((2, 9)));
        assert!(quantile_ranks(1_000_000_000, 0.999_999, 0.95).is_some());
    }

    #[test]
    fn claims_without_ground_are_refused() {
        assert_eq!(quantile_ranks(0, 0.5, 0.95), None);
        assert_eq!(quantile_ranks(1, 0.5, 0.95), None);
        assert_eq!(quantile_ranks(100, f64::NAN, 0.95), None);
        assert_eq!(clopper_pearson(2, 1, 0.95), None);
        assert_eq!(clopper_pearson(0, 0, 0.95), Some((0.0, 1.0)));
        assert_eq!(exceedance_upper_bound(0, 10, 1.0), None);
        assert_eq!(samples_for_bound(0.0, 0.95), None);
        let mut m = Moments::new();
        assert_eq!(mean_interval(&m, 10.0, 0.95), None);
        m.push(1.0);
        assert_eq!(mean_interval(&m, 10.0, 0.95), None);
        m.push(2.0);
        assert_eq!(mean_interval(&m, 2.0, 2.0), None);
        assert_eq!(mean_interval(&m, f64::NAN, 0.95), None);
        assert!(mean_interval(&m, f64::INFINITY, 0.95).is_some());
        let empty = LatencyHistogram::default();
        assert_eq!(quantile_interval(&empty, 100.0, 0.5, 0.95), None);
    }

    #[test]
    fn intervals_cover_the_truth_as_often_as_they_say() {
        let (mut mean_hits, mut median_hits) = (0, 0);
        for seed in 0..400 {
            let mut samples = Samples::new(seed);
            let mut m = Moments::new();
            let mut h = LatencyHistogram::default();
            for _ in 0..400 {
                let x = (samples.exponential() * 1e6).ceil();
                m.push(x);
                h.record(floor_u64(x));
            }
            let mean = mean_interval(&m, 400.0, 0.95).unwrap();
            mean_hits += u32::from((mean.low..=mean.high).contains(&1e6));
            let (low, high) = quantile_interval(&h, 400.0, 0.5, 0.95).unwrap();
            median_hits += u32::from((low..=high).contains(&693_147));
        }
        // Three standard errors of 400 trials.
        assert!((366..=393).contains(&mean_hits), "{mean_hits}");
        assert!(median_hits >= 366, "{median_hits}");
    }
}
