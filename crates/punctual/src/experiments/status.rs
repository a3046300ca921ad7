// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! How far the experiments of a store are.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use punctual_lab::outcome::{Outcomes, Unmeasured, outcomes, unmeasured};
use punctual_lab::state::{RunEnd, Snapshot};
use punctual_verdict::words::counted;

use super::{experiment_of, resume_by};
use crate::error::CliError;

/// More cells than this are counted and not named.
const NAMED: usize = 12;

/// How far one experiment is.
#[derive(Debug)]
pub(crate) struct Summary {
    pub(crate) snapshot: Snapshot,
    pub(crate) outcomes: Outcomes,
    /// How it is gone on with.
    how_on: String,
    /// The command that alone can carry it out.
    command: Option<String>,
}

impl Summary {
    /// Measurements of cells that were tried and have no valid run.
    pub(crate) fn unmeasured(&self) -> Vec<Unmeasured<'_>> {
        unmeasured(&self.snapshot.plan, &self.snapshot.attempts)
    }

    /// Names one of them: its cell, and its measurement where there are several.
    pub(crate) fn name(&self, of: &Unmeasured<'_>) -> String {
        let plan = &self.snapshot.plan;
        let measurement = plan.measurements.get(of.measurement as usize);
        let measurement = measurement.filter(|_| plan.measurements.len() > 1);
        let measurement = measurement.map(|name| format!(", {name}"));
        plan.cell_name(of.cell) + &measurement.unwrap_or_default()
    }
}

/// How a try ended, in a word.
pub(crate) const fn word(end: Option<RunEnd>) -> &'static str {
    match end {
        Some(RunEnd::Valid) => "valid",
        Some(RunEnd::Invalid) => "invalid",
        Some(RunEnd::Failed) => "failed",
        Some(RunEnd::Interrupted) | None => "interrupted",
    }
}

/// Reads the state in `dir`.
pub(crate) fn summary(dir: &Path) -> Result<Summary, CliError> {
    let snapshot = Snapshot::read(dir)?;
    // A file that this version does not understand hides nothing of what was done.
    let experiment = experiment_of(&snapshot.text, &snapshot.plan).ok();
    let command = experiment.and_then(|experiment| experiment.command);
    Ok(Summary {
        how_on: resume_by(command.as_deref(), &snapshot.plan.name),
        outcomes: outcomes(&snapshot.attempts),
        command,
        snapshot,
    })
}

/// Says it in a few lines.
pub(crate) fn text(summary: &Summary) -> String {
    let plan = &summary.snapshot.plan;
    let Outcomes {
        valid,
        invalid,
        failed,
    } = summary.outcomes;
    let state = match &summary.snapshot.finished {
        Some(reason) => format!("finished: {reason}"),
        None => summary.how_on.clone(),
    };
    format!(
        "{}Experiment `{}`: {} of {} runs done{}{}{}, seed {}{}\n {state}\n",
        without_valid_run(summary),
        plan.name,
        valid + invalid,
        plan.runs(),
        match counts([(valid, "valid"), (invalid, "invalid")]) {
            counts if counts.is_empty() => counts,
            counts => format!(" ({counts})"),
        },
        match failed {
            0 => String::new(),
            failed => format!(", {failed} failed"),
        },
        tries(summary),
        plan.seed,
        replanned(&summary.snapshot.replanned)
    )
}

/// `2 valid, 1 invalid`.
fn counts<const N: usize>(counts: [(u64, &str); N]) -> String {
    let counts = counts.into_iter().filter(|(n, _)| *n > 0);
    let counts: Vec<String> = counts.map(|(n, name)| format!("{n} {name}")).collect();
    counts.join(", ")
}

/// Counts the tries, where runs took more than one.
fn tries(summary: &Summary) -> String {
    let ended = summary.snapshot.attempts.iter().filter_map(|a| a.end);
    let ended: Vec<RunEnd> = ended.collect();
    let of = |end| ended.iter().filter(|known| **known == end).count() as u64;
    let Outcomes {
        valid,
        invalid,
        failed,
    } = summary.outcomes;
    if ended.len() as u64 == valid + invalid + failed {
        return String::new();
    }
    let ends = [
        RunEnd::Valid,
        RunEnd::Invalid,
        RunEnd::Failed,
        RunEnd::Interrupted,
    ];
    let ends = ends.map(|end| (of(end), word(Some(end))));
    format!(
        "; {} ({})",
        counted(ended.len() as u64, "attempt"),
        counts(ends)
    )
}

/// Names the cells that have no valid run although they were tried, and why.
pub(crate) fn without_valid_run(summary: &Summary) -> String {
    let all = summary.unmeasured();
    if all.is_empty() {
        return String::new();
    }
    let plan = &summary.snapshot.plan;
    let cells: BTreeSet<u32> = all.iter().map(|of| of.cell).collect();
    let mut lines = vec![format!(
        "No valid run in {} of {}:\n",
        cells.len(),
        counted(plan.cells.len() as u64, "cell")
    )];
    lines.extend(all.iter().take(NAMED).map(|of| {
        let why = of.last.detail.as_deref().unwrap_or("no reason was noted");
        format!(" {}: {}: {why}\n", summary.name(of), word(of.last.end))
    }));
    if let more @ 1.. = all.len().saturating_sub(NAMED) {
        lines.push(format!(" and {more} more\n"));
    }
    if summary.snapshot.finished.is_some() && summary.command.is_none() {
        lines.push(format!(
            " Once the cause is fixed, start over: `punctual experiment rm {}` frees the name.\n",
            plan.name
        ));
    }
    lines.concat()
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
