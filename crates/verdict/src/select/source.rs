// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! From a word of the user to runs.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use punctual_model::{Nanos, RefusedRun, RunListFigures, RunRecord};
use punctual_stats::runs::bootstrap::SampleBlocks;
use punctual_stats::{Accumulator, Keep, LatencyHistogram};
use punctual_store::{
    Filter, FindError, RECORD_LIMIT, ReadError, Store, StoredRun, decode, is_leftover,
};

use super::error::{PathFault, SelectError};
use crate::requirement::Required;

/// Blocks that the samples of a run are cut into where it is drawn again from them.
const SAMPLE_BLOCKS: usize = 32;

/// A run, in a directory or as a record alone.
#[derive(Clone, Debug)]
pub enum RunSource {
    /// In a directory.
    Stored(StoredRun),
    /// As a record alone, which has no samples and no histograms.
    Record(Box<RunRecord>),
}

impl RunSource {
    /// Returns the record.
    pub fn record(&self) -> &RunRecord {
        match self {
            Self::Stored(run) => run.record(),
            Self::Record(record) => record,
        }
    }

    /// Returns the record alone.
    pub fn into_record(self) -> RunRecord {
        match self {
            Self::Stored(run) => run.into_record(),
            Self::Record(record) => *record,
        }
    }

    pub(super) fn id(&self) -> &str {
        &self.record().id
    }

    fn stored(&self) -> Option<&StoredRun> {
        match self {
            Self::Stored(run) => Some(run),
            Self::Record(_) => None,
        }
    }

    /// All samples, where the run keeps a histogram of those of its total.
    pub(super) fn histogram(&self) -> Result<Option<LatencyHistogram>, SelectError> {
        let Self::Stored(run) = self else {
            return Ok(None);
        };
        run.histogram().map_err(|source| SelectError::Histograms {
            run: self.id().to_owned(),
            source,
        })
    }

    /// All samples that requirements with these limits are about, where there are such limits and the run keeps histograms.
    pub(super) fn required(&self, limits: &[u64]) -> Result<Option<Required>, SelectError> {
        let Some(run) = self.stored().filter(|_| !limits.is_empty()) else {
            return Ok(None);
        };
        let histogram = run.required().map_err(|source| SelectError::Histograms {
            run: self.id().to_owned(),
            source,
        })?;
        let Some(histogram) = histogram else {
            return Ok(None);
        };
        let worth = match run.has_samples() {
            true => worth(run, limits).map_err(|source| SelectError::Samples {
                run: self.id().to_owned(),
                source,
            })?,
            false => Vec::new(),
        };
        Ok(Some(Required { histogram, worth }))
    }

    /// All samples in the order in which they were measured, in blocks, where the run keeps them and
    /// they are enough.
    pub(super) fn blocks(&self, most: u64) -> Result<Option<SampleBlocks>, SelectError> {
        let threads = match self {
            Self::Stored(run) if self.record().total.count <= most && run.has_samples() => {
                run.latencies().map_err(|source| SelectError::Samples {
                    run: self.id().to_owned(),
                    source,
                })?
            }
            _ => return Ok(None),
        };
        let count: usize = threads.iter().map(Vec::len).sum();
        // Samples of several kinds are not those of the total.
        let whole = count as u64 == self.record().total.count;
        Ok(SampleBlocks::of_threads(&threads, SAMPLE_BLOCKS).filter(|_| whole))
    }
}

/// How many independent samples those above each limit, or those of the tail, are worth in the thread in which they are
/// worth least.
fn worth(run: &StoredRun, limits: &[u64]) -> Result<Vec<(Nanos, f64)>, ReadError> {
    /// Samples of a thread that are handed on at a time.
    const BLOCK: usize = 256;
    let keep = Keep {
        thresholds_ns: limits.to_vec(),
        psquare: false,
    };
    let mut threads: BTreeMap<u32, (Accumulator, Vec<u64>)> = BTreeMap::new();
    for sample in run.samples()? {
        let sample = sample?;
        let new = || (Accumulator::new(&keep), Vec::with_capacity(BLOCK));
        let (tally, block) = threads.entry(sample.thread).or_insert_with(new);
        block.push(run.record().not_below(sample.latency_ns));
        if block.len() == BLOCK {
            tally.record_slice(block);
            block.clear();
        }
    }
    let mut least: BTreeMap<u64, f64> = BTreeMap::new();
    for (mut tally, block) in threads.into_values() {
        tally.record_slice(&block);
        let tail = tally.tail_effective_samples();
        for above in tally.above() {
            for worth in [above.effective, tail].into_iter().flatten() {
                let least = least.entry(above.threshold_ns).or_insert(worth);
                *least = least.min(worth);
            }
        }
    }
    let least = least.into_iter().filter(|(_, worth)| *worth > 0.0);
    Ok(least
        .map(|(limit, worth)| (Nanos::new(limit), worth))
        .collect())
}

/// The runs that a selector means.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// Those that can be read.
    pub runs: Vec<RunSource>,
    /// Those that belong to them, or may, and cannot be read.
    pub unreadable: Vec<RefusedRun>,
}

impl From<Vec<RunSource>> for Found {
    fn from(runs: Vec<RunSource>) -> Self {
        Self {
            runs,
            unreadable: Vec::new(),
        }
    }
}

/// Finds the runs that a selector means: an id, a name, a pattern, a tag, a host, a path.
///
/// # Errors
/// [`SelectError`] if it means none that can be read.
pub fn resolve(store: &Store, selector: &str) -> Result<Found, SelectError> {
    if selector.is_empty() {
        return Err(SelectError::Empty);
    }
    let path = Path::new(selector);
    if selector.contains('/') || path.exists() {
        return at_path(path).map(Found::from);
    }
    if let Some(tag) = selector.strip_prefix("tag:") {
        let Some((key, value)) = tag.split_once('=') else {
            return Err(SelectError::Tag {
                selector: selector.to_owned(),
            });
        };
        return listed(store, selector, |run| {
            run.tags.get(key).is_some_and(|of| of == value)
        });
    }
    if let Some(host) = selector.strip_prefix("host:") {
        return listed(store, selector, |run| run.host.as_deref() == Some(host));
    }
    let name = |run: &RunListFigures| run.name.clone().unwrap_or_default();
    if selector.contains(['*', '?']) {
        return listed(store, selector, |run| matches(selector, &name(run)));
    }
    let none = match listed(store, selector, |run| name(run) == selector) {
        Err(err @ SelectError::NoRuns { .. }) => err,
        found => return found,
    };
    // No name: an id, or the error that says what there is.
    match (store.find(selector), none) {
        (Ok(run), _) => Ok(vec![RunSource::Stored(run)].into()),
        (
            Err(FindError::NotFound { .. }),
            none @ SelectError::NoRuns {
                unreadable: 1.., ..
            },
        ) => Err(none),
        (Err(source), _) => Err(SelectError::Find {
            home: store.home().to_owned(),
            source,
        }),
    }
}

/// The runs of the store that are wanted. One that cannot be read is wanted as it was when it could be; what was never read
/// may be any run.
fn listed(
    store: &Store,
    selector: &str,
    wanted: impl Fn(&RunListFigures) -> bool,
) -> Result<Found, SelectError> {
    let failed = |source| SelectError::Index {
        selector: selector.to_owned(),
        source,
    };
    let index = store.index().map_err(failed)?;
    let mut found = Found::default();
    for row in index.list(&Filter::default()).map_err(failed)? {
        let (known, problem) = match row.figures {
            Ok(figures) => (Some(figures), None),
            Err(problem) => (row.before, Some(problem)),
        };
        if known.as_ref().is_some_and(|known| !wanted(known)) {
            continue;
        }
        let problem = match problem {
            Some(problem) => problem,
            None => match store.entry(row.id).run {
                Ok(run) => {
                    found.runs.push(RunSource::Stored(run));
                    continue;
                }
                Err(err) => err.to_string(),
            },
        };
        let may = match known {
            Some(_) => "",
            None => ", so it may belong here",
        };
        found.unreadable.push(RefusedRun {
            id: row.id.to_string(),
            reason: format!("cannot be read{may}: {problem}"),
            started: known.and_then(|known| known.started),
            unreadable: true,
        });
    }
    match found.runs.is_empty() {
        true => Err(SelectError::NoRuns {
            selector: selector.to_owned(),
            home: store.home().to_owned(),
            unreadable: found.unreadable.len(),
        }),
        false => Ok(found),
    }
}

/// Reads a run's directory, a directory of those, or a record.
///
/// # Errors
/// [`SelectError::Path`] if it is none of these, or cannot be read.
pub fn at_path(path: &Path) -> Result<Vec<RunSource>, SelectError> {
    sources(path).map_err(|source| SelectError::Path {
        path: path.to_owned(),
        source,
    })
}

fn sources(path: &Path) -> Result<Vec<RunSource>, PathFault> {
    let open = |path: &Path| Ok(RunSource::Stored(StoredRun::open(path)?));
    if path.is_dir() {
        if path.join("run.json").exists() {
            return Ok(vec![open(path)?]);
        }
        let entries = path.read_dir()?;
        let mut inside: Vec<PathBuf> = entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.join("run.json").exists() && !is_leftover(path))
            .collect();
        inside.sort_unstable();
        if inside.is_empty() {
            return Err(PathFault::NoRun);
        }
        return inside.iter().map(|path| open(path)).collect();
    }
    let text = decode::text(path, RECORD_LIMIT)?;
    decode::parts(text.as_bytes()).map_err(io::Error::other)?;
    let record: RunRecord = serde_json::from_slice(text.as_bytes())?;
    Ok(vec![RunSource::Record(Box::new(record))])
}

/// Whether a name fits a pattern in which * is any characters and ? is one.
fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), name.chars().collect());
    let (mut at, mut in_name) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while in_name < name.len() {
        match pattern.get(at) {
            Some('*') => {
                retry = Some((at + 1, in_name));
                at += 1;
            }
            Some(c) if *c == '?' || name.get(in_name) == Some(c) => {
                at += 1;
                in_name += 1;
            }
            _ => match &mut retry {
                // The last star takes one character more.
                Some((after, taken)) => {
                    *taken += 1;
                    (at, in_name) = (*after, *taken);
                }
                None => return false,
            },
        }
    }
    pattern.iter().skip(at).all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_a_shell_does() {
        for (pattern, name, fits) in [
            ("before-*", "before-1", true),
            ("before-*", "before-", true),
            ("before-*", "abefore-1", false),
            ("*", "", true),
            ("?", "", false),
            ("*a*b", "xaxbxb", true),
            ("*a*b", "xaxbxc", false),
            ("a?c", "aµc", true),
        ] {
            assert_eq!(matches(pattern, name), fits, "{pattern} {name}");
        }
    }
}
