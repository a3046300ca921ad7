// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Why a series of patches cannot be read.

use std::path::PathBuf;

use punctual_sys::PathError;

use crate::unpack::UnpackError;

/// A series cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SeriesError {
    /// A file.
    #[error(transparent)]
    File(#[from] PathError),
    /// Unpacking.
    #[error("unpack {}", path.display())]
    Unpack {
        /// The tarball or compressed patch.
        path: PathBuf,
        /// What failed.
        source: UnpackError,
    },
    /// It is more than any series has.
    #[error("{} unpacks to more than {limit}", path.display())]
    TooLong {
        /// What was named.
        path: PathBuf,
        /// The most that is read, in words.
        limit: String,
    },
    /// A part of it changes nothing.
    #[error(
        "patch {name} names no file or no change: it is not a unified diff, or it is truncated"
    )]
    Nothing {
        /// The patch.
        name: String,
    },
    /// It changes what is no text.
    #[error("patch {name} changes a binary file, which patch(1) cannot do")]
    Binary {
        /// The patch.
        name: String,
    },
    /// Nothing in it is a patch.
    #[error("{} contains no patch", path.display())]
    Empty {
        /// What was named.
        path: PathBuf,
    },
    /// A line of the series file is not understood.
    #[error("{}, line {line}: `{text}` is not the name of a patch, alone or with -pN", path.display())]
    Line {
        /// The series file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// What it says.
        text: String,
    },
    /// A patch touches a file outside of the tree.
    #[error("patch {name} touches `{file}`, which is not in the tree")]
    Outside {
        /// The patch.
        name: String,
        /// The file.
        file: String,
    },
}
