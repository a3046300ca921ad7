// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Budgets, measured beside Debian's cyclictest.

use std::path::Path;
use std::process::ExitCode;

use clap::Args;

/// Options of `cargo xtask bench`.
#[derive(Debug, Args)]
pub(crate) struct Options {}

/// Measures.
pub(crate) fn run(_root: &Path, _options: &Options) -> anyhow::Result<ExitCode> {
    Ok(ExitCode::SUCCESS)
}
