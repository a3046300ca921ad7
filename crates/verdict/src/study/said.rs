// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The answer to a question in a sentence: what is better, what is worse, what cannot be told.

use std::fmt::Write as _;

use punctual_model::{
    ComparisonScale, ComparisonVerdict, StudyDirection, StudyRow, figure_heading, figure_words,
};

use crate::number::{digits, unit};
use crate::words::capital;

/// Levels or figures that are named in a sentence; the table has all.
const NAMED: usize = 4;

/// Says what the rows of a comparison come to.
pub(super) fn conclusion(rows: &[StudyRow], base: &str) -> String {
    let compared: Vec<&StudyRow> = rows.iter().filter(|row| row.verdict.is_some()).collect();
    let one_level = distinct(compared.iter().map(|row| row.cell.as_str())) == 1;
    let one_figure = distinct(compared.iter().map(|row| row.figure.as_str())) == 1;
    let name = |row: &StudyRow| match (one_level, one_figure) {
        (true, _) => figure_words(&row.figure),
        (false, true) => level(&row.cell).to_owned(),
        (false, false) => format!("{} of {}", figure_words(&row.figure), level(&row.cell)),
    };
    let (lead, joint) = match (compared.first(), one_level, one_figure) {
        (None, ..) => return "Nothing could be compared.".to_owned(),
        (Some(first), true, _) => (
            format!("{} against {}", setting(&first.cell), setting(base)),
            "in",
        ),
        (Some(first), false, true) => (
            format!("{} against {}", figure_words(&first.figure), setting(base)),
            "with",
        ),
        _ => (format!("Against {}", setting(base)), "in"),
    };
    let mut parts = Vec::new();
    for (words, wanted) in [
        ("better", &[ComparisonVerdict::Better][..]),
        ("worse", &[ComparisonVerdict::Worse]),
        ("different", &[ComparisonVerdict::Different]),
        (
            "the same",
            &[ComparisonVerdict::Equivalent, ComparisonVerdict::NotWorse],
        ),
        (
            "not distinguishable",
            &[ComparisonVerdict::NotDistinguishable],
        ),
        ("too few runs to tell", &[ComparisonVerdict::TooFewRuns]),
    ] {
        let of = compared.iter().filter(|row| {
            row.withheld.is_none() && row.verdict.is_some_and(|verdict| wanted.contains(&verdict))
        });
        let names: Vec<String> = of.map(|row| name(row) + &effect(row)).collect();
        if !names.is_empty() {
            parts.push(format!("{words} {joint} {}", listed(&names)));
        }
    }
    let withheld = compared.iter().filter(|row| row.withheld.is_some());
    let withheld: Vec<String> = withheld.map(|row| name(row)).collect();
    if !withheld.is_empty() {
        parts.push(format!("no verdict on {}", listed(&withheld)));
    }
    let mut said = format!("{}: {}.", capital(&lead), parts.join("; "));
    let directed = |wanted| rows.iter().filter(|r| r.direction == Some(wanted)).count();
    let same = directed(StudyDirection::Same);
    let other = directed(StudyDirection::Other);
    if same + other > 0 {
        _ = write!(said, " {same} as published, {other} not as published.");
    }
    said
}

/// What the estimates of several runs are, which is not the range of what was seen. `None` where each is of one run.
pub fn estimate_of<'a>(rows: impl IntoIterator<Item = &'a StudyRow>) -> Option<&'static str> {
    let mut several = rows.into_iter().filter(|row| row.runs > 1).peekable();
    several.peek()?;
    // Older results do not say so: all values are above 0 nearly always.
    let geometric = several.all(|row| row.scale != Some(ComparisonScale::Linear));
    Some(if geometric { "geometric mean" } else { "mean" })
}

/// Says how far the values of each figure go over the cells.
pub(super) fn ranges(rows: &[StudyRow]) -> String {
    let mut figures: Vec<&str> = Vec::new();
    for row in rows {
        if !figures.contains(&row.figure.as_str()) {
            figures.push(&row.figure);
        }
    }
    let range = |figure: &&str| {
        let of = rows.iter().filter(|row| row.figure == *figure);
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in of.clone().filter_map(|row| row.estimate) {
            low = low.min(value);
            high = high.max(value);
        }
        let (shown, scale) = unit(&of.clone().next()?.unit);
        let words = figure_words(figure);
        let shown = match figure_heading(figure, shown) == words {
            true => "",
            false => shown,
        };
        let value = match digits(low / scale) == digits(high / scale) {
            true => digits(low / scale),
            false => format!("{} to {}", digits(low / scale), digits(high / scale)),
        };
        low.is_finite()
            .then(|| format!("{words} {value} {shown}").trim_end().to_owned())
    };
    let ranges: Vec<String> = figures.iter().filter_map(range).collect();
    let each = estimate_of(rows).map_or_else(String::new, |estimate| {
        format!(" (each the {estimate} of a cell's runs)")
    });
    format!(
        "{}{each}. Not compared: the published figures are from other machines.",
        capital(&listed(&ranges))
    )
}

/// Says which figures' series agree.
pub(super) fn agree(verdicts: &[(String, Option<bool>)]) -> String {
    let with = |wanted: Option<bool>| -> Vec<String> {
        let of = verdicts.iter().filter(|(_, agrees)| *agrees == wanted);
        of.map(|(figure, _)| figure_words(figure)).collect()
    };
    let mut parts = Vec::new();
    for (wanted, lead, why) in [
        (
            Some(true),
            "The series agree in",
            "their 95 % intervals have a value in common",
        ),
        (
            Some(false),
            "The series differ in",
            "by more than their own samples explain",
        ),
        (
            None,
            "There are too few runs with an interval to tell for",
            "",
        ),
    ] {
        let names = with(wanted);
        if !names.is_empty() {
            let why = match why {
                "" => String::new(),
                why => format!(": {why}"),
            };
            parts.push(format!("{lead} {}{why}.", listed(&names)));
        }
    }
    parts.join(" ")
}

fn listed(names: &[String]) -> String {
    // Names with commas of their own are told apart.
    let (between, last_by) = match names.iter().any(|name| name.contains(',')) {
        true => ("; ", "; and "),
        false => (", ", " and "),
    };
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] if names.len() <= NAMED => {
            format!("{}{last_by}{last}", first.join(between))
        }
        _ => format!(
            "{}{last_by}{} more",
            names.get(..NAMED - 1).unwrap_or_default().join(between),
            names.len() + 1 - NAMED
        ),
    }
}

fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> usize {
    let mut seen: Vec<&str> = names.collect();
    seen.sort_unstable();
    seen.dedup();
    seen.len()
}

/// How large an effect is: only where one was found.
fn effect(row: &StudyRow) -> String {
    let found = matches!(
        row.verdict,
        Some(ComparisonVerdict::Better | ComparisonVerdict::Worse | ComparisonVerdict::Different)
    );
    if !found {
        return String::new();
    }
    let (shown, scale) = unit(&row.unit);
    match (row.scale, row.ratio, row.difference) {
        (Some(ComparisonScale::Linear), _, Some(by)) => {
            let sign = if by.estimate > 0.0 { "+" } else { "" };
            let shown = match figure_heading(&row.figure, shown) == figure_words(&row.figure) {
                true => "",
                false => shown,
            };
            let value = format!("{sign}{} {shown}", digits(by.estimate / scale));
            format!(" ({})", value.trim_end())
        }
        (_, Some(ratio), _) => format!(" (x{})", digits(ratio.estimate)),
        _ => String::new(),
    }
}

/// A cell's levels, without their factors: `rt` of `kernel=rt`.
pub(super) fn level(cell: &str) -> &str {
    match cell.split_once('=') {
        Some((_, level)) if !level.contains('=') => level,
        _ => cell,
    }
}

/// A cell in words: `kernel rt` of `kernel=rt`.
fn setting(cell: &str) -> String {
    cell.replace('=', " ")
}
