// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The `punctual` program as a library: for its binary, its tests, and the generation of its
//! manual pages. Everything that reads the environment, prints or exits is here.
//!
//! Without the feature `workbench` it is the agent of a guest: the same instruments, loads and records,
//! and nothing that a guest has no use for.
#![forbid(unsafe_code)]
#![cfg_attr(
    not(feature = "workbench"),
    expect(dead_code, reason = "what only the whole program uses")
)]

pub mod cli;

mod agent;
mod commands;
mod cpus;
#[cfg(feature = "workbench")]
mod cyclictest;
mod error;
mod exit;
#[cfg(feature = "workbench")]
mod experiments;
#[cfg(feature = "workbench")]
mod finding;
#[cfg(feature = "workbench")]
mod gate;
#[cfg(feature = "workbench")]
mod guests;
mod home;
#[cfg(feature = "workbench")]
mod http;
mod instruments;
#[cfg(feature = "workbench")]
mod kernels;
#[cfg(feature = "workbench")]
mod metrics;
#[cfg(not(feature = "workbench"))]
#[path = "metrics/absent.rs"]
mod metrics;
mod output;
#[cfg(feature = "workbench")]
mod pages;
mod recording;
#[cfg(feature = "workbench")]
mod sets;
mod signals;
#[cfg(feature = "workbench")]
mod tuning;
#[cfg(not(feature = "workbench"))]
#[path = "tuning/absent.rs"]
mod tuning;
#[cfg(feature = "workbench")]
mod view;
#[cfg(not(feature = "workbench"))]
#[path = "view/absent.rs"]
mod view;

use std::ffi::OsString;
use std::io::{self, IsTerminal as _};
use std::process::ExitCode;

use clap::Parser as _;
use punctual_measure::loads::Role;

pub use error::CliError;
pub use exit::Exit;

/// Runs the program with `args`, the first of which is its name.
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    punctual_sys::memory::use_one_heap();
    punctual_sys::process::name_if_exe(c"punctual");
    // Without it the limit ends the program, which says nothing then.
    drop(punctual_sys::thread::outlive_file_size_limit());
    if agent::is_wanted() {
        agent::main();
    }
    let args: Vec<OsString> = args.into_iter().collect();
    if let Some((role, rest)) = role_of(&args) {
        return commands::load::play(role, rest);
    }
    #[cfg(feature = "workbench")]
    if let Some(rest) = for_cyclictest(&args) {
        return cyclictest::main(None, rest);
    }
    let cli = match cli::Cli::try_parse_from(&args) {
        Ok(cli) => cli,
        Err(err) => {
            let wanted = matches!(
                err.kind(),
                clap::error::ErrorKind::DisplayHelp | clap::error::ErrorKind::DisplayVersion
            );
            if wanted {
                return match output::write(|out| write!(out, "{}", written(&err))) {
                    Ok(()) => Exit::Fine.into(),
                    Err(err) => {
                        err.print();
                        err.exit().into()
                    }
                };
            }
            #[cfg(feature = "workbench")]
            if let Some(err) = error::without_instrument(&err, &args) {
                err.print();
                return err.exit().into();
            }
            error::print_usage(&err, &args);
            return Exit::Usage.into();
        }
    };
    #[cfg(feature = "workbench")]
    if let cli::Command::Cyclictest(args) = &cli.command {
        return cyclictest::main(cli.home.as_deref(), &args.options);
    }
    let ended = commands::run(cli);
    // An error is printed where the screen was.
    view::give_back(ended.is_err());
    // Whatever has kept the screen open, the shell gets its terminal back.
    punctual_sys::terminal::give_back();
    match ended {
        Ok(exit) => exit.into(),
        Err(err) => {
            err.print();
            err.exit().into()
        }
    }
}

/// Returns help as it looks on a terminal, or as plain text.
fn written(help: &clap::Error) -> String {
    let text = help.render();
    match io::stdout().is_terminal() {
        true => text.ansi().to_string(),
        false => text.to_string(),
    }
}

/// Returns what this process is to do for a load, with its arguments, where it was started for that.
fn role_of(args: &[OsString]) -> Option<(Role, &[OsString])> {
    let (first, rest) = args.get(1..)?.split_first()?;
    Some((Role::of(first)?, rest))
}

/// Returns the options of cyclictest where the program was started under that name, or with it as
/// its verb: they are taken apart as `getopt_long(3)` does, which clap does not.
#[cfg(feature = "workbench")]
fn for_cyclictest(args: &[OsString]) -> Option<&[OsString]> {
    const NAME: &str = "cyclictest";
    let (program, rest) = args.split_first()?;
    if std::path::Path::new(program).file_name() == Some(NAME.as_ref()) {
        return Some(rest);
    }
    let (verb, options) = rest.split_first()?;
    (verb == NAME).then_some(options)
}
