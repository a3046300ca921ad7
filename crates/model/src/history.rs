// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Where series of runs changed. The statistics are those of the crate `punctual-stats`, module `history`.

use serde::{Deserialize, Serialize};

use crate::comparison::{ComparisonScale, Effect, RefusedRun, Withheld};
use crate::figure::{Better, Finding, Interval};

/// The name and major version of the format that this program writes.
pub const HISTORY_FORMAT: &str = "punctual.history/1";

/// Runs over time, and where their figures changed.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct History {
    /// `punctual.history/1`.
    pub format: String,
    /// How changes were looked for.
    pub method: HistoryMethod,
    /// One entry for each machine and way of measuring: only their own runs are one series.
    pub lines: Vec<HistoryLine>,
    /// Figures that were asked for and that no run of any line has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// The runs that are in no series, with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<RefusedRun>,
    /// What a reader should know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<Finding>,
}

/// How changes were looked for.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct HistoryMethod {
    /// `run`, `commit`, `kernel` or `day`: what a change may lie between.
    pub by: String,
    /// Probability of any wrong change in all series together.
    pub level: f64,
    /// Number of series that share the level.
    pub series: u64,
    /// The level at which the newest runs of one series are judged: small enough for a look after each of a
    /// hundred runs.
    pub look_level: f64,
    /// Runs since a change for which it is new.
    pub recent: u64,
    /// Confidence of the intervals.
    pub confidence: f64,
    /// Permutations.
    pub draws: u64,
    /// Seed of the random numbers: the same runs and seed give the same answer.
    pub seed: u64,
}

/// The runs of one machine, measured in one way, by commit, kernel, day or start.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct HistoryLine {
    /// What tells it from the other lines, or the machine where there is one line.
    pub name: String,
    /// Whether its times are instruction counts, and no latencies. Absent where they are latencies.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub virtual_time: bool,
    /// Its runs, in order.
    pub runs: Vec<HistoryRun>,
    /// One entry a figure.
    pub series: Vec<HistorySeries>,
}

/// One run of a line.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct HistoryRun {
    /// Its identity.
    pub id: String,
    /// Its name.
    pub name: Option<String>,
    /// Its start.
    pub started: Option<String>,
    /// Its commit, kernel or day. Absent where every run stands for itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Whether it was checked, and every check passed.
    pub valid: bool,
    /// Whether another tool measured it, so that nothing was checked.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub imported: bool,
}

/// One figure over the runs of a line.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct HistorySeries {
    /// The figure: `p99`, `gflops[n=4000]`.
    pub figure: String,
    /// Unit of its values.
    pub unit: String,
    /// Which direction is good.
    pub better: Better,
    /// How values were compared.
    pub scale: ComparisonScale,
    /// What was found.
    pub verdict: HistoryVerdict,
    /// Why there is no verdict although runs were measured: they are of unequal length.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub withheld: Option<Withheld>,
    /// The value of each run of the line. Null where a run does not have it.
    pub values: Vec<Option<f64>>,
    /// The changes, the oldest first.
    pub changes: Vec<HistoryChange>,
    /// The stretches between them.
    pub segments: Vec<HistorySegment>,
    /// How runs of one stretch vary: a share on the logarithmic scale, else in the unit of the values. Null
    /// where no stretch has two.
    pub deviation: Option<f64>,
    /// Its interval.
    pub deviation_interval: Option<Interval>,
    /// Degrees of freedom of the deviation.
    pub freedom: Option<f64>,
    /// The correlation of neighbouring runs that was allowed for, from 0 to below 1.
    pub correlation: f64,
    /// The p-value of "no change at all". Null where the runs are too few or do not vary.
    pub p: Option<f64>,
    /// The p-value of "no change in the newest runs", judged by `look_level`. Null where the runs are too
    /// few.
    pub newest_p: Option<f64>,
    /// The runs that are too few for a gate. Absent where a change in the newest runs could be found, or may not lie there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub too_few_for_gate: Option<TooFewForGate>,
}

/// Runs of which no change whatever, in the newest of them, passes `look_level`.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct TooFewForGate {
    /// The runs since the last change that is not new.
    pub runs: u64,
    /// As many would do at least.
    pub needed: u64,
}

/// What a series shows.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum HistoryVerdict {
    /// It changed.
    Changed,
    /// No change was found.
    NoChange,
    /// There are too few runs to look for one.
    TooFewRuns,
}

/// A change of a figure.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct HistoryChange {
    /// Number of the first run after it in the line, from 0: the most probable place.
    pub run: u64,
    /// The first run that it may have come with.
    pub earliest: u64,
    /// The last run that it may have come with.
    pub latest: u64,
    /// After over before. Null on the linear scale.
    pub ratio: Option<Effect>,
    /// After minus before, in the unit of the values.
    pub difference: Effect,
    /// The p-value of "no change" between the neighbouring changes.
    pub p: f64,
    /// Which direction it has.
    pub direction: HistoryDirection,
    /// Whether it is among the newest runs and was found at the level of nightly looks: what
    /// `--fail-on new-change` fails on.
    pub new: bool,
    /// Recorded facts in which the runs before and after it differ.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differs: Vec<Finding>,
}

/// The direction of a change.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum HistoryDirection {
    /// For the better.
    Better,
    /// For the worse.
    Worse,
    /// Neither direction is good.
    Different,
    /// Something changed, but the interval of the difference includes none.
    Unclear,
}

/// Runs between two changes.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct HistorySegment {
    /// Number of its first run in the line, from 0.
    pub first: u64,
    /// Number of its last run.
    pub last: u64,
    /// Runs that have the figure.
    pub runs: u64,
    /// Their geometric mean on the logarithmic scale, else their mean.
    pub estimate: f64,
    /// Its interval, with the deviation of all stretches.
    pub interval: Option<Interval>,
}
