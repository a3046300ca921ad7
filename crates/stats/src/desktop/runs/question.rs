// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Two groups of runs, and what is good.

use std::collections::BTreeMap;

use crate::Moments;

/// Which direction of a figure is good.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Direction {
    /// Less is better: latencies, misses.
    LowerIsBetter,
    /// More is better: throughput.
    HigherIsBetter,
    /// Neither.
    Neither,
}

/// How values are compared.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Scale {
    /// By their logarithms: effects are ratios.
    Log,
    /// As they are: effects are differences.
    Linear,
}

/// Two groups of run-level values, one value a run.
///
/// ```
/// use punctual_stats::runs::{Direction, Question};
///
/// // The p99 of each run in µs; the runs of a block were made one after the other.
/// let question = Question::new(
///     &[50.1, 51.3, 49.8, 50.7],
///     &[55.2, 56.0, 54.1, 55.9],
///     Direction::LowerIsBetter,
/// )
/// .in_blocks(&[1, 2, 3, 4], &[1, 2, 3, 4]);
/// # let _ = question;
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    baseline: &'a [f64],
    candidate: &'a [f64],
    blocks: Option<(&'a [u64], &'a [u64])>,
    redrawn: Option<[&'a [Vec<f64>]; 2]>,
    pub(crate) direction: Direction,
}

/// The reason that a question makes no sense.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum QuestionError {
    /// A value is infinite or not a number.
    #[error("value {index} of the {group} is not a finite number")]
    NotFinite {
        /// `baseline` or `candidate`.
        group: &'static str,
        /// Place of the value, from 0.
        index: usize,
    },
    /// There is not one block a value.
    #[error("the {group} has {values} values and {blocks} blocks")]
    Blocks {
        /// `baseline` or `candidate`.
        group: &'static str,
        /// Number of values.
        values: usize,
        /// Number of blocks.
        blocks: usize,
    },
}

impl<'a> Question<'a> {
    /// Asks how `candidate` compares with `baseline`.
    pub fn new(baseline: &'a [f64], candidate: &'a [f64], direction: Direction) -> Self {
        Self {
            baseline,
            candidate,
            blocks: None,
            redrawn: None,
            direction,
        }
    }

    /// Says in which block each run was made. Runs are then compared inside their block.
    ///
    /// The sign of a block's difference is random under "no effect" where the block has as many runs
    /// of one group as of the other, as experiments make them.
    #[must_use]
    pub fn in_blocks(mut self, baseline: &'a [u64], candidate: &'a [u64]) -> Self {
        self.blocks = Some((baseline, candidate));
        self
    }

    /// Gives values of each run that its samples, drawn again, might have made: what
    /// [`IntervalMethod::Hierarchical`](super::IntervalMethod) draws inside the runs.
    #[must_use]
    pub fn with_redrawn(mut self, baseline: &'a [Vec<f64>], candidate: &'a [Vec<f64>]) -> Self {
        self.redrawn = Some([baseline, candidate]);
        self
    }

    pub(crate) fn data(&self) -> Result<Data, QuestionError> {
        finite("baseline", self.baseline)?;
        finite("candidate", self.candidate)?;
        let scale = scale_of(&[self.baseline, self.candidate]);
        let on_scale = |xs: &[f64]| -> Vec<f64> {
            match scale {
                Scale::Log => xs.iter().map(|x| x.ln()).collect(),
                Scale::Linear => xs.to_vec(),
            }
        };
        let (a, b) = (on_scale(self.baseline), on_scale(self.candidate));
        let noise = self.redrawn.and_then(|[in_a, in_b]| {
            let of = |redrawn: &[Vec<f64>], runs: usize| {
                let noise: Option<Vec<_>> =
                    redrawn.iter().map(|xs| centred(&on_scale(xs))).collect();
                noise.filter(|noise| noise.len() == runs)
            };
            Some([of(in_a, a.len())?, of(in_b, b.len())?])
        });
        let Some((blocks_a, blocks_b)) = self.blocks else {
            return Ok(Data {
                scale,
                layout: Layout::Groups(a.clone(), b.clone()),
                noise,
                a,
                b,
                unpaired: 0,
            });
        };
        one_block_each("baseline", &a, blocks_a)?;
        one_block_each("candidate", &b, blocks_b)?;
        let (pairs, unpaired) = paired(&a, blocks_a, &b, blocks_b);
        let noise = noise
            .and_then(|noise| noise_of_pairs((&noise[0], blocks_a), (&noise[1], blocks_b)))
            .map(|noise| [noise, Vec::new()]);
        Ok(Data {
            scale,
            noise,
            a,
            b,
            layout: Layout::Pairs(pairs),
            unpaired,
        })
    }
}

/// Logarithms where every value has one. It looks at all values together, whoever they are of.
pub(crate) fn scale_of(groups: &[&[f64]]) -> Scale {
    if groups.iter().copied().flatten().all(|x| *x > 0.0) {
        Scale::Log
    } else {
        Scale::Linear
    }
}

fn finite(group: &'static str, values: &[f64]) -> Result<(), QuestionError> {
    match values.iter().position(|x| !x.is_finite()) {
        Some(index) => Err(QuestionError::NotFinite { group, index }),
        None => Ok(()),
    }
}

fn one_block_each(
    group: &'static str,
    values: &[f64],
    blocks: &[u64],
) -> Result<(), QuestionError> {
    if values.len() == blocks.len() {
        return Ok(());
    }
    Err(QuestionError::Blocks {
        group,
        values: values.len(),
        blocks: blocks.len(),
    })
}

/// The mean of each group in each block that has both, and the number of runs in blocks that have
/// one alone.
fn paired(a: &[f64], blocks_a: &[u64], b: &[f64], blocks_b: &[u64]) -> (Vec<(f64, f64)>, usize) {
    let mut blocks: BTreeMap<u64, (Moments, Moments)> = BTreeMap::new();
    for (x, block) in a.iter().zip(blocks_a) {
        blocks.entry(*block).or_default().0.push(*x);
    }
    for (x, block) in b.iter().zip(blocks_b) {
        blocks.entry(*block).or_default().1.push(*x);
    }
    let mut unpaired = 0;
    let mut pairs = Vec::new();
    for (a, b) in blocks.values() {
        match (a.mean(), b.mean()) {
            (Some(a), Some(b)) => pairs.push((a, b)),
            _ => unpaired += crate::num::index(a.count() + b.count()),
        }
    }
    (pairs, unpaired)
}

/// Values less their mean. `None` below two, or where one is not finite.
fn centred(values: &[f64]) -> Option<Vec<f64>> {
    let mean = moments(values).mean()?;
    let finite = values.len() > 1 && values.iter().all(|x| x.is_finite());
    finite.then(|| values.iter().map(|x| x - mean).collect())
}

/// The noise of the difference of each block that has both groups, in the order of [`paired`]: runs
/// inside a block do not know of each other, so their draws are taken together as they come.
fn noise_of_pairs(a: (&[Vec<f64>], &[u64]), b: (&[Vec<f64>], &[u64])) -> Option<Vec<Vec<f64>>> {
    let mut blocks: BTreeMap<u64, [Vec<&Vec<f64>>; 2]> = BTreeMap::new();
    for (side, (noise, of_runs)) in [a, b].into_iter().enumerate() {
        for (draws, block) in noise.iter().zip(of_runs) {
            blocks.entry(*block).or_default()[side].push(draws);
        }
    }
    let both = blocks
        .values()
        .filter(|[a, b]| !a.is_empty() && !b.is_empty());
    both.map(|sides| {
        let draws = sides.iter().flatten().map(|draws| draws.len()).min()?;
        let mean = |runs: &[&Vec<f64>], draw: usize| {
            runs.iter().map(|noise| noise[draw]).sum::<f64>() / runs.len() as f64
        };
        Some(
            (0..draws)
                .map(|draw| mean(&sides[1], draw) - mean(&sides[0], draw))
                .collect(),
        )
    })
    .collect()
}

/// The values on their scale.
#[derive(Clone, Debug)]
pub(crate) struct Data {
    pub(crate) scale: Scale,
    pub(crate) a: Vec<f64>,
    pub(crate) b: Vec<f64>,
    /// What the runs' samples make of each unit of the layout, drawn again, about 0; of blocks, that
    /// of the difference, in the first. `None` where it was not given for every run.
    pub(crate) noise: Option<[Vec<Vec<f64>>; 2]>,
    pub(crate) layout: Layout,
    pub(crate) unpaired: usize,
}

impl Data {
    /// The mean of each side by the runs that the interval and the test are of: in blocks, those of the pairs. Without
    /// a pair there is neither, and all runs say what they say.
    pub(crate) fn means(&self) -> Option<(f64, f64)> {
        let of = |a: &[f64], b: &[f64]| Some((moments(a).mean()?, moments(b).mean()?));
        match &self.layout {
            Layout::Pairs(pairs) if !pairs.is_empty() => {
                let (a, b): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
                of(&a, &b)
            }
            _ => of(&self.a, &self.b),
        }
    }
}

/// What is exchangeable under "no effect".
#[derive(Clone, Debug)]
pub(crate) enum Layout {
    /// The runs of two groups.
    Groups(Vec<f64>, Vec<f64>),
    /// The two sides of each block.
    Pairs(Vec<(f64, f64)>),
}

/// The effect on the scale of the data: candidate minus baseline.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Contrast {
    pub(crate) estimate: f64,
    pub(crate) error: f64,
    pub(crate) freedom: f64,
}

impl Layout {
    /// The units of the smaller side: runs, or blocks.
    pub(crate) fn units(&self) -> usize {
        match self {
            Self::Groups(a, b) => a.len().min(b.len()),
            Self::Pairs(pairs) => pairs.len(),
        }
    }

    /// The same with the values of each side `times` as large.
    pub(crate) fn scaled(&self, times: [f64; 2]) -> Self {
        let by = |xs: &[f64], times: f64| xs.iter().map(|x| times * x).collect();
        match self {
            Self::Groups(a, b) => Self::Groups(by(a, times[0]), by(b, times[1])),
            Self::Pairs(pairs) => {
                let both = pairs.iter().map(|(a, b)| (times[0] * a, times[1] * b));
                Self::Pairs(both.collect())
            }
        }
    }

    /// Whether the smaller of two groups has fewer than six runs and varies more than twice as much.
    pub(crate) fn is_lopsided(&self) -> bool {
        let Self::Groups(a, b) = self else {
            return false;
        };
        let (few, many) = if a.len() < b.len() { (a, b) } else { (b, a) };
        let deviation = |xs: &[f64]| moments(xs).std_dev().unwrap_or(0.0);
        few.len() < 6 && few.len() < many.len() && deviation(few) > 2.0 * deviation(many)
    }

    /// The degrees of freedom of Welch's t test: those of a group alone that has fewer than six runs
    /// against at least twice as many. Satterthwaite's rest on a spread that so few do not tell, and
    /// are too many where it came out small.
    pub(crate) fn freedom(&self, satterthwaite: f64) -> f64 {
        match self {
            Self::Groups(a, b) => {
                let (few, many) = (a.len().min(b.len()), a.len().max(b.len()));
                match few < 6 && many >= 2 * few {
                    true => few as f64 - 1.0,
                    false => satterthwaite,
                }
            }
            Self::Pairs(_) => satterthwaite,
        }
    }

    /// The estimate, its standard error, and the degrees of freedom of that; `None` below two units.
    pub(crate) fn contrast(&self) -> Option<Contrast> {
        match self {
            Self::Groups(a, b) => {
                let (a, b) = (moments(a), moments(b));
                let parts = [a.variance()? / count(&a), b.variance()? / count(&b)];
                let error2: f64 = parts.iter().sum();
                Some(Contrast {
                    estimate: b.mean()? - a.mean()?,
                    error: error2.sqrt(),
                    freedom: super::welch::satterthwaite(parts, [count(&a), count(&b)]),
                })
            }
            Self::Pairs(pairs) => {
                let d = moments(&differences(pairs));
                Some(Contrast {
                    estimate: d.mean()?,
                    error: (d.variance()? / count(&d)).sqrt(),
                    freedom: count(&d) - 1.0,
                })
            }
        }
    }
}

pub(crate) fn differences(pairs: &[(f64, f64)]) -> Vec<f64> {
    pairs.iter().map(|(a, b)| b - a).collect()
}

pub(crate) fn moments(xs: &[f64]) -> Moments {
    let mut moments = Moments::new();
    moments.extend_from_slice(xs);
    moments
}

fn count(moments: &Moments) -> f64 {
    moments.count() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_are_all_positive_are_compared_by_their_logarithms() {
        assert_eq!(scale_of(&[&[1.0, 2.0], &[0.5]]), Scale::Log);
        assert_eq!(scale_of(&[&[1.0, 2.0], &[0.0]]), Scale::Linear);
        assert_eq!(scale_of(&[&[-1.0], &[1.0]]), Scale::Linear);
    }

    #[test]
    fn blocks_pair_what_they_hold_and_count_what_they_do_not() {
        let q = Question::new(&[1.0, 3.0, 5.0, 7.0], &[0.0, 4.0], Direction::LowerIsBetter)
            .in_blocks(&[1, 1, 2, 9], &[1, 2]);
        let data = q.data().unwrap();
        let Layout::Pairs(pairs) = &data.layout else {
            panic!("pairs");
        };
        assert_eq!(pairs, &[(2.0, 0.0), (5.0, 4.0)]);
        assert_eq!(data.unpaired, 1);
        let contrast = data.layout.contrast().unwrap();
        assert!((contrast.estimate + 1.5).abs() < 1e-12);
        assert_eq!(contrast.freedom, 1.0);
    }

    #[test]
    fn what_makes_no_sense_is_refused_by_name() {
        let q = Question::new(&[1.0, f64::NAN], &[1.0], Direction::Neither);
        assert_eq!(
            q.data().unwrap_err().to_string(),
            "value 1 of the baseline is not a finite number"
        );
        let q = Question::new(&[1.0], &[1.0, 2.0], Direction::Neither).in_blocks(&[1], &[1]);
        assert_eq!(
            q.data().unwrap_err().to_string(),
            "the candidate has 2 values and 1 blocks"
        );
    }
}
