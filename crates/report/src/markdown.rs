// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A report as Markdown, for mail and pull requests: answers, tables, and charts as lines of characters.
//!
//! Tables are those of GitHub's and GitLab's dialect. A chart is a sparkline for values over time and a histogram of
//! bars for a distribution; others are their table.
#![expect(
    clippy::format_push_string,
    reason = "the other way has an error to handle that a string never gives"
)]

use std::fmt::Write as _;

use crate::chart::scale::grouped;
use crate::chart::{Chart, Distribution, Drawing, Scale, Shape, spark};
use crate::document::{Answer, Block, Document, More, Table, Tone};
use crate::escape::{Markdown, plain};
use crate::number::span;

/// Characters of a sparkline.
const SPARK: usize = 40;
/// Series that are drawn as characters; the tables have all.
const DRAWN: usize = 6;
/// Values of a chart without a table that are listed.
const LISTED: usize = 60;

/// Writes a report as Markdown.
pub fn page(document: &Document) -> String {
    let mut out = format!("# {}\n\n", Markdown(&document.title));
    for caveat in &document.caveats {
        out += &format!("**{}**\n\n", Markdown(caveat));
    }
    for answer in &document.answers {
        out += &self::answer(answer);
    }
    for section in &document.sections {
        out += &format!("## {}\n\n", Markdown(&section.title));
        for block in &section.blocks {
            out += &self::block(block);
        }
    }
    out + &format!("---\n{}\n", Markdown(&document.made))
}

fn answer(answer: &Answer) -> String {
    let sign = match answer.tone {
        Tone::Bad => "⛔ ",
        Tone::Doubtful => "⚠️ ",
        Tone::Good => "✅ ",
        Tone::Plain => "",
    };
    let mut out = format!(
        "{sign}**{}** — {}\n\n",
        Markdown(&answer.word),
        Markdown(&answer.sentence)
    );
    if !answer.figures.is_empty() {
        out += "| Figure | Value | |\n|---|---:|---|\n";
        for figure in &answer.figures {
            // Writing to a string cannot fail.
            let _written = writeln!(
                out,
                "| {} | {} | {} |",
                Markdown(&figure.name),
                Markdown(&figure.value),
                Markdown(&figure.detail)
            );
        }
        out.push('\n');
    }
    for reason in &answer.validity {
        let _written = writeln!(out, "- {}", Markdown(&reason.text));
    }
    out + "\n"
}

fn block(block: &Block) -> String {
    match block {
        Block::Text(text) => format!("{}\n\n", Markdown(text)),
        Block::Facts(facts) => {
            let mut out = "| | |\n|---|---|\n".to_owned();
            for (name, value) in facts {
                let _written = writeln!(out, "| {} | {} |", Markdown(name), Markdown(value));
            }
            out + "\n"
        }
        Block::Table(table) => self::table(table),
        Block::Items(items) => {
            let mut out = String::new();
            for item in items {
                let (mark, text) = (Markdown(&item.mark), Markdown(&item.text));
                let _written = writeln!(out, "- **{mark}** {text}");
                for more in &item.more {
                    match more {
                        More::Said(said) | More::Aside(said) => {
                            out += &format!("  - {}\n", Markdown(said));
                        }
                        More::Verbatim(lines) => out += &verbatim("  ", lines),
                    }
                }
            }
            out + "\n"
        }
        Block::Part(title, blocks) => {
            let inside: String = blocks.iter().map(self::block).collect();
            format!("### {}\n\n{inside}", Markdown(title))
        }
        Block::Fold(title, blocks) => {
            let inside: String = blocks.iter().map(self::block).collect();
            format!(
                "<details><summary>{}</summary>\n\n{inside}</details>\n\n",
                Markdown(title)
            )
        }
        Block::Drawing(drawing, table) => {
            let mut out = format!("### {}\n\n", Markdown(drawing.title()));
            for warning in drawing.warnings() {
                out += &format!("**{}**\n\n", Markdown(&warning));
            }
            out += &format!("{}\n\n", Markdown(drawing.note()));
            let drawn = drawn(drawing);
            match (table, drawing.as_ref()) {
                (Some(table), _) => out += &self::table(table),
                (None, Drawing::Heat(heat)) => out += &self::table(&crate::html::heat_table(heat)),
                (None, Drawing::Chart(chart)) if drawn.is_none() => {
                    out += &self::table(&values(chart))
                }
                _ => {}
            }
            out.extend(drawn.map(|drawn| format!("```text\n{drawn}```\n\n")));
            out
        }
    }
}

fn table(table: &Table) -> String {
    let mut out = match table.caption.is_empty() {
        true => "|".to_owned(),
        false => format!("**{}**\n\n|", Markdown(&table.caption)),
    };
    for column in &table.columns {
        out += &format!(" {} |", Markdown(&column.name));
    }
    out += "\n|";
    for column in &table.columns {
        out += if column.figures { "---:|" } else { "---|" };
    }
    out.push('\n');
    for row in &table.rows {
        out.push('|');
        for cell in row {
            let _written = write!(out, " {} |", Markdown(cell));
        }
        out.push('\n');
    }
    out.push('\n');
    for note in &table.notes {
        out += &format!("{}\n\n", Markdown(note));
    }
    out
}

/// A distribution or values over time in characters, among them none that closes a fence of Markdown.
pub(crate) fn drawn(drawing: &Drawing) -> Option<String> {
    let text = match drawing {
        Drawing::Distribution(distribution) => bars(distribution),
        Drawing::Chart(chart) => lines(chart),
        Drawing::Heat(_) => String::new(),
    };
    (!text.is_empty()).then(|| fenced(&text))
}

/// Lines as they are, in a fence.
fn verbatim(before: &str, lines: &str) -> String {
    let lines = fenced(lines);
    let lines: Vec<&str> = lines.lines().collect();
    let lines = lines.join(&format!("\n{before}"));
    format!("\n{before}```text\n{before}{lines}\n{before}```\n")
}

/// Text that closes no fence.
fn fenced(text: &str) -> String {
    let harmless = |c: char| if c == '`' { '\'' } else { plain(c) };
    text.chars().map(harmless).collect()
}

fn bars(distribution: &Distribution) -> String {
    let mut out = String::new();
    let shown: Vec<_> = distribution.series.iter().filter(|s| s.shown).collect();
    for series in shown.iter().take(DRAWN) {
        out += &format!(
            "{}: {} samples; the bars are logarithmic\n",
            series.name().replace('\n', " "),
            grouped(series.count)
        );
        for row in &series.rows {
            let from = span(punctual_model::Nanos::new(row.from_ns));
            let line = format!(" from {from:>8} {:>12} {}", grouped(row.count), row.bar);
            out += &format!("{}\n", line.trim_end());
        }
        out.push('\n');
    }
    let more = shown.len().saturating_sub(DRAWN);
    if more > 0 {
        out += &format!("{more} more are in the table\n");
    }
    out
}

fn lines(chart: &Chart) -> String {
    if chart.series.iter().any(|s| s.shape != Shape::Step)
        || matches!(chart.y.scale, Scale::Names(_))
    {
        return String::new();
    }
    let unit = |label: &str| match label.rsplit_once(" in ") {
        Some((_, unit)) => format!(" {unit}"),
        None => String::new(),
    };
    let log = chart.x.scale == Scale::Log;
    let place = |x: f64| if log { x.ln() } else { x };
    let shown: Vec<_> = chart.series.iter().filter(|s| s.shown).collect();
    let points = || shown.iter().flat_map(|s| &s.points);
    let places = || points().map(|p| place(p.x)).filter(|x| x.is_finite());
    let high = places().fold(f64::NEG_INFINITY, f64::max);
    let low = places().fold(f64::INFINITY, f64::min);
    // Time is drawn from the start on, and so is what begins near 0.
    let low = if log || low > 0.7 * high {
        low
    } else {
        low.min(0.0)
    };
    let mut out = String::new();
    for series in shown.iter().take(DRAWN) {
        let levels: Vec<_> = series.points.iter().map(|p| (place(p.x), p.y)).collect();
        let values = || levels.iter().map(|(_, y)| *y).filter(|y| y.is_finite());
        if values().count() < 2 {
            continue;
        }
        let cells = spark::cells(&levels, (low, high), SPARK);
        if let Some(line) = spark::line(&cells) {
            let drawn = || cells.iter().flatten().copied();
            let least = drawn().fold(f64::INFINITY, f64::min);
            let most = drawn().fold(0.0, f64::max);
            let of = format!(
                "{}: {least:.1} .. {most:.1}{}",
                series.name,
                unit(&chart.y.label)
            );
            out += &format!("{}\n{}\n", of.replace('\n', " "), line.trim_end());
        }
    }
    if !out.is_empty() {
        let each = (high - low) / SPARK as f64;
        let each = match log {
            true => format!("a factor of {}", two_digits(each.exp())),
            false => format!("{}{}", two_digits(each), unit(&chart.x.label)),
        };
        out.insert_str(
            0,
            &format!("A character is {each} wide: the largest value in it. A blank has none.\n"),
        );
    }
    let more = shown.len().saturating_sub(DRAWN);
    if more > 0 {
        out += &format!("{more} more are not drawn here\n");
    }
    out
}

/// A number in two digits, and no zeros behind them.
fn two_digits(value: f64) -> String {
    let rounded = format!("{value:.1e}").parse::<f64>();
    rounded.map_or_else(|_| String::new(), |value| value.to_string())
}

/// The values of a chart that has no table.
fn values(chart: &Chart) -> Table {
    let name = |label: &str, or: &str| {
        let label = if label.is_empty() { or } else { label };
        format!("<{label}")
    };
    let (x, y) = (name(&chart.x.label, "x"), name(&chart.y.label, "Of"));
    // A bar's ends are where it lies, no interval of a value.
    let bars = chart.series.iter().any(|s| s.shape == Shape::Bars);
    let [low, high] = if bars {
        ["From", "To"]
    } else {
        ["Low", "High"]
    };
    let names = ["<Series", "<Valid", &x, &y, low, high, "Count"];
    let mut table = Table::new("Values", &names);
    let place = |scale: &Scale, value: f64| match scale {
        Scale::Names(names) => {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a whole number from 0"
            )]
            let at = value.round().max(0.0) as usize;
            names.get(at).cloned().unwrap_or_default()
        }
        _ => crate::number::digits(value),
    };
    let all: usize = chart.series.iter().map(|s| s.points.len()).sum();
    for series in &chart.series {
        for point in series.points.iter().filter(|p| p.y.is_finite()) {
            if table.rows.len() == LISTED {
                break;
            }
            let end = |pick: fn((f64, f64)) -> f64| {
                point
                    .interval
                    .map_or_else(String::new, |i| crate::number::digits(pick(i)))
            };
            let valid = match series.validity.mark() {
                "" => "yes",
                mark => mark,
            };
            table.rows.push(vec![
                series.name.clone(),
                valid.to_owned(),
                place(&chart.x.scale, point.x),
                place(&chart.y.scale, point.y),
                end(|i| i.0),
                end(|i| i.1),
                point.count.map_or_else(String::new, |n| n.to_string()),
            ]);
        }
    }
    if all > LISTED {
        table
            .notes
            .push(format!("The first {LISTED} of {all} values."));
    }
    table.without_empty_columns()
}
