// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `kernel latency-test`: what it shows, what it says, and that nothing changes a byte of it.

use std::fs;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::{guests_of, images};
use crate::common::{HANG, Home, Running, finish, wait_until};
use crate::pty::Pty;
use crate::schema::{assert_valid, schema};

#[test]
fn a_latency_test_shows_its_boots_and_what_they_gave() {
    let Some(images) = images() else { return };
    let home = Home::aside();
    let args = format!(
        "kernel latency-test a={} --idle --seeds=2 --samples=50 --jobs=1",
        images.dynamic.display()
    );
    let Some(mut pty) = Pty::start(&home, &args, (110, 30)) else {
        return;
    };
    pty.shows("kernel latency-test");
    // Each model that the image has, and each with both seeds.
    pty.shows("0 of 6 runs done; now block 0  kernel=a:");
    let screen = pty.shows("largest latency");
    assert!(screen.contains("µs of virtual time (n = 1)"), "{screen}");
    assert!(screen.contains("1 of 6  block 0  kernel=a:"), "{screen}");
    pty.press("q");
    assert_eq!(pty.status(), 1);
    pty.assert_given_back();
    let after = pty.screen().contents();
    assert!(after.contains("finish the test: interrupted"), "{after}");
    assert!(after.contains("--resume latency-test-"), "{after}");
    assert!(after.contains("1 of 6  block 0"), "{after}");
}

#[test]
fn latency_test_gives_one_image_two_command_lines() {
    let Some(images) = images() else { return };
    let home = Home::aside();
    let image = images.rt.display();
    let args = [
        "kernel".to_owned(),
        "latency-test".to_owned(),
        format!("plain={image}"),
        format!("slow={image},append=highres=off"),
        "--idle".to_owned(),
        "--seeds=2".to_owned(),
        "--samples=20".to_owned(),
        "--json".to_owned(),
        "--quiet".to_owned(),
    ];
    let answer = finish(home.command(args));
    // The second one's argument takes its timers, so the check of its guests fails, and only of its.
    assert_eq!(answer.code(), 1, "{answer:?}");
    let result = answer.json();
    assert_valid(&schema("latency-test.schema.json"), &result);
    let cells = result["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 2);
    assert_eq!(cells[0]["faults"], Value::Array(Vec::new()));
    assert!(cells[0].get("append").is_none(), "{}", cells[0]);
    assert_eq!(cells[1]["append"][0], "highres=off");
    let faults = cells[1]["faults"].to_string();
    assert!(faults.contains("guest-timers"), "{faults}");
}

#[test]
fn latency_test_orders_the_models() {
    let Some(images) = images() else { return };
    let home = Home::aside();
    let [file, junit] = ["result", "junit.xml"].map(|name| home.dir().join(name));
    let args = [
        "kernel".to_owned(),
        "latency-test".to_owned(),
        format!("dyn={},model=none", images.dynamic.display()),
        format!("rt={}", images.rt.display()),
        "--load=printk:1000,fork".to_owned(),
        "--seeds=2".to_owned(),
        "--samples=100".to_owned(),
        "--baseline=rt".to_owned(),
        "--fail-on=worse".to_owned(),
        format!("--output={}", file.display()),
        format!("--junit={}", junit.display()),
    ];
    let answer = finish(home.command(args));
    // Bands of two seeds lie apart by chance in a third of all cases: no ground for a gate.
    assert_eq!(answer.code(), 6, "{answer:?}");
    assert!(
        answer.stdout.contains("virtual µs: instruction counts"),
        "{answer:?}"
    );
    let result: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    assert_valid(&schema("latency-test.schema.json"), &result);
    assert_eq!(
        (&result["valid"], &result["time"]),
        (&true.into(), &"virtual-time".into())
    );
    // Two models, each under two loads.
    assert_eq!(result["cells"].as_array().unwrap().len(), 4);
    let verdict = |model: &str, load: &str| {
        let all = result["comparisons"].as_array().unwrap().iter();
        let is =
            |of: &&Value| of["model"] == model && of["load"] == load && of["figure"] == "mean_ns";
        all.clone().find(is).unwrap()["verdict"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    for load in ["printk:1000", "fork"] {
        assert_eq!(verdict("none", load), "worse", "{load}");
    }
    let xml = String::from_utf8(fs::read(&junit).unwrap()).unwrap();
    assert!(xml.contains("failures=\"0\" errors=\"4\""), "{xml}");
    let few =
        "<error message=\"worse than rt rt in virtual time (instruction counts), but too few seeds";
    assert!(xml.contains(few), "{xml}");
}

/// What a run has of the guest: its samples and their histogram, to the byte.
fn samples(home: &Home, id: &str) -> Vec<(String, Vec<u8>)> {
    let dir = home.store().join("runs").join(id);
    let files = fs::read_dir(dir).unwrap().map(|file| file.unwrap().path());
    let name = |path: &std::path::Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    let mut files: Vec<_> = files
        .filter(|path| name(path) != "run.json")
        .map(|path| (name(&path), fs::read(&path).unwrap()))
        .collect();
    files.sort();
    assert!(files.iter().any(|(name, _)| name == "latency.hlog"));
    files
}

/// The runs of the only experiment of a store, by block, cell and measurement.
fn runs_of(home: &Home) -> Vec<([u64; 3], String)> {
    let status = home.run(["experiment", "status", "--json"]).json();
    let runs = status["experiments"][0]["runs"].as_array().unwrap().clone();
    let place = |run: &Value| {
        assert_eq!(run["end"], "valid", "{run}");
        let at = ["block", "cell", "measurement"].map(|key| run[key].as_u64().unwrap());
        (at, run["run"].as_str().unwrap().to_owned())
    };
    let mut runs: Vec<_> = runs.iter().map(place).collect();
    runs.sort();
    runs
}

#[test]
fn a_latency_test_that_is_killed_goes_on_where_it_was_to_the_same_bytes() {
    let Some(images) = images() else { return };
    let args = |home: &Home, more: &[&str]| {
        let fixed = [
            "kernel",
            "latency-test",
            "--idle",
            "--seeds=2",
            "--samples=50",
            "--jobs=1",
        ];
        let all = fixed.into_iter().chain(more.iter().copied());
        let own = [
            format!("rt={}", images.rt.display()),
            format!("--output={}", home.dir().join("result").display()),
        ];
        all.map(ToOwned::to_owned).chain(own).collect::<Vec<_>>()
    };
    let result = |home: &Home| fs::read(home.dir().join("result")).unwrap();
    let (whole, cut) = (Home::aside(), Home::aside());
    finish(whole.command(args(&whole, &["--quiet"]))).fine();
    let running = Running::start(cut.command(args(&cut, &["--quiet"])));
    let done = || {
        let status = cut.run(["experiment", "status", "--json"]).json();
        let runs = status["experiments"][0]["runs"].as_array().cloned();
        let runs = runs.unwrap_or_default();
        runs.iter().filter(|run| run["end"] == "valid").count()
    };
    assert!(wait_until(|| done() >= 1));
    running.signal("KILL");
    drop(running);
    let before = done();
    assert!(before < 2, "{before}");
    let status = cut.run(["experiment", "status", "--json"]).json();
    let name = status["experiments"][0]["plan"]["name"].as_str().unwrap();
    cut.run(["experiment", "resume", name])
        .error(2, &["only `punctual kernel latency-test`"]);
    let resume = format!("--resume={name}");
    finish(cut.command(args(&cut, &["--load=fork", &resume]))).error(2, &["other options"]);
    finish(cut.command(args(&cut, &["--quiet", &resume]))).fine();
    assert_eq!(done(), 2);
    assert!(result(&whole) == result(&cut), "the results differ");
}

/// The signals that QEMU takes note of, and does nothing about, wake its main thread up.
fn disturb(guest: u32) {
    let Some(pid) = i32::try_from(guest).ok().and_then(Pid::from_raw) else {
        return;
    };
    // Before QEMU has asked for it, the signal ends the process.
    let blocked = || {
        let status = fs::read(format!("/proc/{guest}/status")).ok()?;
        let status = String::from_utf8_lossy(&status);
        let mask = status
            .lines()
            .find_map(|line| line.strip_prefix("SigBlk:"))?;
        let mask = u64::from_str_radix(mask.trim(), 16).ok()?;
        let holds = |signal: Signal| mask & (1 << (signal.as_raw() - 1)) != 0;
        // While a process or thread is being made, all signals are blocked.
        Some(holds(Signal::IO) && !holds(Signal::INT))
    };
    if blocked() == Some(true) {
        // It may have ended meanwhile; its number is its parent's to give away.
        let _ = kill_process(pid, Signal::IO);
    }
}

/// Signals the guests of a program, and has a load beside it, until it ends.
fn disturb_all(home: &Home, program: &mut Running) {
    let begun = Instant::now();
    let mut signals = 0_u64;
    let load = home.start(["load", "cpu:1", "--duration=3h", "--quiet"]);
    while program.is_alive() {
        assert!(begun.elapsed() < HANG, "it does not end");
        for guest in guests_of(program.id()) {
            disturb(guest);
            signals += 1;
        }
        // An odd number: in step with nothing in the guest.
        std::thread::sleep(Duration::from_micros(130));
    }
    load.signal("TERM");
    drop(load.wait());
    assert!(signals > 1_000, "{signals}");
}

/// Guests side by side, and the same ones one after the other on a machine that disturbs them.
#[test]
fn guests_give_the_same_bytes_however_many_run_and_whatever_disturbs_the_machine() {
    let Some(images) = images() else { return };
    let measured = |jobs: &str, disturbed: bool| {
        let home = Home::aside();
        let file = home.dir().join("result");
        let args = [
            "kernel".to_owned(),
            "latency-test".to_owned(),
            format!("rt={}", images.rt.display()),
            "--load=fork".to_owned(),
            "--seeds=2".to_owned(),
            "--samples=100".to_owned(),
            "--quiet".to_owned(),
            format!("--jobs={jobs}"),
            format!("--output={}", file.display()),
        ];
        let mut running = Running::start(home.command(args));
        if disturbed {
            disturb_all(&home, &mut running);
        }
        running.wait().fine();
        (home, fs::read(file).unwrap())
    };
    let (two, one) = (measured("2", false), measured("1", true));
    let at = two.1.iter().zip(&one.1).position(|(a, b)| a != b);
    let around = |bytes: &[u8]| {
        let at = at.unwrap_or_default();
        String::from_utf8_lossy(&bytes[at.saturating_sub(300)..(at + 100).min(bytes.len())])
            .into_owned()
    };
    assert!(
        two.1 == one.1,
        "the results differ: {}\n{}",
        around(&two.1),
        around(&one.1)
    );
    let (runs, same) = (runs_of(&one.0), runs_of(&two.0));
    assert_eq!((runs.len(), same.len()), (2, 2));
    for ((place, id), (other_place, other)) in runs.iter().zip(&same) {
        assert_eq!(place, other_place);
        let files = samples(&one.0, id);
        assert!(files == samples(&two.0, other), "{place:?}: samples differ");
        let record = |home: &Home, id: &str| {
            let run = home.run(["runs", "show", id, "--json"]).json();
            let kept = ["total", "series", "loads", "checks", "guest", "duration_ns"];
            kept.map(|key| run[key].clone())
        };
        assert_eq!(record(&one.0, id), record(&two.0, other), "{place:?}");
    }
}
