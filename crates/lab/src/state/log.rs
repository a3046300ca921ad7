// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The log of an experiment: a line before and a line after each run.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use punctual_sys::At as _;
use punctual_sys::dir::read_regular;

use super::text_of;
use crate::error::LabError;
use crate::plan::Slot;

/// The largest log that is read, in bytes: some 100 000 runs.
const LOG_LIMIT: u64 = 64 << 20;

/// The longest that a run is believed to have taken, in seconds: ten years.
const LONGEST: f64 = 10.0 * 365.25 * 86_400.0;

/// How a run ended, as far as the experiment is concerned.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RunEnd {
    /// Recorded and valid.
    Valid,
    /// Recorded; a check did not pass.
    Invalid,
    /// Not recorded.
    Failed,
    /// Ended by a signal before its time: in no result, and done again.
    Interrupted,
}

/// A line of the log.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Line {
    /// A run is about to begin.
    Begin {
        /// Block of the slot.
        block: u32,
        /// Place in the block.
        position: u32,
        /// Cell.
        cell: u32,
        /// Measurement of the cell.
        measurement: u32,
        /// Id that the run will have in the store.
        run: Uuid,
    },
    /// A run ended.
    End {
        /// Its id.
        run: Uuid,
        /// How.
        end: RunEnd,
        /// How long it took, start and recording included.
        seconds: f64,
        /// Why it failed, or which checks did not pass.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        detail: Option<String>,
    },
    /// The experiment is over before all its blocks are done.
    Finished {
        /// Why.
        reason: String,
    },
    /// It goes on by an edited file: what was over is not.
    Replanned {
        /// Blocks that it had, and has now.
        blocks: (u32, u32),
    },
}

/// One try of a slot.
#[derive(Clone, Debug, PartialEq)]
pub struct Attempt {
    /// Which run of the plan.
    pub slot: Slot,
    /// Its id in the store.
    pub run: Uuid,
    /// How it ended. `None`: it was in flight when the program ended.
    pub end: Option<RunEnd>,
    /// How long it took.
    pub seconds: f64,
    /// Why it failed, or which checks did not pass.
    pub detail: Option<String>,
}

/// What the log says, and how many bytes of it are whole lines.
#[derive(Default)]
pub(super) struct LogText {
    pub(super) attempts: Vec<Attempt>,
    pub(super) finished: Option<String>,
    pub(super) replanned: Vec<(u32, u32)>,
    pub(super) whole: u64,
}

/// Reads the log.
pub(super) fn read_log(path: &Path) -> Result<LogText, LabError> {
    let mut bytes = read_regular(path, LOG_LIMIT).at("read", path)?;
    // What follows the last line break was being written when the power went, maybe in the middle of a letter.
    let last = bytes.iter().rposition(|byte| *byte == b'\n');
    let whole = last.map_or(0, |at| at + 1);
    bytes.truncate(whole);
    let text = text_of(bytes, path)?;
    let mut attempts: Vec<Attempt> = Vec::new();
    let mut by_run = BTreeMap::new();
    let mut finished = None;
    let mut replanned = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line: Line =
            serde_json::from_slice(line.as_bytes()).map_err(|err| LabError::State {
                path: path.to_owned(),
                reason: format!("line {number}: {err}"),
            })?;
        match line {
            Line::Begin {
                block,
                position,
                cell,
                measurement,
                run,
            } => {
                by_run.insert(run, attempts.len());
                attempts.push(Attempt {
                    slot: Slot {
                        block,
                        position,
                        cell,
                        measurement,
                    },
                    run,
                    end: None,
                    seconds: 0.0,
                    detail: None,
                });
            }
            Line::End {
                run,
                end,
                seconds,
                detail,
            } => {
                if !(0.0..=LONGEST).contains(&seconds) {
                    return Err(LabError::State {
                        path: path.to_owned(),
                        reason: format!("line {number}: {seconds:e} s is impossible for a run"),
                    });
                }
                let attempt = by_run.get(&run).and_then(|at| attempts.get_mut(*at));
                let Some(attempt) = attempt else {
                    return Err(LabError::State {
                        path: path.to_owned(),
                        reason: format!("line {number}: run {run} ended without having begun"),
                    });
                };
                attempt.end = Some(end);
                attempt.seconds = seconds;
                attempt.detail = detail;
            }
            Line::Finished { reason } => finished = Some(reason),
            Line::Replanned { blocks } => {
                finished = None;
                replanned.push(blocks);
            }
        }
    }
    Ok(LogText {
        attempts,
        finished,
        replanned,
        whole: whole as u64,
    })
}
