// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! From runs over time to the changes of their figures.
//!
//! Only runs of one machine, measured in one way, are one series: the others would differ without any
//! change. What may differ inside a series, as the kernel does, appears next to a change that it may have
//! come from.

use std::collections::BTreeMap;

use punctual_model::{
    Better, ComparisonScale, Finding, HISTORY_FORMAT, History, HistoryChange, HistoryDirection,
    HistoryLine, HistoryMethod, HistoryRun, HistorySegment, HistorySeries, HistoryVerdict,
    Ordered as _, RefusedRun, RunRecord, TooFewForGate, Withheld, WithheldReason, choices,
};
use punctual_stats::history::{self, LEAST_RUNS, OF_ONE_LOOK, Options, RECENT, changes};
use punctual_stats::runs::{Scale, length_fault};

use crate::comparison::grounds::{LengthWords, length, length_words, lengths_said, reach};
use crate::comparison::remarks::{facts, virtual_time};
use crate::comparison::{
    CompareError, GroupInput, Metric, RunInput, effect, expanded, interval, known, meaning,
    missing, unit_of,
};
use crate::words::plural;

/// The tag that names the commit of a run.
pub const COMMIT: &str = "commit";

/// More permutations than this are never made, however many series share the level.
const MOST_DRAWS: u32 = 200_000;

/// What a change may lie between.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum By {
    /// Any two runs.
    #[default]
    Run,
    /// Two commits, named by the tag `commit` of the runs.
    Commit,
    /// Two kernels.
    Kernel,
    /// Two days, in UTC.
    Day,
}

choices!(By { Run => "run", Commit => "commit", Kernel => "kernel", Day => "day" });

impl By {
    fn label(self, run: &RunRecord) -> Result<Option<String>, String> {
        let found = match self {
            Self::Run => return Ok(None),
            Self::Commit => run.tags.get(COMMIT).cloned(),
            Self::Kernel => run.host.kernel_release.as_ref().map(|release| {
                // Builds of one release differ in the number and the time of the build.
                let build = run.host.kernel_version.as_deref();
                build.map_or_else(|| release.clone(), |build| format!("{release} {build}"))
            }),
            Self::Day => run
                .started
                .as_deref()
                .and_then(|at| at.get(..10))
                .map(str::to_owned),
        };
        let missing = match self {
            Self::Commit => "it has no tag `commit`",
            Self::Day => "its start is not recorded",
            Self::Run | Self::Kernel => "its kernel is not recorded",
        };
        found.map(Some).ok_or_else(|| missing.to_owned())
    }
}

/// What was asked.
#[derive(Clone, Debug, Default)]
pub struct HistoryRequest {
    /// The figures; the usual ones where there are none.
    pub metrics: Vec<Metric>,
    /// What a change may lie between.
    pub by: By,
    /// Facts that do not keep series apart.
    pub ignored: Vec<String>,
    /// Level, permutations, seed.
    pub options: Options,
}

/// A run with what places it.
struct Placed {
    run: RunInput,
    label: Option<String>,
}

/// Looks for changes in all series that the runs make.
///
/// # Errors
///
/// [`CompareError`] where no run has any of the figures, or where one is stated in several units.
pub fn history(mut runs: GroupInput, asked: &HistoryRequest) -> Result<History, CompareError> {
    // The first of several imports of one file stays.
    runs.runs.order_by(|a, b| a.record.id.cmp(&b.record.id));
    let (group, metrics) = meaning::of_one(runs, &asked.metrics)?;
    let (runs, mut refused) = (group.runs, group.refused);
    let has = |run: &RunInput, metric: &Metric| {
        metric.value(&run.record, run.histogram.as_ref()).is_some()
    };
    let metrics_known = expanded(&metrics, runs.iter().map(|run| &run.record));
    if !runs.is_empty() {
        let unknown = |metric: &&Metric| !runs.iter().any(|run| has(run, metric));
        if metrics_known.iter().all(|metric| unknown(&metric)) {
            return Err(CompareError::NoFigure {
                asked: asked.metrics.iter().map(ToString::to_string).collect(),
            });
        }
        let is_figure = |metric: &&Metric| matches!(metric, Metric::Figure { .. });
        let mut named = metrics_known.iter().filter(is_figure);
        if let Some(figure) = named.find(unknown).filter(|_| !asked.metrics.is_empty()) {
            return Err(CompareError::Unknown {
                figure: figure.to_string(),
                known: known(runs.iter().map(|run| &run.record)),
            });
        }
    }
    let lines = lines(runs, asked, &mut refused);
    let mut columns: Vec<Vec<Column>> = Vec::new();
    for (_, runs) in &lines {
        columns.push(of_line(runs, &metrics, asked.by)?);
    }
    let judged = columns.iter().flatten().filter(|column| column.is_judged());
    let series = judged.count().max(1);
    let options = shared(&asked.options, series);
    let method = HistoryMethod {
        by: asked.by.name().to_owned(),
        level: asked.options.level,
        series: series as u64,
        look_level: options.level * OF_ONE_LOOK,
        recent: RECENT as u64,
        confidence: options.confidence,
        draws: options.draws.into(),
        seed: options.seed,
    };
    let found = columns.iter().flatten().map(|column| &column.metric);
    let missing = missing(&asked.metrics, found);
    let mut remarks = remarks(&lines, &columns, &refused);
    remarks.extend(meaning::missing(&missing));
    let lines = lines
        .iter()
        .zip(columns)
        .map(|((name, runs), columns)| HistoryLine {
            name: name.clone(),
            virtual_time: is_virtual(runs),
            runs: runs.iter().map(shown).collect(),
            series: columns
                .into_iter()
                .map(|column| series_of(runs, column, &options))
                .collect(),
        });
    let lines: Vec<HistoryLine> = lines.collect();
    remarks.extend(too_few_for_gate(&lines, &method));
    Ok(History {
        format: HISTORY_FORMAT.to_owned(),
        method,
        lines,
        missing,
        refused,
        remarks,
    })
}

/// The options of one of several series that share the level.
fn shared(options: &Options, series: usize) -> Options {
    let level = options.level / series as f64;
    // Three hits at the smallest level that is asked for.
    let least = 3.0 / (level * OF_ONE_LOOK);
    let least = (0..=MOST_DRAWS)
        .step_by(1_000)
        .find(|n| f64::from(*n) >= least);
    Options {
        level,
        draws: options.draws.max(least.unwrap_or(MOST_DRAWS)),
        ..options.clone()
    }
}

/// Divides runs into series, each with its name and in the order in which the runs belong.
fn lines(
    runs: Vec<RunInput>,
    asked: &HistoryRequest,
    refused: &mut Vec<RefusedRun>,
) -> Vec<(String, Vec<Placed>)> {
    let mut lines: BTreeMap<Vec<(String, String)>, Vec<Placed>> = BTreeMap::new();
    for run in runs {
        let label = match run.started_s {
            Some(_) => asked.by.label(&run.record),
            None => Err(
                "it has no date; `runs import --date-from` takes one from the file's name or \
                 modification time"
                    .to_owned(),
            ),
        };
        match label {
            Ok(label) => {
                let mut facts = facts::of_one_series(&run.record);
                facts.retain(|(name, _)| !asked.ignored.contains(name));
                // Instruction counts and latencies have a unit in common and nothing else, whatever is ignored.
                let time = match run.record.is_virtual() {
                    true => "virtual",
                    false => "real",
                };
                facts.push(("time".to_owned(), time.to_owned()));
                lines.entry(facts).or_default().push(Placed { run, label });
            }
            Err(reason) => refused.push(RefusedRun {
                id: run.record.id,
                reason,
                started: run.record.started,
                unreadable: false,
            }),
        }
    }
    let names = differing(&lines, "machine");
    let mut named: Vec<(String, Vec<Placed>)> =
        names.into_iter().zip(lines.into_values()).collect();
    for (_, runs) in &mut named {
        order(runs);
    }
    named
}

/// Sorts runs by the first start of what they are labelled with, then by their own.
fn order(runs: &mut [Placed]) {
    let start = |placed: &Placed| placed.run.started_s.unwrap_or(0.0);
    let mut first: BTreeMap<String, f64> = BTreeMap::new();
    for placed in runs.iter() {
        if let Some(label) = &placed.label {
            let at = first.entry(label.clone()).or_insert(f64::INFINITY);
            *at = at.min(start(placed));
        }
    }
    let key = |placed: &Placed| {
        let group = placed.label.as_ref().and_then(|label| first.get(label));
        (group.copied().unwrap_or(0.0), start(placed))
    };
    runs.order_by(|a, b| {
        let ((group_a, own_a), (group_b, own_b)) = (key(a), key(b));
        let by_group = group_a
            .total_cmp(&group_b)
            .then_with(|| a.label.cmp(&b.label));
        let by_start = by_group.then(own_a.total_cmp(&own_b));
        by_start.then_with(|| a.run.record.id.cmp(&b.run.record.id))
    });
}

/// What tells each of several sets of facts from the others; of a single one the fact `single`.
pub(crate) fn differing<T>(
    lines: &BTreeMap<Vec<(String, String)>, T>,
    single: &str,
) -> Vec<String> {
    let value = |facts: &[(String, String)], name: &str| {
        let found = facts.iter().find(|(own, _)| own == name);
        found.map(|(_, value)| value.clone()).unwrap_or_default()
    };
    let mut differing: Vec<&str> = Vec::new();
    for (name, _) in lines.keys().flatten() {
        let mut values: Vec<String> = lines.keys().map(|facts| value(facts, name)).collect();
        values.sort_unstable();
        values.dedup();
        if values.len() > 1 && !differing.contains(&name.as_str()) {
            differing.push(name);
        }
    }
    let of_line = |facts: &Vec<(String, String)>| {
        let parts = differing.iter().filter_map(|name| {
            let value = value(facts, name);
            match (value.is_empty(), *name) {
                (true, _) => None,
                (_, "machine" | "instrument") => Some(value),
                _ => Some(format!("{name} {value}")),
            }
        });
        let name = parts.collect::<Vec<_>>().join(", ");
        match (name.is_empty(), value(facts, single)) {
            (false, _) => name,
            (true, machine) if machine.is_empty() => "all runs".to_owned(),
            (true, machine) => machine,
        }
    };
    lines.keys().map(of_line).collect()
}

/// One figure of a line, with the value of each run that has it.
struct Column {
    metric: Metric,
    unit: String,
    better: Better,
    values: Vec<Option<f64>>,
    withheld: Option<Withheld>,
}

impl Column {
    /// Whether there is enough of it to look for changes.
    fn is_judged(&self) -> bool {
        self.withheld.is_none() && self.values.iter().flatten().count() >= LEAST_RUNS
    }
}

fn of_line(runs: &[Placed], metrics: &[Metric], by: By) -> Result<Vec<Column>, CompareError> {
    let records = || runs.iter().map(|placed| &placed.run.record);
    let mut columns = Vec::new();
    for metric in expanded(metrics, records()) {
        let value = |placed: &Placed| {
            let value = metric.value(&placed.run.record, placed.run.histogram.as_ref());
            value.filter(|value| value.is_finite())
        };
        let values: Vec<Option<f64>> = runs.iter().map(value).collect();
        if values.iter().all(Option::is_none) {
            continue;
        }
        meaning::units(&metric, records())?;
        let (unit, better) = unit_of(&metric, records());
        let with = runs
            .iter()
            .zip(&values)
            .filter(|(_, value)| value.is_some());
        columns.push(Column {
            withheld: lengths(&metric, with.clone().map(|(placed, _)| &placed.run))
                .or_else(|| one_place(by, with.map(|(placed, _)| placed))),
            metric,
            unit,
            better,
            values,
        });
    }
    Ok(columns)
}

/// Why runs of one commit, kernel or day have no verdict: a change could lie nowhere.
fn one_place<'a>(by: By, mut with: impl Iterator<Item = &'a Placed>) -> Option<Withheld> {
    let first = with.next()?.label.as_ref()?;
    with.all(|placed| placed.label.as_ref() == Some(first))
        .then(|| Withheld {
            reason: WithheldReason::OnePlace,
            detail: format!(
                "all runs are of one {by}, and with --by {by} a change is looked for between two"
            ),
        })
}

/// Why runs of different lengths, those that have a figure, say nothing about it.
pub(crate) fn lengths<'a>(
    metric: &Metric,
    with: impl Iterator<Item = &'a RunInput>,
) -> Option<Withheld> {
    let lengths: Vec<u64> = with.filter_map(|run| length(metric, run)).collect();
    let (least, most) = (*lengths.iter().min()?, *lengths.iter().max()?);
    length_fault(reach(metric), least, most)?;
    let LengthWords { runs, unit, that } = length_words(metric);
    let instead = match metric {
        Metric::Figure { .. } => "",
        _ => ", or look at a lower percentile",
    };
    Some(Withheld {
        reason: WithheldReason::Lengths,
        detail: format!(
            "runs {runs} {}{unit}, and {metric} depends on {that}: make all runs equally long{instead}",
            lengths_said(metric, (least, most))
        ),
    })
}

/// Whether there are runs in virtual time among them.
fn is_virtual(runs: &[Placed]) -> bool {
    runs.iter().any(|placed| placed.run.record.is_virtual())
}

fn shown(placed: &Placed) -> HistoryRun {
    let record = &placed.run.record;
    HistoryRun {
        id: record.id.clone(),
        name: record.name.clone(),
        started: record.started.clone(),
        label: placed.label.clone(),
        valid: record.origin.is_none() && record.is_valid(),
        imported: record.origin.is_some(),
    }
}

fn series_of(runs: &[Placed], column: Column, options: &Options) -> HistorySeries {
    let known = column.values.iter().enumerate();
    let (places, values): (Vec<usize>, Vec<f64>) = known
        .filter_map(|(at, value)| Some((at, (*value)?)))
        .unzip();
    let label = |at: usize| runs.get(at).and_then(|placed| placed.label.as_ref());
    let may_change: Vec<bool> = places
        .iter()
        .enumerate()
        .map(|(number, at)| {
            let before = number.checked_sub(1).and_then(|before| places.get(before));
            before.is_none_or(|before| label(*at).is_none() || label(*at) != label(*before))
        })
        .collect();
    let found = match column.withheld {
        None => changes(&values, Some(&may_change), options),
        Some(_) => None,
    };
    let verdict = match &found {
        Some(history) if !history.changes.is_empty() => HistoryVerdict::Changed,
        Some(_) if values.len() >= LEAST_RUNS => HistoryVerdict::NoChange,
        _ => HistoryVerdict::TooFewRuns,
    };
    let found = found.as_ref();
    let told = |history: &history::History| {
        let numbers = 0..history.changes.len();
        let each = numbers.map(|at| change(runs, &places, history, at, column.better));
        each.collect::<Vec<HistoryChange>>()
    };
    let deviation = found.and_then(|history| history.deviation);
    HistorySeries {
        figure: column.metric.to_string(),
        unit: column.unit,
        better: column.better,
        scale: match found.map(|history| history.scale) {
            Some(Scale::Linear) => ComparisonScale::Linear,
            _ => ComparisonScale::Log,
        },
        verdict,
        withheld: column.withheld,
        values: column.values,
        changes: found.map(told).unwrap_or_default(),
        segments: found.map_or_else(Vec::new, |history| {
            let one = |segment: &history::Segment| HistorySegment {
                first: places.get(segment.runs.start).copied().unwrap_or(0) as u64,
                last: places
                    .get(segment.runs.end.saturating_sub(1))
                    .copied()
                    .unwrap_or(0) as u64,
                runs: segment.runs.len() as u64,
                estimate: segment.estimate,
                interval: segment.interval.map(interval),
            };
            history.segments.iter().map(one).collect()
        }),
        deviation: deviation.map(|deviation| deviation.estimate),
        deviation_interval: deviation.and_then(|deviation| deviation.interval.map(interval)),
        freedom: deviation.map(|deviation| deviation.freedom),
        correlation: found.map_or(0.0, |history| history.correlation),
        p: found.and_then(|history| history.p),
        newest_p: found.and_then(|history| Some(history.newest?.p)),
        too_few_for_gate: found.and_then(|history| {
            let too_few = history.newest?.too_few?;
            Some(TooFewForGate {
                runs: too_few.runs as u64,
                needed: too_few.needed as u64,
            })
        }),
    }
}

/// Change number `at`, with the facts in which the stretches around it differ.
fn change(
    runs: &[Placed],
    places: &[usize],
    history: &history::History,
    at: usize,
    better: Better,
) -> HistoryChange {
    let change = &history.changes[at];
    let place = |number: usize| places.get(number).copied().unwrap_or(0);
    let newest = history.newest.filter(|newest| newest.change.is_some());
    let is_recent = newest.is_some_and(|newest| change.first + newest.recent >= places.len());
    let side = |segment: usize| -> Vec<&RunRecord> {
        let own = history
            .segments
            .get(segment)
            .map(|segment| segment.runs.clone());
        let own = own
            .unwrap_or(0..0)
            .filter_map(|number| runs.get(place(number)));
        own.map(|placed| &placed.run.record).collect()
    };
    HistoryChange {
        run: place(change.first) as u64,
        earliest: place(change.places.0) as u64,
        latest: place(change.places.1) as u64,
        ratio: change.ratio.map(effect),
        difference: effect(change.difference),
        p: change.p,
        direction: match includes_none(change) {
            true => HistoryDirection::Unclear,
            false => direction(better, change.difference.estimate > 0.0),
        },
        new: is_recent,
        differs: facts::of_records(&[("before", side(at)), ("after", side(at + 1))]),
    }
}

/// Whether what is known of a change allows that the level did not change: that there is one is a test of the order of
/// the runs, how large it is allows for where else it may be.
fn includes_none(change: &history::Change) -> bool {
    let interval = change.difference.interval;
    interval.is_none_or(|interval| interval.low <= 0.0 && interval.high >= 0.0)
}

/// What it means that a figure is higher (`up`) or lower.
pub(crate) const fn direction(better: Better, up: bool) -> HistoryDirection {
    match (better, up) {
        (Better::Neither, _) => HistoryDirection::Different,
        (Better::Lower, true) | (Better::Higher, false) => HistoryDirection::Worse,
        (Better::Lower, false) | (Better::Higher, true) => HistoryDirection::Better,
    }
}

/// Says of which figures a gate cannot find any change, and how many runs it takes.
fn too_few_for_gate(lines: &[HistoryLine], method: &HistoryMethod) -> Option<Finding> {
    let series = lines.iter().flat_map(|line| &line.series);
    let short: Vec<TooFewForGate> = series.filter_map(|of| of.too_few_for_gate).collect();
    // That with the fewest speaks for all.
    let first = short.iter().min_by_key(|of| of.runs)?;
    let of_all = match short.len() {
        1 => "1 series".to_owned(),
        n => format!("{n} series"),
    };
    Some(Finding::observed(
        "too-few-for-gate",
        format!(
            "{of_all} cannot fail a gate yet: of {} runs since the last change, or since the first run, no change passes \
             a level of {:.2} %; it takes {} runs at least, fewer if the level is shared by fewer series (--metric)",
            first.runs,
            method.look_level * 100.0,
            first.needed
        ),
    ))
}

fn remarks(
    lines: &[(String, Vec<Placed>)],
    columns: &[Vec<Column>],
    refused: &[RefusedRun],
) -> Vec<Finding> {
    let counted = lines.iter().filter(|(_, runs)| is_virtual(runs)).count();
    let mut remarks: Vec<Finding> = virtual_time(counted, lines.len(), "series")
        .into_iter()
        .collect();
    let runs = || lines.iter().flat_map(|(_, runs)| runs);
    let imported = runs()
        .filter(|placed| placed.run.record.origin.is_some())
        .count();
    if imported > 0 {
        let of = runs().count();
        remarks.push(Finding::observed(
            "imported",
            format!("{imported} of {of} runs were imported: nobody checked how they were measured"),
        ));
    }
    let short = lines
        .iter()
        .filter(|(_, runs)| runs.len() < LEAST_RUNS)
        .count();
    if short > 0 && lines.len() > 1 {
        remarks.push(Finding::observed(
            "short-series",
            format!(
                "{short} of {} series have fewer than {LEAST_RUNS} runs; --ignore FACT puts series \
                 together that differ only in that fact",
                lines.len()
            ),
        ));
    }
    let mut said: Vec<&str> = Vec::new();
    for withheld in columns
        .iter()
        .flatten()
        .filter_map(|column| column.withheld.as_ref())
    {
        if !said.contains(&withheld.detail.as_str()) {
            said.push(&withheld.detail);
        }
    }
    remarks.extend(
        said.iter()
            .map(|detail| Finding::observed("lengths", (*detail).to_owned())),
    );
    if !refused.is_empty() {
        let n = refused.len();
        let first = refused.first().map_or("", |run| run.reason.as_str());
        remarks.push(Finding::observed(
            "left-out",
            format!("{n} run{} left out; the first because {first}", plural(n)),
        ));
    }
    remarks
}
