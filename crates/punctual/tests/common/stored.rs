// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Valid runs, on every machine: one that was recorded, and evidence that the tests supply themselves.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// Returns the record of a valid run of one thread that took 20 samples.
pub(crate) fn record() -> Value {
    serde_json::from_str(include_str!("../stored/wakeup.json")).unwrap()
}

/// Supplies the evidence that nothing disturbed the runs of a store: every check passes, no load had a fault, and the
/// experiments know. What was measured stays. Of a slot that was tried again it is the last try that counts.
pub(crate) fn vouch_for(store: &Path) {
    let repeated: BTreeSet<String> = below(&store.join("experiments"))
        .iter()
        .flat_map(|experiment| vouch_in_log(&experiment.join("log.jsonl")))
        .collect();
    for run in below(&store.join("runs")) {
        let id = run.file_name().unwrap().to_string_lossy().into_owned();
        if !repeated.contains(&id) {
            vouch_for_run(&run.join("run.json"));
        }
    }
    // Derived from the runs, which are others now.
    drop(fs::remove_file(store.join("index.sqlite")));
}

fn below(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten();
    entries.map(|entry| entry.unwrap().path()).collect()
}

fn vouch_for_run(path: &Path) {
    let mut record: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    for check in record["checks"].as_array_mut().unwrap() {
        if check["status"] != "pass" {
            check["status"] = json!("pass");
            check["detail"] = json!("as the test says");
        }
    }
    let loads = record.get_mut("loads").and_then(Value::as_array_mut);
    for load in loads.into_iter().flatten() {
        load["fault"] = Value::Null;
    }
    record["valid"] = json!(true);
    fs::write(path, record.to_string()).unwrap();
}

/// Makes the last recorded try of each slot a valid one, and returns the others.
fn vouch_in_log(path: &Path) -> Vec<String> {
    let text = String::from_utf8(fs::read(path).unwrap()).unwrap();
    let mut lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let mut slots = BTreeMap::new();
    let mut last = BTreeMap::new();
    let mut recorded = Vec::new();
    for line in &lines {
        let run = line["run"].as_str().unwrap_or_default().to_owned();
        if line["event"] == "begin" {
            let slot = ["block", "cell", "measurement"].map(|key| line[key].as_u64().unwrap());
            slots.insert(run, slot);
        } else if line["end"] == "valid" || line["end"] == "invalid" {
            last.insert(slots[&run], run.clone());
            recorded.push(run);
        }
    }
    let counts = |run: &str| last.values().any(|last| last == run);
    for line in &mut lines {
        if line["end"] == "invalid" && counts(line["run"].as_str().unwrap()) {
            line["end"] = json!("valid");
            line.as_object_mut().unwrap().remove("detail");
        }
    }
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    fs::write(path, text).unwrap();
    recorded.retain(|run| !counts(run));
    recorded
}
