// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A comparison as text.

use punctual_model::{
    Certainty, ComparedFigure, ComparedGroup, Comparison, ComparisonScale, ComparisonVerdict,
    Effect, GroupFigure, IntervalLevel,
};
use punctual_stats::PValue;

use super::layout::{Column, clean, paragraph, table, wrapped};
use super::number::{Missing, difference, digits, percent, range};
use super::requirement::requirement;
use super::words::plural;
use crate::order::in_order;
use crate::times::Times;

/// Says how groups compare.
pub fn comparison(comparison: &Comparison) -> String {
    let mut sections = vec![header(comparison)];
    for group in comparison.groups.iter().skip(1) {
        let results: Vec<&ComparedFigure> = comparison
            .results
            .iter()
            .filter(|result| result.candidate.group == group.name)
            .collect();
        sections.push(verdicts(&results, comparison));
        sections.push(between_runs(&results, comparison));
    }
    sections.extend(distributions(comparison));
    sections.extend(requirements(comparison));
    sections.extend(remarks(comparison));
    sections.join("\n")
}

fn header(comparison: &Comparison) -> String {
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
    let mut text = String::new();
    text.extend(super::guest::virtual_times(comparison));
    if let Some((baseline, rest)) = groups.split_first() {
        text += &paragraph("Compared", &format!("{} with {baseline}", rest.join(", ")));
    }
    text += &paragraph("Method", &method(comparison));
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
        parts.push(format!("p corrected for {} tests (Holm)", method.tests));
    }
    parts.push(format!("level {}", percent(method.alpha)));
    parts.push(match (method.equivalence, method.not_worse) {
        (Some(margin), _) => format!("the same means within {}", percent(margin)),
        (None, Some(margin)) => format!("not worse means less than {} worse", percent(margin)),
        (None, None) => format!(
            "a change of {} matters and shall be found in {} of cases",
            percent(method.effect),
            percent(method.power)
        ),
    });
    parts.join(", ")
}

/// Which permutations the p-values rest on.
fn test(comparison: &Comparison) -> String {
    let exact = comparison
        .results
        .iter()
        .all(|result| result.exact != Some(false));
    let paired = comparison
        .results
        .iter()
        .any(|result| result.pairs.is_some());
    format!(
        "permutation test, runs {}, {}",
        match paired {
            true => "compared inside their blocks",
            false => "taken as independent",
        },
        match exact {
            true => "all arrangements".to_owned(),
            false => format!("up to {} random arrangements", comparison.method.draws),
        }
    )
}

/// A unit as it is shown, and by what values are divided for it.
pub(crate) fn unit(unit: &str) -> (&str, f64) {
    match unit {
        "ns" => ("µs", 1e3),
        "1" => ("", 1.0),
        other => (other, 1.0),
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
pub(super) const NO_EFFECT: &str = "runs do not vary, or the figure is 0";
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
            vec![
                name(result, times),
                missing.or(value(&result.baseline), NO_VALUE),
                missing.or(value(&result.candidate), NO_VALUE),
                missing.or(effect(&ratio), NO_RATIO),
                missing.or(
                    ends.map(|ends| range(&ends, 1.0)),
                    match ratio.is_some() && result.scale == ComparisonScale::Log {
                        true => NO_INTERVAL,
                        false => "see the difference below",
                    },
                ),
                missing.or(result.adjusted_p.map(p_value), NO_TEST),
                missing.or(result.smallest_detectable.map(share), NO_EFFECT),
                verdict(result, comparison),
            ]
        })
        .collect();
    let names = [clean(baseline), clean(candidate)].map(|name| shortened(&name));
    let header = [
        ("Figure", Column::Left),
        (names[0].as_str(), Column::Right),
        (names[1].as_str(), Column::Right),
        ("Ratio", Column::Right),
        ("95 % interval", Column::Left),
        ("p", Column::Right),
        ("Could show", Column::Right),
        ("Verdict", Column::Text),
    ];
    let interval = format!("{} interval", percent(comparison.method.confidence));
    let header = header.map(|(name, column)| match name {
        "95 % interval" => (interval.as_str(), column),
        name => (name, column),
    });
    let title = times.heading(format!("{} against {}", clean(candidate), clean(baseline)));
    let mut text = title + "\n";
    text += &table(&header, rows);
    text += &missing.note();
    if comparison.method.interval == "hierarchical" {
        text += &levels(results);
    }
    text
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
        false => wrapped(" ", 1, &format!("Intervals {}.", said.join("; "))),
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
    Times::of(comparison).verdict(match result.verdict {
        ComparisonVerdict::Better => "better".to_owned(),
        ComparisonVerdict::Worse => "worse".to_owned(),
        ComparisonVerdict::Different => "different".to_owned(),
        // The p-value of their column is that of "no effect", on which these do not rest.
        ComparisonVerdict::Equivalent => format!(
            "the same within {}{}",
            percent(comparison.method.equivalence.unwrap_or(0.0)),
            margin_p(result)
        ),
        ComparisonVerdict::NotWorse => format!(
            "not worse by {}{}",
            percent(comparison.method.not_worse.unwrap_or(0.0)),
            margin_p(result)
        ),
        ComparisonVerdict::NotDistinguishable => "not distinguishable".to_owned(),
        ComparisonVerdict::TooFewRuns => {
            let of = match result.pairs {
                Some(_) => "blocks",
                None => "a side",
            };
            match result.more_runs {
                Some(more) => format!("too few runs: {more} more {of}"),
                None => "too few runs".to_owned(),
            }
        }
    })
}

fn margin_p(result: &ComparedFigure) -> String {
    let p = result.equivalence_p;
    p.map_or_else(String::new, |p| format!(", p {}", p_value(p)))
}

fn between_runs(results: &[&ComparedFigure], comparison: &Comparison) -> String {
    let times = Times::of(comparison);
    let mut missing = Missing::default();
    let inside = results
        .iter()
        .any(|result| result.variance_inside.is_some());
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
            if inside {
                row.push(
                    missing.or(
                        result
                            .variance_inside
                            .map(|part| format!("{:.0} %", part * 100.0)),
                        "the runs' records do not tell",
                    ),
                );
            }
            row
        })
        .collect();
    let Some(first) = results.first() else {
        return String::new();
    };
    let names = [&first.baseline.group, &first.candidate.group].map(|n| shortened(&clean(n)));
    let mut header = vec![
        ("Figure", Column::Left),
        (names[0].as_str(), Column::Left),
        ("deviation", Column::Right),
        (names[1].as_str(), Column::Left),
        ("deviation", Column::Right),
        ("Difference", Column::Right),
        ("interval", Column::Left),
    ];
    if inside {
        header.push(("Inside", Column::Right));
    }
    let title = "Between runs: interval and deviation of each group, and the difference";
    let mut text = times.heading(title) + "\n";
    text += &table(&header, rows);
    if inside {
        text += &wrapped(
            " ",
            1,
            "Inside: the part of the variance between runs that their own samples make. Longer runs \
             take it away; the rest only more runs do.",
        );
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
    text += &table(&header, rows);
    text += &missing.note();
    Some(text)
}

pub(super) fn requirements(comparison: &Comparison) -> Option<String> {
    if comparison.requirements.is_empty() {
        return None;
    }
    let texts = comparison
        .requirements
        .iter()
        .map(|of| requirement(&of.result, Some(&of.group), Times::of(comparison)));
    Some(texts.collect())
}

pub(super) fn remarks(comparison: &Comparison) -> Option<String> {
    let mut text = String::new();
    for remark in &comparison.remarks {
        let sure = match remark.certainty {
            Certainty::Observed => "",
            Certainty::Inferred => " (inferred)",
        };
        let lead = format!(" {}{sure}: ", clean(&remark.id));
        text += &wrapped(&lead, 3, &clean(&remark.detail));
    }
    (!text.is_empty()).then(|| format!("Remarks\n{text}"))
}
