// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual measure irq`: its options, and what they mean.

use std::path::Path;

use clap::{Args, ValueEnum};
use punctual_measure::irq::{self, Irq, Source};
use punctual_model::{Nanos, Policy};

use super::asked::{self, Asked};
use crate::cli::{CommonArgs, StatisticsArgs};
use crate::error::CliError;
use crate::exit::Exit;

/// Options of `measure irq`
#[derive(Args, Debug)]
pub struct IrqArgs {
    /// Method: the timerlat tracer, or Punctual's own threads and trace events
    #[arg(
        long,
        value_name = "SOURCE",
        value_enum,
        default_value = "auto",
        help_heading = "Sampling"
    )]
    pub source: IrqSource,

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

    /// Scheduling policy: f:PRIO (FIFO), r:PRIO (round robin), o[:NICE], b, i, d:RUNTIME:PERIOD
    #[arg(
        long,
        short = 'p',
        value_name = "POLICY",
        default_value = "f:80",
        help_heading = "Threads"
    )]
    pub priority: Policy,

    /// Measure for this time, half of it without tracing
    #[arg(
        long,
        short = 'D',
        value_name = "TIME",
        allow_hyphen_values = true,
        default_value = "20s",
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

/// What measures interrupt latency
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum IrqSource {
    /// The timerlat tracer if the kernel has it, else trace events
    Auto,
    /// The kernel's timerlat tracer
    Timerlat,
    /// Punctual's own threads, and the kernel's trace events of their wake-ups
    Events,
}

/// Measures interrupt latency apart from thread latency as `args` say.
pub(crate) fn run(home: Option<&Path>, args: &IrqArgs) -> Result<Exit, CliError> {
    if args.interval < Nanos::from_micros(10) {
        return Err(CliError::usage(format!(
            "--interval {}: must be at least 10us",
            args.interval
        )));
    }
    let asked = Asked::of("irq", args.priority)
        .samples(args.duration, &args.statistics)
        .option("interval", args.interval);
    let irq = Irq {
        interval: args.interval,
        source: match args.source {
            IrqSource::Auto => Source::Auto,
            IrqSource::Timerlat => Source::Timerlat,
            IrqSource::Events => Source::Events,
        },
    };
    asked::run(home, &args.common, asked, |frame| irq::run(irq, frame))
}
