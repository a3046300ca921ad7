// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A measurement in a machine that is tuned for as long as it lasts.

use punctual_model::TuningReport;
use punctual_report::document::Document;

use crate::cli::MeasureTuning;
use crate::error::CliError;
use crate::exit::Exit;
use crate::instruments::Instrument;
use crate::output::{remark, remark_on};
use crate::signals::StopRequest;
use crate::tuning::{self, Begun, Care, Place, Tuned, Wish};

/// Tunes the machine if that is asked for, measures, and puts everything back.
pub(super) fn around(
    tuning: &MeasureTuning,
    instrument: &Instrument,
    measure: impl FnOnce() -> Result<Exit, CliError>,
) -> Result<Exit, CliError> {
    let place = Place::here();
    if tuning.tune.is_none() && tuning.set.is_empty() && tuning.isolate.is_none() {
        tuning::remark_on_left(&place);
        return measure();
    }
    place.require_privilege(Some("punctual tune plan"))?;
    let wish = Wish {
        profile: tuning.tune.clone(),
        isolate: tuning.isolate.clone(),
        cpus: instrument.cpus().cloned(),
        set: tuning.set.clone(),
        ..Wish::default()
    };
    let stop = StopRequest::on_signals()?;
    let prepared = tuning::prepare(&place, &wish)?;
    tuning::insist_on_all(&tuning.set, &prepared.plan)?;
    tuning::require_within_reach(&prepared.plan, instrument.cpus())?;
    if prepared.plan.is_empty() {
        remark("Tuned: nothing needed to change.");
        return measure();
    }
    let care = Care::default();
    let tuned = match Tuned::begin(&place, prepared, "measure", care, &|| stop.is_set())? {
        Begun::Applied(tuned, report) => {
            if let Err(err) = check(&tuning.set, &report) {
                let back = tuned.end()?;
                return Err(if back.complete {
                    err
                } else {
                    err.exiting(Exit::NotRestored)
                });
            }
            tuned
        }
        Begun::TakenBack(report) => {
            remark_on(&Document::of_tuning(&report));
            return Ok(if report.complete {
                Exit::Failed
            } else {
                Exit::NotRestored
            });
        }
    };
    let measured = measure();
    let report = tuned.end()?;
    if report.complete {
        return measured;
    }
    if let Err(err) = measured {
        err.print();
    }
    remark_on(&Document::of_tuning(&report));
    Ok(Exit::NotRestored)
}

/// Fails as [`tuning::insist_on_all`] does where that turned out when it was tried, and tells what else failed.
fn check(set: &[String], report: &TuningReport) -> Result<(), CliError> {
    let failed: Vec<_> = report.steps.iter().filter(|s| s.is_failure()).collect();
    if let Some(step) = failed.iter().find(|step| tuning::is_asked(set, &step.knob)) {
        return Err(tuning::not_had(
            &step.full_name(),
            "the kernel does not accept it",
        ));
    }
    if !failed.is_empty() {
        let names: Vec<String> = failed.iter().map(|step| step.full_name()).collect();
        remark(&format!(
            "Tuned, except for these settings, which are unavailable: {}.",
            names.join(", ")
        ));
    }
    Ok(())
}
