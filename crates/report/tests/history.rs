// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Histories as text.
#![expect(clippy::unwrap_used, reason = "test helpers")]

use punctual_model::History;
use punctual_report::chart::Drawing;
use punctual_report::document::{Document, Material};
use punctual_report::text::{Detail, page};
use serde_json::{Value, json};

fn line(name: &str, series: &[Value]) -> Value {
    let run = |n: u32| json!({ "id": format!("{name}-{n}"), "name": null, "started": null, "valid": true });
    json!({ "name": name, "runs": (0..12).map(run).collect::<Vec<_>>(), "series": series })
}

fn series(figure: &str, verdict: &str) -> Value {
    json!({
        "figure": figure, "unit": "ns", "better": "lower", "scale": "log", "verdict": verdict, "values": vec![1.0; 12],
        "changes": [], "segments": [], "deviation": null, "deviation_interval": null, "freedom": null, "correlation": 0.0,
        "p": null, "newest_p": null,
    })
}

fn document(lines: &[Value]) -> Document {
    of(history(lines))
}

fn history(lines: &[Value]) -> History {
    serde_json::from_value(json!({
        "format": "punctual.history/1",
        "method": {
            "by": "run", "level": 0.05, "series": 2, "look_level": 0.001, "recent": 10, "confidence": 0.95, "draws": 1,
            "seed": 1,
        },
        "lines": lines,
        "missing": [],
        "refused": [],
    }))
    .unwrap()
}

fn of(history: History) -> Document {
    Document::new(&Material {
        histories: vec![history],
        ..Material::default()
    })
}

fn written(lines: &[Value]) -> String {
    page(&document(lines), 80, Detail::Summary)
}

#[test]
fn runs_without_a_figure_that_was_asked_for_have_no_table() {
    let text = written(&[
        line("pi", &[]),
        line("bench", &[series("p99", "no_change")]),
    ]);
    assert!(
        text.contains("None of these runs has a figure that was asked for."),
        "{text}"
    );
}

#[test]
fn only_runs_that_were_judged_are_without_a_change() {
    let judged = line("bench", &[series("p99", "no_change")]);
    let short = line("other", &[series("p99", "too_few_runs")]);
    let text = written(&[judged, short]);
    assert!(
        text.starts_with("No change was found in 1 series of 12 runs."),
        "{text}"
    );
}

#[test]
fn a_chart_of_too_few_runs_does_not_say_that_no_change_was_found() {
    let document = document(&[line(
        "bench",
        &[series("p99", "no_change"), series("max", "too_few_runs")],
    )]);
    let notes = document
        .drawings()
        .into_iter()
        .map(|drawing| match drawing {
            Drawing::Chart(chart) => chart.note.clone(),
            other => panic!("{other:?}"),
        });
    let notes: Vec<String> = notes.collect();
    assert!(notes[0].ends_with("No change was found."), "{notes:?}");
    assert!(notes[1].ends_with("No change was looked for."), "{notes:?}");
}

#[test]
fn an_invalid_run_is_marked_as_that_beside_imported_ones() {
    let mut failed = line("own", &[series("p99", "no_change")]);
    failed["runs"][3]["valid"] = json!(false);
    let mut imported = line("theirs", &[series("p99", "no_change")]);
    for run in imported["runs"].as_array_mut().unwrap() {
        run["valid"] = json!(false);
        run["imported"] = json!(true);
    }
    let document = document(&[failed, imported]);
    let warnings = document.drawings().into_iter().map(Drawing::warnings);
    let warnings: Vec<Vec<String>> = warnings.collect();
    assert_eq!(warnings, [["INVALID: runs"], ["not checked: runs"]]);
    // As an older program wrote it.
    let mut old = line("old", &[series("p99", "no_change")]);
    for run in old["runs"].as_array_mut().unwrap() {
        run["valid"] = json!(false);
    }
    let mut old = history(&[old]);
    old.remarks = vec![punctual_model::Finding::observed(
        "imported",
        "12 of 12 runs were imported",
    )];
    let old = of(old);
    let warnings = old.drawings().into_iter().map(Drawing::warnings);
    assert_eq!(warnings.collect::<Vec<_>>(), [["not checked: runs"]]);
    let text = page(&document, 80, Detail::Summary);
    assert!(
        text.contains("1 run not valid") && text.contains("12 runs not checked"),
        "{text}"
    );
}
