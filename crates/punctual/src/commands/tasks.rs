// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual tasks`.

use std::path::Path;

use punctual_model::tasks::SetVerdict;
use punctual_report::document::Document;
use punctual_store::Store;
use punctual_sys::SysRoot;
use punctual_tasks::{check, file, observe};

use crate::cli::{TasksAction, TasksCheckArgs, TasksNewArgs};
use crate::cpus;
use crate::error::CliError;
use crate::exit::Exit;
use crate::finding::find;
use crate::home;
use crate::output::{self, Destination};
use crate::sets;

/// Analyses a set, or makes one of a run.
pub(super) fn run(home: Option<&Path>, action: &TasksAction) -> Result<Exit, CliError> {
    match action {
        TasksAction::Check(args) => check_set(home, args),
        TasksAction::New(args) => new(home, args),
    }
}

fn check_set(home: Option<&Path>, args: &TasksCheckArgs) -> Result<Exit, CliError> {
    let sys = SysRoot::live();
    let machine = cpus::cpus(&sys)?.online;
    let overheads = args.overheads.as_deref();
    let (set, not_understood) = sets::read(home, &args.set, overheads, |_| {})?;
    let limits = sets::limits(&sys, &machine);
    let cpus = args.cpus.clone().unwrap_or(machine);
    if cpus.is_empty() {
        return Err(CliError::usage("--cpus: expected at least one CPU"));
    }
    let found = check(&set, not_understood, &cpus, &limits);
    output::show(&found, args.json, Document::of_tasks_check)?;
    Ok(match found.verdict {
        SetVerdict::Shown => Exit::Fine,
        SetVerdict::Missed | SetVerdict::NotShown => Exit::Verdict,
    })
}

fn new(home: Option<&Path>, args: &TasksNewArgs) -> Result<Exit, CliError> {
    let run = find(&Store::open_existing(home::find(home)?)?, &args.from)?;
    let (set, remarks) = observe::set_of(run.record()).map_err(|reason| {
        CliError::failed_to("make a task set")
            .because(reason)
            .hint("`punctual watch -- CMD` or `--pid PID` records what a program's threads do")
    })?;
    if args.json {
        output::json(&set)?;
        return Ok(Exit::Fine);
    }
    let text = file::write(&set, &remarks);
    Destination::open(&args.output, args.force)?.put(text.as_bytes())?;
    Ok(Exit::Fine)
}
