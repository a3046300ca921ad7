// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Configurations of kernels.

use serde::{Deserialize, Serialize};

use crate::choices;

/// Value of `format` in a [`ConfigReport`].
pub const KERNEL_CONFIG_FORMAT: &str = "punctual.kernel-config/1";
/// Value of `format` in a [`ConfigDiff`].
pub const KERNEL_CONFIG_DIFF_FORMAT: &str = "punctual.kernel-config-diff/1";

/// How a kernel lets urgent threads interrupt its own code.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum KernelModel {
    /// Not at all (`PREEMPT_NONE`).
    None,
    /// At chosen points (`PREEMPT_VOLUNTARY`).
    Voluntary,
    /// Wherever no spin lock is held (`PREEMPT`).
    Full,
    /// As full for real-time threads only (`PREEMPT_LAZY`).
    Lazy,
    /// Almost everywhere (`PREEMPT_RT`).
    Rt,
    /// Chosen at boot among none, voluntary and full; since Linux 7.0 among full and lazy (`PREEMPT_DYNAMIC`).
    Dynamic,
}

choices!(KernelModel {
    None => "none",
    Voluntary => "voluntary",
    Full => "full",
    Lazy => "lazy",
    Rt => "rt",
    Dynamic => "dynamic",
});

/// What became of the options that were asked for.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ConfigReport {
    /// [`KERNEL_CONFIG_FORMAT`].
    pub format: String,
    /// Directory of the source.
    pub source: String,
    /// Version of the source: `6.12.117`.
    pub version: String,
    /// What it is for, as `uname -m` calls it. Absent in reports of older programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub architecture: Option<String>,
    /// What it started from: `tiny`, `running`, `defconfig`, or a file.
    pub base: String,
    /// The preemption model asked for. Null where the base decides.
    pub model: Option<KernelModel>,
    /// Names of the fragments laid over the base, in that order.
    pub fragments: Vec<String>,
    /// How many options were asked for by name.
    pub wanted: u64,
    /// Those that did not become what was asked.
    pub unmet: Vec<UnmetOption>,
    /// Options that are built in or modules, in the result.
    pub options_on: u64,
    /// SHA-256 of the options of the result, sorted, without comments.
    pub sha256: String,
    /// Where the result was written. Null where it was not.
    pub output: Option<String>,
    /// What one should know.
    pub remarks: Vec<String>,
}

/// An option that did not become what was asked.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct UnmetOption {
    /// Name without `CONFIG_`.
    pub name: String,
    /// The value asked for.
    pub wanted: String,
    /// The value that it has; `n` where it is not set.
    pub value: String,
    /// Why, from the source's own Kconfig files.
    pub why: String,
}

/// How two configurations differ.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ConfigDiff {
    /// [`KERNEL_CONFIG_DIFF_FORMAT`].
    pub format: String,
    /// What the first one is.
    pub a: String,
    /// What the second one is.
    pub b: String,
    /// Options that stand in the first one.
    pub options_a: u64,
    /// Options that stand in the second one.
    pub options_b: u64,
    /// Those that differ, by name.
    pub changed: Vec<ChangedOption>,
}

/// An option that differs.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ChangedOption {
    /// Name without `CONFIG_`.
    pub name: String,
    /// Value in the first one; `n` where it is not set.
    pub a: String,
    /// Value in the second one.
    pub b: String,
}
