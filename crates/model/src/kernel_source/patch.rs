// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Patch series on a source tree.

use serde::{Deserialize, Serialize};

/// Value of `format` in a [`PatchReport`].
pub const KERNEL_PATCH_FORMAT: &str = "punctual.kernel-patch/1";

/// What became of a series.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct PatchReport {
    /// [`KERNEL_PATCH_FORMAT`].
    pub format: String,
    /// Directory of the source.
    pub tree: String,
    /// File or directory of the series.
    pub series: String,
    /// What became of the tree.
    pub result: PatchedTree,
    /// Each patch, in the order of the series.
    pub patches: Vec<PatchResult>,
    /// Files of the tree that were changed, made or removed.
    pub files: u64,
}

/// What became of the tree.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PatchedTree {
    /// All patches are in it.
    Patched,
    /// Those that apply are in it, the others are not.
    PatchedInPart,
    /// It is as it was: some patches do not apply.
    Unchanged,
    /// It is as it was: only a trial was asked for.
    Trial,
}

/// What became of one patch.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct PatchResult {
    /// Name of its file.
    pub name: String,
    /// Whether it applies.
    pub outcome: PatchOutcome,
    /// Files that it touches.
    pub files: u64,
    /// Hunks that were found at another line than the patch says.
    pub offset_hunks: u64,
    /// Hunks for which lines of context had to be ignored.
    pub fuzzy_hunks: u64,
    /// What did not apply.
    pub failed: Vec<FailedHunk>,
    /// What patch(1) said, where no hunk is to blame; or where else the same change was found.
    pub said: Option<String>,
}

/// Whether a patch applies.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PatchOutcome {
    /// It applies on top of those before it.
    Applies,
    /// It does not.
    Fails,
    /// It is in the tree already.
    AlreadyThere,
    /// It was not tried: one before it fails.
    NotTried,
}

/// A hunk that does not apply.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct FailedHunk {
    /// File of the tree.
    pub file: String,
    /// Number of the hunk, from 1. Null where the file itself is not there.
    pub hunk: Option<u64>,
    /// Line where it was to apply.
    pub line: Option<u64>,
}
