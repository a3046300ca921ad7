// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What `punctual compare` remarks that no p-value says.

use super::{Bench, QUIET, SLOW, has_remark, p99, runs};

#[test]
fn drift_order_and_outlier_runs_are_said_and_stay_in() {
    let bench = Bench::new();
    let rising: Vec<f64> = (0..12).map(|n| 50.0 + 2.0 * f64::from(n)).collect();
    let mut mixed = runs(5, 10, &rising);
    mixed[4].p99_us = 400.0;
    let question = ["--json", "--metric=p99"];
    let answer = bench.compare(&runs(0, 10, &rising), &mixed, &question);
    assert!(has_remark(answer.fine(), "drift"), "{answer:#?}");
    assert!(!has_remark(&answer, "order"), "{answer:#?}");
    let candidate = &p99(&answer)["candidate"];
    assert_eq!(candidate["outliers"].as_array().unwrap().len(), 1);
    assert_eq!(candidate["runs"], 12);
    let text = bench.compare(&runs(0, 10, &rising), &mixed, &["--metric=p99"]);
    assert!(
        text.fine().stdout.contains("outlier-run"),
        "{}",
        text.stdout
    );

    let after = runs(200, 10, &SLOW);
    let answer = bench.compare(&runs(0, 10, &QUIET), &after, &question);
    assert!(has_remark(answer.fine(), "order"), "{answer:#?}");
}

#[test]
fn a_figure_that_only_the_correction_hides_is_named() {
    let bench = Bench::new();
    let a = [50.0, 50.9, 49.5, 50.4, 49.8];
    let b = [51.0, 51.6, 50.5, 51.3, 50.6];
    let asked =
        |metric: &str| bench.compare(&runs(0, 20, &a), &runs(10, 20, &b), &["--json", metric]);
    let alone = asked("--metric=p99");
    let p = p99(alone.fine())["p"].as_f64().unwrap();
    assert!(p > 0.025 && p <= 0.05, "{p}");
    assert_eq!(p99(&alone)["verdict"], "worse");
    assert!(!has_remark(&alone, "correction"));
    let together = asked("--metric=p99,max");
    assert_ne!(p99(together.fine())["verdict"], "worse");
    assert!(has_remark(&together, "correction"), "{together:#?}");
}

#[test]
fn many_outlier_runs_are_counted_and_few_are_named() {
    let bench = Bench::new();
    let plain: Vec<f64> = (0..40).map(|n| 50.0 + 0.1 * f64::from(n % 7)).collect();
    let mut spiky = plain.clone();
    spiky.iter_mut().step_by(5).for_each(|us| *us *= 3.0);
    let text = bench.compare(
        &runs(0, 20, &plain),
        &runs(10, 20, &spiky),
        &["--metric=p99,max"],
    );
    let words = text
        .fine()
        .stdout
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    assert_eq!(words.matches("outlier-run:").count(), 1, "{words}");
    assert!(
        words.contains("8 runs lie far from the others of their group (max 8 of 80, p99 8 of 80)"),
        "{words}"
    );
}
