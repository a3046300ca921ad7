// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Why an experiment cannot be planned or carried out.

use std::path::PathBuf;

use punctual_sys::PathError;

/// An experiment cannot be planned, read, or go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LabError {
    /// The experiment's file is wrong.
    #[error("{file}, line {line}: {reason}")]
    File {
        /// Name of the file as given.
        file: String,
        /// Line, from 1.
        line: usize,
        /// The key, and what was expected.
        reason: String,
    },
    /// A file of the experiment's state could not be read or written.
    #[error(transparent)]
    Path(#[from] PathError),
    /// The state is damaged, or another program's.
    #[error("{}: {reason}", path.display())]
    State {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// No id could be made.
    #[error("make an id")]
    Id(#[source] std::io::Error),
    /// Somebody else carries this experiment out.
    #[error("another process is running {}", path.display())]
    Busy {
        /// Directory of the experiment.
        path: PathBuf,
    },
    /// Runs fail one after the other: it is not chance.
    #[error("{count} runs in a row failed, the last one with: {last}")]
    Failing {
        /// Failures in a row.
        count: u32,
        /// What the last one said.
        last: String,
    },
}

impl LabError {
    /// Whether the file that the user wrote is at fault.
    pub const fn is_usage(&self) -> bool {
        matches!(self, Self::File { .. })
    }
}
