// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual doctor` on this machine and on captured ones.

use std::fs;
use std::path::{Path, PathBuf};

use punctual_host::Archive;
use serde_json::Value;

use crate::common::{Answer, Home, wait_until};
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

/// What holds before and after the text of a diagnosis, and is not in it.
fn not_named(home: &Home) -> Vec<String> {
    let diagnosis = || home.run(["doctor", "--json"]).fine().json();
    let (before, text, after) = (diagnosis(), home.run(["doctor"]), diagnosis());
    let lasting = ["found", "unknown"].into_iter().flat_map(|outcome| {
        let after = outcomes(&after, outcome);
        let before = outcomes(&before, outcome);
        before.into_iter().filter(move |id| after.contains(id))
    });
    lasting
        .filter(|id| !text.stdout.contains(&format!("\n {id} ")))
        .map(str::to_owned)
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
        // A command is one line, so that it can be copied.
        let command = line.contains("punctual tune apply");
        assert!(command || line.chars().count() <= 100, "{line}");
    }
    // Others change the machine meanwhile, back and forth: they ask for low idle latency, for one.
    let mut unnamed = Vec::new();
    assert!(
        wait_until(|| {
            unnamed = not_named(&home);
            unnamed.is_empty()
        }),
        "{unnamed:?}"
    );
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
    doctor(&home, &guest, &["--cpus=0-3"]).error(2, &["--cpus 0-3", "2-3", "(online: 0-1)"]);
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
    doctor(&home, &board, &["--explain", "config-timerlat"]).error(
        2,
        &["a rule about configurations", "kernel config check running"],
    );
    doctor(&home, &board, &["--explain", "x"])
        .error(2, &["no such rule"])
        .hinted();
    doctor(&home, &board, &["--explain", "smt", "--json"]).error(2, &["--json"]);
}

/// The findings of a diagnosis with what tune can do about them.
fn advised(diagnosis: &Value) -> Vec<(&str, &Value)> {
    let verdicts = diagnosis["verdicts"].as_array().unwrap();
    let found = verdicts.iter().filter(|v| v["outcome"] == "found");
    found
        .map(|v| (v["rule"]["id"].as_str().unwrap(), v))
        .collect()
}

/// Runs the plan of an advised command, as a shell would read it.
fn planned(home: &Home, root: Option<&Path>, command: &str) -> Answer {
    let root = root.map_or_else(String::new, |root| format!("--root {}", root.display()));
    let program = crate::common::program();
    let line = command.replacen("sudo ", "", 1).replacen(
        "punctual tune apply",
        &format!("{} tune plan --json {root}", program.display()),
        1,
    );
    let mut shell = std::process::Command::new("sh");
    shell
        .args(["-c", &line])
        .env("PUNCTUAL_TUNE_STATE", home.dir().join("state"));
    crate::common::finish(shell)
}

#[test]
fn what_is_advised_can_be_copied_and_changes_what_it_says_on_that_very_machine() {
    let home = Home::new();
    let mut machines: Vec<(Option<PathBuf>, &[&str])> = vec![(None, &[])];
    for (name, cpus) in [
        ("kvm-guest", "--cpus=1"),
        ("laptop-all-wrong", "--cpus=0,6"),
        ("numa-server", "--cpus=8-17"),
    ] {
        let root = captured(&home, name);
        machines.push((Some(root), Box::leak(Box::new([cpus]))));
    }
    let mut commands = 0;
    for (root, cpus) in &machines {
        let at = root
            .as_ref()
            .map(|root| format!("--root={}", root.display()));
        let mut args: Vec<&str> = vec!["doctor"];
        args.extend(at.as_deref());
        args.extend(*cpus);
        let text = home.run(&args);
        args.push("--json");
        let diagnosis = home.run(&args).fine().json();
        assert_valid(&schema("diagnosis.schema.json"), &diagnosis);
        for (rule, verdict) in advised(&diagnosis) {
            let fixers = verdict["rule"]["fixed_by"].as_array().unwrap();
            let by_tune = fixers.iter().any(|fixer| fixer == "tune");
            let Some(command) = verdict["tune"]["command"].as_str() else {
                assert!(!by_tune, "{rule} names tune without a command: {verdict:#}");
                continue;
            };
            assert!(by_tune, "{rule}");
            let line = format!("{command}\n");
            assert!(
                text.fine().stdout.contains(&line),
                "{rule}: {command} is not in {}",
                text.stdout
            );
            let plan = planned(&home, root.as_deref(), command).fine().json();
            let knob = verdict["rule"]["knobs"][0].as_str().unwrap();
            let own = |list: &str| {
                let list = plan[list].as_array().unwrap().iter();
                list.filter(|step| step["knob"] == knob).count()
            };
            assert!(
                own("steps") + own("held") > 0,
                "{rule}: {command}: {plan:#}"
            );
            assert_eq!(
                plan["refusals"].as_array().unwrap().len(),
                0,
                "{rule}: {command}"
            );
            commands += 1;
        }
    }
    assert!(commands >= 20, "{commands}");
}

#[test]
fn what_tune_cannot_do_on_a_machine_is_not_advised_there_and_the_reason_is_said() {
    let home = Home::aside();
    let guest = captured(&home, "kvm-guest");
    fs::write(
        guest.join("sys/kernel/mm/transparent_hugepage/enabled"),
        "[always] madvise never\n",
    )
    .unwrap();
    let text = doctor(&home, &guest, &["--explain=huge-pages"]);
    assert!(
        text.fine()
            .stdout
            .contains("punctual tune apply --set thp.enabled=madvise"),
        "{text:?}"
    );
    // This kernel does not offer the value.
    fs::write(
        guest.join("sys/kernel/mm/transparent_hugepage/enabled"),
        "[always] never\n",
    )
    .unwrap();
    let text = doctor(&home, &guest, &[]);
    assert!(
        !text.fine().stdout.contains("thp.enabled=madvise"),
        "{text:?}"
    );
    assert!(
        text.stdout.contains("Not by tune here: thp.enabled"),
        "{text:?}"
    );
    let diagnosis = doctor(&home, &guest, &["--json"]).fine().json();
    let verdict = advised(&diagnosis)
        .into_iter()
        .find(|(id, _)| *id == "huge-pages")
        .unwrap()
        .1;
    let fixers = verdict["rule"]["fixed_by"].as_array().unwrap();
    assert!(fixers.iter().all(|fixer| fixer != "tune"), "{verdict:#}");
}

#[test]
fn what_is_fine_says_of_what() {
    let home = Home::aside();
    for name in ["kvm-guest", "laptop-all-wrong", "telco-node-rt"] {
        let root = captured(&home, name);
        let diagnosis = doctor(&home, &root, &["--json"]).fine().json();
        let fine = diagnosis["verdicts"].as_array().unwrap().iter();
        for verdict in fine.filter(|verdict| verdict["outcome"] == "fine") {
            let says = verdict["says"].as_str().unwrap();
            let first = says.split_whitespace().next().unwrap();
            let subject = !["it", "they", "its", "none", "never"].contains(&first);
            assert!(subject, "{name} {}: {says}", verdict["rule"]["id"]);
        }
    }
}

#[test]
fn a_root_must_be_a_captured_machine() {
    let home = Home::aside();
    doctor(&home, Path::new("/nowhere"), &[])
        .error(2, &["--root /nowhere", "proc"])
        .hinted();
    doctor(&home, home.dir(), &[]).error(2, &["--root", "neither proc nor sys"]);
    // With next to nothing in it, next to everything is unknown, and that is said.
    fs::create_dir(home.dir().join("proc")).unwrap();
    let diagnosis = doctor(&home, home.dir(), &["--json"]).fine().json();
    assert_valid(&schema("diagnosis.schema.json"), &diagnosis);
    assert!(outcomes(&diagnosis, "found").is_empty() && outcomes(&diagnosis, "fine").is_empty());
    for severity in ["info", "high"] {
        let fail_on = format!("--fail-on={severity}");
        assert_eq!(doctor(&home, home.dir(), &[&fail_on]).code(), 6);
    }
}
