// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Options of `measure`: those of the wake-up instrument, and those that all others share.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::builder::{OsStringValueParser, TypedValueParser as _};
use clap::{Args, Subcommand, ValueEnum};
use punctual_measure::deadline::Due;
use punctual_measure::duty::Duty;
use punctual_model::{Clock, CpuSet, Nanos, Pin, Policy, TimerKind};
use punctual_stats::PrecisionTarget;
use punctual_stats::requirement::Requirement;

use super::ipc::IpcArgs;
use super::irq::IrqArgs;
use super::pi::PiArgs;
use super::{DmaLatency, IoArgs, LinpackArgs, LoadOptions, MemoryArgs, Switch, Tag, label, one_of};

/// What makes samples
#[derive(Debug, Subcommand)]
pub enum Instrument {
    /// Measure how late threads wake up that sleep to a deadline
    Wakeup(Box<WakeupArgs>),
    /// Measure the timer's interrupt latency apart from the thread's: the phases of each wake-up
    Irq(Box<IrqArgs>),
    /// Measure how long it takes to wake another thread: futex, pipe, eventfd, message queue, ...
    Ipc(Box<IpcArgs>),
    /// Show priority inversion: how long an urgent thread waits for a lock, with and without a protocol
    Pi(Box<PiArgs>),
    /// Measure how exactly a thread can begin a cycle that spins the last stretch, and what that costs
    Release(Box<ReleaseArgs>),
    /// Measure how fast systems of linear equations are solved: GFLOPS against their size
    Linpack(Box<LinpackArgs>),
    /// Measure how fast memory is copied, streamed and reached, for every pair of CPU node and memory node
    Memory(Box<MemoryArgs>),
    /// Measure storage with fio: throughput, completion latency, and how far repeats differ
    Io(Box<IoArgs>),
    /// Measure which iterations of a computing real-time thread miss their deadline, and who took the time
    Deadline(Box<DeadlineArgs>),
    /// Measure the gaps in the time of a CPU that a busy loop sees, and what the kernel counts beside them
    Noise(Box<NoiseArgs>),
}

impl Instrument {
    /// Returns the CPUs that were named to be measured.
    pub(crate) const fn cpus(&self) -> Option<&CpuSet> {
        self.common().cpus.as_ref()
    }

    /// Returns its name.
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Wakeup(_) => "wakeup",
            Self::Irq(_) => "irq",
            Self::Release(_) => "release",
            Self::Linpack(_) => "linpack",
            Self::Memory(_) => "memory",
            Self::Io(_) => "io",
            Self::Deadline(_) => "deadline",
            Self::Ipc(_) => "ipc",
            Self::Pi(_) => "pi",
            Self::Noise(_) => "noise",
        }
    }

    /// Returns where metrics of the run that goes on are wanted.
    pub(crate) const fn metrics(&self) -> &MetricsArgs {
        &self.common().metrics
    }

    /// Measures `cpus` where none were named.
    pub(crate) fn or_on(&mut self, cpus: &CpuSet) {
        let common = match self {
            Self::Wakeup(args) => &mut args.common,
            Self::Irq(args) => &mut args.common,
            Self::Release(args) => &mut args.common,
            Self::Linpack(args) => &mut args.common,
            Self::Memory(args) => &mut args.common,
            Self::Io(args) => &mut args.common,
            Self::Deadline(args) => &mut args.common,
            Self::Ipc(args) => &mut args.common,
            Self::Pi(args) => &mut args.common,
            Self::Noise(args) => &mut args.common,
        };
        common.cpus.get_or_insert_with(|| cpus.clone());
    }

    const fn common(&self) -> &CommonArgs {
        match self {
            Self::Wakeup(args) => &args.common,
            Self::Irq(args) => &args.common,
            Self::Release(args) => &args.common,
            Self::Linpack(args) => &args.common,
            Self::Memory(args) => &args.common,
            Self::Io(args) => &args.common,
            Self::Deadline(args) => &args.common,
            Self::Ipc(args) => &args.common,
            Self::Pi(args) => &args.common,
            Self::Noise(args) => &args.common,
        }
    }
}

/// Options of `measure wakeup`
#[derive(Args, Debug)]
pub struct WakeupArgs {
    /// Number of measuring threads [default: one for each CPU]
    #[arg(long, short = 't', value_name = "N", help_heading = "Threads",
          value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub threads: Option<u32>,

    /// How threads are bound: each to one CPU of the set, all to the set, or none at all
    #[arg(long, value_name = "HOW", default_value = "each", help_heading = "Threads",
          value_parser = one_of(Pin::ALL, Pin::name))]
    pub pin: Pin,

    /// Scheduling policy: f:PRIO (FIFO), r:PRIO (round robin), o[:NICE], b, i, d:RUNTIME:PERIOD
    #[arg(
        long,
        short = 'p',
        value_name = "POLICY",
        default_value = "f:80",
        help_heading = "Threads"
    )]
    pub priority: Policy,

    /// Give each further thread a priority lower by one
    #[arg(long, help_heading = "Threads")]
    pub priority_spread: bool,

    /// Time between the deadlines of a thread
    #[arg(
        long,
        short = 'i',
        value_name = "TIME",
        allow_hyphen_values = true,
        default_value = "1ms",
        help_heading = "Sampling"
    )]
    pub interval: Nanos,

    /// What each further thread's interval is longer by
    #[arg(
        long,
        short = 'd',
        value_name = "TIME",
        allow_hyphen_values = true,
        default_value = "0",
        help_heading = "Sampling"
    )]
    pub distance: Nanos,

    /// What the threads sleep with; `relative` sleeps for a span, all others to a deadline
    #[arg(long, value_name = "KIND", default_value = "nanosleep", help_heading = "Sampling",
          value_parser = one_of(TimerKind::ALL, TimerKind::name))]
    pub timer: TimerKind,

    /// Clock of the deadlines and time stamps
    #[arg(long, value_name = "CLOCK", default_value = "monotonic", help_heading = "Sampling",
          value_parser = one_of(Clock::ALL, Clock::name))]
    pub clock: Clock,

    /// Store every sample, not only the figures
    #[arg(long, help_heading = "Sampling")]
    pub raw: bool,

    /// Measure for this time [default: 60s, or without limit when --samples is given]
    #[arg(
        long,
        short = 'D',
        value_name = "TIME",
        allow_hyphen_values = true,
        help_heading = "End"
    )]
    pub duration: Option<Nanos>,

    /// Take this many samples with each thread
    #[arg(long, short = 'n', value_name = "N", help_heading = "End",
          value_parser = clap::value_parser!(u64).range(1..))]
    pub samples: Option<u64>,

    /// Do not record the first TIME; its samples are counted and shown
    #[arg(
        long,
        value_name = "TIME",
        allow_hyphen_values = true,
        default_value = "0",
        help_heading = "End"
    )]
    pub warm_up: Nanos,

    /// End as soon as a figure is this precise, such as p99:2% or mean:0.005us@99% (can be repeated)
    #[arg(long, value_name = "FIGURE:WIDTH", help_heading = "End")]
    pub until: Vec<PrecisionTarget>,

    /// End at a sample above TIME, keep the samples around it, exit 3
    #[arg(
        long,
        value_name = "TIME",
        allow_hyphen_values = true,
        help_heading = "End"
    )]
    pub on_threshold: Option<Nanos>,

    /// Count the samples later than TIME exactly, and exit 3 if there are any (can be repeated)
    #[arg(
        long,
        value_name = "TIME",
        allow_hyphen_values = true,
        help_heading = "End"
    )]
    pub deadline: Vec<Nanos>,

    /// What all instruments share
    #[command(flatten)]
    pub common: CommonArgs,
}

/// Options that all instruments have
#[derive(Args, Clone, Debug)]
pub struct CommonArgs {
    /// CPUs to measure [default: all that are online and allowed; for deadline the first of them, for
    /// noise all others]
    #[arg(long, short = 'c', value_name = "LIST", help_heading = "Threads")]
    pub cpus: Option<CpuSet>,

    /// Idle states may take this long to leave; 0us as cyclictest does, or off
    /// [default: 0us for latencies, off for throughput]
    #[arg(
        long,
        value_name = "TIME|off",
        allow_hyphen_values = true,
        help_heading = "System"
    )]
    pub dma_latency: Option<DmaLatency>,

    /// Lock the memory of the process [default: on for latencies, off for throughput]
    #[arg(long, value_name = "on|off", help_heading = "System")]
    pub mlock: Option<Switch>,

    /// CPUs of all that is not a measuring thread [default: those not measured, if there are any]
    #[arg(long, value_name = "LIST", help_heading = "System")]
    pub housekeeping: Option<CpuSet>,

    /// Keep this of the samples too: `psquare` estimates quantiles in constant memory, without a bound on the
    /// error, and takes several times as long as all other statistics (can be repeated)
    #[arg(long, value_name = "KIND", help_heading = "Sampling")]
    pub statistics: Vec<ExtraStatistic>,

    /// Say whether this is met, such as 'p99.99 <= 50us' or 'no sample > 100us at 95%', and exit 3
    /// unless it is shown (can be repeated)
    #[arg(long, value_name = "REQUIREMENT", help_heading = "End")]
    pub require: Vec<Requirement>,

    /// How long a burst of misses may last, which no run can tell that saw none: requirements count time
    /// by it, not samples [default: 100ms]
    #[arg(long, value_name = "TIME", requires = "require", help_heading = "End")]
    pub burst: Option<Nanos>,

    /// Loads beside the measurement
    #[command(flatten)]
    pub loads: LoadOptions,

    /// Name of the run, for `punctual runs`
    #[arg(long, value_name = "TEXT", help_heading = "Output", value_parser = label)]
    pub name: Option<String>,

    /// Remark kept with the run
    #[arg(long, value_name = "TEXT", help_heading = "Output", value_parser = label)]
    pub note: Option<String>,

    /// Tag of the run, by which `compare` groups (can be repeated)
    #[arg(long, value_name = "KEY=VALUE", help_heading = "Output")]
    pub tag: Vec<Tag>,

    /// Print the run record as JSON instead of the summary
    #[arg(long, help_heading = "Output")]
    pub json: bool,

    /// The run for Prometheus while it goes on
    #[command(flatten)]
    pub metrics: MetricsArgs,

    /// Show no progress, only the result
    #[arg(long, short = 'q', help_heading = "Output")]
    pub quiet: bool,
}

impl CommonArgs {
    /// Whether quantiles are estimated by P-square too.
    pub(crate) fn psquare(&self) -> bool {
        self.statistics.contains(&ExtraStatistic::Psquare)
    }
}

/// A statistic that is kept only where it is asked for
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum ExtraStatistic {
    /// Quantiles after Jain and Chlamtac, beside those of the histogram
    Psquare,
}

/// Metrics of a run that goes on
#[derive(Args, Clone, Debug, Default)]
pub struct MetricsArgs {
    /// Answer http://ADDRESS/metrics in OpenMetrics while the run goes on, such as 127.0.0.1:9464;
    /// an address that other machines reach needs a token
    #[arg(long, value_name = "ADDRESS", help_heading = "Output")]
    pub metrics: Option<SocketAddr>,

    /// Answer only who has the token in this file [default: that in PUNCTUAL_TOKEN, if it is set]
    #[arg(long, value_name = "FILE", requires = "metrics", help_heading = "Output",
          value_parser = OsStringValueParser::new().map(PathBuf::from))]
    pub metrics_token_file: Option<PathBuf>,
}

/// Options of `measure release`
#[derive(Args, Debug)]
pub struct ReleaseArgs {
    /// Time between deadlines
    #[arg(
        long,
        short = 'i',
        value_name = "TIME",
        allow_hyphen_values = true,
        default_value = "1ms",
        help_heading = "Sampling"
    )]
    pub interval: Nanos,

    /// Ask to be woken this long before a deadline, and spin for what is left
    #[arg(
        long,
        value_name = "TIME",
        allow_hyphen_values = true,
        default_value = "40us",
        help_heading = "Sampling"
    )]
    pub spin: Nanos,

    /// Scheduling policy: f:PRIO (FIFO), r:PRIO (round robin), o[:NICE], b, i, d:RUNTIME:PERIOD
    #[arg(
        long,
        short = 'p',
        value_name = "POLICY",
        default_value = "f:80",
        help_heading = "Threads"
    )]
    pub priority: Policy,

    /// Measure for this time
    #[arg(
        long,
        short = 'D',
        value_name = "TIME",
        allow_hyphen_values = true,
        default_value = "10s",
        help_heading = "End"
    )]
    pub duration: Nanos,

    /// What all instruments share
    #[command(flatten)]
    pub common: CommonArgs,
}

/// Options of `measure deadline`
#[derive(Args, Debug)]
pub struct DeadlineArgs {
    /// Number of measuring threads
    #[arg(long, short = 't', value_name = "N", default_value = "1", help_heading = "Threads",
          value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: u32,

    /// How threads are bound: each to one CPU of the set, all to the set, or none at all
    #[arg(long, value_name = "HOW", default_value = "each", help_heading = "Threads",
          value_parser = one_of(Pin::ALL, Pin::name))]
    pub pin: Pin,

    /// Scheduling policy: f:PRIO (FIFO), r:PRIO (round robin), o[:NICE], b, i, d:RUNTIME:PERIOD
    #[arg(
        long,
        short = 'p',
        value_name = "POLICY",
        default_value = "f:99",
        help_heading = "Threads"
    )]
    pub priority: Policy,

    /// Length of an undisturbed iteration; calibrated [default: 10ms]
    #[arg(
        long,
        value_name = "TIME",
        allow_hyphen_values = true,
        conflicts_with = "additions",
        help_heading = "Work"
    )]
    pub iteration: Option<Nanos>,

    /// Additions in an iteration, instead of a length; Raju and Govindarajulu took 900000000
    #[arg(long, value_name = "N", help_heading = "Work",
          value_parser = clap::value_parser!(u64).range(1..=100_000_000_000))]
    pub additions: Option<u64>,

    /// Deadline of an iteration after its release: a time, and exit 3 if it is missed, or auto:FACTOR
    /// times an undisturbed iteration, whose misses are only counted
    #[arg(
        long,
        value_name = "TIME|auto:FACTOR",
        default_value = "auto:1.05",
        help_heading = "Work"
    )]
    pub deadline: Due,

    /// Time between the releases of a thread, which sleeps in between [default: each iteration follows the one
    /// before]
    #[arg(
        long,
        short = 'i',
        value_name = "TIME",
        allow_hyphen_values = true,
        conflicts_with = "duty",
        help_heading = "Work"
    )]
    pub interval: Option<Nanos>,

    /// The same by the part of the time that is worked: 80% of --iteration 800us is --interval 1ms; with
    /// --additions it follows the calibration
    #[arg(
        long,
        value_name = "PERCENT",
        default_value = "100%",
        help_heading = "Work"
    )]
    pub duty: Duty,

    /// Measure for this time, after calibrating
    #[arg(
        long,
        short = 'D',
        value_name = "TIME",
        allow_hyphen_values = true,
        default_value = "10s",
        help_heading = "End"
    )]
    pub duration: Nanos,

    /// What all instruments share
    #[command(flatten)]
    pub common: CommonArgs,
}

/// Options of `measure noise`
#[derive(Args, Debug)]
pub struct NoiseArgs {
    /// Scheduling policy: f:PRIO (FIFO), r:PRIO (round robin), o[:NICE], b, i, d:RUNTIME:PERIOD
    #[arg(
        long,
        short = 'p',
        value_name = "POLICY",
        default_value = "o",
        help_heading = "Threads"
    )]
    pub priority: Policy,

    /// What is longer between two readings of the counter is a gap
    #[arg(
        long,
        value_name = "TIME",
        allow_hyphen_values = true,
        default_value = "1us",
        help_heading = "Sampling"
    )]
    pub threshold: Nanos,

    /// Part of each period that is watched [default: 100%, for real-time policies 75%, which their
    /// budget allows]
    #[arg(long, value_name = "PERCENT", help_heading = "Sampling")]
    pub duty: Option<Duty>,

    /// The period of which a part is watched
    #[arg(
        long,
        value_name = "TIME",
        allow_hyphen_values = true,
        default_value = "1s",
        help_heading = "Sampling"
    )]
    pub period: Nanos,

    /// Measure for this time
    #[arg(
        long,
        short = 'D',
        value_name = "TIME",
        allow_hyphen_values = true,
        default_value = "10s",
        help_heading = "End"
    )]
    pub duration: Nanos,

    /// What all instruments share
    #[command(flatten)]
    pub common: CommonArgs,
}
