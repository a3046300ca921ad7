// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The results of an experiment as text.

use punctual_model::{
    ComparedFigure, ComparisonScale, ExperimentResults, FactorEffect, GroupFigure,
    MeasurementResults, SequentialState,
};

use super::comparison::{
    NO_EFFECT, NO_INTERVAL, NO_RATIO, NO_TEST, NO_VALUE, foot, headings, name, p_value, remarks,
    said, share, verdict,
};
use super::layout::{Column, clean, paragraph, table, wrapped};
use super::number::{Missing, digits, percent, range};
use super::requirement::requirements;
use crate::times::Times;

/// Says what the runs of an experiment say.
pub fn experiment_results(results: &ExperimentResults) -> String {
    let mut sections = vec![virtual_times(results).unwrap_or_default() + &header(results)];
    let several = results.measurements.len() > 1;
    for measurement in &results.measurements {
        if several {
            sections.push(format!("Measurement {}\n", clean(&measurement.measurement)));
        }
        sections.push(said(&measurement.comparison));
        sections.push(cells(results, measurement));
        sections.push(comparisons(measurement));
        sections.extend(effects(measurement));
        sections.extend(requirements(&measurement.comparison));
        sections.extend(remarks(&measurement.comparison));
    }
    sections.extend(front(results));
    sections.extend(results.sequential.as_ref().map(looks));
    sections.extend(aliases(results));
    sections.join("\n")
}

fn virtual_times(results: &ExperimentResults) -> Option<String> {
    let mut measurements = results.measurements.iter();
    measurements.find_map(|m| super::guest::virtual_times(&m.comparison))
}

fn header(results: &ExperimentResults) -> String {
    let state = match &results.finished {
        Some(reason) => format!("over: {}", clean(reason)),
        None => "not over: these are the results so far".to_owned(),
    };
    let mut text = paragraph(
        "Experiment",
        &format!(
            "{}: {} cells, {} of {} blocks, seed {}; {state}",
            clean(&results.name),
            results.cells.len(),
            results.blocks,
            results.blocks_planned,
            results.seed
        ),
    );
    if let Some(first) = results.measurements.first() {
        let method = &first.comparison.method;
        let divided = match results.measurements.len() {
            1 => String::new(),
            n => format!(" for each of {n} measurements"),
        };
        text += &paragraph(
            "Method",
            &format!(
                "one value a run, cells compared {} by permutation, level {}{divided}, \
                 p corrected for all tests of a table (Holm), a change of {} matters and shall be \
                 found in {} of cases",
                match virtual_times(results) {
                    Some(_) => "with runs taken as independent, each of its own seed,",
                    None => "inside their blocks",
                },
                percent(method.alpha),
                percent(method.effect),
                percent(method.power)
            ),
        );
    }
    text
}

/// The estimate of each figure in each cell.
fn cells(results: &ExperimentResults, measurement: &MeasurementResults) -> String {
    let mut missing = Missing::default();
    let times = Times::of(&measurement.comparison);
    let figures = figures(measurement);
    let rows = results
        .cells
        .iter()
        .map(|cell| {
            let mut row = vec![clean(&cell.name).into_owned()];
            let groups = measurement.comparison.groups.iter();
            let group = groups.clone().find(|group| group.name == cell.name);
            row.push(group.map_or(0, |group| group.runs.len()).to_string());
            for (figure, _) in &figures {
                let side = side(measurement, figure, &cell.name);
                let (_, scale) = times.unit(side.map_or("1", |(result, _)| &result.unit));
                let side = side.map(|(_, side)| side);
                let estimate = side.and_then(|side| side.estimate);
                row.push(missing.or(estimate.map(|x| digits(x / scale)), NO_VALUE));
                let ends = side.and_then(|side| side.interval);
                row.push(missing.or(ends.map(|ends| range(&ends, scale)), NO_INTERVAL));
            }
            row
        })
        .collect();
    let mut header = vec![("Cell", Column::Left), ("Runs", Column::Right)];
    for (_, title) in &figures {
        header.push((title.as_str(), Column::Right));
        header.push(("interval", Column::Left));
    }
    let confidence = percent(measurement.comparison.method.confidence);
    let title = format!("Cells: estimate over runs, with its {confidence} interval");
    let mut text = times.heading(title) + "\n";
    text += &table(&header, rows);
    text += &missing.note();
    text
}

/// The figures of a measurement, each with its heading, in their order.
fn figures(measurement: &MeasurementResults) -> Vec<(String, String)> {
    let times = Times::of(&measurement.comparison);
    let mut figures: Vec<(String, String)> = Vec::new();
    for result in &measurement.comparison.results {
        if figures.iter().all(|(figure, _)| *figure != result.figure) {
            figures.push((result.figure.clone(), name(result, times)));
        }
    }
    figures
}

fn side<'a>(
    measurement: &'a MeasurementResults,
    figure: &str,
    cell: &str,
) -> Option<(&'a ComparedFigure, &'a GroupFigure)> {
    let results = measurement.comparison.results.iter();
    let mut sides = results
        .filter(|result| result.figure == figure)
        .flat_map(|result| [(result, &result.baseline), (result, &result.candidate)]);
    sides.find(|(_, side)| side.group == cell)
}

/// Each cell against the first.
fn comparisons(measurement: &MeasurementResults) -> String {
    let comparison = &measurement.comparison;
    let times = Times::of(comparison);
    let mut missing = Missing::default();
    let rows = comparison
        .results
        .iter()
        .map(|result| {
            let (_, scale) = times.unit(&result.unit);
            let effect = match result.scale {
                ComparisonScale::Log => result.ratio,
                ComparisonScale::Linear => result.difference,
            };
            let scale = match result.scale {
                ComparisonScale::Log => 1.0,
                ComparisonScale::Linear => scale,
            };
            let ends = effect.and_then(|effect| effect.interval);
            vec![
                clean(&result.candidate.group).into_owned(),
                name(result, times),
                missing.or(
                    effect.map(|e| change(e.estimate / scale, result.scale)),
                    NO_RATIO,
                ),
                missing.or(ends.map(|ends| range(&ends, scale)), NO_INTERVAL),
                missing.or(result.adjusted_p.map(p_value), NO_TEST),
                missing.or(result.smallest_detectable.map(share), NO_EFFECT),
                verdict(result, comparison),
            ]
        })
        .collect();
    let [interval, p] = headings(comparison);
    let header = [
        ("Cell", Column::Left),
        ("Figure", Column::Left),
        ("Ratio", Column::Right),
        (interval.as_str(), Column::Left),
        (p.as_str(), Column::Right),
        ("Could show", Column::Right),
        ("Verdict", Column::Text),
    ];
    let base = comparison
        .groups
        .first()
        .map_or("", |group| group.name.as_str());
    let title = format!(
        "Answers: each cell against {}; + or - before a number: a difference, where there is no ratio",
        clean(base)
    );
    let mut text = times.heading(title) + "\n";
    text += &table(&header, rows);
    for line in foot(&comparison.results.iter().collect::<Vec<_>>(), comparison) {
        text += &wrapped(" ", 3, &line);
    }
    text += &missing.note();
    text
}

/// A ratio, or a difference with its sign.
fn change(x: f64, scale: ComparisonScale) -> String {
    match scale {
        ComparisonScale::Log => digits(x),
        ComparisonScale::Linear if x > 0.0 => format!("+{}", digits(x)),
        ComparisonScale::Linear => digits(x),
    }
}

fn effects(measurement: &MeasurementResults) -> Option<String> {
    if measurement.effects.is_empty() {
        return None;
    }
    let times = Times::of(&measurement.comparison);
    let mut missing = Missing::default();
    let rows = measurement
        .effects
        .iter()
        .map(|effect| {
            let (title, scale) = times.unit(&effect.unit);
            let scale = match effect.scale {
                ComparisonScale::Log => 1.0,
                ComparisonScale::Linear => scale,
            };
            let estimate = effect.estimate.map(|x| change(x / scale, effect.scale));
            let blocks = match effect.incomplete {
                0 => effect.blocks.to_string(),
                n => format!("{} ({n} incomplete)", effect.blocks),
            };
            vec![
                what(effect),
                clean(format!("{} {title}", effect.figure).trim_end()).into_owned(),
                missing.or(estimate, "no block has every cell of it"),
                missing.or(effect.interval.map(|ends| range(&ends, scale)), NO_INTERVAL),
                missing.or(effect.adjusted_p.map(p_value), "a test takes two blocks"),
                blocks,
                times.verdict(if effect.found { "found" } else { "not found" }),
            ]
        })
        .collect();
    let interval = format!(
        "{} interval",
        percent(measurement.comparison.method.confidence)
    );
    let header = [
        ("Effect", Column::Text),
        ("Figure", Column::Left),
        ("Ratio", Column::Right),
        (interval.as_str(), Column::Left),
        ("p", Column::Right),
        ("Blocks", Column::Right),
        ("", Column::Left),
    ];
    let title =
        "Effects over all cells; of an interaction (x): one effect with the other, over it without";
    let mut text = times.heading(title) + "\n";
    text += &table(&header, rows);
    text += &missing.note();
    Some(text)
}

fn what(effect: &FactorEffect) -> String {
    let of = effect.of.iter();
    let parts: Vec<String> = of
        .map(|change| format!("{} {} for {}", change.factor, change.level, change.from))
        .collect();
    clean(&parts.join(" x ")).into_owned()
}

/// The cells that no other beats.
fn front(results: &ExperimentResults) -> Option<String> {
    let cells = results.pareto.as_ref()?;
    let times = Times::of_experiment(results);
    let mut header = vec![("Cell".to_owned(), Column::Left)];
    let several = results.measurements.len() > 1;
    for value in cells.first().into_iter().flat_map(|cell| &cell.values) {
        let (title, _) = times.unit(&value.unit);
        let title = format!("{} {title}", value.figure);
        let title = match several {
            true => format!("{}: {}", value.measurement, title.trim_end()),
            false => title.trim_end().to_owned(),
        };
        header.push((clean(&title).into_owned(), Column::Right));
    }
    let mut missing = Missing::default();
    let kept = cells.iter().filter(|cell| cell.undominated);
    let rows: Vec<Vec<String>> = kept
        .map(|cell| {
            let mut row = vec![clean(&cell.cell).into_owned()];
            for value in &cell.values {
                let (_, scale) = times.unit(&value.unit);
                row.push(missing.or(value.estimate.map(|x| digits(x / scale)), NO_VALUE));
            }
            row
        })
        .collect();
    let beaten = cells.len() - rows.len();
    let header: Vec<(&str, Column)> = header.iter().map(|(t, c)| (t.as_str(), *c)).collect();
    let title = format!(
        "To choose from: no cell is as good in everything and better in something ({beaten} of {} are \
         beaten), by the estimates",
        cells.len()
    );
    let mut text = times.heading(title) + "\n";
    text += &table(&header, rows);
    text += &missing.note();
    Some(text)
}

fn looks(state: &SequentialState) -> String {
    let looks: Vec<String> = state.looks.iter().map(ToString::to_string).collect();
    let found = state.comparisons.iter().filter(|c| c.found_after.is_some());
    let first = match looks.is_empty() {
        true => "not yet".to_owned(),
        false => format!("after {} blocks", looks.join(", ")),
    };
    let mut text = paragraph(
        "Looked",
        &format!(
            "{first}; {} of {} comparisons decided; together the looks spend at most {} \
             (Lan and DeMets, O'Brien and Fleming's function), and a verdict of an effect stands only \
             where a look found it. Intervals are not corrected for looking",
            found.clone().count(),
            state.comparisons.len(),
            percent(state.alpha)
        ),
    );
    for comparison in found {
        let after = comparison.found_after.unwrap_or(0);
        let line = format!(
            "{} of {}: found after {after} blocks",
            comparison.figure, comparison.cell
        );
        text += &wrapped(" ", 3, &clean(&line));
    }
    text
}

fn aliases(results: &ExperimentResults) -> Option<String> {
    if results.aliases.is_empty() {
        return None;
    }
    let lines = results
        .aliases
        .iter()
        .map(|alias| format!(" {}\n", clean(alias)));
    Some(format!(
        "The fraction cannot tell apart:\n{}",
        lines.collect::<String>()
    ))
}
