// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual measure release`: its options, and what they mean.

use std::path::Path;

use clap::Args;
use punctual_measure::release::{self, Release};
use punctual_model::{Nanos, Policy};

use super::asked::{self, Asked};
use crate::cli::{CommonArgs, StatisticsArgs};
use crate::error::CliError;
use crate::exit::Exit;

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

    /// Wake up this long before a deadline, and spin until it
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

    /// What is kept of samples
    #[command(flatten)]
    pub statistics: StatisticsArgs,

    /// What all instruments share
    #[command(flatten)]
    pub common: CommonArgs,
}

/// Measures release accuracy as `args` say.
pub(crate) fn run(home: Option<&Path>, args: &ReleaseArgs) -> Result<Exit, CliError> {
    if args.interval < Nanos::from_micros(1) {
        return Err(CliError::usage(format!(
            "--interval {}: must be at least 1us",
            args.interval
        )));
    }
    if args.spin >= args.interval {
        return Err(CliError::usage(format!(
            "--spin {}: must be less than --interval {}, or the thread never sleeps",
            args.spin, args.interval
        )));
    }
    if args.duration < args.interval {
        return Err(CliError::usage(format!(
            "--duration {}: shorter than --interval {}, so there would be no sample",
            args.duration, args.interval
        )));
    }
    let asked = Asked::of("release", args.priority)
        .samples(args.duration, &args.statistics)
        .option("interval", args.interval)
        .option("spin", args.spin);
    let release = Release {
        interval: args.interval,
        spin: args.spin,
    };
    asked::run(home, &args.common, asked, |frame| {
        release::run(release, frame)
    })
}
