// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What goes with `watch`: the live view, comparisons of two sets of watched runs, and what an assessment explains.

use serde_json::Value;

use super::late_loop;
use crate::common::{Home, Running, machine};
use crate::pty::Pty;

#[test]
fn the_live_view_has_a_line_for_each_thread_of_a_process() {
    if !machine::root() {
        return machine::skip("watch", "tracing needs root");
    }
    let home = Home::new();
    let mut command = std::process::Command::new(late_loop());
    command.args(["higher-priority", "100000"]);
    let running = Running::start(command);
    let line = format!("watch --pid {}", running.id());
    let Some(mut pty) = Pty::start(&home, &line, (80, 24)) else {
        return machine::skip("live view", "no script(1)");
    };
    pty.shows("watch  00:");
    // The loop and the thread that disturbs it are two lines below the heading.
    let is_there = crate::common::wait_until(|| {
        let text = pty.screen().contents();
        let mut below = text
            .lines()
            .skip_while(|line| !line.contains("COUNT"))
            .skip(1);
        let numbers = |line: &str| line.split_whitespace().next().map(str::to_owned);
        let lines = (
            below.next().and_then(numbers),
            below.next().and_then(numbers),
        );
        lines == (Some("0".to_owned()), Some("1".to_owned()))
    });
    assert!(is_there, "{}", pty.screen().contents());
    pty.press("q");
    assert!([0, 1].contains(&pty.status()), "{}", pty.said());
    pty.assert_given_back();
    let record = home.run(["runs", "show", "last", "--json"]).json();
    assert_eq!(record["ended"], "interrupted");
    let mut names: Vec<&str> = record["watched"]["threads"]
        .as_array()
        .unwrap()
        .iter()
        .map(|thread| thread["name"].as_str().unwrap())
        .collect();
    names.sort_unstable();
    assert_eq!(names, ["hog", "loop"]);
    running.signal("KILL");
}

#[test]
fn a_change_of_the_program_is_judged_by_its_watched_runs() {
    if !machine::root() {
        return machine::skip("watch", "tracing needs root");
    }
    const RUNS: usize = 4;
    let home = Home::alone();
    let late_loop = late_loop();
    for (name, culprit) in [
        ("change=before", "higher-priority"),
        ("change=after", "none"),
    ] {
        for _ in 0..RUNS {
            let args = ["watch", "--quiet", "--tag", name, "--"];
            let mut command = home.command(args);
            command.arg(&late_loop).args([culprit, "100"]);
            crate::common::finish(command);
        }
    }
    let list = home.run(["runs", "list", "--json"]).json();
    let list = list["runs"].as_array().unwrap();
    // A machine may be too busy for a valid run: what is valid is compared.
    let fine = |of: &[Value]| {
        of.iter()
            .filter(|run| run["figures"]["valid"] == true)
            .count()
    };
    let (newest, oldest) = list.split_at(RUNS);
    let compared = home
        .run(["compare", "tag:change=before", "tag:change=after", "--json"])
        .json();
    let groups = compared["groups"].as_array().unwrap().iter();
    let runs: Vec<usize> = groups
        .map(|group| group["runs"].as_array().unwrap().len())
        .collect();
    assert_eq!(runs, [fine(oldest), fine(newest)]);
    if runs.contains(&0) {
        return;
    }
    let results = compared["results"].as_array().unwrap();
    let result = |figure: &str| {
        results
            .iter()
            .find(|result| result["figure"] == figure)
            .unwrap()
    };
    // Each strike takes 10 ms from a loop that works for 0.1 ms.
    let longest = result("max");
    assert!(
        longest["ratio"]["estimate"].as_f64().unwrap() < 1.0,
        "{longest:#}"
    );
    let phase = result("time_in_phase[phase=running,thread=0]");
    assert_eq!(phase["baseline"]["runs"].as_u64().unwrap(), runs[0] as u64);
    let said = home
        .run(["compare", "tag:change=before", "tag:change=after"])
        .stdout;
    assert!(said.contains("time in phase running"), "{said}");
}

#[test]
fn an_assessment_names_the_causes_of_its_worst_condition() {
    if !machine::root() {
        return machine::skip("--explain", "tracing needs root");
    }
    let home = Home::new();
    let answer = home.run("assess --explain --duration 2s --load cpu:1 --quiet".split(' '));
    let assessed = &answer.stdout;
    // Of 80 columns: the sentence goes on below itself.
    let why = assessed
        .lines()
        .skip_while(|line| !line.starts_with("Why "));
    let (first, more) = (why.clone().take(1), why.skip(1));
    let more = more.take_while(|line| line.starts_with("          "));
    let why: Vec<&str> = first
        .chain(more)
        .map(|line| line["Why       ".len()..].trim())
        .collect();
    let why = why.join(" ");
    let (condition, causes) = why
        .split_once(": ")
        .unwrap_or_else(|| panic!("{answer:#?}"));
    let runs = home.run(["runs", "list", "--json"]).json();
    let ids = runs["runs"].as_array().unwrap().iter();
    let records = ids.map(|run| {
        home.run(["runs", "show", run["id"].as_str().unwrap(), "--json"])
            .json()
    });
    let of: Vec<Value> = records
        .filter(|record| {
            let name = record["name"].as_str().unwrap_or_default();
            name.ends_with(&condition.to_lowercase())
        })
        .collect();
    let [record] = of.as_slice() else {
        panic!("{condition}: {} runs", of.len());
    };
    // The sentence is of one thread, and has its culprits, the first three at most.
    let threads = record["watched"]["threads"].as_array().unwrap();
    let named = threads.iter().any(|thread| {
        let culprits = thread["culprits"].as_array().unwrap().iter().take(3);
        let mut whats = culprits.map(|culprit| culprit["what"].as_str().unwrap());
        causes.contains(&format!(" of {}: ", thread["name"].as_str().unwrap()))
            && whats.all(|what| causes.contains(what))
    });
    assert!(named, "{why}: {threads:#?}");
}

#[test]
fn a_loop_that_was_stopped_until_it_was_killed_is_late() {
    if !machine::root() {
        return machine::skip("watch", "tracing needs root");
    }
    let home = Home::new();
    let script =
        r#""$0" none 2000 & p=$!; sleep 1; kill -STOP $p; sleep 1; kill -KILL $p; wait; exit 0"#;
    let mut command = home.command(["watch", "--quiet", "--json", "--threads", "loop", "--"]);
    command.args(["sh", "-c", script]).arg(super::late_loop());
    let record = crate::common::finish(command).record();
    let thread = &record["watched"]["threads"][0];
    let open = thread["open_ns"].as_u64().unwrap();
    assert!((900_000_000..2_000_000_000).contains(&open), "{thread:#}");
}
