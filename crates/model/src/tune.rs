// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Tuning: the settings of a machine, what a profile would change, and what became of it.

mod boot;
mod codec;
mod outcome;
mod plan;
mod trial;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use boot::{ArgumentState, BOOT_PLAN_FORMAT, BootFile, BootLoader, BootPlan, WantedArgument};
pub use codec::{Codec, CodecError, masks_agree};
pub use outcome::{
    KeptSession, StepOutcome, StepReport, TUNING_FORMAT, TunedSetting, TuningAction,
    TuningInEffect, TuningReport, Undone,
};
pub use plan::{
    Hold, KnobGuard, KnobNote, PLAN_FORMAT, Plan, PlanStep, Refusal, SkipReason, Skipped,
};

pub use trial::{
    LeftOut, TRIAL_FORMAT, Treatment, TrialEffect, TrialFigure, TrialQuantity, TrialReport,
    TrialVerdict,
};

/// Value of `format` in a [`KnobList`].
pub const KNOB_LIST_FORMAT: &str = "punctual.knobs/1";

/// What a knob turns.
#[derive(Clone, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Target {
    /// A file of the kernel.
    File {
        /// Its path.
        path: String,
    },
    /// A directory of the kernel whose being there is the setting: a control group.
    Directory {
        /// Its path.
        path: String,
    },
    /// A controller that a control group hands down to the groups in it.
    Controller {
        /// The file that lists them.
        path: String,
        /// Its name.
        name: String,
    },
    /// The CPUs that a thread may run on.
    ThreadCpus(ThreadId),
    /// The scheduling policy of a thread.
    ThreadPolicy(ThreadId),
}

impl Target {
    /// Makes the target that is a file.
    pub fn file(path: impl Into<String>) -> Self {
        Self::File { path: path.into() }
    }

    /// Returns the thread, if the target is one.
    pub const fn thread(&self) -> Option<&ThreadId> {
        match self {
            Self::ThreadCpus(thread) | Self::ThreadPolicy(thread) => Some(thread),
            _ => None,
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path } | Self::Directory { path } => f.write_str(path),
            Self::Controller { path, name } => write!(f, "{name} in {path}"),
            Self::ThreadCpus(thread) => write!(f, "CPUs of {thread}"),
            Self::ThreadPolicy(thread) => write!(f, "policy of {thread}"),
        }
    }
}

/// A thread, told from a later one that got the same number.
#[derive(Clone, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ThreadId {
    /// Its number.
    pub tid: i32,
    /// When it started, in clock ticks after boot.
    pub started_ticks: u64,
    /// Its name, as far as the kernel keeps it.
    pub name: String,
}

impl fmt::Display for ThreadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "thread {} ({})", self.tid, self.name)
    }
}

/// How completely a setting can be taken back.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Reversibility {
    /// Writing the old value brings the old state back.
    Exact,
    /// The old value comes back, but not all that happened meanwhile because of the new one.
    Value,
    /// The kernel takes it back when the process that holds it ends.
    Scoped,
}

/// One setting as it was found.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct KnobReading {
    /// The knob, such as `vm.swappiness`.
    pub knob: String,
    /// Which one, where there are several, such as `cpu3/state2`.
    pub instance: Option<String>,
    /// What it turns.
    pub target: Target,
    /// The value, in the form that profiles use. Null where it cannot be read.
    pub value: Option<String>,
    /// The values that the kernel offers. Null where it does not say.
    pub choices: Option<Vec<String>>,
    /// Why the value cannot be read.
    pub fault: Option<String>,
    /// Whether it can be written.
    pub writable: Writable,
}

/// Joins a knob and its instance.
pub(crate) fn full_name(knob: &str, instance: Option<&str>) -> String {
    match instance {
        Some(instance) => format!("{knob}@{instance}"),
        None => knob.to_owned(),
    }
}

/// Whether a setting can be written, as far as can be known without writing it.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Writable {
    /// It was opened for writing.
    Yes,
    /// It was not.
    No {
        /// Why.
        reason: String,
    },
    /// Root might: this was found out without the privilege.
    NeedsRoot,
}

/// All known settings of a machine.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct KnobList {
    /// [`KNOB_LIST_FORMAT`].
    pub format: String,
    /// The settings, by name.
    pub knobs: Vec<KnobReading>,
    /// The knobs of which no setting is listed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<UnlistedKnob>,
}

/// A knob of which a list has no setting.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct UnlistedKnob {
    /// The knob, such as `cpufreq.governor`.
    pub knob: String,
    /// Why: this machine does not have it, or it is more than a value.
    pub why: String,
}
