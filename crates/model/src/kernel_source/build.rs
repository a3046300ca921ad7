// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Builds of kernels.

use serde::{Deserialize, Serialize};

use super::config::{KernelModel, UnmetOption};

/// Value of `format` in a [`BuildReport`].
pub const KERNEL_BUILD_FORMAT: &str = "punctual.kernel-build/1";

/// What was built.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct BuildReport {
    /// [`KERNEL_BUILD_FORMAT`].
    pub format: String,
    /// Each build, in the order in which they were made.
    pub builds: Vec<BuiltKernel>,
}

/// One build.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct BuiltKernel {
    /// Its name here.
    pub name: String,
    /// Name or directory of the source.
    pub source: String,
    /// What tells that source from another one that had its name before: what was fetched, and when; of a directory, its files. Absent in
    /// builds of older programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_id: Option<String>,
    /// What it was built for, as `uname -m` calls it. Absent in builds of older programs, which were for the machine that they ran on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub architecture: Option<String>,
    /// Release that the kernel bears: `6.12.117-rt`. Null until it is built.
    pub release: Option<String>,
    /// The preemption model. Null where the base decides.
    pub model: Option<KernelModel>,
    /// What the configuration started from.
    pub base: String,
    /// How it ended.
    pub end: BuildEnd,
    /// Options that did not become what was asked.
    pub unmet: Vec<UnmetOption>,
    /// What one should know of the configuration. Absent where there is nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
    /// SHA-256 of the options.
    pub config_sha256: String,
    /// Path of the image that boots. Null where there is none.
    pub image: Option<String>,
    /// Its size, in bytes.
    pub image_bytes: Option<u64>,
    /// Its SHA-256.
    pub image_sha256: Option<String>,
    /// Path of the configuration.
    pub config: String,
    /// Packages that were made.
    pub packages: Vec<String>,
    /// Path of the build's log.
    pub log: String,
    /// Time that make took, in all starts together, in ms; of a start that was killed, up to the last note of it, some 10 s before.
    pub make_ms: u64,
    /// How often make was started.
    pub starts: u64,
    /// Steps that make announced in the last start: files compiled, linked, generated.
    pub steps: u64,
    /// Warnings of the compiler in the last start.
    pub warnings: u64,
    /// Whether ccache was used.
    pub ccache: bool,
    /// The time stamp that the kernel bears in place of the clock.
    pub timestamp: String,
    /// Directories that alone were compiled. Absent where it was a kernel.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub only: Vec<String>,
    /// Compilers that ran at once. Absent in builds of older programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jobs: Option<u32>,
    /// The compiler.
    pub compiler: String,
    /// When it ended, RFC 3339 in UTC.
    pub at: String,
    /// Whether somebody builds it at this moment; then the rest says how far it is, a few seconds ago. Absent where nobody does.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub running: bool,
}

impl BuiltKernel {
    /// Whether it was a test whether the source compiles, and made no kernel to run.
    pub fn is_test(&self) -> bool {
        ["allyesconfig", "allmodconfig"].contains(&self.base.as_str())
    }
}

/// How a build ended.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum BuildEnd {
    /// All is built.
    Complete,
    /// It was stopped; the same command goes on with it.
    Stopped,
    /// Make failed.
    Failed,
}
