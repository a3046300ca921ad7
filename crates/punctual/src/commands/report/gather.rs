// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! From what the user named to what a report is made of.

use std::path::Path;

use punctual_model::{
    ASSESSMENT_FORMAT, COMPARISON_FORMAT, DIAGNOSIS_FORMAT, EXPERIMENT_RESULTS_FORMAT,
    STUDY_REPORT_FORMAT, StudyReport,
};
use punctual_report::document::{Material, Part, RunItem};
use punctual_store::{Store, StoredRun, decode};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::maxima;
use crate::cli::{ExperimentResultsArgs, Percent, ReportArgs};
use crate::commands::compare::{self, select};
use crate::commands::experiment;
use crate::commands::runs::content;
use crate::error::CliError;
use crate::home;

/// A file is at most this: a comparison of hundreds of runs has some hundred kB.
const FILE_LIMIT: u64 = 64 << 20;

/// Bytes that the histograms of a page take: those of 250 runs of eight threads.
const HISTOGRAMS: usize = 512 << 20;

/// Reads all that was named.
pub(super) fn material(home: Option<&Path>, args: &ReportArgs) -> Result<Material, CliError> {
    let mut material = super::made_now();
    let mut sources: Vec<(select::Source, &str)> = Vec::new();
    let mut store = Lazy { home, store: None };
    for what in &args.what {
        if what.is_empty() {
            return Err(CliError::usage("report: an empty name names no run"));
        }
        let mut found = match json(what, &mut material)? {
            true => Vec::new(),
            false => of(what, args.compare, &mut store, &mut material)?,
        };
        // A store lists the newest first, and a page is read from the oldest.
        found.sort_by(|a, b| a.record().started.cmp(&b.record().started));
        for source in found {
            if sources
                .iter()
                .all(|(other, _)| other.record().id != source.record().id)
            {
                sources.push((source, what));
            }
        }
    }
    if args.compare {
        let groups: Vec<String> = args.what.clone();
        material
            .comparisons
            .push(compare::of_groups(store.open()?, &groups)?);
    }
    // One name for several runs makes them a group beside the others.
    let of = |what: &str| sources.iter().filter(|(_, by)| *by == what).count();
    let several = |what: &String| (2..sources.len()).contains(&of(what));
    let grouped = args.what.iter().any(several);
    let (sources, names): (Vec<_>, Vec<_>) = sources.into_iter().unzip();
    material.runs = items(sources)?;
    for (run, name) in material.runs.iter_mut().zip(names).filter(|_| grouped) {
        run.group = Some(name.to_owned());
    }
    Ok(material)
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
fn of(
    what: &str,
    groups: bool,
    store: &mut Lazy<'_>,
    material: &mut Material,
) -> Result<Vec<select::Source>, CliError> {
    let path = Path::new(what);
    if what.contains('/') || path.exists() {
        return select::at_path(path);
    }
    let store = store.open()?;
    if !groups && is_experiment(store, what) {
        if experiment::results::has_one_cell(store, what)? {
            // Nothing is compared: its runs are what there is to show.
            let mut runs = select::resolve(store, &format!("tag:experiment={what}"))?;
            runs.retain(|run| !run.record().tags.contains_key("warm-up"));
            return Ok(runs);
        }
        let args = ExperimentResultsArgs {
            name: what.to_owned(),
            metric: Vec::new(),
            equivalence: None,
            not_worse: None,
            effect: Percent(0.1),
            level: None,
            require: Vec::new(),
            burst: None,
            fail_on: Vec::new(),
            allow_invalid: false,
            json: false,
        };
        material
            .experiments
            .push(experiment::results::of(store, &args)?);
        let runs = select::resolve(store, &format!("tag:experiment={what}"))?;
        let records = runs.iter().map(|run| run.record().clone());
        material.behind.extend(records);
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    let selectors: Vec<&str> = match groups {
        true => what.split(',').collect(),
        false => vec![what],
    };
    for selector in selectors {
        found.extend(select::resolve(store, selector)?);
    }
    Ok(found)
}

fn is_experiment(store: &Store, name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    name.chars().all(plain)
        && name.chars().any(|c| c != '.')
        && experiment::dir_of(store.home(), name)
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
    let text = select::read_text(path, FILE_LIMIT).map_err(|err| failed().because(err))?;
    decode::parts(text.as_bytes()).map_err(|what| failed().because(what))?;
    let head: Head = serde_json::from_str(&text).map_err(|err| {
        failed().because(err).hint(
            "a file is the JSON that measure, compare, experiment results, study report, assess or doctor print with \
             --json; what other tools wrote is first imported with `punctual runs import`",
        )
    })?;
    match head.format.as_deref() {
        Some(COMPARISON_FORMAT) => material.comparisons.push(parsed(&text, what)?),
        Some(EXPERIMENT_RESULTS_FORMAT) => material.experiments.push(parsed(&text, what)?),
        Some(ASSESSMENT_FORMAT) => material.assessments.push(parsed(&text, what)?),
        Some(DIAGNOSIS_FORMAT) => material.diagnoses.push(parsed(&text, what)?),
        Some(STUDY_REPORT_FORMAT) => {
            let report: StudyReport = parsed(&text, what)?;
            material.studies.extend(report.studies);
        }
        _ => return Ok(false),
    }
    Ok(true)
}

fn parsed<T: DeserializeOwned>(text: &str, what: &str) -> Result<T, CliError> {
    serde_json::from_str(text)
        .map_err(|err| CliError::failed_to(format!("read {what}")).because(err))
}

/// Runs with their histograms and what they said over time.
pub(crate) fn items(sources: Vec<select::Source>) -> Result<Vec<RunItem>, CliError> {
    let mut left = HISTOGRAMS;
    let mut items = Vec::new();
    for source in sources {
        let item = item(source)?;
        let bytes = item.parts.iter().map(|part| part.histogram.memory_bytes());
        left = left.checked_sub(bytes.sum()).ok_or_else(|| {
            CliError::failed_to("draw these runs together")
                .because(format!(
                    "their histograms take more than {} MiB",
                    HISTOGRAMS >> 20
                ))
                .hint("name fewer runs")
        })?;
        items.push(item);
    }
    Ok(items)
}

/// A run with its histograms and what it said over time.
pub(crate) fn item(source: select::Source) -> Result<RunItem, CliError> {
    match source {
        select::Source::Record(record) => Ok(RunItem {
            record: *record,
            parts: Vec::new(),
            group: None,
            maxima: Vec::new(),
        }),
        select::Source::Stored(run) => {
            let parts = parts(&run)?;
            let maxima = maxima::of(&run)?;
            Ok(RunItem {
                record: run.into_record(),
                parts,
                group: None,
                maxima,
            })
        }
    }
}

/// The histograms of a run; their tags are thread and kind: `0`, `0/handler`, `all/handler`.
fn parts(run: &StoredRun) -> Result<Vec<Part>, CliError> {
    let failed = || CliError::failed_to(format!("read the histograms of run {}", run.record().id));
    let log = content::histograms(run).map_err(|err| failed().because(err))?;
    let Some(log) = log else {
        return Ok(Vec::new());
    };
    // `0-response` is how `deadline` wrote them once.
    let dashed = run.record().instrument == "deadline";
    let part = |(number, entry): (u32, punctual_stats::TaggedHistogram)| {
        let tag = entry.tag.unwrap_or_else(|| number.to_string());
        let parts = tag.split_once('/');
        let (thread, context) = match parts.or_else(|| tag.split_once('-').filter(|_| dashed)) {
            Some((thread, context)) => (thread, Some(context.to_owned())),
            None => (tag.as_str(), None),
        };
        Part {
            thread: match thread {
                "all" => None,
                thread => Some(thread.parse().unwrap_or(number)),
            },
            context,
            histogram: entry.histogram,
        }
    };
    Ok((0..).zip(log.entries).map(part).collect())
}
