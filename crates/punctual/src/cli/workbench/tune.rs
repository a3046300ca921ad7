// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Options of `tune`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use punctual_kernel::GuestTarget;
use punctual_model::{CpuSet, Nanos};

use super::{LoadOptions, Percent, path};

/// Options of all of `tune`
#[derive(Args, Debug)]
pub struct TuneArgs {
    /// What to do
    #[command(subcommand)]
    pub action: TuneAction,

    /// Directory of the journal, owned by root [default: /var/lib/punctual/tune]
    #[arg(long, global = true, value_name = "DIR", env = crate::tuning::STATE_VARIABLE,
          value_parser = path())]
    pub state: Option<PathBuf>,

    /// Work on the files of a captured machine in DIR, not on this one
    #[arg(long, global = true, value_name = "DIR", value_parser = path())]
    pub root: Option<PathBuf>,
}

/// What to do with the machine's settings
#[derive(Debug, Subcommand)]
pub enum TuneAction {
    /// Show what a profile would change here, without changing it
    Plan {
        /// The profile and its changes
        #[command(flatten)]
        wish: WishArgs,

        /// Explain what each knob does and what a change costs
        #[arg(long, conflicts_with = "json")]
        explain: bool,

        /// Print the plan as JSON
        #[arg(long)]
        json: bool,
    },
    /// Change the settings; they stay until `punctual tune revert`, or for a time
    Apply {
        /// The profile and its changes
        #[command(flatten)]
        wish: WishArgs,

        /// Revert automatically after this time, even if the terminal is gone
        #[arg(
            long = "for",
            value_name = "TIME",
            allow_hyphen_values = true,
            help_heading = "Safety"
        )]
        duration: Option<Nanos>,

        /// What to insist on
        #[command(flatten)]
        care: CareArgs,

        /// Show the plan only, as `punctual tune plan` does
        #[arg(long, help_heading = "Safety")]
        dry_run: bool,

        /// Print what was done as JSON
        #[arg(long)]
        json: bool,
    },
    /// Change the settings, run a command, and restore everything however it ends
    Run {
        /// The profile and its changes
        #[command(flatten)]
        wish: WishArgs,

        /// What to insist on
        #[command(flatten)]
        care: CareArgs,

        /// The command and its arguments
        #[arg(required = true, last = true, value_name = "COMMAND")]
        command: Vec<OsString>,
    },
    /// Show what is currently changed
    Status {
        /// Print it as JSON
        #[arg(long)]
        json: bool,
    },
    /// Restore everything
    Revert {
        /// Print what was done as JSON
        #[arg(long)]
        json: bool,
    },
    /// List the known settings, with their values here
    Knobs {
        /// Only those whose names match, with `*` as a wildcard: vm.*, irq.affinity
        #[arg(value_name = "KNOB")]
        patterns: Vec<String>,

        /// Print them as JSON
        #[arg(long)]
        json: bool,
    },
    /// List the profiles that come with the program, or print one
    Profiles {
        /// The profile to print
        name: Option<String>,
    },
    /// Measure what each knob of a profile buys here: latency and work with and without it
    Trial(TrialArgs),
    /// Show, add or remove kernel arguments that take effect at boot
    Boot {
        /// What to do with them
        #[command(subcommand)]
        action: BootAction,
    },
    /// Keep watch over a session
    #[command(hide = true)]
    Keep(KeepArgs),
}

/// Options of `tune trial`
#[derive(Args, Clone, Debug)]
pub struct TrialArgs {
    /// The profile and its changes
    #[command(flatten)]
    pub wish: WishArgs,

    /// Number of blocks: each knob is tried once per block
    #[arg(long, value_name = "N", default_value_t = 12, help_heading = "Measuring",
          value_parser = clap::value_parser!(u64).range(2..=10_000))]
    pub blocks: u64,

    /// Measure latency for this time in each run, and work for half of it
    #[arg(
        long,
        short = 'D',
        value_name = "TIME",
        allow_hyphen_values = true,
        default_value = "1s",
        help_heading = "Measuring"
    )]
    pub duration: Nanos,

    /// The smallest change that matters: one that could not have been found gives "too few blocks"
    #[arg(
        long,
        value_name = "PERCENT",
        default_value = "10%",
        help_heading = "Measuring"
    )]
    pub effect: Percent,

    /// CPUs to measure [default: those for real-time work, else all allowed]
    #[arg(long, value_name = "LIST", help_heading = "Measuring")]
    pub measure: Option<CpuSet>,

    /// Loads during the latency measurement
    #[command(flatten)]
    pub loads: LoadOptions,

    /// Seed of the random order [default: a new one each time]
    #[arg(long, value_name = "N", help_heading = "Measuring")]
    pub seed: Option<u64>,

    /// Continue the trial of this name, which was stopped or killed; give the same options as before
    #[arg(long, value_name = "NAME", help_heading = "Measuring")]
    pub resume: Option<String>,

    /// Do what is refused for safety
    #[arg(long, help_heading = "Safety")]
    pub yes: bool,

    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,

    /// Show no progress, only the result
    #[arg(long, short = 'q')]
    pub quiet: bool,
}

/// What to do with kernel arguments
#[derive(Debug, Subcommand)]
pub enum BootAction {
    /// Show the arguments of a profile, which are missing, and which file they would go into
    Plan {
        /// The profile
        #[command(flatten)]
        wish: BootWish,

        /// Print it as JSON
        #[arg(long)]
        json: bool,
    },
    /// Add them to the boot loader, after asking; existing entries are left alone
    Apply {
        /// The profile
        #[command(flatten)]
        wish: BootWish,

        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
    /// Remove them from the boot loader
    Revert {
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
}

/// The profile with the kernel arguments
#[derive(Args, Clone, Debug, Default)]
pub struct BootWish {
    /// A built-in profile, or a TOML file [default: isolate]
    #[arg(value_name = "PROFILE")]
    pub profile: Option<String>,

    /// CPUs for real-time work, instead of the profile's
    #[arg(long, short = 'c', visible_alias = "isolate", value_name = "LIST")]
    pub cpus: Option<CpuSet>,
}

/// A profile, and changes to it
#[derive(Args, Clone, Debug, Default)]
pub struct WishArgs {
    /// A built-in profile (latency, isolate, raju, throughput), or a TOML file [default: latency; isolate with --isolate; none with --set]
    #[arg(value_name = "PROFILE")]
    pub profile: Option<String>,

    /// Reserve these CPUs for real-time work and move everything else to the others: profile isolate
    #[arg(
        long,
        value_name = "LIST",
        help_heading = "Settings",
        conflicts_with = "cpus"
    )]
    pub isolate: Option<CpuSet>,

    /// CPUs for real-time work, instead of the profile's
    #[arg(long, short = 'c', value_name = "LIST", help_heading = "Settings")]
    pub cpus: Option<CpuSet>,

    /// Set one more knob, such as vm.swappiness=10 or cpufreq.governor@2-3=performance (can be repeated)
    #[arg(long, value_name = "KNOB=VALUE", help_heading = "Settings")]
    pub set: Vec<String>,

    /// Use only these knobs of the profile, such as irq or vm.* (can be repeated)
    #[arg(long, value_name = "KNOB", help_heading = "Settings")]
    pub only: Vec<String>,

    /// Skip these knobs of the profile (can be repeated)
    #[arg(long, value_name = "KNOB", help_heading = "Settings")]
    pub skip: Vec<String>,
}

/// Tuning for the time of a measurement
#[derive(Args, Clone, Debug, Default)]
pub struct MeasureTuning {
    /// Tune the machine with this profile, and restore it after the measurement: see `punctual tune`
    #[arg(
        long,
        global = true,
        value_name = "PROFILE",
        help_heading = "Tuning (as root)"
    )]
    pub tune: Option<String>,

    /// Measure in a virtual machine: guest:KERNEL[,virtual-time][,append=ARGS][,model=MODEL]
    /// (see `punctual kernel --help`)
    #[arg(
        long,
        global = true,
        value_name = "TARGET",
        conflicts_with_all = ["tune", "set", "isolate"],
        help_heading = "Target"
    )]
    pub target: Option<GuestTarget>,

    /// Set one knob for the measurement, such as vm.swappiness=10 (can be repeated)
    #[arg(
        long,
        global = true,
        value_name = "KNOB=VALUE",
        help_heading = "Tuning (as root)"
    )]
    pub set: Vec<String>,

    /// Move everything else off these CPUs, and measure them unless --cpus names others
    #[arg(
        long,
        global = true,
        value_name = "LIST",
        help_heading = "Tuning (as root)"
    )]
    pub isolate: Option<CpuSet>,
}

/// What to insist on
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct CareArgs {
    /// Do what is refused for safety
    #[arg(long, help_heading = "Safety")]
    pub yes: bool,

    /// All settings or none: if one fails, restore the others
    #[arg(long, help_heading = "Safety")]
    pub atomic: bool,
}

/// Options of the process that keeps watch
#[derive(Args, Debug)]
pub struct KeepArgs {
    /// The session
    #[arg(long, value_name = "ID")]
    pub session: String,

    /// Revert after this time
    #[arg(long = "for", value_name = "TIME")]
    pub duration: Option<Nanos>,

    /// Hold this limit on idle-state exit latency
    #[arg(long, value_name = "TIME")]
    pub hold: Option<Nanos>,

    /// CPUs to run on
    #[arg(long, value_name = "LIST")]
    pub cpus: Option<CpuSet>,
}
