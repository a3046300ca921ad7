// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Verdicts that a p-value would allow and the runs do not.

use serde_json::{Value, json};

use super::{Bench, QUIET, Run, SLOW, has_remark, p99, runs};
use crate::common::Answer;
use crate::schema::{assert_valid, schema};

fn result(answer: &Answer, figure: &str) -> Value {
    let results = answer.json()["results"].clone();
    let mut results = results.as_array().unwrap().clone().into_iter();
    results.find(|result| result["figure"] == figure).unwrap()
}

fn reason(answer: &Answer, figure: &str) -> Value {
    result(answer, figure)["withheld"]["reason"].clone()
}

fn words(answer: &Answer) -> String {
    let words: Vec<_> = answer.fine().stdout.split_whitespace().collect();
    words.join(" ")
}

#[test]
fn runs_of_unequal_length_have_no_verdict_on_a_figure_that_depends_on_it() {
    let bench = Bench::new();
    let of = |runs: &[Run], count: u64| {
        bench.records(runs, |_, record| {
            let total = &mut record["total"];
            total["count"] = json!(count);
            let p99 = total["quantiles_ns"]["p99"].clone();
            total["quantiles_ns"] = json!({"p90": p99, "p99": p99, "p99.9": p99});
        })
    };
    let (a, b) = (runs(0, 20, &QUIET), runs(10, 20, &SLOW));
    let asked = ["--json", "--metric=p90,p99,p99.9,max", "--fail-on=worse"];
    let same = bench.compare_records(&of(&a, 1_000), &of(&b, 1_000), &asked);
    assert_eq!((same.code(), reason(&same, "max")), (3, Value::Null));
    assert_eq!(result(&same, "p99.9")["verdict"], "worse");
    // 1000 samples have 100 beyond p90 and 10 beyond p99.
    let apart = bench.compare_records(&of(&a, 1_000), &of(&b, 20_000), &asked);
    assert_valid(&schema("comparison.schema.json"), &apart.json());
    assert_eq!(
        (apart.code(), result(&apart, "p90")["verdict"].clone()),
        (3, json!("worse"))
    );
    for figure in ["p99", "p99.9", "max"] {
        assert_eq!(reason(&apart, figure), "lengths", "{figure}");
        assert_eq!(
            result(&apart, figure)["verdict"],
            "too_few_runs",
            "{figure}"
        );
    }
    let gate = ["--metric=max", "--fail-on=worse"];
    let max = bench.compare_records(&of(&a, 1_000), &of(&b, 20_000), &gate);
    assert_eq!(max.code(), 6, "{max:#?}");
    let text = bench.compare_records(&of(&a, 1_000), &of(&b, 20_000), &["--metric=p99.9,max"]);
    let said = words(&text);
    for part in [
        "No verdict on p99.9: runs of a have 1000 samples, of b 20000; in the shortest 1 sample is \
         beyond p99.9, but 40 are needed: make all runs equally long, or at least 40000 samples",
        "No verdict on max: runs of a have 1000 samples, of b 20000, and max depends on that number",
        "unequal lengths",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn three_runs_that_vary_far_more_than_twenty_have_no_verdict() {
    let bench = Bench::new();
    let many: Vec<f64> = (0..20).map(|n| 50.0 + 0.2 * f64::from(n % 9)).collect();
    let few = [70.0, 80.0, 95.0];
    let asked = ["--json", "--metric=p99"];
    let answer = bench.compare(&runs(0, 20, &many), &runs(30, 120, &few), &asked);
    assert_eq!(p99(answer.fine())["verdict"], "too_few_runs");
    assert_eq!(reason(&answer, "p99"), "spread");
    assert_eq!(p99(&answer)["more_runs"], 3);
}

#[test]
fn never_against_sometimes_is_not_called_indistinguishable() {
    let bench = Bench::new();
    let of = |from: usize, misses: [u64; 6]| {
        let ones = [50.0; 6];
        bench.records(&runs(from, 20, &ones), move |at, record| {
            // A thread that wakes up each ms, for 10 s.
            record["duration_ns"] = json!(10_000_000_000_u64);
            for series in ["/series/0", "/total"] {
                let series = record.pointer_mut(series).unwrap();
                series["count"] = json!(10_000);
                series["interval_ns"] = json!(1_000_000);
                series["tail_effective_samples"] = Value::Null;
                series["effective_samples"] = Value::Null;
            }
            record["total"]["misses"] =
                json!([{"deadline_ns": 100_000, "count": misses[at], "overruns": 0}]);
        })
    };
    let never = [0; 6];
    let some = [0, 0, 50, 0, 3_000, 0];
    let metric = "--metric=misses:100us";
    let figure = "misses:100us";
    let answer = bench.compare_records(&of(0, never), &of(10, some), &["--json", metric]);
    let compared = result(&answer, figure);
    assert_eq!(compared["verdict"], "too_few_runs", "{compared}");
    assert_eq!(reason(&answer, figure), "zeros");
    // 60 s are 600 bursts of 100 ms, of which none had a miss, and 1000 wake-ups a second.
    let bound = compared["baseline"]["interval"]["high"].as_f64().unwrap();
    let expected = 1000.0 * (1.0 - 0.05_f64.powf(1.0 / 600.0));
    assert!((bound - expected).abs() < 1e-9, "{compared}");
    assert_eq!(compared["baseline"]["interval"]["low"], 0.0);
    let text = bench.compare_records(&of(0, never), &of(10, some), &[metric]);
    let said = words(&text);
    let part = "a never missed (at most 4.981/s, if no burst lasts longer than 100 ms); b missed in 2 of 6 runs";
    assert!(said.contains(part), "{said}");

    // Neither missed: a bound of each, and no equality, unless what matters was said.
    let gate = ["--json", metric, "--fail-on=worse"];
    let neither = bench.compare_records(&of(0, never), &of(10, never), &gate);
    assert_eq!(
        (neither.code(), reason(&neither, figure)),
        (6, json!("zeros"))
    );
    let with = |difference: &str| {
        let gate = [
            "--json",
            metric,
            "--fail-on=worse",
            "--difference",
            difference,
        ];
        bench.compare_records(&of(0, never), &of(10, never), &gate)
    };
    let wide = with("5");
    assert_eq!(
        result(wide.fine(), figure)["verdict"],
        "not_distinguishable"
    );
    // 60 s do not show that fewer than 4/s were missed.
    assert_eq!(
        (with("4").code(), reason(&with("4"), figure)),
        (6, json!("zeros"))
    );
    with("0").error(2, &["`0` is not a number above 0"]);
}

#[test]
fn misses_that_no_run_counted_have_no_verdict_however_many_runs() {
    let bench = Bench::new();
    let of = |from| {
        bench.records(&runs(from, 20, &[50.0; 3]), |_, record| {
            record["total"]["misses"] = json!([]);
        })
    };
    let asked = ["--metric=p99", "--metric=misses:100us"];
    let answer = bench.compare_records(&of(0), &of(10), &asked);
    let said = words(&answer);
    let part = "no run counted misses of 100 µs: measure with --deadline 100us";
    assert!(said.contains(part), "{said}");
    let json = bench.compare_records(&of(0), &of(10), &[&asked[..], &["--json"]].concat());
    assert_eq!(reason(&json, "misses:100us"), "uncounted");
    let alone = bench.compare_records(&of(0), &of(10), &["--metric=misses:100us"]);
    alone.error(1, &["Hint: measure with --deadline"]);
}

/// What `runs import` would have made of a file in whole µs.
fn imported(record: &mut Value, resolution_ns: u64) {
    record["format"] = json!("punctual.run/2");
    record["instrument"] = json!("cyclictest");
    record["origin"] = json!({
        "tool": "cyclictest", "version": null, "format": "cyclictest-json",
        "file": record["id"], "command_line": null, "resolution_ns": resolution_ns,
        "mean_error_ns": null, "sample_times": null, "stated": [],
    });
    record["spec"] = Value::Null;
}

#[test]
fn equal_values_in_steps_that_hide_what_matters_are_below_the_resolution() {
    let bench = Bench::new();
    let same = [3.999; 6];
    let of = |from, values: &[f64], resolution_ns| {
        bench.records(&runs(from, 20, values), |at, record| {
            imported(record, resolution_ns);
            record["total"]["stddev_ns"] = json!(1_000 + at + from);
        })
    };
    let asked = ["--json", "--metric=p99", "--fail-on=worse"];
    let answer = bench.compare_records(&of(0, &same, 1_000), &of(10, &same, 1_000), &asked);
    assert_eq!(
        (answer.code(), reason(&answer, "p99")),
        (6, json!("resolution"))
    );
    let detail = result(&answer, "p99")["withheld"]["detail"].to_string();
    assert!(
        detail.contains("steps of 1.000 µs, which hides a change of up to 34 %"),
        "{detail}"
    );
    let margin = ["--json", "--metric=p99", "--equivalence=5%"];
    let answer = bench.compare_records(&of(0, &same, 1_000), &of(10, &same, 1_000), &margin);
    assert_eq!(reason(answer.fine(), "p99"), "resolution");
    let fine = bench.compare_records(&of(0, &same, 1), &of(10, &same, 1), &asked);
    assert_eq!(result(fine.fine(), "p99")["verdict"], "not_distinguishable");
    // One group rounded up to whole µs, the other not: less than a step is no effect.
    let rounded = [4.999; 6];
    let other = [4.3, 4.4, 4.5, 4.35, 4.45, 4.41];
    let mixed = bench.compare_records(&of(0, &other, 1), &of(10, &rounded, 1_000), &asked);
    assert_eq!(
        (mixed.code(), reason(&mixed, "p99")),
        (6, json!("resolution"))
    );
}

#[test]
fn figures_that_mean_different_things_are_refused() {
    let bench = Bench::new();
    let (a, b) = (runs(0, 20, &QUIET), runs(10, 20, &SLOW));
    let plain = |runs: &[Run]| bench.records(runs, |_, _| {});
    let as_instrument = |runs: &[Run], name: &str| {
        bench.records(runs, |_, record| record["instrument"] = json!(name))
    };
    let refused = bench.compare_records(&plain(&a), &as_instrument(&b, "ipc"), &[]);
    refused
        .error(2, &["is of wakeup", "of ipc", "measure different things"])
        .hinted();
    // cyclictest measures what wakeup does.
    let tool = bench.records(&b, |_, record| imported(record, 1));
    let answer = bench.compare_records(&plain(&a), &tool, &["--json", "--metric=p99"]);
    assert_eq!(p99(answer.fine())["verdict"], "worse");
    // One result in two units.
    let with = |runs: &[Run], unit: &str| {
        bench.records(runs, |at, record| {
            record["figures"] = json!([{
                "name": "copy", "unit": unit, "better": "higher", "value": 100 + at, "count": 1
            }]);
        })
    };
    let refused = bench.compare_records(&with(&a, "MB/s"), &with(&b, "GB/s"), &["--metric=copy"]);
    refused.error(2, &["copy", "MB/s and GB/s"]);
}

#[test]
fn a_file_that_was_imported_twice_is_one_run() {
    let bench = Bench::new();
    let values = [50.0, 50.4, 49.8, 50.2];
    let of = |from, values: &[f64], first: usize| {
        bench.records(&runs(from, 20, values), |at, record| {
            imported(record, 1);
            record["total"]["stddev_ns"] = json!(1_000 + first + at % 4);
        })
    };
    // The same four files three times.
    let thrice: Vec<f64> = [values; 3].concat();
    let slow: Vec<f64> = SLOW.to_vec();
    let asked = ["--json", "--metric=p99"];
    let answer = bench.compare_records(&of(0, &thrice, 0), &of(10, &slow, 50), &asked);
    let group = &answer.fine().json()["groups"][0];
    assert_eq!(group["runs"].as_array().unwrap().len(), 4, "{group}");
    assert_eq!(group["refused"].as_array().unwrap().len(), 8);
    let reason = group["refused"][0]["reason"].as_str().unwrap().to_owned();
    assert!(reason.contains("has the same samples as run"), "{reason}");
    assert!(has_remark(&answer, "refused"));
    // In both groups it is the same run on both sides.
    bench
        .compare_records(&of(0, &values, 0), &of(10, &values, 0), &asked)
        .error(2, &["has the samples of run", "imported twice"])
        .hinted();
}

#[test]
fn a_figure_that_no_run_has_is_named_with_those_that_there_are() {
    let bench = Bench::new();
    let of = |from: usize| {
        bench.records(&runs(from, 20, &[50.0, 51.0, 52.0, 50.5]), |at, record| {
            record["total"]["skewness"] = json!(1.0 + 0.1 * f64::from(u32::try_from(at).unwrap()));
        })
    };
    let shape = bench.compare_records(&of(0), &of(10), &["--json", "--metric=skewness"]);
    let compared = result(shape.fine(), "skewness");
    assert!(
        (compared["baseline"]["estimate"].as_f64().unwrap() - 1.145).abs() < 0.01,
        "{compared}"
    );
    let wrong = bench.compare_records(&of(0), &of(10), &["--metric=p99,skewnes"]);
    wrong.error(
        1,
        &["compare runs by skewnes: no run has it; available:", "p99"],
    );
}
