// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! From what the user named to groups of runs with what a comparison needs of them.

mod error;
mod source;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use punctual_model::{Figure, Gathered as _, RefusedRun, RunRecord};
use punctual_stats::requirement::Requirement;
use punctual_store::Store;

pub use self::error::{PathFault, SelectError};
pub use self::source::{Found, RunSource, at_path, resolve};
use crate::comparison::{GroupInput, Metric, RunInput, default_metrics};
use crate::study::derived;

/// Samples of all runs of a group that are drawn again in blocks: more do not fit in memory, and the runs
/// beyond are drawn from their figures, as those are that keep no samples.
const SAMPLES_IN_BLOCKS: u64 = 8 << 20;

/// A group as it was named.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Wanted {
    /// Its name.
    pub name: String,
    /// What selects its runs, each as [`resolve`] takes it.
    pub selectors: Vec<String>,
}

/// What of the runs is needed, and which are taken.
#[derive(Clone, Copy, Debug, Default)]
pub struct Chosen<'a> {
    /// The figures; the usual ones where there are none.
    pub metrics: &'a [Metric],
    /// What is required of the runs.
    pub requirements: &'a [Requirement],
    /// Whether runs of which a check did not pass are taken too.
    pub allow_invalid: bool,
    /// Whether the samples of runs that keep them are read too.
    pub in_blocks: bool,
}

/// Takes the groups from what was named: each by the runs alone, or as `NAME=RUNS`.
///
/// # Errors
/// [`SelectError`] for fewer than two, for two of one name, and for one that is not written as a group.
pub fn groups(positional: &[String], named: &[String]) -> Result<Vec<Wanted>, SelectError> {
    let mut groups: Vec<Wanted> = positional
        .iter()
        .zip(names(positional))
        .map(|(text, name)| Wanted {
            name,
            selectors: selectors(text),
        })
        .collect();
    for text in named {
        groups.push(named_group(text)?);
    }
    if groups.len() < 2 {
        return Err(SelectError::Few);
    }
    for (at, group) in groups.iter().enumerate() {
        if groups.iter().take(at).any(|other| other.name == group.name) {
            return Err(twice(group, &groups[..at]));
        }
    }
    Ok(groups)
}

/// The names of groups: what was written, and of a path as many of its last parts as tell it from the others.
fn names(written: &[String]) -> Vec<String> {
    let parts = |text: &str| Path::new(text).components().count();
    let most = written.iter().map(|text| parts(text)).max().unwrap_or(0);
    let short = |text: &String, kept: usize| match Path::new(text).exists() {
        true => {
            let tail = Path::new(text).components();
            let tail = tail.skip(parts(text).saturating_sub(kept));
            tail.collect::<PathBuf>().display().to_string()
        }
        false => text.clone(),
    };
    let told = (1..most).map(|kept| written.iter().map(|text| short(text, kept)).collect());
    let mut told = told.filter(|names: &Vec<String>| {
        let different: BTreeSet<&String> = names.iter().into_set();
        different.len() == names.len()
    });
    told.next().unwrap_or_else(|| written.to_vec())
}

/// Two groups of one name: of the same runs, or of others.
fn twice(group: &Wanted, before: &[Wanted]) -> SelectError {
    let name = group.name.clone();
    match before.contains(group) {
        true => SelectError::Itself { name },
        false => SelectError::SameName {
            name,
            selector: group.selectors.first().cloned(),
        },
    }
}

/// One group of all runs that are named.
pub fn all_of(texts: &[String]) -> Wanted {
    Wanted {
        name: "runs".to_owned(),
        selectors: texts.iter().flat_map(|text| selectors(text)).collect(),
    }
}

fn named_group(text: &str) -> Result<Wanted, SelectError> {
    let wrong = || SelectError::Group {
        text: text.to_owned(),
    };
    let (name, runs) = text.split_once('=').ok_or_else(wrong)?;
    if name.is_empty() || runs.is_empty() {
        return Err(wrong());
    }
    if name == "tag" {
        return match runs.split_once('=') {
            Some((key, value)) if !key.is_empty() && !value.is_empty() => Ok(Wanted {
                name: runs.to_owned(),
                selectors: vec![format!("tag:{runs}")],
            }),
            _ => Err(wrong()),
        };
    }
    Ok(Wanted {
        name: name.to_owned(),
        selectors: selectors(runs),
    })
}

/// Divides at commas, unless all of it is a path.
fn selectors(text: &str) -> Vec<String> {
    if Path::new(text).exists() {
        return vec![text.to_owned()];
    }
    text.split(',').map(ToOwned::to_owned).collect()
}

/// Finds the runs of each group and reads of them what is needed.
///
/// # Errors
/// As [`find`] and [`of_sources`].
pub fn read(
    store: &Store,
    wanted: &[Wanted],
    chosen: &Chosen<'_>,
) -> Result<Vec<GroupInput>, SelectError> {
    of_sources(find(store, wanted)?, chosen)
}

/// Finds the runs of each group.
///
/// # Errors
/// [`SelectError`] if a selector means no run that can be read.
pub fn find(store: &Store, wanted: &[Wanted]) -> Result<Vec<(String, Found)>, SelectError> {
    let mut groups: Vec<(String, Found)> = Vec::new();
    for group in wanted {
        let mut found = Found::default();
        let mut seen: BTreeSet<String> = BTreeSet::new();
        for selector in &group.selectors {
            let plain = group.name == *selector || selector.starts_with("tag:");
            let found_by = resolve(store, selector).map_err(|err| match plain {
                true => err,
                false => SelectError::InGroup {
                    group: group.name.clone(),
                    selector: selector.clone(),
                    source: Box::new(err),
                },
            })?;
            for source in found_by.runs {
                if seen.insert(source.id().to_owned()) {
                    found.runs.push(source);
                }
            }
            for run in found_by.unreadable {
                if seen.insert(run.id.clone()) {
                    found.unreadable.push(run);
                }
            }
        }
        groups.push((group.name.clone(), found));
    }
    Ok(groups)
}

/// Reads what is needed of the runs of each group.
///
/// # Errors
/// [`SelectError`] if a run is in two groups, if runs in virtual time are mixed with others, or if a run's files cannot be read.
pub fn of_sources(
    groups: Vec<(String, Found)>,
    chosen: &Chosen<'_>,
) -> Result<Vec<GroupInput>, SelectError> {
    in_one_group_each(&groups)?;
    of_one_time(
        groups
            .iter()
            .flat_map(|(_, found)| &found.runs)
            .map(RunSource::record),
    )?;
    of_any_time(groups, chosen)
}

/// Reads the runs of groups as [`of_sources`] does, for whoever keeps those in virtual time apart from the others.
///
/// # Errors
/// [`SelectError`] if a run's files cannot be read.
pub fn of_any_time(
    groups: Vec<(String, Found)>,
    chosen: &Chosen<'_>,
) -> Result<Vec<GroupInput>, SelectError> {
    let records = || {
        groups
            .iter()
            .flat_map(|(_, found)| &found.runs)
            .map(RunSource::record)
    };
    // Only now is it known whether histograms have to be read, which takes longer than the rest.
    let usual = match chosen.metrics.is_empty() {
        true => default_metrics(records()),
        false => Vec::new(),
    };
    let chosen = match chosen.metrics.is_empty() {
        true => Chosen {
            metrics: &usual,
            ..*chosen
        },
        false => *chosen,
    };
    groups
        .into_iter()
        .map(|(name, found)| group(&name, found, &chosen))
        .collect()
}

/// Refuses to compare instruction counts with latencies: they share only the unit.
///
/// # Errors
/// [`SelectError::Times`].
pub fn of_one_time<'a>(records: impl Iterator<Item = &'a RunRecord>) -> Result<(), SelectError> {
    let (counted, real): (Vec<_>, Vec<_>) = records.partition(|record| record.is_virtual());
    match (counted.first(), real.first()) {
        (Some(counted), Some(real)) => Err(SelectError::Times {
            counted: counted.id.clone(),
            real: real.id.clone(),
        }),
        _ => Ok(()),
    }
}

fn in_one_group_each(groups: &[(String, Found)]) -> Result<(), SelectError> {
    let mut seen: BTreeMap<&str, &str> = BTreeMap::new();
    for (name, found) in groups {
        for run in &found.runs {
            if let Some(first) = seen.insert(run.id(), name) {
                return Err(SelectError::InTwo {
                    run: run.id().to_owned(),
                    first: first.to_owned(),
                    second: name.clone(),
                });
            }
        }
    }
    Ok(())
}

/// Makes a group of runs, with the histograms that are needed; refuses what is invalid or cannot be read.
///
/// # Errors
/// [`SelectError`] if a histogram or the samples of a run cannot be read.
pub fn group(name: &str, found: Found, chosen: &Chosen<'_>) -> Result<GroupInput, SelectError> {
    let mut group = GroupInput {
        name: name.to_owned(),
        runs: Vec::new(),
        refused: found.unreadable,
    };
    let mut left = SAMPLES_IN_BLOCKS;
    for source in found.runs {
        let record = source.record();
        let failed: Vec<&str> = record
            .checks
            .iter()
            .filter(|check| !check.passed())
            .map(|check| check.id.as_str())
            .collect();
        // Of an imported run nothing was checked, which the comparison says.
        if record.is_invalid() && !chosen.allow_invalid {
            group.refused.push(RefusedRun {
                id: record.id.clone(),
                reason: format!(
                    "invalid ({}); --allow-invalid compares it anyway",
                    failed.join(", ")
                ),
                started: record.started.clone(),
                unreadable: false,
            });
            continue;
        }
        let of_metric = chosen
            .metrics
            .iter()
            .any(|metric| metric.needs_histogram(record));
        let uncounted = |requirement: &Requirement| {
            let mut counted = record.total.misses.iter();
            counted.all(|misses| misses.deadline_ns.get() != requirement.limit_ns)
        };
        let histogram = match of_metric {
            true => source.histogram()?,
            false => None,
        };
        let uncounted = chosen.requirements.iter().filter(|of| uncounted(of));
        let limits: Vec<u64> = uncounted.map(|of| of.limit_ns).collect();
        let required = source.required(&limits)?;
        let blocks = match chosen.in_blocks {
            true => source.blocks(left)?,
            false => None,
        };
        if blocks.is_some() {
            left = left.saturating_sub(source.record().total.count);
        }
        let mut record = source.into_record();
        let asked = |figure: &Figure| {
            chosen
                .metrics
                .iter()
                .any(|metric| metric.is_figure(&figure.name))
        };
        let derived: Vec<Figure> = derived(&record).into_iter().filter(asked).collect();
        record.figures.extend(derived);
        group.runs.push(RunInput {
            started_s: record.started.as_deref().and_then(seconds),
            record,
            histogram,
            required,
            blocks,
        });
    }
    Ok(group)
}

fn seconds(started: &str) -> Option<f64> {
    Some(
        started
            .parse::<Timestamp>()
            .ok()?
            .as_duration()
            .as_secs_f64(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_named_by_what_tells_them_apart() {
        let dir = tempfile::tempdir().unwrap();
        let path = |part: &str| {
            let path = dir.path().join(part);
            std::fs::create_dir_all(&path).unwrap();
            path.display().to_string()
        };
        let (a, b, other) = (path("x/stock"), path("x/rt"), path("y/rt"));
        assert_eq!(names(&[a.clone(), b.clone()]), ["stock", "rt"]);
        assert_eq!(names(&[format!("{b}/"), other.clone()]), ["x/rt", "y/rt"]);
        assert_eq!(
            names(&[a.clone(), "name:rt*".to_owned()]),
            ["stock", "name:rt*"]
        );
        assert_eq!(names(&[a.clone(), a.clone()]), [a.clone(), a]);
    }

    #[test]
    fn groups_have_names_of_their_own() {
        let named = |text: &str| named_group(text).ok();
        let wanted = |name: &str, selectors: &[&str]| {
            Some(Wanted {
                name: name.to_owned(),
                selectors: selectors.iter().map(ToString::to_string).collect(),
            })
        };
        assert_eq!(named("a=x,y-*"), wanted("a", &["x", "y-*"]));
        assert_eq!(
            named("tag=kernel=rt"),
            wanted("kernel=rt", &["tag:kernel=rt"])
        );
        assert_eq!(named("a=tag:k=v"), wanted("a", &["tag:k=v"]));
        for text in ["a", "=x", "a=", "tag=kernel", "tag==v"] {
            assert_eq!(named(text), None, "{text}");
        }
        assert!(groups(&["a".to_owned()], &[]).is_err());
        assert!(groups(&["a".to_owned()], &["a=b".to_owned()]).is_err());
    }
}
