// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Runs that an earlier program (2026-11-22) stored: its run directories, in `tests/stored/earlier`, but for the command line and
//! the release of the machine's kernel, which are made up. What they hold is what this program reads, whatever was added to the
//! format since.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::common::Home;

fn stored() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stored/earlier")
}

/// Puts all of them into the store of `home`, and returns their records.
fn put_into(home: &Home) -> Vec<Value> {
    fs::create_dir_all(home.runs_dir()).unwrap();
    let mut records = Vec::new();
    for run in fs::read_dir(stored()).unwrap() {
        let run = run.unwrap().path();
        let to = home.runs_dir().join(run.file_name().unwrap());
        fs::create_dir(&to).unwrap();
        for file in fs::read_dir(&run).unwrap() {
            let file = file.unwrap().path();
            fs::copy(&file, to.join(file.file_name().unwrap())).unwrap();
        }
        records.push(serde_json::from_slice(&fs::read(run.join("run.json")).unwrap()).unwrap());
    }
    assert!(records.len() >= 5, "{}", records.len());
    records
}

/// Requires that everything in `old` is the same in `new`, which may have more.
fn assert_within(old: &Value, new: &Value, place: &str) {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => {
            for (key, value) in old {
                let place = format!("{place}.{key}");
                let new = new.get(key).unwrap_or_else(|| panic!("{place} is gone"));
                assert_within(value, new, &place);
            }
        }
        (Value::Array(old), Value::Array(new)) => {
            assert_eq!(old.len(), new.len(), "{place}");
            for (n, (old, new)) in old.iter().zip(new).enumerate() {
                assert_within(old, new, &format!("{place}[{n}]"));
            }
        }
        _ => assert_eq!(old, new, "{place}"),
    }
}

#[test]
fn runs_of_an_earlier_program_read_as_they_were_stored() {
    let home = Home::aside();
    let records = put_into(&home);
    let list = home.list();
    assert_eq!(list.len(), records.len());
    assert!(
        list.iter().all(|run| run["unreadable"].is_null()),
        "{list:#?}"
    );
    for old in &records {
        let id = old["id"].as_str().unwrap();
        let new = home.run(["runs", "show", id, "--json"]).json();
        assert_within(old, &new, id);
        let shown = home.run(["runs", "show", id]);
        assert!(
            !shown.stdout.is_empty() && shown.stderr.is_empty(),
            "{shown:?}"
        );
        let page = home.dir().join(format!("{id}.html"));
        home.run(["report", id, "--output", page.to_str().unwrap()])
            .fine();
    }
}

#[test]
fn samples_and_histograms_of_an_earlier_program_are_what_its_records_say() {
    let home = Home::aside();
    for record in put_into(&home) {
        let id = record["id"].as_str().unwrap();
        let count = record["total"]["count"].as_u64().unwrap();
        let export = |data: &str| {
            let exported = home.run(["runs", "export", id, "--format", "csv", "--data", data]);
            let (heading, rows) = exported.fine().stdout.split_once('\n').unwrap();
            (heading.to_owned(), rows.to_owned())
        };
        let is_there = |file: &str| stored().join(id).join(file).exists();
        if is_there("samples.zst") {
            let (_, rows) = export("samples");
            let latencies = rows.lines().map(|row| row.rsplit(',').next().unwrap());
            let latencies: Vec<u64> = latencies.map(|ns| ns.parse().unwrap()).collect();
            assert_eq!(latencies.len() as u64, count, "{id}");
            let largest = latencies.iter().max().copied();
            assert_eq!(largest, record["total"]["max_ns"].as_u64(), "{id}");
        }
        if is_there("latency.hlog") {
            // A histogram for each thread, and of instruments whose samples have parts one for each part.
            let (heading, rows) = export("histogram");
            let has_parts = heading.starts_with("thread,context,");
            let mut counted: BTreeMap<&str, u64> = BTreeMap::new();
            for row in rows.lines().filter(|row| !row.starts_with("all,")) {
                let cells: Vec<&str> = row.split(',').collect();
                let part = if has_parts { cells[1] } else { "" };
                *counted.entry(part).or_default() += cells.last().unwrap().parse::<u64>().unwrap();
            }
            assert!(
                counted.values().any(|n| *n == count),
                "{id}: {count}, {counted:?}"
            );
        }
    }
}
