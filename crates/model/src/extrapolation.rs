// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What the tail of a run's samples may hold beyond the largest: advice, never a bound. The statistics
//! are those of the crate `punctual-stats`, module `tail`.

use serde::{Deserialize, Serialize};

use crate::figure::Interval;
use crate::units::Nanos;

/// The name and major version of the format that this program writes.
pub const EXTRAPOLATION_FORMAT: &str = "punctual.extrapolation/1";

/// An extrapolation from the samples of one run, by every method, or why there is none.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Extrapolation {
    /// `punctual.extrapolation/1`.
    pub format: String,
    /// Identity of the run.
    pub run: String,
    /// Whether every check of the run passed.
    pub valid: bool,
    /// The tool that made an imported run, of which nothing was checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported_from: Option<String>,
    /// Whether its times are instruction counts, and no latencies. Absent where they are latencies.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub virtual_time: bool,
    /// Always true: a level is advice about more of what the run saw, and no bound. What did not happen
    /// during the run is not in it.
    pub advisory: bool,
    /// Number of samples, all threads in the order in which they were measured.
    pub samples: u64,
    /// How long the run measured.
    pub duration_ns: Nanos,
    /// Whether that is what its samples take at their interval, because it is not recorded, as of logs of other tools. It took
    /// longer if it missed any.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_interval: bool,
    /// The largest of them.
    pub max_ns: Option<u64>,
    /// How far ahead it looks.
    pub horizon_ns: Nanos,
    /// Samples in that time, at the rate of the run.
    pub horizon_samples: f64,
    /// The level of each check that can refuse.
    pub gate: f64,
    /// Seed of the random numbers.
    pub seed: u64,
    /// One entry a method.
    pub methods: Vec<TailEstimate>,
}

/// What one method says.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct TailEstimate {
    /// How the tail was fitted.
    pub method: TailMethod,
    /// Why it says nothing. Null if it does.
    pub refused: Option<String>,
    /// What it says. Null if it refuses.
    pub estimate: Option<TailLevel>,
}

/// How a tail is fitted.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TailMethod {
    /// The generalised extreme value distribution of the largest samples of blocks.
    BlockMaxima,
    /// The generalised Pareto distribution of what clusters of samples exceed a threshold by.
    PeaksOverThreshold,
}

/// A level, and what it rests on.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct TailLevel {
    /// The time that is passed once on average within the horizon.
    pub level_ns: f64,
    /// Its interval.
    pub interval_ns: Interval,
    /// Largest samples of blocks, or clusters.
    pub extremes: u64,
    /// Samples a block. Null for peaks over a threshold.
    pub block_samples: Option<u64>,
    /// Shape: below 0 the tail ends, above 0 it is heavier than exponential.
    pub shape: f64,
    /// Scale.
    pub scale_ns: f64,
    /// Location of the largest samples, or the threshold.
    pub location_ns: f64,
    /// P-value of "no trend over the run" (Mann and Kendall).
    pub trend_p: f64,
    /// P-value of "the halves of the run are alike" (Kolmogorov and Smirnov).
    pub halves_p: f64,
    /// P-value of "none depends on those before" (Ljung and Box, of ranks).
    pub independence_p: f64,
    /// P-value of "clusters come as often all over the run" (Kolmogorov and Smirnov). Null for the
    /// largest samples of blocks.
    pub rate_p: Option<f64>,
    /// P-value of "the distribution fits" (Anderson and Darling, by parametric bootstrap).
    pub fit_p: f64,
}
