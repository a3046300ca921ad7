// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What loads did that ran alone, as `load --json` prints it.

use serde::{Deserialize, Serialize};

use crate::figure::LoadRecord;
use crate::units::Nanos;

/// The name and major version of the format that this program writes.
pub const LOAD_REPORT_FORMAT: &str = "punctual.loads/1";

/// The loads of one `punctual load`.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct LoadReport {
    /// `punctual.loads/1`.
    pub format: String,
    /// Whether every load worked from its start to the end.
    pub valid: bool,
    /// Time from when all loads worked to the end.
    pub duration_ns: Nanos,
    /// One entry a load, in the order in which they were given.
    pub loads: Vec<LoadRecord>,
}
