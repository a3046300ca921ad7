// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! From a source to the comparison of a stock and a real-time kernel, step by step.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::choices;
use crate::guest::GuestBoot;
use crate::latency_test::LatencyTest;

/// Value of `format` in an [`RtFlow`].
pub const KERNEL_RT_FORMAT: &str = "punctual.kernel-rt/1";

/// What `kernel rt` has done, and found.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct RtFlow {
    /// [`KERNEL_RT_FORMAT`].
    pub format: String,
    /// Its name in the store, and that of its source.
    pub name: String,
    /// What was asked for, in the words of the command line. A flow goes on only where it is the same.
    pub asked: BTreeMap<String, String>,
    /// The steps that are done, in order.
    pub steps: Vec<RtStep>,
    /// The experiment that compares the kernels, once it has begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub experiment: Option<String>,
    /// How the real-time kernel came up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot: Option<GuestBoot>,
    /// The comparison.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test: Option<LatencyTest>,
}

/// One step that is done.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct RtStep {
    /// Which.
    pub step: RtStepKind,
    /// What was done, in a sentence.
    pub did: String,
    /// When it was done, RFC 3339 in UTC.
    pub at: String,
    /// How long it took.
    pub took_ms: u64,
}

/// The steps, in their order.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum RtStepKind {
    /// The source is fetched.
    Source,
    /// The stock kernel is built, before the source is patched.
    Stock,
    /// The series is applied, or `PREEMPT_RT` is found in the source.
    Patch,
    /// The configuration with `PREEMPT_RT` is made and read back.
    Config,
    /// The real-time kernel is built.
    Build,
    /// It is booted, and says that it is one.
    Boot,
    /// Both are measured and compared.
    Compare,
}

choices!(RtStepKind {
    Source => "source",
    Stock => "stock",
    Patch => "patch",
    Config => "config",
    Build => "build",
    Boot => "boot",
    Compare => "compare",
});

impl RtFlow {
    /// Returns the step of this kind, where it is done.
    pub fn done(&self, step: RtStepKind) -> Option<&RtStep> {
        self.steps.iter().find(|done| done.step == step)
    }

    /// Forgets this step and those after it.
    pub fn forget_from(&mut self, step: RtStepKind) {
        self.steps.retain(|done| done.step < step);
        if step <= RtStepKind::Boot {
            self.boot = None;
        }
        self.test = None;
        if step < RtStepKind::Compare {
            self.experiment = None;
        }
    }
}
