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
    /// Keep this of the samples too: `psquare` estimates quantiles in constant memory, without a bound on the
    /// error, and takes several times as long as all other statistics (can be repeated)
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
