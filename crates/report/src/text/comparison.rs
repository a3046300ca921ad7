// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A comparison as text.

use std::cmp::Ordering;

use punctual_model::{
    Certainty, ComparedFigure, ComparedGroup, Comparison, ComparisonScale, ComparisonVerdict,
    Effect, GroupFigure, IntervalLevel,
};
use punctual_stats::PValue;
use punctual_verdict::comparison::answer;
use punctual_verdict::words::{self, obstacle};

use super::layout::{Column, clean, table_to, wrapped_to};
use super::number::{Missing, difference, digits, percent, range};
use super::requirement::requirements;
use super::words::plural;
use crate::order::in_order;
use crate::times::Times;

/// Columns of a comparison.
const MOST: usize = 80;

/// Says how groups compare: the answer, the figures behind it, and last how it was found.
pub fn comparison(comparison: &Comparison) -> String {
    let mut sections = vec![answers(comparison)];
    for group in comparison.groups.iter().skip(1) {
        let results = answer::results(comparison, &group.name);
        sections.push(verdicts(&results, comparison));
        sections.push(between_runs(&results, comparison));
    }
    sections.extend(distributions(comparison));
    sections.extend(requirements(comparison));
    sections.extend(remarks(comparison));
    sections.push(wrapped_to(MOST, "Method: ", 1, &(method(comparison) + ".")));
    sections.join("\n")
}

/// The answer of each group, a sentence a line.
pub(super) fn said(comparison: &Comparison) -> String {
    let times = Times::of(comparison);
    let answers = answer::answers(comparison);
    let sentences = answers.iter().flat_map(|answer| &answer.sentences);
    sentences
        .map(|sentence| wrapped_to(MOST, "", 2, &times.verdict(clean(sentence))))
        .collect()
}

fn answers(comparison: &Comparison) -> String {
    let mut text = String::new();
    text.extend(super::guest::virtual_times(comparison));
    text += &said(comparison);
    let group = |group: &ComparedGroup| {
        let runs = match &group.published {
            Some(published) => published.runs,
            None => group.runs.len() as u64,
        };
        format!(
            "{} ({runs} run{})",
            clean(&group.name),
            plural(usize::from(runs != 1) + 1)
        )
    };
    let groups: Vec<String> = comparison.groups.iter().map(group).collect();
    if let Some((baseline, rest)) = groups.split_first() {
        let compared = format!("{} with {baseline}", rest.join(", "));
        text += &wrapped_to(MOST, "Compared: ", 2, &compared);
    }
    text
}

/// Says how groups were compared.
pub(crate) fn method(comparison: &Comparison) -> String {
    let method = &comparison.method;
    let mut parts = vec![match method.test.as_str() {
        "welch" => "Welch's t test of published means".to_owned(),
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
            percent(method.effect),
            percent(method.power)
        ),
    });
    parts.join(", ")
}

/// Which test the p-values rest on.
fn test(comparison: &Comparison) -> String {
    let exact = comparison
        .results
        .iter()
        .all(|result| result.exact != Some(false));
    let paired = comparison
        .results
        .iter()
        .any(|result| result.pairs.is_some());
    let drawn = match exact {
        true => "all arrangements".to_owned(),
        false => format!("up to {} random arrangements", comparison.method.draws),
    };
    match paired {
        true => format!("permutation test, runs compared inside their blocks, {drawn}"),
        false => format!("permutation test and Welch's t test, the larger p-value, {drawn}"),
    }
}

pub(super) fn name(result: &ComparedFigure, times: Times) -> String {
    let (unit, _) = times.unit(&result.unit);
    clean(format!("{} {unit}", result.figure).trim_end()).into_owned()
}

pub(crate) fn p_value(p: f64) -> String {
    format!("{:#}", PValue(p))
}

pub(crate) const NO_INTERVAL: &str = "too few runs for an interval";
pub(crate) const NO_TEST: &str = "a test takes two runs on each side";
pub(super) const NO_EFFECT: &str = "too few runs, or they do not vary, or the figure is 0";
pub(crate) const NO_VALUE: &str = "no run of the group has the figure";
pub(crate) const NO_RATIO: &str = "there is no ratio to 0";

fn verdicts(results: &[&ComparedFigure], comparison: &Comparison) -> String {
    let Some(first) = results.first() else {
        return String::new();
    };
    let times = Times::of(comparison);
    let (baseline, candidate) = (&first.baseline.group, &first.candidate.group);
    let mut missing = Missing::default();
    let rows = results
        .iter()
        .map(|result| {
            let (_, scale) = times.unit(&result.unit);
            let value = |side: &GroupFigure| side.estimate.map(|x| digits(x / scale));
            let effect = |effect: &Option<Effect>| effect.map(|effect| digits(effect.estimate));
            let ratio = result.ratio;
            let ends = ratio.and_then(|ratio| ratio.interval);
            let why = match (ratio.is_some(), result.scale) {
                (true, ComparisonScale::Log) => NO_INTERVAL,
                _ => "see the difference below",
            };
            vec![
                name(result, times),
                missing.or(value(&result.baseline), NO_VALUE),
                missing.or(value(&result.candidate), NO_VALUE),
                missing.or(effect(&ratio), NO_RATIO),
                missing.or(ends.map(|ends| range(&ends, 1.0)), why),
                missing.or(result.adjusted_p.map(p_value), NO_TEST),
                verdict(result, comparison),
            ]
        })
        .collect();
    let names = [clean(baseline), clean(candidate)].map(|name| shortened(&name));
    let [interval, p] = headings(comparison);
    let header = [
        ("Figure", Column::Left),
        (names[0].as_str(), Column::Right),
        (names[1].as_str(), Column::Right),
        ("Ratio", Column::Right),
        (interval.as_str(), Column::Left),
        (p.as_str(), Column::Right),
        ("Verdict", Column::Text),
    ];
    let title = times.heading(format!("{} against {}", clean(candidate), clean(baseline)));
    let mut text = title + "\n";
    text += &table_to(MOST, &header, rows);
    text += &missing.note();
    for line in foot(results, comparison) {
        text += &wrapped_to(MOST, " ", 3, &line);
    }
    if comparison.method.interval == "hierarchical" {
        text += &levels(results);
    }
    text
}

/// The headings of the interval and of the p-value: which of them is of one figure by itself, and which
/// is corrected for all.
pub(crate) fn headings(comparison: &Comparison) -> [String; 2] {
    let confidence = percent(comparison.method.confidence);
    match comparison.method.tests {
        0 | 1 => [format!("{confidence} interval"), "p".to_owned()],
        tests => [format!("{confidence}, each"), format!("p of {tests}")],
    }
}

/// What a reader has to know of the table, in words.
pub(crate) fn foot(results: &[&ComparedFigure], comparison: &Comparison) -> Vec<String> {
    let method = &comparison.method;
    let mut lines = vec![format!(
        "Each run counts once. Chance of any false \"better\" or \"worse\" in this table: at most {}.",
        percent(method.alpha)
    )];
    if method.tests > 1 {
        lines.push(format!(
            "Intervals are for each figure alone; p and verdicts are corrected for {} tests.",
            method.tests
        ));
    }
    let noticed: Vec<String> = results
        .iter()
        .filter_map(|result| {
            let least = result
                .smallest_detectable
                .filter(|_| result.withheld.is_none())?;
            Some(format!("{} {}", result.figure, times_as_much(least)))
        })
        .collect();
    if !noticed.is_empty() {
        lines.push(format!(
            "Smallest change we would have noticed: {}.",
            noticed.join(", ")
        ));
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
fn levels(results: &[&ComparedFigure]) -> String {
    let of = |level: Option<IntervalLevel>| -> Vec<String> {
        let with = |result: &&&ComparedFigure| {
            result.interval_method.is_some() && result.interval_level == level
        };
        let of = results.iter().filter(with);
        of.map(|result| clean(&result.figure).into_owned())
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
    match said.is_empty() {
        true => String::new(),
        false => wrapped_to(MOST, " ", 3, &format!("Intervals {}.", said.join("; "))),
    }
}

/// Keeps a heading from taking the table's room.
fn shortened(name: &str) -> String {
    const MOST: usize = 14;
    if name.chars().count() <= MOST {
        return name.to_owned();
    }
    let kept: String = name.chars().take(MOST - 1).collect();
    format!("{kept}…")
}

pub(super) fn share(change: f64) -> String {
    let percents = change * 100.0;
    if percents >= 1_000.0 {
        return "> 1000 %".to_owned();
    }
    let decimals = usize::from(percents < 10.0);
    format!("{percents:.decimals$} %")
}

pub(crate) fn verdict(result: &ComparedFigure, comparison: &Comparison) -> String {
    if let Some(withheld) = &result.withheld {
        let why = obstacle(withheld.reason);
        return Times::of(comparison).verdict(format!("no verdict: {why}"));
    }
    let word = words::verdict(result.verdict);
    Times::of(comparison).verdict(match result.verdict {
        // The p-value of their column is that of "no effect", on which these do not rest.
        ComparisonVerdict::Equivalent => format!(
            "{word} within {}{}",
            percent(comparison.method.equivalence.unwrap_or(0.0)),
            margin_p(result)
        ),
        ComparisonVerdict::NotWorse => format!(
            "{word} by {}{}",
            percent(comparison.method.not_worse.unwrap_or(0.0)),
            margin_p(result)
        ),
        ComparisonVerdict::TooFewRuns => {
            let of = match result.pairs {
                Some(_) => "blocks",
                None => "a side",
            };
            match result.more_runs {
                Some(more) => format!("{word}: {more} more {of}"),
                None => word.to_owned(),
            }
        }
        _ => word.to_owned(),
    })
}

fn margin_p(result: &ComparedFigure) -> String {
    let p = result.equivalence_p;
    p.map_or_else(String::new, |p| format!(", p {}", p_value(p)))
}

fn between_runs(results: &[&ComparedFigure], comparison: &Comparison) -> String {
    let times = Times::of(comparison);
    let mut missing = Missing::default();
    let rows: Vec<Vec<String>> = results
        .iter()
        .map(|result| {
            let (_, scale) = times.unit(&result.unit);
            let mut row = vec![name(result, times)];
            for side in [&result.baseline, &result.candidate] {
                row.push(missing.or(side.interval.map(|ends| range(&ends, scale)), NO_INTERVAL));
                let deviation = side.deviation.map(|deviation| match result.scale {
                    ComparisonScale::Log => share(deviation),
                    ComparisonScale::Linear => digits(deviation / scale),
                });
                row.push(missing.or(deviation, NO_INTERVAL));
            }
            let shown = result.difference.map(|effect| difference(&effect, scale));
            let (estimate, ends) = shown.unzip();
            row.push(missing.or(estimate, NO_VALUE));
            row.push(missing.or(ends.flatten(), NO_INTERVAL));
            row
        })
        .collect();
    let Some(first) = results.first() else {
        return String::new();
    };
    let names = [&first.baseline.group, &first.candidate.group].map(|n| shortened(&clean(n)));
    let header = [
        ("Figure", Column::Left),
        (names[0].as_str(), Column::Left),
        ("dev.", Column::Right),
        (names[1].as_str(), Column::Left),
        ("dev.", Column::Right),
        ("Difference", Column::Right),
        ("interval", Column::Left),
    ];
    let title = "Between runs: interval and deviation of each group, and the difference";
    let mut text = times.heading(title) + "\n";
    text += &table_to(MOST, &header, rows);
    let inside = |result: &&ComparedFigure| {
        let part = result.variance_inside?;
        Some(format!("{} {:.0} %", clean(&result.figure), part * 100.0))
    };
    let inside: Vec<String> = results.iter().filter_map(inside).collect();
    if !inside.is_empty() {
        let line = format!(
            "Inside: longer runs would take away this part of the variance between runs, the rest only \
             more runs: {}.",
            inside.join(", ")
        );
        text += &wrapped_to(MOST, " ", 3, &line);
    }
    text += &missing.note();
    text
}

/// The samples of groups of one run: what there is where runs cannot be compared.
fn distributions(comparison: &Comparison) -> Option<String> {
    let known: Vec<(&ComparedGroup, _)> = comparison
        .groups
        .iter()
        .filter_map(|group| Some((group, group.distribution.as_ref()?)))
        .collect();
    if known.is_empty() {
        return None;
    }
    let names = in_order(known.iter().flat_map(|(_, d)| d.quantiles_ns.keys()));
    let mut missing = Missing::default();
    let few = "too few samples";
    let mut rows: Vec<Vec<String>> = Vec::new();
    let micros = |ns: Option<u64>| {
        #[expect(clippy::cast_precision_loss, reason = "display only")]
        ns.map(|ns| digits(ns as f64 / 1e3))
    };
    let mut row =
        |name: &str, missing: &mut Missing, cell: &dyn Fn(usize) -> [Option<String>; 2]| {
            let mut cells = vec![name.to_owned()];
            for at in 0..known.len() {
                let [value, ends] = cell(at);
                cells.push(missing.or(value, few));
                cells.push(ends.unwrap_or_default());
            }
            rows.push(cells);
        };
    row("samples", &mut missing, &|at| {
        [Some(known[at].1.samples.to_string()), None]
    });
    row("min", &mut missing, &|at| {
        [micros(known[at].1.min_ns), None]
    });
    for name in names {
        row(name, &mut missing, &|at| {
            let of = known[at].1;
            let ends = of.quantile_intervals_ns.get(name).copied().flatten();
            [
                micros(of.quantiles_ns.get(name).copied().flatten()),
                ends.map(|ends| range(&ends, 1e3)),
            ]
        });
    }
    row("max", &mut missing, &|at| {
        [micros(known[at].1.max_ns), None]
    });
    let titles: Vec<String> = known
        .iter()
        .map(|(group, _)| shortened(&clean(&group.name)))
        .collect();
    let mut header = vec![("", Column::Left)];
    for title in &titles {
        header.push((title.as_str(), Column::Right));
        header.push(("interval", Column::Left));
    }
    let (unit, _) = Times::of(comparison).unit("ns");
    let mut text = format!(
        "Samples of groups of one run in {unit}: what that run did, not what another would\n"
    );
    text += &table_to(MOST, &header, rows);
    text += &missing.note();
    Some(text)
}

pub(super) fn remarks(comparison: &Comparison) -> Option<String> {
    let mut text = String::new();
    for remark in &comparison.remarks {
        let sure = match remark.certainty {
            Certainty::Observed => "",
            Certainty::Inferred => " (inferred)",
        };
        let lead = format!(" {}{sure}: ", clean(&remark.id));
        text += &wrapped_to(MOST, &lead, 3, &clean(&remark.detail));
    }
    (!text.is_empty()).then(|| format!("Remarks\n{text}"))
}
