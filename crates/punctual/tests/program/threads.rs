// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Threads and what they hold, read from outside while they measure.

use std::time::Duration;

use serde_json::Value;

use crate::common::machine::{self, Thread};
use crate::common::{Answer, Home, wait_until};

/// A measurement as /proc showed it.
struct Seen {
    measuring: Vec<Thread>,
    others: Vec<Thread>,
    locked_kib: u64,
    holds_dma_latency: bool,
    answer: Answer,
}

impl Seen {
    fn record(&self) -> Value {
        self.answer.record()
    }

    fn policies(&self) -> Vec<(u32, u32)> {
        self.measuring
            .iter()
            .map(|t| (t.policy, t.priority))
            .collect()
    }

    fn cpus(&self) -> Vec<&str> {
        self.measuring.iter().map(|t| t.cpus.as_str()).collect()
    }
}

/// Starts a measurement, looks at it, and ends it.
fn look(home: &Home, args: &str) -> Seen {
    let args = format!("measure wakeup --quiet --json --duration 3h {args}");
    let running = home.start(args.split_whitespace()).measuring();
    let pid = running.id();
    let (measuring, others): (Vec<_>, Vec<_>) = machine::threads(pid)
        .into_iter()
        .partition(|thread| thread.name.starts_with("measure/"));
    let locked = machine::status(format!("/proc/{pid}/status"), "VmLck");
    let holds_dma_latency = machine::holds_dma_latency(pid);
    std::thread::sleep(Duration::from_millis(100));
    running.signal("INT");
    Seen {
        measuring,
        others,
        locked_kib: locked.trim_end_matches(" kB").parse().unwrap(),
        holds_dma_latency,
        answer: running.wait(),
    }
}

/// The CPUs that the tests may run on.
fn cpus() -> String {
    machine::status("/proc/self/status", "Cpus_allowed_list")
}

/// Whether CPUs 0 and 1 can both be had.
fn two_cpus() -> bool {
    let two = cpus().starts_with("0-");
    if !two {
        machine::skip("two-cpus", "CPUs 0 and 1 are not both there");
    }
    two
}

#[test]
fn each_thread_has_the_policy_that_was_asked_for() {
    if !machine::root() {
        return;
    }
    let home = Home::new();
    for (args, policies, read_back) in [
        ("--threads 2", &[(1, 80), (1, 80)][..], "f:80"),
        (
            "--threads 3 --priority-spread",
            &[(1, 80), (1, 79), (1, 78)],
            "f:80",
        ),
        (
            "--threads 3 -p f:2 --priority-spread",
            &[(1, 2), (1, 1), (1, 1)],
            "f:2",
        ),
        ("--threads 2 --priority r:10", &[(2, 10), (2, 10)], "r:10"),
        ("--threads 1 --priority b", &[(3, 0)], "b"),
        ("--threads 1 --priority i", &[(5, 0)], "i"),
        ("--threads 1 --priority o", &[(0, 0)], "o"),
        ("--threads 1 --priority o:-5", &[(0, 0)], "o:-5"),
    ] {
        let seen = look(&home, args);
        assert_eq!(seen.policies(), policies, "{args}");
        let record = seen.record();
        assert_eq!(record["series"][0]["policy"], read_back, "{args}");
        // The recorder and everything else must not compete with those that measure.
        assert!(
            seen.others.iter().all(|t| (t.policy, t.nice) == (0, 0)),
            "{args}"
        );
        if args.ends_with("o:-5") {
            assert_eq!(seen.measuring[0].nice, -5);
        }
    }
}

#[test]
fn a_deadline_thread_needs_its_freedom() {
    if !machine::root() {
        return;
    }
    let home = Home::new();
    let seen = look(&home, "--threads 1 --priority d:500us:1ms --pin none");
    assert_eq!(seen.policies(), [(6, 0)]);
    let record = seen.record();
    assert_eq!(record["series"][0]["policy"], "d:500000ns:1000000ns");
    if two_cpus() {
        let args = "measure wakeup --threads 1 --priority d:500us:1ms --cpus 0 --samples 5";
        home.run(args.split_whitespace())
            .error(5, &["SCHED_DEADLINE", "--pin none"])
            .hinted();
    }
}

#[test]
fn each_thread_runs_where_it_was_told_to() {
    if !two_cpus() {
        return;
    }
    let home = Home::new();
    let all = cpus();
    let ordinary = "--priority o --dma-latency off";
    for (args, expected, cpu) in [
        ("--threads 3 --cpus 0-1", &["0", "1", "0"][..], Some(0)),
        ("--threads 2 --cpus 1", &["1", "1"], Some(1)),
        ("--threads 2 --cpus 0-1 --pin set", &["0-1", "0-1"], None),
        ("--threads 1 --cpus 0 --pin set", &["0"], None),
        ("--threads 2 --cpus 1 --pin none", &[&all, &all], None),
    ] {
        let seen = look(&home, &format!("{ordinary} {args}"));
        assert_eq!(seen.cpus(), expected, "{args}");
        assert_eq!(seen.record()["series"][0]["cpu"].as_u64(), cpu, "{args}");
    }
}

#[test]
fn samples_say_on_which_cpu_a_thread_woke() {
    if !two_cpus() {
        return;
    }
    let home = Home::new();
    home.measure("--priority o --dma-latency off --threads 2 --cpus 0-1 --samples 50 --raw");
    for [thread, cpu, ..] in home.samples() {
        assert_eq!(thread, cpu);
    }
    home.measure("--priority o --threads 2 --cpus 1 --pin set --samples 50 --raw");
    assert!(home.samples().iter().all(|row| row[1] == 1));
}

#[test]
fn everything_else_runs_on_the_housekeeping_cpus() {
    if !two_cpus() {
        return;
    }
    let home = Home::new();
    for (args, expected) in [
        ("--threads 1 --cpus 1 --housekeeping 0", "0"),
        ("--threads 1 --cpus 0 --housekeeping 0", "0"),
        ("--threads 1 --cpus 0 --housekeeping 1", "1"),
    ] {
        let seen = look(&home, &format!("--priority o --dma-latency off {args}"));
        let others: Vec<&str> = seen.others.iter().map(|t| t.cpus.as_str()).collect();
        assert!(
            others.iter().all(|cpus| *cpus == expected),
            "{args}: {:?}",
            seen.others
        );
        assert_eq!(seen.record()["spec"]["housekeeping"], expected);
    }
}

#[test]
fn memory_is_locked_and_little_of_it() {
    if !machine::root() {
        return;
    }
    let home = Home::new();
    let seen = look(&home, "--threads 15 --mlock on");
    assert_eq!(seen.measuring.len(), 15);
    // cyclictest locks close to 1 GB with as many.
    assert!(
        (1..100_000).contains(&seen.locked_kib),
        "{} KiB",
        seen.locked_kib
    );
    assert_eq!(seen.record()["spec"]["mlock"], true);
    let seen = look(&home, "--threads 1 --mlock off --priority o");
    assert_eq!(seen.locked_kib, 0);
    assert_eq!(seen.record()["spec"]["mlock"], false);
}

#[test]
fn measuring_threads_take_no_page_fault_locked_or_not() {
    let home = Home::new();
    for args in ["--mlock off", ""] {
        let args = format!("--priority o --dma-latency off --samples 3000 --interval 100us {args}");
        // A kernel that is short of memory takes pages of whoever has not locked them: one run without is enough.
        let none = (0..20).any(|_| {
            let record = home.measure(&args);
            let checks = record["checks"].as_array().unwrap();
            let memory = checks.iter().find(|check| check["id"] == "memory").unwrap();
            let detail = memory["detail"].as_str().unwrap();
            println!("{args}: {detail}");
            detail.contains(" 0 page faults")
        });
        assert!(none, "{args}");
    }
}

#[test]
fn the_bound_on_idle_latency_is_held_for_the_run_and_no_longer() {
    if !machine::root() {
        return;
    }
    let home = Home::alone();
    let before = machine::dma_latency();
    if before.is_none() {
        machine::skip("dma-latency", "no /dev/cpu_dma_latency");
        return;
    }
    let args =
        |value: &str| format!("measure wakeup -q --json --duration 3h --dma-latency {value}");
    for (value, most) in [("0us", 0), ("3us", 3)] {
        let running = home.start(args(value).split_whitespace()).measuring();
        assert!(machine::holds_dma_latency(running.id()));
        assert!(machine::dma_latency().unwrap() <= most, "{value}");
        running.signal("TERM");
        running.wait().record();
        let back = || machine::dma_latency_is_back(before);
        assert!(wait_until(back), "{before:?}");
    }
    let seen = look(&home, "--threads 1 --dma-latency off");
    assert!(!seen.holds_dma_latency);
    assert!(seen.record()["spec"]["dma_latency_ns"].is_null());
    let seen = look(&home, "--threads 1");
    assert!(seen.holds_dma_latency, "it is the default");
    assert_eq!(seen.record()["spec"]["dma_latency_ns"], 0);
}

#[test]
fn only_measuring_threads_are_real_time_also_under_chrt() {
    if !machine::root() {
        return;
    }
    let home = Home::new();
    let args = "measure wakeup --quiet --json --duration 3h --threads 1 -p f:2 --load cpu:1";
    let mut command = std::process::Command::new("chrt");
    command
        .args(["-f", "7"])
        .arg(crate::common::program())
        .args(args.split_whitespace())
        .env("PUNCTUAL_HOME", home.store());
    let running = crate::common::Running::start(command).measuring();
    let loads: Vec<u32> = machine::processes_of(&home.store())
        .into_iter()
        .filter(|pid| *pid != running.id())
        .collect();
    assert_eq!(loads.len(), 1, "the load has a process of its own");
    let threads = [machine::threads(running.id()), machine::threads(loads[0])].concat();
    running.signal("INT");
    running.wait();
    for thread in threads {
        let real_time = thread.name.starts_with("measure/");
        // SCHED_FIFO is 1, SCHED_OTHER 0.
        assert_eq!(thread.policy, u32::from(real_time), "{}", thread.name);
    }
}
