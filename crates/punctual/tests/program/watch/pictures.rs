// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What is drawn of a watched program, and what other programs get of it: `scripts/check-watched.py` has what has to be there,
//! and shares nothing with the program.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::browser::Browser;
use crate::common::{Home, finish, machine};

fn script(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../scripts")
        .join(name)
}

#[test]
fn pictures_and_traces_show_what_the_record_has() {
    let mut home = Home::alone();
    let Some(seen) = super::watched(&home, "higher-priority", 300) else {
        return;
    };
    home.gives_way();
    let dir = home.dir();
    let mut report = home.command(["report", "last", "-o"]);
    report.arg(dir.join("watched.html"));
    report.arg("--svg").arg(dir.join("svg"));
    report.arg("--png").arg(dir.join("png"));
    finish(report).fine();
    let trace = dir.join("trace.json");
    let mut export = home.command(["runs", "export", "last", "--format", "perfetto", "-o"]);
    export.arg(&trace);
    finish(export).fine();
    let pictures = fs::read_dir(dir.join("png")).unwrap();
    assert_eq!(
        pictures.count(),
        fs::read_dir(dir.join("svg")).unwrap().count()
    );
    if machine::has_tool("python3") {
        let run = home.runs_dir().join(seen.record["id"].as_str().unwrap());
        let check = |trace: &Path| {
            let mut command = Command::new("python3");
            command.arg(script("check-watched.py")).arg(&run).arg(trace);
            command.arg(dir.join("watched.html")).arg(dir.join("svg"));
            finish(command)
        };
        println!("{}", check(&trace).fine().stdout);
        // The check finds a stretch that is missing, and one that is a nanosecond off.
        let text = String::from_utf8(fs::read(&trace).unwrap()).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let of_cpus = lines
            .iter()
            .rposition(|l| l.contains("\"ph\":\"X\""))
            .unwrap();
        let others = lines.iter().enumerate().filter(|(n, _)| *n != of_cpus);
        let others: Vec<&str> = others.map(|(_, line)| *line).collect();
        let other = dir.join("other.json");
        fs::write(&other, others.join("\n").replace("},\n]", "}\n]")).unwrap();
        assert_ne!(check(&other).code(), 0);
        let release = seen.thread["worst"][0]["release_ns"].as_u64().unwrap();
        let (was, is) = (ts(release), ts(release + 1));
        assert!(text.contains(&was), "{was}");
        fs::write(&other, text.replace(&was, &is)).unwrap();
        assert_ne!(check(&other).code(), 0);
    }
    if let Some(browser) = Browser::new() {
        let page = browser.page("watched.html");
        fs::copy(dir.join("watched.html"), &page).unwrap();
        browser.looks_at(&[page]);
    }
}

/// A time as the trace has it.
fn ts(ns: u64) -> String {
    let us = format!("{}.{:03}", ns / 1_000, ns % 1_000);
    let us = us.trim_end_matches('0').trim_end_matches('.');
    match us.contains('.') {
        true => format!("\"ts\":{us},"),
        false => format!("\"ts\":{us}.0,"),
    }
}

#[test]
fn a_run_that_watched_nothing_has_no_trace() {
    let home = Home::new();
    home.quick(&["--name=a"]);
    home.run(["runs", "export", "a", "--format", "perfetto"])
        .error(1, &["it did not watch a program"])
        .hinted();
    home.run(["runs", "export", "a", "-f", "perfetto", "--data", "summary"])
        .error(2, &["--data summary: not available with --format perfetto"])
        .hinted();
    home.run(["runs", "export", "a", "-f", "csv", "--data", "cycles"])
        .error(2, &["--data cycles: not available with --format csv"]);
}
