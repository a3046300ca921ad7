// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Why a file cannot be imported.

use std::error::Error as StdError;
use std::fmt;
use std::io;

/// Characters of a reason that are shown.
const LONGEST_REASON: usize = 300;

/// Where in a file something is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Place {
    /// A line, from 1.
    Line(u64),
    /// A byte, from 0.
    Byte(u64),
    /// The file as a whole.
    File,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(n) => write!(f, "line {n}: "),
            Self::Byte(n) => write!(f, "byte {n}: "),
            Self::File => Ok(()),
        }
    }
}

/// A file cannot be imported. Nothing of it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The input cannot be read.
    #[error("read the file")]
    Read(#[from] io::Error),
    /// No known format begins like this.
    #[error("its format is unknown")]
    UnknownFormat,
    /// The content is not what the format says, or contradicts itself.
    #[error("{place}{reason}")]
    Content {
        /// Where.
        place: Place,
        /// What is wrong.
        reason: String,
        /// What to do about it.
        hint: Option<&'static str>,
    },
    /// The samples could not be kept.
    #[error("keep the samples")]
    Sink(#[source] Box<dyn StdError + Send + Sync>),
}

impl ImportError {
    pub(crate) fn at_line(line: u64, reason: impl Into<String>) -> Self {
        Self::content(Place::Line(line), reason)
    }

    pub(crate) fn file(reason: impl Into<String>) -> Self {
        Self::content(Place::File, reason)
    }

    pub(crate) fn content(place: Place, reason: impl Into<String>) -> Self {
        let mut reason = reason.into();
        // Libraries that read JSON and XML quote what they found, however long it is.
        if let Some((end, _)) = reason.char_indices().nth(LONGEST_REASON) {
            reason.truncate(end);
            reason.push('…');
        }
        Self::Content {
            place,
            reason,
            hint: None,
        }
    }

    pub(crate) fn hinted(mut self, text: &'static str) -> Self {
        if let Self::Content { hint, .. } = &mut self {
            *hint = Some(text);
        }
        self
    }

    /// Says of a file that begins with `head`, of no format that is known, what it is if that can be told.
    pub fn no_format(head: &[u8]) -> Self {
        let packed: [(&[u8], &str, &str); 3] = [
            (
                &[0x1f, 0x8b],
                "it is compressed with gzip",
                "unpack it first: `gunzip FILE`, or `zcat FILE | punctual runs import -`",
            ),
            (
                &[0xfd, b'7', b'z', b'X', b'Z'],
                "it is compressed with xz",
                "unpack it first: `unxz FILE`, or `xzcat FILE | punctual runs import -`",
            ),
            (
                &[0x28, 0xb5, 0x2f, 0xfd],
                "it is compressed with zstd",
                "unpack it first: `unzstd FILE`, or `zstdcat FILE | punctual runs import -`",
            ),
        ];
        if let Some((_, what, hint)) = packed.iter().find(|(magic, ..)| head.starts_with(magic)) {
            return Self::file(*what).hinted(hint);
        }
        match head {
            [] => Self::file("it is empty"),
            [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => Self::file("it is text in UTF-16")
                .hinted("convert it first: `iconv -f UTF-16 -t UTF-8 FILE`"),
            // No byte order mark, but every other byte of its first characters is zero.
            [0, a, 0, b, 0, c, ..] if ![a, b, c].contains(&&0) => {
                Self::file("it is text in UTF-16")
                    .hinted("convert it first: `iconv -f UTF-16BE -t UTF-8 FILE`")
            }
            [a, 0, b, 0, c, 0, ..] if ![a, b, c].contains(&&0) => {
                Self::file("it is text in UTF-16")
                    .hinted("convert it first: `iconv -f UTF-16LE -t UTF-8 FILE`")
            }
            _ => Self::UnknownFormat,
        }
    }

    /// Returns what to do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::UnknownFormat => Some(
                "name it with --format; --help lists the formats. A copy of a terminal must begin \
                 with the tool's own first line",
            ),
            Self::Content { hint, .. } => *hint,
            _ => None,
        }
    }
}
