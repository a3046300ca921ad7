// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Experiments of which runs fail: what is done again, and that nobody takes them for whole.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::file;
use crate::common::{Answer, Home, finish};

/// An experiment whose loads are `levels`, in their order.
fn loads(levels: &str, blocks: u32) -> String {
    format!(
        r#"
name = "loads"
order = "as-written"
repeat-invalid = 0
compare = ["p50"]

[[measure]]
instrument = "wakeup"
options = {{ priority = "o", dma-latency = "off", threads = 1, samples = 10, interval = "1ms" }}

[[factor]]
name = "load"
load = true
levels = {{ {levels} }}

[stop]
blocks = {blocks}
"#
    )
}

fn status(home: &Home) -> Value {
    let answer = home.run(["experiment", "status", "loads", "--json"]);
    answer.fine().json()["experiments"][0].clone()
}

/// Runs an experiment where there is no shell: no command can be a load.
fn run_without_a_shell(home: &Home, path: &Path) -> Answer {
    let nothing = home.dir().join("nothing");
    fs::create_dir(&nothing).unwrap();
    let mut command = home.command(["experiment".as_ref(), "run".as_ref(), path.as_os_str()]);
    // Without a PATH the C library would look where it always does.
    command.env("PATH", nothing);
    finish(command)
}

#[test]
fn what_failed_before_an_abort_is_done_by_resume_once_the_cause_is_gone() {
    let home = Home::aside();
    let levels =
        ["a", "b"].map(|name| format!("{name} = \"cmd:while :; do sleep 0.01; done # {name}\""));
    let path = file(&home, &loads(&levels.join(", "), 1));
    let answer = run_without_a_shell(&home, &path);
    answer.error(1, &["3 runs in a row failed"]).hinted();
    let aborted = home.run(["experiment", "status", "loads"]);
    let said = &aborted.fine().stdout;
    assert!(said.starts_with("No valid run in 2 of 2 cells:\n load=a: failed: "));
    let counts = "0 of 2 runs done, 2 failed; 3 attempts (3 failed)";
    assert!(said.contains(counts), "{said}");
    let resumed = home.run(["experiment", "resume", "loads"]);
    resumed.carried_out();
    let status = status(&home);
    assert_eq!(status["runs_done"], 2, "{status:#}");
    assert_eq!(status["runs_failed"], 0, "{status:#}");
    assert_eq!(status["finished"], "all blocks are done");
}

#[test]
fn an_experiment_of_which_a_cell_has_no_valid_run_fails_and_names_it_first() {
    let home = Home::aside();
    let path = file(&home, &loads("none = \"none\", missing = \"cmd:tool\"", 2));
    let answer = run_without_a_shell(&home, &path);
    assert_eq!(answer.code(), 1, "{answer:#?}");
    let said = &answer.stdout;
    assert!(said.starts_with("No valid run in "), "{said}");
    for part in [
        "\n load=missing: failed: ",
        ": sh: No such file or directory",
        "punctual experiment rm loads",
        "2 of 4 runs done (",
        "), 2 failed; 6 attempts (",
        "4 failed)",
        "finished: all blocks are done",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let status = status(&home);
    assert_eq!(status["runs_done"], 2);
    assert_eq!(status["runs_failed"], 2);
    let without = status["without_valid_run"].as_array().unwrap();
    let missing = without.iter().find(|of| of["name"] == "load=missing");
    let missing = missing.unwrap();
    assert_eq!(missing["cell"], 1);
    assert_eq!(missing["end"], json!("failed"));
    for (gate, code) in [
        ("--fail-on=worse", 6),
        ("--fail-on=different", 6),
        ("--require=no sample > 100s in 2", 3),
    ] {
        let answer = home.run(["experiment", "results", "loads", gate]);
        assert_eq!(answer.code(), code, "{gate}: {answer:#?}");
    }
    // It is over: what would be measured now was not measured next to the others.
    let resumed = home.run(["experiment", "resume", "loads"]);
    assert_eq!(resumed.code(), 1, "{resumed:#?}");
}
