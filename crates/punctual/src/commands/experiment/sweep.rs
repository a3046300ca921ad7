// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual experiment sweep`.

use std::fs::OpenOptions;
use std::io::Write as _;

use punctual_lab::sweep::Sweep;

use crate::cli::ExperimentSweepArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::experiments::tuned;
use crate::instruments::Instrument;
use crate::output::{print, remark};

/// Writes the file of a sweep.
pub(super) fn write(args: ExperimentSweepArgs) -> Result<Exit, CliError> {
    let (knob, values) = args.knob;
    for value in &values {
        tuned::known(&format!("{knob}={value}"))?;
    }
    let text = Sweep {
        knob,
        values,
        instruments: [vec![args.measure], args.and]
            .concat()
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
    if args.output.as_os_str() == "-" {
        print(&text)?;
        return Ok(Exit::Fine);
    }
    let name = args.output.display().to_string();
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&args.output)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(|err| CliError::failed_to(format!("write {name}")).because(err))?;
    remark(&format!(
        "Wrote {name}; run it with `punctual experiment run {name}`."
    ));
    Ok(Exit::Fine)
}
