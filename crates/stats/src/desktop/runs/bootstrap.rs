// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Bootstrap intervals over runs, and over what is inside them.
//!
//! *Over runs* (Davison and Hinkley, *Bootstrap Methods and their Application*, 1997, chapter 5):
//! the runs of each group, or whole blocks, are drawn with replacement. The studentised interval
//! takes the distribution of (θ* - θ)/s* and is right from some 5 runs on unless a group holds an outlier.
//!
//! *Over runs, then inside* (`IntervalMethod::Hierarchical`): each run drawn is itself drawn again
//! from its samples, in blocks that are longer than their dependence ([`SampleBlocks`]). The spread
//! between runs already holds what their samples make of it, so drawing twice would count that part
//! twice: the runs drawn are pulled towards their mean by as much as the samples add again (Davison
//! and Hinkley, 3.8). What is left is the studentised interval over runs, in which each run has all
//! the values that it might have had and not one alone. How much of the spread between runs longer
//! runs would take away says [`variance_inside`].

use super::Options;
use super::question::{Layout, moments};
use crate::num::{floor_u64, index, positive};
use crate::random::RandomSource;
use crate::{LatencyHistogram, Moments};

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

fn resample(layout: &Layout, source: &mut RandomSource) -> Layout {
    fn draw<T: Copy>(items: &[T], source: &mut RandomSource) -> Vec<T> {
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
    let mut source = RandomSource::new(options.seed);
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

/// The quantile of sorted values, between neighbours (Hyndman and Fan's type 7).
fn quantile(sorted: &[f64], p: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let at = p.clamp(0.0, 1.0) * last as f64;
    let low = index(floor_u64(at)).min(last);
    let high = (low + 1).min(last);
    let part = at - low as f64;
    Some(sorted.get(low)? * (1.0 - part) + sorted.get(high)? * part)
}

/// All samples of a run in blocks that are longer than their dependence (Künsch, *Annals of
/// Statistics* 17, 1989; here blocks do not overlap), so that the run can be drawn again from them.
#[derive(Clone, Debug)]
pub struct SampleBlocks {
    highest: u64,
    blocks: Vec<Block>,
}

/// The samples of one block: a value in ns and its number, and their moments.
#[derive(Clone, Debug, Default)]
struct Block {
    counts: Vec<(u64, u64)>,
    moments: Moments,
}

impl SampleBlocks {
    /// The fewest samples of a block.
    pub const SHORTEST: usize = 50;

    /// Cuts `samples` in ns, in the order in which they were measured, into `blocks` of one length;
    /// the samples that are left over go into the last. `None` with fewer than two blocks, or fewer
    /// samples a block than [`SampleBlocks::SHORTEST`].
    pub fn new(samples: &[u64], blocks: usize) -> Option<Self> {
        let length = samples.len().checked_div(blocks)?;
        if length < Self::SHORTEST || blocks < 2 {
            return None;
        }
        let highest = samples.iter().copied().max()?;
        let mut cut = vec![Block::default(); blocks];
        let mut sorted = Vec::new();
        for (at, block) in cut.iter_mut().enumerate() {
            let to = if at + 1 == blocks {
                samples.len()
            } else {
                (at + 1) * length
            };
            sorted.clear();
            sorted.extend_from_slice(&samples[at * length..to]);
            sorted.iter().for_each(|ns| block.moments.push(*ns as f64));
            sorted.sort_unstable();
            let same = sorted.chunk_by(|a, b| a == b);
            block.counts = same.map(|part| (part[0], part.len() as u64)).collect();
        }
        Some(Self {
            highest,
            blocks: cut,
        })
    }

    /// The samples of all threads, each cut into blocks of its own: blocks of one number were
    /// measured at one time and are drawn together.
    pub fn of_threads(threads: &[Vec<u64>], blocks: usize) -> Option<Self> {
        let mut all: Option<Self> = None;
        for samples in threads {
            let one = Self::new(samples, blocks)?;
            let Some(all) = &mut all else {
                all = Some(one);
                continue;
            };
            all.highest = all.highest.max(one.highest);
            for (sum, block) in all.blocks.iter_mut().zip(one.blocks) {
                sum.counts.extend(block.counts);
                sum.moments = Moments::merged(&[sum.moments, block.moments]);
            }
        }
        all
    }

    /// The value of `figure` for `draws` runs, each of as many blocks, drawn with replacement. Draws
    /// for which there is none are left out.
    ///
    /// Not for the largest or smallest sample: none of the draws goes beyond that of the run.
    pub fn redraw(
        &self,
        figure: impl Fn(&LatencyHistogram, &Moments) -> Option<f64>,
        draws: usize,
        source: &mut RandomSource,
    ) -> Vec<f64> {
        let mut all = LatencyHistogram::new(self.highest);
        let mut drawn = Vec::with_capacity(self.blocks.len());
        let one = |_| {
            all.clear();
            drawn.clear();
            for _ in 0..self.blocks.len() {
                let block = &self.blocks[source.below(self.blocks.len())];
                for (ns, count) in &block.counts {
                    all.record_n(*ns, *count);
                }
                drawn.push(block.moments);
            }
            figure(&all, &Moments::merged(&drawn))
        };
        (0..draws).filter_map(one).collect()
    }
}

/// The studentised interval of the difference of means over units (runs, or blocks of an experiment)
/// and what is inside them; `noise` are draws about 0, a list a unit. `None` as for [`studentised`].
pub(crate) fn nested(
    layout: &Layout,
    noise: [&[Vec<f64>]; 2],
    options: &Options,
) -> Option<(f64, f64)> {
    if layout.units() < LEAST_UNITS {
        return None;
    }
    let sides: Vec<(Vec<f64>, &[Vec<f64>])> = match layout {
        Layout::Groups(a, b) => vec![(a.clone(), noise[0]), (b.clone(), noise[1])],
        Layout::Pairs(pairs) => vec![(super::question::differences(pairs), noise[0])],
    };
    let contrast = layout
        .contrast()
        .filter(|contrast| positive(contrast.error))?;
    // The values to draw: pulled towards their mean, so that with the noise they vary as before.
    let mut pulled = Vec::new();
    for (values, noise) in &sides {
        if noise.len() != values.len() || noise.iter().any(Vec::is_empty) {
            return None;
        }
        let of = moments(values);
        let (mean, between) = (of.mean()?, of.variance()?);
        let squares =
            |draws: &Vec<f64>| draws.iter().map(|e| e * e).sum::<f64>() / draws.len() as f64;
        let inside = noise.iter().map(squares).sum::<f64>() / noise.len() as f64;
        let kept = match positive(between) {
            true => (1.0 - inside / between).max(0.0).sqrt(),
            false => 0.0,
        };
        pulled.push(
            values
                .iter()
                .map(|x| kept * (x - mean))
                .collect::<Vec<f64>>(),
        );
    }
    let mut source = RandomSource::new(options.seed);
    let mut drawn = Vec::new();
    let mut ts: Vec<f64> = (0..options.draws)
        .filter_map(|_| {
            let (mut apart, mut error2) = (0.0, 0.0);
            for (side, ((_, noise), pulled)) in sides.iter().zip(&pulled).enumerate() {
                drawn.clear();
                drawn.extend((0..pulled.len()).map(|_| {
                    let at = source.below(pulled.len());
                    pulled[at] + noise[at][source.below(noise[at].len())]
                }));
                let of = moments(&drawn);
                let sign = if sides.len() == 2 && side == 0 {
                    -1.0
                } else {
                    1.0
                };
                apart += sign * of.mean()?;
                error2 += of.variance()? / pulled.len() as f64;
            }
            let error = error2.sqrt();
            (error > 1e-9 * contrast.error).then(|| apart / error)
        })
        .collect();
    ts.sort_by(f64::total_cmp);
    let tail = (1.0 - options.confidence) / 2.0;
    let (low, high) = (quantile(&ts, tail)?, quantile(&ts, 1.0 - tail)?);
    Some((
        contrast.estimate - high * contrast.error,
        contrast.estimate - low * contrast.error,
    ))
}

/// The variance of the logarithm of a run's figure that comes from its own samples, of values that
/// these might have made. `None` below two, or where a value is 0.
pub fn variance_inside(redrawn: &[f64]) -> Option<f64> {
    let logs: Vec<f64> = redrawn.iter().map(|x| x.ln()).collect();
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
            let difference = |a: f64, b: f64| Smooth {
                value: b - a,
                by_a: -1.0,
                by_b: 1.0,
            };
            assert_eq!(studentised(&layout, difference, &options), None);
        }
    }

    #[test]
    fn a_redrawn_quantile_varies_as_quantiles_of_fresh_samples_do() {
        let mut samples = Samples::new(9);
        let mut fresh = Vec::new();
        let mut first = Vec::new();
        for run in 0..300 {
            let mut histogram = LatencyHistogram::default();
            let (mut burst, mut left) = (1.0, 0);
            for _ in 0..4_000 {
                // Ten samples in a row have their height in common.
                if left == 0 {
                    (burst, left) = (samples.exponential(), 10);
                }
                left -= 1;
                let ns = floor_u64((burst + 0.1 * samples.exponential()) * 10_000.0) + 1_000;
                histogram.record(ns);
                if run == 0 {
                    first.push(ns);
                }
            }
            fresh.push((histogram.quantile(0.9).unwrap() as f64).ln());
        }
        let want = moments(&fresh).variance().unwrap();
        let redrawn = |blocks: &SampleBlocks| {
            let p90 = |all: &LatencyHistogram, _: &Moments| Some(all.quantile(0.9)? as f64);
            let drawn = blocks.redraw(p90, 400, &mut RandomSource::new(1));
            assert_eq!(drawn.len(), 400);
            variance_inside(&drawn).unwrap()
        };
        let got = redrawn(&SampleBlocks::new(&first, 40).unwrap());
        // One run's density at its quantile is itself an estimate.
        assert!((0.4..2.5).contains(&(got / want)), "{got} {want}");
        // The samples of two threads at once: half the variance, about.
        let two = SampleBlocks::of_threads(&[first[..2_000].to_vec(), first[2_000..].to_vec()], 40);
        let got = redrawn(&two.unwrap());
        assert!((0.3..3.0).contains(&(got / want)), "{got} {want}");
    }

    #[test]
    fn blocks_that_are_too_short_are_none() {
        assert!(SampleBlocks::new(&[1; 99], 2).is_none());
        assert!(SampleBlocks::new(&[1; 100], 1).is_none());
        assert!(SampleBlocks::new(&[], 2).is_none());
        assert!(SampleBlocks::new(&[1; 100], 2).is_some());
        assert!(SampleBlocks::of_threads(&[], 2).is_none());
        assert!(SampleBlocks::of_threads(&[vec![1; 100], vec![1; 10]], 2).is_none());
    }

    #[test]
    fn what_is_inside_the_runs_is_counted_once() {
        let mut samples = Samples::new(10);
        let mut values =
            |n: usize| -> Vec<f64> { (0..n).map(|_| samples.lognormal(0.0, 0.2)).collect() };
        let (a, b) = (values(12), values(12));
        let blocks: Vec<u64> = (0..12).collect();
        for question in [
            Question::new(&a, &b, Direction::Neither),
            Question::new(&a, &b, Direction::Neither).in_blocks(&blocks, &blocks),
        ] {
            let width = |interval, inside: Option<f64>| {
                let noise: Vec<Vec<f64>> = (0..12)
                    .map(|run| {
                        let mut source = RandomSource::new(run);
                        let inside = inside.unwrap_or(0.0);
                        (0..200).map(|_| (inside * source.normal()).exp()).collect()
                    })
                    .collect();
                let question = match inside {
                    Some(_) => question.with_redrawn(&noise, &noise),
                    None => question,
                };
                let options = Options {
                    interval,
                    ..Options::default()
                };
                let outcome = crate::runs::compare(&question, &options).unwrap();
                let ends = outcome.ratio.unwrap().interval.unwrap();
                ((ends.high / ends.low).ln(), outcome.interval_method)
            };
            use crate::runs::IntervalMethod::{Hierarchical, Studentised};
            let (runs_alone, _) = width(Studentised, None);
            // From nothing inside to most of the spread.
            for inside in [1e-9, 0.1, 0.18] {
                let (nested, method) = width(Hierarchical, Some(inside));
                assert_eq!(method, Some(Hierarchical));
                let ratio = nested / runs_alone;
                assert!((0.85..1.15).contains(&ratio), "{inside}: {ratio}");
            }
            // Nothing to draw from: over runs alone, and said so.
            assert_eq!(width(Hierarchical, None), (runs_alone, Some(Studentised)));
        }
    }
}
