// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `watch`: culprits that were planted, and programs that know themselves when they ran.

mod bad_input;
mod guest;
mod habits;
mod jobs;
mod pictures;
mod planted;
mod quota;
mod stacks;
mod truth;
mod verbs;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::common::{Home, machine, program};
use crate::pty::Pty;

/// The loop that something makes late, `examples/late_loop.rs`.
fn late_loop() -> PathBuf {
    let path = program().parent().unwrap().join("examples/late_loop");
    if !path.exists() {
        let built = Command::new(env!("CARGO"))
            .args(["build", "--package", "punctual", "--example", "late_loop"])
            .status();
        assert!(built.unwrap().success());
    }
    path
}

/// What a planted loop said of itself, and what was seen of it.
struct Seen {
    record: Value,
    thread: Value,
    cycles: u64,
    strikes: u64,
}

impl Seen {
    fn of(record: Value, stderr: &str) -> Self {
        let threads = record["watched"]["threads"].as_array().unwrap();
        let thread = threads
            .iter()
            .find(|t| t["name"] == "loop")
            .unwrap()
            .clone();
        let said = stderr
            .lines()
            .find(|line| line.starts_with("cycles "))
            .unwrap();
        let words: Vec<&str> = said.split(' ').collect();
        Self {
            record,
            thread,
            cycles: words[1].parse().unwrap(),
            strikes: words[3].parse().unwrap(),
        }
    }

    fn culprits(&self) -> &Vec<Value> {
        self.thread["culprits"].as_array().unwrap()
    }

    /// Requires that what was planted is the first culprit, of those that the program can do something about. What others do
    /// on this machine comes before it where they do more: its hypervisor, its interrupts, its other tasks.
    fn is_first(&self, kind: &str, name: Option<&str>) {
        const MACHINE: [&str; 6] = [
            "outside",
            "unknown",
            "interrupt",
            "softirq",
            "masked",
            "itself",
        ];
        const OURS: [&str; 7] = [
            "hog", "middle", "holder", "loop", "flood", "mover", "switcher",
        ];
        let of_machine = |culprit: &&Value| {
            let name = culprit["name"].as_str().unwrap_or_default();
            let kind = culprit["kind"].as_str().unwrap();
            let is_task = matches!(kind, "task" | "unpreemptible");
            (MACHINE.contains(&kind) || is_task) && !OURS.contains(&name)
        };
        let culprits = self.culprits();
        let planted = culprits.iter().find(|culprit| {
            culprit["kind"] == kind && name.is_none_or(|name| culprit["name"] == name)
        });
        let planted = planted.unwrap_or_else(|| panic!("{culprits:#?} {:#}", self.thread["late"]));
        let first = culprits
            .iter()
            .find(|culprit| *culprit == planted || !of_machine(culprit));
        assert_eq!(first, Some(planted), "{culprits:#?}");
        assert!(planted["saved"].as_u64().unwrap() > 0, "{planted:#}");
    }

    /// Requires that the planted culprit is in about as many late cycles as it struck: a strike makes one late, and at most `most`,
    /// those included that begin late because the one before was.
    fn is_counted(&self, kind: &str, most: u64) {
        let late = self.planted(kind)["cycles"].as_u64().unwrap();
        // The last strike may be in the last cycle, which has no wait after it.
        let least = self.strikes.saturating_sub(1);
        assert!(
            (least..=most * self.strikes).contains(&late),
            "{late} of {}: {:#?}",
            self.strikes,
            self.culprits()
        );
    }

    /// Returns the planted culprit.
    fn planted(&self, kind: &str) -> &Value {
        self.culprits()
            .iter()
            .find(|culprit| culprit["kind"] == kind)
            .unwrap()
    }
}

/// Has the planted loop watched, as root and with tracing, or nothing. Tests with it have the machine to themselves as far as our tests
/// go: real-time threads of others would be culprits too.
fn watched(home: &Home, culprit: &str, cycles: u64) -> Option<Seen> {
    if !machine::root() {
        machine::skip("watch", "tracing needs root");
        return None;
    }
    let command = home.command(["watch", "--quiet", "--json", "--"]);
    Some(seen(command, culprit, cycles))
}

/// The same, where a cycle may take no longer than `deadline`.
fn watched_with(home: &Home, deadline: &str, culprit: &str, cycles: u64) -> Option<Seen> {
    if !machine::root() {
        machine::skip("watch", "tracing needs root");
        return None;
    }
    let command = home.command(["watch", "--quiet", "--json", "--deadline", deadline, "--"]);
    Some(seen(command, culprit, cycles))
}

/// Has `command` watch the planted loop.
fn seen(mut command: Command, culprit: &str, cycles: u64) -> Seen {
    command
        .arg(late_loop())
        .args([culprit, &cycles.to_string()]);
    let answer = crate::common::finish(command);
    Seen::of(answer.record(), &answer.stderr)
}

#[test]
fn every_cycle_of_a_loop_is_seen_and_accounted_for() {
    let home = Home::alone();
    let Some(seen) = watched(&home, "none", 400) else {
        return;
    };
    assert_eq!(seen.cycles, 400);
    // The first wait begins a cycle, and the last cycle has no wait after it.
    assert_eq!(seen.thread["cycles"], 399, "{:#}", seen.thread["late"]);
    assert_eq!(seen.thread["timed_releases"], 399);
    assert_eq!(seen.thread["period_ns"], 4_000_000);
    assert_eq!(seen.thread["cycle_at"], "clock_nanosleep (absolute)");
    let check = |id: &str| {
        let checks = seen.record["checks"].as_array().unwrap();
        checks.iter().find(|c| c["id"] == id).unwrap()["status"].clone()
    };
    assert_eq!(check("lost-events"), "pass");
    assert_eq!(check("accounted"), "pass");
    // Whoever else works on this machine may make cycles late; the loop itself has no hand in it. (What a hypervisor takes
    // while the loop runs looks like work of its own.)
    let own = ["call", "system-call", "page-fault", "lock", "stopped"];
    for culprit in seen.culprits() {
        assert!(
            !own.contains(&culprit["kind"].as_str().unwrap()),
            "{culprit:#}"
        );
    }
    // Phases add up to the mean of the response times.
    let phases = seen.thread["phases"].as_array().unwrap();
    let sum: f64 = phases.iter().map(|p| p["mean_ns"].as_f64().unwrap()).sum();
    let series = seen.record["series"].as_array().unwrap();
    let of_loop = &series[usize::try_from(seen.thread["thread"].as_u64().unwrap()).unwrap()];
    let mean = of_loop["mean_ns"].as_f64().unwrap();
    assert!((sum - mean).abs() < 2.0, "{sum} {mean}");
}

#[test]
fn a_process_that_runs_is_watched_by_its_number_its_name_and_its_period() {
    if !machine::root() {
        return machine::skip("watch", "tracing needs root");
    }
    let home = Home::alone();
    let mut command = Command::new(late_loop());
    command.args(["none", "100000"]);
    let running = crate::common::Running::start(command);
    let pid = running.id().to_string();
    let watch = |whom: [&str; 2], period: &str| {
        let args = ["watch", "--quiet", "--json", "--duration=2s", "--period"];
        home.run(args.into_iter().chain([period]).chain(whom))
    };
    let of = |answer: &crate::common::Answer| {
        let record = answer.json();
        let threads = record["watched"]["threads"].as_array().unwrap();
        let thread = threads.iter().find(|thread| thread["name"] == "loop");
        let checks = record["checks"].as_array().unwrap();
        let period = checks.iter().find(|check| check["id"] == "period");
        (thread.unwrap().clone(), period.unwrap().clone())
    };
    for whom in [["--pid", &pid], ["--comm", "late_loop"]] {
        let (thread, period) = of(&watch(whom, "4ms"));
        assert!(thread["cycles"].as_u64().unwrap() > 5, "{thread:#}");
        assert_eq!(thread["period_ns"], 4_000_000);
        assert_eq!(period["status"], "pass");
    }
    let answer = watch(["--pid", &pid], "9ms");
    let (thread, period) = of(&answer);
    assert_eq!(thread["period_ns"], 4_000_000);
    assert_eq!((answer.code(), &period["status"]), (1, &"fail".into()));
    let said = period["detail"].as_str().unwrap();
    assert!(said.contains("period of 9 ms: periods are 4 ms"), "{said}");
    running.signal("KILL");
    home.run(["watch", "--period", "0s", "--pid", "1"])
        .error(2, &["--period 0s"]);
}

#[test]
fn a_thread_of_a_higher_priority_is_named() {
    let home = Home::alone();
    let Some(seen) = watched(&home, "higher-priority", 500) else {
        return;
    };
    seen.is_first("task", Some("hog"));
    let hog = seen
        .culprits()
        .iter()
        .find(|culprit| culprit["name"] == "hog");
    let hog = hog.unwrap();
    assert!(
        hog["what"].as_str().unwrap().contains("real-time 90"),
        "{hog:#}"
    );
    // Each strike is longer than any cycle may be, and no longer than three of them.
    let late = hog["cycles"].as_u64().unwrap();
    assert!(
        (seen.strikes.saturating_sub(1)..=3 * seen.strikes).contains(&late),
        "{late} of {}",
        seen.strikes
    );
}

#[test]
fn who_keeps_the_holder_of_a_lock_from_running_is_named() {
    let home = Home::alone();
    let Some(seen) = watched(&home, "lock", 500) else {
        return;
    };
    seen.is_first("lock-chain", Some("middle"));
    let what = seen.planted("lock-chain")["what"].as_str().unwrap();
    assert!(what.contains("kept holder from running"), "{what}");
}

#[test]
fn what_the_loop_does_itself_is_named() {
    let home = Home::alone();
    for (culprit, kind, name) in [
        ("page-faults", "page-fault", None),
        ("system-call", "call", Some("read")),
        ("fsync", "call", Some("fsync")),
    ] {
        let Some(seen) = watched(&home, culprit, 400) else {
            return;
        };
        seen.is_first(kind, name);
        assert_eq!(seen.strikes, 16);
    }
}

#[test]
fn real_time_throttling_is_no_other_threads_fault() {
    let budget = || machine::read(Path::new("/proc/sys/kernel/sched_rt_runtime_us")).unwrap();
    let home = Home::alone();
    if budget().trim() == "-1" {
        return machine::skip("watch", "real-time threads are not throttled");
    }
    let Some(seen) = watched(&home, "throttling", 1_000) else {
        return;
    };
    seen.is_first("throttling", None);
}

#[test]
fn a_hog_beside_an_ordinary_loop_is_named() {
    let home = Home::alone();
    let Some(seen) = watched(&home, "ordinary-hog", 500) else {
        return;
    };
    // The scheduler may give the loop its turn in spite of the hog. Then no cycle is longer than its period, or others made
    // the late ones late, as their timelines show.
    let is_named = seen.culprits().iter().any(|of| of["name"] == "hog");
    if is_named || seen.thread["late"]["rule"] == "p99" {
        return;
    }
    let ns = |of: &Value, key: &str| of[key].as_u64().unwrap();
    let limit = ns(&seen.thread["late"], "limit_ns");
    let worst = seen.thread["worst"].as_array().unwrap().iter();
    for cycle in worst.filter(|cycle| ns(cycle, "response_ns") > limit) {
        let mut spent: BTreeMap<&str, u64> = BTreeMap::new();
        for piece in cycle["pieces"].as_array().unwrap() {
            let cause = piece["cause"].as_str().unwrap();
            *spent.entry(cause).or_default() += ns(piece, "to_ns") - ns(piece, "from_ns");
        }
        let is_hog = |(cause, _): &(&&str, &u64)| cause.starts_with("hog ");
        let by_hog: u64 = spent.iter().filter(is_hog).map(|(_, ns)| ns).sum();
        let most = spent.values().max();
        assert!(
            by_hog < ns(cycle, "response_ns") - limit || most.is_some_and(|most| *most > by_hog),
            "{cycle:#} {:#}",
            seen.thread["culprits"]
        );
    }
}

#[test]
fn a_signal_that_stops_the_loop_is_named() {
    if !machine::root() {
        return machine::skip("watch", "tracing needs root");
    }
    let home = Home::alone();
    let mut command = home.command(["watch", "--quiet", "--json", "--"]);
    command.arg(late_loop()).args(["none", "1500"]);
    let running = crate::common::Running::start(command);
    let watcher = running.id().to_string();
    // It may end at any time, on a busy machine: what is not there any more was not stopped.
    let send = |signal: &str| {
        let mut pkill = Command::new("pkill");
        let sent = pkill
            .args(["--signal", signal, "-P", &watcher, "late_loop"])
            .status();
        sent.unwrap().success()
    };
    let mut stopped = 0;
    for _ in 0..20 {
        std::thread::sleep(Duration::from_millis(60));
        let was_there = send("STOP");
        std::thread::sleep(Duration::from_millis(20));
        send("CONT");
        stopped += u64::from(was_there);
    }
    assert!(stopped > 0);
    let answer = running.wait();
    let seen = Seen::of(answer.record(), &answer.stderr);
    seen.is_first("stopped", None);
    let late = seen.planted("stopped")["cycles"].as_u64().unwrap();
    assert!(late >= stopped / 2, "{late} of {stopped}");
}

#[test]
fn our_own_threads_are_explained_and_a_run_that_was_not_watched_says_so() {
    let home = Home::new();
    let quick = "measure wakeup --quiet --json --duration 600ms --interval 2ms --dma-latency off --mlock off";
    let plain = home.run(format!("{quick} --priority o --name plain").split(' '));
    assert!(plain.json()["watched"].is_null());
    home.run(["explain", "plain"])
        .error(2, &["were not watched"])
        .hinted();
    home.run(["explain", "nobody"]).error(2, &["nobody"]);
    home.run("measure irq --explain --source events".split(' '))
        .error(2, &["--explain", "irq records the kernel's events itself"]);
    if !machine::root() {
        return machine::skip("--explain", "tracing needs root");
    }
    let tracers = machine::read(Path::new("/sys/kernel/tracing/available_tracers"));
    if tracers.is_some_and(|tracers| !tracers.contains("timerlat")) {
        home.run("measure irq --explain --duration 100ms".split(' '))
            .error(2, &["--explain", "no timerlat tracer"]);
    }
    let record = home
        .run(format!("{quick} --explain --name why").split(' '))
        .record();
    let watched = &record["watched"];
    let threads = watched["threads"].as_array().unwrap();
    let series = record["series"].as_array().unwrap();
    assert_eq!(threads.len(), series.len());
    for thread in threads {
        assert_eq!(thread["period_ns"], 2_000_000, "{thread:#}");
        // The cycle that was going on when the run ended has no wait after it; and a thread that comes later than its next
        // release may wait for that all the same, in a sleep that is over at once, though it is no sample.
        let number = |of: &Value, key: &str| of[key].as_u64().unwrap();
        let own = &series[usize::try_from(number(thread, "thread")).unwrap()];
        let (cycles, samples) = (number(thread, "cycles"), number(own, "count"));
        let overruns = number(own, "overruns");
        let least = samples.saturating_sub(2 + number(thread, "missed_releases") + overruns);
        assert!(
            (least..=samples + overruns + 2).contains(&cycles),
            "{thread:#} {own:#}"
        );
    }
    for id in ["lost-events", "accounted"] {
        let checks = record["checks"].as_array().unwrap();
        assert!(checks.iter().any(|check| check["id"] == id), "{id}");
    }
    assert_eq!(
        &home.run(["explain", "why", "--json"]).fine().json(),
        watched
    );
    let said = home.run(["explain", "why"]);
    assert!(
        said.fine().stdout.contains("Where the time of"),
        "{}",
        said.stdout
    );
    crate::schema::assert_valid(&crate::schema::schema("run.schema.json"), &record);
}

#[test]
fn the_sample_that_ended_a_run_is_kept_with_what_went_on_around_it() {
    if !machine::root() {
        return machine::skip("--explain", "tracing needs root");
    }
    let home = Home::alone();
    let line =
        "measure wakeup --quiet --json --explain --threads 1 --interval 2ms --on-threshold 250ms";
    let mut command = home.command(line.split(' '));
    command.args(["--duration", crate::common::LONGER]);
    let running = crate::common::Running::start(command).measuring();
    // On a busy machine its threads are there long before their first sample.
    let pid = running.id();
    while machine::threads(pid).iter().any(|t| t.name == "recorder") {
        running.signal("STOP");
        std::thread::sleep(Duration::from_millis(400));
        running.signal("CONT");
        std::thread::sleep(Duration::from_secs(1));
    }
    let answer = running.wait();
    let record = answer.record();
    let latency = record["threshold"]["sample"]["latency_ns"]
        .as_u64()
        .unwrap();
    let threads = record["watched"]["threads"].as_array().unwrap();
    let cycles = threads.iter().flat_map(|t| t["worst"].as_array().unwrap());
    let mut long = cycles.filter(|c| c["response_ns"].as_u64().unwrap() + 1_000 >= latency);
    let kept = long
        .next()
        .unwrap_or_else(|| panic!("{:#}", record["watched"]["threads"]));
    assert!(!kept["cpus"].as_array().unwrap().is_empty());
    let causes = kept["pieces"].as_array().unwrap().iter();
    let mut causes = causes.map(|piece| piece["cause"].as_str().unwrap());
    assert!(
        causes.any(|cause| cause.contains("that stopped it")),
        "{kept:#}"
    );
}

#[test]
fn the_terminal_is_the_programs_own() {
    if !machine::root() {
        return machine::skip("watch", "tracing needs root");
    }
    let home = Home::new();
    let args = "watch -- sh -c 'for i in 1 2 3 4 5; do printf %s mine-$i; sleep 0.2; done'";
    let Some(pty) = Pty::start(&home, args, (80, 24)) else {
        return machine::skip("watch", "no script(1)");
    };
    let said = pty.over();
    assert!(said.contains("mine-1mine-2mine-3mine-4mine-5"), "{said}");
    // No screen of ours, and no colours.
    assert!(!said.contains('\u{1b}'), "{said}");
}
