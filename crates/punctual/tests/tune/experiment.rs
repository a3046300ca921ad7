// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Experiments whose cells tune the machine.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::common::{Answer, Running, finish, machine, wait_until};
use crate::live::{Live, assert_same};

/// One factor is a knob, the other a profile; one cell leaves the machine as it is.
const FILE: &str = r#"
name = "knobs"
seed = 3
repeat-invalid = 0
compare = ["p50"]

[[measure]]
instrument = "wakeup"
options = { priority = "o", dma-latency = "off", threads = 1, samples = 40, interval = "2ms" }

[[factor]]
name = "swap"
knob = "vm.swappiness"
levels = ["keep", "11"]

[[factor]]
name = "tuned"
profile = true
levels = { no = "none", yes = "mine.toml" }

[stop]
blocks = 2
"#;

const PROFILE: &str = r#"
format = "punctual.profile/1"
name = "mine"
[knobs]
"vm.stat_interval" = 2
"#;

fn experiment(live: &Live, verb: &str, what: &str) -> std::process::Command {
    let mut command = live.program(["experiment", verb, what, "--quiet"]);
    command.current_dir(live.dir());
    command
}

fn write(live: &Live, text: &str) {
    fs::write(live.dir().join("mine.toml"), PROFILE).unwrap();
    fs::write(live.dir().join("knobs.toml"), text).unwrap();
}

fn status(live: &Live) -> Value {
    let args = ["experiment", "status", "knobs", "--json"];
    finish(live.program(args)).fine().json()["experiments"][0].clone()
}

/// Requires that each run that was recorded was made under the settings of its cell, and no others.
fn assert_cells(live: &Live) {
    for run in status(live)["runs"].as_array().unwrap() {
        if !["valid", "invalid"].contains(&run["end"].as_str().unwrap()) {
            continue;
        }
        let id = run["run"].as_str().unwrap();
        let record = finish(live.program(["runs", "show", id, "--json"]))
            .fine()
            .json();
        let settings = record["host"]["tuning"]["settings"].as_array().cloned();
        let mut names: Vec<String> = settings
            .into_iter()
            .flatten()
            .map(|setting| format!("{}={}", setting["knob"], setting["new"]).replace('"', ""))
            .collect();
        names.sort();
        // swap changes last but one, tuned last: 0 keep no, 1 keep yes, 2 11 no, 3 11 yes.
        let expected: &[&str] = match run["cell"].as_u64().unwrap() {
            0 => &[],
            1 => &["vm.stat_interval=2"],
            2 => &["vm.swappiness=11"],
            _ => &["vm.stat_interval=2", "vm.swappiness=11"],
        };
        assert_eq!(names, expected, "{run}");
    }
}

/// Returns the processes of this test's program that measure.
fn measuring(live: &Live) -> Vec<u32> {
    let is_run = |pid: &u32| {
        let line = machine::read(Path::new(&format!("/proc/{pid}/cmdline"))).unwrap_or_default();
        line.contains("\0measure\0") && line.contains("--set=vm.swappiness=11")
    };
    let all = machine::processes_of(&live.store());
    all.into_iter().filter(is_run).collect()
}

fn settings() -> [String; 2] {
    ["swappiness", "stat_interval"].map(|name| {
        let path = format!("/proc/sys/vm/{name}");
        machine::read(Path::new(&path)).unwrap().trim().to_owned()
    })
}

#[test]
fn every_cell_is_measured_under_its_settings_and_none_stays() {
    let Some(live) = Live::new() else { return };
    write(&live, FILE);
    let before = live.dump();
    finish(experiment(&live, "run", "knobs.toml")).carried_out();
    assert_same(&live.dump(), &before, "after the experiment");
    let runs = status(&live)["runs"].as_array().unwrap().len();
    assert_eq!(runs, 8);
    assert_cells(&live);
}

/// Kills a run, if it is measuring.
fn is_killed_at_work(pid: u32) -> bool {
    let send = |signal: &str| {
        let pid = pid.to_string();
        let sent = Command::new("kill").args(["-s", signal, &pid]).output();
        sent.unwrap().status.success()
    };
    if !send("STOP") {
        return false;
    }
    let is_measuring = |thread: &machine::Thread| thread.name.starts_with("measure/");
    let at_work = machine::threads(pid).iter().any(is_measuring);
    send(if at_work { "KILL" } else { "CONT" }) && at_work
}

#[test]
fn a_cell_that_is_killed_is_reverted_before_the_next_one_and_done_again() {
    let Some(live) = Live::new() else { return };
    // Long enough to be met, and tried again.
    let text = FILE.replace("samples = 40", "samples = 200");
    write(&live, &text);
    let before = live.dump();
    let mut running = Running::start(experiment(&live, "run", "knobs.toml"));
    // Stopped, so that it cannot end between the look and the kill; who comes too late meets the next one.
    let met = wait_until(|| {
        assert!(running.is_alive(), "no cell was met");
        measuring(&live).into_iter().any(is_killed_at_work)
    });
    assert!(met, "no cell tunes");
    let answer = running.wait();
    answer.carried_out();
    assert_same(&live.dump(), &before, "after a kill");
    let status = status(&live);
    let failed = |run: &&Value| run["end"] == "failed";
    let runs = status["runs"].as_array().unwrap();
    assert_eq!(runs.iter().filter(failed).count(), 1, "{status:#}");
    let recorded = runs.iter().filter(|run| !failed(run));
    let slots: BTreeSet<String> = recorded
        .map(|run| format!("{} {}", run["block"], run["cell"]))
        .collect();
    assert_eq!(slots.len(), 8, "{status:#}");
    assert_cells(&live);
}

#[test]
fn an_experiment_that_is_killed_leaves_the_machine_as_it_was_and_goes_on() {
    let Some(live) = Live::new() else { return };
    write(&live, &FILE.replace("samples = 40", "samples = 200"));
    let before = live.dump();
    for round in ["run", "resume"] {
        let what = if round == "run" {
            "knobs.toml"
        } else {
            "knobs"
        };
        let running = Running::start(experiment(&live, round, what));
        let met = wait_until(|| settings()[0] == "11");
        assert!(met, "no cell tunes");
        running.signal("KILL");
        drop(running);
        let idle = || live.tune("status").stdout.contains("nothing is changed");
        assert!(wait_until(idle), "{round}");
        assert_same(&live.dump(), &before, round);
    }
    finish(experiment(&live, "resume", "knobs")).carried_out();
    assert_same(&live.dump(), &before, "resumed");
    assert_cells(&live);
}

#[test]
fn a_knob_or_profile_that_there_is_not_is_an_error_of_the_plan() {
    let Some(live) = Live::new() else { return };
    for (from, to, part) in [
        ("vm.swappiness", "vm.swapiness", "did you mean"),
        ("\"keep\", \"11\"", "\"keep\", \"a lot\"", "vm.swappiness"),
        ("mine.toml", "nobodys", "there is no profile nobodys"),
    ] {
        write(&live, &FILE.replace(from, to));
        let answer: Answer = finish(experiment(&live, "run", "knobs.toml"));
        answer.error(2, &["knobs.toml: cell", part]);
        assert!(!live.store().join("experiments/knobs").exists());
    }
    let sweep = |knob: &str| {
        finish(live.program([
            "experiment",
            "sweep",
            "--knob",
            knob,
            "--measure",
            "wakeup",
            "-o",
            "-",
        ]))
    };
    sweep("vm.swapiness=1,2").error(2, &["did you mean"]);
    assert!(
        sweep("vm.swappiness=1,2")
            .fine()
            .stdout
            .contains("knob = \"vm.swappiness\"")
    );
}
