// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Latencies of several kinds.

use punctual_model::{Interval, Series};
use punctual_report::text;

use super::{common, irq};

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
    assert!(row.contains(&"18.43") && row.contains(&"22.11"), "{said}");
}
