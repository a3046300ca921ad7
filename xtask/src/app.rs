// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The one place that names the command line of the binary.

/// Returns the command that man pages and completions describe.
pub(crate) fn command() -> clap::Command {
    punctual::cli::command()
}
