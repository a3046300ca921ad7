// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The pages. Every text from a run or a request goes through [`escaped`].

use punctual_model::{RunListEntry, RunListFigures};

use crate::http::Request;

const STYLE: &str = "body{font:15px/1.4 system-ui,sans-serif;margin:1rem auto;max-width:80rem;padding:0 1rem;\
    color-scheme:light dark}table{border-collapse:collapse;width:100%}th,td{padding:.2rem .5rem;text-align:left;\
    border-bottom:1px solid #8886;white-space:nowrap}.n{text-align:right;font-variant-numeric:tabular-nums}\
    pre{overflow-x:auto}.bad{color:#c00;font-weight:bold}.wide{overflow-x:auto}input,select{font:inherit}\
    label{margin-right:1rem}";

/// Makes a text harmless in HTML, in an element and in a quoted attribute.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // They would turn the direction of what follows.
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => out.push('\u{fffd}'),
            c if c.is_control() && c != '\n' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

fn page(title: &str, body: &str) -> String {
    let title = escaped(title);
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <link rel=\"icon\" href=\"data:,\"><title>{title} - Punctual</title><style>{STYLE}</style></head>\n<body>\
         <p><a href=\"/\">All runs</a></p><h1>{title}</h1>\n{body}</body></html>\n"
    )
}

/// A page that says why there is no other.
pub(super) fn error(why: &str) -> String {
    page(
        "No answer",
        &format!("<p class=\"bad\">{}</p>", escaped(why)),
    )
}

/// The page to choose runs on.
pub(super) fn list(request: &Request, runs: &[RunListEntry]) -> String {
    let field = |name: &str, hint: &str| {
        format!(
            "<label>{name} <input name=\"{name}\" value=\"{}\" placeholder=\"{hint}\"></label>",
            escaped(request.value(name).unwrap_or_default())
        )
    };
    let valid = |value: &str, text: &str| {
        let chosen = request.value("valid").unwrap_or_default() == value;
        let selected = if chosen { " selected" } else { "" };
        format!("<option value=\"{value}\"{selected}>{text}</option>")
    };
    let filter = format!(
        "<form method=\"get\" action=\"/\"><p>{}{}{}{}{}<label>valid <select name=\"valid\">{}{}{}</select></label>\
         <button>Filter</button></p></form>",
        field("host", "its name"),
        field("kernel", "6.1.0-49-amd64"),
        field("tag", "KEY=VALUE"),
        field("name", "of the run"),
        field("instrument", "wakeup"),
        valid("", "all"),
        valid("yes", "valid"),
        valid("no", "invalid"),
    );
    let rows: String = runs.iter().map(row).collect();
    let body = format!(
        "{filter}<form method=\"get\"><p>{} runs. A and B choose runs for <button formaction=\"/compare\">Compare A with B\
         </button> <label><input type=\"checkbox\" name=\"invalid\" value=\"allow\"> invalid runs too</label> \
         <button formaction=\"/overlay\">Overlay</button></p><div class=\"wide\"><table><thead><tr>\
         <th>A</th><th>B</th><th>Run</th><th>Started</th><th>Name</th><th>Instrument</th><th>Host</th><th>Kernel</th>\
         <th>Tags</th><th class=\"n\">Samples</th><th class=\"n\">p50, \u{b5}s</th><th class=\"n\">p99, \u{b5}s</th>\
         <th class=\"n\">max, \u{b5}s</th><th>Valid</th></tr></thead><tbody>\n{rows}</tbody></table></div></form>",
        runs.len()
    );
    page("Runs", &body)
}

fn row(run: &RunListEntry) -> String {
    let id = escaped(&run.id);
    let short: String = run
        .id
        .chars()
        .rev()
        .take(8)
        .collect::<Vec<_>>()
        .into_iter()
        .rev()
        .collect();
    let short = escaped(&short);
    let choose = |group: &str| {
        let label = format!("run {short} in group {}", group.to_uppercase());
        format!(
            "<td><input type=\"checkbox\" name=\"{group}\" value=\"{id}\" aria-label=\"{label}\"></td>"
        )
    };
    let link = format!("<td><a href=\"/run/{id}\">{short}</a></td>");
    let Some(f) = &run.figures else {
        let why = escaped(run.unreadable.as_deref().unwrap_or("cannot be read"));
        return format!(
            "<tr><td></td><td></td>{link}<td colspan=\"11\" class=\"bad\">{why}</td></tr>\n"
        );
    };
    format!(
        "<tr>{}{}{link}{}</tr>\n",
        choose("a"),
        choose("b"),
        cells(f)
    )
}

fn cells(f: &RunListFigures) -> String {
    let text =
        |text: &Option<String>| format!("<td>{}</td>", escaped(text.as_deref().unwrap_or("-")));
    let number = |text: String| format!("<td class=\"n\">{text}</td>");
    let tags: Vec<String> = f
        .tags
        .iter()
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    let valid = match f.valid {
        true => "<td>yes</td>",
        false => "<td class=\"bad\">INVALID</td>",
    };
    [
        text(&f.started),
        text(&f.name),
        text(&Some(f.instrument.clone())),
        text(&f.host),
        text(&f.kernel),
        text(&Some(tags.join(" "))),
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
    }
}
