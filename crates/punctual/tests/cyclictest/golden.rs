// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Recorded outputs of rt-tests 2.4, 2.6 and 2.10: the grammar accepts them, and ours.

use std::path::{Path, PathBuf};

use super::common::{Home, machine};
use super::grammar::{Form, check, check_histogram, form, json_lines};
use super::ours;

const CASES: [&str; 13] = [
    "break",
    "hist",
    "histfile",
    "histofall",
    "json_nohist",
    "normal",
    "nsecs",
    "prio100",
    "priospread15",
    "quiet",
    "smp",
    "spike",
    "verbose",
];

fn directory(version: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden/cyclictest")
        .join(version)
}

/// Returns the options of a case, with files of its own, and its number of threads.
fn options(case: &str) -> (String, usize) {
    let line = read(&directory("2.4").join(format!("{case}.cmd")));
    let line = line
        .trim()
        .strip_prefix("cyclictest ")
        .unwrap()
        .replace("2.4/", "");
    let mut words = line.split_whitespace();
    let threads = match words.find(|word| *word == "-t") {
        Some(_) => words.next().unwrap().parse().unwrap(),
        None if line.contains("-t2") || line.contains("-S") => 2,
        None => 1,
    };
    (line, threads)
}

#[test]
fn the_grammar_accepts_what_three_versions_printed() {
    for version in ["2.4", "2.6", "2.10"] {
        for case in CASES.iter().chain(&["rteval"]) {
            let (line, threads) = options(case);
            let path = directory(version).join(format!("{case}.out"));
            check(&read(&path), form(&line), threads);
        }
        let text = read(&directory(version).join("histfile.txt"));
        check_histogram(&text.lines().collect::<Vec<_>>(), 2, false, 60);
    }
}

#[test]
fn ours_prints_what_the_recorded_commands_printed() {
    let home = Home::new();
    if !machine::root() {
        return;
    }
    for case in CASES.into_iter().chain(["rteval"]) {
        let (line, threads) = options(case);
        // The original ran on two CPUs.
        if (line.contains("-S") || line.contains("-a0-1")) && machine_cpus() != 2 {
            continue;
        }
        // On any machine, and not only where some sample is above 5 µs.
        let line = line.replace("-b 5 ", "-b 1 ");
        let answer = ours(&home, &line);
        let status = read(&directory("2.4").join(format!("{case}.rc")));
        assert_eq!(
            answer.code().to_string(),
            status.trim(),
            "{case}: {answer:#?}"
        );
        check(&answer.stdout, form(&line), threads);
        // What `--json` writes has no empty histogram since 2.10, nor has ours.
        let recorded = directory("2.10").join(format!("{case}.json"));
        assert_eq!(recorded.exists(), line.contains("--json"), "{case}");
        if recorded.exists() {
            let ours = read(&home.dir().join(format!("{case}.json")));
            assert_eq!(json_lines(&ours), json_lines(&read(&recorded)), "{case}");
        }
    }
    let text = read(&home.dir().join("histfile.txt"));
    check_histogram(&text.lines().collect::<Vec<_>>(), 2, false, 60);
}

#[test]
fn compact_rows_and_rteval_s_odd_arguments_are_understood() {
    let home = Home::new();
    if !machine::root() {
        return;
    }
    let args = [
        "-i100",
        "-qmu",
        "-h 3500",
        "-p95",
        "-t2",
        "-a0-0",
        "",
        "-D1",
        "--hist-compact",
    ];
    let command = super::command(&home, &super::link(&home), &args);
    let answer = super::common::finish(command);
    let form = Form::Histogram {
        sum: false,
        rows: 3_500,
        to_file: false,
    };
    check(&answer.fine().stdout, form, 2);
    assert!(!answer.stdout.contains("# Total:"));
}

#[test]
fn the_original_s_own_option_that_is_gone_is_understood() {
    let home = Home::new();
    if machine::root() {
        // 2.4 prints its usage for this one.
        let answer = ours(&home, "-n -q -l 10");
        check(&answer.fine().stdout, form("-q"), 1);
    }
}

fn read(path: &Path) -> String {
    machine::read(path).unwrap()
}

fn machine_cpus() -> usize {
    std::thread::available_parallelism().unwrap().get()
}
