// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The figures of a run, computed a second time from its samples by numpy and scipy.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::common::{Home, finish, machine};

/// Exports the last run to `dir` in every format.
fn export_all(home: &Home, dir: &Path) {
    for (format, file) in [
        ("csv", "samples.csv"),
        ("json", "samples.json"),
        ("parquet", "samples.parquet"),
        ("hdr", "latency.hlog"),
    ] {
        let file = dir.join(file);
        let args = ["runs", "export", "last", "--format", format, "--output"];
        home.run(args.map(Path::new).into_iter().chain([file.as_path()]))
            .fine();
        assert!(file.is_file());
    }
}

fn assert_scipy_agrees(home: &Home, python: &Path, record: &Value) {
    let dir = home.dir().join("exports");
    fs::create_dir(&dir).unwrap();
    export_all(home, &dir);
    fs::write(dir.join("run.json"), record.to_string()).unwrap();
    let mut command = Command::new(python);
    command
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scipy/check.py"))
        .arg(&dir)
        .arg(punctual_stats::HEAVY_TAIL_RANK_TOLERANCE.to_string());
    let answer = finish(command);
    println!("{}", answer.stdout);
    answer.fine();
}

#[test]
fn scipy_computes_the_same_figures_from_the_exported_samples() {
    if !machine::root() {
        return;
    }
    let Some(python) = machine::python() else {
        return;
    };
    // P-square follows a change of regime slowly, as its documentation says: no other tests here.
    let home = Home::alone();
    let record = home.measure(
        "--threads 2 --interval 1ms --samples 5000 --priority f:80 --raw \
         --deadline 25us --deadline 100us --statistics psquare",
    );
    assert!(record["total"]["psquare_ns"]["p95"].is_number());
    assert!(record["series"][1]["psquare_shares"]["p95"].is_number());
    assert_eq!(record["total"]["count"], 10_000);
    assert_eq!(record["ended"], "completed");
    assert_scipy_agrees(&home, &python, &record);
}

#[test]
fn scipy_agrees_on_overrun_samples_of_an_ordinary_thread() {
    let Some(python) = machine::python() else {
        return;
    };
    let home = Home::alone();
    let record = home.measure(
        "--threads 3 --interval 100us --distance 37us --samples 2000 --priority o --raw \
         --deadline 60us --dma-latency off",
    );
    assert_eq!(record["total"]["count"], 6_000);
    // Not asked for.
    for series in [&record["total"], &record["series"][0]] {
        assert_eq!(series["psquare_ns"], json!({}));
        assert_eq!(series["psquare_shares"], json!({}));
    }
    assert_scipy_agrees(&home, &python, &record);
}

#[test]
fn the_histograms_of_the_log_are_those_of_the_threads() {
    let home = Home::new();
    let record = home.measure("--threads 2 --samples 300 --raw --priority o --dma-latency off");
    let log = home.run(["runs", "export", "last", "--format", "hdr"]);
    let log = punctual_stats::read_hlog(&mut log.fine().stdout.as_bytes()).unwrap();
    let series = record["series"].as_array().unwrap();
    assert_eq!(log.entries.len(), series.len());
    let samples = home.samples();
    for (entry, series) in log.entries.iter().zip(series) {
        assert_eq!(entry.tag, Some(series["thread"].to_string()));
        assert_eq!(entry.histogram.count(), series["count"].as_u64().unwrap());
        for (name, p) in [("p5", 0.05), ("p50", 0.5), ("p90", 0.9), ("p99", 0.99)] {
            let quantile = entry.histogram.quantile(p);
            assert_eq!(quantile, series["quantiles_ns"][name].as_u64(), "{name}");
        }
        for deadline in [30_000, 60_000, 100_000] {
            let above = samples
                .iter()
                .filter(|row| row[0] == series["thread"] && row[3] > deadline);
            // Within the bucket that the deadline is in, the histogram cannot tell.
            let error = series["quantile_relative_error"].as_f64().unwrap();
            let near = samples.iter().filter(|row| {
                #[expect(clippy::cast_precision_loss, reason = "small numbers")]
                let ratio = row[3] as f64 / deadline as f64;
                (ratio - 1.0).abs() <= 2.0 * error
            });
            let counted = entry.histogram.count_above(deadline);
            assert!(counted.abs_diff(above.count() as u64) <= near.count() as u64);
        }
    }
}

#[test]
fn one_sample_has_no_figure_that_needs_more() {
    let home = Home::new();
    let one = home.measure("--threads 1 --samples 1 --priority o --dma-latency off");
    let total = &one["total"];
    assert_eq!(total["count"], 1);
    assert_eq!(total["min_ns"], total["max_ns"]);
    for missing in [
        "stddev_ns",
        "skewness",
        "excess_kurtosis",
        "mean_interval_ns",
    ] {
        assert!(total[missing].is_null(), "{missing}: {total:#}");
    }
    assert!(total["quantiles_ns"]["p99"].is_null());
}

#[test]
fn every_table_of_a_run_says_the_same() {
    let home = Home::new();
    let record = home.quick(&["--raw", "--deadline=50us"]);
    let shown = home.run(["runs", "show", "last", "--json"]);
    assert_eq!(shown.fine().json(), record);
    let stored = fs::read(
        home.runs_dir()
            .join(record["id"].as_str().unwrap())
            .join("run.json"),
    );
    let stored: Value = serde_json::from_slice(&stored.unwrap()).unwrap();
    assert_eq!(stored, record);
    let summary = ["runs", "export", "last", "--format=csv", "--data=summary"];
    let summary = home.run(summary).fine().stdout.clone();
    let rows: Vec<Vec<&str>> = summary.lines().map(|l| l.split(',').collect()).collect();
    let column = |name: &str| rows[0].iter().position(|c| *c == name).unwrap();
    assert_eq!(rows.len(), 3);
    assert_eq!(rows[2][column("thread")], "all");
    for key in [
        "count",
        "min_ns",
        "max_ns",
        "mean_ns",
        "stddev_ns",
        "skewness",
        "overruns",
    ] {
        let cell: f64 = rows[2][column(key)].parse().unwrap();
        assert_eq!(Some(cell), record["total"][key].as_f64(), "{key}");
    }
    let samples = home.samples();
    let late = samples.iter().filter(|row| row[3] > 50_000).count();
    assert_eq!(rows[2][column("above_50000_ns")], late.to_string());
    let row = &home.list()[0]["figures"];
    assert_eq!(row["count"], record["total"]["count"]);
    assert_eq!(row["max_ns"], record["total"]["max_ns"]);
    assert_eq!(row["valid"], record["valid"]);
}
