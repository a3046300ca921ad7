// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Studies: what they are, and how they fail. What they change on a machine is tested with `tune`.

use std::fs;

use serde_json::Value;

use crate::common::{Home, Running, finish, machine, stored, wait_until};
use crate::schema::{assert_valid, schema};

const NAMES: [&str; 5] = [
    "raju2015",
    "wang2019",
    "anaya2018",
    "vasyukov2018",
    "bridgers2015",
];

#[test]
fn every_study_is_listed_and_shown_with_its_figures_and_citation() {
    let home = Home::aside();
    let list = home.run(["study", "list"]).fine().stdout.clone();
    let listed = home.run(["study", "list", "--json"]).fine().json();
    assert_valid(&schema("studies.schema.json"), &listed);
    assert_eq!(listed["format"], "punctual.studies/1");
    assert_eq!(listed["studies"].as_array().unwrap().len(), NAMES.len());
    let facts = schema("study-facts.schema.json");
    for name in NAMES {
        assert!(list.contains(name), "{list}");
        let shown = home.run(["study", "show", name, "--json"]).fine().json();
        assert_valid(&facts, &shown);
        assert_eq!(shown["format"], "punctual.study-facts/1");
        assert_eq!(shown["name"], name);
        let text = home.run(["study", "show", name]).fine().stdout.clone();
        assert!(text.contains("Published: "), "{text}");
        // Each result of the paper is somewhere, or has a reason why not.
        let rows = shown["rows"].as_array().unwrap();
        assert!(rows.len() >= 6, "{name}");
        for row in rows {
            let [place, how] = ["place", "how"].map(|key| row[key].as_str().unwrap());
            assert!(["here", "guests", "not_here"].contains(&place), "{row}");
            assert!(!how.is_empty(), "{row}");
        }
        // The heading of a column may be broken.
        assert!(text.contains("Result of the"), "{text}");
        assert!(
            text.lines().all(|line| line.chars().count() <= 100),
            "{text}"
        );
    }
    let anaya = home
        .run(["study", "show", "anaya2018"])
        .fine()
        .stdout
        .clone();
    for figure in ["Bovio", "93.71", "4.23", "11.08", "94.87", "1,000,000"] {
        assert!(anaya.contains(figure), "{figure}: {anaya}");
    }
    // A study needs no store to be shown.
    assert!(!home.store().exists());
}

#[test]
fn what_is_no_study_and_what_cannot_be_is_one_clear_error() {
    let home = Home::aside();
    for verb in ["show", "run", "report"] {
        home.run(["study", verb, "raju2016"])
            .error(2, &["`raju2016`: no such study", "raju2015, wang2019"]);
    }
    let run = |args: &[&str]| home.run([&["study", "run"], args].concat());
    run(&["wang2019", "--budget", "1s"]).error(2, &["--budget: part `", "one block"]);
    run(&["wang2019", "--quick", "--paper"]).error(2, &["--quick"]);
    run(&["wang2019", "--target", "guest:x"]).error(2, &["two kernels", "1 was named"]);
    run(&["wang2019", "--quick", "--parameter", "loops=7"])
        .error(2, &["--parameter loops", "no such parameter", "time"]);
    home.run(["study", "report", "wang2019"])
        .error(1, &["has no run of it", "study run wang2019"]);
    assert!(!home.store().join("studies").exists(), "nothing was begun");
}

#[test]
fn what_a_budget_has_no_room_for_is_said_before_the_first_run() {
    // Its threads are SCHED_FIFO.
    if !machine::root() {
        return;
    }
    let home = Home::new();
    // No two kernels: the part that measures this machine is left.
    let kernels = home.dir().join("kernels");
    fs::create_dir(&kernels).unwrap();
    let study = [
        "study",
        "run",
        "wang2019",
        "--parameter=time=1h",
        "--budget=5h",
    ];
    let mut command = home.command(study);
    command
        .arg("--kernels")
        .arg(&kernels)
        .current_dir(home.dir());
    let mut running = Running::start(command);
    let log = home.store().join("experiments/wang2019-here-1/log.jsonl");
    let begun = || machine::read(&log).is_some_and(|log| log.contains("begin"));
    assert!(wait_until(|| begun() || !running.is_alive()));
    running.signal("INT");
    let answer = running.wait();
    assert_eq!(answer.code(), 1, "{answer:#?}");
    let first = answer.stderr.lines().next().unwrap_or_default();
    let said = "wang2019 here: the budget has room for about 4 of the 12 runs";
    assert!(first.starts_with(said), "{answer:#?}");
}

#[test]
fn a_library_that_is_not_installed_is_a_row_with_the_reason() {
    let home = Home::aside();
    // No python3 there, which calls the libraries, and no fio.
    let empty = home.dir().join("bin");
    fs::create_dir(&empty).unwrap();
    let show = |study: &str| {
        let mut command = home.command(["study", "show", study, "--json"]);
        command.env("PATH", &empty);
        finish(command).fine().json()
    };
    let row = |shown: &Value, text: &str| -> Value {
        let mut rows = shown["rows"].as_array().unwrap().iter();
        let of = rows.find(|row| row["text"].as_str().unwrap().contains(text));
        of.unwrap().clone()
    };
    let shown = show("vasyukov2018");
    for library in ["OpenBLAS", "MKL"] {
        let row = row(&shown, library);
        assert_eq!(row["place"], "not_here", "{row}");
        assert!(row["how"].as_str().unwrap().contains("python3"), "{row}");
    }
    // What needs neither is measured all the same.
    let row = row(&shown, "LINPACK against size");
    assert!(
        row["place"] == "here" || row["how"] == "it takes root",
        "{row}"
    );
}

/// Makes runs of that name that need no privilege, with 5 and with 15 threads.
fn record(home: &Home, name: &str, blocks: u32) {
    for _ in 0..blocks {
        for threads in ["5", "15"] {
            home.measure(&format!(
                "--priority o --dma-latency off --samples 20 --name {name} --threads {threads} --pin none"
            ));
        }
    }
}

#[test]
fn two_recorded_sets_are_compared_beside_the_published_ratios() {
    let home = Home::aside();
    record(&home, "stock", 2);
    record(&home, "rt", 2);
    stored::vouch_for(&home.store());
    let sets = ["study", "report", "wang2019", "--recorded", "stock", "rt"];
    let answer = home.run(sets.iter().copied().chain(["--json"]));
    let report = answer.fine().json();
    assert_valid(&schema("study-report.schema.json"), &report);
    let answers = report["studies"][0]["answers"].as_array().unwrap();
    assert_eq!(
        answers.len(),
        4,
        "5 and 15 threads, alone and beside a load"
    );
    for answer in &answers[2..] {
        let without = answer["skipped"].as_str().unwrap();
        assert!(without.contains("load=tmpfs"), "{without}");
    }
    for answer in &answers[..2] {
        let rows = answer["rows"].as_array().unwrap();
        let row = |cell: &str, figure: &str| -> Value {
            let mut rows = rows.iter();
            let row = rows.find(|row| row["cell"] == cell && row["figure"] == figure);
            row.unwrap().clone()
        };
        assert_eq!(row("rt", "mean")["runs"], 2);
        assert!(row("rt", "mean")["verdict"].is_null(), "it is the base");
        assert!(row("stock", "max")["ratio"]["estimate"].as_f64().unwrap() > 0.0);
        // The ratio that was published stands beside: 136 or 146 % of the mean.
        let published = row("stock", "mean")["published_ratio"].as_f64().unwrap();
        assert!([1.36, 1.46].contains(&published), "{published}");
        // Two runs a side can show nothing at 5 %.
        assert_eq!(row("stock", "mean")["verdict"], "too_few_runs");
        assert_eq!(row("stock", "mean")["direction"], "too_few_runs");
    }
    // Of runs that something disturbed nothing is said.
    for run in fs::read_dir(home.runs_dir()).unwrap() {
        let file = run.unwrap().path().join("run.json");
        let text = String::from_utf8(fs::read(&file).unwrap()).unwrap();
        let spoiled = text.replacen("\"valid\":true", "\"valid\":false", 1);
        assert_ne!(spoiled, text);
        fs::write(&file, spoiled).unwrap();
    }
    home.run(sets).error(1, &["none of its"]);
    let other = ["study", "report", "anaya2018", "--recorded", "stock", "rt"];
    home.run(other).error(2, &["does not compare two kernels"]);
}
