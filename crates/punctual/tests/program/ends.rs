// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! How a run ends: by itself, by a signal, by two.

use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::time::{Duration, Instant};

use crate::common::{Home, Running, machine, wait_until};

const LONG: &str = "--threads 2 --priority o --dma-latency off --duration 1h";

fn start(home: &Home, args: &str) -> Running {
    let args = format!("measure wakeup --quiet --json {args}");
    home.start(args.split_whitespace()).measuring()
}

#[test]
fn a_signal_ends_a_run_and_the_run_is_whole() {
    let home = Home::new();
    for signal in ["INT", "TERM", "HUP"] {
        let running = start(&home, &format!("{LONG} --raw --name {signal}"));
        std::thread::sleep(Duration::from_millis(200));
        running.signal(signal);
        let asked = Instant::now();
        let record = running.wait().record();
        assert!(asked.elapsed() < Duration::from_secs(2), "{signal}");
        assert_eq!(record["ended"], "interrupted");
        assert_eq!(record["name"], signal);
        assert!(record["total"]["count"].as_u64() > Some(0));
        let samples = home.samples().len() as u64;
        assert_eq!(record["total"]["count"], samples);
    }
    assert_eq!(home.list().len(), 3);
}

#[test]
fn a_thread_that_sleeps_for_long_is_woken_to_end() {
    let home = Home::new();
    for timer in [
        "nanosleep",
        "relative",
        "timerfd",
        "posix",
        "uring",
        "futex",
    ] {
        let running = start(&home, &format!("{LONG} --interval 10s --timer {timer}"));
        running.signal("INT");
        let asked = Instant::now();
        let record = running.wait().record();
        assert!(asked.elapsed() < Duration::from_secs(2), "{timer}");
        assert_eq!(record["ended"], "interrupted", "{timer}");
        assert_eq!(record["total"]["count"], 0, "{timer}");
        // Nothing was measured: such a run supports no claim.
        assert_eq!(record["valid"], false, "{timer}");
    }
}

#[test]
fn ctrl_c_reaches_the_measurement_and_not_its_load() {
    let home = Home::new();
    let args = format!("measure wakeup --quiet --json {LONG} --load cpu:1");
    let mut command = home.command(args.split_whitespace());
    // A terminal signals the group in the foreground: here one that is ours alone.
    command.process_group(0);
    let running = Running::start(command).measuring();
    std::thread::sleep(Duration::from_millis(500));
    machine::signal("INT", &format!("-{}", running.id()));
    let record = running.wait().record();
    assert_eq!(record["ended"], "interrupted");
    let checks = record["checks"].as_array().unwrap();
    let loads = checks.iter().find(|check| check["id"] == "loads").unwrap();
    assert_eq!(loads["status"], "pass", "{loads:#}");
}

#[test]
fn a_load_that_is_killed_makes_the_run_invalid() {
    let home = Home::new();
    let running = start(
        &home,
        "--priority o --dma-latency off --duration 1s --load cpu:1",
    );
    let load = machine::processes_of(&home.store())
        .into_iter()
        .find(|pid| *pid != running.id());
    machine::signal("KILL", &load.unwrap().to_string());
    let record = running.wait().record();
    let checks = record["checks"].as_array().unwrap();
    let loads = checks.iter().find(|check| check["id"] == "loads").unwrap();
    assert_eq!(loads["status"], "fail", "{loads:#}");
    assert_eq!(record["valid"], false);
}

#[test]
fn a_load_that_cannot_start_is_one_error_and_no_run() {
    let home = Home::new();
    let args = "measure wakeup --priority o --dma-latency off --load memory:1T --samples 5";
    home.run(args.split_whitespace())
        .error(1, &["memory:1T", "2199024 MB"]);
    assert!(home.list().is_empty());
    home.run(["load", "memory:1T"]).error(1, &["2199024 MB"]);
}

#[test]
fn a_second_signal_ends_the_program_at_once() {
    let home = Home::new();
    let mut running = start(&home, &format!("{LONG} --load cpu:1"));
    let load = machine::processes_of(&home.store())
        .into_iter()
        .find(|pid| *pid != running.id())
        .unwrap();
    // The clean end waits for the load's last report, which a stopped one does not make.
    machine::signal("STOP", &load.to_string());
    running.signal("INT");
    std::thread::sleep(Duration::from_millis(300));
    assert!(running.is_alive(), "the first signal asks for a clean end");
    let asked = Instant::now();
    running.signal("INT");
    let answer = running.wait();
    assert!(asked.elapsed() < Duration::from_millis(500));
    assert_eq!(answer.status.signal(), Some(2), "{answer:#?}");
    let gone = || machine::processes_of(&home.store()).is_empty();
    assert!(wait_until(Duration::from_secs(2), gone), "the load goes on");
    assert!(home.list().is_empty());
}

#[test]
fn loads_alone_end_by_time_and_by_signal() {
    let home = Home::new();
    let started = Instant::now();
    home.run(["load", "cpu:1", "memory:1M", "--duration", "300ms"])
        .fine();
    assert!(started.elapsed() >= Duration::from_millis(300));
    let mut running = home.start(["load", "cpu:1"]);
    std::thread::sleep(Duration::from_millis(300));
    assert!(running.is_alive());
    running.signal("INT");
    running.wait().fine();
}
