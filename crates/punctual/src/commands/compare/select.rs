// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! From what the user named to runs with what a comparison needs of them.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use punctual_model::{Check, RefusedRun, RunRecord};
use punctual_stats::LatencyHistogram;
use punctual_stats::requirement::Requirement;
use punctual_stats::runs::bootstrap::SampleBlocks;
use punctual_store::{Filter, Store, StoredRun, decode};
use punctual_verdict::comparison::{GroupInput, Metric, RunInput, default_metrics};

use crate::commands::runs::{content, find};
use crate::error::CliError;
use crate::exit::Exit;

/// A record has at most this.
pub(crate) const RECORD_LIMIT: u64 = 16 << 20;

/// Samples of all runs of a group that are drawn again in blocks: more do not fit in memory, and the runs
/// beyond are drawn from their figures, as those are that keep no samples.
const SAMPLES_IN_BLOCKS: u64 = 8 << 20;

/// Blocks that the samples of a run are cut into where it is drawn again from them.
const SAMPLE_BLOCKS: usize = 32;

/// A group as it was named.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Wanted {
    pub(crate) name: String,
    pub(crate) selectors: Vec<String>,
}

/// What of the runs is needed, and which are taken.
#[derive(Debug)]
pub(crate) struct Chosen<'a> {
    pub(crate) metrics: &'a [Metric],
    pub(crate) requirements: &'a [Requirement],
    pub(crate) allow_invalid: bool,
    /// Whether the samples of runs that keep them are read too.
    pub(crate) in_blocks: bool,
}

/// Takes the groups from the arguments.
pub(crate) fn groups(positional: &[String], named: &[String]) -> Result<Vec<Wanted>, CliError> {
    let mut groups: Vec<Wanted> = positional
        .iter()
        .map(|text| Wanted {
            name: text.clone(),
            selectors: selectors(text),
        })
        .collect();
    for text in named {
        groups.push(named_group(text)?);
    }
    if groups.len() < 2 {
        return Err(
            CliError::usage("compare: name two groups of runs or more").hint(
                "for example `punctual compare before-* after-*`; \
                 `punctual runs list` lists the runs of the store",
            ),
        );
    }
    for (at, group) in groups.iter().enumerate() {
        if groups.iter().take(at).any(|other| other.name == group.name) {
            return Err(twice(group, &groups[..at]));
        }
    }
    Ok(groups)
}

/// Two groups of one name: of the same runs, or of others.
fn twice(group: &Wanted, before: &[Wanted]) -> CliError {
    let same = before.iter().any(|other| other == group);
    match same {
        true => CliError::usage(format!(
            "compare: `{}` is compared with itself: both groups are the same runs",
            group.name
        ))
        .hint("name two groups of different runs; `punctual runs list` lists those of the store"),
        false => CliError::usage(format!(
            "compare: two groups are named `{}`, of different runs",
            group.name
        ))
        .hint(format!(
            "give one of them a name of its own: --group NAME=RUNS{}",
            match group.selectors.first() {
                Some(value) if *value != group.name => format!(
                    "; if `{name}` is a tag of the runs: --group tag={name}={value}",
                    name = group.name
                ),
                _ => String::new(),
            }
        )),
    }
}

fn named_group(text: &str) -> Result<Wanted, CliError> {
    let wrong = || {
        CliError::usage(format!(
            "--group {text}: write it as NAME=RUNS, or tag=KEY=VALUE"
        ))
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

/// Reads the runs of each group.
pub(crate) fn read(
    store: &Store,
    wanted: &[Wanted],
    chosen: &Chosen<'_>,
) -> Result<Vec<GroupInput>, CliError> {
    let mut sources: Vec<Vec<Source>> = Vec::new();
    for group in wanted {
        let mut found: Vec<Source> = Vec::new();
        for selector in &group.selectors {
            let found_by =
                resolve(store, selector).map_err(|err| match group.name == *selector {
                    true => err,
                    false if selector.starts_with("tag:") => err,
                    false => err.hint(format!(
                        "if `{name}` is a tag of the runs: --group tag={name}={selector}",
                        name = group.name
                    )),
                })?;
            for source in found_by {
                if found.iter().all(|other| other.id() != source.id()) {
                    found.push(source);
                }
            }
        }
        sources.push(found);
    }
    in_one_group_each(wanted, &sources)?;
    of_one_time(sources.iter().flatten().map(Source::record))?;
    // Only now is it known whether histograms have to be read, which takes longer than the rest.
    let records = || sources.iter().flatten().map(Source::record);
    let metrics = match chosen.metrics.is_empty() {
        true => default_metrics(records()),
        false => chosen.metrics.to_vec(),
    };
    let groups = wanted.iter().zip(sources);
    groups
        .map(|(group, sources)| input(&group.name, sources, &metrics, chosen))
        .collect()
}

/// Refuses instruction counts beside latencies: they have a unit in common, and nothing else.
pub(crate) fn of_one_time<'a>(
    records: impl Iterator<Item = &'a RunRecord>,
) -> Result<(), CliError> {
    let (counted, real): (Vec<_>, Vec<_>) = records.partition(|record| record.is_virtual());
    match (counted.first(), real.first()) {
        (Some(counted), Some(real)) => Err(CliError::usage(format!(
            "compare: run {} is in virtual time (instruction counts), run {} in real time: they \
             cannot be compared",
            counted.id, real.id
        ))
        .hint("compare runs in virtual time with one another")),
        _ => Ok(()),
    }
}

fn in_one_group_each(wanted: &[Wanted], sources: &[Vec<Source>]) -> Result<(), CliError> {
    for (at, group) in sources.iter().enumerate() {
        for source in group {
            for (other, runs) in sources.iter().enumerate().take(at) {
                if runs.iter().any(|run| run.id() == source.id()) {
                    let name = |at: usize| wanted.get(at).map_or("", |group| &group.name);
                    return Err(CliError::usage(format!(
                        "compare: run {} is in `{}` and in `{}`",
                        source.id(),
                        name(other),
                        name(at)
                    )));
                }
            }
        }
    }
    Ok(())
}

/// A run, in a directory or as a record alone.
pub(crate) enum Source {
    Stored(StoredRun),
    Record(Box<RunRecord>),
}

impl Source {
    pub(crate) fn record(&self) -> &RunRecord {
        match self {
            Self::Stored(run) => run.record(),
            Self::Record(record) => record,
        }
    }

    fn id(&self) -> &str {
        &self.record().id
    }

    /// All samples, where the run keeps a histogram of those of its total.
    pub(crate) fn histogram(&self) -> Result<Option<LatencyHistogram>, CliError> {
        let Self::Stored(run) = self else {
            return Ok(None);
        };
        let failed = || CliError::failed_to(format!("read the histograms of run {}", self.id()));
        let log = content::histograms(run).map_err(|err| failed().because(err))?;
        let Some(log) = log else { return Ok(None) };
        let mut all: Option<LatencyHistogram> = None;
        for entry in log.entries {
            match &mut all {
                None => all = Some(entry.histogram),
                Some(all) => all.merge(&entry.histogram),
            }
        }
        // Where a run has histograms of several kinds, they are not the samples of its total.
        let total = self.record().total.count;
        Ok(all.filter(|all| all.count() == total))
    }

    /// All samples in the order in which they were measured, in blocks, where the run keeps them and
    /// they are enough.
    fn blocks(&self, most: u64) -> Result<Option<SampleBlocks>, CliError> {
        let threads = match self {
            Self::Stored(run) if self.record().total.count <= most && run.has_samples() => {
                samples_of(run)?
            }
            _ => return Ok(None),
        };
        let count: usize = threads.iter().map(Vec::len).sum();
        // Samples of several kinds are not those of the total.
        let whole = count as u64 == self.record().total.count;
        Ok(SampleBlocks::of_threads(&threads, SAMPLE_BLOCKS).filter(|_| whole))
    }
}

/// Reads the latencies in ns of each thread of a run that keeps its samples.
pub(crate) fn samples_of(run: &StoredRun) -> Result<Vec<Vec<u64>>, CliError> {
    let failed = || CliError::failed_to(format!("read the samples of run {}", run.record().id));
    let mut threads: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
    for sample in run.samples().map_err(|err| failed().because(err))? {
        let sample = sample.map_err(|err| failed().because(err))?;
        threads
            .entry(sample.thread)
            .or_default()
            .push(sample.latency_ns);
    }
    Ok(threads.into_values().collect())
}

/// Makes a group of runs, with the histograms that are needed; refuses what is invalid.
pub(crate) fn input(
    name: &str,
    sources: Vec<Source>,
    metrics: &[Metric],
    chosen: &Chosen<'_>,
) -> Result<GroupInput, CliError> {
    let mut group = GroupInput {
        name: name.to_owned(),
        runs: Vec::new(),
        refused: Vec::new(),
    };
    let mut left = SAMPLES_IN_BLOCKS;
    for source in sources {
        let record = source.record();
        let failed: Vec<&str> = record
            .checks
            .iter()
            .filter(|check| !check.passed())
            .map(|check| check.id.as_str())
            .collect();
        // Of an imported run nothing was checked, which the comparison says.
        let invalid =
            record.origin.is_none() && !(record.valid && record.checks.iter().all(Check::passed));
        if invalid && !chosen.allow_invalid {
            group.refused.push(RefusedRun {
                id: record.id.clone(),
                reason: format!(
                    "invalid ({}); --allow-invalid compares it all the same",
                    failed.join(", ")
                ),
            });
            continue;
        }
        let of_metric = metrics.iter().any(|metric| metric.needs_histogram(record));
        let uncounted = |requirement: &Requirement| {
            let mut counted = record.total.misses.iter();
            counted.all(|misses| misses.deadline_ns.get() != requirement.limit_ns)
        };
        let needed = of_metric || chosen.requirements.iter().any(uncounted);
        let histogram = match needed {
            true => source.histogram()?,
            false => None,
        };
        let blocks = match chosen.in_blocks {
            true => source.blocks(left)?,
            false => None,
        };
        if blocks.is_some() {
            left = left.saturating_sub(source.record().total.count);
        }
        let record = match source {
            Source::Stored(run) => run.into_record(),
            Source::Record(record) => *record,
        };
        group.runs.push(RunInput {
            started_s: record.started.as_deref().and_then(seconds),
            record,
            histogram,
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

/// Finds the runs that a selector means: an id, a name, a pattern, a tag, a path.
pub(crate) fn resolve(store: &Store, selector: &str) -> Result<Vec<Source>, CliError> {
    if selector.is_empty() {
        return Err(CliError::usage(
            "a group names an empty run; separate runs by single commas",
        ));
    }
    let path = Path::new(selector);
    if selector.contains('/') || path.exists() {
        return at_path(path);
    }
    if let Some(tag) = selector.strip_prefix("tag:") {
        let Some((key, value)) = tag.split_once('=') else {
            return Err(CliError::usage(format!(
                "`{selector}` is not tag:KEY=VALUE"
            )));
        };
        let filter = Filter {
            tag: Some((key.to_owned(), value.to_owned())),
            ..Filter::default()
        };
        return listed(store, selector, &filter, |_| true);
    }
    if selector.contains(['*', '?']) {
        return listed(store, selector, &Filter::default(), |name| {
            matches(selector, name)
        });
    }
    let filter = Filter {
        name: Some(selector.to_owned()),
        ..Filter::default()
    };
    match listed(store, selector, &filter, |_| true) {
        Ok(runs) => Ok(runs),
        // No name: an id, or the error that says what there is.
        Err(_) => Ok(vec![Source::Stored(find(store, selector)?)]),
    }
}

/// The runs that the index lets through and whose name, empty for none, is wanted.
fn listed(
    store: &Store,
    selector: &str,
    filter: &Filter,
    wanted: impl Fn(&str) -> bool,
) -> Result<Vec<Source>, CliError> {
    let failed = || CliError::failed_to(format!("find the runs `{selector}`"));
    let index = store.index().map_err(|err| failed().because(err))?;
    let rows = index.list(filter).map_err(|err| failed().because(err))?;
    let mut runs = Vec::new();
    for row in rows {
        let named = |name: Option<&String>| wanted(name.map_or("", String::as_str));
        if row.figures.as_ref().is_ok_and(|f| named(f.name.as_ref())) {
            let run = store.entry(row.id).run;
            runs.push(Source::Stored(run.map_err(|err| failed().because(err))?));
        }
    }
    if runs.is_empty() {
        return Err(CliError::failed_to(format!(
            "find the runs `{selector}` in store {}: there are none",
            store.home().display()
        ))
        .exiting(Exit::Usage)
        .hint("`punctual runs list` lists the runs of the store"));
    }
    Ok(runs)
}

/// A run's directory, a directory of those, or a record.
pub(crate) fn at_path(path: &Path) -> Result<Vec<Source>, CliError> {
    let failed = || CliError::failed_to(format!("read a run from {}", path.display()));
    let open = |path: &Path| {
        let run = StoredRun::open(path).map_err(|err| failed().because(err))?;
        Ok(Source::Stored(run))
    };
    if path.is_dir() {
        if path.join("run.json").exists() {
            return Ok(vec![open(path)?]);
        }
        let entries = path.read_dir().map_err(|err| failed().because(err))?;
        let mut inside: Vec<PathBuf> = entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.join("run.json").exists())
            .collect();
        inside.sort_unstable();
        if inside.is_empty() {
            return Err(failed()
                .because("there is no run.json in it or one level below")
                .hint("name the directory of a run, or of several, or the JSON of a run"));
        }
        return inside.iter().map(|path| open(path)).collect();
    }
    let text = read_text(path, RECORD_LIMIT).map_err(|err| failed().because(err))?;
    decode::parts(text.as_bytes()).map_err(|what| failed().because(what))?;
    let record: RunRecord = serde_json::from_str(&text).map_err(|err| {
        failed().because(err).hint(
            "a file is the JSON of a run, as `measure --json` prints it; \
             what other tools wrote is first imported with `punctual runs import`",
        )
    })?;
    Ok(vec![Source::Record(Box::new(record))])
}

/// Reads a file of text up to a size.
pub(crate) fn read_text(path: &Path, limit: u64) -> io::Result<String> {
    let file = File::open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    let mut text = String::new();
    file.take(limit + 1).read_to_string(&mut text)?;
    if text.len() as u64 > limit {
        return Err(io::Error::other(format!("it is larger than {limit} bytes")));
    }
    Ok(text)
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
