// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What holds for every load: it works beside a measurement, and nothing of it is left after any
//! end, also SIGKILL.

use std::process::Command;
use std::time::Duration;

use crate::common::{Home, finish, machine, wait_until};

/// Every load, and what its work is counted in.
const LOADS: [(&str, &str); 12] = [
    ("cpu:1", "additions"),
    ("memory:1M", "accesses"),
    ("fork:2", "processes"),
    ("io@size=4M", "bytes"),
    (
        "io:randwrite@engine=io_uring@depth=4@jobs=2@size=4M",
        "bytes",
    ),
    ("stress-ng:--cpu 1 --pipe 1", "ms of CPU time"),
    ("linpack:1@order=150", "floating-point operations"),
    ("ping", "replies"),
    ("printk:20@level=7", "lines"),
    ("sched:1", "messages"),
    ("tmpfs:256K", "bytes"),
    (STUBBORN, "ms of CPU time"),
];

/// A program with a child in a session of its own, whose parent is gone, and that ignores every
/// signal that can be ignored.
const STUBBORN: &str = "cmd:trap '' TERM HUP INT; \
                        (setsid sh -c 'while :; do sleep 0.01; done' >/dev/null 2>&1 &); \
                        while :; do sleep 0.005; done";

const MEASURE: &str = "measure wakeup --quiet --json --threads 1 --priority o --dma-latency off \
                       --mlock off";

fn measure<'a>(duration: &'a str, load: &'a str) -> Vec<&'a str> {
    let args = ["--duration", duration, "--load", load];
    let args = MEASURE.split_whitespace().chain(args);
    args.chain(allowances(load)).collect()
}

fn alone<'a>(duration: &'a str, load: &'a str) -> Vec<&'a str> {
    let args = ["load", "--duration", duration, load];
    args.into_iter().chain(allowances(load)).collect()
}

fn allowances(load: &str) -> Option<&'static str> {
    load.starts_with("printk").then_some("--allow-console")
}

/// Returns the loads, unless one of them lacks something here.
fn loads() -> &'static [(&'static str, &'static str)] {
    match machine::root() && machine::has_tool("fio") && machine::has_tool("stress-ng") {
        true => &LOADS,
        false => &[],
    }
}

/// Whether no load has failed. That one was kept from its work for a while is no failure of it, on a
/// machine that others use too.
fn worked(fault: &str) -> bool {
    fault == "null" || fault.contains(": no work for ") || fault.starts_with("\"no work for ")
}

#[test]
fn every_load_works_beside_a_measurement() {
    let home = Home::new();
    for (load, unit) in loads() {
        let answer = home.run(measure("700ms", load));
        let record = answer.json();
        let did = &record["loads"][0];
        assert_eq!(did["load"], *load, "{did:#}");
        assert_eq!(did["unit"], *unit, "{did:#}");
        assert!(did["work"].as_f64() > Some(0.0), "{did:#}");
        assert!(worked(&did["fault"].to_string()), "{did:#}");
        assert_eq!(
            machine::processes_of(&home.store()),
            Vec::<u32>::new(),
            "{load}"
        );
    }
}

#[test]
fn nothing_of_any_load_is_left_when_the_measurement_is_killed() {
    let home = Home::new();
    for (load, _) in loads() {
        let running = home.start(measure("1m", load)).measuring();
        running.signal("KILL");
        drop(running);
        let gone = || machine::processes_of(&home.store()).is_empty();
        assert!(wait_until(Duration::from_secs(2), gone), "{load} goes on");
    }
}

#[test]
fn nothing_of_any_load_is_left_when_it_is_killed_itself() {
    let home = Home::new();
    for (load, _) in loads() {
        let running = home.start(measure("3s", load)).measuring();
        let parent = running.id().to_string();
        let led = |pid: &u32| machine::status(format!("/proc/{pid}/status"), "PPid") == parent;
        let leader = machine::processes_of(&home.store()).into_iter().find(led);
        machine::signal("KILL", &leader.unwrap().to_string());
        let gone = || {
            machine::processes_of(&home.store())
                .iter()
                .all(|pid| *pid == running.id())
        };
        assert!(wait_until(Duration::from_secs(2), gone), "{load} goes on");
        running.signal("INT");
        let record = running.wait().record();
        assert_eq!(record["valid"], false, "{load}");
        let fault = &record["loads"][0]["fault"];
        assert_eq!(fault, "its process ended during the run", "{load}");
    }
}

#[test]
fn nothing_of_a_program_is_left_when_everything_above_it_is_killed_at_once() {
    let home = Home::new();
    if !machine::root() {
        return;
    }
    let running = home.start(measure("1m", STUBBORN)).measuring();
    let parent = running.id().to_string();
    let led = |pid: &u32| machine::status(format!("/proc/{pid}/status"), "PPid") == parent;
    let leader = machine::processes_of(&home.store()).into_iter().find(led);
    let kill = format!("kill -KILL {parent} {}", leader.unwrap());
    let mut command = Command::new("sh");
    command.args(["-c", &kill]);
    finish(command).fine();
    drop(running);
    let gone = || machine::processes_of(&home.store()).is_empty();
    assert!(wait_until(Duration::from_secs(2), gone), "it goes on");
}

#[test]
fn nothing_of_any_load_is_left_when_loads_alone_end_or_are_killed() {
    let home = Home::new();
    for (load, unit) in loads() {
        let answer = home.run(alone("1200ms", load));
        assert!(answer.code() == 0 || worked(&answer.stdout), "{answer:#?}");
        assert!(
            answer.stdout.contains(&format!("{unit}/s  {load}")),
            "{answer:#?}"
        );
        let gone = || machine::processes_of(&home.store()).is_empty();
        assert!(wait_until(Duration::from_secs(2), gone), "{load} goes on");
        let running = home.start(alone("1m", load));
        std::thread::sleep(Duration::from_millis(500));
        running.signal("KILL");
        drop(running);
        assert!(wait_until(Duration::from_secs(2), gone), "{load} goes on");
    }
}
