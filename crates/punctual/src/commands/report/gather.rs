// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! From what the user named to what a report is made of.

use std::path::Path;

use punctual_model::tasks::TASKS_CHECK_FORMAT;
use punctual_model::{
    ASSESSMENT_FORMAT, COMPARISON_FORMAT, DIAGNOSIS_FORMAT, EXPERIMENT_RESULTS_FORMAT,
    EXTRAPOLATION_FORMAT, FLEET_FORMAT, HISTORY_FORMAT, LATENCY_TEST_FORMAT, MACHINES_FORMAT,
    Ordered as _, PROCESS_DIAGNOSIS_FORMAT, STUDY_REPORT_FORMAT, StudyReport, TRIAL_FORMAT,
};
use punctual_report::document::{Material, Printed};
use punctual_store::{Store, decode};
use punctual_verdict::comparison::{ComparisonRequest, compare};
use punctual_verdict::select::{self, Chosen, Found, RunSource};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::cli::ReportArgs;
use crate::error::CliError;
use crate::experiments::results::Wish;
use crate::pages::{items, made_now};
use crate::{experiments, home};

/// A file is at most this: a comparison of hundreds of runs has some hundred kB.
const FILE_LIMIT: u64 = 64 << 20;

/// Reads all that was named.
pub(super) fn material(home: Option<&Path>, args: &ReportArgs) -> Result<Material, CliError> {
    let mut material = made_now();
    if args.what.iter().any(String::is_empty) {
        return Err(CliError::usage("report: empty name"));
    }
    let found = match args.compare {
        true => compared(home, args, &mut material)?,
        false => each(home, args, &mut material)?,
    };
    let mut sources: Vec<(RunSource, String)> = Vec::new();
    for (what, found) in found {
        let mut runs = found.runs;
        for run in found.unreadable {
            if material.unreadable.iter().all(|other| other.id != run.id) {
                material.unreadable.push(run);
            }
        }
        // A store lists the newest first, and a page is read from the oldest.
        runs.order_by(|a, b| a.record().started.cmp(&b.record().started));
        for source in runs {
            if sources
                .iter()
                .all(|(other, _)| other.record().id != source.record().id)
            {
                sources.push((source, what.clone()));
            }
        }
    }
    // Runs that were named by several arguments are groups as they were named, whatever they are called.
    let grouped = sources.array_windows().any(|[(_, a), (_, b)]| a != b);
    let (sources, names): (Vec<_>, Vec<_>) = sources.into_iter().unzip();
    material.runs = items(sources)?;
    for (run, name) in material.runs.iter_mut().zip(names).filter(|_| grouped) {
        run.group = Some(name);
    }
    Ok(material)
}

/// What was named, and the runs that each means.
type Named = Vec<(String, Found)>;

/// Finds the runs of each group, and compares the groups as `compare` does without options.
fn compared(
    home: Option<&Path>,
    args: &ReportArgs,
    material: &mut Material,
) -> Result<Named, CliError> {
    let wanted = select::groups(&args.what, &[])?;
    let mut found = select::find(&Store::open_existing(home::find(home)?)?, &wanted)?;
    let groups = select::of_sources(found.clone(), &Chosen::default())?;
    // The comparison says it.
    for (_, found) in &mut found {
        found.unreadable.clear();
    }
    let comparison = compare(groups, &ComparisonRequest::default())?;
    material.comparisons.push(comparison);
    Ok(found)
}

/// Finds the runs of each thing that was named; what is no run goes into the material.
fn each(
    home: Option<&Path>,
    args: &ReportArgs,
    material: &mut Material,
) -> Result<Named, CliError> {
    let mut store = Lazy { home, store: None };
    let mut found = Vec::new();
    for what in &args.what {
        if !json(what, material)? {
            found.push((what.clone(), of(what, &mut store, material)?));
        }
    }
    Ok(found)
}

/// The store, opened when something in it is named: files need none.
struct Lazy<'a> {
    home: Option<&'a Path>,
    store: Option<Store>,
}

impl Lazy<'_> {
    fn open(&mut self) -> Result<&Store, CliError> {
        let store = match self.store.take() {
            Some(store) => store,
            None => Store::open_existing(home::find(self.home)?)?,
        };
        Ok(self.store.insert(store))
    }
}

/// Runs, or an experiment: its name is that of its runs too.
fn of(what: &str, store: &mut Lazy<'_>, material: &mut Material) -> Result<Found, CliError> {
    let path = Path::new(what);
    if what.contains('/') || path.exists() {
        return Ok(select::at_path(path)?.into());
    }
    let store = store.open()?;
    if is_experiment(store, what) {
        if experiments::results::has_one_cell(store, what)? {
            // Nothing is compared: its runs are what there is to show.
            let mut found = select::resolve(store, &format!("tag:experiment={what}"))?;
            let counts = |run: &RunSource| !run.record().tags.contains_key("warm-up");
            found.runs.retain(counts);
            return Ok(found);
        }
        material
            .experiments
            .push(experiments::results::of(store, what, &Wish::default())?);
        let runs = select::resolve(store, &format!("tag:experiment={what}"))?;
        let records = runs.runs.into_iter().map(RunSource::into_record);
        material.behind.extend(records);
        return Ok(Found::default());
    }
    Ok(select::resolve(store, what)?)
}

fn is_experiment(store: &Store, name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    name.chars().all(plain)
        && name.chars().any(|c| c != '.')
        && experiments::dir_of(store.home(), name)
            .join("experiment.toml")
            .exists()
}

#[derive(Deserialize)]
struct Head {
    format: Option<String>,
}

/// Takes a file of what `--json` printed, other than a run; says whether it was one.
fn json(what: &str, material: &mut Material) -> Result<bool, CliError> {
    let path = Path::new(what);
    if !path.is_file() {
        return Ok(false);
    }
    let failed = || CliError::failed_to(format!("read {what}"));
    let text = decode::text(path, FILE_LIMIT).map_err(|err| failed().because(err))?;
    decode::parts(text.as_bytes()).map_err(|what| failed().because(what))?;
    let head: Head = serde_json::from_slice(text.as_bytes()).map_err(|err| {
        failed().because(err).hint(
            "a file is the JSON that measure, compare, history, experiment results, study report, assess, doctor, fleet, tasks check, \
             latency-test or trial print with --json; import the output of other tools first with `punctual runs import`",
        )
    })?;
    let mut printed = |result| material.printed.push(result);
    match head.format.as_deref() {
        Some(COMPARISON_FORMAT) => material.comparisons.push(parsed(&text, what)?),
        Some(MACHINES_FORMAT) => material.machines.push(parsed(&text, what)?),
        Some(HISTORY_FORMAT) => material.histories.push(parsed(&text, what)?),
        Some(EXPERIMENT_RESULTS_FORMAT) => material.experiments.push(parsed(&text, what)?),
        Some(ASSESSMENT_FORMAT) => material.assessments.push(parsed(&text, what)?),
        Some(FLEET_FORMAT) => material.fleets.push(parsed(&text, what)?),
        Some(DIAGNOSIS_FORMAT) => material.diagnoses.push(parsed(&text, what)?),
        Some(TASKS_CHECK_FORMAT) => printed(Printed::TasksCheck(parsed(&text, what)?)),
        Some(LATENCY_TEST_FORMAT) => printed(Printed::LatencyTest(parsed(&text, what)?)),
        Some(TRIAL_FORMAT) => printed(Printed::Trial(parsed(&text, what)?)),
        Some(PROCESS_DIAGNOSIS_FORMAT) => printed(Printed::Processes(parsed(&text, what)?)),
        Some(EXTRAPOLATION_FORMAT) => printed(Printed::Extrapolation(parsed(&text, what)?)),
        Some(STUDY_REPORT_FORMAT) => {
            let report: StudyReport = parsed(&text, what)?;
            material.studies.extend(report.studies);
        }
        _ => return Ok(false),
    }
    Ok(true)
}

fn parsed<T: DeserializeOwned>(text: &str, what: &str) -> Result<T, CliError> {
    serde_json::from_slice(text.as_bytes())
        .map_err(|err| CliError::failed_to(format!("read {what}")).because(err))
}
