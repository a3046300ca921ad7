// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual study run`.

use std::collections::BTreeSet;
use std::path::Path;

use punctual_lab::engine::Ending;
use punctual_lab::state::State;
use punctual_lab::study::Study;
use punctual_model::{Gathered as _, STUDY_REPORT_FORMAT, StudyReport};
use punctual_store::Store;

use super::note::{Note, PartNote};
use super::{ALL, built, chosen, kernels, report, scale};
use crate::cli::StudyRunArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::experiments::{Manner, dir_of, experiment_of, go_on, plan, status, tuned};
use crate::home;
use crate::output::{Destination, print, remark};
use crate::pages::put;
use crate::signals::StopRequest;

/// Carries out what was named, and reports it.
pub(super) fn run(home: Option<&Path>, args: &StudyRunArgs) -> Result<Exit, CliError> {
    if !args.target.is_empty() && args.target.len() != 2 {
        return Err(CliError::usage(format!(
            "--target: two kernels are compared, but {} was named",
            args.target.len()
        ))
        .hint("the stock kernel first, then the RT kernel"));
    }
    let studies = chosen(&args.name)?;
    if args.build.is_some() && !studies.iter().any(built::compares_kernels) {
        return Err(CliError::usage(format!(
            "--build: {} compares no kernels",
            args.name
        )));
    }
    let store = Store::open(home::find(home)?)?;
    if let Some(path) = &args.output {
        // Refused before hours of measuring; the page itself is made at the end.
        drop(Destination::open(path, args.force)?);
    }
    let stop = StopRequest::on_signals()?;
    let mut exit = Exit::Fine;
    let mut results = Vec::new();
    for study in &studies {
        match carry_out(&store, study, args, studies.len(), &stop) {
            Ok(Carried::Done(note)) => {
                if !is_whole(&store, &note)? {
                    exit = Exit::Failed;
                }
                results.push(report::of_note(&store, study, &note)?);
            }
            Ok(Carried::Stopped) => {
                remark("Stopped. Continue with the same command, options included.");
                return Ok(Exit::Failed);
            }
            // The others of all can be carried out all the same.
            Err(err) if args.name == ALL && err.exit() != Exit::Usage => {
                err.print();
                exit = Exit::Failed;
            }
            Err(err) => return Err(err),
        }
    }
    let report = StudyReport {
        format: STUDY_REPORT_FORMAT.to_owned(),
        studies: results,
    };
    let own = || {
        store
            .home()
            .join("studies")
            .join(format!("{}.html", args.name))
    };
    let path = args.output.clone().unwrap_or_else(own);
    let target = Destination::open(&path, args.force || args.output.is_none())?;
    if args.json {
        crate::output::json(&report)?;
    } else if !target.is_standard_output() {
        print(&report::text(&report))?;
    }
    put(target, &report::page(&report))?;
    Ok(exit)
}

enum Carried {
    Done(Note),
    Stopped,
}

fn carry_out(
    store: &Store,
    study: &Study,
    args: &StudyRunArgs,
    of: usize,
    stop: &StopRequest,
) -> Result<Carried, CliError> {
    let note = find(store, study, args, (of, stop))?;
    if note.parts.iter().all(|part| part.experiment.is_none()) && args.name != ALL {
        let reasons = note
            .parts
            .iter()
            .filter_map(|part| Some(format!("{}: {}", part.name, part.skipped.as_ref()?)));
        let reasons: Vec<String> = reasons.collect();
        return Err(
            CliError::failed_to(format!("carry out {} here", study.name))
                .because(reasons.join("; "))
                .exiting(Exit::Unsupported),
        );
    }
    for part in &note.parts {
        let Some(name) = &part.experiment else {
            let why = part.skipped.as_deref().unwrap_or_default();
            remark(&format!("{} {}: left out: {why}", study.name, part.name));
            continue;
        };
        let dir = dir_of(store.home(), name);
        let mut state = if dir.exists() {
            State::open(&dir)?
        } else {
            let read = scale::experiment(study, &part.name, &part.parameters)?;
            let plan = plan::of(&read, None)?;
            tuned::require(&read.experiment, &plan)?;
            State::create(&dir, &plan, &read.text)?
        };
        if state.finished().is_some() {
            continue;
        }
        if !args.quiet {
            let cost = plan::Cost::of(&experiment_of(state.text(), state.plan())?, state.plan());
            remark(&format!(
                "{} {}: {} runs, {}",
                study.name,
                part.name,
                cost.runs,
                cost.time()
            ));
        }
        let experiment = experiment_of(state.text(), state.plan())?;
        let manner = Manner {
            quiet: args.quiet,
            jobs: args.jobs.jobs,
            ..Manner::default()
        };
        let ending = go_on(store, &experiment, &mut state, stop.clone(), manner)?;
        if ending == Ending::Stopped {
            return Ok(Carried::Stopped);
        }
    }
    Ok(Carried::Done(note))
}

/// Whether every cell has a valid run; names those that have none.
fn is_whole(store: &Store, note: &Note) -> Result<bool, CliError> {
    let mut whole = true;
    for part in &note.parts {
        let Some(name) = &part.experiment else {
            continue;
        };
        let summary = status::summary(&dir_of(store.home(), name))?;
        if !summary.unmeasured().is_empty() {
            whole = false;
            remark(status::without_valid_run(&summary).trim_end());
        }
    }
    Ok(whole)
}

/// Returns the carrying out that is to go on, or a new one.
fn find(
    store: &Store,
    study: &Study,
    args: &StudyRunArgs,
    (of, stop): (usize, &StopRequest),
) -> Result<Note, CliError> {
    let (home, scale, wish) = (store.home(), scale::name(args), scale::wish(args));
    if !args.new
        && let Some(note) = Note::read(home, &study.name, None)?
        && note.scale == scale
        && note.wish == wish
        && !note.is_over(home)
    {
        remark(&format!(
            "Continuing {} {}, which is unfinished; --new starts another.",
            study.name, note.number
        ));
        return Ok(note);
    }
    let number = Note::next(home, &study.name);
    let built = built::of(home, study, args, stop)?;
    let pair = built.as_ref().map(|built| &built.pair);
    let kernels = kernels::of(args, pair, home)?;
    let machine = scale::of_machine(&kernels)?;
    let mut note = Note::new(&study.name, number, scale, wish);
    note.built = built.map(|built| built.steps).unwrap_or_default();
    for part in &study.parts {
        let skipped = scale::lack_of_part(part, args, &kernels);
        let given = &args.parameter;
        let parameters = scale::of_part(study, &part.name, scale, number, &machine, given);
        note.parts.push(PartNote {
            name: part.name.clone(),
            experiment: None,
            skipped,
            parameters,
        });
    }
    for (name, _) in &args.parameter {
        let known = note
            .parts
            .iter()
            .any(|part| part.parameters.contains_key(name));
        if !known && args.name != ALL {
            return Err(CliError::usage(format!(
                "--parameter {name}: {} has no such parameter",
                study.name
            ))
            .hint(format!("it has {}", names(&note))));
        }
    }
    let done = |part: &&PartNote| part.skipped.is_none();
    let weight = |part: &PartNote| study.part(&part.name).map_or(1.0, |part| part.weight);
    let weights: f64 = note.parts.iter().filter(done).map(weight).sum();
    let mut lacks = Vec::new();
    for part in &mut note.parts {
        if part.skipped.is_some() {
            continue;
        }
        if let Some(budget) = args.budget {
            #[expect(clippy::cast_precision_loss, reason = "a handful of studies")]
            let share = budget.as_secs_f64() / of as f64 * weight(part) / weights;
            let room = scale::fit(study, &part.name, &mut part.parameters, share)?;
            lacks.extend(room.lack(&format!("{} {}", study.name, part.name)));
        }
        // What cannot be planned at all fails before anything is begun.
        let read = scale::experiment(study, &part.name, &part.parameters)?;
        match plan::of(&read, Some(0)) {
            Ok(_) => part.experiment = Some(read.experiment.name),
            Err(err) if err.exit() == Exit::Unsupported => {
                part.skipped = Some(
                    err.cause()
                        .map_or_else(|| err.what().to_owned(), ToString::to_string),
                );
            }
            Err(err) => return Err(err),
        }
    }
    for lack in &lacks {
        remark(lack);
    }
    if !lacks.is_empty() {
        remark("With fewer runs, expect more `too few runs` verdicts.");
    }
    note.write(home)?;
    Ok(note)
}

/// The parameters of all parts.
fn names(note: &Note) -> String {
    let all = note.parts.iter().flat_map(|part| part.parameters.keys());
    let all: BTreeSet<&str> = all.map(String::as_str).into_set();
    all.into_iter().collect::<Vec<_>>().join(", ")
}
