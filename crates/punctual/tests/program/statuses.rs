// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Errors that lead on, and exit statuses that mean one thing.

use std::fs;

use crate::common::{Home, QUICK, assert_sound};

#[test]
fn a_measure_without_an_instrument_names_one() {
    let home = Home::new();
    for line in ["measure --duration 5s", "measure --duration=5s -q"] {
        let line: Vec<&str> = line.split_whitespace().collect();
        home.run(&line)
            .error(
                2,
                &[
                    "--duration belongs to an instrument",
                    &format!("`punctual measure wakeup {}`", line[1..].join(" ")),
                    "wakeup, irq, ipc",
                ],
            )
            .hinted();
    }
    // With an instrument it is the option that is wrong.
    home.run(["measure", "wakeup", "--durations", "5s"])
        .error(2, &["unexpected argument '--durations'"]);
}

#[test]
fn a_priority_is_understood_as_cyclictest_and_the_kernel_write_it() {
    let home = Home::new();
    for (given, read) in [("other", "o"), ("SCHED_BATCH", "b"), ("other:5", "o:5")] {
        let args = QUICK.map(|arg| match arg {
            "--priority=o" => format!("--priority={given}"),
            other => other.to_owned(),
        });
        assert!(args.iter().any(|arg| arg.contains(given)), "{QUICK:?}");
        let record = home.run(&args).record();
        let priority = record["spec"]["priority"].as_str().unwrap();
        // Who runs the tests under nice(1) has what asks for no niceness run with that of theirs, and it is said.
        let nice = rustix::process::getpriority_process(None).unwrap();
        let own = format!("{read}:{nice}");
        assert!(
            priority == read || (nice != 0 && priority == own),
            "{priority}"
        );
    }
    home.run(["measure", "wakeup", "--priority", "high"])
        .error(2, &["f:PRIO (FIFO)"]);
}

#[test]
fn a_time_without_a_unit_is_asked_for_its_unit() {
    let home = Home::new();
    home.run(["measure", "wakeup", "--duration", "1"])
        .error(2, &["`1` has no unit", "1s are seconds"]);
}

#[test]
fn a_report_needs_a_file_and_says_how_to_name_it() {
    let home = Home::new();
    home.run(["report", "last"])
        .error(2, &["report last: name the file", "-o report.html"])
        .hinted();
}

#[test]
fn a_file_that_is_there_is_called_that() {
    let home = Home::new();
    home.quick(&[]);
    let file = home.dir().join("there.csv");
    fs::write(&file, "mine").unwrap();
    let file = file.to_str().unwrap();
    let answer = home.run(["runs", "export", "last", "-f", "csv", "-o", file]);
    answer.error(1, &[file, "the file already exists", "--force"]);
    assert!(!answer.stderr.contains("entity"), "{answer:#?}");
    assert_eq!(String::from_utf8(fs::read(file).unwrap()).unwrap(), "mine");
}

#[test]
fn what_is_not_there_by_its_name_is_a_wrong_command_line() {
    let home = Home::new();
    for round in 0..2 {
        for line in [
            "runs show nowhere",
            "runs rm nowhere",
            "runs export nowhere -f csv",
            "runs extrapolate nowhere",
            "compare nowhere elsewhere",
            // No answer of a gate.
            "compare nowhere elsewhere --fail-on worse",
            "compare --by host nowhere --fail-on worse",
            "history nowhere --fail-on new-worse",
            "experiment results nowhere --fail-on worse",
            "report nowhere -o -",
            "experiment status nowhere",
            "experiment resume nowhere",
            "experiment results nowhere",
            "study show nowhere",
            "doctor --explain nowhere",
        ] {
            home.run(line.split_whitespace()).error(2, &["nowhere"]);
        }
        // The second time there are runs, and one would have to be meant.
        if round == 0 {
            home.quick(&["--name", "twice"]);
            home.quick(&["--name", "twice"]);
        }
    }
    home.run(["runs", "show", "twice"]).error(2, &["twice"]);
}

#[test]
fn a_deadline_that_was_given_and_missed_exits_3() {
    let home = Home::new();
    let status = |args: &[&str]| {
        let answer = home.run(QUICK.iter().chain(args));
        let record = answer.json();
        assert_sound(&record);
        // Of an invalid run nothing is claimed.
        (answer.code(), record["valid"] == true)
    };
    let judged = |(code, valid), wanted| assert_eq!(code, if valid { wanted } else { 1 });
    judged(status(&["--deadline=1ns"]), 3);
    judged(status(&["--deadline=1h"]), 0);
    judged(status(&["--deadline=1h", "--deadline=1ns"]), 3);
    // What a requirement names the requirement judges.
    let required = ["--require=p50 <= 1s", "--burst=100us", "--deadline=1h"];
    judged(status(&required), 0);
    // By time, so short a run shows nothing.
    judged(status(&["--require=p50 <= 1s", "--deadline=1h"]), 3);
    let help = home.run(["--help"]).fine().stdout.clone();
    assert!(help.contains("not met: a deadline given as a time"));
}

#[test]
fn the_place_of_the_store_is_not_shown_as_if_it_had_to_be_given() {
    let home = Home::new();
    for line in ["runs rm", "report", "measure wakeup --duration 5s --foo"] {
        let answer = home.run(line.split_whitespace());
        answer.error(2, &["Usage:"]);
        assert!(!answer.stderr.contains("--home"), "{answer:#?}");
    }
}

#[test]
fn one_thread_is_one_thread() {
    let home = Home::new();
    let args = QUICK.into_iter().filter(|arg| *arg != "--quiet");
    let answer = home.run(args);
    assert!(
        answer.stderr.contains("measuring with 1 thread\n"),
        "{answer:#?}"
    );
}

#[test]
fn a_hint_has_no_gap() {
    let home = Home::new();
    let file = home.dir().join("no.json");
    fs::write(&file, "no JSON").unwrap();
    let answer = home.run(["report", file.to_str().unwrap(), "-o", "-"]);
    answer.hinted();
    let hint = answer
        .stderr
        .lines()
        .find(|line| line.starts_with("Hint: "));
    assert!(!hint.unwrap().contains("  "), "{answer:#?}");
}

#[test]
fn names_are_listed_for_those_who_choose() {
    let home = Home::new();
    assert_eq!(home.run(["runs", "list", "--names"]).fine().stdout, "");
    let id = |record: serde_json::Value| record["id"].as_str().unwrap().to_owned();
    let first = id(home.quick(&["--name", "b c"]));
    let second = id(home.quick(&["--name", "a"]));
    let third = id(home.quick(&["--name", "a"]));
    let names = home.run(["runs", "list", "--names"]).fine().stdout.clone();
    let wanted = ["last", "a", "b c", &third, &second, &first].join("\n");
    assert_eq!(names, format!("{wanted}\n"));
    let one = home.run(["runs", "list", "--names", "--name", "b c"]);
    assert_eq!(one.fine().stdout, format!("last\nb c\n{first}\n"));
}

/// What bash offers for the last word of a line.
fn offered(home: &Home, words: &[&str]) -> Vec<String> {
    let script = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/completions/punctual.bash"
    );
    let code = format!(
        "source {script}; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); \
         _punctual_stored \"$1\" \"${{!#}}\" \"${{COMP_WORDS[COMP_CWORD-1]}}\"; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    );
    let mut command = home.command([] as [&str; 0]);
    let program = crate::common::program();
    command = {
        let mut bash = std::process::Command::new("bash");
        bash.args(["--norc", "-c", &code, "bash"])
            .arg(program)
            .args(words);
        for (key, value) in command.get_envs() {
            if let Some(value) = value {
                bash.env(key, value);
            }
        }
        bash
    };
    let answer = crate::common::finish(command);
    answer
        .fine()
        .stdout
        .lines()
        .map(ToOwned::to_owned)
        .collect()
}

#[test]
fn bash_offers_the_runs_that_there_are() {
    let home = Home::new();
    home.quick(&["--name", "before-1"]);
    home.quick(&["--name", "two words"]);
    for words in [
        ["runs", "show", "bef"],
        ["runs", "rm", "bef"],
        ["compare", "last", "bef"],
        ["report", "last", "bef"],
    ] {
        assert_eq!(offered(&home, &words), ["before-1"], "{words:?}");
    }
    assert_eq!(offered(&home, &["runs", "show", "two"]), ["two\\ words"]);
    // Bash has `--format=c` as three words.
    let by_a_space = offered(&home, &["runs", "export", "--format", "c"]);
    assert!(by_a_space.contains(&"csv".to_owned()), "{by_a_space:?}");
    let joined = offered(&home, &["runs", "export", "--format", "=", "c"]);
    assert_eq!(joined, by_a_space);
    let all = offered(&home, &["runs", "export", "--format", "="]);
    assert!(
        all.len() > joined.len() && all.contains(&"csv".to_owned()),
        "{all:?}"
    );
    // Options and files stay what they were.
    assert_eq!(offered(&home, &["runs", "show", "--js"]), ["--json"]);
    assert!(!offered(&home, &["runs", "import", "bef"]).contains(&"before-1".to_owned()));
}
