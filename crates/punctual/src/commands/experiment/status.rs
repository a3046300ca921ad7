// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual experiment status`.

use std::path::Path;

use punctual_lab::file::Experiment;
use serde_json::json;

use crate::cli::ExperimentStatusArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::experiments::dir_of;
use crate::experiments::status::{Summary, must_exist, names, summary, text};
use crate::home;
use crate::output::{self, print};

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
        output::json(&json!({ "experiments": values }))?;
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
