// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Exit statuses.

use std::process::ExitCode;

/// What the program's exit status says. Listed in `punctual --help`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Exit {
    /// All is well.
    Fine = 0,
    /// It failed, or the run is invalid.
    Failed = 1,
    /// The command line is wrong.
    Usage = 2,
    /// A threshold was passed, or a requirement or comparison was not met.
    Verdict = 3,
    /// The machine could not be put back completely.
    NotRestored = 4,
    /// This kernel, privilege or hardware cannot do it.
    Unsupported = 5,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}
