// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Against programs that nobody here wrote, and that know themselves when they ran.

use std::fs;

use serde_json::Value;

use crate::common::{Home, finish, machine};

/// A cycle as `cycles.csv` has it.
pub(super) struct Row {
    pub(super) latency_us: f64,
    response_us: f64,
}

/// Returns the cycles of the thread `name`, in order.
pub(super) fn cycles(home: &Home, record: &Value, name: &str) -> Vec<Row> {
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

/// Compares what was seen with what a program says itself, cycle for cycle. It reads its clock after it got the CPU and
/// before it asks to wait, on any machine: each of its figures lies between `low` and `high` (but for a whole microsecond that
/// programs cut off, and the nanoseconds of ours). How near it lies to `near` depends on what comes between the kernel's event
/// and the reading, 2 to 3 µs on an idle machine; where a quarter of the cycles is within 10, nothing is off by more in all of them.
fn assert_alike(ours: &[Row], theirs: &[f64], near: fn(&Row) -> f64) {
    const CUT_OFF: f64 = 1.5;
    assert_eq!(ours.len(), theirs.len());
    for (at, (row, theirs)) in ours.iter().zip(theirs).enumerate() {
        let between = row.latency_us - CUT_OFF..=row.response_us + CUT_OFF;
        assert!(
            between.contains(theirs),
            "cycle {at}: {theirs} is not within {between:?}"
        );
    }
    let off = ours
        .iter()
        .zip(theirs)
        .map(|(row, b)| (near(row) - b).abs());
    let mut off: Vec<f64> = off.collect();
    off.sort_by(f64::total_cmp);
    assert!(off[off.len() / 4] <= 10.0, "{} µs", off[off.len() / 4]);
}

/// The library of C, as this process has it.
pub(super) fn libc() -> String {
    let maps = machine::read(std::path::Path::new("/proc/self/maps")).unwrap();
    let mut paths = maps
        .lines()
        .filter_map(|line| line.split_whitespace().nth(5));
    paths
        .find(|path| path.contains("/libc.so"))
        .unwrap()
        .to_owned()
}

#[test]
fn a_cycle_ends_at_the_function_that_was_named() {
    if !machine::root() || !machine::has_tool("cyclictest") {
        return machine::skip("cyclictest", "not installed, or no root");
    }
    let home = Home::alone();
    let at = format!("uprobe:{}:clock_nanosleep", libc());
    let mut command = home.command(["watch", "--quiet", "--json", "--cycle-at", &at, "--"]);
    command.args("cyclictest -q -t1 -p80 -i2000 -l300 -m".split(' '));
    let record = finish(command).record();
    let threads = record["watched"]["threads"].as_array().unwrap();
    let thread = threads.iter().find(|t| t["cycle_at"] == at.as_str());
    let thread = thread.unwrap_or_else(|| panic!("{threads:#?}"));
    assert_eq!(thread["period_ns"], 2_000_000);
    assert_eq!(
        thread["cycles"], 299,
        "the last wake-up has no wait after it"
    );
    assert_eq!(thread["timed_releases"], 299);
}

#[test]
fn a_cycle_without_a_sleep_is_one_where_the_function_that_ends_it_is_named() {
    if !machine::root() {
        return machine::skip("root", "no root");
    }
    let home = Home::alone();
    let at = format!("uprobe:{}:getpid", libc());
    let mut command = home.command(["watch", "--quiet", "--json", "--cycle-at", &at]);
    command.args(["--threads", "loop", "--"]);
    command
        .arg(super::late_loop())
        .args(["skipped-sleep", "400"]);
    let watched = finish(command);
    let said = watched.stderr.clone();
    let record = watched.record();
    let thread = &record["watched"]["threads"][0];
    let number = |value: &serde_json::Value| value.as_u64().unwrap();
    // Between the end of a cycle and its look at the clock a release may pass: then two cycles are one.
    let cycles = number(&thread["cycles"]);
    assert!((390..=399).contains(&cycles), "{cycles} cycles");
    let of = |word: &str| {
        let mut words = said.split_whitespace();
        words.find(|w| *w == word).unwrap();
        words.next().unwrap().parse::<u64>().unwrap()
    };
    // After some strikes the next cycle is late too, and does not wait.
    assert!(
        number(&thread["late"]["count"]).abs_diff(of("late")) <= 6,
        "{said} {thread:#}"
    );
    assert!(number(&thread["late"]["count"]) > of("strikes"), "{said}");
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
    // It logs a cycle when it has waited for the next one: what it says of its last wait is of a cycle that had no end. One
    // that begins late, with no wait before it (its latency is 0), is one with the cycle before it to the kernel, and takes
    // a period more.
    let mut latency = Vec::new();
    let mut response = Vec::new();
    let mut periods = 1.0;
    for line in &log {
        if line[10] == 0.0 {
            periods += 1.0;
            continue;
        }
        // The time that it had left when it went to sleep: of the period all but the response.
        response.push(2_000.0 * periods - line[7]);
        latency.push(line[10]);
        periods = 1.0;
    }
    assert!(
        latency.len().abs_diff(ours.len()) <= 1,
        "{} {}",
        latency.len(),
        ours.len()
    );
    let both = latency.len().min(ours.len());
    assert_alike(&ours[..both], &latency[..both], |row| row.latency_us);
    // The first line is of the cycle before ours.
    let response = &response[1..];
    // Where it wakes up later than a period, it counts from there and not from the release.
    let (ours, response): (Vec<Row>, Vec<f64>) = ours
        .into_iter()
        .zip(response)
        .filter(|(row, _)| row.latency_us < 2_000.0)
        .unzip();
    assert_alike(&ours, &response, |row| row.response_us);
    let thread = &record["watched"]["threads"]
        .as_array()
        .unwrap()
        .iter()
        .find(|t| t["name"] == "loop");
    assert_eq!(thread.unwrap()["period_ns"], 2_000_000);
}

/// Returns what `cyclictest -v` says of the wake-ups of its first thread, in µs. Its output is on our standard error.
pub(super) fn said_by_cyclictest(output: &str) -> Vec<f64> {
    // thread:cycle:latency
    let latencies = output.lines().filter_map(|line| {
        let (thread, rest) = line.trim().split_once(':')?;
        let (cycle, latency) = rest.split_once(':')?;
        (thread.trim() == "0" && cycle.trim().parse::<u64>().is_ok())
            .then(|| latency.trim().parse().ok())?
    });
    latencies.collect()
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
    let theirs = said_by_cyclictest(&answer.stderr);
    assert_eq!(theirs.len(), 1_000);
    assert_eq!(ours.len(), 999, "the last wake-up has no wait after it");
    assert_alike(&ours, &theirs[..ours.len()], |row| row.latency_us);
}
