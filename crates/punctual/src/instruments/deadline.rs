// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual measure deadline`: its options, and what they mean.

use std::path::Path;

use clap::Args;
use punctual_measure::deadline::{self, Deadline, Due, Work};
use punctual_measure::duty::Duty;
use punctual_model::{Nanos, Pin};

use super::request::{self, Measured, Request};
use crate::cli::{CommonArgs, SampleArgs, holds, one_of, own};
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::remark;

/// Options of `measure deadline`
#[derive(Args, Debug)]
#[command(mut_args(own("deadline", &[("priority", "f:99", None), ("duration", "10s", Some("Measure for this time, after calibrating"))])))]
pub struct DeadlineArgs {
    /// Number of measuring threads
    #[arg(long, short = 't', value_name = "N", default_value = "1", help_heading = "Threads",
          value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: u32,

    /// How threads are bound: each to one CPU of the set, all to the whole set, or not at all
    #[arg(long, value_name = "HOW", default_value = "each", help_heading = "Threads",
          value_parser = one_of(Pin::ALL, Pin::name))]
    pub pin: Pin,

    /// Length of an undisturbed iteration; calibrated [default: 10ms]
    #[arg(
        long,
        value_name = "TIME",
        allow_hyphen_values = true,
        conflicts_with = "additions",
        help_heading = "Work"
    )]
    pub iteration: Option<Nanos>,

    /// Additions in an iteration, instead of a length; Raju and Govindarajulu used 900000000
    #[arg(long, value_name = "N", help_heading = "Work",
          value_parser = clap::value_parser!(u64).range(1..=100_000_000_000))]
    pub additions: Option<u64>,

    /// Deadline of an iteration after its release: a time (exit 3 if missed), or auto:FACTOR
    /// times an undisturbed iteration (misses are only counted)
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

    /// The interval as the share of time spent computing: 80% with --iteration 800us is --interval 1ms;
    /// with --additions it follows from the calibration
    #[arg(
        long,
        value_name = "PERCENT",
        default_value = "100%",
        help_heading = "Work"
    )]
    pub duty: Duty,

    /// How long, and what is kept of samples
    #[command(flatten)]
    pub sampling: SampleArgs,

    /// What all instruments share
    #[command(flatten)]
    pub common: CommonArgs,
}

/// Length of an iteration when nothing is said: many of them in a stall of the kernel's own.
const ITERATION: Nanos = Nanos::from_millis(10);

/// Below this the reading of the clock is no small part of an iteration any more.
const SHORTEST: Nanos = Nanos::from_micros(10);

/// Measures deadline misses as `args` say.
pub(crate) fn run(home: Option<&Path>, args: &DeadlineArgs) -> Result<Exit, CliError> {
    let deadline = plan(args)?;
    let asked = Request::of("deadline")
        .on(match args.pin {
            Pin::Each => Measured::First(args.threads),
            Pin::Set | Pin::None => Measured::All,
        })
        .samples(&args.sampling)
        .option("threads", args.threads)
        .option("pin", args.pin)
        .option("deadline", args.deadline);
    let asked = match args.interval {
        Some(_) => asked,
        None => asked.option("duty", args.duty),
    };
    let asked = match deadline.asked_interval() {
        Some(interval) => asked.option("interval", interval),
        None => asked,
    };
    let asked = match deadline.work {
        Work::Additions(additions) => asked.option("additions", additions),
        Work::Time(time) => asked.option("iteration", time),
    };
    request::run(home, &args.common, asked, |frame| {
        deadline::run(deadline, frame)
    })
}

/// Returns what the options mean.
fn plan(args: &DeadlineArgs) -> Result<Deadline, CliError> {
    let work = match args.additions {
        Some(additions) => Work::Additions(additions),
        None => Work::Time(args.iteration.unwrap_or(ITERATION)),
    };
    if let Work::Time(time) = work {
        if time < SHORTEST {
            return Err(CliError::usage(format!(
                "--iteration {time}: must be at least 10us, or the cost of reading the clock matters"
            )));
        }
        holds(args.sampling.duration, "--iteration", time)?;
        check_interval(args, time)?;
        check_deadline(args, time)?;
    }
    if let Some(interval) = args.interval {
        holds(args.sampling.duration, "--interval", interval)?;
    }
    if let (Pin::None, Some(cpus)) = (args.pin, &args.common.cpus) {
        return Err(CliError::usage(format!(
            "--cpus {cpus}: not applicable with --pin none, which lets the threads run everywhere"
        ))
        .hint("--pin set binds all threads to the whole set"));
    }
    Ok(Deadline {
        threads: args.threads,
        pin: args.pin,
        work,
        due: args.deadline,
        interval: args.interval,
        duty: args.duty,
    })
}

/// Refuses an interval that the work does not fit in.
fn check_interval(args: &DeadlineArgs, work: Nanos) -> Result<(), CliError> {
    match args.interval {
        Some(interval) if interval <= work => Err(CliError::usage(format!(
            "--interval {interval}: must be longer than the work of an iteration, {}",
            worked(args, work)
        ))
        .hint("shorten the work with --iteration, or leave out --interval: then each iteration starts when the last \
               one ends")),
        _ => Ok(()),
    }
}

/// Refuses a deadline that the default work cannot meet; of a work that was asked for it is only remarked.
fn check_deadline(args: &DeadlineArgs, work: Nanos) -> Result<(), CliError> {
    match args.deadline {
        Due::Time(deadline) if deadline < work && args.iteration.is_none() => {
            Err(CliError::usage(format!(
                "--deadline {deadline}: shorter than the work of an iteration, {}, so every one would be late",
                worked(args, work)
            ))
            .hint("state how long your loop computes, such as --iteration 500us, and how often, such as --interval \
                   1ms"))
        }
        Due::Time(deadline) if deadline < work => {
            remark(&format!(
                "Warning: --deadline {deadline} is shorter than --iteration {work}, so every iteration will be late."
            ));
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Says how long the work is, and if nobody asked for it.
fn worked(args: &DeadlineArgs, work: Nanos) -> String {
    match args.iteration {
        Some(_) => format!("--iteration {work}"),
        None => format!("{work} by default (--iteration)"),
    }
}
