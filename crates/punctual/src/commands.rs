// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! One file a verb.

mod assess;
mod load;
mod measure;
mod runs;

use crate::cli::{Cli, Command, Instrument};
use crate::error::CliError;
use crate::exit::Exit;

/// Does what the command line says.
pub(crate) fn run(cli: Cli) -> Result<Exit, CliError> {
    let home = cli.home.as_deref();
    match cli.command {
        Command::Assess(args) => assess::run(home, &args),
        Command::Measure { instrument } => match instrument {
            Instrument::Wakeup(args) => measure::run(home, &args),
        },
        Command::Load(args) => load::run(&args),
        Command::Runs { action } => runs::run(home, action),
    }
}
