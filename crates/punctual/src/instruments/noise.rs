// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual measure noise`: its options, and what they mean.

use std::path::Path;

use clap::Args;
use punctual_measure::duty::Duty;
use punctual_measure::noise::{self, Noise};
use punctual_model::Nanos;

use super::request::{self, Measured, Request};
use crate::cli::{CommonArgs, SampleArgs, at_least, own};
use crate::error::CliError;
use crate::exit::Exit;

/// Options of `measure noise`
#[derive(Args, Debug)]
#[command(mut_args(own("noise", &[("priority", "o", None)])))]
pub struct NoiseArgs {
    /// Shortest time between two reads of the counter that counts as a gap
    #[arg(
        long,
        value_name = "TIME",
        allow_hyphen_values = true,
        default_value = "1us",
        help_heading = "Sampling"
    )]
    pub threshold: Nanos,

    /// Share of each period that is watched [default: 100%, for real-time policies 75%, which their
    /// budget allows]
    #[arg(long, value_name = "PERCENT", help_heading = "Sampling")]
    pub duty: Option<Duty>,

    /// Length of the period
    #[arg(
        long,
        value_name = "TIME",
        allow_hyphen_values = true,
        default_value = "1s",
        help_heading = "Sampling"
    )]
    pub period: Nanos,

    /// How long, and what is kept of samples
    #[command(flatten)]
    pub sampling: SampleArgs,

    /// What all instruments share
    #[command(flatten)]
    pub common: CommonArgs,
}

/// Measures the gaps as `args` say.
pub(crate) fn run(home: Option<&Path>, args: &NoiseArgs) -> Result<Exit, CliError> {
    let noise = plan(args)?;
    let asked = Request::of("noise")
        .on(Measured::AllButFirst)
        .samples(&args.sampling)
        .option("threshold", noise.threshold)
        .option("duty", noise.duty);
    let asked = match noise.duty.is_full() {
        true => asked,
        false => asked.option("period", noise.period),
    };
    request::run(home, &args.common, asked, |frame| noise::run(noise, frame))
}

/// Returns what the options mean.
fn plan(args: &NoiseArgs) -> Result<Noise, CliError> {
    at_least("--threshold", args.threshold, Nanos::new(1))?;
    at_least("--period", args.period, Nanos::from_millis(1))?;
    at_least("--duration", args.sampling.duration, Nanos::from_millis(10))?;
    // Four fifths of the usual budget, of 95 %: so much cannot be throttled.
    let duty = args
        .duty
        .unwrap_or_else(|| match args.common.priority.is_real_time() {
            true => Duty::THREE_QUARTERS,
            false => Duty::FULL,
        });
    Ok(Noise {
        threshold: args.threshold,
        duty,
        period: args.period,
    })
}
