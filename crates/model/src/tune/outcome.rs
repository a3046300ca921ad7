// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What became of a plan, and of taking it back.

use serde::{Deserialize, Serialize};

use super::{Hold, Target, full_name};

/// Value of `format` in a [`TuningReport`].
pub const TUNING_FORMAT: &str = "punctual.tuning/1";

/// What was done to the machine, setting by setting.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct TuningReport {
    /// [`TUNING_FORMAT`].
    pub format: String,
    /// What this is a report of.
    pub action: TuningAction,
    /// The session whose changes these are. Null where there is none.
    pub session: Option<KeptSession>,
    /// The settings, in the order in which they were dealt with.
    pub steps: Vec<StepReport>,
    /// What is held by a process.
    pub held: Vec<Hold>,
    /// Whether all is as it was meant to be.
    pub complete: bool,
    /// What one should know.
    pub remarks: Vec<String>,
}

impl TuningReport {
    /// Makes that of no session: all is as it was meant to be, and a remark says how.
    pub fn remark(action: TuningAction, remark: impl Into<String>) -> Self {
        Self {
            format: TUNING_FORMAT.to_owned(),
            action,
            session: None,
            steps: Vec::new(),
            held: Vec::new(),
            complete: true,
            remarks: vec![remark.into()],
        }
    }
}

/// What a [`TuningReport`] is about.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TuningAction {
    /// Settings were changed.
    Apply,
    /// They were put back.
    Revert,
    /// Nothing was done: this is how things are.
    Status,
}

/// A session of changes that a journal knows.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct KeptSession {
    /// Its id.
    pub id: String,
    /// Name of the profile.
    pub profile: String,
    /// When it began, RFC 3339 in UTC.
    pub started: String,
    /// When it ends by itself, RFC 3339 in UTC. Null: when it is reverted.
    pub until: Option<String>,
    /// Boot of the machine in which it began.
    pub boot_id: String,
    /// What it is: `apply`, `run`, `measure` or `trial`.
    pub purpose: String,
    /// The process that began it.
    pub pid: u32,
}

/// The changes that are in effect, in short.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct TuningInEffect {
    /// Name of the profile.
    pub profile: String,
    /// What made the changes: `apply`, `run`, `measure` or `trial`.
    pub purpose: String,
    /// Settings that were changed, but for the CPUs of threads.
    pub settings: Vec<TunedSetting>,
    /// Threads whose CPUs were changed.
    pub threads_moved: u64,
    /// What is held by a process.
    pub held: Vec<Hold>,
    /// Wanted settings that were unavailable.
    pub failed: u64,
}

/// A setting that was changed.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct TunedSetting {
    /// The knob with its instance: `irq.affinity@24`.
    pub knob: String,
    /// The value before.
    pub old: String,
    /// The value that it has.
    pub new: String,
}

impl TuningInEffect {
    /// Summarises a report of what was applied. None if that is nothing.
    pub fn of(report: &TuningReport) -> Option<Self> {
        let session = report.session.as_ref()?;
        let mut found = Self {
            profile: session.profile.clone(),
            purpose: session.purpose.clone(),
            settings: Vec::new(),
            threads_moved: 0,
            held: report.held.clone(),
            failed: 0,
        };
        for step in &report.steps {
            found.failed += u64::from(step.is_failure());
            let value = match &step.outcome {
                Some(StepOutcome::Applied | StepOutcome::AlreadySo) => step.new.clone(),
                Some(StepOutcome::Normalised { value }) => Some(value.clone()),
                _ => None,
            };
            let Some(new) = value else { continue };
            if matches!(step.target, Target::ThreadCpus(_)) {
                found.threads_moved += 1;
            } else {
                found.settings.push(TunedSetting {
                    knob: step.full_name(),
                    old: step.old.clone(),
                    new,
                });
            }
        }
        let nothing =
            found.settings.is_empty() && found.threads_moved == 0 && found.held.is_empty();
        (!nothing).then_some(found)
    }
}

/// What became of one setting.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct StepReport {
    /// The knob.
    pub knob: String,
    /// Which one, where there are several.
    pub instance: Option<String>,
    /// What was written.
    pub target: Target,
    /// The value before the session.
    pub old: String,
    /// The value wanted. Null for a setting that was only kept.
    pub new: Option<String>,
    /// Whether its write was begun. Without an outcome it may have been made, or cut off.
    #[serde(default)]
    pub begun: bool,
    /// What became of the change. Null where it was not tried, or where nobody saw.
    pub outcome: Option<StepOutcome>,
    /// What became of taking it back. Null where that was not tried.
    pub undone: Option<Undone>,
}

impl StepReport {
    /// Returns the knob with its instance: `irq.affinity@24`.
    pub fn full_name(&self) -> String {
        full_name(&self.knob, self.instance.as_deref())
    }

    /// Whether the change was tried and did not come about. That an interrupt or a thread cannot be
    /// moved is a fact of the machine, and no failure.
    pub fn is_failure(&self) -> bool {
        let outcome = self.outcome.as_ref();
        outcome.is_some_and(|outcome| outcome.is_failure_of(&self.knob))
    }
}

/// What became of a write.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum StepOutcome {
    /// It reads back as wanted.
    Applied,
    /// The kernel took it, but made another value of it.
    Normalised {
        /// The value that it reads.
        value: String,
    },
    /// The kernel took it, but says that it is not in effect.
    Invalid {
        /// The value that it reads.
        value: String,
    },
    /// It was so already.
    AlreadySo,
    /// The kernel said no.
    Refused {
        /// Its words.
        reason: String,
    },
    /// The kernel took it, and nothing changed.
    Ignored,
    /// What was to be written is gone.
    Vanished,
    /// Someone else changed it: after the plan was made, so that it was not written, or in a status since it was written.
    ChangedMeanwhile {
        /// The value found.
        value: String,
    },
    /// The write, or the reading after it, did not come back in time.
    Hung,
    /// It cannot be read back.
    Unreadable {
        /// Why.
        reason: String,
    },
}

impl StepOutcome {
    /// Whether this is a failure to set `knob`.
    pub fn is_failure_of(&self, knob: &str) -> bool {
        const MOVED: [&str; 3] = ["irq.affinity", "threads.affinity", "kthreads.affinity"];
        let fact = matches!(self, Self::Refused { .. } | Self::Vanished | Self::Ignored)
            && MOVED.contains(&knob);
        !self.is_fine() && !fact
    }

    /// Whether the setting is as wanted, as far as the kernel allows.
    pub const fn is_fine(&self) -> bool {
        matches!(
            self,
            Self::Applied | Self::Normalised { .. } | Self::AlreadySo
        )
    }
}

/// What became of taking a change back.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Undone {
    /// The old value was written and reads back.
    Restored,
    /// It had the old value.
    AlreadyBack,
    /// The thread or file is gone, and its setting with it.
    Gone,
    /// Someone else set another value meanwhile: left alone.
    Conflict {
        /// The value found.
        value: String,
    },
    /// The kernel said no.
    Refused {
        /// Its words.
        reason: String,
    },
    /// The old value was written, but another one reads back.
    NotRestored {
        /// The value that it reads.
        value: String,
    },
    /// The write, or the reading after it, did not come back in time.
    Hung,
}

impl Undone {
    /// Whether the setting is as it was, or gone.
    pub const fn is_fine(&self) -> bool {
        matches!(self, Self::Restored | Self::AlreadyBack | Self::Gone)
    }
}
