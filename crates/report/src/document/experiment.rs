// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! An experiment: each cell against the first, the effects of factors, the sweep of a factor, the front.
#![expect(
    clippy::format_push_string,
    reason = "the other way has an error to handle that a string never gives"
)]

mod front;

use punctual_model::{
    AliasedEffect, ComparedFigure, ComparedGroup, ComparisonScale, ExperimentFactor,
    ExperimentResults, FactorEffect, GroupFigure, LevelChange, MeasurementResults, Ordered as _,
    figure_heading, figure_words,
};

use super::comparison;
use super::named::counted;
use super::parts::{Answer, Block, Document, Ids, KeyFigure, Reason, Section, Table, Tone};
use super::verdicts::{NO_INTERVAL, Of, change, p_heading, p_value};
use crate::chart::{self, Axis, Chart, Drawing, Mark, Point, Shape, Validity};
use crate::clock_or_count::Times;
use crate::number::{Missing, digits, percent, range_ends};

/// More cells have one answer together.
const MANY: usize = 4;

/// Adds an experiment.
pub(super) fn add(document: &mut Document, ids: &mut Ids, results: &ExperimentResults) {
    let cells = results.cells.len().saturating_sub(1) * results.measurements.len();
    for measurement in &results.measurements {
        let mut answers = comparison::answers(&measurement.comparison);
        if results.measurements.len() > 1 {
            for answer in &mut answers {
                answer.sentence = format!("{}: {}", measurement.measurement, answer.sentence);
            }
        }
        match cells {
            n if n <= MANY => document.answers.extend(answers),
            _ => document.answers.push(together(measurement, &answers)),
        }
    }
    for measurement in &results.measurements {
        let of = format!("{}-{}", results.name, measurement.measurement);
        let mut blocks = effects(ids, &results.factors, measurement, &of);
        blocks.extend(sweeps(ids, results, measurement));
        blocks.extend(comparison::blocks(
            ids,
            &measurement.comparison,
            &of,
            Of::Groups,
        ));
        document.sections.push(Section {
            id: ids.make(&of),
            title: format!("Measurement {}", measurement.measurement),
            blocks,
        });
    }
    // What the effects are comes first: the front is a choice among cells that rests on them.
    if let Some(front) = front::front(ids, results) {
        document.sections.push(Section {
            id: ids.make(&format!("{}-trade-offs", results.name)),
            title: format!("Trade-offs of {}", results.name),
            blocks: vec![front],
        });
    }
    document.sections.push(Section {
        id: ids.make(&results.name),
        title: format!("Experiment {}", results.name),
        blocks: vec![Block::Facts(how(results))],
    });
}

/// What was done, and how far it is.
fn how(results: &ExperimentResults) -> Vec<(String, String)> {
    let state = match &results.finished {
        Some(reason) => format!("finished: {reason}"),
        None => "in progress: these are the results so far".to_owned(),
    };
    let mut facts = vec![(
        "Runs",
        format!(
            "{}, {} of {}, seed {}; {state}",
            counted(results.cells.len() as u64, "cell"),
            results.blocks,
            counted(results.blocks_planned, "block"),
            results.seed
        ),
    )];
    // One without any figure has no part of the level.
    let mut compared = results
        .measurements
        .iter()
        .filter(|of| !of.comparison.results.is_empty());
    let measurements = compared.clone().count();
    if let Some(first) = compared.next() {
        let method = &first.comparison.method;
        let divided = match measurements {
            1 => String::new(),
            n => format!(" for each of {n} measurements"),
        };
        let of_runs = match Times::of_experiment(results) {
            Times::Counted => "with runs taken as independent, each of its own seed",
            Times::Measured => "inside their blocks",
        };
        facts.push((
            "Method",
            format!(
                "one value per run; cells are compared {of_runs}, by permutation, level {}{divided}, \
                 p corrected for all tests of a table (Holm); powered to detect a {} change with {} probability",
                percent(method.alpha),
                percent(method.effect),
                percent(method.power)
            ),
        ));
    }
    if let Some(state) = &results.sequential {
        let looks: Vec<String> = state.looks.iter().map(ToString::to_string).collect();
        let (after, which) = match looks.is_empty() {
            true => ("not yet".to_owned(), "first planned"),
            false => (format!("after {} blocks", looks.join(", ")), "latest"),
        };
        let decided = state.comparisons.iter();
        let decided: Vec<_> = decided.filter_map(|c| Some((c, c.found_after?))).collect();
        facts.push((
            "Looked",
            format!(
                "{after}; {} of {} comparisons decided; all looks together spend at most {} ({}). A \
                 verdict of an effect stands only where a look found it. p is corrected for the {which} look, intervals are not",
                decided.len(),
                state.comparisons.len(),
                percent(state.alpha),
                state.spending
            ),
        ));
        facts.extend(decided.iter().map(|(of, after)| {
            (
                "Found",
                format!(
                    "{} of {} after {after} blocks",
                    figure_words(&of.figure),
                    of.cell
                ),
            )
        }));
    }
    facts.extend(
        results
            .aliases
            .iter()
            .map(|alias| ("Aliased", alias.clone())),
    );
    let skipped = results.skipped.iter();
    facts.extend(skipped.map(|of| ("Left out", format!("{}: {}", of.what, of.reason))));
    let facts = facts.into_iter();
    facts.map(|(name, said)| (name.to_owned(), said)).collect()
}

/// What is said of cells, by the verdict on each.
const VERDICTS: [(&str, &str); 12] = [
    ("better", "better"),
    ("worse", "worse"),
    ("requirement not met", "with a requirement not met"),
    ("mixed", "mixed"),
    ("different", "different"),
    ("the same", "the same"),
    ("not worse", "not worse"),
    ("not distinguishable", "not distinguishable"),
    ("too few runs", "with too few runs"),
    ("no verdict", "without a verdict"),
    ("requirement not shown", "with a requirement not shown"),
    ("nothing was compared", "not compared"),
];

/// Many cells in a sentence.
fn together(measurement: &MeasurementResults, answers: &[Answer]) -> Answer {
    let times = Times::of(&measurement.comparison);
    let groups = &measurement.comparison.groups;
    let cells: Vec<(&ComparedGroup, Tone, &str)> = groups
        .iter()
        .skip(1)
        .map(|group| {
            let (tone, verdict) = comparison::verdict(&measurement.comparison, group);
            (group, tone, verdict)
        })
        .collect();
    let with = |tone| cells.iter().filter(|cell| cell.1 == tone).count();
    let of = |verdict| cells.iter().filter(|cell| cell.2 == verdict).count();
    let better: Vec<&str> = cells
        .iter()
        .filter(|cell| cell.1 == Tone::Good)
        .map(|cell| cell.0.name.as_str())
        .take(5)
        .collect();
    let parts = VERDICTS.iter().map(|(verdict, said)| (of(*verdict), said));
    let parts = parts.filter(|(n, _)| *n > 0);
    let parts: Vec<String> = parts.map(|(n, said)| format!("{n} {said}")).collect();
    let mut sentence = format!(
        "{}: of {} compared with {}, {}",
        measurement.measurement,
        counted(cells.len() as u64, "cell"),
        groups
            .first()
            .map_or("the first", |first| first.name.as_str()),
        parts.join(", ")
    );
    if !better.is_empty() {
        sentence += &format!("; better: {}", better.join(", "));
    }
    let sentence = times.heading(sentence) + ".";
    let mut figures: Vec<KeyFigure> = measurement
        .effects
        .iter()
        .filter(|effect| effect.found)
        .take(4)
        .map(|effect| KeyFigure {
            name: times.verdict(format!(
                "{}: {}",
                figure_words(&effect.figure),
                name(effect)
            )),
            value: value(effect, times),
            detail: effect.interval.map_or_else(
                || "no interval".to_owned(),
                |i| {
                    format!(
                        "{} interval {} .. {}, {}",
                        percent(i.confidence),
                        digits(i.low),
                        digits(i.high),
                        counted(effect.blocks, "block")
                    )
                },
            ),
        })
        .collect();
    if figures.is_empty() {
        figures = of_cells(&cells, answers);
    }
    let mixed = of("mixed");
    let (tone, word) = match (with(Tone::Good) + mixed, with(Tone::Bad) + mixed) {
        (0, 0) if of("different") > 0 => (Tone::Plain, "different cells"),
        (0, 0) if of("nothing was compared") == cells.len() => {
            (Tone::Doubtful, "nothing was compared")
        }
        (0, 0) if with(Tone::Doubtful) > 0 => (Tone::Doubtful, "too few runs"),
        (0, 0) if of("the same") == cells.len() => (Tone::Plain, "the same"),
        (0, 0) if of("not worse") == cells.len() => (Tone::Plain, "not worse"),
        (0, 0) => (Tone::Plain, "not distinguishable"),
        (_, 0) => (Tone::Good, "better cells"),
        (0, bad) if of("requirement not met") == bad => (Tone::Bad, "requirement not met"),
        (0, _) => (Tone::Bad, "worse cells"),
        _ => (Tone::Doubtful, "mixed"),
    };
    Answer {
        tone,
        word: times.verdict(word),
        sentence,
        figures,
        validity: vec![counts(measurement)],
    }
}

/// Where no effect of a factor was found: the first figure of some cells, of those with a verdict first.
fn of_cells(cells: &[(&ComparedGroup, Tone, &str)], answers: &[Answer]) -> Vec<KeyFigure> {
    let mut order: Vec<_> = cells.iter().zip(answers).collect();
    order.order_by_key(|(_, answer)| !matches!(answer.tone, Tone::Good | Tone::Bad));
    let figure = |((group, ..), answer): &(&(&ComparedGroup, Tone, &str), &Answer)| {
        let figure = answer.figures.first()?.clone();
        Some(KeyFigure {
            name: format!("{}, {}", group.name, figure.name),
            ..figure
        })
    };
    order.iter().filter_map(figure).take(4).collect()
}

/// Of how many runs the answer is, and how many of them may not be believed or are not in it.
fn counts(measurement: &MeasurementResults) -> Reason {
    let groups = &measurement.comparison.groups;
    let runs = || groups.iter().flat_map(|group| &group.runs);
    let refused = || groups.iter().flat_map(|group| &group.refused);
    let mut text = counted(runs().count() as u64, "run");
    let unsound = comparison::unsound(runs());
    text += unsound.as_deref().unwrap_or(", none invalid");
    text += &comparison::left_out(refused());
    Reason {
        text,
        is_fault: unsound.is_some() || refused().next().is_some(),
    }
}

fn name(effect: &FactorEffect) -> String {
    let parts: Vec<String> = effect
        .of
        .iter()
        .map(|change| format!("{} {} for {}", change.factor, change.level, change.from))
        .collect();
    parts.join(" x ")
}

/// The same with what it cannot be told from, shortly: `dma off for 0us = load x raw`.
fn aliased_name(effect: &FactorEffect, factors: &[ExperimentFactor]) -> String {
    let short = |change: &LevelChange| {
        let mut factors = factors.iter();
        let levels = factors.find(|factor| factor.name == change.factor);
        let levels = levels.map_or(&[][..], |factor| &factor.levels);
        // The other way round it needs both of its levels.
        match (levels.first() == Some(&change.level), levels.len()) {
            (true, _) => format!("{} {} for {}", change.factor, change.level, change.from),
            (false, 3..) => format!("{} {}", change.factor, change.level),
            (false, _) => change.factor.clone(),
        }
    };
    let alias = |alias: &AliasedEffect| alias.of.iter().map(short).collect::<Vec<_>>().join(" x ");
    let aliases = effect.aliased.iter().map(alias);
    let names: Vec<String> = std::iter::once(name(effect)).chain(aliases).collect();
    names.join(" = ")
}

fn value(effect: &FactorEffect, times: Times) -> String {
    let (unit, scale) = times.unit(&effect.unit);
    match (effect.estimate, effect.scale) {
        (None, _) => "-".to_owned(),
        (Some(x), ComparisonScale::Log) => format!("×{}", digits(x)),
        (Some(x), ComparisonScale::Linear) => format!("{} {unit}", digits(x / scale)),
    }
}

/// Main effects and interactions that multiply, with their intervals.
fn effects(
    ids: &mut Ids,
    factors: &[ExperimentFactor],
    measurement: &MeasurementResults,
    of: &str,
) -> Vec<Block> {
    if measurement.effects.is_empty() {
        return Vec::new();
    }
    let times = Times::of(&measurement.comparison);
    let tests = measurement.effects.iter().filter(|e| e.p.is_some());
    let p = p_heading(tests.count());
    let mut table = Table::new(
        times.heading("Effects over all cells"),
        &[
            "<Effect",
            "<Figure",
            "Ratio",
            "Low",
            "..High",
            &p,
            "<Found",
            "?Blocks",
            "??Incomplete",
            "??Own p",
        ],
    );
    let mut missing = Missing::default();
    let mut blocks = Vec::new();
    let mut figures: Vec<&str> = Vec::new();
    for effect in &measurement.effects {
        if !figures.contains(&effect.figure.as_str()) {
            figures.push(&effect.figure);
        }
        let (unit, scale) = times.unit(&effect.unit);
        let scale = match effect.scale {
            ComparisonScale::Log => 1.0,
            ComparisonScale::Linear => scale,
        };
        let estimate = effect.estimate.map(|x| change(x / scale, effect.scale));
        let [low, high] = range_ends(effect.interval.as_ref(), scale);
        table.rows.push(vec![
            aliased_name(effect, factors),
            figure_heading(&effect.figure, &unit),
            missing.or(estimate, "no block has every cell of it"),
            missing.or(low, NO_INTERVAL),
            high.unwrap_or_default(),
            missing.or(effect.adjusted_p.map(p_value), "a test takes two blocks"),
            if effect.found { "yes" } else { "no" }.to_owned(),
            effect.blocks.to_string(),
            effect.incomplete.to_string(),
            missing.or(effect.p.map(p_value), "a test takes two blocks"),
        ]);
    }
    let mut effects = measurement.effects.iter();
    if effects.clone().any(|e| e.scale == ComparisonScale::Linear) {
        let note = "Signed values are differences, not ratios.";
        table.notes.push(note.to_owned());
    }
    let mut aliases = measurement.effects.iter().flat_map(|e| &e.aliased);
    if effects.any(|e| e.of.len() > 1) || aliases.clone().any(|alias| alias.of.len() > 1) {
        let note = "x: an interaction, one effect with the other, over it without.";
        table.notes.push(note.to_owned());
    }
    if measurement.effects.iter().any(|e| !e.aliased.is_empty()) {
        let note = "=: these cells cannot tell the effects apart; they are tested once, and the figure is that of the first.";
        table.notes.push(note.to_owned());
        if aliases.any(|alias| (alias.power - 2.0).abs() < 1e-9) {
            let note = "As an interaction it is the square of that ratio, or twice the difference.";
            table.notes.push(note.to_owned());
        }
    }
    table.notes.push(format!(
        "Low, High: {} interval over blocks.",
        percent(measurement.comparison.method.confidence)
    ));
    table.notes.extend(missing.reasons());
    let table = table.without_empty_columns();
    let mut names: Vec<String> = Vec::new();
    let mut series = Vec::new();
    for figure in figures {
        let mut points = Vec::new();
        let of = measurement.effects.iter().filter(|e| {
            e.figure == figure
                && e.scale == ComparisonScale::Log
                && e.estimate.is_some_and(|x| x > 0.0)
        });
        let mut blocks = 0;
        for effect in of {
            let name = name(effect);
            let row = names.iter().position(|n| *n == name).unwrap_or_else(|| {
                names.push(name);
                names.len() - 1
            });
            blocks = blocks.max(effect.blocks);
            let interval = effect.interval.map(|i| (i.low, i.high));
            points.extend(
                effect
                    .estimate
                    .map(|x| Point::at(x, row as f64).within(interval).of(effect.blocks)),
            );
        }
        if !points.is_empty() {
            series.push(chart::Series::new(
                figure_words(figure),
                counted(blocks, "block"),
                Shape::Points,
                points,
                believed(measurement),
            ));
        }
    }
    if series.is_empty() {
        return vec![Block::Table(table)];
    }
    blocks.push(Block::Drawing(
        Box::new(Drawing::Chart(Chart {
            id: ids.make(&format!("{of}-effects")),
            title: "Effects of the factors".to_owned(),
            note: format!(
                "What a change of level multiplies the figure with; bars are {} intervals over blocks, each by itself. What was found counts all tests together.",
                percent(measurement.comparison.method.confidence)
            ),
            x: Axis::log(times.verdict("Ratio (1: no change)")),
            y: Axis::names("", names),
            series,
            marks: vec![Mark::no_change()],
        })),
        Some(table),
    ));
    blocks
}

fn believed(measurement: &MeasurementResults) -> Validity {
    let runs = measurement.comparison.groups.iter().flat_map(|g| &g.runs);
    comparison::believed(Times::of(&measurement.comparison), runs)
}

/// What a level is on an axis: `950000` is itself, `100us` is 100 µs, in ns.
pub(super) fn number(level: &str) -> Option<f64> {
    let plain = level.trim_end_matches('%').replace('_', "");
    if let Ok(value) = plain.parse::<f64>() {
        return value.is_finite().then_some(value);
    }
    let time: punctual_model::Nanos = level.parse().ok()?;
    Some(time.get() as f64 / 1e3)
}

/// For a factor of numbers: each figure against it, a series for each setting of the other factors.
fn sweeps(
    ids: &mut Ids,
    results: &ExperimentResults,
    measurement: &MeasurementResults,
) -> Vec<Block> {
    let times_of = Times::of(&measurement.comparison);
    let mut blocks = Vec::new();
    for (at, factor) in results.factors.iter().enumerate() {
        let numbers: Vec<Option<f64>> = factor.levels.iter().map(|l| number(l)).collect();
        if factor.levels.len() < 3 || numbers.iter().any(Option::is_none) {
            continue;
        }
        let times = factor
            .levels
            .iter()
            .all(|l| l.parse::<f64>().is_err() && !l.ends_with('%'));
        let figures = comparison::figures(&measurement.comparison);
        for (figure, raw) in figures {
            let (unit, scale) = times_of.unit(raw);
            let mut series: Vec<chart::Series> = Vec::new();
            for cell in &results.cells {
                let others: Vec<&str> = cell
                    .levels
                    .iter()
                    .enumerate()
                    .filter(|(n, _)| *n != at)
                    .map(|(_, level)| level.as_str())
                    .collect();
                let name = match others.is_empty() {
                    true => figure_words(figure),
                    false => others.join(", "),
                };
                let Some(x) = cell.levels.get(at).and_then(|l| number(l)) else {
                    continue;
                };
                let Some(side) = side(&measurement.comparison.results, figure, &cell.name) else {
                    continue;
                };
                let Some(y) = side.estimate else { continue };
                let interval = side.interval.map(|i| (i.low / scale, i.high / scale));
                let point = Point::at(x, y / scale).within(interval).of(side.runs);
                match series.iter_mut().find(|s| s.name == name) {
                    Some(series) => series.points.push(point),
                    None => series.push(chart::Series::new(
                        name,
                        "",
                        Shape::Dots,
                        vec![point],
                        believed(measurement),
                    )),
                }
            }
            for series in &mut series {
                series.points.order_by(|a, b| a.x.total_cmp(&b.x));
                let runs: u64 = series.points.iter().filter_map(|p| p.count).sum();
                series.counted = counted(runs, "run");
            }
            if series.is_empty() {
                continue;
            }
            let label = match unit.as_ref() {
                "" => times_of.verdict(figure_words(figure)),
                unit => figure_heading(figure, unit),
            };
            let values: Vec<f64> = series.iter().flat_map(|s| &s.points).map(|p| p.y).collect();
            let levels = numbers.iter().flatten().copied();
            let x_label = match times {
                true => format!("{} in µs", factor.name),
                false => factor.name.clone(),
            };
            blocks.push(Block::Drawing(
                Box::new(Drawing::Chart(Chart {
                    id: ids.make(&format!("sweep-{}-{figure}", factor.name)),
                    title: format!("{} against {}", figure_words(figure), factor.name),
                    note: format!(
                        "The estimate of each cell; bars are {} intervals between runs.",
                        percent(measurement.comparison.method.confidence)
                    ),
                    x: Axis::fitting(x_label, levels),
                    y: Axis::fitting(label, values.into_iter()),
                    series,
                    marks: Vec::new(),
                })),
                None,
            ));
        }
    }
    blocks
}

fn side<'a>(results: &'a [ComparedFigure], figure: &str, group: &str) -> Option<&'a GroupFigure> {
    let mut of = results.iter().filter(|r| r.figure == figure);
    of.find_map(|r| match group {
        g if r.baseline.group == g => Some(&r.baseline),
        g if r.candidate.group == g => Some(&r.candidate),
        _ => None,
    })
}
