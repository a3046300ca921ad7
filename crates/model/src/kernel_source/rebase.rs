// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A vendor's branch on top of a real-time branch.

use serde::{Deserialize, Serialize};

/// Value of `format` in a [`RebaseReport`].
pub const KERNEL_REBASE_FORMAT: &str = "punctual.kernel-rebase/1";

/// How far a rebase is.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct RebaseReport {
    /// [`KERNEL_REBASE_FORMAT`].
    pub format: String,
    /// The vendor's repository, whose own files and branches stay as they are.
    pub tree: String,
    /// The vendor's branch.
    pub vendor: String,
    /// The branch it is put on.
    pub onto: String,
    /// The commit that the vendor's work starts from.
    pub base: String,
    /// The new branch.
    pub branch: String,
    /// The worktree in which it happens.
    pub worktree: String,
    /// How far it is.
    pub state: RebaseState,
    /// Commits of the vendor's branch since the base.
    pub commits: u64,
    /// Of these, those that are dealt with.
    pub done: u64,
    /// The commit that stopped it.
    pub stopped_at: Option<ConflictingCommit>,
    /// Files that are to be resolved by hand.
    pub conflicts: Vec<RebaseConflict>,
    /// Files of this stop that an earlier resolution was used for.
    pub resolved_before: Vec<String>,
    /// Commits that are dealt with and not on the new branch, where it is complete: that branch has what they change, or a resolution left nothing of it.
    #[serde(default)]
    pub left_out: Vec<ConflictingCommit>,
}

/// How far a rebase is.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RebaseState {
    /// All commits are dealt with.
    Complete,
    /// A conflict is to be resolved.
    Stopped,
    /// It was given up, and nothing of it is left but what git remembers of resolutions.
    Aborted,
}

/// A commit.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ConflictingCommit {
    /// Its id.
    pub id: String,
    /// First line of its message.
    pub subject: String,
}

/// A file in conflict.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct RebaseConflict {
    /// The file.
    pub file: String,
    /// What git says of the two sides: `both modified`, `deleted by us`.
    pub kind: String,
    /// Commits of the other branch since the base that touch the file, the newest first, 5 at most.
    pub theirs: Vec<ConflictingCommit>,
}
