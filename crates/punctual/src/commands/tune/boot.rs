// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual tune boot`: kernel arguments, by way of the boot loader.

use jiff::Timestamp;
use punctual_host::boot::{self, BootError};
use punctual_host::knob::{Scope, Survey};
use punctual_host::plan::PlanOptions;
use punctual_model::BootPlan;
use punctual_report::document::Document;

use super::show;
use crate::cli::{BootAction, BootWish};
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{self, confirm, print, remark};
use crate::tuning::{self, Place, Wish, undone};

/// Does what the options of `tune boot` say.
pub(super) fn run(place: &Place, action: &BootAction) -> Result<Exit, CliError> {
    match action {
        BootAction::Plan { wish, json } => {
            show(&plan(place, wish)?, *json, Document::of_boot_plan)?;
            Ok(Exit::Fine)
        }
        BootAction::Apply { wish, yes } => apply(place, wish, *yes),
        BootAction::Revert { yes } => revert(place, *yes),
    }
}

fn plan(place: &Place, wish: &BootWish) -> Result<BootPlan, CliError> {
    let profile = tuning::profile(&Wish {
        profile: Some(wish.profile.clone().unwrap_or_else(|| "isolate".to_owned())),
        ..Wish::default()
    })?;
    let survey = Survey::read(&place.sys, Scope::Settings, place.privileged());
    let options = PlanOptions {
        cpus: wish.cpus.clone(),
        ..PlanOptions::default()
    };
    Ok(boot::plan(&profile, &survey, &place.sys, &options)?)
}

fn apply(place: &Place, wish: &BootWish, yes: bool) -> Result<Exit, CliError> {
    place.require_privilege(Some("punctual tune boot plan"))?;
    let plan = plan(place, wish)?;
    print(&output::written(&Document::of_boot_plan(&plan)))?;
    if plan.files.is_empty() {
        if plan.is_given() {
            remark("Nothing to do: the running kernel has every argument.");
            return Ok(Exit::Fine);
        }
        return Ok(Exit::Unsupported);
    }
    confirm(yes, "Write this?")?;
    let at = tuning::seconds(Timestamp::now());
    boot::apply(&plan, &place.sys, &place.state, &at)?;
    let next = plan.next.join(", then ");
    print(&format!(
        "\nWritten. It takes effect after: {next}. `punctual tune boot revert` undoes it.\n"
    ))?;
    Ok(Exit::Fine)
}

fn revert(place: &Place, yes: bool) -> Result<Exit, CliError> {
    place.require_privilege(Some("punctual tune boot plan"))?;
    let Some(change) = boot::applied(&place.state)? else {
        print("Nothing to revert: no kernel arguments were added\n")?;
        return Ok(Exit::Fine);
    };
    let files: Vec<&str> = change.files.iter().map(|file| file.path.as_str()).collect();
    print(&format!(
        "The arguments of profile {} ({}) are in {}\n",
        change.profile,
        change.at,
        files.join(", ")
    ))?;
    confirm(yes, "Take them away?")?;
    let Some(reverted) = boot::revert(&place.sys, &place.state)? else {
        return Ok(Exit::Fine);
    };
    print(&undone::words(&reverted))?;
    print(&format!(
        "It takes effect after: {}.\n",
        change.next.join(", then ")
    ))?;
    Ok(undone::exit(&reverted))
}

impl From<BootError> for CliError {
    fn from(err: BootError) -> Self {
        let hint = match &err {
            BootError::InPlace { .. } => "remove them first with `punctual tune boot revert`",
            BootError::Foreign { .. } => "inspect it, and move it away if it is not needed",
            _ => "nothing else was changed",
        };
        Self::failed_to("change the boot loader")
            .because(err)
            .hint(hint)
    }
}
