// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A measurement in a machine that is tuned for as long as it lasts.

use punctual_model::{Plan, Skipped, TuningReport};
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
    place.require_privilege()?;
    let wish = Wish {
        profile: tuning.tune.clone(),
        isolate: tuning.isolate.clone(),
        cpus: instrument.cpus().cloned(),
        set: tuning.set.clone(),
        ..Wish::default()
    };
    let stop = StopRequest::on_signals()?;
    let prepared = tuning::prepare(&place, &wish)?;
    insist(&tuning.set, &prepared.plan)?;
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

/// Whether `--set` names this knob.
fn is_asked(set: &[String], knob: &str) -> bool {
    let name = |setting: &String| setting.split(['=', '@']).next() == Some(knob);
    set.iter().any(name)
}

fn not_had(what: &str, why: &str) -> CliError {
    CliError::failed_to(format!("set {what}: {why}"))
        .exiting(Exit::Unsupported)
        .hint("`punctual tune plan` with the same options shows what is available here")
}

/// Fails where a setting that was asked for explicitly is unavailable: what is measured then
/// would not be what was asked for.
fn insist(set: &[String], plan: &Plan) -> Result<(), CliError> {
    let asked = |skipped: &&Skipped| is_asked(set, &skipped.knob);
    match plan.skipped.iter().find(asked) {
        None => Ok(()),
        Some(skipped) => Err(not_had(&skipped.knob, &skipped.detail)),
    }
}

/// Fails as [`insist`] does where that turned out when it was tried, and tells what else failed.
fn check(set: &[String], report: &TuningReport) -> Result<(), CliError> {
    let failed: Vec<_> = report.steps.iter().filter(|s| s.is_failure()).collect();
    if let Some(step) = failed.iter().find(|step| is_asked(set, &step.knob)) {
        return Err(not_had(&step.full_name(), "the kernel does not accept it"));
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

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_model::SkipReason;

    #[test]
    fn a_setting_that_was_asked_for_and_cannot_be_had_is_an_error() {
        let plan = Plan {
            skipped: vec![Skipped {
                knob: "cpufreq.governor".to_owned(),
                instances: Vec::new(),
                reason: SkipReason::Absent,
                detail: "none".to_owned(),
            }],
            ..Plan::default()
        };
        let set = |text: &str| insist(&[text.to_owned()], &plan).is_ok();
        assert!(set("vm.swappiness=1") && insist(&[], &plan).is_ok());
        assert!(!set("cpufreq.governor=performance") && !set("cpufreq.governor@1=x"));
    }
}
