// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Comparisons of runs whose figures the tests made up, so that the answers are known.

mod gates;
mod grounds;
mod remarks;
mod unreadable;

use std::fs;
use std::path::Path;

use punctual_model::{RunRecord, Sample};
use punctual_store::{Raw, Store};
use serde_json::{Value, json};

use crate::common::{Answer, Home, stored};
use crate::schema::{assert_valid, schema};

/// A run that was made up.
#[derive(Clone)]
struct Run {
    p99_us: f64,
    max_us: f64,
    second: usize,
    tags: Value,
    valid: bool,
    name: Option<&'static str>,
}

/// Runs with these values of p99, ten seconds apart from `from` on.
fn runs(from: usize, every: usize, p99_us: &[f64]) -> Vec<Run> {
    let one = |(at, p99_us): (usize, &f64)| Run {
        p99_us: *p99_us,
        max_us: p99_us * 3.0,
        second: from + every * at,
        tags: json!({}),
        valid: true,
        name: None,
    };
    p99_us.iter().enumerate().map(one).collect()
}

/// A store of made-up runs.
struct Bench {
    home: Home,
    record: Value,
    made: std::cell::Cell<usize>,
}

impl Bench {
    fn new() -> Self {
        let home = Home::aside();
        fs::create_dir_all(home.runs_dir()).unwrap();
        Self {
            home,
            record: stored::record(),
            made: 0.into(),
        }
    }

    fn record(&self, run: &Run) -> Value {
        let number = self.made.get();
        self.made.set(number + 1);
        let mut record = self.record.clone();
        let ns = |us: f64| format!("{:.0}", us * 1e3).parse::<u64>().unwrap();
        record["id"] = json!(format!("01900000-0000-7000-8000-{number:012x}"));
        let (minute, second) = (run.second / 60, run.second % 60);
        record["started"] = json!(format!("2026-01-01T00:{minute:02}:{second:02}Z"));
        record["name"] = json!(run.name);
        record["tags"] = run.tags.clone();
        record["valid"] = json!(run.valid);
        record["checks"] = match run.valid {
            true => json!([]),
            false => json!([{"id": "throttling", "status": "fail", "detail": "hit"}]),
        };
        let total = &mut record["total"];
        total["count"] = json!(1_000);
        total["quantiles_ns"] = json!({"p99": ns(run.p99_us)});
        total["quantile_intervals_ns"] = json!({"p99": null});
        total["max_ns"] = json!(ns(run.max_us));
        record
    }

    /// Records of these runs, each changed in some way.
    fn records(&self, runs: &[Run], change: impl Fn(usize, &mut Value)) -> Vec<Value> {
        let one = |(at, run): (usize, &Run)| {
            let mut record = self.record(run);
            change(at, &mut record);
            record
        };
        runs.iter().enumerate().map(one).collect()
    }

    /// Writes runs below a directory, each in one of its own.
    fn write(&self, dir: &Path, runs: &[Run]) {
        write_records(dir, &self.records(runs, |_, _| {}));
    }

    /// Compares two groups, each a directory.
    fn compare(&self, a: &[Run], b: &[Run], args: &[&str]) -> Answer {
        let [a, b] = [a, b].map(|runs| self.records(runs, |_, _| {}));
        self.compare_records(&a, &b, args)
    }

    fn compare_records(&self, a: &[Value], b: &[Value], args: &[&str]) -> Answer {
        let number = self.made.get();
        self.made.set(number + 1);
        let dir = self.home.dir().join(format!("groups-{number}"));
        write_records(&dir.join("a"), a);
        write_records(&dir.join("b"), b);
        let groups = ["a", "b"].map(|g| format!("--group={g}={}", dir.join(g).display()));
        let all = ["compare", &groups[0], &groups[1]];
        self.home.run(all.iter().chain(args))
    }
}

fn write_records(dir: &Path, records: &[Value]) {
    for record in records {
        let dir = dir.join(record["id"].as_str().unwrap());
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("run.json"), record.to_string()).unwrap();
    }
}

const QUIET: [f64; 6] = [50.0, 50.4, 49.8, 50.2, 49.6, 50.1];
const SLOW: [f64; 6] = [60.1, 59.5, 60.3, 60.2, 59.9, 60.0];

fn p99(answer: &Answer) -> Value {
    let results = answer.json()["results"].clone();
    let mut results = results.as_array().unwrap().clone().into_iter();
    results.find(|result| result["figure"] == "p99").unwrap()
}

fn has_remark(answer: &Answer, id: &str) -> bool {
    let remarks = answer.json()["remarks"].clone();
    remarks.as_array().unwrap().iter().any(|r| r["id"] == id)
}

#[test]
fn an_effect_is_found_and_fails_a_gate_only_in_the_bad_direction() {
    let bench = Bench::new();
    let (a, b) = (runs(0, 20, &QUIET), runs(10, 20, &SLOW));
    let asked = ["--json", "--metric=p99", "--fail-on=worse"];
    let worse = bench.compare(&a, &b, &asked);
    assert_eq!(worse.code(), 3, "{worse:#?}");
    assert_valid(&schema("comparison.schema.json"), &worse.json());
    let result = p99(&worse);
    assert_eq!(result["verdict"], "worse");
    // All of one above all of the other: 2 of the 924 arrangements of 6 and 6.
    assert_eq!(result["exact"], true);
    assert!(
        (result["p"].as_f64().unwrap() - 2.0 / 924.0).abs() < 1e-9,
        "{result}"
    );
    let ratio = &result["ratio"];
    assert!(
        (ratio["estimate"].as_f64().unwrap() - 1.2).abs() < 0.01,
        "{result}"
    );
    let ends = &ratio["interval"];
    assert!(ends["low"].as_f64().unwrap() > 1.18 && ends["high"].as_f64().unwrap() < 1.22);
    assert!(
        result["smallest_detectable"].as_f64().unwrap() < 0.05,
        "{result}"
    );

    let better = bench.compare(&b, &a, &asked);
    assert_eq!(p99(better.fine())["verdict"], "better");
    let both = bench.compare(&b, &a, &["--metric=p99", "--fail-on=worse,different"]);
    assert_eq!(both.code(), 3);
    assert!(both.stdout.contains("better"), "{}", both.stdout);
}

#[test]
fn the_same_is_shown_only_where_it_is_asked_for() {
    let bench = Bench::new();
    let (a, b) = (
        runs(0, 20, &QUIET),
        runs(10, 20, &[50.1, 50.3, 49.7, 50.0, 49.9, 50.2]),
    );
    let plain = bench.compare(&a, &b, &["--json", "--metric=p99"]);
    assert_eq!(p99(plain.fine())["verdict"], "not_distinguishable");
    let gate = [
        "--json",
        "--metric=p99",
        "--equivalence=5%",
        "--fail-on=not-equivalent",
    ];
    let same = bench.compare(&a, &b, &gate);
    assert_eq!(p99(same.fine())["verdict"], "equivalent");
    assert!(p99(&same)["equivalence_p"].as_f64().unwrap() < 0.05);
    // 20 % apart is not the same within 5 %.
    let apart = bench.compare(&a, &runs(10, 20, &SLOW), &gate);
    assert_eq!(apart.code(), 3);
    bench
        .compare(&a, &b, &["--fail-on=not-equivalent"])
        .error(2, &["--equivalence"]);
}

#[test]
fn no_worse_than_a_margin_is_a_question_of_its_own() {
    let bench = Bench::new();
    let a = runs(0, 20, &QUIET);
    let with = |p99_us: &[f64], args: &[&str]| bench.compare(&a, &runs(10, 20, p99_us), args);
    let gate = [
        "--json",
        "--metric=p99",
        "--not-worse=10%",
        "--fail-on=may-be-worse",
    ];
    // 2 % up, and sure of it: an effect that the margin allows.
    let little: Vec<f64> = QUIET.iter().map(|us| us * 1.02).collect();
    let answer = with(&little, &gate);
    assert_eq!(p99(answer.fine())["verdict"], "not_worse");
    assert!(p99(&answer)["equivalence_p"].as_f64().unwrap() < 0.05);
    assert_eq!(answer.json()["method"]["not_worse"], 0.1);
    let text = with(&little, &["--metric=p99", "--not-worse=10%"]);
    let said = text.fine().stdout.split_whitespace();
    let said = said.collect::<Vec<_>>().join(" ");
    assert!(said.contains("not worse by 10 %, p 0.0"), "{said}");
    // Far down is better, and passes; far up is worse, and does not.
    let fast: Vec<f64> = QUIET.iter().map(|us| us * 0.7).collect();
    assert_eq!(p99(with(&fast, &gate).fine())["verdict"], "better");
    assert_eq!(with(&SLOW, &gate).code(), 3);
    // Neither shown is a failure too: a gate must not open for want of runs.
    let wide = with(&[40.0, 70.0, 35.0, 62.0, 44.0, 55.0], &gate);
    assert_eq!(
        (wide.code(), &p99(&wide)["verdict"]),
        (3, &json!("too_few_runs"))
    );

    with(&SLOW, &["--fail-on=may-be-worse"]).error(2, &["--not-worse"]);
    let both = ["--not-worse=10%", "--equivalence=10%"];
    with(&SLOW, &both).error(2, &["--equivalence"]);
}

#[test]
fn one_run_a_side_concludes_nothing_and_shows_the_distributions() {
    let bench = Bench::new();
    let (a, b) = (runs(0, 20, &[50.0]), runs(10, 20, &[500.0]));
    let answer = bench.compare(&a, &b, &["--json", "--fail-on=worse"]);
    assert_eq!(answer.code(), 6, "{answer:#?}");
    let result = p99(&answer);
    assert_eq!(result["verdict"], "too_few_runs");
    assert_eq!(result["p"], Value::Null);
    assert!(result["more_runs"].as_u64().unwrap() >= 2, "{result}");
    assert!(has_remark(&answer, "one-run"));
    let distribution = &answer.json()["groups"][1]["distribution"];
    assert_eq!(distribution["quantiles_ns"]["p99"], 500_000);
    let text = bench.compare(&a, &b, &["--fail-on=too-few-runs"]);
    assert_eq!(text.code(), 3);
    for part in [
        "say nothing about other boots",
        "Samples of groups of one run in µs",
    ] {
        assert!(
            text.stdout.replace("\n   ", " ").contains(part),
            "{}",
            text.stdout
        );
    }
}

#[test]
fn runs_of_an_experiment_are_compared_inside_their_blocks() {
    let bench = Bench::new();
    // Blocks differ by far more than the groups do.
    let base = [10.0, 100.0, 30.0, 300.0, 20.0, 60.0, 150.0];
    let in_blocks = |factor: f64, from| -> Vec<Run> {
        let values = base.map(|us| us * factor);
        let mut all = runs(from, 20, &values);
        for (block, run) in all.iter_mut().enumerate() {
            run.tags = json!({"experiment": "x", "block": block.to_string()});
        }
        all
    };
    let (mut a, b) = (in_blocks(1.0, 0), in_blocks(1.2, 10));
    a[3].p99_us *= 1.01;
    let paired = bench.compare(&a, &b, &["--json", "--metric=p99"]);
    let result = p99(paired.fine());
    assert_eq!(
        (&result["verdict"], &result["pairs"]),
        (&json!("worse"), &json!(7))
    );
    let unpaired = bench.compare(&a, &b, &["--json", "--metric=p99", "--unpaired"]);
    assert_eq!(p99(unpaired.fine())["verdict"], "too_few_runs");
    assert_eq!(p99(&unpaired)["pairs"], Value::Null);
}

#[test]
fn a_hierarchical_interval_says_what_it_drew_from() {
    let bench = Bench::new();
    let store = Store::open(bench.home.dir().join("made")).unwrap();
    // Runs of 3,200 samples about their boot's level, written with them.
    for (side, level) in [("a", 1.0), ("b", 1.3)] {
        for (number, run) in runs(0, 20, &QUIET).iter().enumerate() {
            let boot = run.p99_us * level;
            let level: u64 = format!("{:.0}", boot * 1e3).parse().unwrap();
            let ns = |i: u64| level + i * 7_919 % 5_000;
            let mut run = run.clone();
            run.tags = json!({"side": side, "n": number.to_string()});
            let mut record = bench.record(&run);
            record["total"]["count"] = json!(3_200);
            record["total"]["quantiles_ns"] = json!({"p99": level + 4_950, "p50": level});
            let interval = json!({"low": boot * 990.0, "high": boot * 1010.0, "confidence": 0.95});
            record["total"]["quantile_intervals_ns"] = json!({"p50": interval});
            record["total"]["mean_ns"] = json!(boot * 1e3);
            record["total"]["mean_interval_ns"] = interval;
            let record: RunRecord = serde_json::from_value(record).unwrap();
            let mut writer = store.begin(record.id.parse().unwrap(), Raw::Keep).unwrap();
            let samples = (0..3_200).map(|i| Sample {
                t_ns: i * 1_000_000,
                latency_ns: ns(i),
                cpu: 0,
                skipped: 0,
            });
            writer.samples(0, &samples.collect::<Vec<_>>()).unwrap();
            writer.finish(&record).unwrap();
        }
    }
    let made = bench.home.dir().join("made");
    let compare = |more: &[&str]| {
        let home = format!("--home={}", made.display());
        let call = [
            &home,
            "compare",
            "--group=tag=side=a",
            "--group=tag=side=b",
            "--metric=p99,max",
        ];
        bench.home.run(call.iter().chain(more))
    };
    let answer = compare(&["--interval=hierarchical", "--json"]);
    let result = |name: &str| {
        let results = answer.json()["results"].clone();
        let mut results = results.as_array().unwrap().clone().into_iter();
        results.find(|result| result["figure"] == name).unwrap()
    };
    assert_valid(&schema("comparison.schema.json"), &answer.fine().json());
    assert_eq!(result("p99")["interval_method"], "hierarchical");
    assert_eq!(result("p99")["interval_level"], "samples");
    let ends = &result("p99")["ratio"]["interval"];
    assert!(ends["low"].as_f64().unwrap() < 1.3 && ends["high"].as_f64().unwrap() > 1.2);
    // The largest sample cannot be drawn again.
    assert_eq!(result("max")["interval_method"], "studentised");
    assert_eq!(result("max")["interval_level"], Value::Null);
    let text = compare(&["--interval=hierarchical"]);
    let text = text
        .fine()
        .stdout
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    assert!(
        text.contains("inside each over blocks of its samples: p99"),
        "{text}"
    );
    assert!(
        text.contains("over runs alone, which tell nothing of what is inside: max"),
        "{text}"
    );

    // Without the samples, what the runs recorded of a figure.
    for run in fs::read_dir(made.join("runs")).unwrap() {
        fs::remove_file(run.unwrap().path().join("samples.zst")).unwrap();
    }
    let answer = compare(&["--interval=hierarchical", "--json", "--metric=p50"]);
    let results = answer.fine().json()["results"].clone();
    let level = |name: &str| {
        let mut results = results.as_array().unwrap().iter();
        results.find(|result| result["figure"] == name).unwrap()["interval_level"].clone()
    };
    assert_eq!(
        (level("p50"), level("p99")),
        (json!("intervals"), Value::Null)
    );
}

#[test]
fn invalid_runs_are_refused_unless_they_are_asked_for() {
    let bench = Bench::new();
    let (a, mut b) = (runs(0, 20, &QUIET), runs(10, 20, &SLOW));
    b[2].valid = false;
    let answer = bench.compare(&a, &b, &["--json", "--metric=p99"]);
    let group = &answer.fine().json()["groups"][1];
    assert_eq!(group["runs"].as_array().unwrap().len(), 5);
    assert!(
        group["refused"][0]["reason"]
            .as_str()
            .unwrap()
            .contains("throttling")
    );
    let all = bench.compare(&a, &b, &["--json", "--metric=p99", "--allow-invalid"]);
    assert_eq!(p99(all.fine())["candidate"]["runs"], 6);
    assert!(has_remark(&all, "validity"));
}

#[test]
fn several_figures_share_the_level() {
    let bench = Bench::new();
    let (a, b) = (runs(0, 20, &QUIET), runs(10, 20, &SLOW));
    let answer = bench.compare(&a, &b, &["--json", "--metric=p99,max"]);
    let result = p99(answer.fine());
    assert_eq!(answer.json()["method"]["tests"], 2);
    let [p, adjusted] = ["p", "adjusted_p"].map(|name| result[name].as_f64().unwrap());
    // Two figures, and with runs enough for what matters 0.64 of the level.
    assert!((adjusted - 2.0 * p / 0.64).abs() < 1e-12, "{p}, {adjusted}");
}

#[test]
fn groups_are_named_by_tag_pattern_and_id() {
    let bench = Bench::new();
    let tagged = |from, values: &[f64], tag: &str, name| -> Vec<Run> {
        let mut all = runs(from, 20, values);
        for run in &mut all {
            run.tags = json!({"kernel": tag});
            run.name = Some(name);
        }
        all
    };
    let store = bench.home.runs_dir();
    bench.write(&store, &tagged(0, &QUIET, "stock", "before-1"));
    bench.write(&store, &tagged(10, &SLOW, "rt", "after-1"));
    for groups in [
        ["--group=tag=kernel=stock", "--group=tag=kernel=rt"],
        ["before-*", "after-?"],
        ["before-1", "--group=x=tag:kernel=rt"],
    ] {
        let answer = bench
            .home
            .run(["compare", "--json", "-m", "p99"].iter().chain(&groups));
        let result = p99(answer.fine());
        assert_eq!(result["verdict"], "worse", "{groups:?}");
        assert_eq!(result["baseline"]["runs"], 6, "{groups:?}");
    }
    let id = "01900000-0000-7000-8000-000000000000";
    let one = bench
        .home
        .run(["compare", "--json", "-m", "p99", id, "after-1"]);
    assert_eq!(p99(one.fine())["baseline"]["runs"], 1);
    for (args, parts) in [
        (
            vec!["before-1", "before-*"],
            &["is in `before-1` and in `before-*`"][..],
        ),
        (vec!["before-1"], &["two groups"]),
        (
            vec!["before-1", "before-1"],
            &["`before-1` is compared with itself", "different runs"],
        ),
        (
            vec!["-g", "x=before-1", "-g", "x=after-1"],
            &[
                "two groups are named `x`, of different runs",
                "--group NAME=RUNS",
            ],
        ),
        (
            vec!["-g", "side=a", "-g", "side=b"],
            &["two groups are named `side`", "--group tag=side=b"],
        ),
        (vec!["before-1", "--group=after"], &["NAME=RUNS"]),
        (vec!["before-1", "after-1", "--metric=p100"], &["`p100`"]),
        (
            vec!["before-1", "after-1", "--require=p99 < 5us"],
            &["p99 < 5us"],
        ),
        (
            vec!["before-1", "after-1", "--equivalence=5"],
            &["percent sign"],
        ),
    ] {
        bench
            .home
            .run(["compare"].iter().chain(&args))
            .error(2, parts);
    }
    for (args, code, part) in [
        (["before-1", "nobody-*"], 2, "none found"),
        (["before-1", "tag:kernel=xyz"], 2, "none found"),
        (["before-1", "./nowhere"], 1, "nowhere"),
    ] {
        bench
            .home
            .run(["compare"].iter().chain(&args))
            .error(code, &[part]);
    }
    let tag = ["compare", "-g", "kernel=stock", "-g", "b=after-1"];
    bench.home.run(tag).error(2, &["--group tag=kernel=stock"]);
    let none = ["compare", "before-1", "after-1", "--metric=gflops"];
    bench.home.run(none).error(1, &["gflops"]).hinted();
}

#[test]
fn a_requirement_passes_fails_or_cannot_be_claimed() {
    let bench = Bench::new();
    let with = |count: u64, above: u64| -> Vec<Run> {
        let mut all = runs(0, 20, &QUIET);
        for run in &mut all {
            run.tags = json!({"count": count, "above": above});
        }
        all
    };
    let ruled = |count: u64, above: u64, requirement: &str, burst: &str| {
        let dir = bench.home.dir().join(format!("of-{count}-{above}"));
        for group in ["a", "b"] {
            for run in with(count, above) {
                let mut record = bench.record(&run);
                record["tags"] = json!({});
                // One thread at 1 ms.
                record["series"] = json!([]);
                record["duration_ns"] = json!(count * 1_000_000);
                record["total"]["count"] = json!(count);
                record["total"]["overruns"] = json!(0);
                record["total"]["misses"] =
                    json!([{"deadline_ns": 100_000, "count": above, "overruns": 0}]);
                let dir = dir.join(group).join(record["id"].as_str().unwrap());
                fs::create_dir_all(&dir).unwrap();
                fs::write(dir.join("run.json"), record.to_string()).unwrap();
            }
        }
        let [a, b] = ["a", "b"].map(|group| dir.join(group).display().to_string());
        let answer = bench
            .home
            .run(["compare", "--json", "--require", requirement, burst, &a, &b]);
        let result = answer.json()["requirements"][0]["result"].clone();
        let code = answer.code();
        fs::remove_dir_all(&dir).unwrap();
        (code, result)
    };
    let (code, pass) = ruled(100_000, 0, "p99.99 <= 100us", "--burst=1ms");
    assert_eq!((code, &pass["ruling"]), (0, &json!("pass")), "{pass}");
    assert_eq!(pass["samples"], 600_000);
    let (code, fail) = ruled(100_000, 1_000, "p99.99 <= 100us", "--burst=1ms");
    assert_eq!((code, &fail["ruling"]), (3, &json!("fail")), "{fail}");
    let (code, seen) = ruled(100_000, 1, "no sample > 100us", "--burst=1ms");
    assert_eq!((code, &seen["ruling"]), (3, &json!("fail")), "{seen}");
    let (code, few) = ruled(1_000, 0, "p99.99 <= 100us", "--burst=1ms");
    assert_eq!((code, &few["ruling"]), (3, &json!("unclaimed")), "{few}");
    // Wilks: 29 956 samples without one above show 99.99 % with 95 %.
    assert_eq!(few["samples_to_pass"], 29_956);
    // Bursts of 100 ms, which is the default, are another matter: 600 s are 6000 trials.
    let (code, by_time) = ruled(100_000, 0, "p99.99 <= 100us", "--burst=100ms");
    assert_eq!(
        (code, &by_time["effective"]),
        (3, &json!(6_000)),
        "{by_time}"
    );
    assert_eq!(by_time["time_to_pass_ns"], 2_995_700_000_000_u64);
    let (code, these) = ruled(100_000, 0, "p99.9 <= 100us", "--burst=100ms");
    assert_eq!((code, &these["rests_on"]), (0, &json!("time")), "{these}");
    assert!(these["runs_over_at_most"].as_f64() > Some(0.3), "{these}");
}

#[test]
fn a_published_table_is_answered_with_what_it_cannot_say() {
    let home = Home::aside();
    let table = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/data/anaya2018.csv");
    let question = [
        "compare",
        "--table",
        table,
        "--better=higher",
        "--unit=MB/s",
    ];
    let pair = home.run(question.iter().chain(&["950000", "900000", "--json"]));
    assert_valid(&schema("comparison.schema.json"), &pair.fine().json());
    let result = &pair.json()["results"][0];
    assert!((result["p"].as_f64().unwrap() - 0.0157).abs() < 1e-4);
    assert!(has_remark(&pair, "one-of-many") && has_remark(&pair, "runs-by-noise"));
    // Beside all the others of the table, nothing is left of it.
    let levels = [
        "950000", "1000000", "900000", "800000", "700000", "600000", "500000", "400000", "300000",
        "200000", "100000",
    ];
    let all = home.run(question.iter().chain(&["--json"]).chain(&levels));
    let results = all.fine().json()["results"].clone();
    let results = results.as_array().unwrap();
    assert_eq!(results.len(), 10);
    for result in results {
        assert_eq!(result["verdict"], "too_few_runs", "{result}");
    }
    home.run(question.iter().chain(&["950000", "1"]))
        .error(2, &["no line is named `1`"]);
    home.run(question.iter().chain(&["950000", "950000"]))
        .error(2, &["`950000` is named twice"]);
    home.run(question.iter().chain(&["950000"]))
        .error(2, &["only `950000` was named"]);
    home.run(["compare", "--table", "/nonexistent.csv"])
        .error(1, &["/nonexistent.csv"]);
}
