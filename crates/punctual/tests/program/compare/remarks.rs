// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What `punctual compare` remarks that no p-value says.

use serde_json::{Value, json};

use super::{Bench, QUIET, SLOW, has_remark, p99, runs};
use crate::common::Answer;

/// The remarks of this name.
fn remarks(answer: &Answer, id: &str) -> Vec<String> {
    let all = answer.fine().json()["remarks"].clone();
    let of = all
        .as_array()
        .unwrap()
        .iter()
        .filter(|remark| remark["id"] == id);
    of.map(|remark| remark["detail"].as_str().unwrap().to_owned())
        .collect()
}

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
        words.contains(
            "8 runs are outliers of their group (max 8 of 80, p99 8 of 80); they were kept"
        ),
        "{words}"
    );
}

#[test]
fn an_outlier_is_named_with_its_value_and_the_median_of_its_group() {
    let bench = Bench::new();
    let mut a = runs(0, 20, &[330.0, 326.0, 334.0, 663.0, 329.0, 331.0]);
    a[3].name = Some("before-3");
    let answer = bench.compare(&a, &runs(10, 20, &QUIET), &["--json", "--metric=p99"]);
    assert_eq!(
        remarks(&answer, "outlier-run"),
        ["run before-3 is an outlier (p99 663.0 µs, group median 330.5 µs); it was kept"]
    );
    let clean = bench.compare(&runs(0, 20, &QUIET), &runs(10, 20, &SLOW), &["--json"]);
    assert_eq!(remarks(&clean, "outlier-run"), [""; 0]);
}

#[test]
fn every_recorded_fact_that_differs_is_said_those_of_latency_first() {
    type Change = fn(&mut Value);
    let facts: [(&str, Change); 17] = [
        ("CPU model: a Example CPU @ 2.10GHz; b Other", |r| {
            r["host"]["cpu_model"] = json!("Other")
        }),
        ("clock source: a tsc; b hpet", |r| {
            r["host"]["clocksource"] = json!("hpet")
        }),
        ("governor: a none; b powersave", |r| {
            r["host"]["cpufreq_governors"] = json!(["powersave"])
        }),
        ("command line: a quiet; b quiet isolcpus=1", |r| {
            r["host"]["cmdline"] = json!("quiet isolcpus=1")
        }),
        ("PREEMPT_RT: a yes; b no", |r| {
            r["host"]["preempt_rt"] = json!(false)
        }),
        ("SMT: a no; b yes", |r| {
            r["host"]["smt_active"] = json!(true)
        }),
        ("timer: a nanosleep; b posix", |r| {
            r["spec"]["timer"] = json!("posix")
        }),
        ("clock: a monotonic; b tai", |r| {
            r["spec"]["clock"] = json!("tai")
        }),
        ("mlock: a yes; b no", |r| r["spec"]["mlock"] = json!(false)),
        ("warm-up: a 0 ns; b 1 s", |r| {
            r["spec"]["warm_up_ns"] = json!(1_000_000_000)
        }),
        ("program version: a punctual 0.1.0; b punctual 0.2.0", |r| {
            r["program"] = json!("punctual 0.2.0")
        }),
        ("loads: a none; b memory:2", |r| {
            r["spec"]["loads"] = json!(["memory:2"])
        }),
        ("idle driver: a menu/intel_idle; b none", |r| {
            r["host"]["cpuidle"] = json!("none")
        }),
        (
            "real-time share in µs: a 950000 of 1000000; b 1000000 of 1000000",
            |r| {
                r["host"]["sched_rt_runtime_us"] = json!(1_000_000);
            },
        ),
        ("pinning: a each; b none", |r| {
            r["spec"]["pin"] = json!("none")
        }),
        ("isolated CPUs: a none; b 1", |r| {
            r["host"]["cpus_isolated"] = json!("1")
        }),
        ("1 more recorded fact differs: memory", |r| {
            r["host"]["memory_bytes"] = json!(1)
        }),
    ];
    let bench = Bench::new();
    let a = bench.records(&runs(0, 20, &QUIET), |_, _| {});
    let asked = ["--json", "--metric=p99"];
    for (said, change) in facts {
        let b = bench.records(&runs(10, 20, &SLOW), |_, record| change(record));
        let answer = bench.compare_records(&a, &b, &asked);
        assert_eq!(remarks(&answer, "differs"), [said]);
    }
    let b = bench.records(&runs(10, 20, &SLOW), |_, record| {
        facts.iter().for_each(|(_, change)| change(record));
    });
    let all = remarks(&bench.compare_records(&a, &b, &asked), "differs");
    assert_eq!(all.len(), 13, "{all:#?}");
    assert!(all[0].starts_with("CPU model: "), "{all:#?}");
    let rest = "5 more recorded facts differ: loads, mlock, warm-up, program version, memory";
    assert_eq!(all[12], rest, "{all:#?}");
}

#[test]
fn the_order_inside_of_blocks_lost_blocks_and_unknown_times_are_said() {
    let bench = Bench::new();
    let in_blocks = |from, values: &[f64], lost: bool, swapped: bool| {
        bench.records(&runs(from, 20, values), move |at, record| {
            record["tags"] = json!({"block": at.to_string()});
            if lost && at == 2 {
                record["tags"] = json!({});
                record["name"] = json!("lost");
            }
            if swapped && at == 5 {
                record["started"] = json!("2026-01-01T00:01:31Z");
            }
        })
    };
    let asked = ["--json", "--metric=p99"];
    let (a, b) = (
        in_blocks(0, &QUIET, false, false),
        in_blocks(10, &SLOW, false, false),
    );
    let first = remarks(&bench.compare_records(&a, &b, &asked), "order");
    assert!(
        first[0].starts_with("in all 6 blocks a was measured before b"),
        "{first:#?}"
    );
    // In one block the other way round.
    let mixed = in_blocks(10, &SLOW, false, true);
    let late = in_blocks(0, &QUIET, false, false)
        .into_iter()
        .enumerate()
        .map(|(at, mut record)| {
            if at == 5 {
                record["started"] = json!("2026-01-01T00:01:55Z");
            }
            record
        })
        .collect::<Vec<_>>();
    let answer = bench.compare_records(&late, &mixed, &asked);
    assert!(!has_remark(&answer, "order"), "{answer:#?}");

    let answer = bench.compare_records(&a, &in_blocks(10, &SLOW, true, false), &asked);
    let said = remarks(&answer, "blocks");
    assert!(
        said[0].starts_with("1 of 12 runs has no tag `block` (the first: lost)"),
        "{said:#?}"
    );
    assert_eq!(p99(&answer)["pairs"], Value::Null);

    let seven: Vec<f64> = QUIET.iter().copied().chain([50.3]).collect();
    let answer = bench.compare_records(&in_blocks(0, &seven, false, false), &b, &asked);
    let said = remarks(&answer, "unpaired");
    assert!(
        said[0].starts_with("1 run of a and b is in a block"),
        "{said:#?}"
    );

    let undated = bench.records(&runs(10, 20, &SLOW), |_, record| {
        record["started"] = Value::Null;
    });
    let answer = bench.compare_records(&a, &undated, &asked);
    let said = remarks(&answer, "order-unknown");
    assert!(
        said[0].starts_with("runs without a start time: b (6)."),
        "{said:#?}"
    );
}

#[test]
fn medians_a_factor_of_a_thousand_apart_ask_for_the_unit() {
    let bench = Bench::new();
    let of = |from, factor: u64| {
        bench.records(&runs(from, 20, &QUIET), |at, record| {
            let ns = (50 + at as u64) * factor;
            record["total"]["quantiles_ns"]["p50"] = json!(ns);
        })
    };
    let asked = ["--json", "--metric=p50"];
    for (factor, is_said) in [
        (1_000_000, true),
        (900_000, true),
        (1_000, false),
        (20_000, false),
    ] {
        let answer = bench.compare_records(&of(0, 1_000), &of(10, factor), &asked);
        assert_eq!(
            has_remark(answer.fine(), "unit"),
            is_said,
            "{factor}: {answer:#?}"
        );
    }
}
