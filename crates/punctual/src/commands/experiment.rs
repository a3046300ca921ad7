// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual experiment`.

mod edited;
mod plan;
mod remove;
mod results;
mod status;
mod sweep;

use std::io::{self, IsTerminal as _, Write as _};
use std::path::Path;

use punctual_lab::plan::Plan;
use punctual_lab::state::State;
use punctual_store::Store;
use punctual_verdict::words::counted;

use crate::cli::{ExperimentAction, ExperimentResumeArgs, ExperimentRunArgs};
use crate::error::CliError;
use crate::exit::Exit;
use crate::experiments::plan::{self as plans, Cost};
use crate::experiments::{Manner, dir_of, finish, read, tuned};
use crate::metrics::Metrics;
use crate::output::remark;
use crate::{experiments, home};

/// More runs than this are asked about first.
const MANY_RUNS: u64 = 1_000;

/// More seconds of measuring than this are asked about first.
const LONG: f64 = 24.0 * 3_600.0;

/// Does what `action` says.
pub(crate) fn run(home: Option<&Path>, action: ExperimentAction) -> Result<Exit, CliError> {
    match action {
        ExperimentAction::Plan(args) => plan::show(&args),
        ExperimentAction::Run(args) => begin(home, &args),
        ExperimentAction::Resume(args) => resume(home, &args),
        ExperimentAction::Status(args) => status::show(home, &args),
        ExperimentAction::Rm(args) => remove::run(home, &args),
        ExperimentAction::Results(args) => results::show(home, &args),
        ExperimentAction::Sweep(args) => sweep::write(args),
    }
}

fn begin(home: Option<&Path>, args: &ExperimentRunArgs) -> Result<Exit, CliError> {
    let read = read(&args.file, &args.parameter)?;
    let plan = plans::of(&read, args.seed)?;
    tuned::require(&read.experiment, &plan)?;
    remark_on_skipped(&plan);
    let store = Store::open(home::find(home)?)?;
    let dir = dir_of(store.home(), &plan.name);
    let exists = dir.symlink_metadata().is_ok();
    if exists && !args.replan {
        return Err(edited::already_there(&dir, &read, &plan));
    }
    if !args.yes {
        ask(&Cost::of(&read.experiment, &plan))?;
    }
    let metrics = Metrics::of(&args.metrics, "experiment", Some(&plan.name))?;
    let mut state = match exists {
        true => edited::go_on_by(&dir, &read, &plan)?,
        false => State::create(&dir, &plan, &read.text)?,
    };
    let experiment = read.experiment.only(&plan.measurements);
    let manner = Manner {
        quiet: args.quiet,
        metrics,
        jobs: args.jobs.jobs,
        ..Manner::default()
    };
    finish(&store, &experiment, &mut state, manner)
}

/// Says what is left out before anything is measured.
fn remark_on_skipped(plan: &Plan) {
    for skipped in &plan.skipped {
        remark(&format!("Left out: {}: {}", skipped.what, skipped.reason));
    }
}

fn resume(home: Option<&Path>, args: &ExperimentResumeArgs) -> Result<Exit, CliError> {
    let manner = Manner {
        quiet: args.quiet,
        metrics: Metrics::of(&args.metrics, "experiment", Some(&args.name))?,
        jobs: args.jobs.jobs,
        ..Manner::default()
    };
    experiments::resume(home, &args.name, manner)
}

/// Asks whether to begin something that takes very long.
fn ask(cost: &Cost) -> Result<(), CliError> {
    if cost.runs <= MANY_RUNS && cost.most() <= LONG {
        return Ok(());
    }
    let what = format!("{}, {}", counted(cost.runs, "run"), cost.time());
    let refused = || {
        CliError::usage(format!("not begun: {what}")).hint(
            "fewer levels, a fraction (design = \"resolution-four\") or fewer blocks; or --yes",
        )
    };
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Err(refused());
    }
    eprint_question(&format!("{what}. Begin? [y/N] "));
    let mut answer = String::new();
    io::stdin()
        .read_line(&mut answer)
        .map_err(|err| CliError::failed_to("read the answer").because(err))?;
    match answer.trim() {
        "y" | "Y" | "yes" => Ok(()),
        _ => Err(refused()),
    }
}

fn eprint_question(text: &str) {
    let mut err = io::stderr();
    drop(err.write_all(text.as_bytes()).and_then(|()| err.flush()));
}
