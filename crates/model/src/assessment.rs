// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What a machine can be relied on for, as far as its runs tell.

use serde::{Deserialize, Serialize};

use crate::run::RunRecord;
use crate::units::Nanos;

/// The name and major version of the format that this program writes.
pub const ASSESSMENT_FORMAT: &str = "punctual.assessment/1";

/// The runs of an assessment and what follows from them.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Assessment {
    /// `punctual.assessment/1`.
    pub format: String,
    /// Whether the threads ran with a real-time policy. Else nothing here is a real-time figure.
    pub real_time: bool,
    /// Why they did not, and what would help.
    pub obstacle: Option<String>,
    /// Whether every run is valid.
    pub valid: bool,
    /// How long a burst of misses is assumed to last at most. Absent where an older program judged,
    /// which took wake-ups as independent where it saw no miss.
    #[serde(default)]
    pub burst_ns: Option<Nanos>,
    /// One verdict a deadline, shortest first.
    pub deadlines: Vec<DeadlineVerdict>,
    /// The runs.
    pub conditions: Vec<Condition>,
    /// Number of conditions that were to be measured. Absent where an older program measured.
    #[serde(default)]
    pub planned: Option<u64>,
    /// Which loads that belong to a condition were left out, and why. Absent where none was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<String>,
}

/// A run under one condition.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Condition {
    /// `idle`, or what the loads of the condition are called.
    pub name: String,
    /// The run.
    pub run: RunRecord,
}

/// How a deadline was kept.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct DeadlineVerdict {
    /// The deadline.
    pub deadline_ns: Nanos,
    /// The strictest class that no condition contradicts. Null where no run counted its misses.
    pub class: Option<RealTimeClass>,
    /// One entry a condition.
    pub misses: Vec<MissRate>,
}

/// How often a deadline was missed under one condition.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct MissRate {
    /// The name of the condition.
    pub condition: String,
    /// Wake-ups later than the deadline: samples, and overruns that were served too late.
    pub missed: u64,
    /// Wake-ups asked for: samples plus overruns.
    pub wakeups: u64,
    /// Number of independent trials that they are worth: bursts of misses, and threads that wake up
    /// at the same moments, count once.
    #[serde(default)]
    pub trials: Option<u64>,
    /// Upper end of the one-sided 95 % interval of the share of wake-ups that miss
    /// (Clopper-Pearson on the number of trials). Null without wake-ups.
    pub share_at_most: Option<f64>,
}

/// Real-time classes after Bridgers (2015). The class *safe*, where a miss injures, is never given:
/// no measurement shows it.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RealTimeClass {
    /// The deadline is missed more often than the system could make up for.
    Soft,
    /// The deadline is met at least 95 % of the time, with 95 % confidence.
    NinetyFivePercent,
    /// No sample missed the deadline. What that allows to be claimed depends on their number.
    HundredPercent,
}
