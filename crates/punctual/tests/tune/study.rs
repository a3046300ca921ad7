// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Studies on this machine: killed in the middle, they leave it as it was, and go on.

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use serde_json::Value;

use crate::common::{Running, finish, wait_until};
use crate::live::{Live, assert_same};

/// Short enough for a test: what is tested is not latency.
const STUDIES: [(&str, &[&str]); 5] = [
    ("raju2015", &["time=200ms", "stall-time=200ms"]),
    ("wang2019", &["samples=100"]),
    (
        "anaya2018",
        &[
            "time=200ms",
            "runtimes=[\"950000\", \"900000\"]",
            "io-size=16M",
        ],
    ),
    (
        "vasyukov2018",
        &[
            "irq-time=1s",
            "series=2",
            "orders=100",
            "repeats=1",
            "size=1M",
            "time=200ms",
        ],
    ),
    ("bridgers2015", &["samples=200", "interval=1ms"]),
];

fn command(live: &Live, study: &str, parameters: &[&str]) -> std::process::Command {
    let mut command = live.program(["study", "run", study, "--quick", "--quiet", "--json"]);
    command.arg("--parameter=blocks=1").current_dir(live.dir());
    for parameter in parameters {
        command.arg(format!("--parameter={parameter}"));
    }
    command
}

/// Whether a run of any experiment has begun.
fn is_at_work(live: &Live) -> bool {
    let dirs = fs::read_dir(live.store().join("experiments"))
        .into_iter()
        .flatten();
    let begun = |dir: fs::DirEntry| {
        let log = fs::read(dir.path().join("log.jsonl"));
        log.is_ok_and(|log| String::from_utf8_lossy(&log).contains("begin"))
    };
    dirs.flatten().any(begun)
}

fn killed_and_gone_on_with(study: &str, parameters: &[&str]) {
    let Some(live) = Live::new() else { return };
    let before = live.dump();
    let running = Running::start(command(&live, study, parameters));
    assert!(wait_until(Duration::from_secs(30), || is_at_work(&live)));
    // Into the run, where it is tuned.
    std::thread::sleep(Duration::from_millis(300));
    running.signal("KILL");
    drop(running);
    // What the keeper has done meanwhile, revert has not to do.
    live.tune("revert");
    assert!(wait_until(Duration::from_secs(30), || live.dump() == before));
    assert_same(&live.dump(), &before, study);

    let answer = finish(command(&live, study, parameters));
    let report = answer.fine().json();
    assert!(answer.stderr.contains("Going on with"), "{}", answer.stderr);
    assert_same(&live.dump(), &before, study);
    let result = &report["studies"][0];
    assert_eq!(result["number"], 1, "the same carrying out");
    for part in result["parts"].as_array().unwrap() {
        assert!(
            part["experiment"].is_null() || part["finished"].is_string(),
            "{part:#}"
        );
        assert!(part["experiment"].is_string() || !part["skipped"][0]["reason"].is_null());
    }
    for answer in result["answers"].as_array().unwrap() {
        assert!(answer["paper"].is_string() && answer["question"].is_string());
        let said = !answer["conclusion"].as_str().unwrap().is_empty();
        assert!(said != answer["skipped"].is_string(), "{answer:#}");
    }
    once(&live);
}

/// Requires that no slot of an experiment was recorded twice as valid.
fn once(live: &Live) {
    let all = finish(live.program(["experiment", "status", "--json"]))
        .fine()
        .json();
    for experiment in all["experiments"].as_array().unwrap() {
        let runs = experiment["runs"].as_array().unwrap().iter();
        let valid: Vec<String> = runs
            .filter(|run| run["end"] == "valid")
            .map(|run: &Value| format!("{} {} {}", run["block"], run["cell"], run["measurement"]))
            .collect();
        let different: BTreeSet<&String> = valid.iter().collect();
        assert_eq!(different.len(), valid.len(), "{experiment:#}");
    }
}

#[test]
fn raju_that_is_killed_leaves_the_machine_as_it_was_and_goes_on() {
    killed_and_gone_on_with(STUDIES[0].0, STUDIES[0].1);
}

#[test]
fn wang_that_is_killed_leaves_the_machine_as_it_was_and_goes_on() {
    killed_and_gone_on_with(STUDIES[1].0, STUDIES[1].1);
}

#[test]
fn anaya_that_is_killed_leaves_the_machine_as_it_was_and_goes_on() {
    killed_and_gone_on_with(STUDIES[2].0, STUDIES[2].1);
}

#[test]
fn vasyukov_that_is_killed_leaves_the_machine_as_it_was_and_goes_on() {
    killed_and_gone_on_with(STUDIES[3].0, STUDIES[3].1);
}

#[test]
fn bridgers_that_is_killed_leaves_the_machine_as_it_was_and_goes_on() {
    killed_and_gone_on_with(STUDIES[4].0, STUDIES[4].1);
}
