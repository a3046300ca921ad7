// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Commits of the vendor that are not on the new branch: git passes over what changes nothing there, and what that branch has as well.

use std::collections::BTreeMap;

use punctual_model::ConflictingCommit;

use super::RebaseError;
use crate::git::{Git, described};

/// Returns the commits of `vendor` (a range) that have no counterpart in `branch` (a range), in their order.
///
/// A commit keeps its author and the author's time when it is put on another one; its message may be edited on the way.
pub(super) fn commits(
    git: &Git,
    vendor: &str,
    branch: &str,
) -> Result<Vec<ConflictingCommit>, RebaseError> {
    let log = |range| {
        let format = "--format=%at %ae%x09%H%x09%s";
        git.say(&[
            "log",
            "--reverse",
            "--no-merges",
            "--no-show-signature",
            format,
            range,
        ])
    };
    let (vendor, branch) = (log(vendor)?, log(branch)?);
    let mut there: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for line in branch.lines() {
        let mut fields = line.splitn(3, '\t');
        let (written, _, subject) = (fields.next(), fields.next(), fields.next());
        there
            .entry(written.unwrap_or_default())
            .or_default()
            .push(subject.unwrap_or_default());
    }
    let mut without = Vec::new();
    for line in vendor.lines() {
        let (written, commit) = line.split_once('\t').unwrap_or((line, ""));
        let commit = described(commit);
        let same = there.entry(written).or_default();
        match same.iter().position(|subject| *subject == commit.subject) {
            Some(at) => drop(same.remove(at)),
            None => without.push((written, commit)),
        }
    }
    // What is left over there of the same author and time has another message now.
    without.retain(|(written, _)| match there.get_mut(written) {
        Some(same) => same.pop().is_none(),
        None => true,
    });
    Ok(without.into_iter().map(|(_, commit)| commit).collect())
}
