// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `measure pi`: an inversion without a protocol, and none with one.

use serde_json::Value;

use crate::common::{Home, machine};

fn figure<'a>(record: &'a Value, name: &str, protocol: &str) -> &'a Value {
    let figures = record["figures"].as_array().unwrap();
    let own = |f: &&Value| f["name"] == name && f["labels"]["protocol"] == protocol;
    figures.iter().find(own).unwrap()
}

#[test]
fn a_protocol_bounds_the_wait_that_is_unbounded_without() {
    if !machine::root() {
        return;
    }
    let home = Home::alone();
    let record = home
        .run(["measure", "pi", "--duration=6s", "--quiet", "--json"])
        .json();
    // By the order of events, which a slow machine does not change: the thread in between came first
    // in nearly every cycle without a protocol, in none with one. Where the machine stalls so much that hardly a cycle goes
    // as arranged, that is said.
    let checks = record["checks"].as_array().unwrap();
    let arranged = checks.iter().find(|c| c["id"] == "arranged").unwrap();
    if arranged["status"] != "pass" {
        assert_eq!(record["valid"], false, "{record:#}");
        return;
    }
    let inverted = |protocol| {
        figure(&record, "inverted", protocol)["value"]
            .as_f64()
            .unwrap()
    };
    assert!(inverted("none") > 0.5, "{record:#}");
    assert_eq!(inverted("inherit"), 0.0);
    // By times, which others change as well.
    let growth = figure(&record, "wait_per_work_between", "none");
    let grows = growth["value"].as_f64() > Some(0.5);
    assert!(grows || record["valid"] == false, "{record:#}");
    let ids: Vec<&str> = record["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| finding["id"].as_str().unwrap())
        .collect();
    assert!(ids.contains(&"bounded-inherit"), "{ids:?}");
    // The C library may lack ceilings.
    if !ids.contains(&"protocol-missing") {
        assert_eq!(inverted("protect"), 0.0);
        assert!(ids.contains(&"bounded-protect"), "{ids:?}");
    }
    assert!(
        ids.contains(&"unbounded-none") || ids.contains(&"inversion-none"),
        "{ids:?}"
    );
}

#[test]
fn it_shows_what_it_did_and_leaves_the_cpu_to_others() {
    if !machine::root() {
        return;
    }
    let home = Home::alone();
    let run = [
        "measure",
        "pi",
        "--protocol=none,inherit",
        "--duration=2s",
        "--spin=10ms",
        "--quiet",
    ];
    let text = home.run(run).stdout;
    for part in [
        "none-half",
        "none-full",
        "inherit-full",
        "wait per work between",
    ] {
        assert!(text.contains(part), "`{part}` is not in {text}");
    }
    assert!(!text.contains("protect"));
}

#[test]
fn what_would_take_the_machine_is_refused() {
    let home = Home::new();
    let refuse = |code: i32, args: &[&str], parts: &[&str]| {
        let base = ["measure", "pi"];
        home.run(base.iter().chain(args)).error(code, parts);
    };
    refuse(
        2,
        &["--priority", "o"],
        &["--priority o", "three FIFO threads"],
    );
    refuse(2, &["--priority", "f:2"], &["f:3"]);
    refuse(2, &["--spin", "10s"], &["--spin 10 s", "30 ms"]);
    refuse(2, &["--hold", "1us"], &["--hold"]);
    refuse(2, &["--cpus", "0-1"], &["--cpus 0-1", "one CPU"]);
    refuse(2, &["--duration", "500ms"], &["6 kinds of cycles"]);
    refuse(
        2,
        &["--duration", "9999h"],
        &["--duration 35996400 s", "available"],
    );
    if machine::root() {
        refuse(2, &["--interval", "25ms"], &["--spin 20 ms", "throttled"]);
    }
}
