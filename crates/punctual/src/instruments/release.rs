// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual measure release`: its options, and what they mean.

use std::path::Path;

use clap::Args;
use punctual_measure::release::{self, Release};
use punctual_model::Nanos;

use super::request::{self, Request};
use crate::cli::{CommonArgs, IntervalArgs, SampleArgs, own};
use crate::error::CliError;
use crate::exit::Exit;

/// Options of `measure release`
#[derive(Args, Debug)]
#[command(mut_args(own("release", &[])))]
pub struct ReleaseArgs {
    /// How often
    #[command(flatten)]
    pub pace: IntervalArgs,

    /// Wake up this long before a deadline, and spin until it
    #[arg(
        long,
        value_name = "TIME",
        allow_hyphen_values = true,
        default_value = "40us",
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

/// Measures release accuracy as `args` say.
pub(crate) fn run(home: Option<&Path>, args: &ReleaseArgs) -> Result<Exit, CliError> {
    args.pace.at_least(Nanos::from_micros(1))?;
    if args.spin >= args.pace.interval {
        return Err(CliError::usage(format!(
            "--spin {}: must be less than --interval {}, or the thread never sleeps",
            args.spin, args.pace.interval
        )));
    }
    args.pace.fits(args.sampling.duration)?;
    let asked = Request::of("release")
        .samples(&args.sampling)
        .option("interval", args.pace.interval)
        .option("spin", args.spin);
    let release = Release {
        interval: args.pace.interval,
        spin: args.spin,
    };
    request::run(home, &args.common, asked, |frame| {
        release::run(release, frame)
    })
}
