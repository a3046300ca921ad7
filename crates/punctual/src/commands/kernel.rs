// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual kernel`.

mod boot;
mod initramfs;

use crate::cli::KernelAction;
use crate::error::CliError;
use crate::exit::Exit;

/// Does what `action` says.
pub(crate) fn run(action: &KernelAction) -> Result<Exit, CliError> {
    match action {
        KernelAction::Boot(args) => boot::run(args),
        KernelAction::Initramfs(args) => initramfs::write(args),
    }
}
