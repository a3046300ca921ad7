// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! One file a verb.

#[cfg(feature = "workbench")]
mod assess;
#[cfg(feature = "workbench")]
mod compare;
#[cfg(feature = "workbench")]
mod doctor;
#[cfg(feature = "workbench")]
mod experiment;
#[cfg(feature = "workbench")]
mod explain;
#[cfg(feature = "workbench")]
mod fleet;
#[cfg(feature = "workbench")]
mod history;
#[cfg(feature = "workbench")]
mod kernel;
pub(crate) mod load;
#[cfg(feature = "workbench")]
mod measure;
#[cfg(feature = "workbench")]
mod report;
#[cfg(feature = "workbench")]
mod runs;
#[cfg(feature = "workbench")]
mod serve;
#[cfg(feature = "workbench")]
mod study;
#[cfg(feature = "workbench")]
mod tasks;
#[cfg(feature = "workbench")]
mod tune;

use crate::cli::{Cli, Command};
use crate::error::CliError;
use crate::exit::Exit;
#[cfg(feature = "workbench")]
use crate::instruments::Instrument;
#[cfg(feature = "workbench")]
use crate::tuning;

/// Does what the command line says.
#[cfg(feature = "workbench")]
pub(crate) fn run(cli: Cli) -> Result<Exit, CliError> {
    let home = cli.home.as_deref();
    let policy = be_ordinary(&cli.command);
    match cli.command {
        Command::Assess(args) => assess::run(home, &args),
        Command::Compare(args) => compare::run(home, &args),
        Command::History(args) => history::run(home, &args),
        Command::Doctor(args) => {
            tuning::remark_on_left(&tuning::Place::here());
            doctor::run(&args)
        }
        Command::Measure { tuning, instrument } => measure::run(home, &tuning, instrument),
        Command::Watch { tuning, args } => measure::run(home, &tuning, Instrument::Watch(args)),
        Command::Explain(args) => explain::run(home, &args),
        Command::Experiment { action } => experiment::run(home, action),
        Command::Study { action } => study::run(home, action),
        Command::Fleet { action } => fleet::run(home, &action),
        Command::Kernel { action } => kernel::run(home, &action),
        // Taken before: its exit statuses are not ours.
        Command::Cyclictest(_) => Ok(Exit::Fine),
        Command::Load(args) => load::run(&args),
        Command::Tasks { action } => tasks::run(home, &action),
        Command::Tune(args) => tune::run(home, &args, policy),
        Command::Report(args) => report::run(home, &args),
        Command::Runs { action } => runs::run(home, action),
        Command::Serve(args) => serve::run(home, &args),
    }
}

/// Does what the agent of a guest has started itself for.
#[cfg(not(feature = "workbench"))]
pub(crate) fn run(cli: Cli) -> Result<Exit, CliError> {
    match cli.command {
        Command::Measure { instrument } => instrument.measure(cli.home.as_deref()),
        Command::Load(args) => load::run(&args),
    }
}

/// Only measuring threads are real-time threads. Started under `chrt -f`, the loads would otherwise
/// inherit that, take every CPU from everybody, and could not even be stopped from the terminal.
///
/// Returns the policy that it had.
#[cfg(feature = "workbench")]
fn be_ordinary(command: &Command) -> Option<punctual_model::Policy> {
    let starts_threads = !matches!(
        command,
        Command::Compare(_)
            | Command::History(_)
            | Command::Explain(_)
            | Command::Fleet { .. }
            | Command::Report(_)
            | Command::Runs { .. }
            | Command::Doctor(_)
            | Command::Serve(_)
            | Command::Tasks { .. }
    );
    let policy = starts_threads.then(punctual_sys::sched::leave_real_time);
    let policy = policy?.ok()??;
    let then = match command {
        // Its own threads need none, and a command that it runs has it again.
        Command::Tune(_) => return Some(policy),
        Command::Watch { .. } => {
            "a program has the policy that it sets itself, as with `punctual watch -- chrt ...`"
        }
        _ => "only measuring threads get a real-time policy, by --priority",
    };
    crate::output::remark(&format!(
        "Started with {} ({policy}); {then}.",
        policy.kernel_name()
    ));
    Some(policy)
}
