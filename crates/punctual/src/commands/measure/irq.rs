// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual measure irq`.

use std::collections::BTreeMap;
use std::path::Path;

use punctual_measure::irq::{self, Irq, Source};
use punctual_model::Nanos;

use super::instrument::{self, Asked, Kind, Measured};
use crate::cli::{IrqArgs, IrqSource};
use crate::error::CliError;
use crate::exit::Exit;

/// Measures interrupt latency apart from thread latency as `args` say.
pub(crate) fn run(home: Option<&Path>, args: &IrqArgs) -> Result<Exit, CliError> {
    if args.interval < Nanos::from_micros(10) {
        return Err(CliError::usage(format!(
            "--interval {}: must be at least 10us",
            args.interval
        )));
    }
    let asked = Asked {
        instrument: "irq",
        kind: Kind::Latency,
        measured: Measured::All,
        priority: args.priority,
        duration: Some(args.duration),
        options: BTreeMap::new(),
    }
    .option("interval", args.interval);
    let irq = Irq {
        interval: args.interval,
        source: match args.source {
            IrqSource::Auto => Source::Auto,
            IrqSource::Timerlat => Source::Timerlat,
            IrqSource::Events => Source::Events,
        },
    };
    instrument::run(home, &args.common, asked, |frame| irq::run(irq, frame))
}
