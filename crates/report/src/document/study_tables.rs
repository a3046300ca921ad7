// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The tables of a study, published ones and those of its answers, as the text and the page have them.

use punctual_model::{
    ComparisonScale, ComparisonVerdict, PublishedTable, StudyAnswer, StudyDirection, StudyRow,
    figure_heading,
};
use punctual_verdict::claims::{at_most, class};
use punctual_verdict::study::estimate_of;
use punctual_verdict::words::{self, obstacle};

use super::named::counted;
use super::parts::{Column, Table};
use super::verdicts::{NO_INTERVAL, NO_RATIO, NO_TEST, NO_VALUE, p_value};
use crate::number::{Missing, difference, digits, range, tiny, unit};

/// What the marks in a table of a comparison mean.
pub(super) const MARKS: &str = "(+n) after a verdict: n more blocks, or recorded runs of each kernel, would decide. A number with its sign in place of a ratio: a difference.";

/// A published table, as printed.
pub(super) fn published(published: &PublishedTable) -> Table {
    let columns = published.columns.iter().enumerate();
    Table {
        caption: published.title.clone(),
        columns: columns
            .map(|(at, name)| Column {
                name: name.clone(),
                figures: at > 0,
                ..Column::default()
            })
            .collect(),
        rows: published.rows.clone(),
        ..Table::default()
    }
}

/// The figures of an answer, a table each; one table of classes where those were asked for.
pub(super) fn of_answer(answer: &StudyAnswer) -> Vec<Table> {
    if answer.rows.iter().any(|row| row.class.is_some()) {
        return vec![classes(&answer.rows)];
    }
    let compared = answer.rows.iter().any(|row| row.verdict.is_some());
    let mut figures: Vec<&str> = Vec::new();
    for row in &answer.rows {
        if !figures.contains(&row.figure.as_str()) {
            figures.push(&row.figure);
        }
    }
    let table = |figure: &str| {
        let rows = answer.rows.iter().filter(|row| row.figure == figure);
        let rows: Vec<&StudyRow> = rows.collect();
        match compared {
            true => comparison(&rows),
            false => estimates(&rows),
        }
    };
    figures.into_iter().filter_map(table).collect()
}

/// What the names of all cells begin with, and is in the heading of their column instead.
pub(super) fn factor<'a>(rows: &[&'a StudyRow]) -> Option<&'a str> {
    let (factor, _) = rows.first()?.cell.split_once('=')?;
    Some(factor)
}

/// The level of a cell of one factor.
pub(super) fn level<'a>(row: &'a StudyRow, factor: Option<&str>) -> &'a str {
    let level = factor.and_then(|factor| row.cell.strip_prefix(factor)?.strip_prefix('='));
    level.unwrap_or(&row.cell)
}

fn measured(missing: &mut Missing, row: &StudyRow) -> [String; 3] {
    let (_, scale) = unit(&row.unit);
    [
        row.runs.to_string(),
        missing.or(row.estimate.map(|x| digits(x / scale)), NO_VALUE),
        missing.or(row.interval.map(|ends| range(&ends, scale)), NO_INTERVAL),
    ]
}

fn comparison(rows: &[&StudyRow]) -> Option<Table> {
    let first = rows.first()?;
    let mut missing = Missing::default();
    let (shown, scale) = unit(&first.unit);
    let published = rows.iter().any(|row| row.published.is_some());
    let ratios = rows.iter().any(|row| row.published_ratio.is_some());
    let several = rows.iter().any(|row| row.runs != first.runs);
    let directed = rows.iter().any(|row| {
        row.direction
            .is_some_and(|direction| direction != StudyDirection::NoClaim)
    });
    let factor = factor(rows);
    let lines = rows
        .iter()
        .map(|row| {
            let mut line = vec![level(row, factor).to_owned()];
            let [runs, estimate, interval] = measured(&mut missing, row);
            line.extend(several.then_some(runs));
            line.extend([estimate, interval]);
            line.extend(spread(row, scale));
            line.extend(effect_of(&mut missing, row, scale, directed));
            if published {
                line.push(row.published.map(plain).unwrap_or_default());
                line.push(row.published_error.map(plain).unwrap_or_default());
            }
            if ratios {
                line.push(row.published_ratio.map(digits).unwrap_or_default());
            }
            line
        })
        .collect();
    let first_column = format!("<{}", factor.unwrap_or("Cell"));
    let mut columns = vec![first_column.as_str()];
    columns.extend(several.then_some("??Runs"));
    columns.extend(["Here", "?<interval", "??Std error", "??Deviation"]);
    columns.extend(["Ratio", "<interval", "p", "<Verdict"]);
    if published {
        columns.extend(["Published", "??std error"]);
    }
    columns.extend(ratios.then_some("ratio"));
    let runs = match (several, means(rows)) {
        (true, estimates) => estimates.unwrap_or_default(),
        (false, Some(estimates)) => format!("{estimates} of {} runs a cell", first.runs),
        (false, None) => format!(", {} a cell", counted(first.runs, "run")),
    };
    let of_work = rows.iter().find_map(|row| row.published_unit.clone());
    let of_work = of_work.map(|unit| format!("; published in {unit}"));
    let title = format!(
        "{}{runs}, with 95 % intervals{}",
        figure_heading(&first.figure, shown),
        of_work.unwrap_or_default()
    );
    Some(filled(&title, &columns, lines, &missing).without_empty_columns())
}

/// Says what estimates of several runs are: of a maximum it is not the largest that was seen.
fn means(rows: &[&StudyRow]) -> Option<String> {
    Some(format!(", {}s", estimate_of(rows.iter().copied())?))
}

/// The standard error, and the deviation as a share of the mean: the columns of published tables.
fn spread(row: &StudyRow, scale: f64) -> [String; 2] {
    [
        row.standard_error.map(|x| digits(x / scale)),
        row.relative_deviation
            .map(|x| format!("{:.2} %", x * 100.0)),
    ]
    .map(Option::unwrap_or_default)
}

/// The effect of a row with its interval, p-value and verdict.
fn effect_of(missing: &mut Missing, row: &StudyRow, scale: f64, directed: bool) -> [String; 4] {
    if row.verdict.is_none() {
        return ["(base)", "", "", ""].map(ToOwned::to_owned);
    }
    let linear = row.scale == Some(ComparisonScale::Linear);
    let shown = match linear {
        true => row.difference.map(|effect| difference(&effect, scale)),
        false => row.ratio.map(|effect| {
            let ends = effect.interval.map(|ends| range(&ends, 1.0));
            (digits(effect.estimate), ends)
        }),
    };
    let (estimate, ends) = shown.unzip();
    [
        missing.or(estimate, NO_RATIO),
        missing.or(ends.flatten(), NO_INTERVAL),
        missing.or(row.p.map(p_value), NO_TEST),
        verdict(row, directed),
    ]
}

/// A published number as it was printed.
fn plain(x: f64) -> String {
    x.to_string()
}

fn verdict(row: &StudyRow, directed: bool) -> String {
    if let Some(withheld) = &row.withheld {
        return format!("no verdict: {}", obstacle(withheld.reason));
    }
    let word = row.verdict.map(words::verdict).unwrap_or_default();
    let verdict = match (row.verdict, row.more_runs) {
        (Some(ComparisonVerdict::TooFewRuns), Some(more)) => format!("{word} (+{more})"),
        _ => word.to_owned(),
    };
    let direction = match row.direction {
        Some(StudyDirection::Same) => ", as published",
        Some(StudyDirection::Other) => ", not as published",
        _ => "",
    };
    match directed {
        true => verdict + direction,
        false => verdict,
    }
}

fn estimates(rows: &[&StudyRow]) -> Option<Table> {
    let first = rows.first()?;
    let mut missing = Missing::default();
    let published = rows.iter().any(|row| row.published.is_some());
    let line = |row: &&StudyRow| {
        let mut line = vec![row.cell.clone()];
        match row.published {
            // What others measured on their machines.
            Some(value) if row.runs == 0 => {
                line.extend(["", "", ""].map(ToOwned::to_owned));
                line.push(plain(value));
            }
            value => {
                line.extend(measured(&mut missing, row));
                if published {
                    line.push(value.map(plain).unwrap_or_default());
                }
            }
        }
        line
    };
    let lines = rows.iter().map(line).collect();
    let mut columns = vec!["<Cell", "Runs", "Value", "<95 % interval"];
    columns.extend(published.then_some("Published"));
    let (shown, _) = unit(&first.unit);
    let of_work = rows.iter().find_map(|row| row.published_unit.clone());
    let of_work = of_work.map(|unit| format!("; published in {unit}"));
    let title = format!(
        "{}{}{}",
        figure_heading(&first.figure, shown),
        means(rows).unwrap_or_default(),
        of_work.unwrap_or_default()
    );
    Some(filled(&title, &columns, lines, &missing))
}

fn classes(rows: &[StudyRow]) -> Table {
    let mut missing = Missing::default();
    let line = |row: &StudyRow| {
        vec![
            row.cell.clone(),
            row.figure.trim_start_matches("missed:").to_owned(),
            row.runs.to_string(),
            // None missed is no share, and a small one is not none.
            missing.or(
                row.estimate
                    .map(|x| if x > 0.0 { tiny(x) } else { "none".to_owned() }),
                NO_VALUE,
            ),
            missing.or(row.at_most.map(at_most), NO_VALUE),
            row.class.map_or("-", class).to_owned(),
        ]
    };
    let lines = rows.iter().map(line).collect();
    let columns = [
        "<Cell",
        "Deadline",
        "Runs",
        "Missed",
        "At most, worst run",
        "<Class",
    ];
    filled("Real-time classes", &columns, lines, &missing)
}

fn filled(caption: &str, columns: &[&str], rows: Vec<Vec<String>>, missing: &Missing) -> Table {
    Table {
        rows,
        notes: missing.reasons().into_iter().collect(),
        ..Table::new(caption, columns)
    }
}
