// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Against programs that nobody here wrote, and that know themselves when they ran.

use std::fs;

use serde_json::Value;

use crate::common::{Home, finish, machine};

/// A cycle as `cycles.csv` has it.
struct Row {
    latency_us: f64,
    response_us: f64,
}

/// Returns the cycles of the thread `name`, in order.
fn cycles(home: &Home, record: &Value, name: &str) -> Vec<Row> {
    let threads = record["watched"]["threads"].as_array().unwrap();
    let thread = threads.iter().filter(|t| t["name"] == name);
    let thread = thread.max_by_key(|t| t["cycles"].as_u64()).unwrap();
    let path = home
        .runs_dir()
        .join(record["id"].as_str().unwrap())
        .join("cycles.csv");
    let text = machine::read(&path).unwrap();
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let column = |name: &str| names.iter().position(|n| *n == name).unwrap();
    let (tid, response) = (column("tid"), column("response_ns"));
    let (timer, wakeup) = (
        column("timer_ns"),
        column("wake-up_ns".replace('-', "_").as_str()),
    );
    let rows = lines.map(|line| {
        line.split(',')
            .map(|n| n.parse::<f64>().unwrap())
            .collect::<Vec<_>>()
    });
    rows.filter(|row| row[tid] == thread["tid"].as_f64().unwrap())
        .map(|row| Row {
            latency_us: (row[timer] + row[wakeup]) / 1e3,
            response_us: row[response] / 1e3,
        })
        .collect()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Compares what was seen with what a program says itself, cycle for cycle: half are within 4 µs, one for the whole
/// microseconds that programs write, and nine in ten within 10. What comes between the kernel's event and the program's own
/// reading of the clock on a busy machine is in the rest.
fn assert_alike(ours: &[f64], theirs: &[f64]) {
    let off: Vec<f64> = ours
        .iter()
        .zip(theirs)
        .map(|(a, b)| (a - b).abs())
        .collect();
    let near = off.iter().filter(|off| **off <= 10.0).count();
    assert!(
        10 * near >= 9 * off.len(),
        "{near} of {} within 10 µs",
        off.len()
    );
    assert!(median(off) <= 4.0);
    // The latest wake-ups are the same ones: those of the largest hundredth of the one are large in the other.
    let nth = |values: &[f64], share: usize| {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        sorted[sorted.len() - 1 - sorted.len() / share]
    };
    let (late, usual) = (nth(ours, 100), nth(theirs, 2));
    let pairs = ours.iter().zip(theirs).filter(|(a, _)| **a > late);
    let (all, large) = pairs.fold((0, 0), |(all, large), (_, b)| {
        (all + 1, large + u32::from(*b >= usual))
    });
    assert!(2 * large >= all, "{large} of the {all} latest");
}

#[test]
fn rt_app_says_the_same_of_its_cycles() {
    if !machine::root() || !machine::has_tool("rt-app") {
        return machine::skip("rt-app", "not installed, or no root");
    }
    let home = Home::alone();
    let json = home.dir().join("loop.json");
    let config = serde_json::json!({
        "tasks": {"loop": {"policy": "SCHED_FIFO", "priority": 80, "loop": -1, "run": 200,
                           "timer": {"ref": "unique", "period": 2000}}},
        "global": {"duration": 3, "calibration": 50, "default_policy": "SCHED_OTHER", "lock_pages": true,
                   "logdir": home.dir(), "log_basename": "loop", "gnuplot": false},
    });
    fs::write(&json, config.to_string()).unwrap();
    let mut command = home.command(["watch", "--raw", "--quiet", "--json", "--", "rt-app"]);
    command.arg(&json);
    let record = finish(command).record();
    let ours = cycles(&home, &record, "loop");
    let log = machine::read(&home.dir().join("loop-loop-0.log")).unwrap();
    let log = log.lines().filter(|line| !line.starts_with('#'));
    let log: Vec<Vec<f64>> = log
        .map(|line| {
            line.split_whitespace()
                .map(|n| n.parse().unwrap())
                .collect()
        })
        .collect();
    // It logs a cycle when it has waited for the next one: what it says of its last wait is of a cycle that had no end.
    assert!(
        log.len().abs_diff(ours.len()) <= 1,
        "{} {}",
        log.len(),
        ours.len()
    );
    let latency: Vec<f64> = ours.iter().map(|row| row.latency_us).collect();
    let theirs: Vec<f64> = log
        .iter()
        .map(|line| line[10])
        .take(latency.len())
        .collect();
    assert_alike(&latency, &theirs);
    // The time that it had left when it went to sleep: of the period all but the response. The first line is of the cycle before ours.
    let response: Vec<f64> = ours.iter().map(|row| row.response_us).collect();
    let theirs: Vec<f64> = log.iter().skip(1).map(|line| 2_000.0 - line[7]).collect();
    assert_alike(&response, &theirs);
    let thread = &record["watched"]["threads"]
        .as_array()
        .unwrap()
        .iter()
        .find(|t| t["name"] == "loop");
    assert_eq!(thread.unwrap()["period_ns"], 2_000_000);
}

#[test]
fn cyclictest_says_the_same_of_its_wake_ups() {
    if !machine::root() || !machine::has_tool("cyclictest") {
        return machine::skip("cyclictest", "not installed, or no root");
    }
    let home = Home::alone();
    let args = "watch --raw --quiet --json -- cyclictest -v -t1 -p80 -i2000 -l1000 -m";
    let answer = finish(home.command(args.split(' ')));
    let record = answer.record();
    let ours = cycles(&home, &record, "cyclictest");
    // thread:cycle:latency; the output of the program is on our standard error.
    let theirs: Vec<f64> = answer
        .stderr
        .lines()
        .filter_map(|line| {
            let (thread, rest) = line.trim().split_once(':')?;
            let (cycle, latency) = rest.split_once(':')?;
            (thread.trim() == "0" && cycle.trim().parse::<u64>().is_ok())
                .then(|| latency.trim().parse().ok())?
        })
        .collect();
    assert_eq!(theirs.len(), 1_000);
    assert_eq!(ours.len(), 999, "the last wake-up has no wait after it");
    let latency: Vec<f64> = ours.iter().map(|row| row.latency_us).collect();
    let theirs = &theirs[..latency.len()];
    assert_alike(&latency, theirs);
}
