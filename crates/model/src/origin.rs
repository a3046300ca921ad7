// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Where an imported run comes from, and how finely its source states what it states.

use serde::{Deserialize, Serialize};

/// What a run was imported from.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Origin {
    /// The tool that measured, such as `cyclictest`.
    pub tool: String,
    /// Its version, if the file states it.
    pub version: Option<String>,
    /// The format of the file, such as `cyclictest-json`.
    pub format: String,
    /// Name of the file as it was given; `-` for standard input.
    pub file: String,
    /// The tool's command line, if the file states it.
    pub command_line: Option<String>,
    /// Width of the source's buckets or units, whichever is wider. A minimum is the lower end of
    /// what was stated; a maximum and a quantile are the upper end. Null: the file does not tell.
    pub resolution_ns: Option<u64>,
    /// Upper end of the source's last row, where it tells that: the samples that it counts above all rows (`clamped`) are
    /// larger.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows_end_ns: Option<u64>,
    /// How far the true mean may lie from a `mean_ns`. Null without means.
    pub mean_error_ns: Option<f64>,
    /// What the times of the stored samples are. Null if no samples are stored.
    pub sample_times: Option<SampleTimes>,
    /// Where the start of the run is from. Absent where there is none, and in runs of older programs, which
    /// took it from the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_from: Option<DateOrigin>,
    /// What the file states and no figure has a place for, and what was assumed of it.
    pub stated: Vec<String>,
}

/// What the times of an imported run's samples are.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SampleTimes {
    /// Nanoseconds of the clock that the tool read, not since the start.
    Clock,
    /// Not stated: in the file of samples it is the number of the sample in its thread.
    Unknown,
}

/// Where the start of an imported run is from.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum DateOrigin {
    /// The file states it.
    Content,
    /// The file states it without a time zone: it was taken as UTC.
    ContentAsUtc,
    /// The name of the file, or of a directory that it is in.
    Name,
    /// The modification time of the file, which copying may change.
    Mtime,
}
