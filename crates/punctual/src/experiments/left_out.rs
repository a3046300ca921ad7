// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What an experiment leaves out because this machine cannot have it (`missing = "skip"`).

use std::env;
use std::path::Path;

use punctual_kernel::GuestTarget;
use punctual_kernel::boot::Image;
use punctual_lab::file::{Experiment, Level, Missing, Need, Sets};
use punctual_lab::plan::Plan;
use punctual_measure::linpack::{self, Engine};
use punctual_measure::loads::LoadList;
use punctual_sys::SysRoot;

use super::Read;
use crate::error::CliError;
use crate::exit::Exit;
use crate::guests;
use crate::tuning::{self, Place, Wish};

/// Takes levels and measurements out of the plan that are unavailable here, with their reasons.
pub(super) fn leave_out(read: &Read, plan: &mut Plan) -> Result<(), CliError> {
    let experiment = &read.experiment;
    if experiment.missing != Missing::Skip {
        return Ok(());
    }
    for measurement in &experiment.measurements {
        let lacking = measurement.needs.iter().find_map(|need| lack_of(*need));
        if let Some(reason) = lacking {
            plan.without_measurement(&measurement.name, reason);
        }
    }
    for factor in &experiment.factors {
        for level in &factor.levels {
            if let Some(reason) = lacking(experiment, &factor.sets, level)? {
                plan.without_level(&factor.name, &level.name, reason);
            }
        }
    }
    if plan.cells.is_empty() || plan.measurements.is_empty() {
        let reasons = plan.skipped.iter();
        let reasons: Vec<String> = reasons
            .map(|skipped| format!("{}: {}", skipped.what, skipped.reason))
            .collect();
        return Err(
            CliError::failed_to(format!("measure anything of `{}` here", plan.name))
                .because(reasons.join("; "))
                .exiting(Exit::Unsupported),
        );
    }
    Ok(())
}

/// Returns why a need is not met.
pub(crate) fn lack_of(need: Need) -> Option<String> {
    match need {
        Need::Root => match Place::here().privileged() {
            true => None,
            false => Some("it takes root".to_owned()),
        },
        Need::Fio => match on_path("fio") {
            true => None,
            false => Some("fio is not installed".to_owned()),
        },
    }
}

/// Returns why a kernel cannot be booted here.
fn lack_of_target(text: &str) -> Option<String> {
    let target: GuestTarget = text.parse().ok()?;
    lack_of_kernel(&target)
}

/// Returns why a guest cannot run here: its image, QEMU, or the agent.
pub(crate) fn lack_of_kernel(target: &GuestTarget) -> Option<String> {
    // A name alone may be one of the store, which the run finds.
    let is_path = target.kernel.components().count() > 1;
    if is_path && !target.kernel.is_file() {
        return Some(format!("kernel {} does not exist", target.kernel.display()));
    }
    let image = Image::read(&target.kernel).map(|image| image.architecture);
    guests::lack(image.unwrap_or_default())
}

/// Returns why floods of a load are refused here.
fn lack_of_load(text: &str) -> Option<String> {
    let list: LoadList = text.parse().ok()?;
    let pings = list.0.iter().filter_map(|load| load.ping());
    let refused = pings.filter_map(|ping| ping.check(&SysRoot::live()).err());
    refused.map(|err| err.to_string()).next()
}

/// Returns why a library cannot solve systems here.
fn lack_of_engine(text: &str) -> Option<String> {
    linpack::lack_of(&text.parse::<Engine>().ok()?)
}

fn on_path(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|dir| Path::new(&dir).join(program).is_file())
}

/// Returns why a level is unavailable here: the first of its knobs that is not there, or not for writing.
///
/// What a profile cannot have is no reason: a profile means what is available of it.
fn lacking(
    experiment: &Experiment,
    sets: &Sets,
    level: &Level,
) -> Result<Option<String>, CliError> {
    let knobs = match sets {
        Sets::Target => return Ok(lack_of_target(&level.value)),
        Sets::Load => return Ok(lack_of_load(&level.value)),
        Sets::Option(option) if option == "engine" => return Ok(lack_of_engine(&level.value)),
        Sets::Knob(knob) if level.value != "keep" => vec![format!("{knob}={}", level.value)],
        Sets::Several => level.changes.knobs.clone(),
        _ => return Ok(None),
    };
    if knobs.is_empty() {
        return Ok(None);
    }
    let options = [Some(&level.changes.options)];
    let measured = experiment.measurements.first().map(|m| &m.options);
    let mut options = options.into_iter().chain([measured]).flatten();
    let cpus = options.find_map(|options| options.get("cpus")?.first()?.parse().ok());
    let wish = Wish {
        set: knobs.clone(),
        // What is relative to the measured CPUs is so to the first of them where none are named.
        cpus: cpus.or_else(|| "0".parse().ok()),
        ..Wish::default()
    };
    let plan = tuning::prepare(&Place::here(), &wish)?.plan;
    let named = |knob: &str| {
        let of = |setting: &String| setting.split(['=', '@']).next() == Some(knob);
        knobs.iter().any(of)
    };
    let skipped = plan.skipped.iter().find(|skipped| named(&skipped.knob));
    Ok(skipped.map(|skipped| format!("{}: {}", skipped.knob, skipped.detail)))
}
