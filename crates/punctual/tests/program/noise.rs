// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `measure noise`: gaps, rates, and the kernel's counts beside them.

use serde_json::Value;

use crate::common::{Home, machine};

/// A short measurement that needs no privilege.
const QUICK: &str = "measure noise --quiet --json --dma-latency off --mlock off --duration 400ms";

fn quick(home: &Home, args: &str) -> Value {
    let line = format!("{QUICK} {args}");
    home.run(line.split_whitespace()).record()
}

fn figure(record: &Value, name: &str) -> Value {
    let figures = record["figures"].as_array().unwrap();
    let found = figures.iter().find(|f| f["name"] == name);
    found
        .unwrap_or_else(|| panic!("{name}: {figures:#?}"))
        .clone()
}

fn value(record: &Value, name: &str) -> f64 {
    figure(record, name)["value"].as_f64().unwrap()
}

#[test]
fn rates_and_shares_are_those_of_the_gaps() {
    let home = Home::new();
    // One CPU: with several there is a figure for each.
    let record = quick(&home, "--cpus 0");
    let gaps = figure(&record, "gaps_per_second");
    assert_eq!(gaps["count"], record["total"]["count"]);
    let watched = value(&record, "time_watched");
    assert!(watched >= 0.399, "{watched}");
    let expected = gaps["count"].as_f64().unwrap() / watched;
    assert!((gaps["value"].as_f64().unwrap() - expected).abs() < 1e-6 * expected.max(1.0));
    let mean = record["total"]["mean_ns"].as_f64().unwrap_or(0.0);
    let lost = mean * gaps["count"].as_f64().unwrap() / 1e9 / watched;
    let share = value(&record, "time_lost");
    assert!((share - lost).abs() < 1e-6 && share < 1.0, "{share} {lost}");
    let turn = value(&record, "loop_turn");
    assert!(turn > 0.0 && turn < 1_000_000.0, "{turn}");
    assert_eq!(record["series"][0]["interval_ns"], Value::Null);
    let ids: Vec<&str> = record["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| finding["id"].as_str().unwrap())
        .collect();
    assert!(
        ids.contains(&"noise-sources") && ids.contains(&"causes-of-single-gaps"),
        "{ids:?}"
    );
    assert!(ids.contains(&"smi-unknown") != has_smi(&record), "{ids:?}");
}

fn has_smi(record: &Value) -> bool {
    let figures = record["figures"].as_array().unwrap();
    figures.iter().any(|f| f["name"] == "smi")
}

#[test]
fn no_gap_is_a_result_and_not_the_end_of_gaps() {
    let home = Home::new();
    let record = quick(&home, "--threshold 1h --name quiet");
    assert_eq!(record["total"]["count"], 0);
    let checks = record["checks"].as_array().unwrap();
    let samples = checks.iter().find(|c| c["id"] == "samples").unwrap();
    assert_eq!(samples["status"], "pass");
    let interval = &figure(&record, "gaps_per_second")["interval"];
    // 40 bins are too few to know how gaps would come: no interval is claimed.
    assert_eq!(*interval, Value::Null);
    let shown = home.run(["runs", "show", "quiet"]);
    let text = shown.fine().stdout.split_whitespace();
    let text = text.collect::<Vec<_>>().join(" ");
    for part in [
        "Gaps in µs",
        "share of time lost",
        "observed noise-sources: CPU ",
    ] {
        assert!(text.contains(part), "`{part}` is not in {text}");
    }
    let longer = QUICK.replace("400ms", "1400ms");
    let line = format!("{longer} --threshold 1h");
    let record = home.run(line.split_whitespace()).record();
    let interval = &figure(&record, "gaps_per_second")["interval"];
    assert_eq!(interval["low"], 0.0);
    // -ln 0.025 gaps in the time that was watched.
    let expected = 3.688_879 / value(&record, "time_watched");
    assert!(
        (interval["high"].as_f64().unwrap() - expected).abs() < 0.001,
        "{interval}"
    );
}

#[test]
fn a_thread_that_shares_the_cpu_is_in_the_gaps_and_in_the_switches() {
    let home = Home::alone();
    let allowed = machine::status("/proc/self/status", "Cpus_allowed_list");
    let cpu = allowed.split(['-', ',']).next().unwrap();
    let record = quick(&home, &format!("--cpus {cpu} --load cpu:1@cpus={cpu}"));
    assert!(value(&record, "nonvoluntary_ctxt_switches") > 0.0);
    // Two that want all of it have half each, as far as the scheduler can tell.
    let lost = value(&record, "time_lost");
    assert!(lost > 0.1, "{lost}");
}

#[test]
fn a_part_of_each_period_is_watched() {
    let home = Home::new();
    let record = quick(&home, "--duty 25% --period 20ms");
    let watched = value(&record, "time_watched");
    // A stall makes the last turn of a window longer, and is in the gaps; without them it is a quarter of the time at most.
    let quiet = watched * (1.0 - value(&record, "time_lost"));
    assert!(watched > 0.0 && quiet < 0.11, "{watched} {quiet}");
    assert_eq!(record["setup"]["options"]["duty"], "25%");
    if machine::root() {
        let record = quick(&home, "--priority f:1");
        assert_eq!(record["setup"]["options"]["duty"], "75%");
    }
}

#[test]
fn a_wrong_option_is_named() {
    let home = Home::new();
    for (args, parts) in [
        (
            "--threshold 1ns",
            &["--threshold 1 ns", "one turn of the loop"][..],
        ),
        ("--threshold 0", &["--threshold", "at least 1ns"]),
        ("--duty 0%", &["--duty", "0.1% to 100%"]),
        ("--period 1us", &["--period", "at least 1ms"]),
        ("--duration 1ms", &["--duration", "at least 10ms"]),
        ("--cpus 99", &["--cpus 99", "not online"]),
    ] {
        let line = format!("measure noise --dma-latency off --mlock off {args}");
        home.run(line.split_whitespace()).error(2, parts);
    }
    assert!(home.list().is_empty());
}
