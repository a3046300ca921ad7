// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual compare --by host`.

use std::path::Path;

use punctual_model::{HistoryDirection, Machines, MachinesGroup};
use punctual_report::document::{Document, Material};
use punctual_report::html;
use punctual_store::Store;
use punctual_verdict::machines::{MachinesRequest, machines};
use punctual_verdict::select::{Chosen, all_of, find, of_sources};

use crate::cli::{CompareArgs, FailOn};
use crate::error::CliError;
use crate::exit::Exit;
use crate::finding::unnamed;
use crate::home;
use crate::output::{self, Destination};
use crate::pages::{made_now, put};

/// Compares the machines of all runs as `args` say.
pub(super) fn run(home: Option<&Path>, args: &CompareArgs) -> Result<Exit, CliError> {
    let known = [FailOn::Worse, FailOn::Different, FailOn::TooFewRuns];
    if args.fail_on.iter().any(|fail_on| !known.contains(fail_on)) {
        return Err(CliError::usage(
            "--by host: --fail-on is worse, different or too-few-runs",
        ));
    }
    if args.groups.is_empty() {
        return Err(CliError::usage("--by host: name the runs")
            .hint("for example `punctual compare --by host '*'`"));
    }
    // What exists is refused before minutes of reading.
    let target = Destination::open_if(args.output.as_ref(), args.force)?;
    let fleet = of_runs(home, args)?;
    let material = Material {
        machines: vec![fleet.clone()],
        ..made_now()
    };
    if let Some(target) = target {
        put(target, &html::page(&Document::new(&material)))?;
    }
    output::show(&fleet, args.json, |_| Document::new(&material))?;
    Ok(exit(&fleet, &args.fail_on))
}

fn of_runs(home: Option<&Path>, args: &CompareArgs) -> Result<Machines, CliError> {
    let metrics: Vec<_> = args.metric.iter().flat_map(|list| list.0.clone()).collect();
    let store = Store::open_existing(home::find(home)?)?;
    let chosen = Chosen {
        metrics: &metrics,
        allow_invalid: args.allow_invalid,
        ..Chosen::default()
    };
    let mut groups = of_sources(
        find(&store, &[all_of(&args.groups)]).map_err(unnamed)?,
        &chosen,
    )?;
    let Some(runs) = groups.pop() else {
        return Err(CliError::usage("--by host: no runs"));
    };
    let asked = MachinesRequest {
        metrics,
        level: args.level.0,
    };
    // Which runs are meant is no question of the gate, but what they show is.
    let of_gate = |err: CliError| err.of_gate(!args.fail_on.is_empty());
    let fleet = machines(runs, &asked).map_err(|err| of_gate(err.into()))?;
    if let (true, Some(first)) = (fleet.groups.is_empty(), fleet.refused.first()) {
        let n = fleet.refused.len();
        let error = CliError::failed_to(format!("compare the machines of {n} runs"))
            .because(format!("run {}: {}", first.id, first.reason));
        return Err(of_gate(error));
    }
    Ok(fleet)
}

fn exit(fleet: &Machines, fail_on: &[FailOn]) -> Exit {
    if fail_on.is_empty() {
        return Exit::Fine;
    }
    let outliers = || {
        let machines = fleet.groups.iter().flat_map(|group| &group.outliers);
        machines.flat_map(|outlier| &outlier.figures)
    };
    let figures = || fleet.groups.iter().flat_map(|group| &group.figures);
    let judged = figures().all(|figure| figure.judged) && figures().next().is_some();
    let failed = fail_on.iter().any(|fail_on| match fail_on {
        FailOn::Worse => outliers().any(|figure| figure.direction != HistoryDirection::Better),
        FailOn::TooFewRuns => !judged,
        _ => outliers().next().is_some(),
    });
    let whole = fleet.missing.is_empty()
        && fleet.refused.is_empty()
        && fleet.groups.iter().all(has_every_value);
    Exit::of_gate(failed, judged && whole)
}

/// Whether each machine of a group has each figure, of which there is at least one: a machine without a value is never an
/// outlier, and a machine alone in its group has no figure.
fn has_every_value(group: &MachinesGroup) -> bool {
    let mut figures = group.figures.iter().peekable();
    figures.peek().is_some() && figures.all(|figure| figure.machines.len() == group.machines.len())
}
