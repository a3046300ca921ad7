// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A kernel that boots once, on a real machine: what would be done, and what came of it.

use serde::{Deserialize, Serialize};

use crate::choices;

/// Value of `format` in a [`OneShotPlan`].
pub const ONE_SHOT_PLAN_FORMAT: &str = "punctual.one-shot-plan/1";
/// Value of `format` in a [`OneShotStatus`].
pub const ONE_SHOT_STATUS_FORMAT: &str = "punctual.one-shot-status/1";

/// What starts the kernel.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum OneShotLoader {
    /// GRUB: `next_entry` in its environment.
    Grub,
    /// systemd-boot: the firmware's variable `LoaderEntryOneShot`.
    SystemdBoot,
    /// The running kernel, by kexec. No boot loader is asked.
    Kexec,
}

choices!(OneShotLoader { Grub => "GRUB", SystemdBoot => "systemd-boot", Kexec => "kexec" });

/// Which kernel boots once, how, and what is written for it.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct OneShotPlan {
    /// [`ONE_SHOT_PLAN_FORMAT`].
    pub format: String,
    /// Name of this boot. The candidate's command line has it as `punctual.once=ID`.
    pub id: String,
    /// The kernel.
    pub candidate: OneShotKernel,
    /// What starts it. Null where nothing was found that can.
    pub loader: Option<OneShotLoader>,
    /// The candidate's whole command line.
    pub arguments: String,
    /// Files and variables, in the order in which they are written. The choice of the candidate is the last.
    pub writes: Vec<OneShotWrite>,
    /// Each way in which the candidate may fail, and what brings the machine back from it.
    pub falls_back: Vec<OneShotFallback>,
    /// Why it cannot be done. Empty: it can.
    pub refusals: Vec<OneShotRefusal>,
    /// What one should know before.
    pub warnings: Vec<String>,
    /// What is to be done then, in this order.
    pub next: Vec<String>,
}

/// A kernel that is to boot once.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct OneShotKernel {
    /// Where its image was taken from.
    pub image: String,
    /// Release, as `uname -r` will say it.
    pub release: String,
    /// Version, as `uname -v` will say it.
    pub version: String,
    /// Where its initial RAM file system was taken from. Null: it boots without one.
    pub initrd: Option<String>,
    /// Where its modules were taken from. Null: none are put in place.
    pub modules: Option<String>,
}

/// A file or variable that is written.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct OneShotWrite {
    /// Its path.
    pub path: String,
    /// What it is.
    pub what: String,
    /// Size in bytes; of a directory, of all that is in it.
    pub bytes: u64,
    /// Whether something exists there; a copy of it is kept.
    pub changes: bool,
    /// The text, where it is one that a person may want to read.
    pub text: Option<String>,
}

/// A way to fail, and the way back.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct OneShotFallback {
    /// What goes wrong.
    pub failure: String,
    /// What brings the machine back. Null: nothing does but a person.
    pub way_back: Option<String>,
}

/// Why it cannot be done.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct OneShotRefusal {
    /// The reason.
    pub reason: String,
    /// What to do about it.
    pub hint: String,
}

/// What has become of a one-shot boot.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum OneShotState {
    /// None is installed.
    None,
    /// The machine has not been restarted; the next boot is the candidate's.
    Waiting,
    /// The machine has not been restarted, and somebody took the choice away.
    Withdrawn,
    /// The running kernel is the candidate.
    Candidate,
    /// This boot is the candidate's, but another kernel runs than was installed.
    OtherKernel,
    /// The machine was restarted and runs another kernel; nobody has seen the candidate running.
    FellBack,
    /// The candidate was seen running, and the machine has been restarted since.
    Done,
    /// The machine was restarted, and the boot loader did not heed the choice, which still stands.
    NotTaken,
}

impl OneShotState {
    /// Whether all is as it should be.
    pub const fn is_fine(self) -> bool {
        matches!(
            self,
            Self::None | Self::Waiting | Self::Candidate | Self::Done
        )
    }
}

/// What is pending, and whether the last one-shot boot came up.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct OneShotStatus {
    /// [`ONE_SHOT_STATUS_FORMAT`].
    pub format: String,
    /// What has become of it.
    pub state: OneShotState,
    /// The kernel that runs now.
    pub running: OneShotBoot,
    /// The candidate that is installed. Null where none is.
    pub installed: Option<OneShotInstalled>,
    /// The boot in which the candidate was seen running. Null: in none.
    pub confirmed: Option<OneShotBoot>,
    /// What state and reason were concluded from.
    pub evidence: Vec<OneShotEvidence>,
    /// What is to be done then.
    pub next: Vec<String>,
}

/// A boot.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct OneShotBoot {
    /// The kernel's name of this boot.
    pub boot_id: String,
    /// Release, as `uname -r` says it.
    pub release: String,
    /// Version, as `uname -v` says it.
    pub version: String,
    /// When it was looked at, RFC 3339 in UTC.
    pub at: String,
}

/// A candidate that is installed.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct OneShotInstalled {
    /// Name of this boot.
    pub id: String,
    /// When it was installed, RFC 3339 in UTC.
    pub at: String,
    /// The boot in which it was installed.
    pub boot_id: String,
    /// The kernel.
    pub candidate: OneShotKernel,
    /// What starts it.
    pub loader: OneShotLoader,
    /// The experiment that goes on when the candidate is confirmed.
    pub resume: Option<String>,
}

/// A thing that was found.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct OneShotEvidence {
    /// Where.
    pub source: String,
    /// What it says.
    pub says: String,
}
