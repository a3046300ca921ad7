// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The `punctual` program as a library: for its binary, its tests, and the generation of its
//! manual pages. Everything that reads the environment, prints or exits is here.
#![forbid(unsafe_code)]

pub mod cli;

mod commands;
mod error;
mod exit;
mod home;
mod output;
mod recording;
mod signals;
mod view;

use std::ffi::OsString;

use clap::Parser as _;

pub use error::CliError;
pub use exit::Exit;

/// Runs the program with `args`, the first of which is its name.
pub fn main(args: impl IntoIterator<Item = OsString>) -> Exit {
    punctual_sys::memory::use_one_heap();
    let args: Vec<OsString> = args.into_iter().collect();
    let cli = match cli::Cli::try_parse_from(&args) {
        Ok(cli) => cli,
        Err(err) => {
            let wanted = matches!(
                err.kind(),
                clap::error::ErrorKind::DisplayHelp | clap::error::ErrorKind::DisplayVersion
            );
            if wanted {
                // Nobody is left to tell when even this cannot be printed.
                drop(err.print());
                return Exit::Fine;
            }
            error::print_usage(&err, &args);
            return Exit::Usage;
        }
    };
    match commands::run(cli) {
        Ok(exit) => exit,
        Err(err) => {
            err.print();
            err.exit()
        }
    }
}
