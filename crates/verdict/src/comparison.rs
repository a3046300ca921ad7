// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! From groups of runs to verdicts.
//!
//! The statistics are those of [`punctual_stats::runs`]: each run is one value of each figure.
//! What they assume and cannot know is said in remarks: drift, order, outlier runs, what differs
//! between the groups.

pub mod answer;
pub mod earlier;
mod error;
pub mod experiment;
pub(crate) mod grounds;
mod inside;
pub(crate) mod meaning;
mod method;
mod metric;
pub mod published;
pub(crate) mod remarks;

use std::collections::{BTreeMap, BTreeSet};

use punctual_model::{
    Better, COMPARISON_FORMAT, ComparedFigure, ComparedGroup, ComparedRun, Comparison,
    ComparisonScale, ComparisonVerdict, Distribution, Effect, Gathered as _, GroupFigure,
    GroupRequirement, Interval, Ordered as _, RefusedRun, RunRecord,
};
use punctual_stats::LatencyHistogram;
use punctual_stats::requirement::Requirement;
use punctual_stats::runs::bootstrap::SampleBlocks;
use punctual_stats::runs::{
    self, Direction, IntervalMethod, Options, Outcome, Question, Scale, Side, TestKind,
    compare_all, outliers,
};

use crate::requirement::{Required, require};
pub use error::CompareError;
use inside::Redrawn;
use method::{method, method_name};
pub use metric::{Metric, ParseMetricError, default_metrics};

pub use remarks::facts::names_of_one_series;

pub(crate) use metric::{expand as expanded, missing};

/// One run to compare.
#[derive(Clone, Debug)]
pub struct RunInput {
    /// Its record.
    pub record: RunRecord,
    /// All its samples, where a figure needs them.
    pub histogram: Option<LatencyHistogram>,
    /// All samples that a requirement is about, where one needs them.
    pub required: Option<Required>,
    /// Its samples in the blocks in which they were measured, where an interval is to be drawn from
    /// them.
    pub blocks: Option<SampleBlocks>,
    /// Its start in seconds, from any origin.
    pub started_s: Option<f64>,
}

impl RunInput {
    /// Returns the value of a figure. `None` where the run does not have it.
    pub fn value(&self, metric: &Metric) -> Option<f64> {
        metric.value(&self.record, self.histogram.as_ref())
    }
}

/// One group of runs.
#[derive(Clone, Debug)]
pub struct GroupInput {
    /// Its name.
    pub name: String,
    /// Its runs.
    pub runs: Vec<RunInput>,
    /// Runs that were left out.
    pub refused: Vec<RefusedRun>,
}

/// What was asked.
#[derive(Clone, Debug)]
pub struct ComparisonRequest {
    /// The figures; the usual ones where there are none.
    pub metrics: Vec<Metric>,
    /// Level, effect, margin, seed.
    pub options: Options,
    /// Requirements on each group.
    pub requirements: Vec<Requirement>,
    /// Whether runs are compared inside the blocks that their tags name.
    pub in_blocks: bool,
    /// Earlier runs, which say how much runs vary. Without, the runs of the groups say so themselves.
    pub earlier: Option<GroupInput>,
}

impl Default for ComparisonRequest {
    fn default() -> Self {
        Self {
            metrics: Vec::new(),
            options: Options::default(),
            requirements: Vec::new(),
            in_blocks: true,
            earlier: None,
        }
    }
}

/// The figures that runs have, as they are asked for.
pub(crate) fn known<'a>(runs: impl Iterator<Item = &'a RunRecord> + Clone) -> String {
    let figures: BTreeSet<String> = default_metrics(runs)
        .iter()
        .map(ToString::to_string)
        .into_set();
    figures.into_iter().collect::<Vec<_>>().join(", ")
}

/// The values of each figure of each run.
struct Table {
    metrics: Vec<Metric>,
    /// By group, run, figure.
    values: Vec<Vec<Vec<Option<f64>>>>,
}

impl Table {
    fn of(metrics: Vec<Metric>, groups: &[GroupInput]) -> Self {
        let of_run = |run: &RunInput| metrics.iter().map(|metric| run.value(metric)).collect();
        let values = groups
            .iter()
            .map(|group| group.runs.iter().map(of_run).collect())
            .collect();
        Self { metrics, values }
    }

    /// A result that no run has. What runs have too few samples for is no unknown figure.
    fn unknown(&self) -> Option<&Metric> {
        let mut figures = self.metrics.iter().enumerate();
        let nowhere = |at: usize| {
            let mut runs = self.values.iter().flatten();
            runs.all(|run| run.get(at).copied().flatten().is_none())
        };
        figures.find_map(|(at, metric)| {
            let named = matches!(metric, Metric::Figure { .. });
            (named && nowhere(at)).then_some(metric)
        })
    }

    /// The values of one figure, one a run of the group.
    fn column(&self, group: usize, figure: usize) -> Vec<Option<f64>> {
        let runs = self.values.get(group).into_iter().flatten();
        runs.map(|run| run.get(figure).copied().flatten()).collect()
    }
}

/// The block of each run of each group, where every run has one.
type Blocks = Vec<Vec<u64>>;

/// A column without its gaps, and the blocks of what is left.
struct Column {
    values: Vec<f64>,
    blocks: Vec<u64>,
}

/// Compares every group with the first by every figure.
///
/// # Errors
///
/// [`CompareError`] for fewer than two groups, or where no run has any of the figures.
pub fn compare(
    groups: Vec<GroupInput>,
    asked: &ComparisonRequest,
) -> Result<Comparison, CompareError> {
    let groups = in_order(groups)?;
    let records = || {
        groups
            .iter()
            .flat_map(|group| &group.runs)
            .map(|run| &run.record)
    };
    let metrics = match asked.metrics.is_empty() {
        true => default_metrics(records()),
        false => asked.metrics.clone(),
    };
    let table = Table::of(metric::expand(&metrics, records()), &groups);
    if table.values.iter().flatten().flatten().all(Option::is_none) {
        all_refused(&groups)?;
        return Err(CompareError::NoFigure {
            asked: asked.metrics.iter().map(ToString::to_string).collect(),
        });
    }
    if let Some(figure) = table.unknown().filter(|_| !asked.metrics.is_empty()) {
        return Err(CompareError::Unknown {
            figure: figure.to_string(),
            known: known(records()),
        });
    }
    meaning::one_unit(&groups, &table)?;
    judged(groups, &table, asked)
}

/// The same of groups of which no run has a figure: what is required of them takes none.
fn without_figures(
    groups: Vec<GroupInput>,
    asked: &ComparisonRequest,
) -> Result<Comparison, CompareError> {
    let groups = in_order(groups)?;
    let table = Table::of(Vec::new(), &groups);
    judged(groups, &table, asked)
}

/// The groups with the runs that count, in the order in which they were made.
fn in_order(mut groups: Vec<GroupInput>) -> Result<Vec<GroupInput>, CompareError> {
    if groups.len() < 2 {
        return Err(CompareError::Groups);
    }
    for group in &mut groups {
        group.runs.order_by(|a, b| {
            (&a.record.started, &a.record.id).cmp(&(&b.record.started, &b.record.id))
        });
    }
    meaning::one_meaning(&groups)?;
    meaning::once(&mut groups)?;
    groups.iter_mut().for_each(meaning::without_copies);
    Ok(groups)
}

/// Judges every figure of the table and every requirement.
fn judged(
    groups: Vec<GroupInput>,
    table: &Table,
    asked: &ComparisonRequest,
) -> Result<Comparison, CompareError> {
    // Nothing drifts in virtual time: all arrangements of the runs are as probable, and a block is no pair.
    let in_blocks = asked.in_blocks && !groups.iter().any(is_virtual);
    let blocks = in_blocks.then(|| blocks(&groups)).flatten();
    let results = results(&groups, table, blocks.as_ref(), &asked.options)?;
    let (mut results, alone): (Vec<_>, Vec<_>) = results.into_iter().unzip();
    let by_earlier = match &asked.earlier {
        Some(earlier) => Some(earlier::judge(&mut results, &groups, earlier, asked)?),
        None => None,
    };
    let requirements = asked.requirements.iter().flat_map(|requirement| {
        groups.iter().map(|group| GroupRequirement {
            group: group.name.clone(),
            result: require(
                requirement,
                group
                    .runs
                    .iter()
                    .map(|run| (&run.record, run.required.as_ref())),
            ),
        })
    });
    let requirements = requirements.collect();
    let tests = results.iter().filter(|result| result.p.is_some()).count();
    let test = match &by_earlier {
        Some(_) => "earlier",
        None => "permutation",
    };
    let method = method(test, &asked.options, tests as u64);
    let mut remarks = remarks::remarks(&remarks::Compared {
        groups: &groups,
        table,
        results: &results,
        alone: &alone,
        method: &method,
        in_blocks,
        blocks: blocks.as_ref(),
    });
    if let Some(by_earlier) = by_earlier {
        // One run says something of others where it is known how much runs vary.
        remarks.retain(|remark| remark.id != "one-run");
        remarks.extend(by_earlier);
    }
    let compared = groups
        .into_iter()
        .enumerate()
        .map(|(at, group)| group_of(at, group, table, blocks.as_ref()))
        .collect();
    Ok(answer::answered(Comparison {
        format: COMPARISON_FORMAT.to_owned(),
        method,
        groups: compared,
        results,
        answers: Vec::new(),
        remarks,
        requirements,
    }))
}

/// Fails where groups have no runs because each was refused: their figures are not what is missing.
fn all_refused(groups: &[GroupInput]) -> Result<(), CompareError> {
    let refused = || groups.iter().flat_map(|group| &group.refused);
    match refused().next() {
        Some(first) if groups.iter().all(|group| group.runs.is_empty()) => {
            Err(CompareError::AllRefused {
                count: refused().count(),
                first: first.id.clone(),
                reason: first.reason.clone(),
            })
        }
        _ => Ok(()),
    }
}

/// Whether a group has runs in virtual time.
pub(crate) fn is_virtual(group: &GroupInput) -> bool {
    group.runs.iter().any(|run| run.record.is_virtual())
}

/// Says which blocks the tags of the runs name: `block`, of one `experiment` or several. `None`
/// unless every run has one.
fn blocks(groups: &[GroupInput]) -> Option<Blocks> {
    let name = |run: &RunInput| -> Option<(Option<String>, String)> {
        let tags = &run.record.tags;
        Some((tags.get("experiment").cloned(), tags.get("block")?.clone()))
    };
    let mut numbers: BTreeMap<(Option<String>, String), u64> = BTreeMap::new();
    for run in groups.iter().flat_map(|group| &group.runs) {
        let next = numbers.len() as u64;
        numbers.entry(name(run)?).or_insert(next);
    }
    let number = |run: &RunInput| numbers.get(&name(run)?).copied();
    groups
        .iter()
        .map(|group| group.runs.iter().map(number).collect())
        .collect()
}

fn column(table: &Table, blocks: Option<&Blocks>, group: usize, figure: usize) -> Column {
    let of_group = blocks.and_then(|blocks| blocks.get(group));
    let (values, blocks) = table
        .column(group, figure)
        .into_iter()
        .enumerate()
        .filter_map(|(run, value)| {
            let block = of_group.and_then(|blocks| blocks.get(run)).copied();
            Some((value?, block.unwrap_or(0)))
        })
        .unzip();
    Column { values, blocks }
}

/// Each figure of each group, with the p-value that it would have by itself.
fn results(
    groups: &[GroupInput],
    table: &Table,
    blocks: Option<&Blocks>,
    options: &Options,
) -> Result<Vec<(ComparedFigure, Option<f64>)>, CompareError> {
    let pairs: Vec<(usize, usize)> = (0..table.metrics.len())
        .flat_map(|figure| (1..groups.len()).map(move |group| (figure, group)))
        .collect();
    let columns: Vec<(Column, Column)> = pairs
        .iter()
        .map(|(figure, group)| {
            (
                column(table, blocks, 0, *figure),
                column(table, blocks, *group, *figure),
            )
        })
        .collect();
    let facts: Vec<(String, Better)> = table
        .metrics
        .iter()
        .map(|metric| unit_and_better(metric, groups))
        .collect();
    let redrawn: Vec<Option<Redrawn>> = pairs
        .iter()
        .map(|(figure, group)| {
            let hierarchical = options.interval == IntervalMethod::Hierarchical;
            let sides = [&groups[0], &groups[*group]];
            let drawn = || Redrawn::of(&table.metrics[*figure], sides, options.seed);
            hierarchical.then(drawn).flatten()
        })
        .collect();
    let questions: Vec<Question<'_>> = pairs
        .iter()
        .zip(columns.iter().zip(&redrawn))
        .map(|((figure, _), ((a, b), redrawn))| {
            let mut question = Question::new(&a.values, &b.values, direction(facts[*figure].1));
            if let Some(redrawn) = redrawn {
                question = question.with_redrawn(&redrawn.baseline, &redrawn.candidate);
            }
            match blocks {
                Some(_) => question.in_blocks(&a.blocks, &b.blocks),
                None => question,
            }
        })
        .collect();
    let outcomes = compare_all(&questions, options).map_err(|source| CompareError::Value {
        figure: table
            .metrics
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(", "),
        source,
    })?;
    Ok(pairs
        .iter()
        .zip(outcomes.into_iter().zip(&redrawn))
        .map(|((figure, group), (outcome, redrawn))| {
            let metric = &table.metrics[*figure];
            let (unit, better) = &facts[*figure];
            // As many looks for outliers as figures and groups. Clean figures have shorter tails than
            // the cut-off allows for: less than 5 % of comparisons have one (docs/methods/calibration.md).
            let looks = table.metrics.len() * groups.len();
            let level = 0.2 / looks as f64;
            let side = |at: usize, side: &Side| {
                figure_of(&groups[at], table.column(at, *figure), side, level)
            };
            let drawn_from = redrawn.as_ref().map(|redrawn| redrawn.level);
            let nested = outcome.interval_method == Some(IntervalMethod::Hierarchical);
            let inside = inside::part(metric, [&groups[0], &groups[*group]], &outcome);
            let mut result = ComparedFigure {
                baseline: side(0, &outcome.baseline),
                candidate: side(*group, &outcome.candidate),
                interval_level: drawn_from.filter(|_| nested),
                ..compared(metric.to_string(), unit.clone(), *better, &outcome, inside)
            };
            let sides = [&groups[0], &groups[*group]];
            grounds::judge(metric, sides, options, &outcome, &mut result);
            (result, outcome.test.map(|test| test.alone_p))
        })
        .collect())
}

/// The unit and the good direction of a figure; of a result as the runs say.
fn unit_and_better(metric: &Metric, groups: &[GroupInput]) -> (String, Better) {
    let runs = groups.iter().flat_map(|group| &group.runs);
    unit_of(metric, runs.map(|run| &run.record))
}

/// The same of records.
pub(crate) fn unit_of<'a>(
    metric: &Metric,
    runs: impl Iterator<Item = &'a RunRecord>,
) -> (String, Better) {
    if let Some(unit) = metric.unit() {
        return (unit.to_owned(), Better::Lower);
    }
    let mut said = runs.filter_map(|run| metric.figure(run));
    let Some(first) = said.next() else {
        return ("1".to_owned(), Better::Neither);
    };
    // Of what is better by one run and worse by another, nobody knows what a change is.
    let better = match said.all(|figure| figure.better == first.better) {
        true => first.better,
        false => Better::Neither,
    };
    (first.unit.clone(), better)
}

fn direction(better: Better) -> Direction {
    match better {
        Better::Lower => Direction::LowerIsBetter,
        Better::Higher => Direction::HigherIsBetter,
        Better::Neither => Direction::Neither,
    }
}

fn figure_of(group: &GroupInput, column: Vec<Option<f64>>, side: &Side, level: f64) -> GroupFigure {
    let runs = group.runs.iter().zip(&column);
    let known: Vec<(&RunInput, f64)> = runs
        .filter_map(|(run, value)| Some((run, (*value)?)))
        .collect();
    let values: Vec<f64> = known.iter().map(|(_, value)| *value).collect();
    GroupFigure {
        group: group.name.clone(),
        runs: side.runs as u64,
        without: (column.len() - side.runs) as u64,
        estimate: side.estimate,
        interval: side.interval.map(interval),
        deviation: side.deviation,
        outliers: outliers(&values, level)
            .into_iter()
            .filter_map(|at| known.get(at))
            .map(|(run, _)| run.record.id.clone())
            .collect(),
    }
}

pub(crate) fn interval(interval: punctual_stats::Interval) -> Interval {
    Interval {
        low: interval.low,
        high: interval.high,
        confidence: interval.confidence,
    }
}

pub(crate) fn effect(effect: runs::Effect) -> Effect {
    Effect {
        estimate: effect.estimate,
        interval: effect.interval.map(interval),
    }
}

fn compared(
    figure: String,
    unit: String,
    better: Better,
    outcome: &Outcome,
    variance_inside: Option<f64>,
) -> ComparedFigure {
    let (verdict, more_runs) = verdict(outcome.verdict);
    let test = outcome.test;
    ComparedFigure {
        figure,
        unit,
        better,
        verdict,
        withheld: None,
        more_runs,
        baseline: GroupFigure::default(),
        candidate: GroupFigure::default(),
        scale: match outcome.scale {
            Scale::Log => ComparisonScale::Log,
            Scale::Linear => ComparisonScale::Linear,
        },
        ratio: outcome.ratio.map(effect),
        difference: outcome.difference.map(effect),
        interval_method: outcome
            .interval_method
            .map(|method| method_name(method).to_owned()),
        interval_level: None,
        pairs: outcome.pairs.map(|pairs| pairs as u64),
        unpaired: outcome.unpaired as u64,
        p: test.map(|test| test.p),
        adjusted_p: test.map(|test| test.adjusted_p),
        smallest_p: test.map(|test| test.smallest_p),
        arrangements: test.map(|test| match test.kind {
            TestKind::Exact { arrangements } => arrangements,
            TestKind::MonteCarlo { drawn } => drawn,
        }),
        exact: test.map(|test| matches!(test.kind, TestKind::Exact { .. })),
        equivalence_p: outcome.margin.and_then(|margin| margin.adjusted_p),
        smallest_detectable: outcome.smallest_detectable,
        variance_inside,
    }
}

fn verdict(verdict: runs::Verdict) -> (ComparisonVerdict, Option<u64>) {
    match verdict {
        runs::Verdict::Better => (ComparisonVerdict::Better, None),
        runs::Verdict::Worse => (ComparisonVerdict::Worse, None),
        runs::Verdict::Different => (ComparisonVerdict::Different, None),
        runs::Verdict::Equivalent => (ComparisonVerdict::Equivalent, None),
        runs::Verdict::NotWorse => (ComparisonVerdict::NotWorse, None),
        runs::Verdict::NotDistinguishable => (ComparisonVerdict::NotDistinguishable, None),
        runs::Verdict::TooFewRuns { more } => (ComparisonVerdict::TooFewRuns, more),
    }
}

fn group_of(at: usize, group: GroupInput, table: &Table, blocks: Option<&Blocks>) -> ComparedGroup {
    let distribution = match group.runs.as_slice() {
        [run] if run.record.total.count > 0 => {
            let total = &run.record.total;
            Some(Distribution {
                samples: total.count,
                min_ns: total.min_ns,
                max_ns: total.max_ns,
                quantiles_ns: total.quantiles_ns.clone(),
                quantile_intervals_ns: total.quantile_intervals_ns.clone(),
            })
        }
        _ => None,
    };
    let runs = group
        .runs
        .into_iter()
        .enumerate()
        .map(|(index, run)| {
            let values = table.values.get(at).and_then(|group| group.get(index));
            let values = values.map_or(&[][..], Vec::as_slice);
            let named = table.metrics.iter().zip(values);
            let block = blocks.and_then(|blocks| blocks.get(at)?.get(index).copied());
            ComparedRun {
                valid: !run.record.is_invalid() && run.record.origin.is_none(),
                imported: run.record.origin.is_some(),
                samples: run.record.total.count,
                values: named
                    .map(|(metric, value)| (metric.to_string(), *value))
                    .collect(),
                block,
                id: run.record.id,
                name: run.record.name,
                started: run.record.started,
            }
        })
        .collect();
    ComparedGroup {
        name: group.name,
        runs,
        refused: group.refused,
        distribution,
        published: None,
    }
}
