// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Options of `kernel install-once` and `kernel status`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum};
use punctual_model::{Nanos, OneShotLoader};

use super::path;

/// What starts the candidate
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum LoaderArg {
    /// What starts the machine: GRUB or systemd-boot
    Auto,
    /// GRUB: next_entry in its environment block
    Grub,
    /// systemd-boot: the firmware's variable LoaderEntryOneShot
    SystemdBoot,
    /// The running kernel, by kexec; no boot loader is touched
    Kexec,
}

impl LoaderArg {
    /// Returns the loader; none where the machine's own is to be found.
    pub const fn wanted(self) -> Option<OneShotLoader> {
        match self {
            Self::Auto => None,
            Self::Grub => Some(OneShotLoader::Grub),
            Self::SystemdBoot => Some(OneShotLoader::SystemdBoot),
            Self::Kexec => Some(OneShotLoader::Kexec),
        }
    }
}

/// What watches over the candidate
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum WatchdogArg {
    /// A hardware watchdog with 60 s, where the machine has one and systemd starts it.
    Auto,
    /// None.
    Off,
    /// A hardware watchdog with this time, in seconds.
    Seconds(u32),
}

impl FromStr for WatchdogArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "auto" => Ok(Self::Auto),
            "off" => Ok(Self::Off),
            time => seconds(time)
                .map(Self::Seconds)
                .map_err(|why| format!("must be auto, off, or a time: {why}")),
        }
    }
}

/// Reads a time of whole seconds.
fn seconds(text: &str) -> Result<u32, String> {
    const LONGEST: u64 = 3600;
    let time: Nanos = text.parse().map_err(|err| format!("{err}"))?;
    let each = Nanos::from_secs(1).get();
    let (whole, rest) = (time.get() / each, time.get() % each);
    if rest != 0 || !(1..=LONGEST).contains(&whole) {
        return Err("must be whole seconds, from 1s to 1h".to_owned());
    }
    u32::try_from(whole).map_err(|err| err.to_string())
}

/// Where a one-shot boot is kept, and on which machine
#[derive(Args, Debug)]
pub struct OncePlace {
    /// Directory of the undo record, owned by root [default: /var/lib/punctual/tune]
    #[arg(long, value_name = "DIR", env = crate::tuning::STATE_VARIABLE, value_parser = path())]
    pub state: Option<PathBuf>,

    /// Work on the files of a captured machine in DIR, not on this one
    #[arg(long, value_name = "DIR", value_parser = path())]
    pub root: Option<PathBuf>,
}

const INSTALL_ONCE: &str = "\
The machine's default is never touched. The boot loader clears the choice before
it starts the candidate, which restarts the machine when it panics. The plan
lists the ways to fail and what brings the machine back from each. Nothing is
written without --yes or a confirmation at the terminal.
Exit status 5: this machine does not support it, with the reasons.";

/// Options of `kernel install-once`
#[derive(Args, Debug)]
#[command(after_help = INSTALL_ONCE)]
pub struct InstallOnceArgs {
    /// The candidate: a bzImage, a .deb (unpacked, not installed), or a build or image of the store
    #[arg(value_name = "KERNEL", required_unless_present = "revert", value_parser = path())]
    pub kernel: Option<PathBuf>,

    /// Its initial RAM file system
    #[arg(long, value_name = "FILE", conflicts_with = "make_initrd", value_parser = path())]
    pub initrd: Option<PathBuf>,

    /// Make it with mkinitramfs
    #[arg(long)]
    pub make_initrd: bool,

    /// Directory of its modules, copied to /lib/modules/RELEASE [default: those of the .deb]
    #[arg(long, value_name = "DIR", value_parser = path())]
    pub modules: Option<PathBuf>,

    /// Additional kernel arguments, after those of the running kernel (can be repeated)
    #[arg(long, value_name = "ARGS", allow_hyphen_values = true)]
    pub append: Vec<String>,

    /// Time after a panic until the candidate restarts the machine
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = seconds, help_heading = "Falling back")]
    pub panic_timeout: u32,

    /// Hardware watchdog that systemd starts on the candidate: a time, auto (60s where there is one), off
    #[arg(
        long,
        value_name = "TIME",
        default_value = "auto",
        help_heading = "Falling back"
    )]
    pub watchdog: WatchdogArg,

    /// Make the candidate panic on a lockup or a thread that waits forever; costs some latency
    #[arg(long, help_heading = "Falling back")]
    pub panic_when_stuck: bool,

    /// What starts the candidate
    #[arg(long, value_name = "LOADER", value_enum, default_value = "auto")]
    pub loader: LoaderArg,

    /// Experiment to continue when the candidate is confirmed
    #[arg(long, value_name = "EXPERIMENT")]
    pub resume: Option<String>,

    /// Only show what would be written
    #[arg(long)]
    pub dry_run: bool,

    /// Do not ask
    #[arg(long)]
    pub yes: bool,

    /// Remove the candidate and restore everything
    #[arg(long, conflicts_with_all = ["kernel", "initrd", "make_initrd", "modules", "append", "resume", "dry_run", "json"])]
    pub revert: bool,

    /// Print the plan as JSON; nothing is written then
    #[arg(long)]
    pub json: bool,

    /// The machine
    #[command(flatten)]
    pub place: OncePlace,
}

/// Options of `kernel status`
#[derive(Args, Debug)]
pub struct KernelStatusArgs {
    /// Record that this is the candidate's boot, if it is; then continue the experiment of --resume
    #[arg(long)]
    pub confirm: bool,

    /// Print a systemd unit that confirms the candidate after it has booted; install it yourself
    #[arg(long, conflicts_with_all = ["confirm", "json"])]
    pub unit: bool,

    /// Print as JSON
    #[arg(long)]
    pub json: bool,

    /// The machine
    #[command(flatten)]
    pub place: OncePlace,
}
