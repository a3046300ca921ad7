// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! How groups of runs compare. The statistics are those of the crate `punctual-stats`, module `runs`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::figure::Interval;
use crate::figure::{Better, Finding};
use crate::requirement::RequirementResult;

/// The name and major version of the format that this program writes.
pub const COMPARISON_FORMAT: &str = "punctual.comparison/1";

/// Groups of runs, and what can be said of each compared with the first.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Comparison {
    /// `punctual.comparison/1`.
    pub format: String,
    /// How it was compared.
    pub method: ComparisonMethod,
    /// The groups, the first of which the others are compared with.
    pub groups: Vec<ComparedGroup>,
    /// One entry a figure and group but the first.
    pub results: Vec<ComparedFigure>,
    /// The answer in words, for each group but the first. Absent in comparisons of older programs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<ComparisonAnswer>,
    /// What a reader should know: drift, outlier runs, groups that were not mixed, differences
    /// between the groups that were perhaps not meant.
    pub remarks: Vec<Finding>,
    /// What each group allows to be said of each `--require`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requirements: Vec<GroupRequirement>,
}

impl Comparison {
    /// The remark of a comparison of instruction counts.
    pub const VIRTUAL_TIME: &str = "virtual-time";

    /// Whether its times are instruction counts, and no latencies.
    pub fn is_virtual(&self) -> bool {
        self.remarks
            .iter()
            .any(|remark| remark.id == Self::VIRTUAL_TIME)
    }
}

/// What a group is, compared with the first.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ComparisonAnswer {
    /// Name of the group.
    pub group: String,
    /// The answer in a word or two: `worse`, `mixed`, `no verdict`.
    pub verdict: String,
    /// The same in sentences, the verdict first.
    pub sentences: Vec<String>,
}

/// How groups were compared.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ComparisonMethod {
    /// `permutation` of runs; `earlier` where earlier runs say how much runs vary; `welch` of published means.
    pub test: String,
    /// Level of the tests, for all of them together.
    pub alpha: f64,
    /// Number of tests that the p-values are corrected for (Holm).
    pub tests: u64,
    /// Confidence of the intervals.
    pub confidence: f64,
    /// The smallest change that matters, as a share: what decides between "not distinguishable" and
    /// "too few runs".
    pub effect: f64,
    /// The smallest difference that matters of a figure that is 0 in some run, in its unit, if that was
    /// given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub difference: Option<f64>,
    /// The power: probability of finding an effect that matters.
    pub power: f64,
    /// The change, as a share, within which groups are the same, if that was asked.
    pub equivalence: Option<f64>,
    /// The change in the bad direction, as a share, that groups were to be shown not to have, if that
    /// was asked.
    #[serde(default)]
    pub not_worse: Option<f64>,
    /// How intervals are made, where the runs allow it: `permutation` or
    /// `hierarchical`; `welch` of published means. Older programs also had `studentised` and `bca`.
    pub interval: String,
    /// Random arrangements, or resamples.
    pub draws: u64,
    /// Seed of the random numbers: the same runs and seed give the same answer.
    pub seed: u64,
}

/// One group of runs.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ComparedGroup {
    /// Its name.
    pub name: String,
    /// The runs that were compared, by start.
    pub runs: Vec<ComparedRun>,
    /// The runs that were not, with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<RefusedRun>,
    /// The samples of the only run of the group: what there is where runs cannot be compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distribution: Option<Distribution>,
    /// The mean that somebody published, in place of runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<PublishedMean>,
}

/// The samples of one run. Intervals cover what that run did, not what another boot would do.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Distribution {
    /// Number of samples.
    pub samples: u64,
    /// Smallest sample.
    pub min_ns: Option<u64>,
    /// Largest sample.
    pub max_ns: Option<u64>,
    /// Quantiles. Null where fewer than one sample lies beyond.
    pub quantiles_ns: BTreeMap<String, Option<u64>>,
    /// Their intervals. Null where the samples allow none.
    pub quantile_intervals_ns: BTreeMap<String, Option<Interval>>,
}

/// A mean in a table that somebody published.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct PublishedMean {
    /// Number of runs.
    pub runs: u64,
    /// Their mean.
    pub mean: f64,
    /// The standard error of the mean.
    pub standard_error: f64,
    /// Whether the number of runs was not stated but follows from the deviation and the error.
    pub runs_inferred: bool,
}

/// One run that was compared.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ComparedRun {
    /// Identity of the run.
    pub id: String,
    /// Name given by the user.
    pub name: Option<String>,
    /// Start, RFC 3339 in UTC. Null if an imported run does not say.
    pub started: Option<String>,
    /// Whether every check passed. Of an imported run nothing was checked.
    pub valid: bool,
    /// Whether it was imported. Absent where it was measured, and in comparisons of older programs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub imported: bool,
    /// Block of the experiment that it was made in.
    pub block: Option<u64>,
    /// Number of samples.
    pub samples: u64,
    /// The figures that were compared. Null where the run does not have one.
    pub values: BTreeMap<String, Option<f64>>,
}

/// One run that was not compared.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct RefusedRun {
    /// Identity of the run, or the name of its file.
    pub id: String,
    /// Why not.
    pub reason: String,
    /// Its start, RFC 3339 in UTC. Absent where it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<String>,
    /// Whether it cannot be read. Whether it belongs to the group is not known then, unless it could be read before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unreadable: bool,
}

/// How one figure of two groups compares.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ComparedFigure {
    /// The figure: `p99`, `max`, `gflops[n=4000]`.
    pub figure: String,
    /// Its unit: `ns`, `MB/s`, `1/s`, `1` for a share.
    pub unit: String,
    /// Which direction is good.
    pub better: Better,
    /// What follows.
    pub verdict: ComparisonVerdict,
    /// Why nothing follows, where more runs would not change that; the verdict is `too_few_runs` then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub withheld: Option<Withheld>,
    /// Further runs on each side, or blocks, that would find what matters, or show that it is not
    /// there. Null for other verdicts, and where that cannot be told.
    pub more_runs: Option<u64>,
    /// The group compared with.
    pub baseline: GroupFigure,
    /// The group.
    pub candidate: GroupFigure,
    /// How the values were compared.
    pub scale: ComparisonScale,
    /// Candidate over baseline. Null unless both are above 0.
    pub ratio: Option<Effect>,
    /// Candidate minus baseline, in the unit.
    pub difference: Option<Effect>,
    /// How the interval of the ratio (on the linear scale, of the difference) was made: as the
    /// method says, or `welch` where the runs are too few for it, or `studentised` where a
    /// hierarchical one has nothing inside the runs to draw from, or `earlier`. Null where there is none.
    pub interval_method: Option<String>,
    /// What each run was drawn again from for a hierarchical interval. Absent where the interval is
    /// over runs alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_level: Option<IntervalLevel>,
    /// Blocks that have both groups, where the runs were compared inside their blocks.
    pub pairs: Option<u64>,
    /// Runs in blocks that have one group alone, in no effect and no test.
    pub unpaired: u64,
    /// Two-sided p-value of "no effect". Null below two runs a side.
    pub p: Option<f64>,
    /// The same after the corrections for a second look, which "too few runs" invites to, or the latest
    /// one that was planned, and for all tests: at most `alpha` where there is an effect.
    pub adjusted_p: Option<f64>,
    /// The smallest p-value that this number of runs can give.
    pub smallest_p: Option<f64>,
    /// Arrangements that the p-value rests on.
    pub arrangements: Option<u64>,
    /// Whether these are all that there are.
    pub exact: Option<bool>,
    /// P-value of "a change beyond the margin" (of `equivalence` or `not_worse`), after the correction.
    /// Null where no margin was asked for.
    pub equivalence_p: Option<f64>,
    /// The smallest change, as a share of the baseline, that this number of runs finds with the wanted
    /// power. Null where the runs do not vary or are too few, or the baseline is not above 0.
    pub smallest_detectable: Option<f64>,
    /// The part of the variance between runs of a group that their own samples make: longer runs
    /// take it away, the rest only more runs do. Null where it is not known.
    #[serde(default)]
    pub variance_inside: Option<f64>,
}

/// Why there is no verdict.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Withheld {
    /// What stands in the way.
    pub reason: WithheldReason,
    /// The same with the numbers, and what to do.
    pub detail: String,
}

/// What stands in the way of a verdict.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum WithheldReason {
    /// Runs of unequal length, and a figure that depends on it.
    Lengths,
    /// The smaller group has few runs and varies far more than the other.
    Spread,
    /// The values are stated in steps that are as large as what matters.
    Resolution,
    /// A group has nothing but zeros: there is a bound of it, but no size of a change.
    Zeros,
    /// No run of a group has the figure, or counted the misses of this deadline.
    Uncounted,
    /// All runs are of one commit, kernel or day, and a change is looked for between two.
    OnePlace,
}

/// One figure of one group.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct GroupFigure {
    /// Name of the group.
    pub group: String,
    /// Runs that have the figure.
    pub runs: u64,
    /// Runs that do not.
    pub without: u64,
    /// The geometric mean over runs; on the linear scale the mean. Null without runs.
    pub estimate: Option<f64>,
    /// Its interval over runs; of a rate or share that is 0 in all of them, from 0 to the bound that
    /// the measured time, or the number of samples, gives. Null below two runs.
    pub interval: Option<Interval>,
    /// The deviation between runs: as a share of the estimate on the logarithmic scale, else in the
    /// unit. Null below two runs.
    pub deviation: Option<f64>,
    /// Identities of runs that lie far from the others. They are in all figures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outliers: Vec<String>,
}

/// A ratio or a difference.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Effect {
    /// The estimate.
    pub estimate: f64,
    /// Its interval. Null where the runs allow none.
    pub interval: Option<Interval>,
}

/// What a run is drawn again from.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum IntervalLevel {
    /// Blocks of the samples that every run recorded.
    Samples,
    /// The interval that every run recorded of the figure.
    Intervals,
}

/// How values are compared.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ComparisonScale {
    /// By their logarithms, where all are above 0: effects are ratios.
    Log,
    /// As they are: effects are differences.
    Linear,
}

/// What follows from a comparison.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ComparisonVerdict {
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
    TooFewRuns,
}

/// A requirement on one group.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct GroupRequirement {
    /// Name of the group.
    pub group: String,
    /// What its runs together allow to be said.
    pub result: RequirementResult,
}
