// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What a run says while it goes on.
//!
//! The same events feed the live view and the store, so that a live view is a replayed view.

use serde::{Deserialize, Serialize};

use crate::check::Check;
use crate::figure::Figure;
use crate::run::{Ended, PrecisionState, ThresholdHit};
use crate::units::Nanos;

/// Something that a run has to say.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The measuring threads run.
    Started {
        /// Identity of the run.
        id: String,
        /// Number of measuring threads.
        threads: u32,
    },
    /// How far the run is.
    Progress(Progress),
    /// A sample was above the threshold.
    Threshold(ThresholdHit),
    /// The measuring threads are done.
    Ended {
        /// Why.
        reason: Ended,
        /// Time since the start.
        t_ns: Nanos,
    },
}

/// How far a run is, and its figures up to now.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Progress {
    /// Time since the start.
    pub t_ns: Nanos,
    /// Part that is done, from 0 to 1. Null for a run without an end.
    pub done: Option<f64>,
    /// Time left, as far as known.
    pub left_ns: Option<Nanos>,
    /// One entry a thread.
    pub series: Vec<SeriesProgress>,
    /// State of the precision targets.
    #[serde(default)]
    pub precision: Vec<PrecisionState>,
    /// What is being done, where a run has several steps: `n = 4000, round 3 of 5`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doing: Option<String>,
    /// Results up to now that are no latencies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub figures: Vec<Figure>,
    /// What each load has done up to now.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub loads: Vec<LoadProgress>,
    /// The validity checks that can be judged while the run goes on, as they stand. All others are
    /// judged at its end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<Check>,
}

impl Progress {
    /// Returns the progress of work that is not sampled: what it is doing, and the share of
    /// all of it that is `done`, from 0 to 1.
    pub fn of(doing: String, done: f64) -> Self {
        Self {
            doing: Some(doing),
            done: Some(done),
            ..Self::default()
        }
    }
}

/// One thread's figures up to now.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct SeriesProgress {
    /// Number of the thread, from 0.
    pub thread: u32,
    /// CPU that the thread was last seen on.
    pub cpu: Option<u32>,
    /// Scheduling policy.
    pub policy: String,
    /// Time between deadlines.
    pub interval_ns: Nanos,
    /// Samples.
    pub count: u64,
    /// Smallest sample.
    pub min_ns: Option<u64>,
    /// Latest sample.
    pub last_ns: Option<u64>,
    /// Mean of all samples.
    pub mean_ns: Option<f64>,
    /// 99th percentile of all samples, from the histogram.
    pub p99_ns: Option<u64>,
    /// Largest sample.
    pub max_ns: Option<u64>,
    /// Deadlines that passed while the thread was late. Null where there are none that could, and where they are counted at the end
    /// alone.
    pub overruns: Option<u64>,
    /// Samples lost. Null where they are counted at the end alone.
    pub lost: Option<u64>,
    /// The figures of the latest samples alone.
    pub window: Option<WindowFigures>,
    /// Largest sample since the progress before; of a stored event, since the one stored before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recent_max_ns: Option<u64>,
    /// All samples, counted in four steps to each power of two.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<LatencyStep>,
}

/// Samples of one step of a coarse histogram. Steps end below 4, 5, 6 and 7 times a power of two;
/// those without samples are left out.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct LatencyStep {
    /// The highest latency of the step.
    pub to_ns: u64,
    /// Samples above the step before and up to this.
    pub count: u64,
}

/// What a load has done up to now.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct LoadProgress {
    /// The load as it was asked for.
    pub load: String,
    /// What its work is counted in.
    pub unit: String,
    /// Work since the first report.
    pub work: f64,
    /// Work per second between the latest two looks; null where fewer than two reports came.
    pub per_second: Option<f64>,
    /// Why it ended by itself, if it did.
    pub fault: Option<String>,
}

/// Figures of a moving window.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct WindowFigures {
    /// Samples in the window.
    pub count: u64,
    /// Their mean.
    pub mean_ns: Option<f64>,
    /// Their standard deviation with n - 1.
    pub stddev_ns: Option<f64>,
    /// Their skewness g1.
    pub skewness: Option<f64>,
    /// Their excess kurtosis g2.
    pub excess_kurtosis: Option<f64>,
    /// Their 5th percentile, exact, as the others are.
    #[serde(default)]
    pub p5_ns: Option<f64>,
    /// Their median.
    #[serde(default)]
    pub p50_ns: Option<f64>,
    /// Their 95th percentile.
    #[serde(default)]
    pub p95_ns: Option<f64>,
    /// Their 99th percentile.
    pub p99_ns: Option<f64>,
    /// The largest of them.
    pub max_ns: Option<f64>,
}
