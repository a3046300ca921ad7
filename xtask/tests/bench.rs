// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `cargo xtask bench` with a program that only pretends to measure.
#![expect(clippy::unwrap_used, reason = "test helpers")]

use std::path::Path;
use std::process::{Command, Output};

use assert_cmd::cargo::cargo_bin;

/// Runs the one budget that needs no cyclictest, with a variable set for the fake.
fn bench(variable: (&str, &str), options: &[&str]) -> Output {
    let output = tempfile::tempdir().unwrap();
    let fake = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/fake-punctual");
    Command::new(cargo_bin!("xtask"))
        .args(["bench", "--quick", "--only", "raw-no-loss", "--punctual"])
        .arg(fake)
        .arg("--output")
        .arg(output.path())
        .args(options)
        .env(variable.0, variable.1)
        .output()
        .unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[test]
fn the_bench_never_takes_an_unmeasured_budget_as_kept() {
    let output = bench(("FAKE_LOST", "0"), &["--enforce"]);
    assert!(output.status.success(), "{output:?}");
    let verdict = if is_root() { "ok" } else { "not measured" };
    let text = stdout(&output);
    assert!(
        text.lines()
            .any(|line| line.starts_with("raw-no-loss") && line.ends_with(verdict)),
        "{text}"
    );
}

#[test]
fn a_budget_that_is_over_fails_only_when_enforced() {
    let output = bench(("FAKE_LOST", "7"), &[]);
    assert!(output.status.success(), "{output:?}");
    let output = bench(("FAKE_LOST", "7"), &["--enforce"]);
    assert_eq!(output.status.success(), !is_root(), "{output:?}");
    if is_root() {
        assert!(stdout(&output).contains("7 lost"), "{output:?}");
    }
}

#[test]
fn a_program_that_fails_is_reported_with_its_own_words() {
    let output = bench(("FAKE_FAIL", "1"), &["--enforce"]);
    assert_eq!(output.status.success(), !is_root(), "{output:?}");
    if is_root() {
        assert!(
            stdout(&output).contains("failed to do as told"),
            "{output:?}"
        );
    }
}

#[test]
fn an_unknown_budget_is_refused_with_the_names_of_those_there_are() {
    let output = Command::new(cargo_bin!("xtask"))
        .args(["bench", "--only", "speed"])
        .output()
        .unwrap();
    assert!(!output.status.success());
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("wakeup-p50"),
        "{output:?}"
    );
}

/// The lines that the bench looks for in what the program prints change with the program. This one is slow, as it was compiled for
/// tests: only that each is measured is asked.
#[test]
fn what_the_bench_looks_for_is_what_the_program_prints() {
    let xtask = cargo_bin!("xtask");
    let program = xtask.with_file_name("punctual");
    assert!(
        program.exists(),
        "{}: build it by `cargo build --workspace`",
        program.display()
    );
    let output = tempfile::tempdir().unwrap();
    let named = ["compare-40-runs", "tasks-check-100"];
    let run = Command::new(xtask)
        .args(["bench", "--quick", "--profile", "dev", "--punctual"])
        .arg(program)
        .args(named.map(|name| format!("--only={name}")))
        .arg("--output")
        .arg(output.path())
        .output()
        .unwrap();
    assert!(run.status.success(), "{run:?}");
    let text = stdout(&run);
    for name in named {
        let line = text.lines().find(|line| line.starts_with(name));
        let line = line.unwrap_or_else(|| panic!("{name}: {text}"));
        assert!(
            line.ends_with(" ok") || line.ends_with(" over"),
            "{line}: {text}"
        );
    }
}
