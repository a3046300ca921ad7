// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A program that is watched in a guest, in virtual time: nothing of this machine has a part in it.

use serde_json::Value;

use super::{late_loop, truth};
use crate::common::Home;
use crate::guests;

/// A culprit that is planted in virtual time, with the cycles of its loop, and what is to be the first culprit: its kind, its name,
/// and whether every late cycle is to have been in time without it.
type Planted = (&'static str, u64, &'static str, Option<&'static str>, bool);

const PLANTED: [Planted; 9] = [
    ("higher-priority", 100, "task", Some("hog"), true),
    ("lock", 100, "lock-chain", Some("middle"), true),
    ("ordinary-strikes", 100, "task", Some("hog"), true),
    ("packets", 100, "softirq", Some("NET_RX"), true),
    ("page-faults", 100, "page-fault", None, true),
    ("system-call", 100, "call", Some("read"), true),
    ("stopped", 100, "stopped", Some("late_loop"), true),
    ("throttling", 600, "throttling", None, true),
    // Memory is mapped and unmapped in turn, and neither call alone makes all of them late.
    ("allocation", 100, "call", None, false),
];

/// Has loops with all of them watched in a guest, one after the other, and more without a first culprit. Returns what the loops say
/// of themselves, and what was seen.
fn watched(home: &Home, kernel: &str) -> (String, Value) {
    let target = format!("guest:{kernel},virtual-time");
    let mut command = home.command(["watch", "--quiet", "--json", "--target", &target, "--"]);
    let planted = PLANTED.map(|(culprit, cycles, ..)| format!("{culprit}={cycles}"));
    let all = format!("none,{},own-quota", planted.join(","));
    command.arg(late_loop()).args([&all, "100"]);
    let answer = crate::common::finish(command);
    let record = answer.record();
    (answer.stderr, record)
}

/// Returns what a loop says of its late cycles, and what was seen of it.
fn of<'a>(said: &str, record: &'a Value, culprit: &str) -> (u64, &'a Value) {
    let line = said
        .lines()
        .find_map(|line| line.strip_prefix(culprit)?.strip_prefix(": "));
    let late = line.and_then(|line| line.rsplit_once(" late ")?.1.trim().parse().ok());
    let threads = record["watched"]["threads"].as_array().unwrap();
    // The kernel keeps 15 bytes of a name.
    let name = culprit.get(..15).unwrap_or(culprit);
    let thread = threads.iter().find(|t| t["name"] == name);
    (
        late.unwrap_or_else(|| panic!("{culprit}: {said}")),
        thread.unwrap(),
    )
}

#[test]
fn in_virtual_time_each_planted_culprit_is_first_with_its_count_and_the_same_to_the_byte() {
    let Some(images) = guests::images() else {
        return;
    };
    let home = Home::aside();
    let kernel = images.dynamic.to_str().unwrap();
    let (said, record) = watched(&home, kernel);
    assert!(record["valid"].as_bool().unwrap(), "{:#}", record["checks"]);
    assert_eq!(record["watched"]["unknown"], Value::Array(Vec::new()));
    for (culprit, _, kind, name, is_all) in PLANTED {
        let (late, thread) = of(&said, &record, culprit);
        assert!(late > 0, "{culprit}: {said}");
        // The loop counts its late cycles by its own clock, and knows nothing of who looks. It reads that clock before its cycle ends
        // with the next wait: one that is late by less than that is not late to it.
        let seen = thread["late"]["count"].as_u64().unwrap();
        assert!((late..=late + 1).contains(&seen), "{said} {thread:#}");
        let culprits = thread["culprits"].as_array().unwrap();
        let first = &culprits[0];
        assert_eq!(first["kind"], kind, "{culprit}: {culprits:#?}");
        assert!(
            name.is_none_or(|name| first["name"] == name),
            "{culprits:#?}"
        );
        assert_eq!(first["cycles"], seen, "{culprit}: {culprits:#?}");
        assert!(
            !is_all || first["saved"] == seen,
            "{culprit}: {culprits:#?}"
        );
        // Nothing but this kernel has a part in it.
        let outside = culprits.iter().find(|of| of["kind"] == "outside");
        assert_eq!(outside, None);
    }
    let (late, clean) = of(&said, &record, "none");
    assert_eq!((late, &clean["late"]["rule"]), (0, &"p99".into()));
    // By the 99th percentile there is a latest cycle all the same. What the kernel does at that moment moves with every instruction
    // of the programs: it may have let the loop wait, but none of what was planted in others did.
    let planted = |of: &Value| {
        let kinds = [
            "lock",
            "lock-chain",
            "page-fault",
            "stopped",
            "throttling",
            "outside",
            "unknown",
        ];
        let names = ["hog", "middle", "flood", "NET_RX", "late_loop"];
        kinds.iter().any(|kind| of["kind"] == *kind) || names.iter().any(|name| of["name"] == *name)
    };
    let culprits = clean["culprits"].as_array().unwrap();
    assert!(!culprits.iter().any(planted), "{clean:#}");
    let count = clean["late"]["count"].as_u64();
    assert!(count.is_some_and(|late| late <= 2), "{clean:#}");
    // While its group may not run, whoever reads the trace does. When it may, it does not always get the CPU at once.
    let (late, quota) = of(&said, &record, "own-quota");
    let seen = quota["late"]["count"].as_u64().unwrap();
    assert!((late..=late + 1).contains(&seen), "{quota:#}");
    let culprits = quota["culprits"].as_array().unwrap();
    assert_eq!(culprits[0]["kind"], "throttling", "{culprits:#?}");
    let held = culprits[0]["cycles"].as_u64().unwrap();
    assert!(held * 2 > seen && held <= seen, "{late}: {culprits:#?}");
    crate::schema::assert_valid(&crate::schema::schema("run.schema.json"), &record);
    let (said_again, again) = watched(&home, kernel);
    assert_eq!(said, said_again);
    let whole = |record: &Value| record["watched"].to_string();
    assert_eq!(whole(&record), whole(&again));
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
fn late_cycles_that_are_due_to_the_watcher_are_said_to_be() {
    let Some(images) = guests::images() else {
        return;
    };
    let home = Home::aside();
    let target = format!("guest:{},virtual-time", images.dynamic.display());
    // This thread shares the only CPU with who reads its trace, and comes after that one.
    let watch = [
        "watch",
        "--quiet",
        "--json",
        "--deadline=1ms",
        "--target",
        &target,
        "--",
    ];
    let mut command = home.command(watch);
    command.arg(late_loop()).args(["polite", "200"]);
    let answer = crate::common::finish(command);
    let record = answer.record();
    let checks = record["checks"].as_array().unwrap();
    let check = checks.iter().find(|of| of["id"] == "watcher").unwrap();
    assert_eq!(check["status"], "fail", "{check:#}");
    let threads = record["watched"]["threads"].as_array().unwrap();
    let thread = threads.iter().find(|thread| thread["name"] == "loop");
    let first = &thread.unwrap()["culprits"][0];
    assert_eq!(first["name"], "Punctual's own thread", "{first:#}");
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

#[test]
fn in_virtual_time_the_timerlat_tracers_own_account_agrees_with_ours() {
    if guests::images().is_none() {
        return;
    }
    let image = guests::directory().join("vmlinuz-timerlat");
    if !image.is_file() {
        let how = "no kernel with timerlat in target/kernels: `make lab` builds one, target/lab/kernels/builds/6.12-dynamic/vmlinuz";
        return crate::common::machine::skip("timerlat", how);
    }
    let home = Home::aside();
    let target = format!("guest:{},virtual-time", image.display());
    let run = || {
        let line =
            "measure irq --explain --duration 400ms --cpus 0 --load fork --json --quiet --target";
        let args = line.split(' ').chain([target.as_str()]);
        home.run(args).record()
    };
    let record = run();
    assert!(record["valid"].as_bool().unwrap(), "{:#}", record["checks"]);
    let [thread] = record["watched"]["threads"].as_array().unwrap().as_slice() else {
        panic!("{:#}", record["watched"]);
    };
    assert_eq!(thread["name"], "timerlat/0");
    let accounts = thread["worst"].as_array().unwrap().iter();
    let accounts: Vec<&Value> = accounts.map(|cycle| &cycle["kernel"]).collect();
    assert!(!accounts.is_empty());
    for account in accounts {
        let part = |name: &str| {
            let parts = account["parts"].as_array().unwrap();
            parts.iter().find(|of| of["part"] == name).unwrap()
        };
        // An event takes some microseconds where each instruction counts as 8 ns.
        for name in ["irq-latency", "thread-latency"] {
            let ns = |key: &str| part(name)[key].as_u64().unwrap();
            let apart = ns("kernel_ns").abs_diff(ns("ours_ns"));
            assert!(apart < 20_000, "{account:#}");
        }
        assert!(part("interrupts")["kernel_ns"].as_u64().unwrap() > 0);
        // Wake-ups before the run began are none of it, and neither are those after.
        let late = part("thread-latency")["kernel_ns"].as_u64();
        assert!(late <= record["total"]["max_ns"].as_u64(), "{account:#}");
    }
    let cycles = thread["cycles"].as_u64();
    let samples = record["total"]["count"].as_u64();
    assert!(cycles <= samples, "{cycles:?} of {samples:?} wake-ups");
    crate::schema::assert_valid(&crate::schema::schema("run.schema.json"), &record);
    assert_eq!(record["watched"].to_string(), run()["watched"].to_string());
}
