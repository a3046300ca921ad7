// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual measure pi`: its options, and what they mean.

use std::path::Path;

use clap::Args;
use punctual_measure::pi::{self, Pi, Protocol};
use punctual_model::Nanos;

use super::request::{self, Measured, Request};
use crate::cli::{CommonArgs, IntervalArgs, SampleArgs, one_of, own};
use crate::error::CliError;
use crate::exit::Exit;

/// Options of `measure pi`
#[derive(Args, Debug)]
#[command(mut_args(own("pi", &[
    ("interval", "100ms", Some("Time between the beginnings of cycles")),
    ("priority", "f:80", Some("FIFO priority of the high-priority thread; the others have the two below: f:3 to f:99")),
    ("duration", "30s", None),
])))]
pub struct PiArgs {
    /// Protocols of the lock, comma-separated [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = "Sampling",
          value_parser = one_of(Protocol::ALL, Protocol::name))]
    pub protocol: Vec<Protocol>,

    /// How often
    #[command(flatten)]
    pub pace: IntervalArgs,

    /// How long the low-priority thread works while it holds the lock
    #[arg(
        long,
        value_name = "TIME",
        allow_hyphen_values = true,
        default_value = "2ms",
        help_heading = "Sampling"
    )]
    pub hold: Nanos,

    /// How long the medium-priority thread works; half of it in every second cycle
    #[arg(
        long,
        value_name = "TIME",
        allow_hyphen_values = true,
        default_value = "20ms",
        help_heading = "Sampling"
    )]
    pub spin: Nanos,

    /// How long, and what is kept of samples
    #[command(flatten)]
    pub sampling: SampleArgs,

    /// What all instruments share
    #[command(flatten)]
    pub common: CommonArgs,
}

/// A throttled CPU rests for 50 ms by default: a longer wait would look like that.
const LONGEST: Nanos = Nanos::from_millis(30);

/// Shows priority inversion, and what protocols do about it, as `args` say.
pub(crate) fn run(home: Option<&Path>, args: &PiArgs) -> Result<Exit, CliError> {
    check(args)?;
    let pi = Pi {
        protocols: Protocol::ALL
            .iter()
            .filter(|p| args.protocol.is_empty() || args.protocol.contains(p))
            .copied()
            .collect(),
        insist: !args.protocol.is_empty(),
        interval: args.pace.interval,
        hold: args.hold,
        spin: args.spin,
    };
    let protocols: Vec<&str> = pi.protocols.iter().map(|p| p.name()).collect();
    let asked = Request::of("pi")
        .on(Measured::First(1))
        .samples(&args.sampling)
        .option("interval", args.pace.interval)
        .option("hold", args.hold)
        .option("spin", args.spin)
        .option("protocol", protocols.join(","));
    request::run(home, &args.common, asked, |frame| pi::run(&pi, frame))
        .map_err(CliError::real_time_only)
}

/// Refuses what would show nothing, or would not leave the CPU to others.
fn check(args: &PiArgs) -> Result<(), CliError> {
    if Pi::priorities(args.common.priority).is_none() {
        return Err(CliError::usage(format!(
            "--priority {}: must be f:3 to f:99: the three FIFO threads have consecutive priorities",
            args.common.priority
        )));
    }
    if let Some(cpus) = args.common.cpus.as_ref().filter(|cpus| cpus.len() != 1) {
        return Err(CliError::usage(format!(
            "--cpus {cpus}: must be one CPU, on which all three threads run"
        )));
    }
    let least = Nanos::from_micros(100);
    for (option, value) in [("--hold", args.hold), ("--spin", args.spin)] {
        if value < least || value > LONGEST {
            return Err(CliError::usage(format!(
                "{option} {value}: must be 100us to {LONGEST}"
            )));
        }
    }
    // Both lengths of the work in between, with each protocol, once.
    let kinds = 2 * if args.protocol.is_empty() {
        3
    } else {
        args.protocol.len() as u64
    };
    if args.sampling.duration.get() / args.pace.interval.get().max(1) < kinds {
        return Err(CliError::usage(format!(
            "--duration {}: too short for the {kinds} kinds of cycles of --interval {}",
            args.sampling.duration, args.pace.interval
        )));
    }
    Ok(())
}
