// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Kernel arguments that a profile wants, and the files of the boot loader that would have them.

use serde::{Deserialize, Serialize};

use crate::cpu::CpuSet;

/// Value of `format` in a [`BootPlan`].
pub const BOOT_PLAN_FORMAT: &str = "punctual.boot-plan/1";

/// What a profile wants of the kernel's command line, and how the boot loader gets it.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct BootPlan {
    /// [`BOOT_PLAN_FORMAT`].
    pub format: String,
    /// Name of the profile.
    pub profile: String,
    /// CPUs for real-time work; empty where the profile singles none out.
    pub cpus_rt: CpuSet,
    /// CPUs for all else.
    pub cpus_housekeeping: CpuSet,
    /// The arguments.
    pub arguments: Vec<WantedArgument>,
    /// The boot loader that was found. Null where there is none that this program can edit.
    pub loader: Option<BootLoader>,
    /// What would be written. Empty where nothing is missing, or no boot loader was found.
    pub files: Vec<BootFile>,
    /// What is to be done after that, in this order.
    pub next: Vec<String>,
    /// What one should know before.
    pub warnings: Vec<String>,
}

/// One wanted argument.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct WantedArgument {
    /// As it stands on the command line: `nohz_full=2-3`.
    pub word: String,
    /// What it is for.
    pub about: String,
    /// How the running kernel's command line compares.
    pub now: ArgumentState,
    /// Why this kernel would not heed it, if it would not.
    pub unheeded: Option<String>,
}

/// How the running kernel was started.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum ArgumentState {
    /// With just that.
    Given,
    /// Without it.
    Missing,
    /// With another value.
    Other {
        /// As it stands there.
        word: String,
    },
    /// Without it, but as if with it: the kernel is built so.
    Implied {
        /// How it is built.
        why: String,
    },
    /// The command line cannot be read.
    Unknown,
}

/// Boot loaders that can be edited.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum BootLoader {
    /// GRUB with `/etc/default/grub.d`: a file of its own there.
    GrubDropIn,
    /// Entries of the Boot Loader Specification (systemd-boot, GRUB of Fedora): an entry of its own.
    LoaderEntries,
    /// The `cmdline.txt` of a Raspberry Pi: edited, with a copy.
    CommandLineFile,
}

/// A file that is written.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct BootFile {
    /// Its path.
    pub path: String,
    /// Its content before. Null where there is no such file.
    pub old: Option<String>,
    /// Its content then.
    pub new: String,
}

impl WantedArgument {
    /// Whether the running kernel has it, or needs it no more.
    pub fn is_given(&self) -> bool {
        matches!(
            self.now,
            ArgumentState::Given | ArgumentState::Implied { .. }
        )
    }
}

impl BootPlan {
    /// Whether the running kernel has all of it.
    pub fn is_given(&self) -> bool {
        self.arguments.iter().all(WantedArgument::is_given)
    }

    /// Lists the arguments that the boot loader is to give: what the kernel does anyway is none.
    pub fn needed(&self) -> impl Iterator<Item = &WantedArgument> {
        let implied = |now: &ArgumentState| matches!(now, ArgumentState::Implied { .. });
        self.arguments.iter().filter(move |a| !implied(&a.now))
    }
}
