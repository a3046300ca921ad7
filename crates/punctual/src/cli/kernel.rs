// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Options of `kernel`.

use std::path::PathBuf;

use clap::builder::{OsStringValueParser, TypedValueParser as _};
use clap::{Args, Subcommand};

/// What to do with kernels
#[derive(Debug, Subcommand)]
pub enum KernelAction {
    /// Write the initial RAM file system that guests boot with, to boot it by other means
    Initramfs(InitramfsArgs),
}

/// Options of `kernel initramfs`
#[derive(Args, Debug)]
pub struct InitramfsArgs {
    /// File to write, which must not exist
    #[arg(long, short = 'o', value_name = "FILE",
          value_parser = OsStringValueParser::new().map(PathBuf::from))]
    pub output: PathBuf,

    /// Do not compress it
    #[arg(long)]
    pub uncompressed: bool,

    /// Overwrite the file
    #[arg(long)]
    pub force: bool,
}
