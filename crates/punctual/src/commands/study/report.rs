// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual study report`.

use std::path::Path;

use punctual_lab::file::Sets;
use punctual_lab::state::{Attempt, RunEnd, Snapshot};
use punctual_lab::study::Study;
use punctual_model::{
    RunRecord, STUDY_REPORT_FORMAT, StudyKernel, StudyPart, StudyReport, StudyResult, StudySkipped,
    StudySolver,
};
use punctual_report::document::{Document, Material};
use punctual_report::html;
use punctual_report::text::Detail;
use punctual_store::{Store, StoredRun};

use super::note::{Note, PartNote};
use super::{ALL, answer, chosen, facts};
use crate::cli::StudyReportArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::experiments::{dir_of, experiment_of};
use crate::home;
use crate::output::{self, Destination};
use crate::pages::{made_now, put};

/// Reports what was named.
pub(super) fn show(home: Option<&Path>, args: &StudyReportArgs) -> Result<Exit, CliError> {
    let studies = chosen(&args.name)?;
    // What exists is refused before the runs are read.
    let target = Destination::open_if(args.output.as_ref(), args.force)?;
    let store = Store::open_existing(home::find(home)?)?;
    let mut results = Vec::new();
    for study in &studies {
        if !args.recorded.is_empty() {
            results.push(of_recorded(&store, study, &args.recorded)?);
            continue;
        }
        match Note::read(store.home(), &study.name, args.number)? {
            Some(note) => results.push(of_note(&store, study, &note)?),
            None if args.name == ALL => {}
            None => {
                let which = args.number.map(|n| format!(" {n}")).unwrap_or_default();
                return Err(CliError::failed_to(format!(
                    "report {}{which}: store {} has no run of it",
                    study.name,
                    store.home().display()
                ))
                .hint(format!("`punctual study run {}`", study.name)));
            }
        }
    }
    if results.is_empty() {
        return Err(CliError::failed_to("report studies: none has been run")
            .hint("`punctual study run all --quick`"));
    }
    let report = StudyReport {
        format: STUDY_REPORT_FORMAT.to_owned(),
        studies: results,
    };
    if let Some(target) = target {
        put(target, &page(&report))?;
    } else {
        let detail = match args.all {
            true => Detail::Full,
            false => Detail::Summary,
        };
        output::show_in(detail, &report, args.json, document)?;
    }
    Ok(Exit::Fine)
}

/// The report as a page.
pub(super) fn page(report: &StudyReport) -> String {
    html::page(&document(report))
}

/// The report as text.
pub(super) fn text(report: &StudyReport) -> String {
    output::written(&document(report))
}

fn document(report: &StudyReport) -> Document {
    Document::new(&Material {
        studies: report.studies.clone(),
        ..made_now()
    })
}

/// Says what one carrying out of a study says.
pub(super) fn of_note(store: &Store, study: &Study, note: &Note) -> Result<StudyResult, CliError> {
    let mut parts = Vec::new();
    let mut host = None;
    for part in &note.parts {
        let snapshot = match &part.experiment {
            Some(name) if dir_of(store.home(), name).exists() => {
                Some(Snapshot::read(&dir_of(store.home(), name))?)
            }
            _ => None,
        };
        // The machine itself; the part of a guest describes the guest.
        if host.is_none() {
            let mut runs = snapshot.iter().flat_map(|state| opened(store, state));
            host = runs
                .find(|run| run.record().guest.is_none())
                .map(|run| run.record().host.clone());
        }
        let mut told = part_of(study, part, snapshot.as_ref());
        if let Some(snapshot) = &snapshot {
            told.why_invalid = why_invalid(store, snapshot);
            let kernels = first_runs(store, snapshot, &Sets::Target)?;
            told.kernels = kernels.into_iter().map(kernel).collect();
            let engine = Sets::Option("engine".to_owned());
            let solvers = first_runs(store, snapshot, &engine)?;
            told.solvers = solvers.into_iter().map(solver).collect();
        }
        parts.push((told, snapshot));
    }
    let mut answers = Vec::new();
    for question in &study.questions {
        let at = note
            .parts
            .iter()
            .position(|part| part.name == question.part);
        let part = at.and_then(|at| Some((note.parts.get(at)?, parts.get(at)?)));
        let Some((noted, (_, snapshot))) = part else {
            continue;
        };
        answers.push(answer::of(store, question, noted, snapshot.as_ref())?);
    }
    Ok(StudyResult {
        study: facts(study),
        number: Some(note.number),
        scale: note.scale.clone(),
        host,
        built: note.built.clone(),
        parts: parts.into_iter().map(|(part, _)| part).collect(),
        answers,
    })
}

/// The runs of an experiment, in their order.
fn opened(store: &Store, state: &Snapshot) -> impl Iterator<Item = StoredRun> {
    let of = |run: &uuid::Uuid| store.entry(*run).run.ok();
    state
        .attempts
        .iter()
        .filter_map(move |attempt| of(&attempt.run))
}

/// The first check that did not pass, of the first run that is invalid.
fn why_invalid(store: &Store, state: &Snapshot) -> Option<String> {
    let is_invalid = |attempt: &&Attempt| attempt.end == Some(RunEnd::Invalid);
    let first = state.attempts.iter().find(is_invalid)?;
    let run = store.entry(first.run).run.ok()?;
    let check = run.record().checks.iter().find(|check| !check.passed())?;
    Some(format!("{}: {}", check.id, check.detail))
}

/// The first run of each level of a factor that sets `sets`: it tells what the level is.
fn first_runs(
    store: &Store,
    state: &Snapshot,
    sets: &Sets,
) -> Result<Vec<(String, RunRecord)>, CliError> {
    let plan = &state.plan;
    let experiment = experiment_of(&state.text, plan)?;
    let mut factors = experiment.factors.iter().zip(0..);
    let Some((_, place)) = factors.find(|(factor, _)| factor.sets == *sets) else {
        return Ok(Vec::new());
    };
    let mut found: Vec<(String, RunRecord)> = Vec::new();
    for attempt in &state.attempts {
        let cell = plan.cells.get(attempt.slot.cell as usize);
        let Some(level) = cell.and_then(|cell: &Vec<String>| cell.get::<usize>(place)) else {
            continue;
        };
        if found.iter().any(|(known, _)| known == level) {
            continue;
        }
        if let Ok(run) = store.entry(attempt.run).run {
            found.push((level.clone(), run.record().clone()));
        }
    }
    Ok(found)
}

fn kernel((level, run): (String, RunRecord)) -> StudyKernel {
    StudyKernel {
        level,
        release: run.host.kernel_release,
        preemption: run.host.preemption,
        guest: run.guest,
    }
}

fn solver((level, run): (String, RunRecord)) -> StudySolver {
    let options = run.setup.map(|setup| setup.options).unwrap_or_default();
    let option = |name: &str| options.get(name).cloned();
    StudySolver {
        level,
        library: option("library"),
        version: option("library_version"),
        core: option("library_core"),
    }
}

fn part_of(study: &Study, note: &PartNote, snapshot: Option<&Snapshot>) -> StudyPart {
    let title = study.part(&note.name).map(|part| part.title.clone());
    let mut part = StudyPart {
        name: note.name.clone(),
        title: title.unwrap_or_default(),
        experiment: snapshot.and_then(|_| note.experiment.clone()),
        ..StudyPart::default()
    };
    if let Some(reason) = &note.skipped {
        part.skipped.push(StudySkipped {
            what: format!("part {}", note.name),
            reason: reason.clone(),
        });
    }
    if snapshot.is_none() && note.skipped.is_none() {
        part.skipped.push(StudySkipped {
            what: format!("part {}", note.name),
            reason: super::NOT_BEGUN.to_owned(),
        });
    }
    if let Some(snapshot) = snapshot {
        let of = |end| {
            let attempts = snapshot.attempts.iter();
            attempts.filter(|attempt| attempt.end == Some(end)).count() as u64
        };
        part.planned = snapshot.plan.runs();
        part.valid = of(RunEnd::Valid);
        part.invalid = of(RunEnd::Invalid);
        part.failed = of(RunEnd::Failed);
        part.finished.clone_from(&snapshot.finished);
        part.skipped.extend(snapshot.plan.skipped.iter().cloned());
    }
    part
}

/// Says what two sets of runs say that were recorded elsewhere, or before.
fn of_recorded(store: &Store, study: &Study, recorded: &[String]) -> Result<StudyResult, CliError> {
    let answers = answer::of_recorded(store, study, recorded)?;
    if answers.is_empty() {
        return Err(CliError::usage(format!(
            "--recorded: {} does not compare two kernels",
            study.name
        ))
        .hint("wang2019 and bridgers2015 do"));
    }
    Ok(StudyResult {
        study: facts(study),
        number: None,
        scale: "recorded".to_owned(),
        host: None,
        built: Vec::new(),
        parts: Vec::new(),
        answers,
    })
}
