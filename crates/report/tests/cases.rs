// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What was left out or has no value is a case that does not pass.
#![expect(clippy::unwrap_used, reason = "test helpers")]

mod common;

use punctual_model::tasks::TasksRun;
use punctual_model::{
    Better, Check, ComparisonVerdict, Ended, Figure, History, Machines, Nanos, Policy, RunRecord,
    Series, Setup,
};
use punctual_report::document::{Material, RunItem};
use punctual_report::export::{Case, Outcome, cases};
use punctual_verdict::comparison::{ComparisonRequest, GroupInput, RunInput, compare};
use punctual_verdict::gate;
use punctual_verdict::requirement::require;
use serde_json::{Value, json};

fn outcomes(cases: &[Case]) -> Vec<(&str, &str, Outcome)> {
    cases
        .iter()
        .map(|case| (case.name.as_str(), case.detail.as_str(), case.outcome))
        .collect()
}

fn series(figure: &str, values: &[Option<f64>]) -> Value {
    json!({
        "figure": figure, "unit": "ns", "better": "lower", "scale": "log", "verdict": "no_change", "values": values,
        "changes": [], "segments": [], "deviation": null, "deviation_interval": null, "freedom": null, "correlation": 0.0,
        "p": null, "newest_p": null,
    })
}

#[test]
fn of_a_history_a_run_that_was_left_out_and_a_newest_run_without_the_figure_are_errors() {
    let history: History = serde_json::from_value(json!({
        "format": "punctual.history/1",
        "method": {
            "by": "run", "level": 0.05, "series": 2, "look_level": 0.001, "recent": 10, "confidence": 0.95, "draws": 1,
            "seed": 1,
        },
        "lines": [{
            "name": "bench", "runs": [],
            "series": [
                series("p50", &[Some(1.0), None, Some(1.0)]),
                series("p99", &[Some(1.0), Some(1.0), None]),
            ],
        }, {"name": "of another policy", "runs": [], "series": []}],
        "missing": ["p99.999"],
        "refused": [{"id": "x", "reason": "invalid (steal)"}],
    }))
    .unwrap();
    let found = cases(&Material {
        histories: vec![history],
        ..Material::default()
    });
    assert_eq!(
        outcomes(&found),
        [
            ("p50", "no new change (2 runs in all)", Outcome::Passed),
            (
                "p99",
                "no value in the newest run (2 runs in all)",
                Outcome::Error
            ),
            (
                "figures",
                "none of its runs has a figure that was asked for",
                Outcome::Error
            ),
            ("p99.999", "no run has it", Outcome::Error),
            ("run x", "invalid (steal)", Outcome::Error),
        ]
    );
}

fn figure(name: &str, judged: bool, machines: &[u64]) -> Value {
    let value = |machine: &u64| {
        json!({
            "machine": machine, "runs": 4, "estimate": 1.0, "interval": null, "distance": 0.0, "outlier": false,
        })
    };
    json!({
        "figure": name, "unit": "ns", "better": "lower", "scale": "log", "judged": judged, "mean": 1.0, "interval": null,
        "between_machines": null, "between_runs": null, "machines": machines.iter().map(value).collect::<Vec<_>>(),
    })
}

#[test]
fn of_machines_one_without_a_value_is_not_like_the_others() {
    let machine = |name: &str| json!({"name": name, "runs": 4});
    let fleet: Machines = serde_json::from_value(json!({
        "format": "punctual.machines/1",
        "method": {"level": 0.05, "tests": 2, "confidence": 0.95, "least_machines": 8},
        "groups": [{
            "name": "all", "outliers": [],
            "machines": [machine("a"), machine("b")],
            "figures": [
                figure("p50", true, &[0, 1]),
                figure("p99", true, &[0]),
            ],
        }],
        "refused": [{"id": "x", "reason": "its machine has no name"}],
    }))
    .unwrap();
    let found = cases(&Material {
        machines: vec![fleet],
        ..Material::default()
    });
    assert_eq!(
        outcomes(&found),
        [
            ("a", "like the others in 2 figures, 4 runs", Outcome::Passed),
            ("b", "no value of p99, 4 runs", Outcome::Error),
            ("run x", "its machine has no name", Outcome::Error),
        ]
    );
}

#[test]
fn of_machines_a_figure_that_was_not_judged_is_an_error_of_each() {
    let machine = |name: &str| json!({"name": name, "runs": 4});
    let mut max = figure("max", false, &[0, 1]);
    max["withheld"] = json!({"reason": "lengths", "detail": "runs have 10 to 20 samples"});
    let fleet: Machines = serde_json::from_value(json!({
        "format": "punctual.machines/1",
        "method": {"level": 0.05, "tests": 2, "confidence": 0.95, "least_machines": 8},
        "groups": [{
            "name": "all", "outliers": [],
            "machines": [machine("a"), machine("b")],
            "figures": [figure("p50", true, &[0, 1]), max],
        }],
    }))
    .unwrap();
    let found = cases(&Material {
        machines: vec![fleet],
        ..Material::default()
    });
    let detail = "no verdict on max: unequal lengths, 4 runs";
    assert_eq!(
        outcomes(&found),
        [("a", detail, Outcome::Error), ("b", detail, Outcome::Error)]
    );
}

fn setup(deadline: &str) -> Setup {
    Setup {
        cpus: "0".parse().unwrap(),
        priority: Policy::Fifo { priority: 80 },
        duration_ns: None,
        dma_latency_ns: None,
        mlock: true,
        housekeeping: "1".parse().unwrap(),
        loads: Vec::new(),
        options: [("deadline".to_owned(), deadline.to_owned())].into(),
    }
}

/// A run of `measure deadline`: its total has no samples.
fn of_deadline(deadline: &str) -> RunRecord {
    let series = Series {
        misses: common::misses(&[(10_100, 3)]),
        ..common::series(0)
    };
    RunRecord {
        setup: Some(setup(deadline)),
        series: vec![series],
        total: Series::default(),
        ..common::run()
    }
}

fn of_tasks(above: u64) -> RunRecord {
    let task = json!({
        "name": "control", "jobs": 100, "missed": 0, "overruns": 0, "unfinished": 0, "longest_response_ns": null,
        "longest_execution_ns": null, "latest_release_ns": null, "preemptions": 0, "above_bound": above, "examined": 0,
        "broke": [], "worst": null,
    });
    let bound = json!({
        "name": "control", "cpus": "0", "verdict": "met", "response_ns": 1000, "exact": true, "slack_ns": 0,
        "utilisation": 0.1, "blocking_ns": 0, "interference": [], "why": null,
    });
    let set = json!({
        "name": "set", "order": "rate-monotonic", "tasks": [], "resources": [],
        "overheads": {"wake_up_ns": 0, "switch_ns": 0, "interrupts": [], "observed_in": null},
    });
    let run: TasksRun = serde_json::from_value(json!({
        "check": {
            "format": "punctual.tasks-check/1", "set": set, "verdict": "shown", "tasks": [bound], "tests": [],
            "growth": null, "breaks_first": null, "optimal_order": null, "order": "rate-monotonic", "partitions": [],
            "admission": null, "assumptions": [], "not_understood": [],
        },
        "work": 1.0, "tasks": [task],
    }))
    .unwrap();
    RunRecord {
        tasks: Some(Box::new(run)),
        ..common::run()
    }
}

fn of_pi(inverted: f64) -> RunRecord {
    let share = |protocol, value| {
        Figure::single("inverted", "1", Better::Lower, value).at("protocol", protocol)
    };
    RunRecord {
        instrument: "pi".to_owned(),
        figures: vec![share("none", 1.0), share("inherit", inverted)],
        ..common::run()
    }
}

fn of_wakeup(threshold_us: u64, ended: Ended) -> RunRecord {
    let mut run = common::run();
    run.ended = Some(ended);
    if let Some(spec) = &mut run.spec {
        spec.on_threshold_ns = Some(Nanos::from_micros(threshold_us));
    }
    run
}

/// The cases of a run but for its checks.
fn asked(record: RunRecord) -> Vec<Case> {
    let mut cases = cases(&Material {
        runs: vec![RunItem::from(record)],
        ..Material::default()
    });
    cases.retain(|case| !case.name.starts_with("check "));
    cases
}

#[test]
fn whatever_fails_the_exit_status_of_a_run_fails_a_case() {
    let mut missed = common::run();
    missed.total.misses = common::misses(&[(100, 2)]);
    missed.total.count = 1_998;
    missed.total.overruns = Some(2);
    missed.total.misses[0].overruns = 2;
    let unmet = [
        (missed, "deadline 100 µs", "4 of 2000 wake-ups later"),
        (
            of_deadline("10.1ms"),
            "deadline 10.1 ms",
            "3 of 50000 wake-ups later",
        ),
        (
            of_wakeup(5, Ended::Threshold),
            "threshold 5 µs",
            "a sample above it ended the run",
        ),
        (
            of_tasks(7),
            "bound of task control",
            "7 of 100 jobs took longer than the bound by analysis",
        ),
        (
            of_pi(0.25),
            "bounded wait with protocol inherit",
            "the medium-priority thread ran first in 25.00 % of 1 cycles",
        ),
    ];
    for (run, name, detail) in unmet {
        assert!(gate::asked(&run).iter().any(|asked| !asked.met), "{name}");
        let found = asked(run);
        assert_eq!(outcomes(&found), [(name, detail, Outcome::Failed)]);
    }
}

#[test]
fn what_was_asked_and_holds_passes_and_a_calibrated_deadline_is_not_asked() {
    for run in [of_wakeup(5, Ended::Completed), of_tasks(0), of_pi(0.0)] {
        let found = asked(run.clone());
        let all: Vec<Outcome> = found.iter().map(|case| case.outcome).collect();
        assert_eq!(all, [Outcome::Passed], "{found:?}");
        let mut invalid = run;
        invalid.valid = false;
        let found = asked(invalid);
        assert_eq!(found[0].outcome, Outcome::Error, "{found:?}");
    }
    assert_eq!(asked(of_deadline("auto:1.05")), []);
}

#[test]
fn a_case_of_a_comparison_says_its_verdict_and_no_other() {
    let run = |name: &str, number: u32, ns: f64| {
        let mut record = common::run();
        record.id = format!("{name}-{number}");
        record.total.mean_ns = Some(ns * (1.0 + 0.001 * f64::from(number)));
        RunInput {
            record,
            histogram: None,
            required: None,
            blocks: None,
            started_s: None,
        }
    };
    let group = |name: &str| GroupInput {
        name: name.to_owned(),
        runs: (0..8).map(|number| run(name, number, 30e3)).collect(),
        refused: Vec::new(),
    };
    let groups = vec![group("base"), group("other")];
    let asked = ComparisonRequest {
        metrics: vec!["mean".parse().unwrap()],
        ..ComparisonRequest::default()
    };
    let mut comparison = compare(groups, &asked).unwrap();
    let said = [
        (ComparisonVerdict::Better, "better than base: "),
        (ComparisonVerdict::Worse, "worse than base: "),
        (ComparisonVerdict::NotWorse, "not worse than base: "),
        (ComparisonVerdict::Equivalent, "the same as base: "),
        (ComparisonVerdict::Different, "different from base: "),
        (
            ComparisonVerdict::NotDistinguishable,
            "not distinguishable from base: ",
        ),
        (
            ComparisonVerdict::TooFewRuns,
            "too few runs to tell from base: ",
        ),
    ];
    for (verdict, begin) in said {
        comparison.results[0].verdict = verdict;
        let found = cases(&Material {
            comparisons: vec![comparison.clone()],
            ..Material::default()
        });
        assert!(found[0].detail.starts_with(begin), "{}", found[0].detail);
    }
}

#[test]
fn runs_of_one_name_are_told_apart_by_their_ids() {
    let run = |id: &str, name: Option<&str>| {
        let mut record = common::run();
        record.id = id.to_owned();
        record.name = name.map(str::to_owned);
        RunItem::from(record)
    };
    let material = Material {
        runs: vec![
            run("01a21fbf-0001", Some("nightly")),
            run("01a21fbf-0002", Some("nightly")),
            run("01a21fbf-0003", Some("once")),
            run("01a21fbf-0004", None),
            run("01a21fbf-0005", None),
            run("01a21fbf-0006", Some("wakeup 2")),
        ],
        ..Material::default()
    };
    let mut suites: Vec<String> = cases(&material)
        .into_iter()
        .map(|case| case.suite)
        .collect();
    suites.dedup();
    let named = [
        "nightly …fbf-0001",
        "nightly …fbf-0002",
        "once",
        // What has no name has that of its instrument, every time the same.
        "wakeup",
        "wakeup 3",
        "wakeup 2",
    ];
    assert_eq!(suites, named.map(|name| format!("run {name}")));
}

#[test]
fn a_case_of_a_run_without_a_name_is_the_same_every_time() {
    let judged = |id: &str| {
        let mut record = common::run();
        record.id = id.to_owned();
        record.name = None;
        record.checks.push(Check::fail("steal", "too much"));
        cases(&Material {
            runs: vec![RunItem::from(record)],
            ..Material::default()
        })
    };
    let (one, other) = (judged("01a21fbf-0001"), judged("01a21fbf-0002"));
    let names = |cases: &[Case]| -> Vec<(String, String)> {
        let all = cases.iter();
        all.map(|case| (case.suite.clone(), case.name.clone()))
            .collect()
    };
    assert_eq!(names(&one), names(&other));
    let failed = one.iter().find(|case| case.outcome == Outcome::Failed);
    assert_eq!(failed.unwrap().detail, "too much (run 01a21fbf-0001)");
}

#[test]
fn a_requirement_about_all_jobs_does_not_stand_for_the_deadline_of_a_task() {
    let mut set = of_tasks(0);
    set.total.misses = common::misses(&[(20_000, 16)]);
    let requirement = "p90 <= 20ms".parse().unwrap();
    set.requirements = vec![require(&requirement, [(&set, None)].into_iter())];
    let deadline = |record: &RunRecord| {
        let found = asked(record.clone());
        found
            .iter()
            .any(|case| case.name == "deadline 20 ms" && case.outcome == Outcome::Failed)
    };
    assert!(deadline(&set));
    assert_eq!(gate::unmet(&set).count(), 1);
    // Of the threads of a measurement it does.
    set.tasks = None;
    assert!(!deadline(&set));
}
