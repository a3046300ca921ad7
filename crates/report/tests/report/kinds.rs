// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Latencies of several kinds.

use punctual_model::{Interval, Series, Setup};
use punctual_report::chart::{Drawing, Validity};
use punctual_report::{html, text};

use super::{common, data, document, irq};

#[test]
fn samples_above_the_range_are_those_of_all_threads_where_the_record_has_them() {
    let mut item = irq();
    let all = item.record.series.clone().into_iter();
    item.record.series.extend(all.map(|series| Series {
        thread: None,
        ..series
    }));
    for series in &mut item.record.series {
        series.clamped = Some(if series.thread.is_none() { 6 } else { 3 });
    }
    let drawn = data(&html::page(&document(vec![item])));
    let drawn = drawn.as_array().unwrap().iter().find(|c| c["k"] == "dist");
    let series = drawn.unwrap()["s"].as_array().unwrap();
    for series in series {
        let clamped = if series["w"] == 1 { 6 } else { 3 };
        assert_eq!(series["c"], clamped, "{series}");
    }
}

#[test]
fn the_kind_that_the_total_is_of_has_its_figures_without_histograms() {
    let mut item = irq();
    item.record.series = (0..2)
        .flat_map(|thread| {
            ["delivery", "wake-up"].map(|context| Series {
                context: Some(context.to_owned()),
                ..common::series(thread)
            })
        })
        .collect();
    // As right after a measurement: of all threads together there is the record alone.
    item.parts.clear();
    item.record.total = Series {
        thread: None,
        context: Some("wake-up".to_owned()),
        count: 4_321,
        quantiles_ns: [("p50".to_owned(), Some(18_430))].into(),
        quantile_intervals_ns: [(
            "p50".to_owned(),
            Some(Interval {
                low: 16_192.0,
                high: 22_111.0,
                confidence: 0.95,
            }),
        )]
        .into(),
        ..common::series(0)
    };
    let said = text::run(item, 80, text::Detail::Summary);
    let (_, table) = said
        .split_once("of each kind, all threads together")
        .unwrap();
    let row = table
        .lines()
        .find(|line| line.trim_start().starts_with("wake-up"));
    let row: Vec<&str> = row.unwrap().split_whitespace().collect();
    assert_eq!(row[1], "4321", "{said}");
    // No kind has an interval of this one, and a column of dashes would push the others together.
    let head = table.lines().find(|line| line.contains("Samples"));
    assert!(head.unwrap().contains("p50 low .. high"), "{said}");
    assert!(!head.unwrap().contains("p99 low"), "{said}");
    assert!(row.contains(&"18.43") && row.contains(&"22.11"), "{said}");
}

#[test]
fn failures_of_each_run_are_drawn_as_valid_as_that_run_is() {
    let run = |name: &str| {
        let rate = super::estimate("misses_per_second", "1/s", 12.0).at("thread", 0);
        let mut item = super::figures("deadline", vec![rate]);
        item.record.name = Some(name.to_owned());
        item
    };
    let mut counted = run("in a guest");
    counted.record.guest = Some(super::counting());
    let document = super::document(vec![super::invalid(run("failed")), run("fine"), counted]);
    let drawings = document.drawings().into_iter();
    let mut charts = drawings.filter_map(|drawing| match drawing {
        Drawing::Chart(chart) if chart.id == "deadline-failures" => Some(chart),
        _ => None,
    });
    let series = &charts.next().unwrap().series;
    let drawn: Vec<_> = series
        .iter()
        .map(|of| {
            (
                of.validity,
                of.points.iter().map(|p| p.y).collect::<Vec<_>>(),
            )
        })
        .collect();
    assert_eq!(
        drawn,
        [
            (Validity::Invalid, vec![0.0]),
            (Validity::Valid, vec![1.0]),
            (Validity::Virtual, vec![2.0]),
        ]
    );
}

#[test]
fn deadline_misses_fit_into_80_columns_and_break_no_word() {
    let rate = super::estimate("misses_per_second", "1/s", 12.345).at("thread", 0);
    let share = super::estimate("missed_share", "1", 0.012_345).at("thread", 0);
    let deadline = super::estimate("deadline", "ns", 12_345_678.0).at("thread", 0);
    let mut item = super::figures("deadline", vec![rate, share, deadline]);
    item.record.name = Some("dl-fair-1".to_owned());
    item.record.setup = Some(Setup {
        cpus: "1".parse().unwrap(),
        priority: "f:80".parse().unwrap(),
        duration_ns: None,
        dma_latency_ns: None,
        mlock: true,
        housekeeping: "0".parse().unwrap(),
        loads: vec!["cpu:1@cpus=0".to_owned()],
        options: [("threads".to_owned(), "1".to_owned())].into(),
    });
    let said = text::run(item, 80, text::Detail::Full);
    let (_, table) = said
        .split_once("Failures of each real-time thread\n")
        .unwrap();
    let (table, _) = table.split_once("\n\n").unwrap();
    assert!(table.lines().all(|l| l.chars().count() <= 80), "{said}");
    for word in ["dl-fair-1", "cpu:1@cpus=0", "Failures/s", "Threads"] {
        assert!(table.contains(word), "{word}: {said}");
    }
}
