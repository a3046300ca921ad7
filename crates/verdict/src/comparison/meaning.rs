// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What must not be compared at all: figures that mean different things, and one run with itself.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use punctual_model::{Finding, Instrument, RefusedRun, RunRecord, RunSpec};

use super::{CompareError, GroupInput, Metric, Table, default_metrics};

/// What the samples of an instrument are, where several tools measure the same.
fn meaning(run: &RunRecord) -> (&str, &str) {
    let name = run.instrument.as_str();
    let what = Instrument::of(name).map_or(name, |instrument| instrument.meaning);
    // Of what has several kinds, `thread` is what the others measure.
    let kind = run.total.context.as_deref().unwrap_or("thread");
    (what, kind)
}

/// Refuses runs of instruments that measure different things: their figures have a name and a unit
/// in common, and nothing else.
pub(super) fn one_meaning(groups: &[GroupInput]) -> Result<(), CompareError> {
    let mut runs = groups
        .iter()
        .flat_map(|group| &group.runs)
        .map(|run| &run.record);
    let Some(first) = runs.next() else {
        return Ok(());
    };
    let told = |run: &RunRecord| match run.total.context.as_deref() {
        Some(kind) => format!("{} ({kind})", run.instrument),
        None => run.instrument.clone(),
    };
    match runs.find(|run| meaning(run) != meaning(first)) {
        Some(other) => Err(CompareError::Meaning {
            first: first.id.clone(),
            first_is: told(first),
            other: other.id.clone(),
            other_is: told(other),
        }),
        None => Ok(()),
    }
}

/// Refuses results that some runs state in another unit.
pub(super) fn one_unit(groups: &[GroupInput], table: &Table) -> Result<(), CompareError> {
    for metric in &table.metrics {
        let runs = groups.iter().flat_map(|group| &group.runs);
        units(metric, runs.map(|run| &run.record))?;
    }
    Ok(())
}

/// Refuses a result that some runs state in another unit.
pub(crate) fn units<'a>(
    metric: &Metric,
    records: impl Iterator<Item = &'a RunRecord>,
) -> Result<(), CompareError> {
    let mut units: Vec<&str> = Vec::new();
    for figure in records.filter_map(|run| metric.figure(run)) {
        if !units.contains(&figure.unit.as_str()) {
            units.push(&figure.unit);
        }
    }
    match units.len() {
        0 | 1 => Ok(()),
        _ => Err(CompareError::Unit {
            figure: metric.to_string(),
            units: units.join(" and "),
        }),
    }
}

/// Says which figures that were asked for no run has, if there are any.
pub(crate) fn missing(figures: &[String]) -> Option<Finding> {
    let detail = || format!("no run has {}", figures.join(", "));
    (!figures.is_empty()).then(|| Finding::observed("missing", detail()))
}

/// Takes imported runs out that have the samples of another one: a file that was imported twice is
/// one run.
///
/// # Errors
///
/// [`CompareError::Twice`] where the other one is in another group.
pub(super) fn once(groups: &mut [GroupInput]) -> Result<(), CompareError> {
    let mut seen: BTreeMap<String, (String, String)> = BTreeMap::new();
    for group in groups {
        let mut kept = Vec::new();
        for run in std::mem::take(&mut group.runs) {
            let Some(samples) = fingerprint(&run.record) else {
                kept.push(run);
                continue;
            };
            match seen.get(&samples) {
                Some((other, of)) if *of == group.name => group.refused.push(RefusedRun {
                    id: run.record.id.clone(),
                    reason: format!("it has the same samples as run {other}"),
                    started: run.record.started.clone(),
                    unreadable: false,
                }),
                Some((other, of)) => {
                    return Err(CompareError::Twice {
                        run: run.record.id.clone(),
                        group: group.name.clone(),
                        other: other.clone(),
                        other_group: of.clone(),
                    });
                }
                None => {
                    seen.insert(samples, (run.record.id.clone(), group.name.clone()));
                    kept.push(run);
                }
            }
        }
        group.runs = kept;
    }
    Ok(())
}

/// Takes runs in virtual time out that repeat another one of their group: with the same guest and seed, a run is the
/// same run again, and no further observation.
pub(super) fn without_copies(group: &mut GroupInput) {
    let mut seen: BTreeMap<String, String> = BTreeMap::new();
    let refused = &mut group.refused;
    group.runs.retain(|run| {
        let record = &run.record;
        let Some((boot, seed)) = boot(record) else {
            return true;
        };
        match seen.entry(boot) {
            Entry::Vacant(place) => {
                place.insert(record.id.clone());
                true
            }
            Entry::Occupied(first) => {
                refused.push(RefusedRun {
                    id: record.id.clone(),
                    reason: format!(
                        "it is a copy of run {}: the same guest in virtual time, with the same seed ({seed})",
                        first.get()
                    ),
                    started: record.started.clone(),
                    unreadable: false,
                });
                false
            }
        }
    });
}

/// What a run in virtual time follows from, and its seed. How long it was measured is no part of it: the shorter one is
/// how the longer one begins. `None` of a run in real time.
fn boot(run: &RunRecord) -> Option<(String, u64)> {
    let guest = run.guest.as_ref().filter(|guest| guest.is_virtual())?;
    let spec = run.spec.clone().map(|spec| RunSpec {
        duration_ns: None,
        samples: None,
        until: Vec::new(),
        on_threshold_ns: None,
        deadlines_ns: Vec::new(),
        ..spec
    });
    let all = (&run.instrument, guest, &run.host, spec, &run.setup);
    Some((serde_json::to_string(&all).ok()?, guest.seed))
}

/// Returns a group with each run once, and the figures that are meant.
///
/// # Errors
///
/// As [`once`].
pub(crate) fn of_one(
    group: GroupInput,
    metrics: &[Metric],
) -> Result<(GroupInput, Vec<Metric>), CompareError> {
    let mut groups = [group];
    once(&mut groups)?;
    let [group] = groups;
    let metrics = match metrics.is_empty() {
        true => default_metrics(group.runs.iter().map(|run| &run.record)),
        false => metrics.to_vec(),
    };
    Ok((group, metrics))
}

/// All that is recorded of the samples of an imported run, which no two runs have in common; where that
/// is little, with the name of the file. `None` of a measured run, which has an identity.
fn fingerprint(run: &RunRecord) -> Option<String> {
    let origin = run.origin.as_ref()?;
    let telling = run.total.count >= 20 && run.total.stddev_ns.is_some();
    let file = (!telling).then_some(&origin.file);
    let samples = (
        (&origin.format, file, run.duration_ns),
        (&run.series, &run.total, &run.figures),
    );
    serde_json::to_string(&samples).ok()
}
