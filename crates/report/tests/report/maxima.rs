// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The largest samples over time.

use punctual_model::Nanos;
use punctual_report::chart::{Chart, Drawing, Point, svg};
use punctual_report::document::{Document, Stretch};
use punctual_report::{html, markdown};

use super::{RunItem, data, document, invalid, item};

/// A run whose second second had a stall, and which no wake-up was in for a while after.
fn stalled() -> RunItem {
    let mut item = item(1, 1);
    let stretch = |from, until, max_ns| Stretch {
        from: Nanos::from_millis(from),
        until: Nanos::from_millis(until),
        max_ns,
    };
    item.maxima[0].stretches = vec![
        stretch(0, 1_000, 5_000),
        stretch(1_000, 2_000, 25_000_000),
        stretch(3_000, 3_400, 7_000),
    ];
    item
}

pub(crate) fn maxima(document: &Document) -> Chart {
    let drawings = document.drawings().into_iter();
    let mut charts = drawings.filter_map(|drawing| match drawing {
        Drawing::Chart(chart) if chart.id.ends_with("-maxima") => Some(chart.clone()),
        _ => None,
    });
    charts.next_back().unwrap()
}

#[test]
fn the_largest_sample_is_drawn_over_the_time_in_which_it_was_taken() {
    let document = document(vec![stalled()]);
    let chart = maxima(&document);
    let points = |points: &[Point]| -> Vec<(f64, Option<f64>)> {
        let height = |y: f64| y.is_finite().then_some(y);
        points.iter().map(|p| (p.x, height(p.y))).collect()
    };
    let levels = [
        (0.0, Some(5.0)),
        (1.0, Some(25_000.0)),
        (2.0, None),
        (3.0, Some(7.0)),
        (3.4, None),
    ];
    assert_eq!(points(&chart.series[0].points), levels);
    // The pen is lifted where nothing was measured, and the last part of a second is drawn.
    let file = svg::chart(&chart);
    let (_, path) = file.split_once("stroke-width=\"1.4\" d=\"").unwrap();
    let path = path.split('"').next().unwrap();
    assert_eq!(path.matches('M').count(), 2, "{path}");
    assert!(path.ends_with(|c: char| c.is_ascii_digit()) && path.rfind('H') > path.rfind('V'));
    let drawn = data(&html::page(&document));
    let of = drawn.as_array().unwrap().iter();
    let of = of.filter(|c| c["id"] == "wakeup-maxima");
    let seen: Vec<serde_json::Value> = of.map(|c| c["s"][0]["p"].clone()).collect();
    assert_eq!(
        seen,
        [serde_json::json!([
            [0, 5],
            [1, 25_000],
            [2, null],
            [3, 7],
            [3.4, null]
        ])]
    );
    let text = markdown::page(&document);
    // 40 characters of 85 ms: the gap is a gap, and what came after it stands where it was.
    let line = format!(
        "{}{}{}{}",
        "▁".repeat(11),
        "█".repeat(13),
        " ".repeat(11),
        "▁".repeat(5)
    );
    let drawn = format!(
        "A character is 0.085 s wide: the largest value in it. A blank has none.\n\
         run-1, thread 0 on CPU 0: 5.0 .. 25000.0 µs\n{line}\n"
    );
    assert!(text.contains(&drawn), "{text}");
}

#[test]
fn a_gap_of_a_long_run_is_a_gap() {
    let mut item = item(1, 1);
    for stretch in &mut item.maxima[0].stretches[400..] {
        stretch.from = stretch.from + Nanos::from_secs(200);
        stretch.until = stretch.until + Nanos::from_secs(200);
    }
    let chart = maxima(&document(vec![item]));
    let ends: Vec<f64> = chart.series[0]
        .points
        .iter()
        .filter(|point| !point.y.is_finite())
        .map(|point| point.x)
        .collect();
    assert_eq!(ends, [400.0, 800.0]);
}

#[test]
fn a_line_of_nothing_but_gaps_is_as_short_as_others() {
    let mut item = item(1, 1);
    for (number, stretch) in (0..).zip(&mut item.maxima[0].stretches) {
        stretch.from = Nanos::from_secs(5 * number);
        stretch.until = Nanos::from_secs(5 * number + 1);
    }
    let chart = maxima(&document(vec![item]));
    let points = chart.series[0].points.len();
    assert!(points <= 2 * 240, "{points}");
}

#[test]
fn a_warning_names_each_run_once() {
    let runs = (1..=3).map(|number| invalid(item(number, 2)));
    let document = document(runs.collect());
    assert!(document.drawings().len() > 1);
    for drawing in document.drawings() {
        assert_eq!(drawing.warnings(), ["INVALID: run-1, run-2, run-3"]);
    }
}

#[test]
fn lines_of_characters_have_one_time_axis() {
    let mut item = item(1, 2);
    item.maxima[0].stretches.truncate(60);
    item.maxima[1].stretches.drain(..540);
    let text = markdown::page(&document(vec![item]));
    let drawn = |thread: &str| {
        let (_, after) = text.split_once(thread).unwrap();
        after.lines().nth(1).unwrap().to_owned()
    };
    assert_eq!(drawn("thread 0 on CPU 0: ").chars().count(), 4, "{text}");
    let late = drawn("thread 1 on CPU 1: ");
    assert_eq!(late.chars().count(), 40, "{text}");
    assert_eq!(late.trim_start().chars().count(), 4, "{text}");
}

#[test]
fn what_an_older_run_did_not_store_is_said() {
    let mut cut = stalled();
    cut.maxima[0].cut = Some(Nanos::from_millis(3_400));
    let note = maxima(&document(vec![cut])).note;
    assert!(note.contains("did not store"), "{note}");
    let note = maxima(&document(vec![stalled()])).note;
    assert!(!note.contains("did not store"), "{note}");
}

#[test]
fn many_threads_are_drawn_together_and_no_largest_sample_is_left_out() {
    let mut run = item(1, 30);
    run.maxima[29].stretches[7].max_ns = 9_000_000;
    run.record.total.max_ns = Some(9_000_000);
    let chart = maxima(&document(vec![run]));
    let shown: Vec<_> = chart.series.iter().filter(|s| s.shown).collect();
    let [all] = shown.as_slice() else {
        panic!("{shown:?}");
    };
    assert_eq!(all.name, "run-1, all threads");
    let heights = all.points.iter().map(|p| p.y).filter(|y| y.is_finite());
    assert_eq!(heights.fold(0.0, f64::max), 9_000.0);
}
