// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What `runs import --json` prints.

use serde::{Deserialize, Serialize};

use crate::origin::DateOrigin;

/// The name and major version of the format that this program writes.
pub const IMPORT_LIST_FORMAT: &str = "punctual.imports/1";

/// The files of one import, in the order in which they were given.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ImportList {
    /// `punctual.imports/1`.
    pub format: String,
    /// One entry a file; of an archive or another store, one a run.
    pub files: Vec<ImportListEntry>,
}

/// What became of one file.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ImportListEntry {
    /// Name of the file as it was given.
    pub file: String,
    /// Identity of the run. Null if the file was not imported.
    pub id: Option<String>,
    /// The format that the file was read as. Null if it was not told or detected.
    pub source_format: Option<String>,
    /// Why the file was not imported. Null if it was.
    pub failed: Option<String>,
    /// Start of the run. Absent where it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<String>,
    /// Where the start is from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_from: Option<DateOrigin>,
}
