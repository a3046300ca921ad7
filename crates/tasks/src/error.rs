// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Why a task set cannot be read.

/// A task set cannot be read.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TaskSetError {
    /// The file is wrong.
    #[error("{file}, line {line}: {reason}")]
    File {
        /// Its name as given.
        file: String,
        /// Line, from 1.
        line: usize,
        /// The key, and what was expected.
        reason: String,
    },
    /// An rt-app file is wrong.
    #[error("{file}: {place}: {reason}")]
    RtApp {
        /// Its name as given.
        file: String,
        /// The keys that lead there.
        place: String,
        /// What was expected.
        reason: String,
    },
    /// A time observed in a run is asked for, and the run does not have it.
    #[error("task \"{task}\": {reason}")]
    Observed {
        /// Name of the task.
        task: String,
        /// What the run lacks.
        reason: String,
    },
}
