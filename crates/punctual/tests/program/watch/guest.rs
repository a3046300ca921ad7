// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A program that is watched in a guest, in virtual time: nothing of this machine has a part in it.

use serde_json::Value;

use super::{late_loop, truth};
use crate::common::Home;
use crate::guests;

/// Has the planted loop watched in a guest. Returns what was seen of it, and all that was.
fn watched(home: &Home, kernel: &str, culprit: &str) -> (Value, Value) {
    let target = format!("guest:{kernel},virtual-time");
    let mut command = home.command(["watch", "--quiet", "--json", "--target", &target, "--"]);
    command.arg(late_loop()).args([culprit, "150"]);
    let answer = crate::common::finish(command);
    assert!(
        answer.stderr.contains("cycles 150 strikes 6"),
        "{answer:#?}"
    );
    let record = answer.record();
    let threads = record["watched"]["threads"].as_array().unwrap();
    let thread = threads.iter().find(|t| t["name"] == "loop").unwrap();
    (thread.clone(), record)
}

#[test]
fn the_same_scenario_in_virtual_time_has_the_same_ranking_to_the_byte() {
    let Some(images) = guests::images() else {
        return;
    };
    let home = Home::aside();
    let kernel = images.dynamic.to_str().unwrap();
    let (thread, record) = watched(&home, kernel, "higher-priority");
    let first = &thread["culprits"][0];
    assert_eq!(
        (&first["kind"], &first["name"]),
        (&"task".into(), &"hog".into()),
        "{thread:#}"
    );
    assert_eq!(first["saved"], thread["late"]["count"], "{thread:#}");
    // Nothing but this kernel has a part in it, and nothing else is blamed.
    let culprits = thread["culprits"].as_array().unwrap();
    assert!(
        culprits.iter().all(|of| of["kind"] != "outside"),
        "{culprits:#?}"
    );
    let all = record["watched"].to_string();
    assert_eq!(record["watched"]["unknown"], Value::Array(Vec::new()));
    let (_, again) = watched(&home, kernel, "higher-priority");
    assert_eq!(all, again["watched"].to_string());
    crate::schema::assert_valid(&crate::schema::schema("run.schema.json"), &record);
}

#[test]
fn in_virtual_time_each_late_cycle_has_its_owner() {
    let Some(images) = guests::images() else {
        return;
    };
    let home = Home::aside();
    let (thread, _) = watched(&home, images.dynamic.to_str().unwrap(), "lock");
    let late = &thread["late"]["count"];
    // A strike of 10 ms makes a cycle of 4 ms late, or two.
    assert!((6..=12).contains(&late.as_u64().unwrap()), "{thread:#}");
    let [culprit] = thread["culprits"].as_array().unwrap().as_slice() else {
        panic!("{:#}", thread["culprits"]);
    };
    assert_eq!(
        (&culprit["kind"], &culprit["name"]),
        (&"lock-chain".into(), &"middle".into())
    );
    assert_eq!((&culprit["cycles"], &culprit["saved"]), (late, late));
}

#[test]
fn in_virtual_time_cyclictest_says_the_same_of_each_wake_up() {
    let Some(images) = guests::images() else {
        return;
    };
    if !crate::common::machine::has_tool("cyclictest") {
        return crate::common::machine::skip("cyclictest", "not installed");
    }
    let home = Home::aside();
    let target = format!("guest:{},virtual-time", images.dynamic.display());
    let watch = [
        "watch", "--raw", "--quiet", "--json", "--target", &target, "--",
    ];
    let mut command = home.command(watch);
    command.args("cyclictest -v -t1 -p80 -i2000 -l200 -m".split(' '));
    let answer = crate::common::finish(command);
    let record = answer.record();
    let ours = truth::cycles(&home, &record, "cyclictest");
    let theirs = truth::said_by_cyclictest(&answer.stderr);
    assert_eq!((ours.len(), theirs.len()), (199, 200));
    let threads = record["watched"]["threads"].as_array().unwrap();
    assert!(
        threads
            .iter()
            .any(|thread| thread["period_ns"] == 2_000_000)
    );
    // A nanosecond is an instruction here: from the kernel's event to the reading of the clock it takes as many each time,
    // and cyclictest says whole microseconds.
    let off = ours
        .iter()
        .zip(&theirs)
        .map(|(row, said)| said - row.latency_us);
    let mut off: Vec<f64> = off.collect();
    off.sort_by(f64::total_cmp);
    let median = off[off.len() / 2];
    // But where an interrupt comes in between.
    let is_usual = |off: &&f64| (**off - median).abs() < 3.0;
    assert!(off.iter().filter(is_usual).count() >= 190, "{off:?}");
    let latest = |all: &[f64]| {
        let places = 0..all.len();
        places.max_by(|a, b| all[*a].total_cmp(&all[*b])).unwrap()
    };
    let ours: Vec<f64> = ours.iter().map(|row| row.latency_us).collect();
    assert_eq!(latest(&ours), latest(&theirs[..ours.len()]));
}

#[test]
fn a_kernel_that_is_locked_down_is_said_to_be_so() {
    let Some(images) = guests::images() else {
        return;
    };
    let home = Home::aside();
    let image = images.dynamic.display();
    let target = format!("guest:{image},virtual-time,append=lockdown=confidentiality");
    let mut command = home.command(["watch", "--quiet", "--target", &target, "--"]);
    command.arg(late_loop()).args(["none", "10"]);
    let answer = crate::common::finish(command);
    answer.error(5, &["locked down", "lockdown=none"]);
    assert_eq!(home.list().len(), 0);
}

#[test]
fn what_cannot_be_watched_in_a_guest_is_said_before_anything_boots() {
    let Some(images) = guests::images() else {
        return;
    };
    let home = Home::aside();
    let target = format!("guest:{},virtual-time", images.dynamic.display());
    let watch = |rest: &[&str]| {
        let mut command = home.command(["watch", "--target", &target]);
        command.args(rest);
        crate::common::finish(command)
    };
    watch(&["--pid", "1"])
        .error(2, &["no processes that could be watched"])
        .hinted();
    watch(&["--", "/nowhere/at-all"]).error(2, &["/nowhere/at-all", "no such program"]);
    let script = home.dir().join("script");
    std::fs::write(&script, "#!/bin/sh\n").unwrap();
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    watch(&["--", script.to_str().unwrap()])
        .error(2, &["not an ELF file"])
        .hinted();
    // What does not fit is not read either.
    let large = home.dir().join("large");
    let file = std::fs::File::create(&large).unwrap();
    file.set_len(1 << 40).unwrap();
    let own = late_loop();
    let given = [own.to_str().unwrap(), "none", large.to_str().unwrap()];
    watch(&[&["--"][..], &given].concat())
        .error(2, &["of memory"])
        .hinted();
    assert_eq!(home.list().len(), 0);
}
