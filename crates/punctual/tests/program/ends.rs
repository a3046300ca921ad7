// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! How a run ends: by itself, by a signal, by two.

use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::common::{Home, Running, Saying, machine, wait_until, worked};

const LONG: &str = "--threads 2 --priority o --dma-latency off --duration 3h";

fn start(home: &Home, args: &str) -> Running {
    let args = format!("measure wakeup --quiet --json {args}");
    home.start(args.split_whitespace()).measuring()
}

#[test]
fn a_signal_ends_a_run_and_the_run_is_whole() {
    let home = Home::new();
    for signal in machine::ends() {
        let running = start(&home, &format!("{LONG} --raw --name {signal}"));
        std::thread::sleep(Duration::from_millis(200));
        running.signal(signal);
        let record = running.wait().record();
        assert_eq!(record["ended"], "interrupted");
        assert_eq!(record["name"], *signal);
        let samples = home.samples().len() as u64;
        assert_eq!(record["total"]["count"], samples);
    }
    let runs = home.list();
    assert_eq!(runs.len(), machine::ends().len());
    let samples = |run: &Value| run["figures"]["count"].as_u64().unwrap();
    // No machine stalls for all of each.
    assert!(runs.iter().map(samples).sum::<u64>() > 0, "{runs:#?}");
}

#[test]
fn whoever_waits_for_a_deadline_that_is_far_away_is_woken_to_end() {
    if !machine::root() {
        return;
    }
    let home = Home::alone();
    for args in [
        "release --interval 1h --duration 3h",
        "pi --interval 1h --duration 99h --cpus 0",
        "irq --interval 1h --duration 999h",
    ] {
        let args = format!("measure {args} --quiet --json");
        let mut running = home.start(args.split_whitespace());
        let pid = running.id();
        let measures = |thread: &machine::Thread| {
            ["release/", "pi/low", "irq/"]
                .iter()
                .any(|name| thread.name.starts_with(name))
        };
        let begun = || machine::threads(pid).iter().any(measures);
        assert!(wait_until(|| begun() || !running.is_alive()));
        std::thread::sleep(Duration::from_millis(500));
        running.signal("INT");
        let answer = running.wait();
        // A machine without tracefs has no such interrupts to see.
        if answer.code() != 5 {
            assert_eq!(answer.record()["ended"], "interrupted", "{args}");
        }
    }
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
        let running = start(&home, &format!("{LONG} --interval 1h --timer {timer}"));
        running.signal("INT");
        let record = running.wait().record();
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
    let fault = record["loads"][0]["fault"].as_str();
    // Others may have kept it from its work for a while.
    let goes_on = fault.is_none_or(|fault| fault.starts_with("no work for "));
    assert!(goes_on, "{record:#}");
}

#[test]
fn a_load_that_is_killed_makes_the_run_invalid() {
    let home = Home::new();
    let running = start(&home, &format!("{LONG} --load cpu:1"));
    let load = machine::processes_of(&home.store())
        .into_iter()
        .find(|pid| *pid != running.id());
    machine::signal("KILL", &load.unwrap().to_string());
    running.signal("INT");
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
    // A terabyte on each CPU.
    let cpus = std::thread::available_parallelism().unwrap().get();
    let wanted = format!("{} MB", ((cpus << 40) as f64 / 1e6).ceil());
    home.run(args.split_whitespace())
        .error(1, &["memory:1T", &wanted]);
    assert!(home.list().is_empty());
    home.run(["load", "memory:1T"]).error(1, &[&wanted]);
}

#[test]
fn a_second_signal_ends_the_program_at_once() {
    let home = Home::new();
    let running = start(&home, &format!("{LONG} --load cpu:1"));
    let load = machine::processes_of(&home.store())
        .into_iter()
        .find(|pid| *pid != running.id())
        .unwrap();
    // The clean end waits for the load's last report, which a stopped one does not make; and stopped itself, the program
    // cannot end between the two.
    machine::signal("STOP", &load.to_string());
    for signal in ["STOP", "TERM", "INT", "CONT"] {
        running.signal(signal);
    }
    let answer = running.wait();
    let signal = answer.status.signal();
    assert!([Some(2), Some(15)].contains(&signal), "{answer:#?}");
    let gone = || machine::processes_of(&home.store()).is_empty();
    assert!(wait_until(gone), "the load goes on");
    assert!(home.list().is_empty());
}

#[test]
fn loads_alone_end_by_time_and_by_signal() {
    let home = Home::new();
    let started = Instant::now();
    let answer = home.run(["load", "cpu:1", "memory:1M", "--duration", "300ms"]);
    assert!(worked(&answer), "{answer:#?}");
    assert!(started.elapsed() >= Duration::from_millis(300));
    let mut loads = Saying::start(home.command(["load", "cpu:1"]));
    loads.says("additions/s");
    loads.ends_when_asked();
}
