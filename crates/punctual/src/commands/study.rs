// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual study`.
//!
//! A study is data: its experiments are carried out as `experiment` does, and its questions are answered
//! by the statistics of `compare`. What is here is which parameters its files get on this machine, and
//! which experiment belongs to which carrying out of it.

mod answer;
mod built;
mod carry;
mod kernels;
mod moving;
mod note;
mod report;
mod rows;
mod scale;

use std::path::Path;

use punctual_lab::LabError;
use punctual_lab::study::Study;
use punctual_model::{STUDY_FACTS_FORMAT, STUDY_LIST_FORMAT, StudyFacts, StudyList, StudyShown};
use punctual_report::document::Document;

use crate::cli::StudyAction;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output;

/// Why there is nothing yet of a part that is not left out.
const NOT_BEGUN: &str = "not started yet: `punctual study run` continues with it";

/// The word for every study.
const ALL: &str = "all";

/// Does what `action` says.
pub(crate) fn run(home: Option<&Path>, action: StudyAction) -> Result<Exit, CliError> {
    match action {
        StudyAction::List { json } => list(json),
        StudyAction::Show { name, json } => show(home, &name, json),
        StudyAction::Run(args) => carry::run(home, &args),
        StudyAction::Report(args) => report::show(home, &args),
    }
}

/// Returns the study of that name.
fn named(name: &str) -> Result<Study, CliError> {
    let study = Study::named(name).ok_or_else(|| {
        CliError::usage(format!("`{name}`: no such study")).hint(format!(
            "studies: {}; `punctual study list` describes them",
            Study::names().join(", ")
        ))
    })?;
    study.map_err(ours)
}

/// Returns the studies that are meant: one, or all.
fn chosen(name: &str) -> Result<Vec<Study>, CliError> {
    if name == ALL {
        return Study::names().into_iter().map(named).collect();
    }
    Ok(vec![named(name)?])
}

/// A study that comes with the program and cannot be read is no mistake of the user's.
fn ours(err: LabError) -> CliError {
    CliError::failed_to("read a study of the program").because(err)
}

fn facts(study: &Study) -> StudyFacts {
    StudyFacts {
        name: study.name.clone(),
        title: study.title.clone(),
        citation: study.citation.clone(),
        machine: study.machine.clone(),
        method: study.method.trim().to_owned(),
        differences: study.differences.clone(),
        published: study.published.clone(),
        steps: study.steps.clone(),
        asked: study.asked.clone(),
        found: study.found.trim().to_owned(),
        rows: rows::as_written(study),
    }
}

fn list(json: bool) -> Result<Exit, CliError> {
    let list = StudyList {
        format: STUDY_LIST_FORMAT.to_owned(),
        studies: chosen(ALL)?.iter().map(facts).collect(),
    };
    output::show(&list, json, |of| Document::of_studies(&of.studies))?;
    Ok(Exit::Fine)
}

fn show(home: Option<&Path>, name: &str, json: bool) -> Result<Exit, CliError> {
    let study = named(name)?;
    let shown = StudyShown {
        format: STUDY_FACTS_FORMAT.to_owned(),
        facts: StudyFacts {
            rows: rows::of_machine(home, &study)?,
            ..facts(&study)
        },
    };
    output::show(&shown, json, |of| Document::of_study(&of.facts))?;
    Ok(Exit::Fine)
}
