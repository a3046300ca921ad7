// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual measure irq`: its options, and what they mean.

use std::path::Path;

use clap::{Args, ValueEnum};
use punctual_measure::interrupts;
use punctual_measure::irq::{self, Irq, IrqMethod};
use punctual_measure::watch::LARGEST_BUFFER_KIB;
use punctual_model::{Nanos, Policy};

use super::request::{self, Request};
use crate::cli::{CommonArgs, IntervalArgs, SampleArgs, own};
use crate::error::CliError;
use crate::exit::Exit;

/// Options of `measure irq`
#[derive(Args, Debug)]
#[command(mut_args(own("irq", &[("duration", "20s", Some("Measure for this time, half of it without tracing"))])))]
pub struct IrqArgs {
    /// Measure these interrupts instead: handling time, soft interrupts, woken threads. A device, handler or number of
    /// /proc/interrupts, a kind of soft interrupt, or `all`
    #[arg(
        long,
        value_name = "NAME|N|all",
        value_delimiter = ',',
        conflicts_with_all = ["source", "interval"],
        help_heading = "Interrupts"
    )]
    pub irq: Vec<String>,

    /// With --irq: trace buffer of each CPU in KiB, where the run says that the kernel lost records [default: 8192, less on
    /// machines with more than 32 CPUs]
    #[arg(long, value_name = "KIB", requires = "irq", help_heading = "Interrupts",
          value_parser = clap::value_parser!(u32).range(64..=i64::from(LARGEST_BUFFER_KIB)))]
    pub buffer: Option<u32>,

    /// Method: the timerlat tracer, or Punctual's own threads and trace events
    #[arg(
        long,
        value_name = "SOURCE",
        value_enum,
        default_value = "auto",
        help_heading = "Sampling"
    )]
    pub source: IrqMethodArg,

    /// How often
    #[command(flatten)]
    pub pace: IntervalArgs,

    /// How long, and what is kept of samples
    #[command(flatten)]
    pub sampling: SampleArgs,

    /// What all instruments share
    #[command(flatten)]
    pub common: CommonArgs,
}

/// What measures interrupt latency
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum IrqMethodArg {
    /// The timerlat tracer if the kernel has it and it can do what is asked, else trace events
    Auto,
    /// The kernel's timerlat tracer
    Timerlat,
    /// Punctual's own threads, and the kernel's trace events of their wake-ups
    Events,
}

/// Measures interrupt latency apart from thread latency as `args` say.
pub(crate) fn run(home: Option<&Path>, args: &IrqArgs) -> Result<Exit, CliError> {
    if !args.irq.is_empty() {
        let asked = Request::of("interrupts")
            .samples(&args.sampling)
            .option("irq", args.irq.join(","));
        let asked = match args.buffer {
            Some(kib) => asked.option("buffer-kib", kib),
            None => asked,
        };
        // No thread of ours measures, so none has a policy.
        let common = CommonArgs {
            priority: Policy::Other { nice: 0 },
            ..args.common.clone()
        };
        return request::run(home, &common, asked, |frame| {
            interrupts::run(&args.irq, args.buffer, frame)
        });
    }
    if args.common.explain && args.source == IrqMethodArg::Events {
        let error = "--explain: irq records the kernel's events itself with --source events";
        return Err(CliError::usage(error));
    }
    args.pace.at_least(Nanos::from_micros(10))?;
    let asked = Request::of("irq")
        .samples(&args.sampling)
        .option("interval", args.pace.interval);
    let irq = Irq {
        interval: args.pace.interval,
        source: match args.source {
            IrqMethodArg::Auto => IrqMethod::Auto,
            IrqMethodArg::Timerlat => IrqMethod::Timerlat,
            IrqMethodArg::Events => IrqMethod::Events,
        },
        explain: args.common.explain,
    };
    // It is the tracer's threads that are watched, not ours.
    let common = CommonArgs {
        explain: false,
        ..args.common.clone()
    };
    request::run(home, &common, asked, |frame| irq::run(irq, frame))
}
