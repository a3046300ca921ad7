// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual experiment sweep`.

use punctual_lab::sweep::Sweep;

use crate::cli::ExperimentSweepArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::experiments::tuned;
use crate::instruments::Instrument;
use crate::output::{Destination, remark};

/// Writes the file of a sweep.
pub(super) fn write(args: ExperimentSweepArgs) -> Result<Exit, CliError> {
    let (knob, values) = args.knob;
    for value in &values {
        tuned::known(&format!("{knob}={value}"))?;
    }
    let instruments = [vec![args.measure], args.and].concat();
    if let Some(name) = instruments
        .iter()
        .find(|name| Instrument::has_subject(name))
    {
        return Err(CliError::usage(format!(
            "experiment sweep: `measure {name}` needs the name of what it measures"
        ))
        .hint(
            "write the file with another instrument, then put this one into it, with what it measures among its `options`",
        ));
    }
    let text = Sweep {
        knob,
        values,
        instruments: instruments
            .into_iter()
            .map(|name| {
                let has_duration = Instrument::has_duration(&name);
                (name, has_duration)
            })
            .collect(),
        blocks: args.blocks,
        duration: args.duration,
        metrics: args.compare,
    }
    .file()?;
    let file = Destination::open(&args.output, args.force)?;
    let is_file = !file.is_standard_output();
    file.put(text.as_bytes())?;
    if is_file {
        let name = args.output.display();
        remark(&format!(
            "Wrote {name}; run it with `punctual experiment run {name}`."
        ));
    }
    Ok(Exit::Fine)
}
