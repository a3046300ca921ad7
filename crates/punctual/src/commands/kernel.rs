// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual kernel`.

mod bisect;
mod boot;
mod build;
mod config;
mod fetch;
mod initramfs;
mod latency_test;
mod once;
mod patch;
mod rebase;
mod rt;
mod stay;

use std::path::Path;

use crate::cli::{KernelAction, KernelSourceAction};
use crate::error::CliError;
use crate::exit::Exit;

/// Does what `action` says.
pub(crate) fn run(home: Option<&Path>, action: &KernelAction) -> Result<Exit, CliError> {
    match action {
        KernelAction::Boot(args) => boot::run(home, args),
        KernelAction::Initramfs(args) => initramfs::write(args),
        KernelAction::LatencyTest(args) => latency_test::run(home, args),
        KernelAction::Rt(args) => rt::run(home, args),
        KernelAction::InstallOnce(args) => once::install(home, args),
        KernelAction::Install(args) => stay::install(home, args),
        KernelAction::Installed(args) => stay::list(args),
        KernelAction::Uninstall(args) => stay::uninstall(args),
        KernelAction::Status(args) => once::status(home, args),
        KernelAction::Source(action) => before_boot(home, action),
    }
}

fn before_boot(home: Option<&Path>, action: &KernelSourceAction) -> Result<Exit, CliError> {
    match action {
        KernelSourceAction::Fetch(args) => fetch::fetch(home, args),
        KernelSourceAction::List { json } => fetch::list(home, *json),
        KernelSourceAction::Rm { names } => fetch::remove(home, names),
        KernelSourceAction::Patch(args) => patch::run(home, args),
        KernelSourceAction::Config(args) => config::run(home, args),
        KernelSourceAction::Build(args) => build::run(home, args),
        KernelSourceAction::Rebase(args) => rebase::run(home, args),
        KernelSourceAction::Bisect(args) => bisect::run(home, args),
    }
}
