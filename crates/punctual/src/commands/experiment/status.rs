// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual experiment status`.

use std::fs;
use std::path::Path;

use punctual_lab::file::Experiment;
use punctual_lab::state::{RunEnd, Snapshot};
use serde_json::json;

use super::dir_of;
use crate::cli::ExperimentStatusArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::home;
use crate::output::{self, print};

/// How far one experiment is.
#[derive(Debug)]
pub(super) struct Summary {
    snapshot: Snapshot,
    done: u64,
    ends: [usize; 4],
}

const ENDS: [(RunEnd, &str); 4] = [
    (RunEnd::Valid, "valid"),
    (RunEnd::Invalid, "invalid"),
    (RunEnd::Failed, "failed"),
    (RunEnd::Interrupted, "interrupted"),
];

/// Reads the state in `dir`.
pub(super) fn summary(dir: &Path) -> Result<Summary, CliError> {
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
    Ok(Summary {
        done: slots.len() as u64,
        ends,
        snapshot,
    })
}

/// Says it in a few lines.
pub(super) fn text(summary: &Summary) -> String {
    let plan = &summary.snapshot.plan;
    let counts = ENDS.iter().zip(summary.ends).filter(|(_, n)| *n > 0);
    let counts: Vec<String> = counts.map(|((_, name), n)| format!("{n} {name}")).collect();
    let state = match &summary.snapshot.finished {
        Some(reason) => format!("over: {reason}"),
        None => format!("to go on: `punctual experiment resume {}`", plan.name),
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
    let changes = changes
        .iter()
        .map(|(before, now)| format!(", replanned from {before} to {now} blocks"));
    changes.collect()
}

/// Fails with a list of those that there are.
pub(super) fn must_exist(home: &Path, name: &str) -> Result<(), CliError> {
    let names = names(home);
    if names.iter().any(|known| known == name) {
        return Ok(());
    }
    let hint = if names.is_empty() {
        "there are no experiments in this store".to_owned()
    } else {
        format!("experiments of this store: {}", names.join(", "))
    };
    Err(CliError::usage(format!("`{name}`: no such experiment")).hint(hint))
}

fn names(home: &Path) -> Vec<String> {
    let entries = fs::read_dir(home.join("experiments")).into_iter().flatten();
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| !name.starts_with('.'))
        .collect();
    names.sort();
    names
}

/// Shows one experiment, or all.
pub(super) fn show(home: Option<&Path>, args: &ExperimentStatusArgs) -> Result<Exit, CliError> {
    let home = home::find(home)?;
    let names = match &args.name {
        Some(name) => {
            must_exist(&home, name)?;
            vec![name.clone()]
        }
        None => names(&home),
    };
    let mut all = Vec::new();
    for name in &names {
        all.push(summary(&dir_of(&home, name))?);
    }
    if args.json {
        let values: Vec<serde_json::Value> = all.iter().map(value).collect();
        output::write(|out| {
            serde_json::to_writer_pretty(&mut *out, &json!({ "experiments": values }))?;
            writeln!(out)
        })?;
    } else if all.is_empty() {
        print("No experiments.\n")?;
    } else {
        print(&all.iter().map(text).collect::<String>())?;
    }
    Ok(Exit::Fine)
}

fn value(summary: &Summary) -> serde_json::Value {
    let snapshot = &summary.snapshot;
    let runs: Vec<serde_json::Value> = snapshot
        .attempts
        .iter()
        .map(|a| {
            json!({
                "run": a.run.to_string(),
                "block": a.slot.block,
                "position": a.slot.position,
                "cell": a.slot.cell,
                "measurement": a.slot.measurement,
                "end": a.end,
                "seconds": a.seconds,
                "detail": a.detail,
            })
        })
        .collect();
    // The file is as it was when it began: it was checked then.
    let metrics = Experiment::parse("experiment.toml", &snapshot.text).map(|e| e.metrics);
    json!({
        "plan": snapshot.plan,
        "compare": metrics.unwrap_or_default(),
        "runs_planned": snapshot.plan.runs(),
        "runs_done": summary.done,
        "finished": snapshot.finished,
        "runs": runs,
    })
}
