// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Cells that tune the machine.
//!
//! A run tunes by itself and puts everything back at its end. If it is killed, its keeper does that a
//! moment later: until then, nothing is measured.

use std::time::{Duration, Instant};

use punctual_host::session::Left;
use punctual_lab::file::{Experiment, Sets};
use punctual_lab::plan::{Invocation, Plan, invocation};

use super::how_to_resume;
use crate::cli::{Cli, Command};
use crate::error::CliError;
use crate::tuning::{self, Place, Wish};

/// How long the keeper of a run that was killed may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// Time between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// What a profile or a knob of a cell is, without looking at the machine. Fails where there is no such
/// profile, knob, or value of it.
pub(super) fn check(cli: &Cli) -> Result<(), CliError> {
    let Command::Measure { tuning, .. } = &cli.command else {
        return Ok(());
    };
    if tuning.tune.is_none() && tuning.set.is_empty() && tuning.isolate.is_none() {
        return Ok(());
    }
    tuning::profile(&Wish {
        profile: tuning.tune.clone(),
        isolate: tuning.isolate.clone(),
        set: tuning.set.clone(),
        ..Wish::default()
    })
    .map(drop)
}

/// Whether there is such a knob, and it takes such a value.
pub(crate) fn known(setting: &str) -> Result<(), CliError> {
    tuning::profile(&Wish {
        set: vec![setting.to_owned()],
        ..Wish::default()
    })
    .map(drop)
}

/// Fails where cells change the machine and that may not be done, or where another command sets what they differ in.
pub(crate) fn require(experiment: &Experiment, plan: &Plan) -> Result<(), CliError> {
    if let Some(command) = &experiment.command {
        let why = format!("{}: only `punctual {command}` can carry it out", plan.name);
        return Err(CliError::usage(why).hint(how_to_resume(experiment)));
    }
    let factor = |sets: &Sets| matches!(sets, Sets::Knob(_) | Sets::Profile);
    if !experiment.factors.iter().any(|f| factor(&f.sets)) {
        return Ok(());
    }
    let tunes = |levels: &Vec<String>| invocation(experiment, levels, 0).is_some_and(|i| tunes(&i));
    if plan.cells.iter().any(tunes) {
        Place::here().require_privilege(Some("punctual tune plan"))?;
    }
    Ok(())
}

/// Whether a run tunes the machine.
fn tunes(what: &Invocation) -> bool {
    let option = |argument: &String| {
        ["--tune=", "--set=", "--isolate="]
            .iter()
            .any(|option| argument.starts_with(option))
    };
    what.arguments.iter().any(option)
}

/// Waits until what an earlier run has changed for `purpose` is taken back. Fails where it stays.
pub(crate) fn settle(purpose: &str, stop: &dyn Fn() -> bool) -> Result<(), String> {
    let place = Place::here();
    let Ok(tuner) = place.tuner() else {
        return Ok(());
    };
    let end = Instant::now() + PATIENCE;
    loop {
        // The run reports what cannot be read, where it matters.
        let Ok(Left::Changes(journal)) = tuner.left() else {
            return Ok(());
        };
        let session = journal.session();
        // Whoever applied a profile meant it, and each run says that it is there.
        if session.purpose != purpose {
            return Ok(());
        }
        let awaited = tuning::is_awaited(&place.sys, &journal);
        if !awaited || Instant::now() >= end || stop() {
            return Err(tuning::said_of(&place.sys, &journal));
        }
        std::thread::sleep(LOOK_EVERY);
    }
}
