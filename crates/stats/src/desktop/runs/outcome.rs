// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What a comparison answers.

use super::question::Scale;
use crate::precision::Interval;

/// The answer to one [`Question`](super::Question).
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// How the values were compared.
    pub scale: Scale,
    /// The first group.
    pub baseline: Side,
    /// The second group.
    pub candidate: Side,
    /// Blocks that have both groups. `None` where no blocks were given.
    pub pairs: Option<usize>,
    /// Runs in blocks that have one group alone. They are in [`Side`], in no effect and no test.
    pub unpaired: usize,
    /// Candidate over baseline. `None` unless both are above 0.
    pub ratio: Option<Effect>,
    /// Candidate minus baseline, in the unit of the values. `None` without runs on a side.
    pub difference: Option<Effect>,
    /// How the interval of the ratio (on the linear scale, of the difference) was made. `None`
    /// where there is none.
    pub interval_method: Option<IntervalMethod>,
    /// The test of "no effect". `None` below two runs a side, or two blocks.
    pub test: Option<Test>,
    /// The test of "an effect beyond the margin", where a margin was given.
    pub margin: Option<MarginTest>,
    /// Whether the smaller group has fewer than six runs and varies more than twice as much as the
    /// other: too few to tell its spread, so that there is no verdict.
    pub lopsided: bool,
    /// The smallest change, as a share of the baseline, that this number of runs finds with the wanted
    /// power. `None` where runs do not vary, where the baseline is not above 0, and where a test of so few
    /// runs finds only groups that are wholly apart.
    pub smallest_detectable: Option<f64>,
    /// What follows.
    pub verdict: Verdict,
}

/// One group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Side {
    /// Number of runs.
    pub runs: usize,
    /// Geometric mean on the logarithmic scale, else the mean. `None` without runs.
    pub estimate: Option<f64>,
    /// The deviation between runs, as a share of the estimate on the logarithmic scale (exp σ - 1),
    /// else in the unit of the values. `None` below two runs.
    pub deviation: Option<f64>,
    /// Student's t interval of the estimate. `None` below two runs.
    pub interval: Option<Interval>,
}

/// A ratio or a difference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effect {
    /// The estimate.
    pub estimate: f64,
    /// Its interval. `None` where the runs allow none.
    pub interval: Option<Interval>,
}

/// How an interval is made.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum IntervalMethod {
    /// The effects that the permutation test does not reject.
    #[default]
    Permutation,
    /// The studentised bootstrap over runs.
    Studentised,
    /// The studentised bootstrap over runs, each drawn again from its samples
    /// ([`Question::with_redrawn`](super::Question::with_redrawn)); without those, over runs alone,
    /// and it then says so: `Studentised`.
    Hierarchical,
    /// Welch's t; of the differences of blocks, Student's. What is left below four runs a side.
    Welch,
}

/// A test of "no effect".
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Test {
    /// Two-sided p-value: the larger one of the permutations' and, of two groups, Welch's.
    pub p: f64,
    /// That of the permutations alone.
    pub permutations_p: f64,
    /// The same after the correction for a second look ([`Look`](super::Look)), and Holm's for the
    /// questions asked together: at most the level where there is an effect.
    pub adjusted_p: f64,
    /// What it would be if nothing else were asked.
    pub alone_p: f64,
    /// Which arrangements it rests on.
    pub kind: TestKind,
    /// The smallest p-value that this number of runs can give.
    pub smallest_p: f64,
}

/// Which arrangements a permutation test rests on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum TestKind {
    /// All of them.
    Exact {
        /// Their number.
        arrangements: u64,
    },
    /// Random ones.
    MonteCarlo {
        /// Their number, without the observed one.
        drawn: u64,
    },
}

/// A change that is to be shown not to be there, as a share: 0.05 is a ratio of 1.05, or of 1/1.05.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Margin {
    /// Neither up nor down: the groups are the same.
    Same(f64),
    /// Not in the bad direction; the good one is free.
    NotWorse(f64),
}

/// A test of "an effect beyond the margin".
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MarginTest {
    /// The margin.
    pub margin: Margin,
    /// The p-value of the one-sided test; of [`Margin::Same`] the larger one of two. `None` where the
    /// margin is undefined (the baseline is not above 0, no direction is bad) or the runs are too
    /// few.
    pub p: Option<f64>,
    /// The same after both corrections.
    pub adjusted_p: Option<f64>,
}

/// What follows from a comparison.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Verdict {
    /// There is an effect, in the good direction.
    Better,
    /// There is an effect, in the bad direction.
    Worse,
    /// There is an effect, and neither direction is good.
    Different,
    /// The effect, if there is one, is within the margin.
    Equivalent,
    /// The effect, if there is one in the bad direction, is below the margin.
    NotWorse,
    /// No effect was found, and an effect that matters would have been.
    NotDistinguishable,
    /// No effect was found, and one that matters might well have been missed.
    TooFewRuns {
        /// Further runs on each side, or further blocks, with which it would be found. `None` where
        /// that cannot be told, or more than a million are needed.
        more: Option<u64>,
    },
}
