// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Loads that cannot do what they are there for, and those that stop doing it.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::common::{Answer, Home, Running, machine, wait_until};

const MEASURE: &str = "measure wakeup --quiet --json --priority o --dma-latency off --mlock off";

/// Runs the program on one CPU with so much address space.
fn with_memory(home: &Home, megabytes: u32, args: &str) -> Answer {
    let cpus = machine::status("/proc/self/status", "Cpus_allowed_list");
    let cpu = cpus.split(['-', ',']).next().unwrap();
    let script = format!("ulimit -v {megabytes}000; exec taskset -c {cpu} \"$@\"");
    let mut command = Command::new("sh");
    command
        .args(["-c", &script, "sh"])
        .arg(crate::common::program())
        .args(args.split_whitespace())
        .env("PUNCTUAL_HOME", home.store());
    crate::common::finish(command)
}

#[test]
fn a_load_that_is_refused_memory_says_so_at_once() {
    let home = Home::new();
    let started = Instant::now();
    let args = format!("{MEASURE} --duration 500ms --load cpu,memory:400M");
    with_memory(&home, 300, &args).error(1, &["memory:400M: thread 0 was refused 400 MB"]);
    assert!(home.list().is_empty());
    // One block fits, two do not.
    with_memory(&home, 300, "load memory:200M --cpus 2 --duration 20s")
        .error(1, &["memory:200M: thread ", " was refused 200 MB"]);
    assert!(started.elapsed() < Duration::from_secs(10));
}

#[test]
fn a_load_that_is_refused_threads_says_so_at_once() {
    let home = Home::new();
    let started = Instant::now();
    let args = format!("{MEASURE} --duration 500ms --load cpu:4096");
    with_memory(&home, 300, &args).error(1, &["cpu:4096: thread ", " cannot be started"]);
    assert!(home.list().is_empty());
    with_memory(&home, 300, "load cpu:4096 --duration 20s")
        .error(1, &["cpu:4096: thread ", " cannot be started"]);
    assert!(started.elapsed() < Duration::from_secs(10));
}

#[test]
fn a_load_that_is_stopped_for_a_part_of_the_run_makes_it_invalid() {
    let home = Home::new();
    let args = format!("{MEASURE} --threads 1 --duration 3s --load cpu:1");
    let running = home.start(args.split_whitespace()).measuring();
    let load = machine::processes_of(&home.store())
        .into_iter()
        .find(|pid| *pid != running.id())
        .unwrap()
        .to_string();
    machine::signal("STOP", &load);
    std::thread::sleep(Duration::from_millis(1_800));
    machine::signal("CONT", &load);
    let record = running.wait().record();
    let checks = record["checks"].as_array().unwrap();
    let loads = checks.iter().find(|check| check["id"] == "loads").unwrap();
    assert_eq!(loads["status"], "fail", "{loads:#}");
    let detail = loads["detail"].as_str().unwrap();
    assert!(detail.starts_with("cpu:1: no work for "), "{detail}");
    assert_eq!(record["valid"], false);
}

#[test]
fn loads_may_be_separated_by_commas() {
    let home = Home::new();
    let args = "load cpu:1,memory:8M cpu:2 --duration 50ms";
    let answer = home.run(args.split_whitespace());
    answer.fine();
    let told = "cpu:1, memory:8388608, cpu:2";
    assert!(answer.stderr.contains(told), "{answer:#?}");
}

#[test]
fn a_load_process_is_never_real_time() {
    if !machine::root() {
        return;
    }
    let home = Home::new();
    let mut command = Command::new("chrt");
    command
        .args(["-f", "7"])
        .arg(crate::common::program())
        .args(["load", "cpu:1,memory:1M", "--duration", "1m", "--report-to"])
        .arg(std::process::id().to_string())
        .env("PUNCTUAL_HOME", home.store());
    let running = Running::start(command);
    let pid = running.id();
    let loading = || {
        let threads = machine::threads(pid);
        let loads = threads.iter().filter(|t| t.name.starts_with("load/"));
        loads.count() >= 2
    };
    assert!(wait_until(Duration::from_secs(10), loading), "it loads not");
    for thread in machine::threads(pid) {
        // SCHED_OTHER is 0.
        assert_eq!(thread.policy, 0, "{}", thread.name);
    }
}
