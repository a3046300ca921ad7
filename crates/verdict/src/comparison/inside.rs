// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What the samples inside a run make of its figures: the part of the variance that longer runs
//! would take away, and the second level of the hierarchical interval.

use punctual_model::IntervalLevel;
use punctual_stats::runs::{Outcome, Scale};
use punctual_stats::{LatencyHistogram, Moments, RandomSource, float};

use super::{GroupInput, Metric, RunInput};
use crate::bursts::above;

/// Values that a run might have had, of each run.
const REDRAWN: usize = 200;

/// Values that the runs of two groups might have had, and what they were drawn from.
pub(super) struct Redrawn {
    pub(super) baseline: Vec<Vec<f64>>,
    pub(super) candidate: Vec<Vec<f64>>,
    pub(super) level: IntervalLevel,
}

impl Redrawn {
    /// Draws from the best that every run of both groups has: its samples in blocks, else the
    /// interval that it recorded of the figure. `None` where neither is there for all of them.
    pub(super) fn of(metric: &Metric, groups: [&GroupInput; 2], seed: u64) -> Option<Self> {
        [IntervalLevel::Samples, IntervalLevel::Intervals]
            .into_iter()
            .find_map(|level| {
                let mut source = RandomSource::new(seed);
                let mut side = |group: &GroupInput| -> Option<Vec<Vec<f64>>> {
                    let runs = group.runs.iter();
                    let with = runs.filter_map(|run| Some((run, run.value(metric)?)));
                    with.map(|(run, value)| match level {
                        IntervalLevel::Samples => from_blocks(metric, run, &mut source),
                        IntervalLevel::Intervals => {
                            let deviation = metric.variance_inside(&run.record)?.sqrt();
                            let one = |_| value * (deviation * source.normal()).exp();
                            Some((0..REDRAWN).map(one).collect())
                        }
                    })
                    .collect()
                };
                Some(Self {
                    baseline: side(groups[0])?,
                    candidate: side(groups[1])?,
                    level,
                })
            })
    }
}

/// The largest and the smallest sample cannot be drawn again, and misses and results are not in the
/// samples.
fn from_blocks(metric: &Metric, run: &RunInput, source: &mut RandomSource) -> Option<Vec<f64>> {
    let figure = |all: &LatencyHistogram, moments: &Moments| match metric {
        Metric::Quantile(q) => all.quantile(*q).map(float),
        Metric::Mean => moments.mean(),
        Metric::Stddev => moments.std_dev(),
        Metric::Above(limit) => Some(float(above(&run.record, all, *limit)?) / float(all.count())),
        _ => None,
    };
    let blocks = run.blocks.as_ref()?;
    let drawn = blocks.redraw(figure, REDRAWN, source);
    (drawn.len() == REDRAWN).then_some(drawn)
}

/// The mean of the variances that the runs' own samples make, over the variance between runs. It
/// may seem to be more than all.
pub(super) fn part(metric: &Metric, groups: [&GroupInput; 2], outcome: &Outcome) -> Option<f64> {
    if outcome.scale == Scale::Linear {
        return None;
    }
    let mut between = Vec::new();
    for side in [&outcome.baseline, &outcome.candidate] {
        between.push(side.deviation?.ln_1p().powi(2));
    }
    let between = between.iter().sum::<f64>() / 2.0;
    let runs = groups.iter().flat_map(|group| &group.runs);
    let own: Vec<f64> = runs
        .map(|run| metric.variance_inside(&run.record))
        .collect::<Option<_>>()?;
    let own = own.iter().sum::<f64>() / own.len() as f64;
    (between > 0.0 && own.is_finite()).then(|| (own / between).min(1.0))
}
