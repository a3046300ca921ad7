// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The one place that names the command line of the binary.

use clap::builder::Resettable;
use clap::{Arg, Command, Id};

/// Returns the command that man pages and completions describe.
pub(crate) fn command() -> Command {
    punctual::cli::command()
}

/// Returns what is shown of `command`: without hidden options, which `clap_complete` would offer.
pub(crate) fn shown(command: &Command) -> Command {
    let mut command = command.clone();
    // Names, global options, help: what would be added later is there already.
    command.build();
    without_hidden(&command)
}

fn without_hidden(command: &Command) -> Command {
    let args = command.get_arguments().filter(|arg| !arg.is_hide_set());
    // clap takes names that live as long as this program, which ends soon.
    let lasting = |name: &str| -> &'static str { name.to_owned().leak() };
    let mut shown = Command::new(lasting(command.get_name()))
        .hide(command.is_hide_set())
        .disable_help_flag(true)
        .disable_version_flag(true)
        .disable_help_subcommand(true)
        .visible_aliases(command.get_visible_aliases().map(lasting))
        .args(args.map(|arg| alone(command, arg)))
        .subcommands(command.get_subcommands().map(without_hidden));
    if let Some(about) = command.get_about() {
        shown = shown.about(about.clone());
    }
    if let Some(version) = command.get_version() {
        shown = shown.version(lasting(version));
    }
    shown
}

/// An option that knows nothing of hidden ones. Of what relates options, completions use only conflicts.
fn alone(command: &Command, arg: &Arg) -> Arg {
    let conflicts = command.get_arg_conflicts_with(arg).into_iter();
    let conflicts = conflicts.filter(|other| !other.is_hide_set());
    let none = || Resettable::<Id>::Reset;
    arg.clone()
        .global(false)
        .requires(none())
        .required_unless_present(none())
        .overrides_with(none())
        .conflicts_with(none())
        .conflicts_with_all(conflicts.map(|other| other.get_id().clone()))
}
