// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A list of runs, as `runs list --json` prints it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::run::RunRecord;
use crate::units::Nanos;

/// The name and major version of the format that this program writes.
pub const RUN_LIST_FORMAT: &str = "punctual.runs/1";

/// The runs of a store by their start, newest first; those without one last.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct RunList {
    /// `punctual.runs/1`.
    pub format: String,
    /// The runs that the filter let through, up to the limit.
    pub runs: Vec<RunListEntry>,
    /// How many the filter let through, whatever the limit. Null in lists of older programs.
    #[serde(default)]
    pub total: Option<u64>,
    /// What lies among the runs and is none.
    pub foreign: Vec<String>,
}

/// One run in a list.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct RunListEntry {
    /// Identity of the run.
    pub id: String,
    /// Its figures. Null for a run that cannot be read.
    pub figures: Option<RunListFigures>,
    /// Why it cannot be read. Null for a run that can.
    pub unreadable: Option<String>,
}

/// What a list says about a run.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct RunListFigures {
    /// Start, RFC 3339 in UTC. Null if an imported run does not say.
    pub started: Option<String>,
    /// Name given by the user.
    pub name: Option<String>,
    /// Tags.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
    /// What made the samples.
    pub instrument: String,
    /// Whether every check passed.
    pub valid: bool,
    /// The tool that an imported run comes from. Null for a measured run.
    #[serde(default)]
    pub imported_from: Option<String>,
    /// Name of the machine: the tag `host`, else its own.
    pub host: Option<String>,
    /// Kernel release.
    pub kernel: Option<String>,
    /// Measuring threads.
    pub threads: u64,
    /// Samples of all threads.
    pub count: u64,
    /// Median of all samples.
    pub p50_ns: Option<u64>,
    /// 99th percentile of all samples.
    pub p99_ns: Option<u64>,
    /// Largest sample.
    pub max_ns: Option<u64>,
    /// Time measured. Null if an imported run does not say.
    pub duration_ns: Option<Nanos>,
    /// Why the run ended. Null if an imported run does not say.
    pub ended: Option<String>,
}

impl RunListFigures {
    /// Takes the figures out of a record.
    pub fn of(record: &RunRecord) -> Self {
        let quantile = |name: &str| record.total.quantiles_ns.get(name).copied().flatten();
        Self {
            started: record.started.clone(),
            name: record.name.clone(),
            tags: record.tags.clone(),
            instrument: record.instrument.clone(),
            valid: record.is_valid(),
            imported_from: record.origin.as_ref().map(|origin| origin.tool.clone()),
            host: record.machine().map(ToOwned::to_owned),
            kernel: record.host.kernel_release.clone(),
            threads: record.series.len().try_into().unwrap_or(u64::MAX),
            count: record.total.count,
            p50_ns: quantile("p50"),
            p99_ns: quantile("p99"),
            max_ns: record.total.max_ns,
            duration_ns: record.duration_ns,
            ended: record.ended.map(|ended| ended.name().to_owned()),
        }
    }
}
