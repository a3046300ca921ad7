// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Options that instruments share.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::builder::{OsStringValueParser, TypedValueParser as _};
use clap::{Args, ValueEnum};
use punctual_model::{CpuSet, Nanos};
use punctual_stats::requirement::Requirement;

use super::{DmaLatency, LoadOptions, Switch, Tag, label};

/// Options that all instruments have
#[derive(Args, Clone, Debug)]
pub struct CommonArgs {
    /// CPUs to measure [default: all online and allowed; for deadline the first of them, for
    /// noise all but the first]
    #[arg(long, short = 'c', value_name = "LIST", help_heading = "Threads")]
    pub cpus: Option<CpuSet>,

    /// Maximum idle-state exit latency, such as 0us as in cyclictest, or off
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

    /// Tag of the run, for grouping in `compare` (can be repeated)
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
          value_parser = OsStringValueParser::new().map(PathBuf::from))]
    pub metrics_token_file: Option<PathBuf>,
}
