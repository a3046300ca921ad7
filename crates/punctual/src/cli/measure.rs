// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Options that instruments share.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Arg, Args, ValueEnum};
use punctual_model::{CpuSet, Instrument, Makes, Nanos, ParsePolicyError, Policy};
use punctual_stats::requirement::Requirement;
use punctual_sys::sched;

use super::{DmaLatency, LoadOptions, Switch, Tag, label, path};
use crate::error::CliError;

/// The name of a shared option, its default for one instrument, and its help where that differs too.
type Own = (&'static str, &'static str, Option<&'static str>);

/// Makes shared options those of one instrument, as `#[command(mut_args(..))]` of its own options: those in `of`, and those
/// whose default follows from the instrument, which their help says.
pub(crate) fn own(instrument: &'static str, of: &'static [Own]) -> impl Fn(Arg) -> Arg {
    move |arg| {
        let arg = match default(instrument, arg.get_id().as_str()) {
            Some(default) => {
                let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
                arg.help(format!("{help} [default: {default}]"))
            }
            None => arg,
        };
        match of.iter().find(|(id, ..)| arg.get_id() == id) {
            Some((_, value, Some(help))) => arg.default_value(*value).help(*help),
            Some((_, value, None)) => arg.default_value(*value),
            None => arg,
        }
    }
}

/// What an option of all instruments is of this one if it is not given.
fn default(instrument: &str, option: &str) -> Option<&'static str> {
    let [held, locked] = match instrument {
        // Its threads measure timers; those of devices it only observes.
        "irq" => ["0us, off with --irq", "on, off with --irq"],
        _ => match Instrument::of(instrument).map(|of| of.makes) {
            Some(Makes::Latencies) => ["0us", "on"],
            _ => ["off", "off"],
        },
    };
    match (option, instrument) {
        ("dma_latency", _) => Some(held),
        ("mlock", _) => Some(locked),
        ("cpus", "deadline") => Some("one for each thread, from the first; all with --pin set"),
        ("cpus", "ipc") => Some("the first two online and allowed"),
        ("cpus", "noise") => Some("all online and allowed but the first"),
        ("cpus", "pi") => Some("the first online and allowed"),
        ("cpus", _) => Some("all online and allowed"),
        _ => None,
    }
}

/// Reads a policy. An ordinary thread whose niceness is not stated keeps that of who starts the program: a user could not
/// go below it, and it is recorded.
fn policy(text: &str) -> Result<Policy, ParsePolicyError> {
    let policy: Policy = text.parse()?;
    Ok(match policy {
        Policy::Other { .. } if !text.contains(':') => sched::ordinary(),
        stated => stated,
    })
}

/// The policy of an instrument of throughput, whose threads start others.
pub(crate) const RATES: Own = (
    "priority",
    "o",
    Some("Scheduling policy: f:PRIO (FIFO), r:PRIO (round robin), o[:NICE], b, i"),
);

/// The time between what is sampled
#[derive(Args, Clone, Debug)]
pub struct IntervalArgs {
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
}

impl IntervalArgs {
    /// Refuses a shorter interval than this.
    pub(crate) fn at_least(&self, least: Nanos) -> Result<(), CliError> {
        at_least("--interval", self.interval, least)
    }

    /// Refuses a duration without a sample.
    pub(crate) fn fits(&self, duration: Nanos) -> Result<(), CliError> {
        holds(duration, "--interval", self.interval)
    }
}

/// How long samples are taken, and what is kept of them
#[derive(Args, Clone, Debug)]
pub struct SampleArgs {
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

    /// What is kept of samples
    #[command(flatten)]
    pub statistics: StatisticsArgs,
}

/// Refuses `duration` in which there is no sample, as `option` says how long one takes.
pub(crate) fn holds(duration: Nanos, option: &str, length: Nanos) -> Result<(), CliError> {
    match duration < length {
        true => Err(CliError::usage(format!(
            "--duration {duration}: shorter than {option} {length}, so there would be no sample"
        ))),
        false => Ok(()),
    }
}

/// Refuses less than `least`.
pub(crate) fn at_least(option: &str, given: Nanos, least: Nanos) -> Result<(), CliError> {
    match given < least {
        true => {
            let least = least.to_string().replace(' ', "").replace('µ', "u");
            Err(CliError::usage(format!(
                "{option} {given}: must be at least {least}"
            )))
        }
        false => Ok(()),
    }
}

/// How often something is measured
#[derive(Args, Clone, Debug)]
pub struct RepeatArgs {
    /// Number of repetitions
    #[arg(long, value_name = "N", default_value = "5", help_heading = "End",
          value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub repeats: u32,
}

/// Options that all instruments have
#[derive(Args, Clone, Debug)]
pub struct CommonArgs {
    /// Scheduling policy: f:PRIO (FIFO), r:PRIO (round robin), o[:NICE] (ordinary, with the niceness of who starts it
    /// or this one), b, i, d:RUNTIME:PERIOD
    #[arg(
        long,
        short = 'p',
        value_name = "POLICY",
        default_value = "f:80",
        value_parser = policy,
        help_heading = "Threads"
    )]
    pub priority: Policy,

    /// CPUs to measure
    #[arg(long, short = 'c', value_name = "LIST", help_heading = "Threads")]
    pub cpus: Option<CpuSet>,

    /// Maximum idle-state exit latency, such as 0us as in cyclictest, or off
    #[arg(
        long,
        value_name = "TIME|off",
        allow_hyphen_values = true,
        help_heading = "System"
    )]
    pub dma_latency: Option<DmaLatency>,

    /// Lock the memory of the process
    #[arg(long, value_name = "on|off", help_heading = "System")]
    pub mlock: Option<Switch>,

    /// CPUs for everything but the measuring threads [default: those not measured, if any]
    #[arg(long, value_name = "LIST", help_heading = "System")]
    pub housekeeping: Option<CpuSet>,

    /// Check this requirement, such as 'p99.99 <= 50us' or 'no sample > 100us at 95%', and exit 3
    /// unless it is shown to hold (can be repeated)
    #[arg(long, value_name = "REQUIREMENT", help_heading = "End")]
    pub require: Vec<Requirement>,

    /// Longest burst of misses to assume if no miss was seen; requirements count
    /// bursts, not samples [default: 100ms]
    #[arg(long, value_name = "TIME", requires = "require", help_heading = "End")]
    pub burst: Option<Nanos>,

    /// Loads to run during the measurement
    #[command(flatten)]
    pub loads: LoadOptions,

    /// Name of the run, for `punctual runs`
    #[arg(long, value_name = "TEXT", help_heading = "Output", value_parser = label)]
    pub name: Option<String>,

    /// Remark kept with the run
    #[arg(long, value_name = "TEXT", help_heading = "Output", value_parser = label)]
    pub note: Option<String>,

    /// Tag of the run, for grouping in `compare` (can be repeated; of one key the last value counts)
    #[arg(long, value_name = "KEY=VALUE", help_heading = "Output")]
    pub tag: Vec<Tag>,

    /// Record the kernel's events too, and say who made the latest samples late; costs some µs a
    /// wake-up, needs root
    #[arg(long, help_heading = "Output")]
    pub explain: bool,

    /// Print the run record as JSON instead of the summary
    #[arg(long, help_heading = "Output")]
    pub json: bool,

    /// Metrics for Prometheus during the run
    #[command(flatten)]
    pub metrics: MetricsArgs,

    /// Show no progress, only the result
    #[arg(long, short = 'q', help_heading = "Output")]
    pub quiet: bool,
}

impl CommonArgs {
    /// Returns the bound of idle states, which an instrument of latencies has where nothing is said.
    pub(crate) fn bound(&self, latency: bool) -> Option<Nanos> {
        match self.dma_latency {
            Some(DmaLatency::Hold(bound)) => Some(bound),
            Some(DmaLatency::Off) => None,
            None => latency.then_some(Nanos::ZERO),
        }
    }
}

/// What is kept of samples
#[derive(Args, Clone, Debug)]
pub struct StatisticsArgs {
    /// Compute this statistic too: `psquare` estimates quantiles in constant memory, without an error
    /// bound, and costs several times as much as all other statistics (can be repeated)
    #[arg(long, value_name = "KIND", help_heading = "Sampling")]
    pub statistics: Vec<ExtraStatistic>,
}

impl StatisticsArgs {
    /// Whether quantiles are estimated by P-square too.
    pub(crate) fn psquare(&self) -> bool {
        self.statistics.contains(&ExtraStatistic::Psquare)
    }
}

/// A statistic that is kept only where it is asked for
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum ExtraStatistic {
    /// Quantiles after Jain and Chlamtac, in addition to those of the histogram
    Psquare,
}

/// Metrics during a run
#[derive(Args, Clone, Debug, Default)]
pub struct MetricsArgs {
    /// Serve OpenMetrics at http://ADDRESS/metrics during the run, such as 127.0.0.1:9464;
    /// an address reachable from other machines needs a token
    #[arg(long, value_name = "ADDRESS", help_heading = "Output")]
    pub metrics: Option<SocketAddr>,

    /// Require the token in this file [default: the one in PUNCTUAL_TOKEN, if set]
    #[arg(long, value_name = "FILE", requires = "metrics", help_heading = "Output",
          value_parser = path())]
    pub metrics_token_file: Option<PathBuf>,
}
