// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The pages that are no report. Every text from a run or a request goes through [`escaped`].

use punctual_model::{RunList, RunListEntry, RunListFigures};
use punctual_report::html::{escaped, plain_page};
use punctual_verdict::words::counted;

use super::order::{Key, Order};
use crate::http::Request;

/// A page that says why there is no other.
pub(super) fn error(why: &str) -> String {
    let body = format!(
        "<section class=\"answer bad\"><span class=\"word\">No answer</span><p class=\"sentence\">{}</p></section>",
        escaped(why)
    );
    plain_page("No answer", &body)
}

/// The page to choose runs on.
pub(super) fn list(request: &Request, order: Order, list: &RunList) -> String {
    let heads: String = COLUMNS
        .iter()
        .map(|column| column.head(request, order))
        .collect();
    let rows: String = list.runs.iter().map(row).collect();
    let body = format!(
        "{}<form method=\"get\"><div class=\"pick tools\">{} Tick runs for group A and group B, then \
         <button formaction=\"/compare\">Compare A with B</button><button formaction=\"/overlay\">Overlay</button>\
         <label><input type=\"checkbox\" name=\"invalid\" value=\"allow\"> invalid runs too</label></div>\
         <div class=\"table\"><table class=\"runs\"><thead><tr>{heads}</tr></thead><tbody>\n{rows}</tbody></table></div>\
         <p class=\"notes\">p50 and p99 stand here without their intervals; the page of a run has them.</p></form>",
        filter(request),
        shown(request, list)
    );
    plain_page("Runs", &body)
}

/// Says how many runs are listed, of how many, with a link to all of them.
fn shown(request: &Request, list: &RunList) -> String {
    let runs = list.runs.len();
    match list.total.filter(|total| *total > runs as u64) {
        None => format!("{}.", counted(runs as u64, "run")),
        Some(total) => format!(
            "{runs} of {total} runs. <a href=\"/?limit={total}{}\">Show all</a>.",
            kept(request, "limit")
        ),
    }
}

/// Writes what was asked for, but for `name`, as the rest of a link that says another.
fn kept(request: &Request, name: &str) -> String {
    let other = |asked: &str| asked != name && asked != "token";
    let kept: String = request
        .query
        .iter()
        .filter(|(name, value)| !value.is_empty() && other(name))
        .map(|(name, value)| format!("&{}={}", encoded(name), encoded(value)))
        .collect();
    escaped(&kept)
}

fn filter(request: &Request) -> String {
    let field = |name: &str, hint: &str| {
        format!(
            "<label class=\"field\">{name}<input name=\"{name}\" value=\"{}\" placeholder=\"{hint}\"></label>",
            escaped(request.value(name).unwrap_or_default())
        )
    };
    let valid = |value: &str, text: &str| {
        let chosen = request.value("valid").unwrap_or_default() == value;
        let selected = if chosen { " selected" } else { "" };
        format!("<option value=\"{value}\"{selected}>{text}</option>")
    };
    let sort = request.value("sort").map_or_else(String::new, |sort| {
        format!(
            "<input type=\"hidden\" name=\"sort\" value=\"{}\">",
            escaped(sort)
        )
    });
    format!(
        "<form class=\"pick\" method=\"get\" action=\"/\">{sort}{}{}{}{}{}<label class=\"field\">valid\
         <select name=\"valid\">{}{}{}</select></label><button>Filter</button></form>",
        field("name", "of the run"),
        field("instrument", "wakeup"),
        field("host", "its name"),
        field("kernel", "6.1.0-49-amd64"),
        field("tag", "KEY=VALUE"),
        valid("", "all"),
        valid("yes", "valid"),
        valid("no", "invalid"),
    )
}

/// A column: its heading, what it is sorted by, and whether its cells are numbers.
struct Column {
    text: &'static str,
    key: Option<Key>,
    is_number: bool,
}

const fn words(text: &'static str, key: Option<Key>) -> Column {
    Column {
        text,
        key,
        is_number: false,
    }
}

const fn number(text: &'static str, key: Key) -> Column {
    Column {
        text,
        key: Some(key),
        is_number: true,
    }
}

const COLUMNS: [Column; 11] = [
    words("A", None),
    words("B", None),
    words("Run", None),
    words("Started UTC", Some(Key::Started)),
    words("Name", Some(Key::Name)),
    words("Instrument", Some(Key::Instrument)),
    number("Samples", Key::Samples),
    number("p50 \u{b5}s", Key::P50),
    number("p99 \u{b5}s", Key::P99),
    number("Max \u{b5}s", Key::Max),
    words("Valid", Some(Key::Valid)),
];

impl Column {
    fn head(&self, request: &Request, order: Order) -> String {
        let class = if self.is_number { " class=\"f\"" } else { "" };
        let Some(key) = self.key else {
            return format!("<th{class}>{}</th>", self.text);
        };
        let (next, state, arrow) = match order {
            _ if order.key != key => (Order::first(key), "none", ""),
            Order { is_down: true, .. } => (order.turned(), "descending", " \u{25be}"),
            Order { .. } => (order.turned(), "ascending", " \u{25b4}"),
        };
        format!(
            "<th{class} aria-sort=\"{state}\"><a href=\"/?sort={next}{}\">{}{arrow}</a></th>",
            kept(request, "sort"),
            self.text
        )
    }
}

/// Writes a text as part of a query (RFC 3986, 2.3).
fn encoded(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
            char::from(byte).to_string()
        }
        byte => format!("%{byte:02X}"),
    };
    text.bytes().map(byte).collect()
}

fn row(run: &RunListEntry) -> String {
    let id = escaped(&run.id);
    let from = run.id.char_indices().rev().nth(7).map_or(0, |(at, _)| at);
    let short = escaped(run.id.get(from..).unwrap_or(&run.id));
    let choose = |group: &str| {
        let label = format!("run {short} in group {}", group.to_uppercase());
        format!(
            "<td><input type=\"checkbox\" name=\"{group}\" value=\"{id}\" aria-label=\"{label}\"></td>"
        )
    };
    let link = format!("<td><a href=\"/run/{id}\" title=\"{id}\">{short}</a></td>");
    match &run.figures {
        Some(f) => format!(
            "<tr>{}{}{link}{}</tr>\n",
            choose("a"),
            choose("b"),
            cells(f)
        ),
        None => format!(
            "<tr><td></td><td></td>{link}<td class=\"t no\" colspan=\"8\">{}</td></tr>\n",
            escaped(run.unreadable.as_deref().unwrap_or("cannot be read"))
        ),
    }
}

fn cells(f: &RunListFigures) -> String {
    let number = |text: String| format!("<td class=\"f\">{text}</td>");
    let started = f.started.as_deref().unwrap_or("-");
    let minute = started.get(..16).unwrap_or(started).replace('T', " ");
    let tags = f.tags.iter().map(|(key, value)| format!("{key}={value}"));
    let about: Vec<String> = [&f.host, &f.kernel]
        .into_iter()
        .flatten()
        .cloned()
        .chain(tags)
        .collect();
    let is_virtual = f.tags.get("time").is_some_and(|time| time == "virtual");
    let valid = match (f.valid, &f.imported_from) {
        (true, _) => "<td>yes</td>",
        (false, Some(_)) => "<td>imported</td>",
        (false, None) => "<td class=\"no\">INVALID</td>",
    };
    [
        format!(
            "<td title=\"{}\">{}</td>",
            escaped(started),
            escaped(&minute)
        ),
        format!(
            "<td class=\"t\">{}<span class=\"made\">{}</span></td>",
            escaped(f.name.as_deref().unwrap_or("-")),
            escaped(&about.join(" \u{b7} "))
        ),
        format!(
            "<td>{}{}</td>",
            escaped(&f.instrument),
            if is_virtual { " (virtual)" } else { "" }
        ),
        number(f.count.to_string()),
        number(micros(f.p50_ns)),
        number(micros(f.p99_ns)),
        number(micros(f.max_ns)),
        valid.to_owned(),
    ]
    .concat()
}

#[expect(clippy::cast_precision_loss, reason = "display only")]
fn micros(ns: Option<u64>) -> String {
    ns.map_or_else(|| "-".to_owned(), |ns| format!("{:.1}", ns as f64 / 1e3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_from_a_run_becomes_markup() {
        let text = escaped("<b onclick='x'>\"&\u{202e}\u{7}");
        assert_eq!(
            text,
            "&lt;b onclick=&#39;x&#39;&gt;&quot;&amp;\u{fffd}\u{fffd}"
        );
        let page = error("<script>alert(1)</script>");
        assert!(!page.contains("<script"), "{page}");
        assert_eq!(encoded("a b&c='\u{b5}"), "a%20b%26c%3D%27%C2%B5");
    }

    #[test]
    fn a_row_has_minutes_and_what_is_long_may_fold() {
        let figures = RunListFigures {
            started: Some("2026-11-22T10:35:48.123456789Z".to_owned()),
            name: Some("a long name of a run".to_owned()),
            host: Some("board".to_owned()),
            kernel: Some("6.12.9-rt8".to_owned()),
            count: 20,
            max_ns: Some(12_340),
            ..RunListFigures::default()
        };
        let cells = cells(&figures);
        assert!(cells.contains(">2026-11-22 10:35</td>"), "{cells}");
        assert!(
            cells.contains("<td class=\"t\">a long name of a run<span"),
            "{cells}"
        );
        assert!(cells.contains("board \u{b7} 6.12.9-rt8"), "{cells}");
        assert!(cells.contains("<td class=\"f\">12.3</td>"), "{cells}");
    }
}
