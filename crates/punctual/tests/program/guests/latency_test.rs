// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `kernel latency-test`: what it shows, what it says, and that nothing changes a byte of it.

use std::fs;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::{guests_of, images};
use crate::common::{HANG, Home, Running, finish};
use crate::pty::Pty;
use crate::schema::{assert_valid, schema};

#[test]
fn a_latency_test_shows_its_boots_and_what_they_gave() {
    let Some(images) = images() else { return };
    let home = Home::new();
    let args = format!(
        "kernel latency-test a={} --model=none --idle --seeds=2 --samples=50 --jobs=1",
        images.dynamic.display()
    );
    let Some(mut pty) = Pty::start(&home, &args, (110, 30)) else {
        return;
    };
    pty.shows("latency test  00:");
    pty.shows("0 of 2 boots done, now a none, seed 1");
    let screen = pty.shows("largest latency[kernel=a,load=idle,model=none]");
    assert!(screen.contains("µs of virtual time (n = 1)"), "{screen}");
    assert!(screen.contains("1 of 2: a "), "{screen}");
    pty.press("q");
    assert_eq!(pty.status(), 1);
    pty.assert_given_back();
    let after = pty.screen().contents();
    assert!(after.contains("finish the test: interrupted"), "{after}");
    assert!(after.contains("1 of 2: a "), "{after}");
}

#[test]
fn latency_test_gives_one_image_two_command_lines() {
    let Some(images) = images() else { return };
    let home = Home::new();
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
    let home = Home::new();
    let [file, junit] = ["result", "junit.xml"].map(|name| home.dir().join(name));
    let args = [
        "kernel".to_owned(),
        "latency-test".to_owned(),
        format!("dyn={}", images.dynamic.display()),
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
    // Four models, each under two loads.
    assert_eq!(result["cells"].as_array().unwrap().len(), 8);
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
    assert!(xml.contains("<failure message=\"worse than rt rt"), "{xml}");
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

#[test]
fn latency_test_is_the_same_to_the_byte_whatever_disturbs_the_machine() {
    let Some(images) = images() else { return };
    let home = Home::new();
    let output = |name: &str| home.dir().join(name);
    let command = |name: &str| {
        let args = [
            "kernel".to_owned(),
            "latency-test".to_owned(),
            format!("rt={}", images.rt.display()),
            "--load=fork".to_owned(),
            "--seeds=2".to_owned(),
            "--samples=200".to_owned(),
            "--quiet".to_owned(),
            format!("--output={}", output(name).display()),
        ];
        home.command(args)
    };
    finish(command("first")).fine();
    let mut disturbed = Running::start(command("second"));
    let begun = Instant::now();
    let mut signals = 0_u64;
    let load = home.start(["load", "cpu", "--duration=3h", "--quiet"]);
    while disturbed.is_alive() {
        assert!(begun.elapsed() < HANG, "it does not end");
        for guest in guests_of(disturbed.id()) {
            disturb(guest);
            signals += 1;
        }
        // An odd number: in step with nothing in the guest.
        std::thread::sleep(Duration::from_micros(130));
    }
    disturbed.wait().fine();
    load.signal("TERM");
    drop(load.wait());
    assert!(signals > 1_000, "{signals}");
    let [first, second] = ["first", "second"].map(|name| fs::read(output(name)).unwrap());
    let at = first.iter().zip(&second).position(|(a, b)| a != b);
    let around = |bytes: &[u8]| {
        let at = at.unwrap_or_default();
        String::from_utf8_lossy(&bytes[at.saturating_sub(300)..(at + 100).min(bytes.len())])
            .into_owned()
    };
    assert!(
        first == second,
        "the results differ: {}\n{}",
        around(&first),
        around(&second)
    );
}
