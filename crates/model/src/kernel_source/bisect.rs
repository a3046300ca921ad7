// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Bisections.

use serde::{Deserialize, Serialize};

use super::rebase::ConflictingCommit;

/// Value of `format` in a [`BisectReport`].
pub const KERNEL_BISECT_FORMAT: &str = "punctual.kernel-bisect/1";

/// What a bisection found.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct BisectReport {
    /// [`KERNEL_BISECT_FORMAT`].
    pub format: String,
    /// The repository, whose own files stay as they are.
    pub tree: String,
    /// The commit that was said to be good.
    pub good: String,
    /// The commit that was said to be bad.
    pub bad: String,
    /// What judged.
    pub oracle: String,
    /// Commits between the two, the bad one among them.
    pub commits: u64,
    /// Each judgement, in order.
    pub steps: Vec<BisectStep>,
    /// The first bad commit. Null where it is not found.
    pub first_bad: Option<ConflictingCommit>,
    /// Commits one of which is the first bad one, where some could not be judged.
    pub candidates: Vec<ConflictingCommit>,
    /// Why there is no answer, where there is none.
    pub stopped: Option<String>,
}

/// One judgement.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct BisectStep {
    /// The commit.
    pub commit: ConflictingCommit,
    /// What the oracle said.
    pub verdict: BisectVerdict,
    /// Exit status of the oracle.
    pub status: i32,
    /// Time that it took, in ms.
    pub took_ms: u64,
}

/// What an oracle says of a commit.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum BisectVerdict {
    /// As the good one.
    Good,
    /// As the bad one.
    Bad,
    /// It cannot be judged.
    Skip,
}
