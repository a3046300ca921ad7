// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What the verbs of `experiment` print as JSON.

use serde::{Deserialize, Serialize};

use crate::file::Experiment;
use crate::outcome::{Unmeasured, outcomes, unmeasured};
use crate::plan::Plan;
use crate::state::{Attempt, RunEnd, Snapshot};

/// The name and major version of the list of experiments.
pub const STATUS_FORMAT: &str = "punctual.experiments/1";

/// A plan and what it costs, as `experiment plan --json` prints it.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct PlanShown {
    /// The plan.
    #[serde(flatten)]
    pub plan: Plan,
    /// Runs in all, repeats apart.
    pub runs: u64,
    /// About how long they take. Null where a run does not state its time.
    pub seconds: Option<f64>,
}

/// How far experiments are, as `experiment status --json` prints it.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct StatusShown {
    /// `punctual.experiments/1`.
    pub format: String,
    /// The experiments, by name.
    pub experiments: Vec<ExperimentShown>,
}

/// How far one experiment is.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ExperimentShown {
    /// Measurements of cells that were tried and have no valid run.
    pub without_valid_run: Vec<UnmeasuredShown>,
    /// What is measured in which order.
    pub plan: Plan,
    /// Figures that it compares by.
    pub compare: Vec<String>,
    /// Runs that were planned, repeats apart.
    pub runs_planned: u64,
    /// Runs of the plan that were recorded, valid or not.
    pub runs_done: u64,
    /// Runs of the plan of which each try failed.
    pub runs_failed: u64,
    /// Why it is over. Null while it is not.
    pub finished: Option<String>,
    /// Every try of a run, in their order.
    pub runs: Vec<AttemptShown>,
}

/// A measurement of a cell that was tried and has no valid run.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct UnmeasuredShown {
    /// Its cell, and its measurement where there are several.
    pub name: String,
    /// Its cell, from 0.
    pub cell: u32,
    /// Its measurement of the cell, from 0.
    pub measurement: u32,
    /// How the last try ended. Null where it goes on.
    pub end: Option<RunEnd>,
    /// Why. Null where nothing was noted.
    pub detail: Option<String>,
}

/// One try of a run.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct AttemptShown {
    /// Its id in the store.
    pub run: String,
    /// Its block, from 0; those of the warm-up come first.
    pub block: u32,
    /// Its place in the block, from 0.
    pub position: u32,
    /// Its cell, from 0.
    pub cell: u32,
    /// Its measurement of the cell, from 0.
    pub measurement: u32,
    /// How it ended. Null while it goes on.
    pub end: Option<RunEnd>,
    /// How long it took, start and recording included.
    pub seconds: f64,
    /// Why it failed, or which checks did not pass. Null where nothing is to be said.
    pub detail: Option<String>,
}

impl StatusShown {
    /// Says how far these are.
    #[must_use]
    pub fn of(experiments: Vec<ExperimentShown>) -> Self {
        Self {
            format: STATUS_FORMAT.to_owned(),
            experiments,
        }
    }
}

impl ExperimentShown {
    /// Says how far it is; `name` names a measurement of a cell.
    #[must_use]
    pub fn of(snapshot: &Snapshot, name: impl Fn(&Unmeasured<'_>) -> String) -> Self {
        let outcomes = outcomes(&snapshot.attempts);
        let without = unmeasured(&snapshot.plan, &snapshot.attempts);
        let without = without.iter().map(|of| UnmeasuredShown {
            name: name(of),
            cell: of.cell,
            measurement: of.measurement,
            end: of.last.end,
            detail: of.last.detail.clone(),
        });
        // The file is as it was when it began: it was checked then.
        let metrics = Experiment::parse("experiment.toml", &snapshot.text).map(|e| e.metrics);
        Self {
            without_valid_run: without.collect(),
            plan: snapshot.plan.clone(),
            compare: metrics.unwrap_or_default(),
            runs_planned: snapshot.plan.runs(),
            runs_done: outcomes.valid + outcomes.invalid,
            runs_failed: outcomes.failed,
            finished: snapshot.finished.clone(),
            runs: snapshot.attempts.iter().map(AttemptShown::of).collect(),
        }
    }
}

impl AttemptShown {
    fn of(attempt: &Attempt) -> Self {
        Self {
            run: attempt.run.to_string(),
            block: attempt.slot.block,
            position: attempt.slot.position,
            cell: attempt.slot.cell,
            measurement: attempt.slot.measurement,
            end: attempt.end,
            seconds: attempt.seconds,
            detail: attempt.detail.clone(),
        }
    }
}
