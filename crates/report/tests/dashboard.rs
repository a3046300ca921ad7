// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The Grafana dashboard asks for metrics that exist.

use std::collections::BTreeSet;

use punctual_model::{Check, LatencyStep, LoadProgress, Progress, SeriesProgress};
use punctual_report::openmetrics::{Moment, page};

const DASHBOARD: &str = include_str!("../../../adapters/grafana/punctual.json");

fn names(text: &str) -> BTreeSet<&str> {
    let part = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
    let words = text
        .split(part)
        .filter(|word| word.starts_with("punctual_"));
    words.collect()
}

#[test]
fn every_metric_and_label_of_the_dashboard_exists() {
    let moment = Moment {
        progress: Some(Progress {
            series: vec![SeriesProgress {
                count: 6,
                mean_ns: Some(2_000.0),
                max_ns: Some(1),
                recent_max_ns: Some(1),
                p99_ns: Some(1),
                overruns: Some(0),
                lost: Some(0),
                steps: vec![LatencyStep {
                    to_ns: 511,
                    count: 6,
                }],
                ..SeriesProgress::default()
            }],
            loads: vec![LoadProgress::default()],
            checks: vec![Check::fail("pauses", "")],
            done: Some(0.5),
            ..Progress::default()
        }),
        overall: Some((3, 20)),
        ..Moment::default()
    };
    let page = page(&moment);
    let offered = names(&page);
    let dashboard: serde_json::Value = serde_json::from_str(DASHBOARD).unwrap();
    let mut asked = 0;
    for panel in dashboard["panels"].as_array().unwrap() {
        for target in panel["targets"].as_array().unwrap() {
            let expression = target["expr"].as_str().unwrap();
            for name in names(expression) {
                assert!(offered.contains(name), "{name} is not in\n{page}");
                asked += 1;
            }
            let legend = target["legendFormat"].as_str().unwrap();
            for label in legend
                .split("{{")
                .skip(1)
                .filter_map(|part| part.split("}}").next())
            {
                let own = format!("{label}=\"");
                assert!(label == "instance" || page.contains(&own), "{label}");
            }
        }
    }
    assert!(asked >= 8);
}
