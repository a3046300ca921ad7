// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What a reader of a comparison should know and no p-value says.

pub(crate) mod facts;
mod order;

use std::collections::{BTreeMap, BTreeSet};

use punctual_model::{
    ComparedFigure, Comparison, ComparisonMethod, ComparisonVerdict, Finding, figure_words,
};
use punctual_stats::PValue;
use punctual_stats::runs::{Scale, Trend, drift};

use super::{Blocks, GroupInput, Metric, Table};
use crate::number::{self, digits, percent};
use crate::words::plural;

/// The remark that a figure is not told apart only because others were asked for with it.
pub(super) const CORRECTION: &str = "correction";
/// The remark that a figure is not told apart because somebody may look again.
pub(super) const LOOK: &str = "look";

/// What was compared, and what came out.
pub(super) struct Compared<'a> {
    pub(super) groups: &'a [GroupInput],
    pub(super) table: &'a Table,
    pub(super) results: &'a [ComparedFigure],
    /// The p-value of each result if nothing else were asked.
    pub(super) alone: &'a [Option<f64>],
    pub(super) method: &'a ComparisonMethod,
    /// Whether runs were to be compared inside of their blocks.
    pub(super) in_blocks: bool,
    /// The blocks, where every run has one.
    pub(super) blocks: Option<&'a Blocks>,
}

/// Everything there is to remark, what matters most first.
pub(super) fn remarks(of: &Compared<'_>) -> Vec<Finding> {
    let Compared {
        groups,
        table,
        results,
        alone,
        method,
        in_blocks,
        blocks,
    } = *of;
    let mut remarks = Vec::new();
    remarks.extend(in_virtual_time(groups));
    remarks.extend(groups.iter().filter_map(too_few));
    remarks.extend(groups.iter().filter_map(validity));
    remarks.extend(groups.iter().filter_map(refused));
    if let Some((baseline, rest)) = groups.split_first() {
        remarks.extend(rest.iter().filter_map(|group| order::unit(baseline, group)));
        remarks.extend(
            rest.iter()
                .filter_map(|group| order::separated(baseline, group)),
        );
        let numbers = 1..groups.len();
        remarks.extend(numbers.filter_map(|at| order::always_first(groups, at, blocks)));
    }
    remarks.extend(order::lost_blocks(groups, in_blocks));
    remarks.extend(order::unpaired(results));
    remarks.extend(order::undated(groups));
    remarks.extend(drifts(groups, table));
    remarks.extend(facts::differences(groups));
    remarks.extend(missing(groups, table));
    let each = results.iter().zip(alone);
    remarks.extend(each.filter_map(|(one, alone)| corrected(one, *alone, method)));
    remarks.extend(outliers(groups, table, results));
    remarks
}

/// A figure whose own p-value and interval say "changed" and whose verdict does not: the reader sees
/// both, with the reason.
fn corrected(
    result: &ComparedFigure,
    alone: Option<f64>,
    method: &ComparisonMethod,
) -> Option<Finding> {
    let undecided = matches!(
        result.verdict,
        ComparisonVerdict::NotDistinguishable | ComparisonVerdict::TooFewRuns
    );
    let (own, together) = (result.p?, result.adjusted_p?);
    if !undecided || result.withheld.is_some() || own > method.alpha || together <= method.alpha {
        return None;
    }
    // With earlier runs nobody is to look again.
    let alone = alone
        .filter(|_| method.test == "permutation")
        .unwrap_or(own);
    if alone > method.alpha || own * punctual_stats::float(method.tests) <= method.alpha {
        let detail = format!(
            "{} of {}: {} is not enough yet. Part of the level of {} is reserved for a second look \
             with more runs: add runs and compare again",
            figure_words(&result.figure),
            result.candidate.group,
            PValue(own),
            percent(method.alpha)
        );
        return Some(Finding::observed(LOOK, detail));
    }
    let detail = format!(
        "{} of {} would differ if it were the only figure ({}), but among {} figures it does not \
         ({}): the more figures, the more differ by chance. Make new runs and compare this figure \
         alone",
        figure_words(&result.figure),
        result.candidate.group,
        PValue(own),
        method.tests,
        PValue(together)
    );
    Some(Finding::observed(CORRECTION, detail))
}

/// Runs that lie far from the others: each by name and with its values, or where they are many how
/// many in which figures.
fn outliers(groups: &[GroupInput], table: &Table, results: &[ComparedFigure]) -> Vec<Finding> {
    const BY_NAME: usize = 3;
    // A run is an outlier once of a figure, however many groups it is compared with.
    let mut figures: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut compared: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for result in results {
        for side in [&result.baseline, &result.candidate] {
            compared.insert((&side.group, &result.figure), side.runs);
            for run in &side.outliers {
                figures.entry(run).or_default().insert(&result.figure);
            }
        }
    }
    let remark = |detail: String| Finding::observed("outlier-run", detail);
    if figures.len() <= BY_NAME {
        let one = |(run, figures): (&&str, &BTreeSet<&str>)| outlier(groups, table, run, figures);
        return figures.iter().filter_map(one).map(remark).collect();
    }
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for figure in figures.values().flatten() {
        *counts.entry(figure).or_default() += 1;
    }
    let counts: Vec<String> = counts
        .into_iter()
        .map(|(figure, outlying)| {
            let of = compared.iter().filter(|((_, name), _)| *name == figure);
            let of: u64 = of.map(|(_, runs)| runs).sum();
            format!("{} {outlying} of {of}", figure_words(figure))
        })
        .collect();
    let first: Vec<&str> = figures.keys().take(BY_NAME).copied().collect();
    let (are, kept) = match figures.len() {
        1 => ("1 run is an outlier".to_owned(), "it was kept"),
        n => (format!("{n} runs are outliers"), "they were kept"),
    };
    vec![remark(format!(
        "{are} of their group ({}); {kept}. The first: {}; --json names all",
        counts.join(", "),
        first.join(", ")
    ))]
}

/// One run with its values, and what is usual in its group.
fn outlier(
    groups: &[GroupInput],
    table: &Table,
    id: &str,
    figures: &BTreeSet<&str>,
) -> Option<String> {
    let (at, place) = groups.iter().enumerate().find_map(|(at, group)| {
        let place = group.runs.iter().position(|run| run.record.id == id)?;
        Some((at, place))
    })?;
    let run = &groups.get(at)?.runs.get(place)?.record;
    let of = |(number, metric): (usize, &Metric)| {
        let name = metric.to_string();
        if !figures.contains(name.as_str()) {
            return None;
        }
        let column = table.column(at, number);
        let value = column.get(place).copied().flatten()?;
        let mut others: Vec<f64> = column.into_iter().flatten().collect();
        others.sort_by(f64::total_cmp);
        let middle = others.len() / 2;
        let median = match others.len() % 2 {
            1 => *others.get(middle)?,
            _ => f64::midpoint(*others.get(middle.checked_sub(1)?)?, *others.get(middle)?),
        };
        let (raw, _) = super::unit_and_better(metric, groups);
        let (unit, scale) = number::unit(&raw);
        let shown = |x: f64| {
            format!("{} {unit}", digits(x / scale))
                .trim_end()
                .to_owned()
        };
        Some(format!(
            "{} {}, group median {}",
            figure_words(&name),
            shown(value),
            shown(median)
        ))
    };
    let values: Vec<String> = table.metrics.iter().enumerate().filter_map(of).collect();
    let name = run.name.as_ref().unwrap_or(&run.id);
    Some(format!(
        "run {name} is an outlier ({}); it was kept",
        values.join("; ")
    ))
}

/// Says that `counted` of `all` series or groups are in virtual time, whose times are no latencies.
pub(crate) fn virtual_time(counted: usize, all: usize, what: &str) -> Option<Finding> {
    let of = match counted {
        0 => return None,
        n if n == all => String::new(),
        n => format!(" of {n} of {all} {what}"),
    };
    Some(Finding::observed(
        Comparison::VIRTUAL_TIME,
        format!(
            "all times{of} are instruction counts of the software path, not latencies of hardware"
        ),
    ))
}

fn in_virtual_time(groups: &[GroupInput]) -> Option<Finding> {
    let detail = "all times are instruction counts of the software path, not latencies of \
                  hardware; they do not drift, so runs are not compared within blocks";
    let any = groups.iter().any(super::is_virtual);
    any.then(|| Finding::observed(Comparison::VIRTUAL_TIME, detail.to_owned()))
}

fn too_few(group: &GroupInput) -> Option<Finding> {
    let detail = match group.runs.len() {
        0 => format!("{} has no runs: nothing can be concluded", group.name),
        1 => format!(
            "{} has one run: its samples are a single observation of one boot and say nothing \
             about other boots",
            group.name
        ),
        _ => return None,
    };
    Some(Finding::observed("one-run", detail))
}

fn validity(group: &GroupInput) -> Option<Finding> {
    let imported = group.runs.iter().filter(|run| run.record.origin.is_some());
    let imported = imported.count();
    let invalid = group.runs.iter().filter(|run| run.record.is_invalid());
    let invalid = invalid.count();
    let mut parts = Vec::new();
    if invalid > 0 {
        parts.push(format!(
            "{invalid} run{} invalid but compared anyway: no claim can be based on {}",
            if invalid == 1 { " is" } else { "s are" },
            if invalid == 1 { "it" } else { "them" },
        ));
    }
    if imported > 0 {
        parts.push(format!(
            "{imported} run{} imported: validity of the measurement unknown",
            if imported == 1 { " was" } else { "s were" },
        ));
    }
    (!parts.is_empty())
        .then(|| Finding::observed("validity", format!("{}: {}", group.name, parts.join("; "))))
}

fn refused(group: &GroupInput) -> Option<Finding> {
    let n = group.refused.len();
    let first = group.refused.first()?;
    let more = match n {
        1 => String::new(),
        _ => format!(" and {} more", n - 1),
    };
    Some(Finding::observed(
        "refused",
        format!(
            "{}: {n} run{} not compared: {}: {}{more}",
            group.name,
            plural(n),
            first.id,
            first.reason
        ),
    ))
}

fn drifts(groups: &[GroupInput], table: &Table) -> Vec<Finding> {
    let found: Vec<(&Metric, Trend)> = table
        .metrics
        .iter()
        .enumerate()
        .filter_map(|(figure, metric)| {
            let columns: Vec<(Vec<f64>, Vec<f64>)> = groups
                .iter()
                .enumerate()
                .map(|(at, group)| {
                    let values = table.column(at, figure).into_iter();
                    let timed = group.runs.iter().zip(values);
                    timed
                        .filter_map(|(run, value)| Some((value?, run.started_s?)))
                        .unzip()
                })
                .collect();
            let borrowed: Vec<(&[f64], &[f64])> = columns
                .iter()
                .map(|(values, times)| (values.as_slice(), times.as_slice()))
                .collect();
            Some((metric, drift(&borrowed).ok()??))
        })
        .collect();
    // As many looks as figures.
    let level = 0.05 / table.metrics.len().max(1) as f64;
    found
        .into_iter()
        .filter(|(_, trend)| trend.p <= level)
        .map(|(metric, trend)| {
            let size = match trend.scale {
                Scale::Log => format!("{:+.1} %", trend.change * 100.0),
                Scale::Linear => format!("{:+.3}", trend.change),
            };
            Finding::observed(
                "drift",
                format!(
                    "{} drifts in the order of the runs, {size} from the first to the last of \
                     {} (Kendall's tau {:.2}, {})",
                    figure_words(&metric.to_string()),
                    trend.runs,
                    trend.tau,
                    PValue(trend.p)
                ),
            )
        })
        .collect()
}

fn missing(groups: &[GroupInput], table: &Table) -> Option<Finding> {
    let parts: Vec<String> = table
        .metrics
        .iter()
        .enumerate()
        .filter_map(|(figure, metric)| {
            let without: usize = (0..groups.len())
                .map(|at| {
                    table
                        .column(at, figure)
                        .iter()
                        .filter(|v| v.is_none())
                        .count()
                })
                .sum();
            (without > 0).then(|| format!("{} ({without})", figure_words(&metric.to_string())))
        })
        .collect();
    (!parts.is_empty()).then(|| {
        Finding::observed(
            "missing",
            format!(
                "some runs lack a figure, because they have too few samples or measured something \
                 else: {}",
                parts.join(", ")
            ),
        )
    })
}
