// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A comparison: the verdicts in words, ratios with their intervals, the runs behind them as points.
#![expect(
    clippy::format_push_string,
    reason = "the other way has an error to handle that a string never gives"
)]

use punctual_model::{
    ComparedFigure, ComparedGroup, ComparedRun, Comparison, ComparisonScale, ComparisonVerdict,
    Effect, Ordered as _, RefusedRun, RequirementRuling, figure_heading, figure_words,
};
use punctual_verdict::comparison::answer::{Overall, results, sentences_of};
use punctual_verdict::words;

use super::named::counted;
use super::parts::{
    Answer, Block, Document, Ids, KeyFigure, Reason, Section, Table, Tone, remarks,
};
use super::requirement::requirement;
use super::verdicts::{self, Of};
use crate::chart::{self, Axis, Chart, Drawing, Look, Mark, Point, Shape, Validity};
use crate::clock_or_count::Times;
use crate::number::{digits, percent};

/// Adds a comparison; `number`: where there are several.
pub(super) fn add(
    document: &mut Document,
    ids: &mut Ids,
    comparison: &Comparison,
    number: Option<usize>,
) {
    document.answers.extend(answers(comparison));
    let title = match number {
        Some(n) => format!("Comparison {n}"),
        None => "Comparison".to_owned(),
    };
    document.sections.push(Section {
        id: ids.make(&title),
        title,
        blocks: blocks(ids, comparison, "comparison", Of::Group),
    });
}

/// What each group is, compared with the first.
pub(super) fn answers(comparison: &Comparison) -> Vec<Answer> {
    let groups = comparison.groups.iter().skip(1);
    groups.map(|group| answer(comparison, group)).collect()
}

fn word(result: &ComparedFigure) -> &'static str {
    if result.withheld.is_some() {
        return Overall::Withheld.word();
    }
    words::verdict(result.verdict)
}

/// What a group is, compared with the first, and how that sounds.
pub(super) fn verdict(comparison: &Comparison, group: &ComparedGroup) -> (Tone, &'static str) {
    let overall = Overall::of(&results(comparison, &group.name));
    let required = |ruling| {
        let mut of = comparison.requirements.iter();
        of.any(|r| r.group == group.name && r.result.ruling == ruling)
    };
    let baseline = comparison.groups.first().unwrap_or(group);
    let empty = |group: &ComparedGroup| group.runs.is_empty() && group.published.is_none();
    match overall {
        _ if empty(baseline) || empty(group) => (Tone::Doubtful, "nothing was compared"),
        _ if required(RequirementRuling::Fail) => (Tone::Bad, "requirement not met"),
        _ if required(RequirementRuling::Unclaimed) => (Tone::Doubtful, "requirement not shown"),
        Overall::Worse => (Tone::Bad, overall.word()),
        Overall::Better => (Tone::Good, overall.word()),
        Overall::Nothing => (Tone::Doubtful, "nothing was compared"),
        Overall::Mixed | Overall::TooFewRuns | Overall::Withheld => {
            (Tone::Doubtful, overall.word())
        }
        Overall::Different | Overall::Same | Overall::NotWorse | Overall::NotDistinguishable => {
            (Tone::Plain, overall.word())
        }
    }
}

fn answer(comparison: &Comparison, group: &ComparedGroup) -> Answer {
    let times = Times::of(comparison);
    let of = results(comparison, &group.name);
    let (tone, verdict) = verdict(comparison, group);
    // Those with a verdict carry the answer.
    let mut order: Vec<&&ComparedFigure> = of.iter().collect();
    order.order_by_key(|r| {
        !matches!(
            r.verdict,
            ComparisonVerdict::Worse | ComparisonVerdict::Better | ComparisonVerdict::Different
        )
    });
    let figures = order.into_iter().take(4).map(|r| key(r, times)).collect();
    let said = sentences_of(comparison, &group.name);
    Answer {
        tone,
        word: times.verdict(verdict),
        sentence: times.heading(said.join(" ").trim_end_matches('.')) + ".",
        figures,
        validity: validity(comparison, group),
    }
}

fn key(result: &ComparedFigure, times: Times) -> KeyFigure {
    let effect = |effect: &Effect, before: &str, unit: &str| {
        let detail = effect.interval.map_or_else(
            || "no interval".to_owned(),
            |i| {
                let (low, high) = (digits(i.low), digits(i.high));
                format!(
                    "{} interval {before}{low} .. {before}{high}{unit}",
                    percent(i.confidence)
                )
            },
        );
        (format!("{before}{}{unit}", digits(effect.estimate)), detail)
    };
    let (unit, scale) = times.unit(&result.unit);
    let (value, detail) = match (&result.ratio, &result.difference) {
        (Some(ratio), _) if result.scale == ComparisonScale::Log => effect(ratio, "×", ""),
        (_, Some(difference)) => {
            let scaled = Effect {
                estimate: difference.estimate / scale,
                interval: difference.interval.map(|i| punctual_model::Interval {
                    low: i.low / scale,
                    high: i.high / scale,
                    ..i
                }),
            };
            effect(&scaled, "", &format!(" {unit}"))
        }
        (Some(ratio), None) => effect(ratio, "×", ""),
        (None, None) => ("-".to_owned(), "no effect could be computed".to_owned()),
    };
    KeyFigure {
        name: format!(
            "{}: {}",
            figure_words(&result.figure),
            times.verdict(word(result))
        ),
        value,
        detail: format!(
            "{detail}; {} against {}",
            result.candidate.runs,
            counted(result.baseline.runs, "run")
        ),
    }
}

fn validity(comparison: &Comparison, group: &ComparedGroup) -> Vec<Reason> {
    let mut reasons = Vec::new();
    let groups = comparison.groups.first().into_iter().chain([group]);
    for group in groups {
        let runs = group
            .published
            .map_or(group.runs.len() as u64, |published| published.runs);
        let mut text = format!("{}: {}", group.name, counted(runs, "run"));
        let unsound = unsound(group.runs.iter());
        match (&unsound, group.published) {
            (Some(unsound), _) => text += unsound,
            (None, Some(_)) => text += ", published means",
            (None, None) if runs == 0 => {}
            (None, None) => text += ", none invalid",
        }
        text += &left_out(group.refused.iter());
        reasons.push(Reason {
            text,
            is_fault: unsound.is_some() || !group.refused.is_empty(),
        });
    }
    reasons
}

/// Counts the runs that are not in an answer: `, 2 refused, 1 cannot be read`.
pub(super) fn left_out<'a>(refused: impl Iterator<Item = &'a RefusedRun>) -> String {
    let (unreadable, refused): (Vec<_>, Vec<_>) = refused.partition(|run| run.unreadable);
    let mut text = String::new();
    if !refused.is_empty() {
        text += &format!(", {} refused", refused.len());
    }
    if !unreadable.is_empty() {
        text += &format!(", {} cannot be read", unreadable.len());
    }
    text
}

/// Counts the runs that cannot be read, where there are some.
pub(super) fn unreadable(refused: &[RefusedRun]) -> Option<Reason> {
    let n = refused.iter().filter(|run| run.unreadable).count();
    let text = || format!("{} cannot be read", counted(n as u64, "run"));
    (n > 0).then(text).map(Reason::fault)
}

/// Counts the runs that failed a check, and those that nobody checked: `, 14 not checked`.
pub(super) fn unsound<'a>(runs: impl Iterator<Item = &'a ComparedRun>) -> Option<String> {
    let (imported, measured): (Vec<_>, Vec<_>) = runs.partition(|run| run.imported);
    let invalid = measured.iter().filter(|run| !run.valid).count();
    let mut text = String::new();
    if invalid > 0 {
        text += &match measured.len() {
            1 => ", not valid".to_owned(),
            _ => format!(", {invalid} of them not valid"),
        };
    }
    if !imported.is_empty() {
        text += &format!(", {} not checked", imported.len());
    }
    (!text.is_empty()).then_some(text)
}

/// Whether runs that were compared may be believed: as the one that may least.
pub(super) fn believed<'a>(times: Times, runs: impl Iterator<Item = &'a ComparedRun>) -> Validity {
    let mut all = times.validity(true);
    for run in runs {
        match (run.imported, run.valid) {
            (false, false) => return Validity::Invalid,
            (true, _) => all = Validity::Imported,
            (false, true) => {}
        }
    }
    all
}

/// The parts of a comparison; `of` begins the names of its charts.
pub(super) fn blocks(ids: &mut Ids, comparison: &Comparison, of: &str, rows: Of) -> Vec<Block> {
    let all: Vec<&ComparedFigure> = comparison.results.iter().collect();
    let candidates = comparison.groups.iter().skip(1);
    let sets = match rows {
        Of::Groups => vec![all],
        Of::Group => candidates
            .map(|group| results(comparison, &group.name))
            .collect(),
    };
    let sets = sets.iter().filter(|results| !results.is_empty());
    let mut tables = sets.map(|results| verdicts::table(results, comparison, rows));
    let mut blocks = Vec::new();
    if let Some(chart) = ratios(ids, comparison, of) {
        let drawing = Box::new(Drawing::Chart(chart));
        blocks.push(Block::Drawing(drawing, tables.next()));
    }
    blocks.extend(tables.map(Block::Table));
    if !comparison.results.is_empty() {
        blocks.push(Block::Table(verdicts::groups(comparison)));
    }
    blocks.extend(verdicts::samples(comparison).map(Block::Table));
    let mut items: Vec<(String, String)> = Vec::new();
    for required in &comparison.requirements {
        let times = Times::of(comparison);
        let text = requirement(&required.result, Some(&required.group), times);
        let (ruling, why) = text.split_once(": ").unwrap_or(("", &text));
        items.push((ruling.to_owned(), why.to_owned()));
    }
    items.extend(remarks(&comparison.remarks));
    for group in &comparison.groups {
        items.extend(group.refused.iter().map(|refused| {
            (
                "refused".to_owned(),
                format!("{}: run {}: {}", group.name, refused.id, refused.reason),
            )
        }));
    }
    if !items.is_empty() {
        blocks.push(Block::items(items));
    }
    if !comparison.results.is_empty() {
        blocks.push(Block::Text(verdicts::method(comparison)));
    }
    blocks.extend(points(ids, comparison, of));
    blocks
}

/// The ratio of each figure with its interval, a row a figure, a series a group.
fn ratios(ids: &mut Ids, comparison: &Comparison, of: &str) -> Option<Chart> {
    let times = Times::of(comparison);
    let mut names: Vec<String> = Vec::new();
    let mut series: Vec<chart::Series> = Vec::new();
    for group in comparison.groups.iter().skip(1) {
        let mut points = Vec::new();
        for result in comparison
            .results
            .iter()
            .filter(|r| r.candidate.group == group.name)
        {
            let figure = figure_words(&result.figure);
            let row = names.iter().position(|n| *n == figure).unwrap_or_else(|| {
                names.push(figure);
                names.len() - 1
            });
            let Some(ratio) = result.ratio.filter(|r| r.estimate > 0.0) else {
                continue;
            };
            let interval = ratio.interval.map(|i| (i.low, i.high));
            let mut point = Point::at(ratio.estimate, row as f64)
                .within(interval)
                .of(result.candidate.runs + result.baseline.runs);
            point.label = Some(times.verdict(word(result)));
            points.push(point);
        }
        if points.is_empty() {
            continue;
        }
        let baseline = comparison.groups.first().unwrap_or(group);
        let (runs, validity) = match group.published {
            Some(published) => (published.runs, Validity::Published),
            None => {
                let both = baseline.runs.iter().chain(&group.runs);
                (group.runs.len() as u64, believed(times, both))
            }
        };
        series.push(chart::Series::new(
            format!("{} over {}", group.name, baseline.name),
            counted(runs, "run"),
            Shape::Points,
            points,
            validity,
        ));
    }
    if series.is_empty() {
        return None;
    }
    let confidence = percent(comparison.method.confidence);
    Some(Chart {
        id: ids.make(&format!("{of}-ratios")),
        title: "Ratio to the first group".to_owned(),
        note: format!(
            "Each dot is the ratio of two groups of runs; bars are {confidence} intervals, each for its figure alone. Verdicts are corrected for all figures, so a verdict can be undecided although its bar excludes 1."
        ),
        x: Axis::log(times.verdict("Ratio (1: no change)")),
        y: Axis::names("", names),
        series,
        marks: vec![Mark::no_change()],
    })
}

/// The figures of the results, each once, with their units.
pub(super) fn figures(comparison: &Comparison) -> Vec<(&str, &str)> {
    let mut figures: Vec<(&str, &str)> = Vec::new();
    for result in &comparison.results {
        let key = (result.figure.as_str(), result.unit.as_str());
        if !figures.contains(&key) {
            figures.push(key);
        }
    }
    figures
}

/// The runs as points, a chart a figure.
fn points(ids: &mut Ids, comparison: &Comparison, of: &str) -> Vec<Block> {
    // Of published means there are no runs.
    if comparison.groups.iter().all(|group| group.runs.is_empty()) {
        return Vec::new();
    }
    let figures = figures(comparison);
    let times = Times::of(comparison);
    let mut blocks = Vec::new();
    let most = 8;
    for (figure, raw) in figures.iter().take(most) {
        let (unit, scale) = times.unit(raw);
        let names: Vec<String> = comparison.groups.iter().map(|g| g.name.clone()).collect();
        let mut series = Vec::new();
        let mut runs = 0_u64;
        let mut table = Table::new(
            times.heading(
                format!("{} of each run, {unit}", figure_words(figure)).trim_end_matches(", "),
            ),
            &["<Group", "<Run", "<Valid", "Block", "Value", "Samples"],
        );
        for (row, group) in comparison.groups.iter().enumerate() {
            let mut parts: Vec<(Validity, Vec<Point>)> = Vec::new();
            for run in &group.runs {
                let Some(value) = run.values.get(*figure).copied().flatten() else {
                    continue;
                };
                runs += 1;
                let mut point = Point::at(value / scale, row as f64).of(run.samples);
                point.label = Some(run.name.clone().unwrap_or_else(|| run.id.clone()));
                table.rows.push(vec![
                    group.name.clone(),
                    run.name.clone().unwrap_or_else(|| run.id.clone()),
                    match (run.imported, run.valid) {
                        (true, _) => "not checked",
                        (false, true) => "yes",
                        (false, false) => "NO",
                    }
                    .to_owned(),
                    run.block.map_or_else(String::new, |b| b.to_string()),
                    digits(value / scale),
                    run.samples.to_string(),
                ]);
                let validity = believed(times, [run].into_iter());
                match parts.iter_mut().find(|(of, _)| *of == validity) {
                    Some((_, points)) => points.push(point),
                    None => parts.push((validity, vec![point])),
                }
            }
            for (validity, points) in parts {
                series.push(
                    chart::Series::new(
                        group.name.clone(),
                        counted(points.len() as u64, "run"),
                        Shape::Points,
                        points,
                        validity,
                    )
                    .looking(Look::of(row)),
                );
            }
        }
        let results = comparison.results.iter().filter(|r| r.figure == *figure);
        let sides = results.flat_map(|r| [&r.baseline, &r.candidate]);
        let mut estimates = Vec::new();
        let mut seen: Vec<&str> = Vec::new();
        for side in sides {
            let (Some(value), Some(row)) =
                (side.estimate, names.iter().position(|n| *n == side.group))
            else {
                continue;
            };
            if seen.contains(&side.group.as_str()) {
                continue;
            }
            seen.push(&side.group);
            let interval = side.interval.map(|i| (i.low / scale, i.high / scale));
            estimates.push(
                Point::at(value / scale, row as f64 + 0.22)
                    .within(interval)
                    .of(side.runs),
            );
        }
        if !estimates.is_empty() {
            series.push(
                chart::Series::new(
                    "estimate of the group",
                    format!("{} intervals", percent(comparison.method.confidence)),
                    Shape::Points,
                    estimates,
                    times.validity(true),
                )
                .looking(Look::of(names.len())),
            );
        }
        if runs == 0 && series.is_empty() {
            continue;
        }
        let values: Vec<f64> = series.iter().flat_map(|s| &s.points).map(|p| p.x).collect();
        let label = match unit.as_ref() {
            "" => times.verdict(figure_words(figure)),
            unit => figure_heading(figure, unit),
        };
        let chart = Chart {
            id: ids.make(&format!("{of}-{figure}")),
            title: format!("{} of each run", figure_words(figure)),
            note: format!(
                "{}, a dot each; below them the estimate of the group with its interval.",
                counted(runs, "run")
            ),
            x: Axis::fitting(label, values.into_iter()),
            y: Axis::names("", names),
            series,
            marks: Vec::new(),
        };
        blocks.push(Block::Drawing(
            Box::new(Drawing::Chart(chart)),
            (!table.rows.is_empty()).then(|| Table {
                aside: true,
                ..table.without_empty_columns()
            }),
        ));
    }
    let more = figures.len().saturating_sub(most);
    if more > 0 {
        blocks.push(Block::Text(format!(
            "Charts of the runs are drawn for the first {most} figures; the table of verdicts has {more} more."
        )));
    }
    blocks
}
