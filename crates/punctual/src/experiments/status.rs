// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! How far the experiments of a store are.

use std::fs;
use std::path::Path;

use punctual_lab::state::{RunEnd, Snapshot};

use super::{experiment_of, resume_by};
use crate::error::CliError;

/// How far one experiment is.
#[derive(Debug)]
pub(crate) struct Summary {
    pub(crate) snapshot: Snapshot,
    pub(crate) done: u64,
    ends: [usize; 4],
    /// How it is gone on with.
    how_on: String,
}

const ENDS: [(RunEnd, &str); 4] = [
    (RunEnd::Valid, "valid"),
    (RunEnd::Invalid, "invalid"),
    (RunEnd::Failed, "failed"),
    (RunEnd::Interrupted, "interrupted"),
];

/// Reads the state in `dir`.
pub(crate) fn summary(dir: &Path) -> Result<Summary, CliError> {
    let snapshot = Snapshot::read(dir)?;
    let mut slots: Vec<_> = snapshot
        .attempts
        .iter()
        .filter(|a| matches!(a.end, Some(end) if end != RunEnd::Interrupted))
        .map(|a| a.slot)
        .collect();
    slots.sort_unstable();
    slots.dedup();
    let of = |end| {
        let attempts = snapshot.attempts.iter();
        attempts.filter(|a| a.end == Some(end)).count()
    };
    let ends = ENDS.map(|(end, _)| of(end));
    // A file that this version does not understand hides nothing of what was done.
    let experiment = experiment_of(&snapshot.text, &snapshot.plan).ok();
    let command = experiment.and_then(|experiment| experiment.command);
    Ok(Summary {
        how_on: resume_by(command.as_deref(), &snapshot.plan.name),
        done: slots.len() as u64,
        ends,
        snapshot,
    })
}

/// Says it in a few lines.
pub(crate) fn text(summary: &Summary) -> String {
    let plan = &summary.snapshot.plan;
    let counts = ENDS.iter().zip(summary.ends).filter(|(_, n)| *n > 0);
    let counts: Vec<String> = counts.map(|((_, name), n)| format!("{n} {name}")).collect();
    let state = match &summary.snapshot.finished {
        Some(reason) => format!("finished: {reason}"),
        None => summary.how_on.clone(),
    };
    format!(
        "Experiment `{}`: {} of {} runs done ({}), seed {}{}\n {state}\n",
        plan.name,
        summary.done,
        plan.runs(),
        if counts.is_empty() {
            "none yet".to_owned()
        } else {
            counts.join(", ")
        },
        plan.seed,
        replanned(&summary.snapshot.replanned)
    )
}

/// Says how many blocks an edited file took away or added.
fn replanned(changes: &[(u32, u32)]) -> String {
    let changes = changes.iter().map(|(before, now)| match before == now {
        true => ", replanned".to_owned(),
        false => format!(", replanned from {before} to {now} blocks"),
    });
    changes.collect()
}

/// Fails with a list of those that there are.
pub(crate) fn must_exist(home: &Path, name: &str) -> Result<(), CliError> {
    let names = names(home);
    if names.iter().any(|known| known == name) {
        return Ok(());
    }
    let hint = if names.is_empty() {
        "this store has no experiments".to_owned()
    } else {
        format!("experiments of this store: {}", names.join(", "))
    };
    Err(CliError::usage(format!("`{name}`: no such experiment")).hint(hint))
}

/// The experiments of a store.
pub(crate) fn names(home: &Path) -> Vec<String> {
    let entries = fs::read_dir(home.join("experiments")).into_iter().flatten();
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| !name.starts_with('.'))
        .collect();
    names.sort();
    names
}
