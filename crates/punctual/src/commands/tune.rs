// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual tune`: changes of the machine that can be taken back.

mod boot;
mod keep;
mod run;
mod trial;

use std::path::Path;
use std::time::Duration;

use punctual_host::knob::{Scope, Survey};
use punctual_host::session::{self, Left, Origin, origin};
use punctual_model::{
    KNOB_LIST_FORMAT, KeptSession, KnobList, Nanos, Plan, Policy, Skipped, TuningAction,
    TuningReport, UnlistedKnob,
};
use punctual_report::document::Document;
use punctual_report::text::Detail;
use punctual_sys::namespace;

use crate::cli::{TuneAction, TuneArgs};
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{self, print, remark, show, show_in};
use crate::signals::StopRequest;
use crate::tuning::{self, Begun, Care, Keep, Place, Watch, Wish};

/// How long a revert waits for another tuner that is just ending.
const PATIENCE: Duration = Duration::from_secs(5);

/// What becomes of a keeper that another namespace has.
const ENDS_WITH_CONTAINER: &str = "the process that holds this, or reverts it when time is up, ends with this container: \
     then nothing is held, and `punctual tune revert` on the host does it";

/// Does what the options of `tune` say.
///
/// `policy` is the real-time policy that this program was started with, if any, and has no longer.
pub(crate) fn run(
    home: Option<&Path>,
    args: &TuneArgs,
    policy: Option<Policy>,
) -> Result<Exit, CliError> {
    let place = Place::new(args.root.as_deref(), args.state.as_deref());
    match &args.action {
        TuneAction::Plan {
            wish,
            explain,
            json,
        } => {
            let detail = if *explain {
                Detail::Full
            } else {
                Detail::Summary
            };
            plan(&place, &wish.into(), detail, *json)
        }
        TuneAction::Apply {
            wish,
            duration,
            care,
            dry_run,
            json,
        } => {
            if *dry_run {
                return plan(&place, &wish.into(), Detail::Summary, *json);
            }
            apply(&place, &wish.into(), (*care).into(), *duration, *json)
        }
        TuneAction::Run {
            wish,
            care,
            command,
        } => run::run(&place, &wish.into(), (*care).into(), command, policy),
        TuneAction::Status { json } => status(&place, *json),
        TuneAction::Revert { json } => revert(&place, *json),
        TuneAction::Knobs { patterns, json } => knobs(&place, patterns, *json),
        TuneAction::Profiles { name } => {
            print(&tuning::listed(name.as_deref())?)?;
            Ok(Exit::Fine)
        }
        TuneAction::Trial(args) => trial::run(&place, home, args),
        TuneAction::Boot { action } => boot::run(&place, action),
        TuneAction::Keep(args) => keep::run(&place, args),
    }
}

fn plan(place: &Place, wish: &Wish, detail: Detail, json: bool) -> Result<Exit, CliError> {
    tuning::remark_on_left(place);
    let prepared = tuning::prepare(place, wish)?;
    show_in(detail, &prepared.plan, json, Document::of_plan)?;
    Ok(tuning::exit_of(&prepared.plan))
}

fn apply(
    place: &Place,
    wish: &Wish,
    care: Care,
    duration: Option<Nanos>,
    json: bool,
) -> Result<Exit, CliError> {
    if duration.is_some_and(Nanos::is_zero) {
        return Err(CliError::usage("--for 0: must be above 0"));
    }
    place.require_privilege(Some("punctual tune plan"))?;
    let prepared = tuning::prepare(place, wish)?;
    tuning::refuse(&prepared.plan, care.yes)?;
    let lacking = tuning::lacking(&wish.set, &prepared.plan);
    if prepared.plan.is_empty() {
        if duration.is_some() {
            remark(
                "Note: --for takes back what this command changes, which is nothing; what was set before stays.",
            );
        }
        return nothing(&prepared.plan, lacking, json);
    }
    if let Some(lacking) = lacking.filter(|_| care.atomic) {
        return Err(tuning::not_had(&lacking.knob, &lacking.detail).exiting(Exit::Failed));
    }
    let stop = StopRequest::on_signals()?;
    let hold = prepared.plan.held.first().map(|held| held.latency_ns);
    let kept = duration.is_some() || hold.is_some();
    if kept {
        tuning::require_to_stay()?;
    }
    let mut session = tuning::begin(place, prepared.plan.clone(), "apply", duration)?;
    let watch = if kept {
        let keep = Keep::for_session(&session, place)
            .lasting(duration)
            .holding(hold);
        match Watch::start(&keep) {
            Ok(watch) => {
                session.kept_by(watch.keeper())?;
                Some(watch)
            }
            Err(err) => {
                session.revert()?;
                return Err(err);
            }
        }
    } else {
        None
    };
    match tuning::write(session, &prepared, care, &|| stop.is_set())? {
        Begun::Applied(session, mut report) => {
            report.remarks.extend(prepared.plan.warnings.clone());
            if let Some(lacking) = lacking {
                report.remarks.push(not_set(lacking));
                report.complete = false;
            }
            session.keep();
            if let Some(watch) = watch {
                watch.stay();
                let own = namespace::of(&place.sys, "self");
                if own.is_ok_and(|own| own != namespace::INITIAL) {
                    report.remarks.push(ENDS_WITH_CONTAINER.to_owned());
                }
            }
            show(&report, json, Document::of_tuning)?;
            Ok(if report.complete {
                Exit::Fine
            } else {
                Exit::Failed
            })
        }
        Begun::TakenBack(report) => {
            if let Some(watch) = watch {
                watch.done();
            }
            show(&report, json, Document::of_tuning)?;
            Ok(taken_back(&report, Exit::Failed))
        }
    }
}

fn not_set(lacking: &Skipped) -> String {
    format!("{} could not be set: {}", lacking.knob, lacking.detail)
}

/// Says that there is nothing to do, and what was asked for and is unavailable.
fn nothing(plan: &Plan, lacking: Option<&Skipped>, json: bool) -> Result<Exit, CliError> {
    if json {
        let in_part = |why: &str| TuningReport {
            complete: false,
            ..TuningReport::remark(TuningAction::Apply, why)
        };
        let report = match lacking {
            _ if plan.is_out_of_reach() => in_part("nothing can be changed"),
            Some(lacking) => in_part(&not_set(lacking)),
            None => TuningReport::remark(TuningAction::Apply, "nothing to change"),
        };
        show(&report, json, Document::of_tuning)?;
    } else {
        print(&output::written(&Document::of_plan(plan)))?;
    }
    Ok(match tuning::exit_of(plan) {
        Exit::Fine if lacking.is_some() => Exit::Failed,
        exit => exit,
    })
}

/// Returns the exit status after a revert: `otherwise`, if it succeeded.
fn taken_back(report: &TuningReport, otherwise: Exit) -> Exit {
    if report.complete {
        otherwise
    } else {
        Exit::NotRestored
    }
}

fn status(place: &Place, json: bool) -> Result<Exit, CliError> {
    let tuner = place.tuner()?;
    let mut exit = Exit::Fine;
    let mut report = match tuner.left()? {
        Left::Nothing => TuningReport::remark(TuningAction::Status, "nothing is changed"),
        Left::OtherBoot(journal) => {
            let mut report = session::report(&journal, TuningAction::Status);
            report.steps.clear();
            report.held.clear();
            report.remarks.push(
                "the machine was rebooted since, which undid these changes; nothing is changed"
                    .to_owned(),
            );
            report
        }
        Left::Changes(journal) => {
            let mut report = tuning::status_of(&place.sys, &journal);
            let until = |session: &Option<KeptSession>| session.as_ref()?.until.clone();
            if journal.is_damaged() {
                exit = Exit::NotRestored;
            } else if until(&report.session) != journal.session().until {
                exit = Exit::Failed;
            }
            report.remarks.push(tuning::said_of(&place.sys, &journal));
            tuner.compare(&journal, &mut report);
            report
        }
    };
    if let Some(holder) = tuner.at_work()? {
        report.remarks.push(format!("active now: {holder}"));
    }
    if report.session.is_none() {
        report.remarks.extend(tuner.last_faults()?);
    }
    show(&report, json, Document::of_tuning)?;
    Ok(exit)
}

fn revert(place: &Place, json: bool) -> Result<Exit, CliError> {
    place.require_privilege(Some("punctual tune plan"))?;
    let tuner = place.tuner()?;
    // What cannot be read is the revert's to say, or to move out of the way.
    let keeper = match tuner.left() {
        Ok(Left::Changes(journal)) if origin(&place.sys, &journal) == Origin::Here => {
            journal.keeper().cloned()
        }
        _ => None,
    };
    let report = tuner.revert(None, PATIENCE)?;
    if let Some(keeper) = keeper {
        tuning::release(&keeper);
    }
    let Some(report) = report else {
        if json {
            let nothing = TuningReport::remark(TuningAction::Revert, "nothing to revert");
            show(&nothing, json, Document::of_tuning)?;
        } else {
            print("Nothing to revert\n")?;
        }
        return Ok(Exit::Fine);
    };
    show(&report, json, Document::of_tuning)?;
    Ok(taken_back(&report, Exit::Fine))
}

fn knobs(place: &Place, patterns: &[String], json: bool) -> Result<Exit, CliError> {
    let survey = Survey::read(&place.sys, Scope::Settings, place.privileged());
    let wanted = |name: &str| {
        patterns.is_empty()
            || patterns
                .iter()
                .any(|p| punctual_host::profile::names(p, name))
    };
    let known = punctual_host::knob::KNOBS.iter().copied().flatten();
    let unlisted = known.filter(|knob| wanted(knob.name) && survey.of(knob.name).next().is_none());
    let others: Vec<UnlistedKnob> = unlisted
        .map(|knob| UnlistedKnob {
            knob: knob.name.to_owned(),
            why: survey.unlisted(knob).to_owned(),
        })
        .collect();
    let list = KnobList {
        others,
        format: KNOB_LIST_FORMAT.to_owned(),
        knobs: survey
            .readings
            .into_iter()
            .map(|reading| reading.shown)
            .filter(|knob| wanted(&knob.knob))
            .collect(),
    };
    if list.knobs.is_empty() && list.others.is_empty() {
        return Err(
            CliError::usage(format!("{}: no such knob", patterns.join(" ")))
                .hint("`punctual tune knobs` lists them all"),
        );
    }
    show(&list, json, Document::of_knobs)?;
    Ok(Exit::Fine)
}
