// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual doctor` on this machine and on captured ones.

use std::fs;
use std::path::{Path, PathBuf};

use punctual_host::Archive;
use serde_json::Value;

use crate::common::{Answer, Home};
use crate::schema::{assert_valid, schema};

/// Unpacks a captured machine of the host crate's tests.
fn captured(home: &Home, name: &str) -> PathBuf {
    let file = format!("../host/tests/machines/{name}.txt");
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    let text = String::from_utf8(fs::read(file).unwrap()).unwrap();
    let root = home.dir().join(name);
    text.parse::<Archive>().unwrap().unpack(&root).unwrap();
    root
}

fn doctor(home: &Home, root: &Path, args: &[&str]) -> Answer {
    let root = root.to_str().unwrap();
    home.run(["doctor", "--root", root].iter().chain(args))
}

fn outcomes<'a>(diagnosis: &'a Value, outcome: &str) -> Vec<&'a str> {
    let verdicts = diagnosis["verdicts"].as_array().unwrap();
    verdicts
        .iter()
        .filter(|verdict| verdict["outcome"] == outcome)
        .map(|verdict| verdict["rule"]["id"].as_str().unwrap())
        .collect()
}

#[test]
fn this_machine_is_judged_and_nothing_is_written() {
    let home = Home::new();
    let answer = home.run(["doctor", "--json"]);
    let diagnosis = answer.fine().json();
    assert_valid(&schema("diagnosis.schema.json"), &diagnosis);
    assert_eq!(diagnosis["format"], "punctual.diagnosis/1");
    assert!(diagnosis["verdicts"].as_array().unwrap().len() >= 50);
    assert!(!outcomes(&diagnosis, "fine").is_empty());
    let text = home.run(["doctor"]);
    for line in text.fine().stdout.lines() {
        assert!(line.chars().count() <= 100, "{line}");
    }
    for id in outcomes(&diagnosis, "found") {
        assert!(
            text.stdout.contains(&format!("\n {id} ")),
            "{id} is not in {}",
            text.stdout
        );
    }
    for id in outcomes(&diagnosis, "unknown") {
        assert!(
            text.stdout.contains(&format!("\n {id} ")),
            "{id} is not in {}",
            text.stdout
        );
    }
    let all = home.run(["doctor", "--all"]);
    for rule in punctual_host::rules() {
        let named = format!("\n {} ", rule.id);
        assert!(
            all.fine().stdout.contains(&named),
            "{} is not in --all",
            rule.id
        );
    }
    assert!(!home.store().exists(), "doctor needs no store");
}

#[test]
fn findings_are_a_verdict_only_where_that_is_asked_for() {
    let home = Home::new();
    let node = captured(&home, "telco-node-rt");
    doctor(&home, &node, &[]).fine();
    doctor(&home, &node, &["--fail-on=high"]).fine();
    for severity in ["medium", "low", "info"] {
        let answer = doctor(&home, &node, &["--fail-on", severity]);
        assert_eq!(answer.code(), 3, "{severity}: {answer:#?}");
        assert!(
            answer.stdout.contains("fair-server"),
            "it still says what: {answer:#?}"
        );
    }
    assert_eq!(doctor(&home, &node, &["--fail-on=low", "--json"]).code(), 3);
    assert_eq!(
        doctor(&home, &node, &["--fail-on=low", "--explain=smt"]).code(),
        3
    );
}

#[test]
fn the_judged_cpus_are_those_asked_for_or_isolated_or_online() {
    let home = Home::new();
    let node = captured(&home, "telco-node-rt");
    let board = captured(&home, "arm-board-rk3399");
    let guest = captured(&home, "kvm-guest");
    let judged = |root: &Path, args: &[&str]| {
        let diagnosis = doctor(&home, root, &[args, &["--json"]].concat())
            .fine()
            .json();
        let text = |key: &str| diagnosis[key].as_str().unwrap().to_owned();
        (text("cpus"), text("cpus_chosen"))
    };
    let pair = |cpus: &str, why: &str| (cpus.to_owned(), why.to_owned());
    assert_eq!(judged(&node, &[]), pair("2-31,34-63", "isolated"));
    assert_eq!(judged(&board, &["--cpus=4,5"]), pair("4-5", "asked"));
    assert_eq!(judged(&guest, &[]), pair("0-1", "online"));
    doctor(&home, &guest, &["--cpus=0-3"]).error(2, &["--cpus 0-3", "2-3", "online are 0-1"]);
    doctor(&home, &guest, &["--cpus="]).error(2, &["--cpus", "empty"]);
    doctor(&home, &guest, &["--cpus=4096"]).error(2, &["--cpus", "4096"]);
}

#[test]
fn a_rule_is_explained_with_its_evidence() {
    let home = Home::new();
    let board = captured(&home, "arm-board-rk3399");
    let answer = doctor(&home, &board, &["--explain", "governor"]);
    for part in [
        "Why ",
        "Fix ",
        "Source ",
        "schedutil",
        "cpu5/cpufreq/scaling_governor",
        "medium",
    ] {
        assert!(answer.fine().stdout.contains(part), "{part}: {answer:#?}");
    }
    doctor(&home, &board, &["--explain", "gover"])
        .error(2, &["--explain gover", "no such rule", "governor"])
        .hinted();
    doctor(&home, &board, &["--explain", "x"])
        .error(2, &["no such rule"])
        .hinted();
    doctor(&home, &board, &["--explain", "smt", "--json"]).error(2, &["--json"]);
}

#[test]
fn a_root_must_be_a_captured_machine() {
    let home = Home::new();
    doctor(&home, Path::new("/nowhere"), &[])
        .error(2, &["--root /nowhere", "proc"])
        .hinted();
    doctor(&home, home.dir(), &[]).error(2, &["--root", "neither proc nor sys"]);
    // With next to nothing in it, next to everything is unknown, and that is said.
    fs::create_dir(home.dir().join("proc")).unwrap();
    let diagnosis = doctor(&home, home.dir(), &["--json"]).fine().json();
    assert_valid(&schema("diagnosis.schema.json"), &diagnosis);
    assert!(outcomes(&diagnosis, "found").is_empty() && outcomes(&diagnosis, "fine").is_empty());
    doctor(&home, home.dir(), &["--fail-on=info"]).fine();
}
