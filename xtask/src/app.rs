// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The one place that names the command line of the binary.

/// Returns the command that man pages and completions describe; `None` while the binary has no library.
pub(crate) fn command() -> Option<clap::Command> {
    // PLUG: `punctual.workspace = true` in xtask/Cargo.toml, and here `Some(punctual::cli::command())`.
    None
}
