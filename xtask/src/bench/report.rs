// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The figures as a table for people and as JSON for programs.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::Context as _;
use serde_json::{Value, json};

use super::budget::{Limit, Outcome, Row, Spread, Unit};
use crate::files;

const HEADINGS: [&str; 6] = [
    "budget",
    "ours",
    "reference",
    "ratio (min..max)",
    "limit",
    "verdict",
];

/// Returns the table, and below it what there is to say about its rows.
pub(crate) fn table(rows: &[Row<'_>]) -> String {
    let mut lines = vec![HEADINGS.map(String::from)];
    lines.extend(rows.iter().map(cells));
    let widths: Vec<_> = (0..HEADINGS.len())
        .map(|column| {
            lines
                .iter()
                .map(|line| line[column].chars().count())
                .max()
                .unwrap_or(0)
        })
        .collect();
    let mut text = String::new();
    for line in &lines {
        let padded: Vec<_> = line
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell:<width$}"))
            .collect();
        text.push_str(padded.join("  ").trim_end());
        text.push('\n');
    }
    for row in rows {
        for remark in remarks(row) {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{}: {remark}", row.budget.name);
        }
    }
    text
}

/// Writes the table with every pair.
pub(crate) fn write_json(path: &Path, rows: &[Row<'_>], quick: bool) -> anyhow::Result<()> {
    let kernel = files::read(Path::new("/proc/sys/kernel/osrelease")).ok();
    let document = json!({
        "format": "punctual.bench/1",
        "kernel": kernel.as_deref().map(str::trim),
        "quick": quick,
        "budgets": rows.iter().map(row_json).collect::<Vec<_>>(),
    });
    fs::write(path, format!("{document:#}\n"))
        .with_context(|| format!("failed to write {}", path.display()))
}

fn cells(row: &Row<'_>) -> [String; 6] {
    let median = |spread: Option<Spread>| {
        spread.map_or_else(|| "-".into(), |found| figure(found.median, row.budget.unit))
    };
    [
        row.budget.name.into(),
        median(row.ours()),
        median(row.theirs()),
        row.ratio().map_or_else(
            || "-".into(),
            |ratio| format!("{:.3} ({:.3}..{:.3})", ratio.median, ratio.min, ratio.max),
        ),
        match row.budget.limit {
            Limit::Ratio(limit) => format!("<= {limit} x"),
            Limit::Figure(limit) => format!("<= {}", figure(limit, row.budget.unit)),
            Limit::None => "-".into(),
        },
        row.verdict().word().into(),
    ]
}

fn remarks(row: &Row<'_>) -> Vec<String> {
    let mut remarks = match &row.outcome {
        Outcome::Measured { faults, .. } => faults.clone(),
        Outcome::NotMeasured(reason) => vec![format!("not measured: {reason}")],
        Outcome::Failed(reason) => vec![format!("failed: {reason}")],
    };
    if let Some(noise) = row.noise() {
        remarks.push(format!(
            "noise here: the reference against its own next run {:.3} ({:.3}..{:.3})",
            noise.median, noise.min, noise.max
        ));
    }
    remarks.extend(row.notes.iter().cloned());
    remarks
}

fn figure(figure: f64, unit: Unit) -> String {
    match unit {
        Unit::Nanos if figure >= 1e6 => format!("{:.2} ms", figure / 1e6),
        Unit::Nanos if figure >= 1e3 => format!("{:.2} us", figure / 1e3),
        Unit::Nanos => format!("{figure:.1} ns"),
        Unit::Bytes => format!("{:.1} MB", figure / 1e6),
        Unit::Samples => format!("{figure:.0} lost"),
    }
}

fn row_json(row: &Row<'_>) -> Value {
    let unit = match row.budget.unit {
        Unit::Nanos => "ns",
        Unit::Bytes => "bytes",
        Unit::Samples => "samples",
    };
    let spread = |spread: Option<Spread>| {
        spread.map(|found| json!({"min": found.min, "median": found.median, "max": found.max}))
    };
    let (limit, limit_of) = match row.budget.limit {
        Limit::Ratio(limit) => (Some(limit), "ratio"),
        Limit::Figure(limit) => (Some(limit), "ours"),
        Limit::None => (None, "none"),
    };
    json!({
        "budget": row.budget.name,
        "unit": unit,
        "verdict": row.verdict().word(),
        "limit": limit,
        "limit_of": limit_of,
        "ours": spread(row.ours()),
        "cyclictest": spread(row.theirs()),
        "ratio": spread(row.ratio()),
        "noise": spread(row.noise()),
        "pairs": row.pairs().iter().map(|pair| json!([pair.ours, pair.theirs])).collect::<Vec<_>>(),
        "remarks": remarks(row),
    })
}

#[cfg(test)]
mod tests {
    use super::super::budget::tests::{RATIO, row};
    use super::*;

    #[test]
    fn the_table_shows_figures_with_units_and_the_verdict() {
        let text = table(&[row(&RATIO, &[(21_000.0, 20_000.0), (20_000.0, 20_000.0)])]);
        let line = text.lines().nth(1).unwrap();
        assert_eq!(
            line.trim_end(),
            "toy     20.50 us  20.00 us   1.025 (1.000..1.050)  <= 1.02 x  over"
        );
    }

    #[test]
    fn what_is_not_measured_has_no_figures_and_a_reason() {
        let mut bare = row(&RATIO, &[]);
        bare.outcome = Outcome::NotMeasured("no root".into());
        assert!(table(std::slice::from_ref(&bare)).ends_with("toy: not measured: no root\n"));
        let json = row_json(&bare);
        assert_eq!(json["verdict"], "not measured");
        assert!(json["ours"].is_null() && json["ratio"].is_null(), "{json}");
    }
}
