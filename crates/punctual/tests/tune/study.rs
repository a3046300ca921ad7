// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Studies on this machine: killed in the middle, they leave it as it was, and go on.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::common::machine::{python, required};
use crate::common::{Running, finish, stored, wait_until};
use crate::live::{Live, assert_same};

/// Short enough for a test: what is tested is not latency.
const STUDIES: [(&str, &[&str]); 5] = [
    // An iteration is tried a hundred times, or for half a second.
    (
        "raju2015",
        &["time=200ms", "stall-time=200ms", "iteration=1ms"],
    ),
    ("wang2019", &["time=200ms"]),
    (
        "anaya2018",
        &[
            "time=200ms",
            "runtimes=[\"950000\", \"900000\"]",
            "io-time=500ms",
            "io-size=16M",
            "hog-time=500ms",
        ],
    ),
    (
        "vasyukov2018",
        &[
            "irq-time=300ms",
            "series=2",
            "orders=100",
            "repeats=1",
            "size=1M",
            "time=200ms",
            "loaded-time=200ms",
        ],
    ),
    ("bridgers2015", &["samples=200", "interval=1ms"]),
];

fn command(live: &Live, study: &str, parameters: &[&str]) -> std::process::Command {
    let mut command = live.program(["study", "run", study, "--quick", "--quiet", "--json"]);
    command.arg("--parameter=blocks=1").current_dir(live.dir());
    for parameter in parameters {
        command.arg(format!("--parameter={parameter}"));
    }
    command
}

/// Whether a run of any experiment has begun.
fn is_at_work(live: &Live) -> bool {
    let dirs = fs::read_dir(live.store().join("experiments"))
        .into_iter()
        .flatten();
    let begun = |dir: fs::DirEntry| {
        let log = fs::read(dir.path().join("log.jsonl"));
        log.is_ok_and(|log| String::from_utf8_lossy(&log).contains("begin"))
    };
    dirs.flatten().any(begun)
}

fn killed_and_gone_on_with(study: &str, parameters: &[&str]) {
    let Some(live) = Live::new() else { return };
    let before = live.dump();
    let running = Running::start(command(&live, study, parameters));
    assert!(wait_until(|| is_at_work(&live)));
    // Into the run, where it is tuned.
    std::thread::sleep(Duration::from_millis(300));
    running.signal("KILL");
    drop(running);
    // What the keeper has done meanwhile, revert has not to do.
    live.tune("revert");
    let idle = || live.tune("status").stdout.contains("nothing is changed");
    assert!(wait_until(idle), "{study}");
    assert_same(&live.dump(), &before, study);

    let answer = finish(command(&live, study, parameters));
    let report = answer.carried_out().json();
    assert_eq!(
        answer.code() == 1,
        a_cell_has_no_valid_run(&live),
        "{answer:#?}"
    );
    assert!(answer.stderr.contains("Continuing"), "{}", answer.stderr);
    assert_same(&live.dump(), &before, study);
    let result = &report["studies"][0];
    assert_eq!(result["number"], 1, "the same carrying out");
    for part in result["parts"].as_array().unwrap() {
        assert!(
            part["experiment"].is_null() || part["finished"].is_string(),
            "{part:#}"
        );
        assert!(part["experiment"].is_string() || !part["skipped"][0]["reason"].is_null());
    }
    for answer in result["answers"].as_array().unwrap() {
        assert!(answer["paper"].is_string() && answer["question"].is_string());
        let said = !answer["conclusion"].as_str().unwrap().is_empty();
        assert!(said != answer["skipped"].is_string(), "{answer:#}");
    }
    once(&live);
}

/// Requires that no slot of an experiment was recorded twice as valid.
fn once(live: &Live) {
    let all = finish(live.program(["experiment", "status", "--json"]))
        .fine()
        .json();
    for experiment in all["experiments"].as_array().unwrap() {
        let runs = experiment["runs"].as_array().unwrap().iter();
        let valid: Vec<String> = runs
            .filter(|run| run["end"] == "valid")
            .map(|run: &Value| format!("{} {} {}", run["block"], run["cell"], run["measurement"]))
            .collect();
        let different: BTreeSet<&String> = valid.iter().collect();
        assert_eq!(different.len(), valid.len(), "{experiment:#}");
    }
}

#[test]
fn raju_that_is_killed_leaves_the_machine_as_it_was_and_goes_on() {
    killed_and_gone_on_with(STUDIES[0].0, STUDIES[0].1);
}

#[test]
fn wang_that_is_killed_leaves_the_machine_as_it_was_and_goes_on() {
    killed_and_gone_on_with(STUDIES[1].0, STUDIES[1].1);
}

#[test]
fn anaya_that_is_killed_leaves_the_machine_as_it_was_and_goes_on() {
    killed_and_gone_on_with(STUDIES[2].0, STUDIES[2].1);
}

#[test]
fn vasyukov_that_is_killed_leaves_the_machine_as_it_was_and_goes_on() {
    killed_and_gone_on_with(STUDIES[3].0, STUDIES[3].1);
}

#[test]
fn bridgers_that_is_killed_leaves_the_machine_as_it_was_and_goes_on() {
    killed_and_gone_on_with(STUDIES[4].0, STUDIES[4].1);
}

/// Requires the page that the run wrote, and the same from `report`: a section a study, and in it what is published, what
/// was measured, and what was left out.
fn five_sections(live: &Live) {
    let read = |path: &Path| String::from_utf8(fs::read(path).unwrap()).unwrap();
    let own = read(&live.store().join("studies/all.html"));
    let named = live.dir().join("page.html");
    let mut again = live.program(["study", "report", "all", "-o"]);
    again.arg(&named);
    finish(again).fine();
    let again = read(&named);
    let sections = |page: &str| -> Vec<String> {
        let body = page.split_once("</nav>").unwrap().1.to_owned();
        let parts = body.split("<section id=\"").skip(1);
        parts.map(ToOwned::to_owned).collect()
    };
    let (own, again) = (sections(&own), sections(&again));
    assert_eq!(own.len(), STUDIES.len());
    let report = finish(live.program(["study", "report", "all", "--json"]))
        .fine()
        .json();
    for ((section, (name, _)), result) in again
        .iter()
        .zip(STUDIES)
        .zip(report["studies"].as_array().unwrap())
    {
        assert!(section.starts_with(&format!("{name}\">")), "{name}");
        for told in [
            "<dt>Asked</dt>",
            "<dt>Found</dt>",
            "What the paper published, as printed",
        ] {
            assert!(section.contains(told), "{name}: {told}");
        }
        // Each question appears once: with its answer, or with the reason why there is none.
        let answers = result["answers"].as_array().unwrap();
        let why = answers
            .iter()
            .filter_map(|answer| answer["skipped"].as_str());
        let skipped = why.clone().count();
        let why: BTreeSet<&str> = why.collect();
        let untold = section.matches(">not answered</span>").count();
        assert_eq!(untold, why.len(), "{name}");
        let reasons = result["parts"].as_array().unwrap().iter();
        let reasons = reasons.flat_map(|part| part["skipped"].as_array().unwrap());
        let reasons = reasons.filter(|left| !why.contains(left["reason"].as_str().unwrap()));
        assert_eq!(
            section.matches(">left out</span>").count(),
            reasons.count(),
            "{name}"
        );
        let told = section.matches(">published</span>").count();
        assert_eq!(told, answers.len() - skipped, "{name}");
        // A name of the program's own is for its files.
        let shown = section
            .replace("sched_rt_runtime_us", "")
            .replace("ctxt_switches", "");
        let prose = shown.split("<details").next().unwrap_or_default();
        let inside = prose.split('>').filter_map(|part| part.split('<').next());
        for text in inside {
            assert!(
                !text.contains("[thread=") && !text.contains("per_second"),
                "{name}: {text}"
            );
        }
        let compared = result["answers"].as_array().unwrap().iter();
        let compared = compared.flat_map(|answer| answer["rows"].as_array().unwrap());
        let verdicts = compared.filter(|row| row["verdict"].is_string()).count();
        assert_eq!(section.contains(">Verdict</th>"), verdicts > 0, "{name}");
    }
    // But for the time at which it was made it is the page that was written at the end.
    let body = |sections: &[String]| {
        sections
            .concat()
            .split("<footer>")
            .next()
            .map(ToOwned::to_owned)
    };
    assert_eq!(body(&own), body(&again));
}

/// Has another program compute the figures again from the records.
fn second_look(live: &Live, report: &str) {
    let Some(python) = python() else { return };
    let file = live.dir().join("report.json");
    fs::write(&file, report).unwrap();
    let mut command = std::process::Command::new(python);
    command
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/check-study.py"))
        .args([&live.store(), &file]);
    println!("{}", finish(command).fine().stdout);
}

/// Whether others disturbed all runs of a cell of any experiment.
fn a_cell_has_no_valid_run(live: &Live) -> bool {
    let all = finish(live.program(["experiment", "status", "--json"]));
    let all = all.fine().json();
    let mut all = all["experiments"].as_array().unwrap().iter();
    all.any(|of| of["without_valid_run"] != serde_json::json!([]))
}

/// What a new user types first: as it is where `PUNCTUAL_TEST_REQUIRE` names `whole-studies`, for it takes minutes, and with
/// short runs elsewhere.
#[test]
fn all_studies_quick_end_well_with_five_sections_and_leave_the_machine_as_it_was() {
    let Some(mut live) = Live::new() else { return };
    let before = live.dump();
    let mut command = live.program(["study", "run", "all", "--quick", "--quiet"]);
    command.current_dir(live.dir());
    if !required("whole-studies") {
        command.arg("--parameter=blocks=2");
        for parameter in STUDIES.iter().flat_map(|(_, short)| short.iter()) {
            command.arg(format!("--parameter={parameter}"));
        }
    }
    let answer = finish(command);
    let page = answer.carried_out().stdout.clone();
    assert_same(&live.dump(), &before, "all studies");
    assert_eq!(
        answer.code() == 1,
        a_cell_has_no_valid_run(&live),
        "{answer:#?}"
    );
    assert_eq!(
        answer.code() == 1,
        answer.stderr.contains("No valid run in ")
    );
    live.tune("status").fine();
    live.gives_way();
    for (study, _) in STUDIES {
        let sections = page
            .lines()
            .filter(|line| line.starts_with(&format!("{study}: ")));
        assert_eq!(sections.count(), 1, "{study}: {page}");
    }
    // The same text again, and what stands in it as a document.
    let report = finish(live.program(["study", "report", "all"]));
    assert_eq!(report.fine().stdout, page);
    five_sections(&live);
    // Of runs that others disturbed nothing is said, and they may have disturbed all.
    stored::vouch_for(&live.store());
    let report = finish(live.program(["study", "report", "all", "--json"]));
    second_look(&live, &report.fine().stdout);
    let report = report.fine().json();
    let studies = report["studies"].as_array().unwrap();
    assert_eq!(studies.len(), 5);
    for study in studies {
        for part in study["parts"].as_array().unwrap() {
            let skipped = part["skipped"].as_array().unwrap().iter();
            let reasons: Vec<&str> = skipped.map(|s| s["reason"].as_str().unwrap()).collect();
            assert!(reasons.iter().all(|reason| !reason.is_empty()), "{part:#}");
            assert!(
                part["finished"].is_string() || !reasons.is_empty(),
                "{part:#}"
            );
            assert_eq!(part["failed"], 0, "{part:#}");
        }
        let mut verdicts = 0;
        let mut answered = 0;
        for answer in study["answers"].as_array().unwrap() {
            assert!(!answer["paper"].as_str().unwrap().is_empty(), "{answer:#}");
            let Value::Null = answer["skipped"] else {
                // A figure that no run has is a wrong name, and no lack of the machine.
                let reason = answer["skipped"].to_string();
                assert!(!reason.contains("no run has"), "{answer:#}");
                continue;
            };
            assert!(
                !answer["conclusion"].as_str().unwrap().is_empty(),
                "{answer:#}"
            );
            answered += 1;
            let rows = answer["rows"].as_array().unwrap().iter();
            for row in rows.clone() {
                // Short runs on a busy machine have too few samples for a high quantile: then no run has it, and says so.
                let known = row["estimate"].is_number();
                assert_eq!(known, row["runs"] != 0, "{row:#} of {answer:#}");
            }
            verdicts += rows.filter(|row| row["verdict"].is_string()).count();
        }
        // Studies that compare nothing here have answers all the same.
        assert!(answered > 0, "{}", study["study"]["name"]);
        let name = study["study"]["name"].as_str().unwrap();
        // Its comparison boots guests, which is too long for this scale.
        assert!(name == "wang2019" || verdicts > 0, "{name}: no verdict");
    }
}
