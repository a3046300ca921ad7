// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Why something cannot be fetched.

use punctual_sys::PathError;

use super::kernel_store::KernelStoreError;
use super::tree::TreeError;
use crate::tool::ToolError;
use crate::unpack::UnpackError;

/// Something could not be fetched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FetchError {
    /// It is not clear what is meant.
    #[error(
        "{0}: not a file or directory, a package named linux-source-* or linux-image-*, or the URL of a tarball or \
         git repository"
    )]
    Unclear(String),
    /// The store.
    #[error(transparent)]
    Stock(#[from] KernelStoreError),
    /// A file could not be read or written.
    #[error(transparent)]
    File(#[from] PathError),
    /// A program that fetches or unpacks.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// What was fetched is no source.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// The checksum is another one.
    #[error("the SHA-256 of {file} is {is}, but should be {expected} ({by})")]
    Checksum {
        /// The file.
        file: String,
        /// What it is.
        is: String,
        /// What it should be.
        expected: String,
        /// Who says so.
        by: String,
    },
    /// Nothing says that what comes is what was meant.
    #[error(
        "{address}: {scheme} does not protect the download from tampering, and no --sha256 was given"
    )]
    Unverified {
        /// The address.
        address: String,
        /// `http`, `git`.
        scheme: &'static str,
    },
    /// The archive.
    #[error("unpack {file}")]
    Unpack {
        /// The archive.
        file: String,
        /// Why not.
        source: UnpackError,
    },
    /// A field of a package is none.
    #[error("the package has an impossible {field}: `{value}`")]
    Field {
        /// The field.
        field: &'static str,
        /// What it says.
        value: String,
    },
    /// A checksum was given for what has none.
    #[error("--sha256: does not apply to {0}")]
    NoChecksum(&'static str),
    /// A package has neither a source nor an image.
    #[error("package {package} does not contain {wanted}{hint}")]
    Nothing {
        /// The package.
        package: String,
        /// What was looked for.
        wanted: &'static str,
        /// What it depends on, where that may be meant.
        hint: String,
    },
}
