// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Machines compared with each other: one record, cloned, with figures that the tests made up.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use serde_json::{Value, json};

use crate::browser::Browser;
use crate::common::{Home, finish, machine, stored};
use crate::gates::{cases, outcome};
use crate::history::Noise;
use crate::schema::{assert_valid, schema};

/// Writes runs below a directory: 3 % between machines, 5 % between runs, and what `change` says.
fn write(
    dir: &Path,
    machines: usize,
    runs: impl Fn(usize) -> usize,
    change: impl Fn(usize, &mut f64, &mut Value),
) -> Value {
    let mut noise = Noise(23);
    let mut values = serde_json::Map::new();
    let whole = stored::record();
    let mut made = 0;
    for number in 0..machines {
        let own = 0.03 * noise.next();
        let mut of_machine = Vec::new();
        for run in 0..runs(number) {
            let mut record = whole.clone();
            let id = format!("01900000-0000-7000-8000-{made:012x}");
            made += 1;
            let mut us = 50.0 * (own + 0.05 * noise.next()).exp();
            record["id"] = json!(id);
            record["started"] = json!(format!("2026-01-{:02}T02:00:00Z", 1 + run));
            record["host"]["hostname"] = json!(format!("rig{number:04}"));
            change(number, &mut us, &mut record);
            let ns: u64 = format!("{:.0}", us * 1e3).parse().unwrap();
            of_machine.push(json!(ns));
            let total = &mut record["total"];
            total["count"] = json!(100_000);
            total["quantiles_ns"] = json!({"p50": ns / 2, "p99": ns});
            total["quantile_intervals_ns"] = json!({"p99": null});
            let own = dir.join(&id);
            fs::create_dir_all(&own).unwrap();
            fs::write(own.join("run.json"), record.to_string()).unwrap();
        }
        values.insert(format!("rig{number:04}"), Value::Array(of_machine));
    }
    Value::Object(values)
}

fn fleet(home: &Home, dir: &Path, args: &[&str]) -> crate::common::Answer {
    let dir = dir.display().to_string();
    let start = ["compare", "--by=host", dir.as_str()];
    home.run(start.iter().chain(args))
}

#[test]
fn twelve_outliers_of_a_thousand_machines_are_found_with_what_they_have_alone() {
    let home = Home::aside();
    let dir = home.dir().join("fleet");
    let planted = |number: usize| number % 80 == 37 && number < 12 * 80;
    write(
        &dir,
        1_000,
        |_| 10,
        |number, us, record| {
            if planted(number) {
                *us *= 1.4;
                record["host"]["cpuidle"] = json!("acpi_idle/menu");
            }
        },
    );
    let page: PathBuf = home.dir().join("fleet.html");
    let began = Instant::now();
    let args = ["--json", "-o", page.to_str().unwrap(), "--metric=p50,p99"];
    // An optimised program takes 3 s of a quiet machine at most; this one is neither, and only hangs if it exceeds `HANG`.
    let answer = fleet(&home, &dir, &args);
    println!("1000 machines: {:.1} s", began.elapsed().as_secs_f64());
    let judged = cases(&home, &answer.fine().stdout).unwrap_or_default();
    let answer = answer.json();
    assert_valid(&schema("machines.schema.json"), &answer);
    let outliers = answer["groups"][0]["outliers"].as_array().unwrap();
    let found: Vec<&str> = outliers
        .iter()
        .map(|o| o["machine"].as_str().unwrap())
        .collect();
    let want: Vec<String> = (0..1_000)
        .filter(|n| planted(*n))
        .map(|n| format!("rig{n:04}"))
        .collect();
    assert_eq!(found, want);
    // The cases of a gate are the same machines.
    for (_, machine, outcome) in &judged {
        let is_outlier = want.contains(machine);
        assert_eq!(outcome == "failure", is_outlier, "{machine}: {outcome}");
    }
    assert!(
        outliers[0]["differs"]
            .to_string()
            .contains("acpi_idle/menu"),
        "{:#}",
        outliers[0]
    );
    let bytes = fs::metadata(&page).unwrap().len();
    assert!(bytes < 5_000_000, "{bytes} bytes");
    let html = machine::read(&page).unwrap();
    assert!(html.contains("rig0037") && html.contains("p99 of each machine"));
}

#[test]
fn outliers_at_the_end_of_a_long_tail_are_said_to_be_that() {
    let home = Home::aside();
    let dir = home.dir().join("tail");
    // Most machines alike, and some slower by any amount: exponential.
    let slower = |number: usize, us: &mut f64, _: &mut Value| {
        let place = f64::from(u32::try_from(number).unwrap()) + 0.5;
        *us *= (-0.3 * (1.0 - place / 60.0).ln()).exp();
    };
    write(&dir, 60, |_| 4, slower);
    let answer = fleet(&home, &dir, &["--json", "--metric=p99"])
        .fine()
        .json();
    assert_valid(&schema("machines.schema.json"), &answer);
    let figure = &answer["groups"][0]["figures"][0];
    assert!(figure["normal_p"].as_f64().unwrap() < 0.05, "{figure:#}");
    let outliers = answer["groups"][0]["outliers"].as_array().unwrap();
    assert!(!outliers.is_empty());
    let said = fleet(&home, &dir, &["--metric=p99"]);
    assert!(said.fine().stdout.contains("long-tail: p99"), "{said:#?}");
    // One planted outlier among machines that are alike has no such remark.
    let other = home.dir().join("alike");
    write(
        &other,
        60,
        |_| 4,
        |number, us, _| {
            if number == 17 {
                *us *= 1.4;
            }
        },
    );
    let said = fleet(&home, &other, &["--metric=p99"]);
    let text = &said.fine().stdout;
    assert!(
        text.contains("rig0017") && !text.contains("long-tail"),
        "{text}"
    );
}

#[test]
fn hardware_and_kernel_make_groups_and_a_gate_fails_on_outliers_and_on_too_few_machines() {
    let home = Home::aside();
    let dir = home.dir().join("two");
    write(
        &dir,
        20,
        |_| 4,
        |number, us, record| {
            if number >= 10 {
                *us *= 2.0;
                record["host"]["kernel_release"] = json!("6.12.9");
            }
            if number == 3 {
                *us *= 1.6;
            }
        },
    );
    let gate = ["--fail-on=worse", "--json", "--metric=p99"];
    let answer = fleet(&home, &dir, &gate);
    assert_eq!(answer.code(), 3, "{answer:#?}");
    let answer = answer.json();
    let groups = answer["groups"].as_array().unwrap();
    assert_eq!(groups.len(), 2);
    let all: Vec<&Value> = groups
        .iter()
        .flat_map(|g| g["outliers"].as_array().unwrap())
        .collect();
    // One in twenty such fleets may have another by chance; none is as clear, or worse.
    let worse = |of: &&&Value| of["figures"][0]["direction"] == "worse";
    let worse: Vec<&&Value> = all.iter().filter(worse).collect();
    assert_eq!(worse.len(), 1, "{all:#?}");
    assert_eq!(worse[0]["machine"], "rig0003");
    let few = home.dir().join("few");
    write(&few, 5, |_| 4, |_, _, _| {});
    let gate = ["--fail-on=worse", "--metric=p99"];
    assert_eq!(fleet(&home, &few, &gate).code(), 6);
    let text = fleet(&home, &few, &[]).fine().stdout.clone();
    assert!(text.contains("8 machines"), "{text}");
    fleet(&home, &few, &["--fail-on=not-equivalent"]).error(2, &["--by host"]);
}

/// Changes the records of one machine below a directory.
fn rewrite(dir: &Path, machine: &str, change: impl Fn(&mut Value)) {
    for run in fs::read_dir(dir).unwrap() {
        let file = run.unwrap().path().join("run.json");
        let mut record: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        if record["host"]["hostname"] == machine {
            change(&mut record);
            fs::write(file, record.to_string()).unwrap();
        }
    }
}

#[test]
fn a_gate_does_not_open_where_a_machine_or_a_figure_was_left_out() {
    let home = Home::aside();
    let alike = |name: &str| {
        let dir = home.dir().join(name);
        write(&dir, 10, |_| 4, |_, _, _| {});
        dir
    };
    // An outlier by chance would fail `worse`; this fails for nothing but too few machines.
    let gate = |dir: &Path, metric: &str| {
        let args = ["--json", "--fail-on=too-few-runs", metric];
        fleet(&home, dir, &args)
    };
    let whole = alike("whole");
    assert_eq!(gate(&whole, "--metric=p50,p99").code(), 0);
    let answer = gate(&whole, "--metric=p99,p99.999");
    assert_eq!(answer.code(), 6, "{answer:#?}");
    assert_eq!(answer.json()["missing"], json!(["p99.999"]));
    assert_valid(&schema("machines.schema.json"), &answer.json());
    if let Some(found) = cases(&home, &answer.stdout) {
        assert_eq!(outcome(&found, "p99.999"), ["error"]);
    }
    let lacking = alike("lacking");
    rewrite(&lacking, "rig0004", |record| {
        record["total"]["quantiles_ns"]["p99"] = Value::Null;
    });
    let answer = gate(&lacking, "--metric=p50,p99");
    assert_eq!(answer.code(), 6, "{answer:#?}");
    if let Some(found) = cases(&home, &answer.stdout) {
        // Unless it is an outlier by chance in the figure that it has.
        assert_ne!(outcome(&found, "rig0004"), ["passed"]);
    }
    // One alone with its kernel has nothing to be compared with.
    let lonely = alike("lonely");
    rewrite(&lonely, "rig0004", |record| {
        record["host"]["kernel_release"] = json!("6.12.9");
    });
    let answer = gate(&lonely, "--metric=p99");
    assert_eq!(answer.code(), 6, "{answer:#?}");
    let nameless = alike("nameless");
    rewrite(&nameless, "rig0004", |record| {
        record["host"]["hostname"] = Value::Null;
    });
    let answer = gate(&nameless, "--metric=p99");
    assert_eq!(answer.code(), 6, "{answer:#?}");
    if let Some(found) = cases(&home, &answer.stdout) {
        let refused = found.iter().filter(|(_, name, _)| name.starts_with("run "));
        assert_eq!(refused.count(), 4, "{found:#?}");
    }
}

#[test]
fn pages_of_machines_with_ordinary_names_and_of_a_fleet_are_read_in_a_browser() {
    let Some(browser) = Browser::new() else {
        return;
    };
    let home = Home::aside();
    let dir = home.dir().join("ordinary");
    write(
        &dir,
        10,
        |_| 4,
        |number, us, record| {
            record["host"]["hostname"] = json!(format!("machine-{number:02}.lab.example.org"));
            if number == 3 {
                *us *= 1.5;
            }
        },
    );
    let page = browser.page("machines.html");
    let args = ["--force", "--metric=p50,p99", "-o", page.to_str().unwrap()];
    fleet(&home, &dir, &args).fine();
    // It has dots, whose keys are looked at too.
    assert!(machine::read(&page).unwrap().contains("\"sh\":\"points\""));
    // Of hosts that ended in all the ways that the tests of `fleet` have.
    let of_fleet = browser.page("fleet.html");
    let answer = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stored/fleet.json");
    let json = serde_json::from_str(&machine::read(&answer).unwrap()).unwrap();
    assert_valid(&schema("fleet.schema.json"), &json);
    let [from, to] = [&answer, &of_fleet].map(|path| path.to_str().unwrap());
    home.run(["report", from, "--force", "-o", to]).fine();
    browser.looks_at(&[page, of_fleet]);
}

#[test]
fn the_components_are_those_that_scipy_finds() {
    let Some(python) = machine::python() else {
        return;
    };
    let home = Home::aside();
    let dir = home.dir().join("scipy");
    let values = write(&dir, 14, |number| 2 + number % 5, |_, _, _| {});
    let json = fleet(&home, &dir, &["--json", "--metric=p99"])
        .fine()
        .stdout
        .clone();
    let [values_file, fleet_file] = ["values.json", "fleet.json"].map(|name| home.dir().join(name));
    fs::write(&values_file, values.to_string()).unwrap();
    fs::write(&fleet_file, json).unwrap();
    let mut command = Command::new(python);
    command
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/check-machines.py"))
        .args([values_file, fleet_file]);
    println!("{}", finish(command).fine().stdout);
}
