// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Bootstrap intervals over runs, and over what is inside them.
//!
//! *Over runs* (Davison and Hinkley, *Bootstrap Methods and their Application*, 1997, chapter 5):
//! the runs of each group, or whole blocks, are drawn with replacement. The studentised interval
//! takes the distribution of (θ* - θ)/s*; the bias-corrected and accelerated one (BCa; Efron,
//! *Journal of the American Statistical Association* 82, 1987) corrects the percentiles of θ*.
//! Percentiles of θ* are about √(1 - 1/n) too narrow before anything else, so that BCa covers some
//! 80 % with 3 runs a side and 92 % with 12, where it says 95 %; the studentised interval is right
//! from some 5 runs on unless a group holds an outlier.
//!
//! *Over runs, then inside* ([`hierarchical`]): each run drawn is itself drawn again from its
//! samples. The spread between runs already holds what their samples make of it, so this counts that
//! part twice, and is for what runs alone cannot tell: one run a side (and then it speaks of that
//! boot alone), or how much of the spread between runs longer runs would take away
//! ([`variance_inside`]).

use super::Options;
use super::question::{Layout, moments};
use crate::LatencyHistogram;
use crate::num::{floor_u64, index, positive, quantile_rank};
use crate::random::Source;
use crate::student::{normal_cdf, normal_quantile};

/// Fewer units than this have too few different resamples.
const LEAST_UNITS: usize = 4;

/// A function of two means, and its derivatives by each.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Smooth {
    pub(crate) value: f64,
    pub(crate) by_a: f64,
    pub(crate) by_b: f64,
}

/// The means of both sides, the variances of these means, and their covariance.
#[derive(Clone, Copy, Debug)]
struct Means {
    a: f64,
    b: f64,
    variance_a: f64,
    variance_b: f64,
    covariance: f64,
}

impl Means {
    fn of(layout: &Layout) -> Option<Self> {
        let of = |xs: &[f64]| {
            let moments = moments(xs);
            Some((
                moments.mean()?,
                moments.variance()? / moments.count() as f64,
            ))
        };
        let (a, b, covariance) = match layout {
            Layout::Groups(a, b) => (of(a)?, of(b)?, 0.0),
            Layout::Pairs(pairs) => {
                let (a, b): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
                let n = pairs.len() as f64;
                let (mean_a, mean_b) = (of(&a)?, of(&b)?);
                let products = pairs.iter().map(|(a, b)| (a - mean_a.0) * (b - mean_b.0));
                let covariance = products.sum::<f64>() / (n - 1.0) / n;
                (mean_a, mean_b, covariance)
            }
        };
        Some(Self {
            a: a.0,
            b: b.0,
            variance_a: a.1,
            variance_b: b.1,
            covariance,
        })
    }

    /// The delta method.
    fn error(&self, at: Smooth) -> f64 {
        let variance = at.by_a * at.by_a * self.variance_a
            + at.by_b * at.by_b * self.variance_b
            + 2.0 * at.by_a * at.by_b * self.covariance;
        variance.max(0.0).sqrt()
    }
}

fn resample(layout: &Layout, source: &mut Source) -> Layout {
    fn draw<T: Copy>(items: &[T], source: &mut Source) -> Vec<T> {
        (0..items.len())
            .map(|_| items[source.below(items.len())])
            .collect()
    }
    match layout {
        Layout::Groups(a, b) => Layout::Groups(draw(a, source), draw(b, source)),
        Layout::Pairs(pairs) => Layout::Pairs(draw(pairs, source)),
    }
}

/// The studentised interval of a function of both means. `None` below four units, or where they do
/// not vary.
pub(crate) fn studentised(
    layout: &Layout,
    function: impl Fn(f64, f64) -> Smooth,
    options: &Options,
) -> Option<(f64, f64)> {
    if layout.units() < LEAST_UNITS {
        return None;
    }
    let means = Means::of(layout)?;
    let at = function(means.a, means.b);
    let error = means.error(at);
    if !positive(error) {
        return None;
    }
    let mut source = Source::new(options.seed);
    let mut ts: Vec<f64> = (0..options.draws)
        .filter_map(|_| {
            let drawn = Means::of(&resample(layout, &mut source))?;
            let there = function(drawn.a, drawn.b);
            // A resample of one unit many times has no error and no t.
            let drawn_error = drawn.error(there);
            (drawn_error > 1e-9 * error).then(|| (there.value - at.value) / drawn_error)
        })
        .collect();
    ts.sort_by(f64::total_cmp);
    let tail = (1.0 - options.confidence) / 2.0;
    let (low, high) = (quantile(&ts, tail)?, quantile(&ts, 1.0 - tail)?);
    Some((at.value - high * error, at.value - low * error))
}

/// The BCa interval of the difference of both means. `None` as for [`studentised`].
pub(crate) fn bca(layout: &Layout, options: &Options) -> Option<(f64, f64)> {
    if layout.units() < LEAST_UNITS {
        return None;
    }
    let value = |layout: &Layout| Means::of(layout).map(|means| means.b - means.a);
    let estimate = value(layout)?;
    let mut source = Source::new(options.seed);
    let mut draws: Vec<f64> = (0..options.draws)
        .filter_map(|_| value(&resample(layout, &mut source)))
        .collect();
    let groups = match layout {
        Layout::Groups(a, b) => vec![influence(a), influence(b)],
        Layout::Pairs(pairs) => vec![influence(&super::question::differences(pairs))],
    };
    // The second group adds to the difference, the first takes away; for pairs there is one.
    let signs: &[f64] = if groups.len() == 2 {
        &[-1.0, 1.0]
    } else {
        &[1.0]
    };
    let power = |exponent: i32| -> f64 {
        let of = |(group, sign): (&Vec<f64>, &f64)| {
            let sum: f64 = group.iter().map(|u| (sign * u).powi(exponent)).sum();
            sum / (group.len() as f64).powi(exponent)
        };
        groups.iter().zip(signs).map(of).sum()
    };
    let spread = power(2);
    if !positive(spread) {
        return None;
    }
    let acceleration = power(3) / (6.0 * spread.powf(1.5));
    corrected(&mut draws, estimate, acceleration, options.confidence)
}

/// The empirical influence of each value on the mean.
fn influence(xs: &[f64]) -> Vec<f64> {
    let mean = xs.iter().sum::<f64>() / xs.len() as f64;
    xs.iter().map(|x| x - mean).collect()
}

/// The BCa interval of any statistic of one group of values: `confidence`, from `draws` resamples.
///
/// `None` below four values, or where the statistic does not vary.
///
/// ```
/// use punctual_stats::runs::bootstrap::bca_of;
///
/// let values = [4.1, 5.0, 4.7, 9.2, 4.4, 5.3, 4.9, 6.1];
/// let mean = |xs: &[f64]| xs.iter().sum::<f64>() / xs.len() as f64;
/// let Some((low, high)) = bca_of(&values, mean, 9_999, 1, 0.95) else { return };
/// // The upper end is further from the mean, 5.46, than the lower.
/// assert!(low > 4.5 && high > 6.3 && high < 8.0);
/// ```
pub fn bca_of(
    values: &[f64],
    statistic: impl Fn(&[f64]) -> f64,
    draws: usize,
    seed: u64,
    confidence: f64,
) -> Option<(f64, f64)> {
    if values.len() < LEAST_UNITS {
        return None;
    }
    let mut source = Source::new(seed);
    let mut drawn = values.to_vec();
    let mut statistics: Vec<f64> = (0..draws)
        .map(|_| {
            drawn.fill_with(|| values[source.below(values.len())]);
            statistic(&drawn)
        })
        .collect();
    let without: Vec<f64> = (0..values.len())
        .map(|out| {
            let kept: Vec<f64> = values
                .iter()
                .enumerate()
                .filter(|(i, _)| *i != out)
                .map(|(_, x)| *x)
                .collect();
            statistic(&kept)
        })
        .collect();
    let influences = influence(&without);
    let (squares, cubes) = influences.iter().fold((0.0, 0.0), |(squares, cubes), u| {
        (squares + u * u, cubes - u * u * u)
    });
    if !positive(squares) {
        return None;
    }
    let acceleration = cubes / (6.0 * squares.powf(1.5));
    corrected(&mut statistics, statistic(values), acceleration, confidence)
}

/// The percentiles of `draws` after the corrections for bias and acceleration.
fn corrected(
    draws: &mut [f64],
    estimate: f64,
    acceleration: f64,
    confidence: f64,
) -> Option<(f64, f64)> {
    draws.sort_by(f64::total_cmp);
    let n = draws.len() as f64;
    let below = draws.partition_point(|x| *x < estimate) as f64;
    let up_to = draws.partition_point(|x| *x <= estimate) as f64;
    let share = (f64::midpoint(below, up_to) / n).clamp(0.5 / n, 1.0 - 0.5 / n);
    let bias = normal_quantile(share)?;
    let end = |p: f64| {
        let z = bias + normal_quantile(p)?;
        quantile(draws, normal_cdf(bias + z / (1.0 - acceleration * z)))
    };
    let tail = (1.0 - confidence) / 2.0;
    Some((end(tail)?, end(1.0 - tail)?))
}

/// The quantile of sorted values, between neighbours (Hyndman and Fan's type 7).
fn quantile(sorted: &[f64], p: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let at = p.clamp(0.0, 1.0) * last as f64;
    let low = index(floor_u64(at)).min(last);
    let high = (low + 1).min(last);
    let part = at - low as f64;
    Some(sorted.get(low)? * (1.0 - part) + sorted.get(high)? * part)
}

/// A run that can be drawn again from its own samples.
pub trait Redraw {
    /// The figure of the run, of samples drawn again.
    fn redraw(&self, source: &mut Source) -> f64;
}

/// A quantile of a run of which there is a histogram: with m independent samples, the rank k of the
/// redrawn quantile lies at the Beta(k, m + 1 - k) quantile of the samples.
#[derive(Clone, Debug)]
pub struct HistogramQuantile<'a> {
    histogram: &'a LatencyHistogram,
    p: f64,
    effective: u64,
}

impl<'a> HistogramQuantile<'a> {
    /// The `p` quantile of samples that are worth `effective` independent ones. `None` without
    /// samples, or where that is less than one.
    pub fn new(histogram: &'a LatencyHistogram, p: f64, effective: f64) -> Option<Self> {
        let effective = floor_u64(effective).min(histogram.count());
        (effective > 0 && (0.0..=1.0).contains(&p)).then_some(Self {
            histogram,
            p,
            effective,
        })
    }
}

impl Redraw for HistogramQuantile<'_> {
    fn redraw(&self, source: &mut Source) -> f64 {
        let m = self.effective;
        let k = quantile_rank(self.p, m);
        let (x, y) = (source.gamma(k as f64), source.gamma((m + 1 - k) as f64));
        let rank = (x / (x + y) * self.histogram.count() as f64).ceil();
        let rank = floor_u64(rank).clamp(1, self.histogram.count());
        self.histogram.value_at_rank(rank).unwrap_or(0) as f64
    }
}

/// A quantile of a run of which all samples are known, in blocks that are longer than the samples'
/// dependence (Künsch, *Annals of Statistics* 17, 1989; here blocks do not overlap).
#[derive(Clone, Debug)]
pub struct BlockQuantile {
    blocks: Vec<LatencyHistogram>,
    p: f64,
}

impl BlockQuantile {
    /// The `p` quantile of `samples` in ns, in the order in which they were measured, cut into
    /// `blocks` of one length; the samples that are left over go into the last. `None` with fewer
    /// samples than blocks, or fewer than two blocks.
    pub fn new(samples: &[u64], p: f64, blocks: usize) -> Option<Self> {
        let length = samples.len().checked_div(blocks)?;
        if length == 0 || blocks < 2 || !(0.0..=1.0).contains(&p) {
            return None;
        }
        let highest = samples.iter().copied().max()?;
        let mut cut: Vec<LatencyHistogram> = (0..blocks)
            .map(|_| LatencyHistogram::new(highest))
            .collect();
        for (at, part) in samples.chunks(length).enumerate() {
            cut[at.min(blocks - 1)].record_slice(part);
        }
        Some(Self { blocks: cut, p })
    }
}

impl Redraw for BlockQuantile {
    fn redraw(&self, source: &mut Source) -> f64 {
        let draw = |source: &mut Source| &self.blocks[source.below(self.blocks.len())];
        let mut all = draw(source).clone();
        for _ in 1..self.blocks.len() {
            all.merge(draw(source));
        }
        all.quantile(self.p).unwrap_or(0) as f64
    }
}

/// The percentile interval of the ratio of geometric means, candidate over baseline: runs drawn with
/// replacement, then each drawn again inside. `None` without runs on a side, or where a value is 0.
pub fn hierarchical(
    baseline: &[&dyn Redraw],
    candidate: &[&dyn Redraw],
    draws: usize,
    seed: u64,
    confidence: f64,
) -> Option<(f64, f64)> {
    if baseline.is_empty() || candidate.is_empty() {
        return None;
    }
    let mut source = Source::new(seed);
    let mean = |runs: &[&dyn Redraw], source: &mut Source| {
        let logs = (0..runs.len()).map(|_| {
            let run = runs[source.below(runs.len())];
            run.redraw(source).ln()
        });
        logs.sum::<f64>() / runs.len() as f64
    };
    let mut ratios: Vec<f64> = (0..draws)
        .map(|_| mean(candidate, &mut source) - mean(baseline, &mut source))
        .collect();
    if ratios.iter().any(|ratio| !ratio.is_finite()) {
        return None;
    }
    ratios.sort_by(f64::total_cmp);
    let tail = (1.0 - confidence) / 2.0;
    let ends = (quantile(&ratios, tail)?, quantile(&ratios, 1.0 - tail)?);
    Some((ends.0.exp(), ends.1.exp()))
}

/// The variance of the logarithm of a run's figure that comes from its own samples. `None` below two
/// draws, or where a value is 0.
pub fn variance_inside(run: &dyn Redraw, draws: usize, seed: u64) -> Option<f64> {
    let mut source = Source::new(seed);
    let logs: Vec<f64> = (0..draws).map(|_| run.redraw(&mut source).ln()).collect();
    let of = moments(&logs);
    if of.rejected() > 0 {
        return None;
    }
    of.variance()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runs::{Direction, Question};
    use crate::testing::Samples;

    fn mean(xs: &[f64]) -> f64 {
        xs.iter().sum::<f64>() / xs.len() as f64
    }

    #[test]
    fn bca_agrees_with_scipy() {
        // scipy.stats.bootstrap((x,), np.mean, method="BCa", n_resamples=999_999), 1.17.
        let x = [4.1, 5.0, 4.7, 9.2, 4.4, 5.3, 4.9, 6.1];
        let (low, high) = bca_of(&x, mean, 100_000, 1, 0.95).unwrap();
        assert!((low - SCIPY_BCA.0).abs() < 0.02, "{low}");
        assert!((high - SCIPY_BCA.1).abs() < 0.05, "{high}");
    }

    const SCIPY_BCA: (f64, f64) = (4.75, 7.1875);

    #[test]
    fn too_few_units_and_no_spread_have_no_interval() {
        let options = Options::default();
        let data = |a: &[f64], b: &[f64]| {
            Question::new(a, b, Direction::Neither)
                .data()
                .unwrap()
                .layout
        };
        let few = data(&[1.0, 2.0, 3.0], &[1.0, 2.0, 3.0]);
        let flat = data(&[2.0; 5], &[2.0; 5]);
        for layout in [few, flat] {
            assert_eq!(bca(&layout, &options), None);
            let difference = |a: f64, b: f64| Smooth {
                value: b - a,
                by_a: -1.0,
                by_b: 1.0,
            };
            assert_eq!(studentised(&layout, difference, &options), None);
        }
        assert_eq!(bca_of(&[1.0; 9], mean, 99, 1, 0.95), None);
    }

    #[test]
    fn a_redrawn_quantile_varies_as_quantiles_of_fresh_samples_do() {
        let mut samples = Samples::new(9);
        let mut fresh = Vec::new();
        let mut first = LatencyHistogram::default();
        let mut all = Vec::new();
        for run in 0..300 {
            let mut histogram = LatencyHistogram::default();
            for _ in 0..4_000 {
                let ns = floor_u64(samples.exponential() * 10_000.0) + 1_000;
                histogram.record(ns);
                if run == 0 {
                    all.push(ns);
                }
            }
            fresh.push((histogram.quantile(0.99).unwrap() as f64).ln());
            if run == 0 {
                first = histogram;
            }
        }
        let want = moments(&fresh).variance().unwrap();
        let by_rank = HistogramQuantile::new(&first, 0.99, 4_000.0).unwrap();
        let by_block = BlockQuantile::new(&all, 0.99, 80).unwrap();
        for run in [&by_rank as &dyn Redraw, &by_block] {
            let got = variance_inside(run, 400, 1).unwrap();
            // One run's density at its quantile is itself an estimate.
            assert!((0.4..2.5).contains(&(got / want)), "{got} {want}");
        }
        // Worth a quarter of the samples: four times the variance.
        let fewer = HistogramQuantile::new(&first, 0.99, 1_000.0).unwrap();
        let ratio = variance_inside(&fewer, 2_000, 1).unwrap()
            / variance_inside(&by_rank, 2_000, 1).unwrap();
        assert!((2.5..6.5).contains(&ratio), "{ratio}");
    }

    #[test]
    fn the_hierarchical_interval_is_wider_than_that_of_one_boot() {
        let mut samples = Samples::new(10);
        let mut histograms = |n: usize| -> Vec<LatencyHistogram> {
            (0..n)
                .map(|_| {
                    let boot = samples.lognormal(0.0, 0.2) * 10_000.0;
                    let mut histogram = LatencyHistogram::default();
                    for _ in 0..2_000 {
                        histogram.record(floor_u64(boot * samples.exponential()) + 1);
                    }
                    histogram
                })
                .collect()
        };
        let (a, b) = (histograms(6), histograms(6));
        let runs: [Vec<_>; 2] = [&a, &b].map(|group| {
            let of = |h| HistogramQuantile::new(h, 0.9, 2_000.0).unwrap();
            group.iter().map(of).collect()
        });
        let [refs_a, refs_b]: [Vec<&dyn Redraw>; 2] = [
            runs[0].iter().map(|run| run as &dyn Redraw).collect(),
            runs[1].iter().map(|run| run as &dyn Redraw).collect(),
        ];
        let whole = hierarchical(&refs_a, &refs_b, 999, 1, 0.95).unwrap();
        let one = hierarchical(&refs_a[..1], &refs_b[..1], 999, 1, 0.95).unwrap();
        assert!((whole.1 / whole.0).ln() > (one.1 / one.0).ln());
        assert_eq!(hierarchical(&[], &refs_b, 9, 1, 0.95), None);
    }
}
