// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual measure`.

mod carried;
mod guest;
mod tuned;
mod watched;

use std::path::Path;

use punctual_sys::SysRoot;

use crate::cli::MeasureTuning;
use crate::error::CliError;
use crate::exit::Exit;
use crate::instruments::Instrument;
use crate::output::remark;
use crate::recording;

/// Measures with the instrument that was named, in a machine that is tuned as `tuning` says.
pub(crate) fn run(
    home: Option<&Path>,
    tuning: &MeasureTuning,
    mut instrument: Instrument,
) -> Result<Exit, CliError> {
    recording::serve_parent()?;
    if let Some(cpus) = &tuning.isolate {
        instrument.or_on(cpus);
    }
    if let Some(target) = &tuning.target {
        return guest::run(home, target, &instrument);
    }
    // What traces on for nobody disturbs every measurement.
    for instance in punctual_measure::irq::sweep(&SysRoot::live()) {
        remark(&format!(
            "Removed tracing instance {instance}, left behind by a killed run."
        ));
    }
    tuned::around(tuning, &instrument, || instrument.measure(home))
}
