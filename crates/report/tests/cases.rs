// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What was left out or has no value is a case that does not pass.

use punctual_model::{History, Machines};
use punctual_report::document::Material;
use punctual_report::export::{Case, Outcome, cases};
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
        }],
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
            ("p50", "no new change, 2 runs", Outcome::Passed),
            ("p99", "no value in the newest run, 2 runs", Outcome::Error),
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
                figure("max", false, &[0]),
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
