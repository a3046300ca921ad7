// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Exit statuses.

use std::process::ExitCode;

/// What the program's exit status says. Listed in `punctual --help`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Exit {
    /// All is well: 0.
    Fine,
    /// It failed, or the run is invalid: 1.
    Failed,
    /// The command line is wrong: 2.
    Usage,
    /// What was asked for was not met, such as a deadline, a requirement or a gate: 3.
    Verdict,
    /// The machine could not be put back completely: 4.
    NotRestored,
    /// This kernel, privilege or hardware cannot do it: 5.
    Unsupported,
    /// What `--fail-on` asks could not be judged, for lack of valid runs, of enough of them, or of
    /// something to read: 6. A gate that could not judge is not passed.
    Unjudged,
    /// What a command that we ran said.
    Command(u8),
}

impl Exit {
    /// Returns what a gate exits with: what failed is certain, whatever else could not be judged.
    pub(crate) const fn of_gate(failed: bool, judged: bool) -> Self {
        match (failed, judged) {
            (true, _) => Self::Verdict,
            (false, false) => Self::Unjudged,
            (false, true) => Self::Fine,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Fine => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::Verdict => 3,
            Exit::NotRestored => 4,
            Exit::Unsupported => 5,
            Exit::Unjudged => 6,
            Exit::Command(status) => status,
        })
    }
}
