// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What holds for every load: it works beside a measurement, and nothing of it is left after any
//! end, also SIGKILL.

use serde_json::Value;
use std::process::Command;

use crate::common::{Home, LONGER, Saying, finish, machine, wait_until};

/// Every load, and what its work is counted in.
const LOADS: &[(&str, &str)] = &[
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
    ("ping:2@between=namespaces", "replies"),
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

fn allowances(load: &str) -> Option<&'static str> {
    load.starts_with("printk").then_some("--allow-console")
}

/// Returns the loads, unless one of them lacks something here.
fn loads() -> &'static [(&'static str, &'static str)] {
    match machine::root() && machine::has_tool("fio") && machine::has_tool("stress-ng") {
        true => LOADS,
        false => &[],
    }
}

/// Whether a load has not failed. That it was kept from its work for a while is no failure of it, on a
/// machine that others use too.
fn has_not_failed(fault: &Value) -> bool {
    let fault = fault.as_str();
    fault.is_none_or(|why| why.starts_with("no work for ") || why == "it never reported")
}

#[test]
fn every_load_works_beside_a_measurement() {
    let home = Home::new();
    let loads = loads();
    if loads.is_empty() {
        return;
    }
    // All at once. Longer, where others keep one from all work for so long.
    let durations = ["700ms", "3s", "12s", "1m", "5m"];
    let worked = durations.iter().any(|duration| {
        let args = ["--allow-console", "--duration", *duration];
        let each = loads.iter().flat_map(|(load, _)| ["--load", *load]);
        let record = home
            .run(MEASURE.split_whitespace().chain(args).chain(each))
            .json();
        let all = record["loads"].as_array().unwrap();
        assert_eq!(all.len(), loads.len());
        loads.iter().zip(all).all(|((load, unit), did)| {
            assert_eq!(did["load"], *load, "{did:#}");
            assert_eq!(did["unit"], *unit, "{did:#}");
            assert!(has_not_failed(&did["fault"]), "{did:#}");
            did["work"].as_f64() > Some(0.0)
        })
    });
    assert!(worked);
    assert_eq!(machine::processes_of(&home.store()), Vec::<u32>::new());
}

#[test]
fn nothing_of_any_load_is_left_when_the_measurement_is_killed() {
    let home = Home::new();
    for (load, _) in loads() {
        let running = home.start(measure(LONGER, load)).measuring();
        running.signal("KILL");
        drop(running);
        let gone = || machine::processes_of(&home.store()).is_empty();
        assert!(wait_until(gone), "{load} goes on");
    }
}

#[test]
fn nothing_of_any_load_is_left_when_it_is_killed_itself() {
    let home = Home::new();
    for (load, _) in loads() {
        let running = home.start(measure(LONGER, load)).measuring();
        let parent = running.id().to_string();
        let led = |pid: &u32| machine::status(format!("/proc/{pid}/status"), "PPid") == parent;
        let leader = machine::processes_of(&home.store()).into_iter().find(led);
        machine::signal("KILL", &leader.unwrap().to_string());
        let gone = || {
            machine::processes_of(&home.store())
                .iter()
                .all(|pid| *pid == running.id())
        };
        assert!(wait_until(gone), "{load} goes on");
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
    let running = home.start(measure(LONGER, STUBBORN)).measuring();
    let parent = running.id().to_string();
    let led = |pid: &u32| machine::status(format!("/proc/{pid}/status"), "PPid") == parent;
    let leader = machine::processes_of(&home.store()).into_iter().find(led);
    let kill = format!("kill -KILL {parent} {}", leader.unwrap());
    let mut command = Command::new("sh");
    command.args(["-c", &kill]);
    finish(command).fine();
    drop(running);
    let gone = || machine::processes_of(&home.store()).is_empty();
    assert!(wait_until(gone), "it goes on");
}

#[test]
fn nothing_of_any_load_is_left_when_loads_alone_end_or_are_killed() {
    let home = Home::new();
    let loads = loads();
    if loads.is_empty() {
        return;
    }
    let gone = || machine::processes_of(&home.store()).is_empty();
    for is_killed in [false, true] {
        let args = ["load", "--allow-console", "--duration", LONGER];
        let each = loads.iter().map(|(load, _)| *load);
        let mut working = Saying::start(home.command(args.into_iter().chain(each)));
        for (load, unit) in loads {
            working.says(&format!("{unit}/s  {load}"));
        }
        match is_killed {
            true => working.kill(),
            false => drop(working.ends_when_asked()),
        }
        assert!(wait_until(gone), "something goes on");
    }
}
