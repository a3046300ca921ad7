// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `measure ipc`: every way has its samples, on one CPU and across two.

use serde_json::Value;

use crate::common::{Home, machine};

fn contexts(record: &Value) -> Vec<String> {
    let series = record["series"].as_array().unwrap();
    let name = |s: &Value| s["context"].as_str().unwrap().to_owned();
    series.iter().map(name).collect()
}

fn cpus() -> usize {
    punctual_sys::sched::affinity().unwrap().len()
}

#[test]
fn each_way_wakes_on_one_cpu_and_across_two_without_privilege() {
    let home = Home::new();
    let record = home
        .run([
            "measure",
            "ipc",
            "--priority=o",
            "--dma-latency=off",
            "--mlock=off",
            "--duration=3s",
            "--interval=5ms",
            "--quiet",
            "--json",
        ])
        .json();
    let missing: Vec<&str> = record["findings"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|finding| finding["id"] == "way-missing")
        .map(|finding| finding["detail"].as_str().unwrap())
        .collect();
    let ways = [
        "futex", "pipe", "eventfd", "mqueue", "signal", "condvar", "pi-mutex",
    ];
    let placements: &[&str] = if cpus() > 1 {
        &["same", "cross"]
    } else {
        &["same"]
    };
    let expected: Vec<String> = ways
        .iter()
        .filter(|way| !missing.iter().any(|text| text.starts_with(**way)))
        .flat_map(|way| placements.iter().map(move |place| format!("{way}-{place}")))
        .collect();
    assert_eq!(contexts(&record), expected, "{missing:?}");
    // Turns of 21 intervals: each pair has at least one in three seconds. One that a stall leaves without a sample makes the
    // run invalid.
    let checks = record["checks"].as_array().unwrap();
    let samples = checks.iter().find(|check| check["id"] == "samples");
    let complete = samples.unwrap()["status"] == "pass";
    assert!(complete || record["valid"] == false, "{record:#}");
    for series in record["series"].as_array().unwrap() {
        let count = |key: &str| series[key].as_u64().unwrap();
        assert!(count("count") > 0 || !complete, "{series:#}");
        assert_eq!((count("lost"), count("clamped")), (0, 0));
    }
    let sum: u64 = record["series"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| s["count"].as_u64().unwrap())
        .sum();
    assert_eq!(record["total"]["count"], sum);
    // Whoever watches the run sees what it misses: the last that was told is what the run has.
    let events = home.run(["runs", "export", "last", "--format=json", "--data=events"]);
    let told: Vec<Value> = events
        .fine()
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let told = told.iter().rfind(|event| event["event"] == "progress");
    let overruns = |of: &Value| -> Vec<Value> {
        let series = of["series"].as_array().unwrap();
        series.iter().map(|s| s["overruns"].clone()).collect()
    };
    assert_eq!(overruns(told.unwrap()), overruns(&record));
    // Of different ways together there is no distribution.
    assert!(record["total"]["mean_ns"].is_null());
    let clock = record["checks"].as_array().unwrap().iter();
    let clock: Vec<&Value> = clock.filter(|check| check["id"] == "one-clock").collect();
    assert_eq!(clock[0]["status"], "pass", "{clock:?}");
}

#[test]
fn what_is_asked_for_is_measured_and_shown() {
    let home = Home::new();
    let run = [
        "measure",
        "ipc",
        "--path=pipe,futex",
        "--placement=same",
        "--priority=o",
        "--dma-latency=off",
        "--duration=1s",
        "--interval=5ms",
        "--quiet",
    ];
    let text = home.run(run).stdout;
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "futex-same",
        "pipe-same",
        "placement same",
        "path futex,pipe",
    ] {
        assert!(text.contains(part), "`{part}` is not in {text}");
    }
    assert!(!text.contains("cross"));
    let csv = [
        "runs",
        "export",
        "last",
        "--format=csv",
        "--data=distribution",
        "--bin=1us",
    ];
    let csv = home.run(csv);
    let rows: Vec<&str> = csv.fine().stdout.lines().collect();
    assert!(rows[0].starts_with("thread,context,from_ns,to_ns,count"));
    assert!(
        rows.iter()
            .any(|row| row.starts_with("1,pipe-same,") && row.ends_with(",1"))
    );
}

#[test]
fn an_interrupted_run_ends_soon_whatever_its_receivers_wait_for() {
    let home = Home::new();
    let mut run = home.start([
        "measure",
        "ipc",
        "--priority=o",
        "--duration=1h",
        "--quiet",
        "--json",
    ]);
    let pid = run.id();
    let there = crate::common::wait_until(|| {
        assert!(run.is_alive());
        machine::threads(pid)
            .iter()
            .any(|t| t.name.starts_with("ipc/"))
    });
    assert!(there);
    std::thread::sleep(std::time::Duration::from_millis(200));
    run.signal("INT");
    let answer = run.wait();
    // It may have stopped before every pair had a turn, which is no valid run.
    assert!([0, 1].contains(&answer.code()), "{answer:#?}");
    assert_eq!(answer.json()["ended"], "interrupted");
}

#[test]
fn contradictions_are_refused_before_anything_starts() {
    let home = Home::new();
    let refuse = |args: &[&str], parts: &[&str]| {
        let base = ["measure", "ipc"];
        home.run(base.iter().chain(args)).error(2, parts);
    };
    refuse(&["--path", "telepathy"], &["telepathy", "--path"]);
    refuse(
        &["--priority", "f:1"],
        &["--priority f:1", "one priority below"],
    );
    refuse(&["--interval", "1us"], &["10us"]);
    refuse(&["--duration", "1us"], &["--duration", "no sample"]);
    refuse(
        &["--duration", "500ms"],
        &["--duration 500 ms", "too short for the turns of"],
    );
    refuse(&["--receiver", "1000"], &["--receiver", "1000"]);
    refuse(
        &["--sender", "0", "--receiver", "0", "--placement", "cross"],
        &["--placement cross", "both be on CPU 0"],
    );
}
