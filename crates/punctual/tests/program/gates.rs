// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Verdicts as test cases: JUnit and TAP, read back by what others read them with, and the adapters that use them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::common::{Answer, Home, QUICK, finish, machine};

/// Reads a JUnit and a TAP file with libraries of others: suite, name and outcome of each case.
const READ: &str = r#"
import json, sys
from junitparser import JUnitXml, Error, Failure, Skipped
from tap.parser import Parser
cases = []
for suite in JUnitXml.fromfile(sys.argv[1]):
    for case in suite:
        kinds = [type(r).__name__.lower() for r in case.result]
        cases.append([suite.name, case.name, kinds[0] if kinds else "passed"])
tap = []
for line in Parser().parse_file(sys.argv[2]):
    if line.category == "test":
        tap.append([line.description, bool(line.ok), bool(line.skip)])
print(json.dumps({"junit": cases, "tap": tap}))
"#;

/// The cases of a result: suite, name and outcome, which both files must agree on.
pub(crate) fn cases(home: &Home, result: &str) -> Option<Vec<(String, String, String)>> {
    let python = machine::python()?;
    let path = home.dir().join("result.json");
    fs::write(&path, result).unwrap();
    let [junit, tap] = ["junit.xml", "result.tap"].map(|name| home.dir().join(name));
    for (format, file) in [("junit", &junit), ("tap", &tap)] {
        let args = [
            "report",
            path.to_str().unwrap(),
            "--force",
            "--format",
            format,
        ];
        let mut command = home.command(args);
        command.arg("-o").arg(file);
        finish(command).fine();
    }
    let mut read = Command::new(python);
    read.args(["-c", READ]).arg(&junit).arg(&tap);
    let said = finish(read).fine().stdout.clone();
    // tap.py may advise before it.
    let read: Value = serde_json::from_str(said.lines().last().unwrap()).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let junit: Vec<(String, String, String)> = read["junit"]
        .as_array()
        .unwrap()
        .iter()
        .map(|case| (text(&case[0]), text(&case[1]), text(&case[2])))
        .collect();
    let tap = read["tap"].as_array().unwrap();
    assert_eq!(junit.len(), tap.len());
    for ((suite, name, outcome), tap) in junit.iter().zip(tap) {
        // A description has no number before it. tap.py does not know that `#` can be escaped, so no name has one here.
        let described = tap[0].as_str().unwrap().trim_start_matches("- ");
        assert_eq!(described.trim(), format!("{suite} {name}"));
        assert_eq!(tap[1], matches!(&**outcome, "passed" | "skipped"), "{name}");
        assert_eq!(tap[2], outcome == "skipped", "{name}");
    }
    Some(junit)
}

/// What came out of every case of a name.
pub(crate) fn outcome<'a>(cases: &'a [(String, String, String)], name: &str) -> Vec<&'a str> {
    let of = cases.iter().filter(|(_, case, _)| case == name);
    of.map(|(_, _, outcome)| outcome.as_str()).collect()
}

#[test]
fn a_run_is_a_case_for_each_check_requirement_and_deadline() {
    let home = Home::new();
    let asked = [
        "--name=a<b>&\"1",
        "--require=p50 <= 100s",
        "--require=p99.999 <= 100s",
        "--require=p50 <= 1ns",
        "--deadline=30m",
        "--deadline=2ns",
        "--samples=200",
    ];
    let answer = home.run(
        QUICK
            .iter()
            .copied()
            .filter(|arg| !arg.starts_with("--samples"))
            .chain(asked),
    );
    let Some(cases) = cases(&home, &answer.stdout) else {
        return;
    };
    assert!(
        cases.iter().all(|(suite, _, _)| suite == "run a<b>&\"1"),
        "{cases:#?}"
    );
    assert_eq!(outcome(&cases, "check scheduling").len(), 1, "{cases:#?}");
    let record = answer.json();
    let valid = record["valid"] == true;
    let if_valid = |outcome: &'static str| if valid { outcome } else { "error" };
    // Whether 200 wake-ups are enough for a median depends on how alike neighbours are here.
    let of_median = match record["requirements"][0]["ruling"].as_str() {
        Some("pass") => "passed",
        _ => "error",
    };
    assert_eq!(outcome(&cases, "p50 <= 100s"), [if_valid(of_median)]);
    // Two hundred wake-ups say nothing of the last in a hundred thousand.
    assert_eq!(outcome(&cases, "p99.999 <= 100s"), ["error"]);
    assert_eq!(outcome(&cases, "deadline 1800 s"), [if_valid("passed")]);
    assert_eq!(outcome(&cases, "deadline 2 ns"), ["failure"]);
}

#[test]
fn what_measures_no_latencies_refuses_a_requirement_before_it_measures() {
    let home = Home::new();
    for instrument in ["linpack", "io", "memory"] {
        home.run(["measure", instrument, "--require", "p99 <= 50ms"])
            .error(2, &[instrument, "keeps none"])
            .hinted();
    }
}

#[test]
fn a_diagnosis_an_assessment_a_comparison_and_a_fleet_are_cases_too() {
    let home = Home::new();
    let doctor = home.run(["doctor", "--json"]);
    let Some(found) = cases(&home, &doctor.fine().stdout) else {
        return;
    };
    let verdicts = doctor.json()["verdicts"].as_array().unwrap().clone();
    assert_eq!(found.len(), verdicts.len());
    for verdict in verdicts {
        let informs = verdict["rule"]["severity"] == "info";
        let expected = match verdict["outcome"].as_str().unwrap() {
            "found" if !informs => "failure",
            "unknown" => "error",
            "not_applicable" => "skipped",
            _ => "passed",
        };
        let rule = verdict["rule"]["id"].as_str().unwrap();
        assert_eq!(outcome(&found, rule), [expected], "{verdict:#}");
    }
    let assess = home.run([
        "assess",
        "--duration=1s",
        "--load=cpu:1",
        "--json",
        "--deadline=1ns",
    ]);
    let found = cases(&home, &assess.stdout).unwrap();
    assert_eq!(outcome(&found, "deadline 1 ns"), ["failure"]);
    for name in ["a", "b"] {
        home.quick(&[&format!("--name={name}")]);
    }
    let compare = home.run(["compare", "a", "b", "--json", "--allow-invalid"]);
    let found = cases(&home, &compare.stdout).unwrap();
    // One run a side is no ground for a verdict.
    assert!(
        found.iter().all(|(_, _, outcome)| outcome == "error"),
        "{found:#?}"
    );
    let host = |name: &str, state: &str| {
        serde_json::json!({
            "host": name, "state": state, "detail": null, "exit": null, "architecture": null, "uid": null,
            "version": null, "duration_ns": null, "changed": false, "runs": [], "answer": null, "left": [],
        })
    };
    let fleet = serde_json::json!({
        "format": "punctual.fleet/1", "verb": "measure", "arguments": [], "check_only": false,
        "started": "2026-01-01T00:00:00Z", "duration_ns": 1,
        "hosts": [host("a", "done"), host("b", "unreachable"), host("c", "verdict")],
    });
    let found = cases(&home, &fleet.to_string()).unwrap();
    assert_eq!(outcome(&found, "a"), ["passed"]);
    assert_eq!(outcome(&found, "b"), ["error"]);
    assert_eq!(outcome(&found, "c"), ["failure"]);
    let page = home.dir().join("result.json");
    let md = home.run(["report", page.to_str().unwrap(), "--format=md"]);
    assert!(md.fine().stdout.contains("unreachable"), "{md:#?}");
}

fn adapters(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../adapters")
        .join(name)
}

/// Runs shell steps in `dir`, with the program first in the path.
fn shell(home: &Home, script: &str, environment: &[(&str, &str)]) -> Answer {
    let bin = home.dir().join("bin");
    fs::create_dir_all(&bin).unwrap();
    let link = bin.join("punctual");
    if !link.exists() {
        std::os::unix::fs::symlink(crate::common::program(), link).unwrap();
    }
    let path = std::env::var("PATH").unwrap();
    let mut command = Command::new("bash");
    command
        .args(["-c", script])
        .current_dir(home.dir())
        .env("PATH", format!("{}:{path}", bin.display()))
        .env("PUNCTUAL_HOME", home.store())
        .envs(environment.iter().copied());
    finish(command)
}

/// The text of a YAML block `key: |`, without its indentation.
fn block(yaml: &str, key: &str) -> String {
    let from = yaml.find(key).unwrap() + key.len();
    let mut lines = yaml[from..].lines().skip(1).peekable();
    let depth = lines.peek().unwrap().len() - lines.peek().unwrap().trim_start().len();
    let inside =
        lines.take_while(|line| line.trim().is_empty() || line.starts_with(&" ".repeat(depth)));
    inside
        .map(|line| format!("{}\n", line.get(depth..).unwrap_or("")))
        .collect()
}

#[test]
fn the_steps_of_the_adapters_keep_the_verdict_and_leave_its_files() {
    let home = Home::new();
    let line = QUICK.iter().filter(|arg| !arg.ends_with("json"));
    let words: Vec<&str> = line.copied().chain(["--deadline=1ns"]).collect();
    let action = machine::read(&adapters("github/action.yml")).unwrap();
    let [output, summary] = ["output", "summary"].map(|name| home.dir().join(name));
    let environment = [
        ("PUNCTUAL_PROGRAM", "punctual"),
        ("PUNCTUAL_COMMAND", &*words.join("\n")),
        ("PUNCTUAL_DIRECTORY", "results"),
        ("GITHUB_OUTPUT", output.to_str().unwrap()),
        ("GITHUB_STEP_SUMMARY", summary.to_str().unwrap()),
    ];
    let answer = shell(&home, &block(&action, "run: |"), &environment);
    let status = answer.code();
    assert!(matches!(status, 1 | 3), "{answer:#?}");
    let outputs = machine::read(&output).unwrap();
    assert_eq!(
        outputs,
        format!("status={status}\njunit=results/junit.xml\n")
    );
    assert!(
        machine::read(&home.dir().join("results/junit.xml"))
            .unwrap()
            .contains("<failure")
    );
    assert!(home.dir().join("results/report.html").is_file());
    assert!(fs::metadata(&summary).unwrap().len() > 0);

    let gitlab = machine::read(&adapters("gitlab/punctual.gitlab-ci.yml")).unwrap();
    let environment = [
        ("PUNCTUAL", "punctual"),
        ("PUNCTUAL_COMMAND", &*words.join(" ")),
    ];
    let answer = shell(&home, &block(&gitlab, "- |"), &environment);
    assert!(matches!(answer.code(), 1 | 3), "{answer:#?}");
    assert!(home.dir().join("punctual-results/junit.xml").is_file());
}

#[test]
fn lava_hears_of_every_case_by_a_name_that_it_takes() {
    let home = Home::new();
    let said = home.dir().join("said");
    let fake = home.dir().join("bin");
    fs::create_dir_all(&fake).unwrap();
    for name in ["lava-test-case", "lava-test-raise"] {
        let path = fake.join(name);
        fs::write(
            &path,
            format!("#!/bin/sh\necho \"$@\" >>{}\n", said.display()),
        )
        .unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(&path, mode).unwrap();
    }
    std::os::unix::fs::symlink(adapters("."), home.dir().join("adapters")).unwrap();
    let yaml = machine::read(&adapters("lava/punctual.yaml")).unwrap();
    let steps = yaml.split("  steps:\n").nth(1).unwrap();
    // What LAVA does with the steps: one shell, one line after the other.
    let script: String = steps
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- "))
        .fold(String::new(), |all, line| all + line + "\n");
    let words: Vec<&str> = QUICK
        .into_iter()
        .filter(|arg| !arg.ends_with("json"))
        .collect();
    let command = format!("{} --require=p50<=1ns", words.join(" "));
    shell(
        &home,
        &script,
        &[("URL", ""), ("SHA256", ""), ("COMMAND", &*command)],
    )
    .fine();
    let said = machine::read(&said).unwrap();
    let record = home.run(["runs", "show", "last", "--json"]).json();
    let checks = record["checks"].as_array().unwrap().len();
    // Each check, the requirement, and the status.
    assert_eq!(said.lines().count(), checks + 2, "{said}");
    assert!(
        said.lines()
            .last()
            .unwrap()
            .starts_with("exit-status --result fail --measurement "),
        "{said}"
    );
    for line in said.lines() {
        let name = line.split(' ').next().unwrap();
        assert!(
            name.chars()
                .all(|c| c.is_ascii_alphanumeric() || "._-".contains(c)),
            "{line}"
        );
    }
}
