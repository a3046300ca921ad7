// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What the runs of a study say to its questions, compared with what was published.
//!
//! A published value is never said to match: what is asked is whether an effect has the direction that was
//! published, by the same comparison as `compare`'s, which may answer that it cannot tell.

mod curves;
mod figures;
mod pictures;
mod precision;
mod said;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use punctual_model::{
    Better, ComparedFigure, ComparedRun, Comparison, ComparisonScale, ComparisonVerdict, Condition,
    Effect, Interval, Nanos, PublishedClaim, StudyAnswer, StudyDirection, StudyFinding, StudyJoint,
    StudyRow,
};
use punctual_stats::requirement::DEFAULT_BURST_NS;
use punctual_stats::runs::{Options, Question, Scale, compare_all};
use punctual_stats::{Moments, float, holm};

pub use self::curves::{Across, against};
pub use self::figures::derived;
pub use self::precision::precision;
pub use self::said::estimate_of;
use crate::assessment::assess;
use crate::claims::{CLASSES, at_most};
use crate::comparison::{
    CompareError, ComparisonRequest, GroupInput, Metric, RunInput, compare, expanded, experiment,
};
use crate::number::{compact, span};

/// The cells of one question: the base first where levels are compared.
#[derive(Debug)]
pub struct Cells {
    /// The runs of each, named as they shall be shown.
    pub groups: Vec<GroupInput>,
    /// The level of the varied factor of each, by which published values are found.
    pub levels: Vec<String>,
}

/// What was published.
#[derive(Clone, Debug, Default)]
pub struct Published {
    /// By level.
    pub values: BTreeMap<String, f64>,
    /// The ratio to the base, by figure and level, where ratios were published.
    pub ratios: BTreeMap<String, BTreeMap<String, f64>>,
    /// Their unit.
    pub unit: Option<String>,
    /// Their standard error, by level.
    pub errors: BTreeMap<String, f64>,
    /// In which direction the levels differ from the base.
    pub claim: PublishedClaim,
    /// Figures that are the same, whatever the claim is of the others.
    pub same: Vec<String>,
}

/// The direction of a difference.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Way {
    Lower,
    Same,
    Higher,
}

impl Published {
    fn of(&self, level: &str) -> Option<f64> {
        self.values.get(level).copied()
    }

    fn way(&self, figure: &str, base: &str, level: &str) -> Option<Way> {
        if self.same.iter().any(|same| same == figure) {
            return Some(Way::Same);
        }
        match self.claim {
            PublishedClaim::None => None,
            PublishedClaim::Lower => Some(Way::Lower),
            PublishedClaim::Higher => Some(Way::Higher),
            PublishedClaim::Values => {
                let (base, value) = (self.of(base)?, self.of(level)?);
                Some(match value.total_cmp(&base) {
                    std::cmp::Ordering::Less => Way::Lower,
                    std::cmp::Ordering::Equal => Way::Same,
                    std::cmp::Ordering::Greater => Way::Higher,
                })
            }
        }
    }
}

fn asked(metrics: &[Metric], difference: Option<f64>) -> ComparisonRequest {
    ComparisonRequest {
        metrics: metrics.to_vec(),
        options: Options {
            difference,
            ..Options::default()
        },
        ..ComparisonRequest::default()
    }
}

/// Compares the cells with the first. `difference` is the smallest one that matters, in the unit of the
/// figures; a tenth of the first cell's value where there is none.
///
/// # Errors
///
/// As [`compare`].
pub fn compared(
    cells: Cells,
    metrics: &[Metric],
    published: &Published,
    difference: Option<f64>,
) -> Result<StudyAnswer, CompareError> {
    let pictures = pictures::of(&cells.groups);
    let levels = cells.levels;
    let names: Vec<String> = cells.groups.iter().map(|g| g.name.clone()).collect();
    let joint = joint(&cells.groups, metrics);
    let comparison = compare(cells.groups, &asked(metrics, difference))?;
    let mut rows = Vec::new();
    let mut figures: Vec<&str> = Vec::new();
    for result in &comparison.results {
        if !figures.contains(&result.figure.as_str()) {
            figures.push(&result.figure);
        }
    }
    let base_level = levels.first().map_or("", String::as_str);
    for figure in figures {
        for (name, level) in names.iter().zip(&levels) {
            let of = |result: &&ComparedFigure| result.figure == figure;
            let mut results = comparison.results.iter().filter(of);
            let row = if name == &names[0] {
                results.next().map(base_row)
            } else {
                let result = results.find(|result| result.candidate.group == *name);
                result.map(|result| candidate_row(result, published, base_level, level))
            };
            let Some(mut row) = row else { continue };
            let group = comparison.groups.iter().find(|group| group.name == *name);
            let runs = group.map_or(&[][..], |group| group.runs.as_slice());
            spread(&mut row, runs);
            row.published = published.of(level);
            row.published_error = published.errors.get(level).copied();
            row.published_unit = row.published.and_then(|_| published.unit.clone());
            rows.push(row);
        }
    }
    Ok(StudyAnswer {
        method: Some(method(&comparison, difference)),
        conclusion: said::conclusion(&rows, &names[0]),
        rows,
        joint,
        pictures,
        ..StudyAnswer::default()
    })
}

/// Notes how far the runs lie apart, in the terms of published tables.
fn spread(row: &mut StudyRow, runs: &[ComparedRun]) {
    let of = |run: &ComparedRun| run.values.get(&row.figure).copied().flatten();
    let values: Vec<f64> = runs.iter().filter_map(of).collect();
    let mut moments = Moments::new();
    values.iter().for_each(|value| moments.push(*value));
    let (Some(mean), Some(deviation)) = (moments.mean(), moments.std_dev()) else {
        return;
    };
    row.standard_error = Some(deviation / float(values.len() as u64).sqrt());
    row.relative_deviation = (mean != 0.0).then(|| deviation / mean.abs());
}

/// Asks of each figure whether the cells differ at all.
fn joint(groups: &[GroupInput], metrics: &[Metric]) -> Vec<StudyJoint> {
    let options = Options::default();
    let asked = experiment::joint(groups, metrics, &options);
    let p: Vec<Option<f64>> = asked.iter().map(|(_, p)| Some(*p)).collect();
    let answers = asked.into_iter().zip(holm(&p));
    answers
        .filter_map(|((figure, _), p)| {
            let p = p?;
            Some(StudyJoint {
                figure,
                cells: groups.len() as u64,
                differ: p <= options.alpha,
                p,
            })
        })
        .collect()
}

fn method(comparison: &Comparison, difference: Option<f64>) -> String {
    let paired = comparison.results.iter().any(|r| r.pairs.is_some());
    let method = &comparison.method;
    let matters = match (difference, comparison.results.first()) {
        (Some(difference), Some(result)) => {
            // A rate is a number of times one a second.
            let unit = result
                .unit
                .strip_prefix('1')
                .filter(|rest| rest.starts_with('/'));
            let unit = unit.map_or_else(|| format!(" {}", result.unit), ToOwned::to_owned);
            format!("a difference of {difference}{unit}")
        }
        _ => format!("a change of {:.0} %", method.effect * 100.0),
    };
    let corrected = match method.tests {
        0 | 1 => String::new(),
        tests => format!(", p corrected for {tests} tests (Holm)"),
    };
    format!(
        "one value per run, permutation test{}, level {:.3} %{corrected}, powered to detect \
         {matters} with {:.0} % probability",
        if paired { " inside blocks" } else { "" },
        method.alpha * 100.0,
        method.power * 100.0
    )
    .replace(".000 %", " %")
}

fn base_row(result: &ComparedFigure) -> StudyRow {
    StudyRow {
        cell: result.baseline.group.clone(),
        figure: result.figure.clone(),
        unit: result.unit.clone(),
        better: result.better,
        runs: result.baseline.runs,
        estimate: result.baseline.estimate,
        interval: result.baseline.interval,
        scale: Some(result.scale),
        ..StudyRow::default()
    }
}

fn candidate_row(
    result: &ComparedFigure,
    published: &Published,
    base: &str,
    level: &str,
) -> StudyRow {
    let ratio = |value: f64| {
        let base = published.of(base).filter(|base| *base > 0.0)?;
        Some(value / base)
    };
    let given = published.ratios.get(&result.figure);
    let given = given.and_then(|ratios| ratios.get(level)).copied();
    StudyRow {
        cell: result.candidate.group.clone(),
        runs: result.candidate.runs,
        estimate: result.candidate.estimate,
        interval: result.candidate.interval,
        ratio: result.ratio,
        difference: result.difference,
        p: result.adjusted_p,
        verdict: Some(result.verdict),
        more_runs: result.more_runs,
        withheld: result.withheld.clone(),
        published_ratio: given.or_else(|| published.of(level).and_then(ratio)),
        direction: Some(direction(
            result,
            published.way(&result.figure, base, level),
        )),
        ..base_row(result)
    }
}

fn direction(result: &ComparedFigure, published: Option<Way>) -> StudyDirection {
    let Some(published) = published else {
        return StudyDirection::NoClaim;
    };
    let effect = |effect: Option<Effect>, none: f64| effect.map(|effect| effect.estimate > none);
    let higher = match result.scale {
        ComparisonScale::Log => effect(result.ratio, 1.0),
        ComparisonScale::Linear => effect(result.difference, 0.0),
    };
    match (result.verdict, higher) {
        (ComparisonVerdict::TooFewRuns, _) | (_, None) => StudyDirection::TooFewRuns,
        (
            ComparisonVerdict::NotDistinguishable
            | ComparisonVerdict::Equivalent
            | ComparisonVerdict::NotWorse,
            _,
        ) => match published {
            Way::Same => StudyDirection::Same,
            _ => StudyDirection::NotDistinguishable,
        },
        (_, Some(true)) if published == Way::Higher => StudyDirection::Same,
        (_, Some(false)) if published == Way::Lower => StudyDirection::Same,
        _ => StudyDirection::Other,
    }
}

/// Shows the estimates of each cell, and next to them the `published` values of machines by figure and machine.
///
/// # Errors
///
/// [`CompareError::Value`] for a figure that is not a number, [`CompareError::NoFigure`] if no run has any.
pub fn table(
    cells: Cells,
    metrics: &[Metric],
    published: &BTreeMap<String, BTreeMap<String, f64>>,
    unit: Option<&str>,
) -> Result<StudyAnswer, CompareError> {
    let records = || {
        let runs = cells.groups.iter().flat_map(|group| &group.runs);
        runs.map(|run| &run.record)
    };
    let mut rows = Vec::new();
    for metric in expanded(metrics, records()) {
        for group in &cells.groups {
            rows.extend(estimate(group, &metric)?);
        }
    }
    if rows.is_empty() {
        return Err(CompareError::NoFigure {
            asked: metrics.iter().map(ToString::to_string).collect(),
        });
    }
    let conclusion = said::ranges(&rows);
    let mut known: Vec<StudyRow> = rows.clone();
    known.dedup_by(|a, b| a.figure == b.figure);
    for row in &known {
        let machines = published.get(&row.figure).into_iter().flatten();
        rows.extend(machines.map(|(machine, value)| StudyRow {
            cell: machine.clone(),
            figure: row.figure.clone(),
            unit: row.unit.clone(),
            better: row.better,
            published: Some(*value),
            published_unit: unit.map(ToOwned::to_owned),
            ..StudyRow::default()
        }));
    }
    Ok(StudyAnswer {
        conclusion,
        rows,
        pictures: pictures::of(&cells.groups),
        ..StudyAnswer::default()
    })
}

/// The estimate of one figure over the runs of a cell; of one run its own.
fn estimate(group: &GroupInput, metric: &Metric) -> Result<Option<StudyRow>, CompareError> {
    let values = group.runs.iter().filter_map(|run| run.value(metric));
    let values: Vec<f64> = values.collect();
    let Some(first) = values.first() else {
        return Ok(None);
    };
    let figure = group.runs.iter().find_map(|run| metric.figure(&run.record));
    let (unit, better) = match (metric.unit(), figure) {
        (Some(unit), _) => (unit.to_owned(), Better::Lower),
        (None, Some(figure)) => (figure.unit.clone(), figure.better),
        (None, None) => ("1".to_owned(), Better::Neither),
    };
    let mut row = StudyRow {
        cell: group.name.clone(),
        figure: metric.to_string(),
        unit,
        better,
        runs: values.len() as u64,
        estimate: Some(*first),
        ..StudyRow::default()
    };
    if let ([_], [run]) = (values.as_slice(), group.runs.as_slice()) {
        row.interval = inside(metric, run);
        return Ok(Some(row));
    }
    // The base of a comparison of the values with themselves: the same estimate as everywhere.
    let question = Question::new(&values, &values, punctual_stats::runs::Direction::Neither);
    let options = Options::default();
    let outcomes = compare_all(&[question], &options).map_err(|source| CompareError::Value {
        figure: metric.to_string(),
        source,
    })?;
    if let Some(outcome) = outcomes.first() {
        let side = &outcome.baseline;
        row.scale = Some(match outcome.scale {
            Scale::Linear => ComparisonScale::Linear,
            Scale::Log => ComparisonScale::Log,
        });
        row.estimate = side.estimate;
        row.interval = side.interval.map(|ends| Interval {
            low: ends.low,
            high: ends.high,
            confidence: 1.0 - options.alpha,
        });
    }
    Ok(Some(row))
}

/// The interval that a run's own samples give.
fn inside(metric: &Metric, run: &RunInput) -> Option<Interval> {
    let total = &run.record.total;
    match metric {
        Metric::Quantile(_) => *total.quantile_intervals_ns.get(&metric.to_string())?,
        Metric::Mean => total.mean_interval_ns,
        Metric::Figure { .. } => metric.figure(&run.record)?.interval,
        _ => None,
    }
}

/// Says whether the runs of each cell agree: whether their own intervals have a value in common.
pub fn agreement(cells: &Cells, metrics: &[Metric]) -> StudyAnswer {
    let mut rows = Vec::new();
    let mut verdicts = Vec::new();
    for group in &cells.groups {
        let records = group.runs.iter().map(|run| &run.record);
        for metric in expanded(metrics, records) {
            let mut ends: Vec<Interval> = Vec::new();
            for (number, run) in (1..).zip(&group.runs) {
                let value = run.value(&metric);
                let interval = inside(&metric, run);
                ends.extend(interval);
                rows.push(StudyRow {
                    cell: format!("series {number}"),
                    figure: metric.to_string(),
                    unit: metric.unit().unwrap_or("ns").to_owned(),
                    better: Better::Lower,
                    runs: 1,
                    estimate: value,
                    interval,
                    ..StudyRow::default()
                });
            }
            let low = ends.iter().map(|i| i.low).fold(f64::NEG_INFINITY, f64::max);
            let high = ends.iter().map(|i| i.high).fold(f64::INFINITY, f64::min);
            // A share has no interval of its own: it is shown.
            if matches!(metric, Metric::Above(_)) {
                continue;
            }
            let agrees = match ends.len() {
                n if n < 2 || n < group.runs.len() => None,
                _ => Some(low <= high),
            };
            verdicts.push((metric.to_string(), agrees));
        }
    }
    StudyAnswer {
        rows,
        conclusion: said::agree(&verdicts),
        curves: cells.groups.iter().flat_map(curves::series).collect(),
        ..StudyAnswer::default()
    }
}

/// Says in how many runs of each cell each finding is.
pub fn findings(cells: &Cells, ids: &[String]) -> StudyAnswer {
    let mut findings = Vec::new();
    for group in &cells.groups {
        for id in ids {
            let found: Vec<&str> = group
                .runs
                .iter()
                .filter_map(|run| run.record.findings.iter().find(|found| found.id == *id))
                .map(|found| found.detail.as_str())
                .collect();
            if let Some(detail) = found.last() {
                findings.push(StudyFinding {
                    cell: group.name.clone(),
                    id: id.clone(),
                    runs: found.len() as u64,
                    of: group.runs.len() as u64,
                    detail: (*detail).to_owned(),
                });
            }
        }
    }
    let runs = cells.groups.iter().flat_map(|group| &group.runs);
    let all = runs.clone().count();
    let said: Vec<String> = ids
        .iter()
        .filter_map(|id| {
            let of = findings.iter().filter(|found| found.id == *id);
            let runs: u64 = of.map(|found| found.runs).sum();
            (runs > 0).then(|| format!("{} in {runs} of {all} runs", id.replace('-', " ")))
        })
        .collect();
    let longest = runs.filter_map(|run| run.record.duration_ns).max();
    let mut conclusion = match said.is_empty() {
        true => format!("nothing of this in {all} runs"),
        false => said.join("; "),
    };
    let causes = ids.iter().any(|id| id == "stalls");
    if let Some(longest) = longest.filter(|longest| causes && *longest < NAMES_A_CAUSE) {
        _ = write!(
            conclusion,
            "; the longest run took {longest}, and it takes {NAMES_A_CAUSE} to name a cause: what stops a thread comes \
             once a second, and three stalls are the least that show it"
        );
    }
    StudyAnswer {
        conclusion,
        findings,
        ..StudyAnswer::default()
    }
}

/// How long a run must be to show who stops a real-time thread: three whole periods of a second, and the rest of one.
const NAMES_A_CAUSE: Nanos = Nanos::from_millis(3_900);

/// Says which class the runs of each cell reach by each deadline: that of the worst run. The class 100 % is that none was
/// missed, so how many may be is said with it.
pub fn classes(cells: &Cells, deadlines: &[Nanos]) -> StudyAnswer {
    let burst = Nanos::new(DEFAULT_BURST_NS);
    let mut rows = Vec::new();
    for group in &cells.groups {
        let conditions = group.runs.iter().map(|run| Condition {
            name: run.record.id.clone(),
            run: run.record.clone(),
        });
        for verdict in assess(conditions.collect(), deadlines, burst, None).deadlines {
            let missed: u64 = verdict.misses.iter().map(|rate| rate.missed).sum();
            let wakeups: u64 = verdict.misses.iter().map(|rate| rate.wakeups).sum();
            let shares = verdict.misses.iter().filter_map(|rate| rate.share_at_most);
            rows.push(StudyRow {
                cell: group.name.clone(),
                figure: format!("missed:{}", compact(verdict.deadline_ns)),
                unit: "1".to_owned(),
                better: Better::Lower,
                runs: verdict.misses.len() as u64,
                estimate: (wakeups > 0).then(|| share(missed, wakeups)),
                class: verdict.class,
                at_most: shares.reduce(f64::max),
                ..StudyRow::default()
            });
        }
    }
    let mut classes: Vec<String> = Vec::new();
    for group in &cells.groups {
        let of = rows.iter().filter(|row| row.cell == group.name);
        let of: Vec<String> = of
            .map(|row| {
                let deadline = row.figure.trim_start_matches("missed:");
                let class = match row.class {
                    Some(class) => crate::claims::class(class),
                    None if group.runs.is_empty() => "no valid run",
                    None => "none",
                };
                format!("{class} at {deadline}")
            })
            .collect();
        let cell = said::level(&group.name).replace('=', " ");
        classes.push(format!("{cell}: {}", of.join(", ")));
    }
    let kept = rows.iter().filter(|row| row.estimate == Some(0.0));
    let may_miss = kept.filter_map(|row| row.at_most).reduce(f64::max);
    let may_miss = may_miss.map_or_else(String::new, |share| {
        format!(
            " Where none was missed, up to {} of wake-ups may miss.",
            at_most(share)
        )
    });
    StudyAnswer {
        rows,
        conclusion: format!(
            "{}. The class of each cell is that of its worst run, if no burst of misses lasts longer than {} ({CLASSES}).\
             {may_miss} No measurement can certify a deadline as safe",
            classes.join("; "),
            span(burst)
        ),
        ..StudyAnswer::default()
    }
}

#[expect(clippy::cast_precision_loss, reason = "a share")]
fn share(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}
