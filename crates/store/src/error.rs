// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What can go wrong with the store itself. Trouble with the content of one run is a
//! [`ReadError`].

use std::path::PathBuf;

use punctual_stats::ReadHistogramError;
use punctual_sys::PathError;
use punctual_sys::dir::TrustError;

use crate::samples::SamplesFault;

/// The reason that the store could not be opened, or that a run could not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The operating system refused something.
    #[error(transparent)]
    Path(#[from] PathError),
    /// Somebody else than root and the caller could change the store, or lead what is written to it
    /// elsewhere.
    #[error("use store {}: {reason}", path.display())]
    Unsafe {
        /// The directory or link that somebody else has in hand: the store's, or one on the way.
        path: PathBuf,
        /// Who, and why.
        reason: String,
    },
    /// The store was written by a newer program; nothing in it was touched.
    #[error(
        "open store {}: its format is {found}; this program reads up to {supported}",
        path.display()
    )]
    NewerStore {
        /// The directory of the store.
        path: PathBuf,
        /// The format that it has.
        found: String,
        /// The newest format that this program knows.
        supported: &'static str,
    },
    /// `store.json` does not say that this is a store.
    #[error("read {}: {reason}", path.display())]
    NotAStore {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The store has a run of this id already.
    #[error("write run {}: it already exists", path.display())]
    RunExists {
        /// The directory of that run.
        path: PathBuf,
    },
    /// An earlier write of this run failed, so there is no whole run to keep.
    #[error("finish run {}: an earlier write to it failed", path.display())]
    Incomplete {
        /// The temporary directory.
        path: PathBuf,
    },
    /// The record is of another run than the one that was begun.
    #[error("finish run {}: the record has the id {found}", path.display())]
    OtherRun {
        /// The temporary directory.
        path: PathBuf,
        /// The id in the record.
        found: String,
    },
    /// The record is larger than what is read: too many threads with too many deadlines and
    /// targets.
    #[error(
        "write {}: {size} bytes, more than the limit of {limit}; measure fewer threads, deadlines \
         or targets at once",
        path.display()
    )]
    RecordSize {
        /// The file.
        path: PathBuf,
        /// Its size.
        size: u64,
        /// The most that is read.
        limit: u64,
    },
    /// The artifact is larger than what is read.
    #[error("write {}: {size} bytes, more than the limit of {limit}", path.display())]
    ArtifactSize {
        /// The file.
        path: PathBuf,
        /// Its size.
        size: u64,
        /// The most that is read.
        limit: u64,
    },
    /// The name cannot be that of an artifact.
    #[error("write artifact `{name}`: not a plain file name, or one that the store uses itself")]
    ArtifactName {
        /// The rejected name.
        name: String,
    },
    /// The number stands for the end of the samples.
    #[error("write samples: {thread} is not a thread number")]
    ThreadNumber {
        /// The rejected number.
        thread: u32,
    },
}

impl StoreError {
    /// Whether there is no room (`ENOSPC`) or the quota is used up (`EDQUOT`).
    pub fn is_full(&self) -> bool {
        self.path_error().is_some_and(PathError::is_full)
    }

    /// Whether the file system is read-only (`EROFS`).
    pub fn is_read_only(&self) -> bool {
        self.path_error().is_some_and(PathError::is_read_only)
    }

    /// Whether permission is missing (`EACCES`, `EPERM`).
    pub fn is_permission(&self) -> bool {
        self.path_error().is_some_and(PathError::is_permission)
    }

    /// Whether somebody else could change the store: it can be read.
    pub fn is_unsafe(&self) -> bool {
        matches!(self, Self::Unsafe { .. })
    }

    fn path_error(&self) -> Option<&PathError> {
        match self {
            Self::Path(err) => Some(err),
            _ => None,
        }
    }
}

impl From<TrustError> for StoreError {
    fn from(err: TrustError) -> Self {
        match err {
            TrustError::Path(err) => Self::Path(err),
            TrustError::Unsafe { path, reason } => Self::Unsafe { path, reason },
            // A kind that was added to the error later.
            other => Self::Unsafe {
                path: PathBuf::new(),
                reason: other.to_string(),
            },
        }
    }
}

/// The reason that the content of a run could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The operating system refused something; `ENOENT`: a file of the run is missing.
    #[error(transparent)]
    Path(#[from] PathError),
    /// The run was written by a newer program.
    #[error(
        "read run {}: its format is {found}; this program reads up to {supported}",
        path.display()
    )]
    Newer {
        /// The directory of the run.
        path: PathBuf,
        /// The format that it has.
        found: String,
        /// The newest format that this program knows.
        supported: &'static str,
    },
    /// `run.json` is of another format.
    #[error("read {}: its format is `{found}`, not that of a run", path.display())]
    NotARun {
        /// The file.
        path: PathBuf,
        /// The format that it has.
        found: String,
    },
    /// `run.json` is damaged.
    #[error("read {}", path.display())]
    Record {
        /// The file.
        path: PathBuf,
        /// Where and why.
        source: serde_json::Error,
    },
    /// The record is of another run than the directory's name says.
    #[error("read run {}: its record has the id {found}", path.display())]
    OtherId {
        /// The directory of the run.
        path: PathBuf,
        /// The id in the record.
        found: String,
    },
    /// `samples.zst` is damaged.
    #[error("read {}", path.display())]
    Samples {
        /// The file.
        path: PathBuf,
        /// Why.
        source: SamplesFault,
    },
    /// `latency.hlog` is damaged.
    #[error(transparent)]
    Histograms(#[from] ReadHistogramError),
    /// An event is damaged, or of a kind that only newer programs know.
    #[error("read {}, line {line}", path.display())]
    Event {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// Where and why.
        source: serde_json::Error,
    },
}
