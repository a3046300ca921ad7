// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Options of `kernel`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use punctual_kernel::boot::Architecture;
use punctual_kernel::guest::{Fault, Model};
use punctual_measure::loads::LoadList;
use punctual_model::{Bytes, Nanos};

use super::compare::Percent;
use super::{
    InstallOnceArgs, KernelInstallArgs, KernelInstalledArgs, KernelStatusArgs, KernelUninstallArgs,
};
use super::{KernelConfigWish, KernelSourceAction, path};
use crate::kernels::rt::Order;

/// What to do with kernels
#[derive(Debug, Subcommand)]
pub enum KernelAction {
    /// Boot a kernel, check what it reports, and stop it: a smoke test
    Boot(KernelBootArgs),
    /// Compare kernels and preemption models in virtual time: the same result every time, on any host
    LatencyTest(LatencyTestArgs),
    /// From the source to the verdict: fetch, patch, configure, build, boot, and compare a stock and a real-time kernel
    Rt(Box<KernelRtArgs>),
    /// Write the initial RAM file system of guests to a file, to boot it yourself
    Initramfs(InitramfsArgs),
    /// Boot a kernel once on this machine, which then falls back to its own by itself; or undo that
    InstallOnce(Box<InstallOnceArgs>),
    /// Install a kernel to stay, with modules, initial RAM file system and boot entry; the default entry stays
    Install(Box<KernelInstallArgs>),
    /// List the kernels that were installed to stay
    Installed(KernelInstalledArgs),
    /// Remove a kernel that was installed to stay, whole
    Uninstall(KernelUninstallArgs),
    /// Show whether a kernel will boot once, came up, or fell back, and why
    Status(KernelStatusArgs),
    /// Kernels before they boot
    #[command(flatten)]
    Source(KernelSourceAction),
}

/// What runs a guest
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum MachineArg {
    /// KVM if a trial boot with it succeeds, else QEMU's emulator
    Auto,
    /// KVM
    Kvm,
    /// QEMU's emulator, on this machine's clock: no valid latencies
    Tcg,
}

/// Options of guests
#[derive(Args, Debug)]
pub struct GuestOptions {
    /// Count instructions instead of time: one CPU, and the same result every time
    #[arg(long, conflicts_with = "machine", help_heading = "Guest")]
    pub virtual_time: bool,

    /// KVM or emulation
    #[arg(
        long,
        value_name = "MACHINE",
        value_enum,
        default_value = "auto",
        help_heading = "Guest"
    )]
    pub machine: MachineArg,

    /// Additional kernel arguments, such as preempt=full (can be repeated)
    #[arg(long, value_name = "ARGS", help_heading = "Guest")]
    pub append: Vec<String>,

    /// Preemption model that must be active [default: the one in preempt=, else any]
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

    /// Number of nodes among which CPUs and memory are divided: topology only, all memory is equally far
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Guest")]
    pub nodes: u32,

    /// Seed of the guest's random numbers
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
    /// Image of the kernel for x86-64 (bzImage, vmlinuz) or arm64 (Image, vmlinuz)
    #[arg(value_name = "KERNEL", value_parser = path())]
    pub kernel: PathBuf,

    /// The guest
    #[command(flatten)]
    pub guest: GuestOptions,

    /// File for the kernel log, which must not exist
    #[arg(long, value_name = "FILE", value_parser = path())]
    pub log: Option<PathBuf>,

    /// Print what was found as JSON
    #[arg(long)]
    pub json: bool,

    /// Make the guest fail: panic, hang, restart, busy
    #[arg(long, value_name = "FAULT", hide = true, value_parser = fault)]
    pub fault: Option<Fault>,
}

/// Verdicts of `kernel latency-test` that fail
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum LatencyFailOn {
    /// A figure is worse than the baseline's
    Worse,
}

const LATENCY_TEST: &str = "\
Times are instruction counts at 8 ns each: the length of the software path, not
latencies of hardware. Each kernel boots once per seed and preemption model, and
is measured under each load. Better or worse means that the bands over all seeds
do not overlap.";

/// Options of `kernel latency-test`
#[derive(Args, Debug)]
#[command(after_help = LATENCY_TEST)]
pub struct LatencyTestArgs {
    /// Images of the kernels (bzImage, Image, vmlinuz; all for one architecture), as [NAME=]PATH[,append=ARGS][,model=MODEL][,config=FRAGMENT]:
    /// its own arguments and models, and what its configuration must have
    #[arg(required = true, value_name = "KERNEL")]
    pub kernels: Vec<String>,

    /// Baseline kernel, by name or path: with the same model, or with MODEL after a colon
    #[arg(long, value_name = "KERNEL[:MODEL]")]
    pub baseline: Option<String>,

    /// Preemption models to test: none, voluntary, full, lazy, rt [default: all of the image]
    #[arg(long, value_name = "MODEL", value_delimiter = ',')]
    pub model: Vec<Model>,

    /// Loads, one after the other [default: printk:1000,fork,tmpfs; none with --idle] (comma-separated, can be repeated)
    #[arg(long, value_name = "LOAD")]
    pub load: Vec<LoadList>,

    /// Measure without a load too; without --load only that
    #[arg(long)]
    pub idle: bool,

    /// Number of seeds, one boot each
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(2..=100))]
    pub seeds: u32,

    /// Samples under each load
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(10..=1_000_000))]
    pub samples: u64,

    /// Time between the deadlines, virtual
    #[arg(long, short = 'i', value_name = "TIME", default_value = "1ms")]
    pub interval: Nanos,

    /// Additional kernel arguments for all kernels (can be repeated)
    #[arg(long, value_name = "ARGS")]
    pub append: Vec<String>,

    /// Minimum gap between bands for a verdict, as a share of the baseline [default: any gap]
    #[arg(long, value_name = "PERCENT")]
    pub tolerance: Option<Percent>,

    /// Exit 3 if a figure has this verdict, 6 if one cannot be judged (an invalid cell; with fewer than 4 seeds always)
    #[arg(long, value_name = "VERDICT", value_enum)]
    pub fail_on: Option<LatencyFailOn>,

    /// Guests that run at once
    #[command(flatten)]
    pub jobs: JobsArgs,

    /// Give a boot up after this time, by this machine's clock
    #[arg(long, value_name = "TIME", default_value = "10m")]
    pub time_limit: Nanos,

    /// Continue the test of this name, which was stopped or killed; give the same options as before
    #[arg(long, value_name = "NAME")]
    pub resume: Option<String>,

    /// File for the result as JSON, the same bytes every time; a file that exists is replaced, once there is a result
    #[arg(long, short = 'o', value_name = "FILE", value_parser = path())]
    pub output: Option<PathBuf>,

    /// File for the result as JUnit XML; a file that exists is replaced, once there is a result
    #[arg(long, value_name = "FILE", value_parser = path())]
    pub junit: Option<PathBuf>,

    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,

    /// Show no progress, only the result
    #[arg(long, short = 'q')]
    pub quiet: bool,
}

const RT: &str = "\
Steps: source, stock, patch, config, build, boot, compare. Each is noted in the
store when it is done, and the same command goes on where it was stopped. The
stock kernel is built before the source is patched. Both kernels run in guests
in virtual time, as with `kernel latency-test`; no kernel is installed.";

/// Options of `kernel rt`
#[derive(Args, Debug)]
#[command(after_help = RT, mut_arg("model", |arg| arg.hide(true)))]
pub struct KernelRtArgs {
    /// Version of Linux: 6.12, or 5.10.35
    #[arg(value_name = "VERSION")]
    pub linux: String,

    /// The source: a name in the store, or what `kernel fetch` takes; with --patch a directory is copied
    /// [default: the package linux-source-VERSION]
    #[arg(long, value_name = "WHAT")]
    pub source: Option<String>,

    /// SHA-256 that the package or tarball must have
    #[arg(long, value_name = "HEX")]
    pub sha256: Option<String>,

    /// Real-time patch for a source without PREEMPT_RT (before 6.12): a patch, a directory of patches, or a tarball of one
    #[arg(long, value_name = "SERIES", value_parser = path())]
    pub patch: Option<PathBuf>,

    /// Lines of context that may differ when a hunk is applied
    #[arg(long, value_name = "LINES", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=3))]
    pub fuzz: u8,

    /// Skip patches that do not apply, and apply the others
    #[arg(long)]
    pub leave_out: bool,

    /// Name of this flow, its source and its builds in the store [default: rt-VERSION, with the architecture if --arch names another]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,

    /// Preemption model of the stock kernel: none, voluntary, full, lazy [default: voluntary; since Linux 7.0, which has only the last two,
    /// lazy]
    #[arg(long, value_name = "MODEL")]
    pub stock: Option<Model>,

    /// What both configurations are made of
    #[command(flatten)]
    pub wish: KernelConfigWish,

    /// Build even if options differ from what was asked
    #[arg(long)]
    pub anyway: bool,

    /// Do not use ccache even if it is installed
    #[arg(long)]
    pub no_ccache: bool,

    /// Loads to measure under, one after the other [default: printk:1000,fork,tmpfs] (comma-separated, can be repeated)
    #[arg(long, value_name = "LOAD", help_heading = "Comparison")]
    pub load: Vec<LoadList>,

    /// Number of seeds, one boot each
    #[arg(long, value_name = "N", default_value_t = Order::SEEDS, value_parser = clap::value_parser!(u32).range(2..=100), help_heading = "Comparison")]
    pub seeds: u32,

    /// Samples under each load
    #[arg(long, value_name = "N", default_value_t = Order::SAMPLES, value_parser = clap::value_parser!(u64).range(10..=1_000_000), help_heading = "Comparison")]
    pub samples: u64,

    /// Number of parallel compilers, and of guests [default: one per CPU]
    #[arg(long, short = 'j', value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub jobs: Option<u16>,

    /// Show no progress, only the result
    #[arg(long, short = 'q')]
    pub quiet: bool,

    /// Print what was done and found as JSON; the steps go to standard error
    #[arg(long)]
    pub json: bool,
}

/// Guests that run at once
#[derive(Args, Clone, Debug, Default)]
pub struct JobsArgs {
    /// Number of guests in virtual time at a time, which does not change any result [default: one per CPU]
    #[arg(long, short = 'j', value_name = "N", value_parser = jobs)]
    pub jobs: Option<usize>,
}

/// Reads a number of guests.
fn jobs(text: &str) -> Result<usize, String> {
    let jobs = text.parse().ok().filter(|jobs| (1..=256).contains(jobs));
    jobs.ok_or_else(|| "must be from 1 to 256".to_owned())
}

/// Reads an architecture.
pub(super) fn architecture(text: &str) -> Result<Architecture, String> {
    Architecture::of_word(text).ok_or_else(|| "must be x86_64 or arm64".to_owned())
}

/// Reads what goes wrong on purpose.
fn fault(text: &str) -> Result<Fault, String> {
    match text {
        "panic" => Ok(Fault::Panic),
        "hang" => Ok(Fault::Hang),
        "restart" => Ok(Fault::Restart),
        "busy" => Ok(Fault::Busy),
        "busy-at-first" => Ok(Fault::BusyAtFirst),
        _ => Err("must be panic, hang, restart, busy or busy-at-first".to_owned()),
    }
}

/// Options of `kernel initramfs`
#[derive(Args, Debug)]
pub struct InitramfsArgs {
    /// File to write, which must not exist
    #[arg(long, short = 'o', value_name = "FILE", value_parser = path())]
    pub output: PathBuf,

    /// Also include FILE as PATH (can be repeated)
    #[arg(long, value_name = "PATH=FILE")]
    pub file: Vec<String>,

    /// Use the whole program as /init, not only the measuring agent: needed for a job with a disk
    #[arg(long)]
    pub whole: bool,

    /// For guests of another architecture: x86_64, arm64
    #[arg(long, value_name = "ARCH", conflicts_with = "whole", value_parser = architecture)]
    pub arch: Option<Architecture>,

    /// Do not compress it
    #[arg(long)]
    pub uncompressed: bool,

    /// Overwrite the file
    #[arg(long)]
    pub force: bool,
}
