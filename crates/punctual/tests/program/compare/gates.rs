// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Gates: what could not be judged has a status of its own, and is never taken for success.

use serde_json::json;

use super::{Bench, QUIET, SLOW, runs};

const GATE: [&str; 2] = ["--metric=p99", "--fail-on=worse"];

#[test]
fn a_gate_without_a_valid_run_on_a_side_does_not_open() {
    let bench = Bench::new();
    let good = runs(0, 20, &QUIET);
    let mut invalid = runs(10, 20, &QUIET);
    invalid.iter_mut().for_each(|run| run.valid = false);
    for (a, b) in [(&invalid, &good), (&good, &invalid)] {
        let answer = bench.compare(a, b, &GATE);
        assert_eq!(answer.code(), 6, "{answer:#?}");
        let first = answer.stdout.lines().next().unwrap();
        assert!(
            first.starts_with("Nothing was compared: ") && first.ends_with(" has no valid run."),
            "{first}"
        );
        let without_a_gate = bench.compare(a, b, &GATE[..1]);
        assert_eq!(without_a_gate.code(), 1, "{without_a_gate:#?}");
    }
    let both = bench.compare(&invalid, &invalid, &GATE);
    assert_eq!(both.code(), 6, "{both:#?}");
    bench
        .compare(&invalid, &invalid, &GATE[..1])
        .error(1, &["none of the 12 runs is left", "--allow-invalid"]);
}

#[test]
fn a_gate_with_too_few_runs_does_not_open_and_what_failed_counts_first() {
    let bench = Bench::new();
    let few = |from, values: &[f64]| runs(from, 20, &values[..3]);
    for fail_on in ["worse", "different", "worse,different"] {
        let gate = ["--metric=p99", "--fail-on", fail_on];
        let answer = bench.compare(&few(0, &QUIET), &few(10, &SLOW), &gate);
        assert_eq!(answer.code(), 6, "{fail_on}: {answer:#?}");
        let enough = bench.compare(&runs(0, 20, &QUIET), &runs(10, 20, &QUIET), &gate);
        enough.fine();
    }
    // One figure is worse, and of another there is too little: it failed.
    let wide = [3_000, 9_000, 1_000, 7_000, 2_000, 30_000];
    let record = |bench: &Bench, from, values: &[f64]| {
        bench.records(&runs(from, 20, values), |at, record| {
            record["total"]["quantiles_ns"]["p50"] = json!(wide[at]);
        })
    };
    let (a, b) = (record(&bench, 0, &QUIET), record(&bench, 10, &SLOW));
    let both = bench.compare_records(&a, &b, &["--metric=p50,p99", "--fail-on=worse"]);
    assert_eq!(both.code(), 3, "{both:#?}");
    let alone = bench.compare_records(&a, &b, &["--metric=p50", "--fail-on=worse"]);
    assert_eq!(alone.code(), 6, "{alone:#?}");
}

#[test]
fn a_gate_on_what_cannot_be_compared_says_that_it_could_not_judge() {
    let bench = Bench::new();
    let (a, b) = (runs(0, 20, &QUIET), runs(10, 20, &SLOW));
    let none = bench.compare(&a, &b, &["--metric=gflops", "--fail-on=worse"]);
    none.error(6, &["gflops"]).hinted();
    let b = bench.records(&b, |_, record| record["instrument"] = json!("ipc"));
    let a = bench.records(&a, |_, _| {});
    bench
        .compare_records(&a, &b, &GATE)
        .error(6, &["wakeup", "ipc"]);
    let help = bench.home.run(["--help"]).fine().stdout.clone();
    assert!(
        help.contains("  6  --fail-on could not be judged"),
        "{help}"
    );
}
