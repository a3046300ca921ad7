// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Why there are no such groups.

use std::io;
use std::path::PathBuf;

use punctual_store::{FindError, IndexError, ReadError};

/// The reason that groups of runs could not be found.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SelectError {
    /// There are fewer than two groups.
    #[error("compare: name two groups of runs or more")]
    Few,
    /// A group is there twice.
    #[error("compare: `{name}` is compared with itself: both groups have the same runs")]
    Itself {
        /// Its name.
        name: String,
    },
    /// Two groups of different runs have one name.
    #[error("compare: two groups are named `{name}`, of different runs")]
    SameName {
        /// The name.
        name: String,
        /// What the second one selects first.
        selector: Option<String>,
    },
    /// A group is not written as one.
    #[error("--group {text}: use NAME=RUNS or tag=KEY=VALUE")]
    Group {
        /// The rejected text.
        text: String,
    },
    /// A run is in two groups.
    #[error("compare: run {run} is in `{first}` and in `{second}`")]
    InTwo {
        /// The run.
        run: String,
        /// A group.
        first: String,
        /// Another.
        second: String,
    },
    /// Instruction counts and latencies have a unit in common, and nothing else.
    #[error(
        "compare: run {counted} is in virtual time (instruction counts), run {real} in real time: they \
         cannot be compared"
    )]
    Times {
        /// A run in virtual time.
        counted: String,
        /// A run in real time.
        real: String,
    },
    /// A selector is empty.
    #[error("a group names an empty run; separate runs by single commas")]
    Empty,
    /// A tag is not written as one.
    #[error("`{selector}` is not tag:KEY=VALUE")]
    Tag {
        /// The rejected text.
        selector: String,
    },
    /// A selector of a group that has a name of its own means no run.
    #[error("{source}")]
    InGroup {
        /// The name of the group.
        group: String,
        /// The selector.
        selector: String,
        /// Why not.
        source: Box<Self>,
    },
    /// No run that can be read is selected.
    #[error("find the runs `{selector}` in store {}: none found{}", home.display(), unread(*unreadable))]
    NoRuns {
        /// The selector.
        selector: String,
        /// The store.
        home: PathBuf,
        /// How many may be selected and cannot be read.
        unreadable: usize,
    },
    /// The index could not be read.
    #[error("find the runs `{selector}`")]
    Index {
        /// The selector.
        selector: String,
        /// Why not.
        source: IndexError,
    },
    /// No one run is meant.
    #[error("find a run in store {}", home.display())]
    Find {
        /// The store.
        home: PathBuf,
        /// Why not.
        source: FindError,
    },
    /// A path leads to no run.
    #[error("read a run from {}", path.display())]
    Path {
        /// The path.
        path: PathBuf,
        /// Why not.
        source: PathFault,
    },
    /// The histograms of a run could not be read.
    #[error("read the histograms of run {run}")]
    Histograms {
        /// The run.
        run: String,
        /// Why not.
        source: ReadError,
    },
    /// The samples of a run could not be read.
    #[error("read the samples of run {run}")]
    Samples {
        /// The run.
        run: String,
        /// Why not.
        source: ReadError,
    },
}

fn unread(count: usize) -> String {
    match count {
        0 => String::new(),
        1 => ", but 1 run cannot be read and may be meant".to_owned(),
        n => format!(", but {n} runs cannot be read and may be meant"),
    }
}

/// Why a path leads to no run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PathFault {
    /// The run could not be read.
    #[error(transparent)]
    Run(#[from] ReadError),
    /// The file or directory could not be read, or is far larger than a record.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The directory has no run.
    #[error("no run.json in it or one level below")]
    NoRun,
    /// The file is not the JSON of a run.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
}
