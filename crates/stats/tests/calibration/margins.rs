// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Margins of figures that may be 0, where the margin is a share of what the baseline is estimated to be.

use punctual_stats::RandomSource;
use punctual_stats::runs::{Direction, IntervalMethod, Margin, Options, Question, Scale, compare};

/// Counts of misses, one a run.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Counts {
    /// They do not know of each other.
    Poisson(f64),
    /// Runs differ: the rate of each is an exponential one.
    Bursty(f64),
}

impl Counts {
    fn run(self, source: &mut RandomSource, factor: f64) -> f64 {
        let mean = match self {
            Self::Poisson(mean) => mean * factor,
            Self::Bursty(mean) => -source.uniform().ln() * mean * factor,
        };
        let (mut count, mut left) = (0.0, mean);
        loop {
            left += source.uniform().ln();
            if left < 0.0 {
                return count;
            }
            count += 1.0;
        }
    }
}

/// Groups of counts whose means have a known ratio, and the margin that is asked about.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting {
    pub(crate) counts: Counts,
    pub(crate) margin: Margin,
    pub(crate) direction: Direction,
    /// The mean of the candidate over that of the baseline.
    pub(crate) truth: f64,
    /// Runs a side.
    pub(crate) runs: usize,
    pub(crate) in_blocks: bool,
}

impl Setting {
    /// A margin in the bad direction that is just the truth.
    pub(crate) fn at_not_worse(share: f64, direction: Direction) -> Self {
        Self {
            counts: Counts::Poisson(2.0),
            margin: Margin::NotWorse(share),
            direction,
            truth: match direction {
                Direction::HigherIsBetter => 1.0 / (1.0 + share),
                _ => 1.0 + share,
            },
            runs: 12,
            in_blocks: false,
        }
    }
}

/// How often the margin is shown at one look, and of how many comparisons: those with a 0 among the runs.
pub(crate) fn shown(of: Setting, experiments: u32) -> [u32; 2] {
    let mut source = RandomSource::new(91);
    let options = Options {
        margin: Some(of.margin),
        draws: 199,
        interval: IntervalMethod::Welch,
        ..Options::default()
    };
    let blocks: Vec<u64> = (0..of.runs as u64).collect();
    let (mut hits, mut all) = (0, 0);
    for _ in 0..experiments {
        let mut group = |factor| -> Vec<f64> {
            (0..of.runs)
                .map(|_| of.counts.run(&mut source, factor))
                .collect()
        };
        let (a, b) = (group(1.0), group(of.truth));
        let question = Question::new(&a, &b, of.direction);
        let question = match of.in_blocks {
            true => question.in_blocks(&blocks, &blocks),
            false => question,
        };
        let Ok(outcome) = compare(&question, &options) else {
            continue;
        };
        if outcome.scale == Scale::Linear {
            all += 1;
            let p = outcome.margin.and_then(|margin| margin.adjusted_p);
            hits += u32::from(p.is_some_and(|p| p <= options.alpha));
        }
    }
    [hits, all]
}
