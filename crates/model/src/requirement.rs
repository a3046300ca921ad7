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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// Number of independent wake-ups that say as much. Null without samples.
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
    /// Why nothing can be claimed, where it is not for want of wake-ups: the run is invalid.
    #[serde(default)]
    pub obstacle: Option<String>,
}

/// Whether a requirement is met.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RequirementRuling {
    /// It is, with the confidence.
    Pass,
    /// It is not.
    Fail,
    /// Neither can be claimed.
    Unclaimed,
}
