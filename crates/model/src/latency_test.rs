// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Kernels compared in virtual time.

use serde::{Deserialize, Serialize};

use crate::choices;
use crate::guest::GuestAgent;
use crate::units::Nanos;

/// The name and major version of what `kernel latency-test` writes.
pub const LATENCY_TEST_FORMAT: &str = "punctual.latency-test/1";

/// What `kernel latency-test` found. The same kernels, options, program and QEMU give the same bytes.
///
/// All times but `interval_ns` are in virtual time: instruction counts, no latency of any hardware.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct LatencyTest {
    /// `punctual.latency-test/1`.
    pub format: String,
    /// What the times are: `virtual-time`.
    pub time: String,
    /// Time that an instruction takes.
    pub instruction_ns: Nanos,
    /// Program and version.
    pub program: String,
    /// QEMU's version.
    pub qemu: String,
    /// What the guests ran. Absent in results of older programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<GuestAgent>,
    /// Seeds of each cell: one boot each.
    pub seeds: u32,
    /// Samples of each run.
    pub samples: u64,
    /// Time between the deadlines.
    pub interval_ns: Nanos,
    /// Share of the baseline that bands must lie apart for a verdict.
    pub tolerance: f64,
    /// Probability that the bands of two equal kernels lie apart by chance, in one comparison.
    pub chance: f64,
    /// Whether every cell is valid.
    pub valid: bool,
    /// One entry a kernel, model and load.
    pub cells: Vec<LatencyCell>,
    /// One entry a cell that has a baseline, and figure.
    pub comparisons: Vec<BandComparison>,
}

/// Bands of equal kernels lie apart more often than this by chance with few seeds: a verdict on them is none.
const MOST_CHANCE: f64 = 0.05;

impl LatencyTest {
    /// Whether there are seeds enough for verdicts.
    pub fn is_judged(&self) -> bool {
        self.chance <= MOST_CHANCE
    }
}

/// A kernel with a model under a load.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct LatencyCell {
    /// Name of the kernel.
    pub kernel: String,
    /// Its image.
    pub image: String,
    /// Kernel arguments of its own, in addition to those of all. Absent without any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub append: Vec<String>,
    /// Fragments whose options its configuration was found to have. Absent without any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub config: Vec<String>,
    /// Preemption model: found running, or asked for where nothing ran.
    pub model: String,
    /// The load, as given.
    pub load: String,
    /// Why it supports no claim; empty if it is valid.
    pub faults: Vec<String>,
    /// One entry a seed.
    pub runs: Vec<LatencyRun>,
    /// Smallest and largest of the runs' means. Null without a valid run.
    pub mean_ns: Option<Band>,
    /// Smallest and largest of the runs' maxima. Null without a valid run.
    pub max_ns: Option<Band>,
}

/// One boot's measurement under one load.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct LatencyRun {
    /// Seed of the boot.
    pub seed: u64,
    /// Number of samples.
    pub samples: u64,
    /// Their mean.
    pub mean_ns: f64,
    /// The largest.
    pub max_ns: u64,
    /// What the load did meanwhile, in its own unit. Null when idle.
    pub work: Option<f64>,
}

/// From the smallest to the largest value over the seeds.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Band {
    /// The smallest.
    pub low: f64,
    /// The largest.
    pub high: f64,
}

/// A cell against its baseline, by one figure.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct BandComparison {
    /// Name of the kernel.
    pub kernel: String,
    /// Its preemption model.
    pub model: String,
    /// The load.
    pub load: String,
    /// `mean_ns` or `max_ns`.
    pub figure: String,
    /// Name of the kernel that it is compared with.
    pub baseline: String,
    /// The model of that.
    pub baseline_model: String,
    /// What came out.
    pub verdict: BandVerdict,
}

/// What bands say.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum BandVerdict {
    /// All of it lies below all of the baseline.
    Better,
    /// All of it lies above all of the baseline.
    Worse,
    /// They overlap, or lie less than the tolerance apart.
    NoDifference,
    /// One of the two supports no claim.
    Invalid,
}

choices!(BandVerdict {
    Better => "better",
    Worse => "worse",
    NoDifference => "no difference",
    Invalid => "invalid",
});
