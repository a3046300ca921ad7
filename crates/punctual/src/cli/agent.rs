// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The verbs of a guest's agent: those that it starts itself for.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

use super::{LoadArgs, path};
use crate::instruments::Instrument;

/// The agent of a guest
#[derive(Debug, Parser)]
#[command(name = "punctual")]
pub struct Cli {
    /// Directory of the store
    #[arg(long, global = true, value_name = "DIR", value_parser = path())]
    pub home: Option<PathBuf>,

    /// What to do
    #[command(subcommand)]
    pub command: Command,
}

/// The verbs
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Measure with one instrument, and record the run
    Measure {
        /// The instrument
        #[command(subcommand)]
        instrument: Instrument,
    },
    /// Run the loads of a measurement
    Load(LoadArgs),
}
