// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Every JSON document is what its schema says.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::common::machine;
use crate::common::{Home, QUICK, assert_sound, worked};

pub(crate) fn schema(name: &str) -> jsonschema::Validator {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs/schemas")
        .join(name);
    let schema: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    jsonschema::validator_for(&schema).unwrap()
}

pub(crate) fn assert_valid(schema: &jsonschema::Validator, document: &Value) {
    let errors: Vec<String> = schema
        .iter_errors(document)
        .map(|err| format!("{}: {err}", err.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{errors:#?}");
}

/// Runs of every shape: with and without samples, threshold, precision, loads.
fn records(home: &Home) -> Vec<Value> {
    let ordinary = "--priority o --dma-latency off --interval 200us";
    let mut records: Vec<Value> = [
        "--samples 1 --threads 1",
        "--samples 2000 --raw --name n --note r --deadline 50us",
        "--duration 3h --on-threshold 1ns --threads 2",
        "--duration 5s --until p50:20% --until mean:50%",
        "--duration 100ms --pin none --load cpu:1 --warm-up 20ms --mlock off",
    ]
    .into_iter()
    .map(|args| home.measure(&format!("{ordinary} {args}")))
    .collect();
    // One without any sample.
    let running = home
        .start(QUICK.into_iter().chain(["--interval=1h"]))
        .measuring();
    running.signal("INT");
    records.push(running.wait().record());
    records
}

#[test]
fn records_are_sound_stored_as_printed_and_as_their_schema_says() {
    let home = Home::new();
    let schema = schema("run.schema.json");
    for record in records(&home) {
        assert_sound(&record);
        let file = home
            .runs_dir()
            .join(record["id"].as_str().unwrap())
            .join("run.json");
        let text = String::from_utf8(fs::read(file).unwrap()).unwrap();
        for word in ["NaN", "inf", "Infinity"] {
            assert!(!text.contains(&format!(": {word}")), "{word}");
        }
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), record);
        assert_valid(&schema, &record);
    }
}

#[test]
fn what_loads_did_is_as_its_schema_says() {
    let home = Home::new();
    let answer = home.run(["load", "cpu:1,memory:1M", "--json", "--duration", "1300ms"]);
    assert!(worked(&answer), "{answer:#?}");
    let report = answer.json();
    assert_valid(&schema("loads.schema.json"), &report);
    assert_eq!(report["valid"], answer.code() == 0);
    let loads = report["loads"].as_array().unwrap();
    assert_eq!(loads.len(), 2);
    for load in loads {
        let seconds = load["seconds"].as_array().unwrap();
        // Others may have kept it from its work.
        assert!(!seconds.is_empty() || answer.code() == 1, "{load:#}");
        let sum: f64 = seconds.iter().map(|s| s.as_f64().unwrap()).sum();
        assert!(sum <= load["work"].as_f64().unwrap(), "{load:#}");
    }
}

#[test]
fn a_schema_would_see_a_fault() {
    let schema = schema("run.schema.json");
    let home = Home::new();
    let mut record = home.quick(&[]);
    assert!(schema.is_valid(&record));
    record["total"]["count"] = (-1).into();
    assert!(!schema.is_valid(&record));
    record.as_object_mut().unwrap().remove("total");
    assert!(!schema.is_valid(&record));
}

#[test]
fn the_list_of_runs_is_sound() {
    let home = Home::new();
    let empty = home.run(["runs", "list", "--json"]).fine().json();
    assert_eq!(empty["format"], "punctual.runs/1");
    assert_eq!(empty["runs"], serde_json::json!([]));
    let records = records(&home);
    let list = home.run(["runs", "list", "--json"]).fine().json();
    let schema = schema("runs.schema.json");
    assert_valid(&schema, &empty);
    assert_valid(&schema, &list);
    let rows = list["runs"].as_array().unwrap();
    assert_eq!(rows.len(), records.len());
    // Newest first.
    for (row, record) in rows.iter().zip(records.iter().rev()) {
        assert_eq!(row["id"], record["id"]);
        assert_eq!(row["figures"]["count"], record["total"]["count"]);
        assert_eq!(
            row["figures"]["p99_ns"],
            record["total"]["quantiles_ns"]["p99"]
        );
        assert_eq!(row["figures"]["valid"], record["valid"]);
        assert_eq!(row["figures"]["ended"], record["ended"]);
    }
}

#[test]
fn an_assessment_is_as_its_schema_says_and_names_its_runs() {
    if !machine::root() {
        return;
    }
    let home = Home::new();
    let answer = home.run(["assess", "--duration=2s", "--json", "--quiet"]);
    let assessment = answer.json();
    assert_eq!(
        answer.code(),
        i32::from(assessment["valid"] != true),
        "{answer:#?}"
    );
    assert_valid(&schema("assessment.schema.json"), &assessment);
    let conditions = assessment["conditions"].as_array().unwrap();
    let names: Vec<&Value> = conditions.iter().map(|c| &c["name"]).collect();
    assert_eq!(names, ["idle", "kernel", "bridgers"]);
    let mut valid = true;
    for condition in conditions {
        assert_sound(&condition["run"]);
        valid &= condition["run"]["valid"] == true;
        let id = condition["run"]["id"].as_str().unwrap();
        let shown = home.run(["runs", "show", id, "--json"]);
        assert_eq!(shown.fine().json(), condition["run"]);
    }
    assert_eq!(assessment["valid"], valid);
}

#[test]
fn an_assessment_judges_the_deadline_that_it_was_asked_for() {
    if !machine::root() {
        return;
    }
    let home = Home::new();
    let args = [
        "assess",
        "--duration=2s",
        "--json",
        "--quiet",
        "--deadline=1ns",
    ];
    let answer = home.run(args);
    let assessment = answer.json();
    let deadlines = assessment["deadlines"].as_array().unwrap();
    assert_eq!(deadlines.len(), 1);
    assert_eq!(deadlines[0]["deadline_ns"], 1);
    // Every wake-up is later than that.
    let expected = if assessment["valid"] == true { 3 } else { 1 };
    assert_eq!(answer.code(), expected, "{answer:#?}");
    for run in assessment["conditions"].as_array().unwrap() {
        let total = &run["run"]["total"];
        assert_eq!(total["misses"][0]["count"], total["count"]);
    }
}
