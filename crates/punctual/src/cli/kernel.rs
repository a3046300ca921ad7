// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Options of `kernel`.

use std::path::PathBuf;

use clap::builder::{OsStringValueParser, TypedValueParser as _};
use clap::{Args, Subcommand, ValueEnum};
use punctual_kernel::guest::{Fault, Model};
use punctual_model::{Bytes, Nanos};

use super::KernelSourceAction;

/// What to do with kernels
#[derive(Debug, Subcommand)]
pub enum KernelAction {
    /// Boot a kernel, see what it says of itself, and end it: a smoke test
    Boot(KernelBootArgs),
    /// Write the initial RAM file system that guests boot with, to boot it by other means
    Initramfs(InitramfsArgs),
    /// Kernels before they boot
    #[command(flatten)]
    Source(KernelSourceAction),
}

/// What runs a guest
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum MachineArg {
    /// KVM where a trial boot with it succeeds, else QEMU's translator
    Auto,
    /// KVM
    Kvm,
    /// QEMU's translator, by this machine's clock: no latencies
    Tcg,
}

/// Options of guests
#[derive(Args, Debug)]
pub struct GuestOptions {
    /// Count instructions in place of time: one CPU, and the same result each time
    #[arg(long, conflicts_with = "machine", help_heading = "Guest")]
    pub virtual_time: bool,

    /// What runs it
    #[arg(
        long,
        value_name = "MACHINE",
        value_enum,
        default_value = "auto",
        help_heading = "Guest"
    )]
    pub machine: MachineArg,

    /// Further kernel arguments, such as preempt=full (can be repeated)
    #[arg(long, value_name = "ARGS", help_heading = "Guest")]
    pub append: Vec<String>,

    /// Preemption model that it must be found to run [default: as preempt= asks, else any]
    #[arg(long, value_name = "MODEL", help_heading = "Guest")]
    pub model: Option<Model>,

    /// Number of CPUs
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Guest")]
    pub cpus: u32,

    /// Memory, in bytes or with K, M or G
    #[arg(
        long,
        value_name = "SIZE",
        default_value = "512M",
        help_heading = "Guest"
    )]
    pub memory: Bytes,

    /// Seed of the machine's random numbers
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Guest")]
    pub seed: u64,

    /// Give up after this time, by this machine's clock
    #[arg(
        long,
        value_name = "TIME",
        default_value = "5m",
        help_heading = "Guest"
    )]
    pub time_limit: Nanos,
}

/// Options of `kernel boot`
#[derive(Args, Debug)]
pub struct KernelBootArgs {
    /// Image of the kernel: bzImage, vmlinuz
    #[arg(value_name = "KERNEL", value_parser = OsStringValueParser::new().map(PathBuf::from))]
    pub kernel: PathBuf,

    /// The guest
    #[command(flatten)]
    pub guest: GuestOptions,

    /// File for the kernel's log, which must not exist
    #[arg(long, value_name = "FILE", value_parser = OsStringValueParser::new().map(PathBuf::from))]
    pub log: Option<PathBuf>,

    /// Print what was found as JSON
    #[arg(long)]
    pub json: bool,

    /// Let the guest go wrong: panic, hang, restart
    #[arg(long, value_name = "FAULT", hide = true, value_parser = fault)]
    pub fault: Option<Fault>,
}

/// Reads what goes wrong on purpose.
fn fault(text: &str) -> Result<Fault, String> {
    match text {
        "panic" => Ok(Fault::Panic),
        "hang" => Ok(Fault::Hang),
        "restart" => Ok(Fault::Restart),
        _ => Err("must be panic, hang or restart".to_owned()),
    }
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
