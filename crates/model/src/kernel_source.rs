// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Kernels before they boot: sources, patches, rebases, configurations, builds, bisections.

mod bisect;
mod build;
mod config;
mod inventory;
mod patch;
mod rebase;
mod rt;

pub use bisect::{BisectReport, BisectStep, BisectVerdict, KERNEL_BISECT_FORMAT};
pub use build::{BuildEnd, BuildReport, BuiltKernel, KERNEL_BUILD_FORMAT};
pub use config::{
    ChangedOption, ConfigDiff, ConfigReport, KERNEL_CONFIG_DIFF_FORMAT, KERNEL_CONFIG_FORMAT,
    KernelModel, UnmetOption,
};
pub use inventory::{
    AppliedSeries, KERNEL_STOCK_FORMAT, KernelImage, KernelSource, KernelStock, SourceOrigin,
};
pub use patch::{
    FailedHunk, KERNEL_PATCH_FORMAT, PatchOutcome, PatchReport, PatchResult, PatchedTree,
};
pub use rebase::{
    ConflictingCommit, KERNEL_REBASE_FORMAT, RebaseConflict, RebaseReport, RebaseState,
};
pub use rt::{KERNEL_RT_FORMAT, RtFlow, RtStep, RtStepKind};
