// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Kernels on real machines: one boot, and back.

use serde::{Deserialize, Serialize};

use crate::tune::BootFile;

/// Value of `format` in an [`InstallPlan`].
pub const KERNEL_INSTALL_FORMAT: &str = "punctual.kernel-install/1";
/// Value of `format` in a [`BootStatus`].
pub const KERNEL_STATUS_FORMAT: &str = "punctual.kernel-status/1";

/// How a kernel gets one boot.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum OneShotMethod {
    /// GRUB's `next_entry`, which it clears before it boots.
    Grub,
    /// The EFI variable `LoaderEntryOneShot` of systemd-boot.
    SystemdBoot,
    /// kexec: no firmware, no boot loader.
    Kexec,
}

/// What an installation for one boot would do.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InstallPlan {
    /// [`KERNEL_INSTALL_FORMAT`].
    pub format: String,
    /// Name of the kernel.
    pub kernel: String,
    /// Its release.
    pub release: String,
    /// How it gets its boot.
    pub method: OneShotMethod,
    /// Its command line.
    pub command_line: String,
    /// Files that are copied: from, to.
    pub copies: Vec<(String, String)>,
    /// Files that are written.
    pub files: Vec<BootFile>,
    /// Commands that are run then, in this order.
    pub commands: Vec<Vec<String>>,
    /// Whether it was done.
    pub done: bool,
    /// What one should know before.
    pub remarks: Vec<String>,
}

/// What became of kernels that were given one boot.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BootStatus {
    /// [`KERNEL_STATUS_FORMAT`].
    pub format: String,
    /// Release of the running kernel.
    pub running: String,
    /// The last kernel that was given one boot. Null where there was none.
    pub last: Option<BootAttempt>,
    /// How a kernel would get one boot here. Null where none can.
    pub method: Option<OneShotMethod>,
    /// Why each other way is closed here.
    pub refused: Vec<String>,
}

/// A kernel that was given one boot.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum BootAttempt {
    /// The machine was not booted since.
    Waiting {
        /// Its release.
        release: String,
    },
    /// It is the running kernel.
    Running {
        /// Its release.
        release: String,
    },
    /// The machine was booted since, and another kernel runs: it was not started, or did not live.
    FellBack {
        /// Its release.
        release: String,
    },
}
