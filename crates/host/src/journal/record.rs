// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The lines of a journal.

use std::path::PathBuf;

use punctual_model::{
    Codec, CpuSet, Hold, KeptSession, KnobGuard, PlanStep, StepOutcome, StepReport, Target, Undone,
    json,
};
use serde::{Deserialize, Serialize};

use super::{JournalError, Progress};
use crate::knob::{Part, find};

/// Value of `format` in the first line.
pub const JOURNAL_FORMAT: &str = "punctual.journal/1";

/// A clock tick of `/proc`: `USER_HZ` is 100 on every architecture that we build for.
const NANOS_A_TICK: i64 = 10_000_000;

/// The first line.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Header {
    /// [`JOURNAL_FORMAT`].
    pub format: String,
    /// The program that wrote it.
    pub program: String,
    /// The session.
    pub session: KeptSession,
    /// When it began, in clock ticks after boot: threads that started later have inherited.
    pub started_ticks: u64,
    /// What a process holds as long as the session lasts.
    pub held: Vec<Hold>,
    /// The directory of the journal, so that the machine-wide record leads to it.
    #[serde(default)]
    pub state: Option<PathBuf>,
    /// How many settings follow, all of them on disk before the first is changed; none in journals of older programs.
    #[serde(default)]
    pub settings: Option<usize>,
    /// The CPUs that were online when it began; none in journals of older programs.
    #[serde(default)]
    pub online: Option<CpuSet>,
    /// The namespace in which its processes and threads have their numbers; none in journals of older programs.
    #[serde(default)]
    pub pid_namespace: Option<u64>,
    /// By how much the clock of its starts is ahead of the machine's, in nanoseconds; none in journals of older programs, and
    /// on kernels with one clock.
    #[serde(default)]
    pub boottime_offset: Option<i64>,
}

impl Header {
    /// Returns when it began, in clock ticks of the machine: whatever clock it had.
    pub(crate) fn began(&self) -> i128 {
        let offset = self.boottime_offset.unwrap_or_default();
        i128::from(self.started_ticks) - i128::from(offset / NANOS_A_TICK)
    }
}

/// A process that keeps watch over a session.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct SessionKeeper {
    /// Its number.
    pub pid: u32,
    /// When it started, in clock ticks after boot.
    pub started_ticks: u64,
}

/// One setting.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Entry {
    /// The knob.
    pub knob: String,
    /// Which one, where there are several.
    pub instance: Option<String>,
    /// What is written.
    pub target: Target,
    /// The form of its values.
    pub codec: Codec,
    /// The value before.
    pub old: String,
    /// The value wanted; none for a setting that is only kept.
    pub new: Option<String>,
}

/// One line.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(tag = "record", rename_all = "snake_case")]
pub enum Record {
    /// A session begins.
    Session(Header),
    /// A setting belongs to it.
    Setting {
        /// Its number, from 0.
        seq: usize,
        /// The setting.
        setting: Entry,
    },
    /// It is about to be written.
    Begin {
        /// Its number.
        seq: usize,
    },
    /// It was written, or not.
    Done {
        /// Its number.
        seq: usize,
        /// What became of it.
        outcome: StepOutcome,
    },
    /// What a setting that is only kept reads after all else was written.
    After {
        /// Its number.
        seq: usize,
        /// The value; null where it is gone.
        value: Option<String>,
    },
    /// Everything was written.
    Complete,
    /// A revert begins.
    Revert {
        /// Numbers of the settings that are only kept, and that somebody else has set since.
        theirs: Vec<usize>,
    },
    /// A process keeps watch.
    Keeper(SessionKeeper),
    /// It was taken back, or not.
    Undone {
        /// Its number.
        seq: usize,
        /// What became of that.
        undone: Undone,
    },
}

impl Record {
    /// Writes the line.
    pub(super) fn write(&self, bytes: &mut Vec<u8>) {
        // Plain data: there is nothing in it that JSON cannot say.
        if let Ok(mut line) = json::line(self) {
            line.push(b'\n');
            bytes.append(&mut line);
        }
    }
}

impl Entry {
    pub(super) fn of_guard(guard: &KnobGuard) -> Self {
        Self {
            knob: guard.knob.clone(),
            instance: guard.instance.clone(),
            target: guard.target.clone(),
            codec: guard.codec,
            old: guard.old.clone(),
            new: None,
        }
    }

    pub(super) fn of_step(step: &PlanStep) -> Self {
        Self {
            knob: step.knob.clone(),
            instance: step.instance.clone(),
            target: step.target.clone(),
            codec: step.codec,
            old: step.old.clone(),
            new: Some(step.new.clone()),
        }
    }

    /// Stands for a setting whose line is damaged.
    pub(super) fn lost() -> Self {
        Self {
            knob: String::new(),
            instance: None,
            target: Target::file(""),
            codec: Codec::Word,
            old: String::new(),
            new: None,
        }
    }

    /// Whether this stands for a setting whose line is damaged.
    pub fn is_lost(&self) -> bool {
        self.knob.is_empty()
    }

    /// Whether the kernel writes it step by step: a write that is cut off leaves a value on the way.
    pub(crate) fn is_stepwise(&self) -> bool {
        let knob = find(&self.knob);
        knob.is_some_and(|knob| matches!(knob.part, Part::Memory { huge: true, .. }))
    }

    /// Returns the knob with its instance: `irq.affinity@24`.
    pub fn full_name(&self) -> String {
        self.report(&Progress::default()).full_name()
    }

    /// Reports it.
    pub fn report(&self, progress: &Progress) -> StepReport {
        StepReport {
            knob: self.knob.clone(),
            instance: self.instance.clone(),
            target: self.target.clone(),
            old: self.old.clone(),
            new: self.new.clone(),
            begun: progress.begun,
            outcome: progress.outcome.clone(),
            undone: progress.undone.clone(),
        }
    }
}

/// A journal's lines.
#[derive(Debug)]
pub(super) struct Lines {
    pub(super) header: Header,
    pub(super) records: Vec<Record>,
    pub(super) damaged: Vec<usize>,
    pub(super) torn: bool,
}

/// Reads the lines. One that cannot be read is counted, unless it is the last and was cut off: then
/// its writer was interrupted.
pub(super) fn lines(bytes: &[u8], place: &str) -> Result<Lines, JournalError> {
    let torn = !bytes.ends_with(b"\n");
    let mut lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
    // What follows the last newline: nothing, or the torn line.
    lines.pop();
    let damaged = |reason: String| JournalError::Damaged {
        place: place.to_owned(),
        reason,
    };
    let mut numbered = (1..).zip(lines);
    let (_, first) = numbered
        .next()
        .ok_or_else(|| damaged("its first line was cut off".to_owned()))?;
    let value: serde_json::Value = serde_json::from_slice(first)
        .map_err(|err| damaged(format!("its first line is not JSON: {err}")))?;
    let format = value["format"].as_str().unwrap_or_default();
    if format != JOURNAL_FORMAT {
        return Err(JournalError::Newer {
            place: place.to_owned(),
            format: format.to_owned(),
        });
    }
    let header = match serde_json::from_slice(first) {
        Ok(Record::Session(header)) => header,
        Ok(_) => {
            return Err(damaged(
                "its first line does not describe a session".to_owned(),
            ));
        }
        Err(err) => return Err(damaged(format!("its first line: {err}"))),
    };
    let mut found = Lines {
        header,
        records: Vec::new(),
        damaged: Vec::new(),
        torn,
    };
    for (number, line) in numbered {
        match serde_json::from_slice(line) {
            Ok(record) => found.records.push(record),
            // What ended an earlier torn line.
            Err(_) if line.is_empty() => {}
            Err(_) => found.damaged.push(number),
        }
    }
    Ok(found)
}
