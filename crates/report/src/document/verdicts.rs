// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The tables of compared figures: each with its verdict, the groups behind it, and what has to be known of both.

use std::cmp::Ordering;

use punctual_model::{
    ComparedFigure, Comparison, ComparisonScale, ComparisonVerdict, Effect, GroupFigure,
    IntervalLevel, figure_heading, figure_words,
};
use punctual_stats::PValue;
use punctual_verdict::comparison::answer;
use punctual_verdict::words::{self, obstacle};

use super::parts::Table;
use crate::clock_or_count::Times;
use crate::number::{Missing, difference, digits, percent, range_ends};
use crate::order::in_order;

pub(crate) const NO_INTERVAL: &str = "too few runs for an interval";
pub(crate) const NO_TEST: &str = "a test takes two runs on each side";
pub(crate) const NO_VALUE: &str = "no run of the group has the figure";
pub(crate) const NO_RATIO: &str = "there is no ratio to 0";

/// Why there is no interval of what rests on these groups.
fn no_interval(of: &[&GroupFigure]) -> &'static str {
    let varies = of
        .iter()
        .any(|side| side.deviation.is_none_or(|deviation| deviation > 0.0));
    match (of.iter().all(|side| side.runs >= 2), varies) {
        (false, _) => NO_INTERVAL,
        (true, false) => "no interval where runs do not vary",
        (true, true) => "no interval follows from these figures",
    }
}

/// A heading must not take the room of the table.
const HEADING: usize = 14;

/// Of which results a table is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Of {
    /// Of one group.
    Group,
    /// Of many, a row each.
    Groups,
}

/// Says how groups were compared.
pub(super) fn method(comparison: &Comparison) -> String {
    let method = &comparison.method;
    let mut parts = vec![match method.test.as_str() {
        "welch" => "Welch's t test of published means".to_owned(),
        "earlier" => "Student's t test with the deviation of earlier runs".to_owned(),
        _ => test(comparison),
    }];
    if method.tests > 1 {
        parts.push(format!("corrected for {} tests (Holm)", method.tests));
    }
    parts.push(format!("level {}", percent(method.alpha)));
    parts.push(match (method.equivalence, method.not_worse) {
        (Some(margin), _) => format!("the same means within {}", percent(margin)),
        (None, Some(margin)) => format!("not worse means less than {} worse", percent(margin)),
        (None, None) => format!(
            "\"not distinguishable\" if a change of {} would be found in {} of cases",
            what_matters(comparison),
            percent(method.power)
        ),
    });
    format!("Method: {}.", parts.join(", "))
}

/// The smallest change that matters.
fn what_matters(comparison: &Comparison) -> String {
    let method = &comparison.method;
    let Some(least) = method.difference else {
        return percent(method.effect);
    };
    let mut units = comparison.results.iter().map(|result| &result.unit);
    match units.next() {
        Some(first) if units.all(|unit| unit == first) => {
            let (unit, scale) = Times::of(comparison).unit(first);
            let amount = digits(least / scale);
            // A rate is a number of times one a second.
            match unit.strip_prefix('1') {
                Some(rest) => format!("{amount}{rest}"),
                None => format!("{amount} {unit}").trim_end().to_owned(),
            }
        }
        _ => format!("{} in the unit of its figure", digits(least)),
    }
}

/// Which test the p-values rest on.
fn test(comparison: &Comparison) -> String {
    let results = || comparison.results.iter();
    let drawn = match results().all(|result| result.exact != Some(false)) {
        true => "all arrangements".to_owned(),
        false => format!("up to {} random arrangements", comparison.method.draws),
    };
    match results().any(|result| result.pairs.is_some()) {
        true => format!("permutation test, runs compared inside their blocks, {drawn}"),
        false => format!("permutation test and Welch's t test, the larger p-value, {drawn}"),
    }
}

/// A figure with its unit.
pub(super) fn name(result: &ComparedFigure, times: Times) -> String {
    let (unit, _) = times.unit(&result.unit);
    figure_heading(&result.figure, &unit)
}

pub(crate) fn p_value(p: f64) -> String {
    format!("{:#}", PValue(p))
}

/// What `p` is of, where several figures are tested together.
pub(super) fn p_heading(tests: usize) -> String {
    match tests {
        0 | 1 => "p".to_owned(),
        tests => format!("p of {tests}"),
    }
}

/// An effect that multiplies, or the difference where there is no ratio, and by what the latter is divided.
fn effect(result: &ComparedFigure, times: Times) -> (Option<Effect>, f64) {
    match result.scale {
        ComparisonScale::Log => (result.ratio, 1.0),
        ComparisonScale::Linear => (result.difference, times.unit(&result.unit).1),
    }
}

/// Writes a ratio, or a difference with its sign.
pub(super) fn change(x: f64, scale: ComparisonScale) -> String {
    match scale {
        ComparisonScale::Linear if x > 0.0 => format!("+{}", digits(x)),
        ComparisonScale::Linear | ComparisonScale::Log => digits(x),
    }
}

/// Every figure with its verdict and what that rests on.
pub(super) fn table(results: &[&ComparedFigure], comparison: &Comparison, of: Of) -> Table {
    let times = Times::of(comparison);
    let first = results.first();
    let baseline = first.map_or("the first", |first| first.baseline.group.as_str());
    let p = p_heading(usize::try_from(comparison.method.tests).unwrap_or(usize::MAX));
    let (caption, names) = match (of, first) {
        (Of::Group, Some(first)) => (
            format!("{} against {baseline}", first.candidate.group),
            [shortened(baseline), shortened(&first.candidate.group)],
        ),
        _ => (
            format!("Answers: each cell against {baseline}"),
            ["Baseline".to_owned(), "Value".to_owned()],
        ),
    };
    let mut table = Table::new(
        times.heading(caption),
        &[
            "<Group",
            "<Figure",
            "?Baseline",
            "?Value",
            "Ratio",
            "Low",
            "..High",
            &p,
            "<Verdict",
            "?Noticeable",
            "??Own p",
            "??Runs",
            "??Runs of the baseline",
        ],
    );
    // Names of users mean nothing here.
    for (column, name) in table.columns.iter_mut().skip(2).zip(names) {
        column.name = name;
    }
    let mut missing = Missing::default();
    for result in results {
        let (_, scale) = times.unit(&result.unit);
        let value = |side: &GroupFigure| side.estimate.map(|x| digits(x / scale));
        let (effect, by) = effect(result, times);
        let ends = effect.and_then(|effect| effect.interval);
        let [low, high] = range_ends(ends.as_ref(), by);
        let zero = |side: &GroupFigure| side.estimate == Some(0.0);
        let never = result.scale == ComparisonScale::Log
            && zero(&result.baseline)
            && zero(&result.candidate);
        let estimate = effect.filter(|_| !never);
        let estimate = estimate.map(|e| change(e.estimate / by, result.scale));
        table.rows.push(vec![
            match of {
                Of::Group => String::new(),
                Of::Groups => result.candidate.group.clone(),
            },
            name(result, times),
            missing.or(value(&result.baseline), NO_VALUE),
            missing.or(value(&result.candidate), NO_VALUE),
            missing.or(
                estimate,
                match (result.baseline.estimate, result.candidate.estimate) {
                    (Some(_), Some(_)) => NO_RATIO,
                    _ => NO_VALUE,
                },
            ),
            missing.or(low, no_interval(&[&result.baseline, &result.candidate])),
            high.unwrap_or_default(),
            missing.or(result.adjusted_p.map(p_value), NO_TEST),
            verdict(result, comparison),
            result
                .smallest_detectable
                .map_or_else(String::new, times_as_much),
            result.p.map_or_else(String::new, p_value),
            result.candidate.runs.to_string(),
            result.baseline.runs.to_string(),
        ]);
    }
    let linear = |result: &&ComparedFigure| result.scale == ComparisonScale::Linear;
    if results.iter().any(linear) {
        let note = "Signed values are differences, not ratios.";
        table.notes.push(note.to_owned());
    }
    table.notes.extend(foot(results, comparison, of));
    table.notes.extend(missing.reasons());
    table.without_empty_columns()
}

/// What a reader has to know of the verdicts, in words.
fn foot(results: &[&ComparedFigure], comparison: &Comparison, of: Of) -> Vec<String> {
    let method = &comparison.method;
    let confidence = percent(method.confidence);
    let mut lines = vec![format!(
        "Each run counts once. Chance of any false \"better\" or \"worse\" in this table: at most {}.",
        percent(method.alpha)
    )];
    lines.push(match method.tests {
        0 | 1 => format!("Low, High: {confidence} interval."),
        tests => format!(
            "Low, High: {confidence} intervals, for each figure alone; p and verdicts are corrected for {tests} tests."
        ),
    });
    let least = |result: &&&ComparedFigure| {
        let least = result
            .smallest_detectable
            .filter(|_| result.withheld.is_none())?;
        Some(format!(
            "{} {}",
            figure_words(&result.figure),
            times_as_much(least)
        ))
    };
    let noticed: Vec<String> = results.iter().filter_map(|result| least(&result)).collect();
    match (of, noticed.is_empty()) {
        (_, true) => {}
        (Of::Group, _) => lines.push(format!(
            "Smallest change we would have noticed: {}.",
            noticed.join(", ")
        )),
        (Of::Groups, _) => {
            lines.push("Noticeable: the smallest change we would have noticed.".to_owned());
        }
    }
    // Of the figures with the fewest runs.
    let level = method.alpha / method.tests.max(1) as f64;
    let stuck = results
        .iter()
        .filter(|r| r.smallest_p.is_some_and(|least| least > level));
    let worst = stuck.max_by(|a, b| {
        a.smallest_p
            .partial_cmp(&b.smallest_p)
            .unwrap_or(Ordering::Equal)
    });
    if let Some((result, least)) = worst.and_then(|result| Some((result, result.smallest_p?))) {
        let of = match (result.pairs, result.baseline.runs, result.candidate.runs) {
            (Some(blocks), ..) => format!("{blocks} blocks"),
            (None, a, b) if a == b => format!("{a} runs a side"),
            (None, a, b) => format!("{a} and {b} runs"),
        };
        let corrected = match method.tests {
            0 | 1 => String::new(),
            tests => format!(", before the correction for {tests} tests"),
        };
        lines.push(format!(
            "p cannot go below {} with {of}{corrected}.",
            p_value(least)
        ));
    }
    lines.extend(levels(results, comparison));
    lines
}

/// A change as a factor: `x1.97`.
fn times_as_much(share: f64) -> String {
    match share {
        _ if share >= 99.0 => "more than x100".to_owned(),
        _ => format!("x{:.2}", 1.0 + share),
    }
}

/// What the hierarchical interval of each figure was drawn from.
fn levels(results: &[&ComparedFigure], comparison: &Comparison) -> Option<String> {
    let of = |level: Option<IntervalLevel>| -> Vec<String> {
        let with = |result: &&&ComparedFigure| {
            result.interval_method.is_some() && result.interval_level == level
        };
        results
            .iter()
            .filter(with)
            .map(|result| figure_words(&result.figure))
            .collect()
    };
    let parts = [
        (
            Some(IntervalLevel::Samples),
            "over runs, and inside each over blocks of its samples",
        ),
        (
            Some(IntervalLevel::Intervals),
            "over runs, and inside each over the interval that it recorded",
        ),
        (
            None,
            "over runs alone, which tell nothing of what is inside",
        ),
    ];
    let said = parts.into_iter().filter_map(|(level, how)| {
        let names = of(level);
        (!names.is_empty()).then(|| format!("{how}: {}", names.join(", ")))
    });
    let said: Vec<String> = said.collect();
    (comparison.method.interval == "hierarchical" && !said.is_empty())
        .then(|| format!("Intervals {}.", said.join("; ")))
}

fn shortened(name: &str) -> String {
    if name.chars().count() <= HEADING {
        return name.to_owned();
    }
    let kept: String = name.chars().take(HEADING - 1).collect();
    format!("{kept}…")
}

/// A verdict in words, with what would decide it.
fn verdict(result: &ComparedFigure, comparison: &Comparison) -> String {
    let times = Times::of(comparison);
    if let Some(withheld) = &result.withheld {
        return times.verdict(format!("no verdict: {}", obstacle(withheld.reason)));
    }
    let word = words::verdict(result.verdict);
    // The p-value of their column is that of "no effect", on which these do not rest.
    let p = result.equivalence_p;
    let p = p.map_or_else(String::new, |p| format!(", p {}", p_value(p)));
    let margin = |share: Option<f64>| percent(share.unwrap_or(0.0));
    let method = &comparison.method;
    times.verdict(match (result.verdict, answer::more(result)) {
        (ComparisonVerdict::Equivalent, _) => {
            format!("{word} within {}{p}", margin(method.equivalence))
        }
        (ComparisonVerdict::NotWorse, _) => format!("{word} by {}{p}", margin(method.not_worse)),
        (ComparisonVerdict::TooFewRuns, Some(more)) => format!("{word}: {more}"),
        _ => word.to_owned(),
    })
}

/// The figures of each group over its runs, and how far it is from the first.
pub(super) fn groups(comparison: &Comparison) -> Table {
    let times = Times::of(comparison);
    let confidence = percent(comparison.method.confidence);
    let mut table = Table::of(
        times.heading("Groups: estimates over runs and differences"),
        "<Figure|<Group|Value|Low|..High|?Deviation|??Runs|Difference|from|..to",
    );
    let mut missing = Missing::default();
    let mut seen: Vec<(&str, &str)> = Vec::new();
    let mut order: Vec<&str> = Vec::new();
    for result in &comparison.results {
        if !order.contains(&result.figure.as_str()) {
            order.push(&result.figure);
        }
    }
    for figure in order {
        for result in comparison.results.iter().filter(|r| r.figure == figure) {
            for (side, against) in [
                (&result.baseline, None),
                (&result.candidate, result.difference),
            ] {
                let key = (figure, side.group.as_str());
                if seen.contains(&key) {
                    continue;
                }
                seen.push(key);
                let (_, scale) = times.unit(&result.unit);
                let [low, high] = range_ends(side.interval.as_ref(), scale);
                let deviation = side.deviation.map(|deviation| match result.scale {
                    ComparisonScale::Log => share(deviation),
                    ComparisonScale::Linear => digits(deviation / scale),
                });
                let (apart, ends) = against.map(|effect| difference(&effect, scale)).unzip();
                let ends = ends.flatten().unwrap_or_default();
                let (from, to) = ends.split_once(" .. ").unwrap_or((ends.as_str(), ""));
                table.rows.push(vec![
                    name(result, times),
                    side.group.clone(),
                    missing.or(side.estimate.map(|x| digits(x / scale)), NO_VALUE),
                    missing.or(low, no_interval(&[side])),
                    high.unwrap_or_default(),
                    missing.or(deviation, no_interval(&[side])),
                    side.runs.to_string(),
                    apart.unwrap_or_default(),
                    from.to_owned(),
                    to.to_owned(),
                ]);
            }
        }
    }
    table.notes.push(format!(
        "Low, High: {confidence} interval; Deviation: standard deviation between runs."
    ));
    let inside = |result: &ComparedFigure| {
        let part = result.variance_inside?;
        let of = match comparison.groups.len() {
            0..=2 => String::new(),
            _ => format!("{}: ", result.candidate.group),
        };
        Some(format!(
            "{of}{} {:.0} %",
            figure_words(&result.figure),
            part * 100.0
        ))
    };
    let inside: Vec<String> = comparison.results.iter().filter_map(inside).collect();
    if !inside.is_empty() {
        table.notes.push(format!(
            "Longer runs would take away this part of the variance between runs, the rest only more runs: {}.",
            inside.join(", ")
        ));
    }
    table.notes.extend(missing.reasons());
    table.without_empty_columns()
}

fn share(change: f64) -> String {
    let percents = change * 100.0;
    if percents >= 1_000.0 {
        return "> 1000 %".to_owned();
    }
    let decimals = usize::from(percents < 10.0);
    format!("{percents:.decimals$} %")
}

/// The samples of groups of one run: what there is where runs cannot be compared.
pub(super) fn samples(comparison: &Comparison) -> Option<Table> {
    let groups = comparison.groups.iter();
    let known = groups.filter_map(|group| Some((&group.name, group.distribution.as_ref()?)));
    let known: Vec<_> = known.collect();
    let mut names = vec!["samples", "min"];
    let quantiles = in_order(known.iter().flat_map(|(_, d)| d.quantiles_ns.keys()));
    names.extend(quantiles.into_iter().map(String::as_str));
    names.push("max");
    let (unit, _) = Times::of(comparison).unit("ns");
    let mut heading = vec!["<Figure"];
    heading.extend(["Value", "Low", "..High"].repeat(known.len()));
    let caption = format!(
        "Samples of groups of one run in {unit}: what that run did, not what another would"
    );
    let mut table = Table::new(caption, &heading);
    for (at, (name, _)) in known.iter().enumerate() {
        if let Some(column) = table.columns.get_mut(1 + 3 * at) {
            column.name = shortened(name);
        }
    }
    let mut missing = Missing::default();
    for name in names {
        let mut row = vec![name.to_owned()];
        for (_, of) in &known {
            let micros = |ns: Option<u64>| ns.map(|ns| digits(ns as f64 / 1e3));
            let value = match name {
                "samples" => Some(of.samples.to_string()),
                "min" => micros(of.min_ns),
                "max" => micros(of.max_ns),
                name => micros(of.quantiles_ns.get(name).copied().flatten()),
            };
            let ends = of.quantile_intervals_ns.get(name).copied().flatten();
            row.push(missing.or(value, "too few samples"));
            row.extend(range_ends(ends.as_ref(), 1e3).map(Option::unwrap_or_default));
        }
        table.rows.push(row);
    }
    table.notes.extend(missing.reasons());
    (!known.is_empty()).then(|| table.without_empty_columns())
}
