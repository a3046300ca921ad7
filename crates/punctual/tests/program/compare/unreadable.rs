// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Runs that cannot be read and may belong to those that were named: no gate opens, and every answer says so.

use std::fs;

use super::{Bench, QUIET, has_remark, runs};
use crate::common::Answer;

/// Six runs `before-1`, six `after-1`, of which the last two are nine times as slow.
fn bench() -> Bench {
    let bench = Bench::new();
    let named = |from, name, slow: usize| {
        let mut all = runs(from, 20, &QUIET);
        for run in &mut all {
            run.name = Some(name);
        }
        for run in all.iter_mut().rev().take(slow) {
            run.max_us *= 9.0;
            run.p99_us *= 9.0;
        }
        bench.write(&bench.home.runs_dir(), &all);
    };
    named(0, "before-1", 0);
    named(10, "after-1", 2);
    bench
}

/// Cuts the records of the two slow runs in half.
fn damage(bench: &Bench) {
    for number in [10, 11] {
        let id = format!("01900000-0000-7000-8000-{number:012x}");
        let file = bench.home.runs_dir().join(id).join("run.json");
        let text = fs::read(&file).unwrap();
        fs::write(file, &text[..text.len() / 2]).unwrap();
    }
}

fn compare(bench: &Bench, groups: [&str; 2], args: &[&str]) -> Answer {
    let all = ["compare", groups[0], groups[1], "--metric=max"];
    bench.home.run(all.iter().chain(args))
}

const BOTH: [&str; 2] = ["before-*", "after-*"];
const LOST: &str = "2 cannot be read";

#[test]
fn no_gate_opens_and_each_answer_begins_with_them() {
    let bench = bench();
    damage(&bench);
    for gate in [
        "--fail-on=different",
        "--fail-on=different,too-few-runs",
        "--fail-on=worse",
    ] {
        let gate = compare(&bench, BOTH, &[gate]);
        assert_eq!(gate.code(), 6, "{gate:#?}");
    }
    let plain = compare(&bench, BOTH, &[]);
    let first: Vec<&str> = plain.fine().stdout.lines().take(5).collect();
    assert!(
        first
            .iter()
            .any(|line| line.contains("after-*") && line.contains(LOST)),
        "{first:#?}"
    );
    let mut nights = runs(1_000, 20, &QUIET);
    nights.iter_mut().for_each(|run| run.name = Some("night"));
    bench.write(&bench.home.runs_dir(), &nights);
    let earlier = compare(&bench, BOTH, &["--earlier=night", "--json"]);
    assert!(has_remark(&earlier, "earlier-unreadable"), "{earlier:#?}");

    for args in [
        &["history", "*", "--metric=max", "--fail-on=new-worse"][..],
        &["compare", "--by=host", "*", "--fail-on=worse"],
    ] {
        let gate = bench.home.run(args);
        assert_eq!(gate.code(), 6, "{gate:#?}");
        assert!(gate.stdout.contains("2 runs cannot be read"), "{gate:#?}");
    }
    let page = bench.home.run(["report", "*", "--format=md"]);
    let first: Vec<&str> = page.fine().stdout.lines().take(6).collect();
    assert!(
        first
            .iter()
            .any(|line| line.contains("2 runs missing from this report")),
        "{first:#?}"
    );
    let tap = bench.home.run(["report", "*", "--format=tap"]);
    let lost = tap.fine().stdout.matches("not ok").count();
    assert_eq!(lost, 2, "{tap:#?}");
}

#[test]
fn what_certainly_is_another_run_is_not_in_the_way() {
    let bench = bench();
    // The index has them now.
    bench.home.run(["runs", "list"]).fine();
    damage(&bench);
    let others = compare(&bench, ["before-*", "before-?,host:nobody"], &[]);
    others.error(2, &["host:nobody", "none found"]);
    let one = "01900000-0000-7000-8000-000000000006";
    let gate = compare(&bench, ["before-*", one], &["--fail-on=worse", "--json"]);
    let refused = |at: usize| gate.json()["groups"][at]["refused"].clone();
    assert!(refused(0).is_null() && refused(1).is_null(), "{gate:#?}");

    let gate = compare(&bench, BOTH, &["--fail-on=different", "--json"]);
    assert_eq!(gate.code(), 6, "{gate:#?}");
    let groups = &gate.json()["groups"];
    assert!(groups[0]["refused"].is_null(), "{groups:#}");
    let refused = groups[1]["refused"].as_array().unwrap();
    assert_eq!(refused.len(), 2);
    assert!(
        refused.iter().all(|run| run["unreadable"] == true),
        "{groups:#}"
    );
}

#[test]
fn a_name_of_which_no_run_can_be_read_is_an_error() {
    let bench = bench();
    damage(&bench);
    for name in ["night-1", "night-*", "tag:kernel=rt", "host:nobody"] {
        compare(&bench, ["before-*", name], &["--fail-on=worse"])
            .error(1, &[name, "2 runs cannot be read"])
            .hinted();
    }
}
