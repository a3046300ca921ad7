// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Archives that somebody else made: sources, packages, patches.
//!
//! An archive is read here and not by tar(1), because root unpacks it: no owner, no set-user-ID bit and no mode but
//! "can be executed" is taken from it; a device, a FIFO, a sparse file, a path or link that leads out, and a name with
//! control characters are errors; and what it unpacks to is bounded by its own size. Only the decompressors are
//! programs: `xz`, `gzip`, `zstd`, `bzip2`.

mod packed;
mod tar;
mod write;

use punctual_sys::PathError;

use crate::file::size;
use crate::tool::ToolError;

pub(crate) use packed::Packed;
pub(crate) use write::{Links, unpack};

/// What anything may unpack to, whatever its size.
const LEAST: u64 = 64 << 20;
/// How many times its own size it may unpack to beyond that: xz packs sources tenfold.
const TIMES: u64 = 64;
/// What nothing unpacks to: the sources of 6.12 have 1.6 GB.
const MOST: u64 = 8 << 30;

/// Returns what something of `packed` bytes may unpack to.
pub(crate) fn allowance(packed: u64) -> u64 {
    packed.saturating_mul(TIMES).saturating_add(LEAST).min(MOST)
}

/// An archive or a packed file was not unpacked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UnpackError {
    /// The program that unpacks it.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// It is a bomb.
    #[error("it is {1} and unpacks to more than {0}", size(*.most), size(*.packed))]
    TooLarge {
        /// What is allowed.
        most: u64,
        /// What it has itself.
        packed: u64,
    },
    /// A program is not known for it.
    #[error(
        "it is compressed with {0}, which is not supported; supported are xz, gzip, zstd and bzip2"
    )]
    Method(&'static str),
    /// Something in it is refused.
    #[error("{name}: {reason}")]
    Refused {
        /// Its name in the archive, without control characters.
        name: String,
        /// Why.
        reason: &'static str,
    },
    /// It is no archive, or damaged.
    #[error("it is not a tar archive, or it is damaged: {0}")]
    Damaged(&'static str),
    /// A file could not be read or written.
    #[error(transparent)]
    File(#[from] PathError),
}

/// Makes a name of an archive fit to be printed.
pub(crate) fn shown(name: &[u8]) -> String {
    let text = String::from_utf8_lossy(name);
    let clean = text.chars().take(200);
    clean
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect()
}

#[cfg(test)]
mod tests;
