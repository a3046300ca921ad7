// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Somebody who compares, makes the "N more runs" of the verdict, and compares again, to the end.

use punctual_stats::RandomSource;
use punctual_stats::runs::{Direction, Options, Outcome, Question, Verdict, compare};

/// Looks after which everybody gives up.
const MOST_LOOKS: u32 = 8;

/// Runs that vary.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Runs {
    /// Runs a side, or blocks, at the first look.
    pub(crate) first: usize,
    /// Deviation of the logarithm between runs.
    pub(crate) deviation: f64,
    /// Share of runs that something disturbs by 40 %.
    pub(crate) disturbed: f64,
    /// Whether the runs are compared inside blocks.
    pub(crate) blocked: bool,
}

/// What became of it.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Followed {
    /// Whether the first look asked for more runs.
    pub(crate) advised: bool,
    /// Whether "better" or "worse" was said at the first look, up to the second, and in the end.
    pub(crate) said: [bool; 3],
    /// How often it was compared, and how many runs a side there were in the end.
    pub(crate) looks: u32,
    pub(crate) runs: usize,
}

impl Runs {
    fn grow(&self, source: &mut RandomSource, values: &mut Vec<f64>, to: usize, factor: f64) {
        while values.len() < to {
            let mut value = 50.0 * factor * (self.deviation * source.normal()).exp();
            if source.uniform() < self.disturbed {
                value *= 1.4;
            }
            values.push(value);
        }
    }

    fn compare(&self, a: &[f64], b: &[f64]) -> Option<Outcome> {
        let options = Options {
            draws: 999,
            ..Options::default()
        };
        let blocks: Vec<u64> = (0..a.len() as u64).collect();
        let question = Question::new(a, b, Direction::LowerIsBetter);
        let question = match self.blocked {
            true => question.in_blocks(&blocks, &blocks),
            false => question,
        };
        compare(&question, &options).ok()
    }

    /// Follows the advice of every verdict until there is none, or one says that there is an effect.
    pub(crate) fn follow(&self, source: &mut RandomSource, factor: f64) -> Followed {
        let (mut a, mut b) = (Vec::new(), Vec::new());
        let mut followed = Followed::default();
        let mut runs = self.first;
        for look in 0..MOST_LOOKS {
            self.grow(source, &mut a, runs, 1.0);
            self.grow(source, &mut b, runs, factor);
            (followed.looks, followed.runs) = (look + 1, runs);
            match self.compare(&a, &b).map(|outcome| outcome.verdict) {
                Some(Verdict::Better | Verdict::Worse) => {
                    for said in followed.said.iter_mut().skip(look.min(2) as usize) {
                        *said = true;
                    }
                    break;
                }
                Some(Verdict::TooFewRuns { more: Some(more) }) => {
                    followed.advised |= look == 0;
                    runs += usize::try_from(more).unwrap_or(usize::MAX);
                }
                _ => break,
            }
            if runs > 3_000 {
                break;
            }
        }
        followed
    }

    /// Whether other runs, as many, find an effect as large as the smallest these say they could show.
    pub(crate) fn could_show(&self, source: &mut RandomSource) -> Option<bool> {
        let mut group = |factor: f64| {
            let mut values = Vec::new();
            self.grow(source, &mut values, self.first, factor);
            values
        };
        let (a, b) = (group(1.0), group(1.0));
        let least = self.compare(&a, &b)?.smallest_detectable?;
        let (a, b) = (group(1.0), group(1.0 + least));
        Some(self.compare(&a, &b)?.verdict == Verdict::Worse)
    }
}
