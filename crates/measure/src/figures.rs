// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! From what was kept of latencies to the figures of a record, with intervals of 95 % confidence.

use std::collections::BTreeMap;

use punctual_model::WindowFigures;
use punctual_model::{Interval, LatencyStep, Misses, Nanos, Series, SeriesProgress, TooShort};
use punctual_stats::{
    Accumulator, LatencyHistogram, Moments, PSquare, Worth, dependent_mean_interval,
    dependent_quantile_interval, samples_for_quantile,
};

/// Confidence of every interval that is shown.
pub(crate) const CONFIDENCE: f64 = 0.95;

/// The quantiles that P-square follows, in the order of [`PSquare::DEFAULT`].
const PSQUARE_NAMES: [&str; 4] = ["p5", "p50", "p95", "p99"];

/// Returns the figures of one stream. What is not a figure of the samples (thread, CPU, policy, overruns,
/// lost, misses) is left empty.
pub(crate) fn series(of: &Accumulator) -> Series {
    let figures = figures(
        of.moments(),
        of.histogram(),
        of.psquare(),
        of.dependence().worth_of_mean(),
        &worth_by_quantile(of),
    );
    Series {
        tail_effective_samples: of.tail_effective_samples(),
        ..figures
    }
}

/// Returns the figures of one stream up to now. What is not a figure of the samples is left empty.
pub(crate) fn progress(of: &mut Accumulator) -> SeriesProgress {
    let window = of.window().summary(&[0.05, 0.5, 0.95, 0.99]);
    let quantile = |at: usize| window.quantiles.get(at).and_then(|(_, q)| *q);
    let recent_max_ns = of.take_recent_max();
    let histogram = of.histogram();
    let steps = histogram.steps();
    let steps = steps.iter().map(|step| LatencyStep {
        to_ns: step.to_ns,
        count: step.count,
    });
    SeriesProgress {
        count: of.count(),
        min_ns: histogram.min(),
        mean_ns: of.moments().mean(),
        p99_ns: histogram.quantile(0.99),
        max_ns: histogram.max(),
        window: Some(WindowFigures {
            count: window.count,
            mean_ns: window.mean,
            stddev_ns: window.std_dev,
            skewness: window.skewness,
            excess_kurtosis: window.excess_kurtosis,
            p5_ns: quantile(0),
            p50_ns: quantile(1),
            p95_ns: quantile(2),
            p99_ns: quantile(3),
            max_ns: window.max,
        }),
        recent_max_ns,
        steps: steps.collect(),
        ..SeriesProgress::default()
    }
}

/// Returns how often each threshold was passed.
pub(crate) fn misses(of: &Accumulator) -> Vec<Misses> {
    of.above()
        .map(|above| Misses {
            deadline_ns: Nanos::new(above.threshold_ns),
            count: above.count,
            overruns: above.unsampled,
            effective: above.effective,
        })
        .collect()
}

/// Returns what the samples are worth for each quantile, in the order of [`Accumulator::QUANTILES`].
fn worth_by_quantile(of: &Accumulator) -> Vec<Option<Worth>> {
    let quantiles = Accumulator::QUANTILES.iter();
    quantiles.map(|(_, p)| of.dependence().worth(*p)).collect()
}

/// Returns the smaller number of independent samples, of those that are known.
pub(crate) fn worst(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

/// Returns what is worth more independent samples; none where one of them is not known.
fn worth_more(a: Option<Worth>, b: Option<Worth>) -> Option<Worth> {
    let (a, b) = a.zip(b)?;
    Some(if a.effective_samples() < b.effective_samples() {
        b
    } else {
        a
    })
}

/// Returns the figures of several streams together, without P-square: the order in which their
/// samples came is not known any more.
///
/// Streams of one run share the machine and its moments: all together they may say no more than
/// the one that says most.
pub(crate) fn total(parts: &[&Accumulator]) -> Series {
    let moments: Vec<Moments> = parts.iter().map(|part| *part.moments()).collect();
    let histogram = merged(parts);
    let worth = parts
        .iter()
        .map(|part| part.dependence().worth_of_mean())
        .reduce(worth_more)
        .flatten();
    let by_quantile = parts
        .iter()
        .map(|part| worth_by_quantile(part))
        .reduce(|a, b| {
            a.into_iter()
                .zip(b)
                .map(|(a, b)| worth_more(a, b))
                .collect()
        });
    let figures = figures(
        &Moments::merged(&moments),
        &histogram,
        None,
        worth,
        &by_quantile.unwrap_or_default(),
    );
    let tails = parts.iter().map(|part| part.tail_effective_samples());
    Series {
        tail_effective_samples: tails.fold(None, worst),
        ..figures
    }
}

/// Adds what P-square, which saw the samples of all `parts`, estimates to their figures.
pub(crate) fn add_psquare(total: &mut Series, psquare: &PSquare, parts: &[&Accumulator]) {
    estimates(total, psquare, &merged(parts));
}

fn merged(parts: &[&Accumulator]) -> LatencyHistogram {
    let mut histogram = LatencyHistogram::default();
    for part in parts {
        histogram.merge(part.histogram());
    }
    histogram
}

fn estimates(series: &mut Series, psquare: &PSquare, histogram: &LatencyHistogram) {
    for (name, (_, estimate)) in PSQUARE_NAMES.iter().zip(psquare.estimates()) {
        let share = estimate.and_then(|ns| share_at_or_below(histogram, ns));
        series.psquare_ns.insert((*name).to_owned(), estimate);
        series.psquare_shares.insert((*name).to_owned(), share);
    }
}

/// Returns the counts of several series together, and no figure: of different kinds of latencies
/// there is no common distribution.
pub(crate) fn counts(series: &[Series]) -> Series {
    let sum = |count: fn(&Series) -> Option<u64>| series.iter().map(count).sum::<Option<u64>>();
    Series {
        count: series.iter().map(|s| s.count).sum(),
        overruns: sum(|s| s.overruns),
        lost: sum(|s| s.lost),
        clamped: sum(|s| s.clamped),
        ..Series::default()
    }
}

fn figures(
    moments: &Moments,
    histogram: &LatencyHistogram,
    psquare: Option<&PSquare>,
    worth: Option<Worth>,
    by_quantile: &[Option<Worth>],
) -> Series {
    let count = moments.count();
    #[expect(clippy::cast_precision_loss, reason = "a count")]
    let n = count as f64;
    // A quantile beyond which not even one sample lies would be the maximum under another name.
    // In 10 000 samples one lies beyond p99.99, also where the product comes out a little smaller.
    let supported = |p: f64| n * p.min(1.0 - p) >= 1.0 - 1e-9;
    let mean_interval = worth
        .and_then(|worth| dependent_mean_interval(moments, &worth, CONFIDENCE))
        .map(|i| Interval {
            // No latency is below 0.
            low: i.low.max(0.0),
            high: i.high,
            confidence: CONFIDENCE,
        });
    let mut too_short = BTreeMap::new();
    let mut needs = |name: &str, worth: Worth, needed: Option<f64>| {
        too_short.extend(Some(name.to_owned()).zip(too_short_by(n, worth, needed)));
    };
    if let (None, Some(worth)) = (&mean_interval, worth) {
        needs("mean", worth, Some(worth.samples_for(Worth::LEAST)));
    }
    let mut quantile_intervals_ns = BTreeMap::new();
    for ((name, p), worth) in Accumulator::QUANTILES.iter().zip(by_quantile) {
        let interval = worth
            .and_then(|worth| dependent_quantile_interval(histogram, &worth, *p, CONFIDENCE))
            .map(|(low, high)| interval(low, high));
        if let (None, Some(worth), true) = (&interval, worth, supported(*p)) {
            needs(name, *worth, samples_for_quantile(worth, *p, CONFIDENCE));
        }
        quantile_intervals_ns.insert((*name).to_owned(), interval);
    }
    let mut series = Series {
        count,
        min_ns: histogram.min(),
        max_ns: histogram.max(),
        mean_ns: moments.mean(),
        stddev_ns: moments.std_dev(),
        skewness: moments.skewness(),
        excess_kurtosis: moments.excess_kurtosis(),
        quantiles_ns: Accumulator::QUANTILES
            .iter()
            .map(|(name, p)| {
                let value = histogram.quantile(*p).filter(|_| supported(*p));
                ((*name).to_owned(), value)
            })
            .collect(),
        quantile_relative_error: Some(LatencyHistogram::RELATIVE_ERROR),
        mean_interval_ns: mean_interval,
        quantile_intervals_ns,
        effective_samples: worth.map(|worth| worth.effective_samples()),
        too_short,
        clamped: Some(histogram.clamped()),
        ..Series::default()
    };
    if let Some(psquare) = psquare {
        estimates(&mut series, psquare, histogram);
    }
    series
}

/// Returns what a run of `n` samples is too short for, which are worth so much, one of its streams having
/// shown it.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts, which saturate"
)]
fn too_short_by(n: f64, worth: Worth, needed: Option<f64>) -> Option<TooShort> {
    Some(TooShort {
        correlation_samples: n / worth.effective_samples(),
        needed_samples: (needed? * n / worth.count as f64).ceil() as u64,
    })
}

/// Returns the share of samples at or below `ns`, to within the histogram's buckets.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "estimates lie between the smallest and the largest sample"
)]
fn share_at_or_below(histogram: &LatencyHistogram, ns: f64) -> Option<f64> {
    let n = histogram.count();
    (n > 0).then(|| 1.0 - histogram.count_above(ns as u64) as f64 / n as f64)
}

#[expect(clippy::cast_precision_loss, reason = "exact below 104 days")]
const fn interval(low: u64, high: u64) -> Interval {
    Interval {
        low: low as f64,
        high: high as f64,
        confidence: CONFIDENCE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_stats::RandomSource;

    /// Blocks of `length` samples, one in ten of which is all late.
    fn bursts(length: usize) -> Accumulator {
        let mut tally = Accumulator::default();
        let mut seed = 1_u64;
        for _ in 0..200_000 / length {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let late = (seed >> 33).is_multiple_of(10);
            let block: Vec<u64> = (0..length)
                .map(|at| at as u64 % 7 + if late { 9_000 } else { 1_000 })
                .collect();
            tally.record_slice(&block);
        }
        tally
    }

    #[test]
    fn the_tail_of_all_threads_is_worth_what_that_of_the_most_dependent_is() {
        let (short, long) = (bursts(1), bursts(200));
        let tail = |tally: &Accumulator| series(tally).tail_effective_samples.unwrap();
        assert!(10.0 * tail(&long) < tail(&short));
        let all = total(&[&short, &long]).tail_effective_samples.unwrap();
        assert!((all - tail(&long)).abs() < 1e-9);
        assert_eq!(series(&Accumulator::default()).tail_effective_samples, None);
    }

    #[test]
    fn what_is_not_known_of_one_thread_is_taken_from_the_others() {
        assert_eq!(worst(Some(2.0), Some(1.0)), Some(1.0));
        assert_eq!(worst(None, Some(1.0)), Some(1.0));
        assert_eq!(worst(None, None), None);
    }

    /// The figures of samples each of which is a part of the one before plus noise.
    fn remembering(kept: f64, samples: u32) -> Series {
        let (mut source, mut x) = (RandomSource::new(5), 0.0);
        let mut tally = Accumulator::default();
        for _ in 0..samples {
            x = kept * x + source.normal();
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "positive"
            )]
            tally.record_slice(&[(1e6 + 1e3 * x) as u64]);
        }
        series(&tally)
    }

    #[test]
    fn a_figure_without_an_interval_says_how_many_samples_it_needs() {
        let series = remembering(0.99, 10_000);
        assert_eq!(series.mean_interval_ns, None);
        assert!(series.quantile_intervals_ns.values().all(Option::is_none));
        let mean = series.too_short["mean"];
        // The correlation time is 199, and a hundred times that is needed.
        assert!(
            (60.0..600.0).contains(&mean.correlation_samples),
            "{mean:?}"
        );
        assert!((10_001..60_000).contains(&mean.needed_samples), "{mean:?}");
        let p99 = series.too_short["p99"];
        assert!(p99.needed_samples > mean.needed_samples, "{p99:?}");
        // No value, and no interval of it.
        assert_eq!(series.too_short.get("p99.999"), None);
    }

    #[test]
    fn independent_samples_need_nothing_but_their_number() {
        let series = remembering(0.0, 5_000);
        assert!(series.mean_interval_ns.is_some());
        let short: Vec<&str> = series.too_short.keys().map(String::as_str).collect();
        assert!(
            !short.contains(&"mean") && !short.contains(&"p50"),
            "{short:?}"
        );
        assert!(series.quantile_intervals_ns["p99"].is_some());
    }
}
