// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Kernels that are installed to stay: what would be done, and which there are.

use serde::{Deserialize, Serialize};

use crate::{OneShotKernel, OneShotLoader, OneShotRefusal, OneShotWrite};

/// Value of `format` in a [`KernelInstallPlan`].
pub const KERNEL_INSTALL_PLAN_FORMAT: &str = "punctual.kernel-install-plan/1";
/// Value of `format` in [`InstalledKernels`].
pub const INSTALLED_KERNELS_FORMAT: &str = "punctual.installed-kernels/1";

/// Which kernel is to be installed, how, and what is written for it.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct KernelInstallPlan {
    /// [`KERNEL_INSTALL_PLAN_FORMAT`].
    pub format: String,
    /// Name of this installation.
    pub id: String,
    /// The kernel as it was named.
    pub name: String,
    /// The kernel.
    pub kernel: OneShotKernel,
    /// What starts it. Null where nothing was found that can.
    pub loader: Option<OneShotLoader>,
    /// Whether it becomes the machine's default.
    pub becomes_default: bool,
    /// The boot loader's entry that is named as the default for it. Null: none has to be.
    pub default_named: Option<String>,
    /// Files and variables, in the order in which they are written.
    pub writes: Vec<OneShotWrite>,
    /// Why it cannot be done. Empty: it can.
    pub refusals: Vec<OneShotRefusal>,
    /// What one should know before.
    pub warnings: Vec<String>,
}

/// The kernels that were installed to stay.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct InstalledKernels {
    /// [`INSTALLED_KERNELS_FORMAT`].
    pub format: String,
    /// Each of them, the oldest first.
    pub kernels: Vec<InstalledKernel>,
}

/// A kernel that was installed to stay.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct InstalledKernel {
    /// Name of the installation.
    pub id: String,
    /// The kernel as it was named.
    pub name: String,
    /// When it was installed, RFC 3339 in UTC.
    pub at: String,
    /// The kernel.
    pub kernel: OneShotKernel,
    /// What starts it.
    pub loader: OneShotLoader,
    /// Whether the installation came to its end.
    pub complete: bool,
    /// Whether it is the machine's default now.
    pub is_default: bool,
    /// Whether it runs now.
    pub is_running: bool,
    /// Paths that are not as they were installed.
    pub changed: Vec<String>,
}
