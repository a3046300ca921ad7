// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `--build`: a stock kernel and an RT kernel made from a source for a study, with the steps of `kernel rt` up to the boot.
//! What these two are compared by is the study.

use std::path::Path;

use punctual_lab::study::{Need, Study};
use punctual_model::{RtStep, RtStepKind};

use super::kernels::Pair;
use crate::cli::StudyRunArgs;
use crate::error::CliError;
use crate::kernels::rt::{self, Order, Says};
use crate::signals::StopRequest;

/// Two kernels, and how they were made.
pub(super) struct Built {
    pub(super) pair: Pair,
    pub(super) steps: Vec<RtStep>,
}

/// Does the steps that are not done yet, if that was asked for and the study compares kernels.
pub(super) fn of(
    home: &Path,
    study: &Study,
    args: &StudyRunArgs,
    stop: &StopRequest,
) -> Result<Option<Built>, CliError> {
    let Some(source) = args.build.as_deref().filter(|_| compares_kernels(study)) else {
        return Ok(None);
    };
    let home = Some(home);
    let order = Order {
        // The package is what `kernel rt` takes where nothing is named: it goes on with what this began, and the other way round.
        source: Some(source.to_owned()).filter(|_| !source.starts_with("linux-source-")),
        jobs: args.jobs.jobs.and_then(|jobs| jobs.try_into().ok()),
        says: if args.quiet {
            Says::Nothing
        } else {
            Says::Remarks
        },
        ..Order::of(rt::version_of(home, source)?)
    };
    let flow = rt::carried_out(home, &order, RtStepKind::Boot, stop.clone())?;
    let [stock, rt] = rt::targets(home, &order)?;
    let pair = Pair { stock, rt };
    let steps = flow.steps.into_iter();
    let steps = steps.filter(|step| step.step < RtStepKind::Compare);
    Ok(Some(Built {
        pair,
        steps: steps.collect(),
    }))
}

/// Whether a study has something to do with two kernels that were built.
pub(super) fn compares_kernels(study: &Study) -> bool {
    let mut parts = study.parts.iter();
    parts.any(|part| part.needs.contains(&Need::TwoKernels))
}
