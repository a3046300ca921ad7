// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual measure release`.

use std::collections::BTreeMap;
use std::path::Path;

use punctual_measure::release::{self, Release};
use punctual_model::Nanos;

use super::instrument::{self, Asked, Kind, Measured};
use crate::cli::ReleaseArgs;
use crate::error::CliError;
use crate::exit::Exit;

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
    let asked = Asked {
        instrument: "release",
        kind: Kind::Latency,
        measured: Measured::All,
        priority: args.priority,
        duration: Some(args.duration),
        options: BTreeMap::new(),
    }
    .option("interval", args.interval)
    .option("spin", args.spin);
    let release = Release {
        interval: args.interval,
        spin: args.spin,
    };
    instrument::run(home, &args.common, asked, |frame| {
        release::run(release, frame)
    })
}
