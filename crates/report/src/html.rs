// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A report as one HTML file that needs nothing else: no server, no network, no other file.
//!
//! The page holds the values of its charts as JSON and a script of ours that draws them. It draws the SVG that
//! [`crate::chart::svg`] writes, with zoom, read-out and switches; so a picture for a paper, the page and its print
//! are the same. Without a script the static drawings stay. A policy in the page itself forbids any request.
#![expect(
    clippy::format_push_string,
    reason = "the other way has an error to handle that a string never gives"
)]

mod data;

use std::fmt::Write as _;

use crate::chart::{Drawing, Shape, View, svg};
use crate::document::{Answer, Block, Column, Document, More, Section, Table, Tone};
use crate::escape::{Xml, script};

const STYLE: &str = include_str!("html/page.css");

/// The script of every page, as it stands between its tags: a server that allows no other names it by its hash.
pub const SCRIPT: &str = include_str!("html/page.js");

/// A drawing of more series is left to the script: its static form would be most of the file.
const STATIC: usize = 12;

/// And one of more bars.
const STATIC_BARS: usize = 300;

/// A table of more rows has its own scroll bar: what follows it is as far away as the screen is high.
const LONG: usize = 40;

/// Longer words of a table are folded.
const WORDS: usize = 30;

/// Writes a report as a page.
pub fn page(document: &Document) -> String {
    written(document, "")
}

/// Writes a report as a page of a site, which leads to `address` by a link that says `text`.
pub fn page_of_site(document: &Document, address: &str, text: &str) -> String {
    let link = format!(
        "<p class=\"made\"><a href=\"{}\">{}</a></p>",
        Xml(address),
        Xml(text)
    );
    written(document, &link)
}

/// Writes a page of a site that is no report and looks like one: `body` is HTML in which all foreign text is
/// escaped already ([`escaped`]). It has no script.
pub fn plain_page(title: &str, body: &str) -> String {
    let title = Xml(title);
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
<meta name=\"referrer\" content=\"no-referrer\"><link rel=\"icon\" href=\"data:,\"><title>{title} - Punctual</title>\n\
<style>{STYLE}</style></head>\n<body><div class=\"wrap\"><header><p class=\"made\"><a href=\"/\">All runs</a></p>\
<div class=\"row\"><h1>{title}</h1></div></header>\n<main>{body}</main></div></body></html>\n"
    )
}

/// Makes a text harmless in HTML, in an element and in a quoted attribute.
pub fn escaped(text: &str) -> String {
    Xml(text).to_string()
}

fn written(document: &Document, link: &str) -> String {
    let mut charts: Vec<serde_json::Value> = Vec::new();
    let mut body = String::new();
    for caveat in &document.caveats {
        body += &format!("<p class=\"warn\">{}</p>", Xml(caveat));
    }
    for answer in &document.answers {
        body += &self::answer(answer);
    }
    if document.sections.len() > 1 {
        body += "<nav aria-label=\"Sections\">";
        for section in &document.sections {
            body += &format!("<a href=\"#{}\">{}</a>", section.id, Xml(&section.title));
        }
        body += "</nav>";
    }
    for section in &document.sections {
        body += &self::section(section, &mut charts);
    }
    let data = script(&serde_json::Value::Array(charts).to_string());
    let title = Xml(&document.title);
    let made = Xml(&document.made);
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none';style-src 'unsafe-inline';script-src 'unsafe-inline';img-src data:;base-uri 'none';form-action 'none'\">\
<meta name=\"referrer\" content=\"no-referrer\"><link rel=\"icon\" href=\"data:,\"><title>{title}</title>\n<style>{STYLE}</style></head>\n\
<body><div class=\"wrap\"><header>{link}<div class=\"row\"><h1>{title}</h1>\
<button type=\"button\" class=\"theme\" hidden>Light / dark</button></div><p class=\"made\">{made}</p></header>\n<main>{body}</main>\n\
<footer>{made}. Every figure has its unit and the number of samples behind it; what is invalid is marked. Times are in microseconds unless a heading says otherwise.</footer></div>\n\
<script type=\"application/json\" id=\"data\">{data}</script>\n<script>{SCRIPT}</script></body></html>\n"
    )
}

const fn class(tone: Tone) -> &'static str {
    match tone {
        Tone::Good => "good",
        Tone::Bad => "bad",
        Tone::Doubtful => "doubtful",
        Tone::Plain => "plain",
    }
}

fn answer(answer: &Answer) -> String {
    let mut out = format!(
        "<section class=\"answer {}\" aria-label=\"Answer\"><span class=\"word\">{}</span><p class=\"sentence\">{}</p>",
        class(answer.tone),
        Xml(&answer.word),
        Xml(&answer.sentence)
    );
    if !answer.figures.is_empty() {
        out += "<dl class=\"keys\">";
        for figure in &answer.figures {
            out += &format!(
                "<div><dt>{}</dt><dd class=\"v\">{}</dd><dd class=\"d\">{}</dd></div>",
                Xml(&figure.name),
                Xml(&figure.value),
                Xml(&figure.detail)
            );
        }
        out += "</dl>";
    }
    if !answer.validity.is_empty() {
        out += "<ul class=\"valid\">";
        for reason in &answer.validity {
            let class = if reason.is_fault {
                " class=\"fault\""
            } else {
                ""
            };
            out += &format!("<li{class}>{}</li>", Xml(&reason.text));
        }
        out += "</ul>";
    }
    out + "</section>\n"
}

fn section(section: &Section, charts: &mut Vec<serde_json::Value>) -> String {
    let mut out = format!(
        "<section id=\"{}\"><h2>{}</h2>",
        section.id,
        Xml(&section.title)
    );
    for block in &section.blocks {
        out += &self::block(block, charts);
    }
    out + "</section>\n"
}

fn block(block: &Block, charts: &mut Vec<serde_json::Value>) -> String {
    match block {
        Block::Text(text) => format!("<p>{}</p>", Xml(text)),
        Block::Facts(facts) => {
            let mut out = "<dl class=\"facts\">".to_owned();
            for (name, value) in facts {
                out += &format!("<dt>{}</dt><dd>{}</dd>", Xml(name), Xml(value));
            }
            out + "</dl>"
        }
        Block::Table(table) => self::table(table),
        Block::Items(items) => {
            let mut out = "<ul class=\"items\">".to_owned();
            for item in items {
                // The marks are ours: `pass`, `fail`, `observed`.
                let mark = item.mark.to_lowercase();
                let class: String = mark.matches(char::is_alphabetic).collect();
                let (mark, text) = (Xml(&item.mark), Xml(&item.text));
                out += &format!("<li><span class=\"s {class}\">{mark}</span>{text}");
                for more in &item.more {
                    out += &match more {
                        More::Said(said) | More::Aside(said) => format!("<p>{}</p>", Xml(said)),
                        More::Verbatim(lines) => format!("<pre>{}</pre>", Xml(lines)),
                    };
                }
                out += "</li>";
            }
            out + "</ul>"
        }
        Block::Part(title, blocks) => {
            let inside = blocks.iter().map(|inside| self::block(inside, charts));
            let inside: String = inside.collect();
            format!("<h3>{}</h3>{inside}", Xml(title))
        }
        Block::Fold(title, blocks) => {
            let mut out = format!("<details class=\"fold\"><summary>{}</summary>", Xml(title));
            for inside in blocks {
                out += &self::block(inside, charts);
            }
            out + "</details>"
        }
        Block::Drawing(drawing, table) => figure(drawing, table.as_ref(), charts),
    }
}

fn figure(drawing: &Drawing, table: Option<&Table>, charts: &mut Vec<serde_json::Value>) -> String {
    let heat = matches!(drawing, Drawing::Heat(_));
    let chart = match heat {
        true => String::new(),
        false => format!(" data-chart=\"{}\"", charts.len()),
    };
    let mut out = format!(
        "<figure id=\"{}\"{chart}><figcaption><h3>{}</h3><p class=\"note\">{}</p>",
        drawing.id(),
        Xml(drawing.title()),
        Xml(drawing.note())
    );
    for warning in drawing.warnings() {
        out += &format!("<p class=\"warn\">{}</p>", Xml(&warning));
    }
    out += "</figcaption>";
    if !heat {
        out += "<div class=\"tools\"></div>";
    }
    out += "<div class=\"plot\">";
    out += &match drawing {
        Drawing::Heat(heat) => matrix(heat),
        Drawing::Chart(chart) => still(chart),
        Drawing::Distribution(distribution) => still(&distribution.chart(View::Histogram)),
    };
    out += "</div>";
    if !heat {
        out += "<div class=\"keylist\"></div>";
        out += "<details class=\"data\"><summary>Drawn values as a table</summary></details>";
        charts.push(data::drawing(drawing));
    }
    match table {
        Some(table) => out += &self::table(table),
        None if heat => {
            if let Drawing::Heat(heat) = drawing {
                out += &self::table(&heat_table(heat));
            }
        }
        None => {}
    }
    out + "</figure>"
}

/// The drawing that stays where no script runs.
fn still(chart: &crate::chart::Chart) -> String {
    let shown = chart.series.iter().filter(|s| s.shown).count();
    let bars = chart.series.iter().filter(|s| s.shape == Shape::Bars);
    let bars: usize = bars.map(|s| s.points.len()).sum();
    if shown > STATIC || bars > STATIC_BARS {
        return "<noscript>This chart needs the script of the page; punctual report --svg writes it as a file.</noscript>".to_owned();
    }
    inline(&svg::chart(chart))
}

/// A drawing for the page: colours and clips of a file would reach beyond it.
fn inline(file: &str) -> String {
    let style = file.find("<style>").zip(file.find("</style>"));
    let (from, to) = style.unwrap_or((0, 0));
    let mut out = file.get(..from).unwrap_or_default().to_owned();
    let end = if to > 0 { to + "</style>".len() } else { 0 };
    out += file.get(end..).unwrap_or_default();
    let ground = "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>";
    format!(
        "<noscript>{}</noscript>",
        out.replacen(ground, "", 1).trim_end()
    )
}

/// A matrix: it needs no script.
fn matrix(heat: &crate::chart::Heat) -> String {
    let values = heat.cells.iter().map(|c| c.value);
    let (least, most) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| {
        (low.min(v), high.max(v))
    });
    let left = 110.0;
    let width = (640.0 / heat.columns.len().max(1) as f64).min(150.0);
    let height = 40.0;
    let size = (
        left + width * heat.columns.len() as f64 + 4.0,
        28.0 + height * heat.rows.len() as f64,
    );
    let mut out = format!(
        "<svg viewBox=\"0 0 {:.0} {:.0}\" style=\"max-width:{:.0}px\" role=\"img\" aria-label=\"{}: {} down, {} across; the values are in the table\">",
        size.0,
        size.1,
        size.0,
        Xml(&heat.title),
        Xml(&heat.y_label),
        Xml(&heat.x_label)
    );
    // Writing to a string cannot fail.
    for (n, name) in heat.columns.iter().enumerate() {
        let x = left + width * (n as f64 + 0.5);
        let _written = write!(
            out,
            "<text x=\"{x:.1}\" y=\"16\" text-anchor=\"middle\">{}</text>",
            Xml(name)
        );
    }
    for (n, name) in heat.rows.iter().enumerate() {
        let y = 28.0 + height * (n as f64 + 0.5);
        let _written = write!(
            out,
            "<text x=\"{:.1}\" y=\"{y:.1}\" text-anchor=\"end\">{}</text>",
            left - 10.0,
            Xml(name)
        );
    }
    for cell in &heat.cells {
        let share = if most > least {
            (cell.value - least) / (most - least)
        } else {
            0.5
        };
        let (x, y) = (
            left + width * cell.column as f64,
            24.0 + height * cell.row as f64,
        );
        let _written = write!(
            out,
            "<rect class=\"cell\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill-opacity=\"{:.2}\"><title>{}: n = {}</title></rect>\
             <text class=\"cv\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            width - 3.0,
            height - 3.0,
            0.08 + 0.42 * share,
            crate::number::digits(cell.value),
            cell.count,
            x + width / 2.0 - 1.5,
            y + height / 2.0 + 3.0,
            crate::number::digits(cell.value)
        );
    }
    out + "</svg>"
}

/// The values of a matrix as a table.
pub(crate) fn heat_table(heat: &crate::chart::Heat) -> Table {
    let value = format!("Value {}", heat.unit);
    let mut table = Table::new("Values", &["<From", "<To", &value, "Observations"]);
    for cell in &heat.cells {
        let name = |names: &[String], n: usize| names.get(n).cloned().unwrap_or_default();
        table.rows.push(vec![
            name(&heat.rows, cell.row),
            name(&heat.columns, cell.column),
            crate::number::digits(cell.value),
            cell.count.to_string(),
        ]);
    }
    table
}

fn table(table: &Table) -> String {
    let name: String = table
        .caption
        .chars()
        .take(40)
        .map(|c| {
            if c.is_ascii_alphanumeric() {
                c.to_ascii_lowercase()
            } else {
                '-'
            }
        })
        .collect();
    let caption = Xml(&table.caption);
    let wide = match table.columns.len() {
        0..=10 => "",
        _ => " wide",
    };
    let long = match table.rows.len() {
        0..=LONG => "",
        _ => " long",
    };
    let mut out = format!(
        "<div><div class=\"table{wide}{long}\" tabindex=\"0\" role=\"group\" aria-label=\"{caption}\"><table><caption><span>{caption}</span></caption><thead><tr>"
    );
    for column in &table.columns {
        let class = if column.figures { " class=\"f\"" } else { "" };
        out += &format!("<th scope=\"col\"{class}>{}</th>", Xml(&column.name));
    }
    out += "</tr></thead><tbody>";
    for row in &table.rows {
        out += "<tr>";
        for (cell, column) in row.iter().zip(&table.columns) {
            let class = cell_class(cell, column);
            // Writing to a string cannot fail.
            let _written = write!(out, "<td{class}>{}</td>", Xml(cell));
        }
        out += "</tr>";
    }
    out += "</tbody></table></div>";
    for note in &table.notes {
        out += &format!("<p class=\"notes\">{}</p>", Xml(note));
    }
    out + &format!(
        "<button type=\"button\" class=\"csv\" data-name=\"{name}\" aria-label=\"CSV of {caption}\" hidden>CSV</button></div>"
    )
}

fn cell_class(cell: &str, column: &Column) -> &'static str {
    match column.name.as_str() {
        "Valid" if !cell.starts_with("yes") => " class=\"no\"",
        _ if column.figures => " class=\"f\"",
        _ if cell.chars().count() > WORDS => " class=\"t\"",
        _ => "",
    }
}
