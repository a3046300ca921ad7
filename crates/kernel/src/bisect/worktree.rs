// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The directory that a bisection works in: a worktree of the repository, which goes when it ends.
//!
//! Whoever works in one holds a lock in it. One that nobody holds was left by a program that was killed, and goes when
//! the next bisection begins.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use tempfile::TempDir;

use super::BisectError;
use crate::git::Git;
use crate::tool::ToolError;

/// What the directories' names begin with.
const PREFIX: &str = "bisect-";
/// The lock in such a directory.
const LOCK: &str = "lock";
/// The worktree in such a directory.
const TREE: &str = "tree";

/// A worktree that goes when it is dropped.
#[derive(Debug)]
pub(super) struct Worktree {
    /// The worktree.
    pub(super) git: Git,
    of: Git,
    scratch: TempDir,
    _lock: File,
}

impl Worktree {
    /// Makes one below `above`, with `commit` checked out.
    pub(super) fn add(
        of: &Git,
        above: &Path,
        commit: &str,
        stop: &dyn Fn() -> bool,
    ) -> Result<Self, BisectError> {
        let scratch = tempfile::Builder::new().prefix(PREFIX).tempdir_in(above);
        let scratch = scratch.map_err(BisectError::Scratch)?;
        let lock = take(&scratch.path().join(LOCK)).map_err(BisectError::Scratch)?;
        // Before there is anything in it: it goes also where git is stopped half-way.
        let worktree = Self {
            git: Git::at(&scratch.path().join(TREE)),
            of: of.clone(),
            scratch,
            _lock: lock,
        };
        let path = worktree.git.path.to_string_lossy();
        let add = ["worktree", "add", "--quiet", "--detach", &path, commit];
        of.long(&add, stop)?;
        Ok(worktree)
    }

    /// Checks a commit out.
    pub(super) fn check_out(&self, commit: &str, stop: &dyn Fn() -> bool) -> Result<(), ToolError> {
        let args = ["checkout", "--quiet", "--detach", commit];
        self.git.long(&args, stop).map(drop)
    }
}

impl Drop for Worktree {
    fn drop(&mut self) {
        remove(&self.of, self.scratch.path());
    }
}

/// Removes what bisections that were killed have left below `above`.
pub(super) fn sweep(above: &Path) {
    for entry in fs::read_dir(above).into_iter().flatten().flatten() {
        let scratch = entry.path();
        let lock = scratch.join(LOCK);
        let ours = entry.file_name().to_string_lossy().starts_with(PREFIX);
        if ours && lock.is_file() && take(&lock).is_ok() {
            // Its repository is the one that it belongs to, whichever is bisected now.
            remove(&Git::at(&scratch.join(TREE)), &scratch);
            drop(fs::remove_dir_all(&scratch));
        }
    }
}

/// Removes the worktree in `scratch`, and what its repository knows of it. What cannot be removed is git's to prune.
fn remove(git: &Git, scratch: &Path) {
    let path = scratch.join(TREE);
    let path = path.to_string_lossy();
    // Twice, since git locks a worktree while it makes it.
    drop(git.try_it(&["worktree", "remove", "--force", "--force", &path]));
}

fn take(lock: &Path) -> io::Result<File> {
    let file = File::create(lock)?;
    flock(&file, FlockOperation::NonBlockingLockExclusive)?;
    Ok(file)
}
