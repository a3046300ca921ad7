// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `runs extrapolate` of runs whose samples the tests made up, so that the answers are known.

use std::fs;

use punctual_model::{RunRecord, Sample};
use punctual_stats::RandomSource;
use punctual_store::{Raw, Store};
use serde_json::{Value, json};

use crate::common::{Answer, Home, stored};
use crate::schema::{assert_valid, schema};

/// Writes a run of 15 minutes at 1 kHz with these latencies in ns, and extrapolates from it.
fn extrapolate(home: &Home, latency_ns: impl FnMut(u64) -> u64, more: &[&str]) -> Answer {
    let samples = 900_000;
    let mut record = stored::record();
    record["id"] = json!("01900000-0000-7000-8000-000000000001");
    record["duration_ns"] = json!(samples * 1_000_000_u64);
    record["total"]["count"] = json!(samples);
    let record: RunRecord = serde_json::from_value(record).unwrap();
    let store = Store::open(home.dir().join("made")).unwrap();
    let mut writer = store.begin(record.id.parse().unwrap(), Raw::Keep).unwrap();
    let made: Vec<Sample> = (0..samples)
        .zip((0..samples).map(latency_ns))
        .map(|(at, latency_ns)| Sample {
            t_ns: at * 1_000_000,
            latency_ns,
            cpu: 0,
            skipped: 0,
        })
        .collect();
    writer.samples(0, &made).unwrap();
    writer.finish(&record).unwrap();
    let made = format!("--home={}", home.dir().join("made").display());
    let call = [&made, "runs", "extrapolate", "last"];
    home.run(call.iter().chain(more))
}

fn whole(ns: f64) -> u64 {
    format!("{ns:.0}").parse().unwrap()
}

#[test]
fn a_known_tail_is_extrapolated_to_a_day_and_says_that_it_is_advice() {
    let home = Home::aside();
    // 20 µs and an exponential tail of 5 µs: passed once in 86.4 million samples is 111 µs.
    let mut source = RandomSource::new(3);
    let tail = move |_| whole(20_000.0 - 5_000.0 * source.uniform().ln());
    let answer = extrapolate(&home, tail, &["--json"]);
    let json = answer.fine().json();
    assert_valid(&schema("extrapolation.schema.json"), &json);
    assert_eq!(
        (&json["advisory"], &json["horizon_ns"]),
        (&json!(true), &json!(86_400_000_000_000_u64))
    );
    let truth = 20_000.0 + 5_000.0 * 86.4e6_f64.ln();
    for method in json["methods"].as_array().unwrap() {
        let estimate = &method["estimate"];
        let ends = &estimate["interval_ns"];
        let (low, high) = (
            ends["low"].as_f64().unwrap(),
            ends["high"].as_f64().unwrap(),
        );
        assert!(
            low < truth && truth < high && high < 3.0 * truth,
            "{method}"
        );
        assert!(estimate["fit_p"].as_f64().unwrap() >= 0.01);
    }
    let made = format!("--home={}", home.dir().join("made").display());
    let text = home.run([&made, "runs", "extrapolate", "--horizon=1h"]);
    let text = text
        .fine()
        .stdout
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    assert!(text.contains("It is no bound"), "{text}");
    assert!(
        text.contains("block maxima") && text.contains("95 % interval"),
        "{text}"
    );
    // Further than a hundred times the run, and no further than it.
    for (horizon, why) in [
        ("--horizon=30h", "the limit is 100 times"),
        ("--horizon=10m", "no further than the samples"),
    ] {
        let text = home.run([&made, "runs", "extrapolate", horizon]);
        let text = text
            .fine()
            .stdout
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        assert!(
            text.contains("Block maxima refused: ") && text.contains(why),
            "{text}"
        );
        assert!(!text.contains("Level"), "{text}");
    }
}

#[test]
fn a_run_that_is_not_steady_has_no_tail_to_speak_of() {
    let home = Home::aside();
    let mut source = RandomSource::new(4);
    let rising = move |at: u64| {
        whole(
            20_000.0
                - 5_000.0
                    * (1.0 + f64::from(u32::try_from(at).unwrap()) / 9e5)
                    * source.uniform().ln(),
        )
    };
    let answer = extrapolate(&home, rising, &["--json"]);
    for method in answer.fine().json()["methods"].as_array().unwrap() {
        let why = method["refused"].as_str().unwrap();
        assert!(why.contains("do not come from a steady run"), "{why}");
        assert!(method["estimate"].is_null());
    }
}

#[test]
fn a_log_of_cyclictest_has_its_rate_from_its_interval_and_is_not_called_invalid() {
    let home = Home::aside();
    let log = home.dir().join("v.log");
    let import = |asked: &str, lines: &str| {
        fs::write(&log, format!("{asked}{lines}")).unwrap();
        home.run(["runs", "import", log.to_str().unwrap()])
    };
    let lines: String = (0..20_000)
        .map(|n: u32| {
            format!(
                "       0:{n:8}:{:8}\n",
                40 + n.wrapping_mul(2_654_435_761) % 90
            )
        })
        .collect();
    import("Thread 0 Interval: 1500\n", &lines).fine();
    let found = home.run(["runs", "extrapolate", "last", "--horizon=10m", "--json"]);
    let found = found.fine().json();
    assert_valid(&schema("extrapolation.schema.json"), &found);
    assert_eq!(found["duration_ns"], 20_000_000_000_u64, "{found:#}");
    assert_eq!(found["horizon_samples"], 600_000.0, "{found:#}");
    assert_eq!(found["by_interval"], true);
    // The upper end of 129 µs, as everywhere.
    assert_eq!(found["max_ns"], 129_999, "{found:#}");
    assert_eq!(found["imported_from"], "cyclictest");
    let text = home
        .run(["runs", "extrapolate", "last"])
        .fine()
        .stdout
        .clone();
    assert!(
        text.starts_with("imported, not checked") && !text.contains("INVALID"),
        "{text}"
    );
    // With -q a summary follows, which says the interval without the distance.
    let summary = |cycles: u32, max: u32| {
        format!(
            "{lines}T: 0 (7) P:80 I:2000 C:{cycles:7} Min:     40 Act:   50 Avg:   84 Max:{max:8}\n"
        )
    };
    import("", &summary(20_000, 129)).fine();
    let shown = home.run(["runs", "show", "last", "--json"]).json();
    assert_eq!(shown["series"][0]["interval_ns"], 2_000_000, "{shown:#}");
    import("", &summary(19_999, 129)).error(
        1,
        &["line 20001", "it counts 19999 cycles", "20000 are above"],
    );
    import("", &summary(20_000, 130)).error(1, &["line 20001", "is 130, and 129 above"]);
    import("", &lines).fine();
    home.run(["runs", "extrapolate", "last"])
        .error(1, &["neither how long it was nor its interval"]);
}

#[test]
fn a_run_without_its_samples_says_how_to_have_them() {
    let home = Home::aside();
    home.quick(&[]);
    let answer = home.run(["runs", "extrapolate"]);
    answer.error(
        1,
        &["samples are not stored", "punctual measure wakeup --raw"],
    );
}

#[test]
fn whole_microseconds_have_the_tail_of_what_was_cut_or_say_that_they_are_too_coarse() {
    let home = Home::aside();
    let refusals = |name: &str, scale_us: f64| -> Vec<Value> {
        let mut source = RandomSource::new(100);
        let lines: String = (0..60_000)
            .map(|n| {
                let us = (20.0 - scale_us * source.uniform().ln()).floor();
                format!("       0:{n:8}:{us:8}\n")
            })
            .collect();
        let log = home.dir().join(name);
        fs::write(&log, format!("Thread 0 Interval: 1500\n{lines}")).unwrap();
        home.run(["runs", "import", log.to_str().unwrap()]).fine();
        let found = home.run(["runs", "extrapolate", "last", "--horizon=1h", "--json"]);
        let methods = found.fine().json()["methods"].clone();
        methods
            .as_array()
            .unwrap()
            .iter()
            .map(|of| of["refused"].clone())
            .collect()
    };
    assert_eq!(refusals("fine", 4.0), [Value::Null, Value::Null]);
    for refused in refusals("coarse", 0.5) {
        let why = refused.as_str().unwrap();
        assert!(why.contains("cut to whole units, too coarse"), "{why}");
    }
}
