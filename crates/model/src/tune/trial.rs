// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What each knob of a profile buys on one machine.

use serde::{Deserialize, Serialize};

use crate::cpu::CpuSet;
use crate::units::Nanos;

/// Value of `format` in a [`TrialReport`].
pub const TRIAL_FORMAT: &str = "punctual.trial/1";

/// What each knob of a profile buys: measured with and without it, in random order.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct TrialReport {
    /// [`TRIAL_FORMAT`].
    pub format: String,
    /// Name of the profile.
    pub profile: String,
    /// Name of the machine.
    pub hostname: Option<String>,
    /// Kernel release of the machine.
    pub kernel_release: Option<String>,
    /// CPUs that were measured.
    pub cpus: CpuSet,
    /// Blocks that were measured whole: in each, every treatment once, in an order of its own.
    pub blocks: u64,
    /// Time that the latency of one treatment was measured in a block.
    pub cell_ns: Nanos,
    /// Seed of the orders.
    pub seed: u64,
    /// Confidence of the intervals, and one minus the level of the tests.
    pub confidence: f64,
    /// The smallest change that matters, as a share: it tells "no measurable gain" from "too few blocks".
    pub effect: f64,
    /// Runs that a validity check made unusable.
    pub invalid_runs: u64,
    /// The figures without any of it.
    pub baseline: Vec<TrialFigure>,
    /// The knobs, and all of them together.
    pub treatments: Vec<Treatment>,
    /// Knobs of the profile that there was nothing to try of.
    pub left_out: Vec<LeftOut>,
    /// Whether every block was measured.
    pub complete: bool,
}

impl TrialReport {
    /// The knobs, or the machine `without any knob`, of which there is no valid run.
    pub fn without_valid_run(&self) -> Vec<&str> {
        let none = self.baseline.iter().all(|figure| figure.runs == 0);
        let treatments = self.treatments.iter().filter(|of| of.runs == 0);
        let baseline = none.then_some("without any knob");
        baseline
            .into_iter()
            .chain(treatments.map(|of| of.name.as_str()))
            .collect()
    }
}

/// What is measured.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TrialQuantity {
    /// Median wake-up latency, in ns.
    P50Ns,
    /// 99th percentile of the wake-up latency, in ns.
    P99Ns,
    /// Memory that ordinary threads fill and add up, in bytes a second.
    WorkBytesPerSecond,
}

/// A figure without any treatment.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct TrialFigure {
    /// What it is of.
    pub quantity: TrialQuantity,
    /// Number of runs.
    pub runs: u64,
    /// Geometric mean of the runs. Null without runs.
    pub estimate: Option<f64>,
    /// Lower end of its interval. Null below two runs.
    pub low: Option<f64>,
    /// Upper end of its interval. Null below two runs.
    pub high: Option<f64>,
}

/// A knob, or all of them.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Treatment {
    /// The knob, or `all together`.
    pub name: String,
    /// Settings that it changed.
    pub settings: u64,
    /// Wanted settings that were unavailable when it was tried.
    pub failed: u64,
    /// Valid runs.
    pub runs: u64,
    /// What it does to each quantity.
    pub effects: Vec<TrialEffect>,
}

/// What a treatment does to a quantity.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct TrialEffect {
    /// The quantity.
    pub quantity: TrialQuantity,
    /// Blocks that have a valid run with the treatment and one without: what all of this is of. Null where nothing was compared, and
    /// in reports of earlier versions.
    #[serde(default)]
    pub pairs: Option<u64>,
    /// Geometric mean of the runs with the treatment. Null without runs.
    pub estimate: Option<f64>,
    /// With the treatment over without. Null without runs.
    pub ratio: Option<f64>,
    /// Lower end of the ratio's interval. Null where the runs allow none.
    pub low: Option<f64>,
    /// Upper end of the ratio's interval. Null where the runs allow none.
    pub high: Option<f64>,
    /// Two-sided p-value of "no effect", inside blocks. Null below two blocks.
    pub p: Option<f64>,
    /// The same after Holm's correction for every treatment and quantity of the trial.
    pub adjusted_p: Option<f64>,
    /// The smallest change, as a share, that this number of blocks would have found. Null where it cannot
    /// be told.
    pub smallest_detectable: Option<f64>,
    /// What follows.
    pub verdict: TrialVerdict,
}

/// What follows for a quantity.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum TrialVerdict {
    /// It is better with the treatment.
    Gain,
    /// It is worse with the treatment.
    Loss,
    /// No effect was found, and one of a tenth would have been.
    NoMeasurableGain,
    /// No effect was found, and one of a tenth might well have been missed.
    TooFewBlocks {
        /// Further blocks that would find one of a tenth; where all blocks agree, one as large as they show, if that is more. A
        /// lower bound where `p` is null. Null where that cannot be told.
        more: Option<u64>,
    },
}

/// A knob that was not tried.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct LeftOut {
    /// The knob.
    pub knob: String,
    /// Why.
    pub reason: String,
}
