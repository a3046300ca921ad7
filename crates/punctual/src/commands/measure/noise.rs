// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual measure noise`.

use std::collections::BTreeMap;
use std::path::Path;

use punctual_measure::duty::Duty;
use punctual_measure::noise::{self, Noise};
use punctual_model::Nanos;

use super::instrument::{self, Asked, Kind, Measured};
use crate::cli::NoiseArgs;
use crate::error::CliError;
use crate::exit::Exit;

/// Measures the gaps as `args` say.
pub(crate) fn run(home: Option<&Path>, args: &NoiseArgs) -> Result<Exit, CliError> {
    let noise = plan(args)?;
    let asked = Asked {
        instrument: "noise",
        kind: Kind::Latency,
        measured: Measured::AllButFirst,
        priority: args.priority,
        duration: Some(args.duration),
        options: BTreeMap::new(),
    }
    .option("threshold", noise.threshold)
    .option("duty", noise.duty);
    let asked = match noise.duty.is_full() {
        true => asked,
        false => asked.option("period", noise.period),
    };
    instrument::run(home, &args.common, asked, |frame| noise::run(noise, frame))
}

/// Returns what the options mean.
fn plan(args: &NoiseArgs) -> Result<Noise, CliError> {
    let least = |option: &str, given: Nanos, least: Nanos| {
        (given < least).then(|| {
            let least = least.to_string().replace(' ', "");
            CliError::usage(format!("{option} {given}: must be at least {least}"))
        })
    };
    if let Some(err) = least("--threshold", args.threshold, Nanos::new(1))
        .or_else(|| least("--period", args.period, Nanos::from_millis(1)))
        .or_else(|| least("--duration", args.duration, Nanos::from_millis(10)))
    {
        return Err(err);
    }
    // Four fifths of the usual budget, of 95 %: so much cannot be throttled.
    let duty = args
        .duty
        .unwrap_or_else(|| match args.priority.is_real_time() {
            true => Duty::THREE_QUARTERS,
            false => Duty::FULL,
        });
    Ok(Noise {
        threshold: args.threshold,
        duty,
        period: args.period,
    })
}
