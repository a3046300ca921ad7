// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `measure release`: accuracy and what it costs, never under the name of a latency.

use crate::common::{Home, machine};

const QUICK: &str = "measure release --quiet --priority o --dma-latency off --mlock off";

#[test]
fn every_deadline_is_a_release_or_an_overrun_and_spinning_costs() {
    let home = Home::new();
    let allowed = machine::status("/proc/self/status", "Cpus_allowed_list");
    let cpu = allowed.split(['-', ',']).next().unwrap();
    // Spinning for half of the time costs, but for cycles that a stall leaves no time to spin.
    let args = format!("{QUICK} --json --cpus {cpu} --duration 200ms --interval 1ms --spin 500us");
    let record = home.run(args.split_whitespace()).record();
    let count = record["total"]["count"].as_u64().unwrap();
    let overruns = record["total"]["overruns"].as_u64().unwrap();
    assert_eq!(count + overruns, 200);
    let figures = record["figures"].as_array().unwrap();
    let cost = figures
        .iter()
        .find(|f| f["name"] == "cpu_time_per_cycle")
        .unwrap();
    assert!(cost["value"].as_f64().unwrap() > 0.0, "{cost}");
    assert_eq!(record["findings"][0]["id"], "release-cost");
}

#[test]
fn it_is_shown_as_lateness_of_releases() {
    let home = Home::new();
    let args = format!("{QUICK} --duration 50ms --name hybrid");
    let answer = home.run(args.split_whitespace());
    assert!(
        answer.stdout.contains("Release lateness in µs"),
        "{answer:#?}"
    );
    let shown = home.run(["runs", "show", "hybrid"]);
    for text in [&answer.stdout, &shown.fine().stdout] {
        for word in ["Latency in", "wake-up latency", "Wake-ups"] {
            assert!(!text.contains(word), "{word} in {text}");
        }
    }
}

#[test]
fn a_wrong_option_is_named() {
    let home = Home::new();
    for (args, parts) in [
        ("--spin 1ms --interval 1ms", &["--spin", "never sleeps"][..]),
        ("--interval 1ns", &["--interval", "at least 1us"]),
        ("--interval 1s --duration 1ms", &["--duration", "no sample"]),
        ("--spin=-1us", &["--spin", "negative"]),
    ] {
        let line = format!("{QUICK} {args}");
        home.run(line.split_whitespace()).error(2, parts);
    }
}
