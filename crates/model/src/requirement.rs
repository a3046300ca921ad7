// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What samples allow to be said of a requirement.

use serde::{Deserialize, Serialize};

use crate::units::Nanos;

/// A requirement, such as `p99.99 <= 50us`, and whether it is met.
///
/// It is a claim about the share of wake-ups later than its time. A deadline that passed during a
/// stall counts as a wake-up that was later, as in [`Misses`](crate::Misses), where the run counted
/// that deadline.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct RequirementResult {
    /// As it was given.
    pub requirement: String,
    /// Whether it is met.
    pub ruling: RequirementRuling,
    /// The time that it names.
    pub limit_ns: Nanos,
    /// The share of wake-ups that may be later, 0 to 1.
    pub share_allowed: f64,
    /// Confidence of the claim, 0 to 1.
    pub confidence: f64,
    /// Number of runs.
    pub runs: u64,
    /// Wake-ups looked at.
    pub samples: u64,
    /// Those that were later.
    pub above: u64,
    /// Whether `above` is exact. Else it is read from a histogram, in whose bucket of `limit_ns` up
    /// to its relative error may be missed.
    pub exact: bool,
    /// Number of independent trials that the wake-ups are worth: bursts of misses, and threads that
    /// wake up at the same moments, count once. Null without samples.
    pub effective: Option<u64>,
    /// Upper bound of the share that is later, with `confidence`.
    pub share_at_most: Option<f64>,
    /// Lower bound of that share, with `confidence`.
    pub share_at_least: Option<f64>,
    /// Wake-ups with which it would be shown to be met, if they go on as they did.
    #[serde(default)]
    pub samples_to_pass: Option<u64>,
    /// Wake-ups with which it would be shown not to be met, if they go on as they did.
    #[serde(default)]
    pub samples_to_fail: Option<u64>,
    /// Run time in all with which it would be shown to be met, if the runs go on as they did.
    #[serde(default)]
    pub time_to_pass_ns: Option<Nanos>,
    /// Run time in all with which it would be shown not to be met, if the runs go on as they did.
    #[serde(default)]
    pub time_to_fail_ns: Option<Nanos>,
    /// Run time in which the wake-ups were taken, of all runs together.
    #[serde(default)]
    pub run_time_ns: Option<Nanos>,
    /// How long a burst of misses is assumed to last at most. Absent where an older program judged,
    /// which took wake-ups as independent where it saw no miss.
    #[serde(default)]
    pub burst_ns: Option<Nanos>,
    /// For how long wake-ups were seen to depend on each other, where that is longer than `burst_ns`:
    /// it stands for it.
    #[serde(default)]
    pub dependence_ns: Option<Nanos>,
    /// What else had to be assumed: an imported run does not say when its samples were taken.
    #[serde(default)]
    pub assumed: Option<String>,
    /// What a pass rests on. Null where it does not pass.
    #[serde(default)]
    pub rests_on: Option<RequirementBasis>,
    /// Runs in which more than allowed was later: a larger share, or any wake-up where none may be.
    #[serde(default)]
    pub runs_over: Option<u64>,
    /// Upper bound of the share of further runs like these in which more than allowed is later, with
    /// `confidence`. Null for one run.
    #[serde(default)]
    pub runs_over_at_most: Option<f64>,
    /// Why nothing can be claimed, where it is not for lack of wake-ups: the run is invalid.
    #[serde(default)]
    pub obstacle: Option<String>,
}

impl RequirementResult {
    /// Whether it is met. What cannot be claimed is not: a gate must not open for lack of samples.
    pub fn is_met(&self) -> bool {
        self.ruling == RequirementRuling::Pass
    }
}

/// What a pass rests on, and so what it is about.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RequirementBasis {
    /// The time that was measured, if bursts are no longer than assumed: a claim about these runs.
    Time,
    /// The number of runs without a miss: a claim about all runs like these.
    Runs,
}

/// Whether a requirement is met.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RequirementRuling {
    /// It is, with the confidence.
    Pass,
    /// It is not.
    Fail,
    /// Neither can be claimed.
    Unclaimed,
}
