// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Patch series: first tried on copies, as a whole and in order, then applied completely or not at all.
//!
//! Series and tree may be somebody else's: no file is reached through a symbolic link, in the tree or out of it.
//!
//! The files that the series touches are copied to a scratch directory, and patch(1) works there: each patch first
//! with `--dry-run`, because a patch of which only some hunks apply leaves those behind. Only when the outcome is
//! known are the changed files moved into the tree, each replaced as a whole, with copies of the old ones that are
//! put back should one of the moves fail. What is killed in the middle of that leaves a note in the tree.

mod apply;
mod diff;
mod error;
mod said;
mod series;
mod swap;

pub use apply::{Limits, apply};
pub use diff::Patch;
pub use error::SeriesError;
pub use series::Series;
pub(crate) use swap::NOTE;

use std::io;
use std::path::PathBuf;

use punctual_sys::PathError;

use crate::tool::ToolError;

/// A series was not tried.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PatchError {
    /// The series cannot be read.
    #[error(transparent)]
    Series(#[from] SeriesError),
    /// patch(1) or tar(1).
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// A file could not be read, copied or moved.
    #[error(transparent)]
    File(#[from] PathError),
    /// A patch touches what its headers do not name in a way that is understood.
    #[error("a patch creates or changes {file}, which none of its headers names")]
    Unnamed {
        /// The file.
        file: String,
    },
    /// The tree could not be put back after a failure. This is the one case in which it is left changed.
    #[error("restore {}; its old content is in {}", path.display(), copy.display())]
    NotRestored {
        /// The file.
        path: PathBuf,
        /// Where its old content is.
        copy: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}
