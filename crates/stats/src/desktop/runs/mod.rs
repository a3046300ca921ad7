// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Comparing runs. The unit of replication is the run: ten million samples of one boot are one
//! observation of that boot, and all samples of a run together are one value here, such as its p99.
//!
//! [`compare`] takes two groups of such values and answers with estimates, a ratio and a difference
//! with intervals, a p-value, the smallest effect that this number of runs could have shown, and a
//! [`Verdict`]. [`compare_all`] does so for several figures of the same runs, and corrects for
//! their number.
//!
//! # Method
//!
//! *Scale.* Values that are all above 0 are compared by their logarithms: an effect is a ratio, and
//! the estimate of a group is the geometric mean of its runs. Values with a 0 among them (misses a
//! second) are compared as they are. The choice rests on the pooled values, which the permutation
//! test leaves alone, so it costs nothing.
//!
//! *Test.* Two-sided permutation test of Welch's t (Welch, *Biometrika* 34, 1947). It is exact
//! where the groups are alike, whatever their distribution is, and asymptotically right where only
//! the means are alike (Janssen, *Statistics & Probability Letters* 36, 1997; Chung and Romano,
//! *Annals of Statistics* 41, 2013). Few runs are far from the asymptote, so Welch's t test has to
//! agree: p is the larger of the two. All arrangements are counted where they are few, else a random
//! 9999 of them, and p = (1 + hits)/(1 + drawn) (Phipson and Smyth, *Statistical Applications in
//! Genetics and Molecular Biology* 9, 2010). Runs that were made in blocks are compared inside their
//! block: one difference a block, whose sign is drawn.
//!
//! *Interval.* The values of the effect that this test does not reject (Lehmann and Romano, *Testing
//! Statistical Hypotheses*, 5.10 and 5.11): it covers as often as it says with 4 runs a side, where
//! a bootstrap interval does not, and it never contradicts the p-value. The other
//! [`IntervalMethod`]s are in [`bootstrap`]; docs/methods has the table. Where the runs are too few for a test, Welch's t interval, which trusts that logarithms are
//! normal, shows how little is known.
//!
//! *Margin.* That a change is within a share of the baseline is shown by the same test of the data shifted to that ratio; of
//! values with a 0 among them, of the contrast mean(b) - (1 + share) mean(a), since the mean of the baseline is an estimate
//! itself.
//!
//! *Looking again.* "Too few runs" invites a second look, and the level is split over both
//! ([`Look`]): whoever adds the runs that the verdict names and compares again is wrong no more
//! often than the level says.
//!
//! *Assumptions.* Runs are independent and, inside a block or a group, exchangeable: made in random
//! or interleaved order on the same machine. No statistic repairs a comparison in which all runs of
//! one group were made before all runs of the other.

pub mod bootstrap;
mod earlier;
mod lengths;
mod look;
mod margin;
mod order;
mod outcome;
mod outlier;
mod permutation;
mod power;
mod question;
mod verdict;
mod welch;

pub use earlier::{ByEarlier, Spread, by_earlier};
pub use lengths::{LEAST_BEYOND, LengthFault, Reach, length_fault};
pub use look::Look;
pub(crate) use order::trend;
pub use order::{Order, Trend, drift, order};
pub use outcome::{
    Effect, IntervalMethod, Margin, MarginTest, Outcome, Side, Test, TestKind, Verdict,
};
pub use outlier::outliers;
pub use permutation::Permutations;
pub use power::{
    Pilot, detectable, runs_to_detect, runs_to_show_equivalence, runs_to_show_not_worse,
};
pub use question::{Direction, Question, QuestionError, Scale};
pub use verdict::{Options, compare, compare_all};
pub use welch::{Summary, Welch, welch};
