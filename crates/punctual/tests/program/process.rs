// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual doctor --pid` and `--comm`, on processes that the test starts.

use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::common::{Home, machine, wait_until};
use crate::schema::{assert_valid, schema};

/// A process that sleeps until it is dropped.
struct Sleeper(Child);

impl Sleeper {
    fn start(program: &str, args: &[&str]) -> Self {
        let mut command = Command::new(program);
        let child = command.args(args).stdin(Stdio::null()).spawn().unwrap();
        let sleeper = Self(child);
        let comm = format!("/proc/{}/comm", sleeper.0.id());
        let live = punctual_sys::SysRoot::live();
        let is_sleep = || live.read(&comm).is_ok_and(|comm| comm == "sleep");
        assert!(wait_until(is_sleep), "{program} does not become sleep");
        sleeper
    }

    fn pid(&self) -> String {
        self.0.id().to_string()
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

fn outcome<'a>(process: &'a Value, id: &str) -> &'a str {
    let verdicts = process["verdicts"].as_array().unwrap();
    let verdict = verdicts.iter().find(|v| v["rule"]["id"] == id).unwrap();
    verdict["outcome"].as_str().unwrap()
}

#[test]
fn an_ordinary_process_is_judged() {
    let home = Home::new();
    let sleeper = Sleeper::start("sleep", &["60"]);
    let pid = sleeper.pid();
    let answer = home.run(["doctor", "--pid", &pid, "--json"]);
    let diagnosis = answer.fine().json();
    assert_valid(&schema("process-diagnosis.schema.json"), &diagnosis);
    assert_eq!(diagnosis["format"], "punctual.process-diagnosis/1");
    let process = &diagnosis["processes"][0];
    assert_eq!(process["pid"].to_string(), pid);
    assert_eq!(process["name"], "sleep");
    assert_eq!(process["threads"].as_array().unwrap().len(), 1);
    assert_eq!(outcome(process, "ordinary-policy"), "found");
    assert_eq!(outcome(process, "timer-slack"), "found");
    assert_eq!(outcome(process, "memory-not-locked"), "found");
    assert_eq!(outcome(process, "rt-budget"), "not_applicable");
    let verdicts = process["verdicts"].as_array().unwrap().len();
    assert_eq!(verdicts, punctual_host::process_rules().len());

    let text = home.run(["doctor", "--pid", &pid]);
    let text = &text.fine().stdout;
    assert!(text.contains(&format!("\nsleep (pid {pid})\n")), "{text}");
    assert!(
        text.contains(&format!("Threads   {pid} sleep: SCHED_OTHER, nice")),
        "{text}"
    );
    assert!(text.contains("\n ordinary-policy "), "{text}");
    let all = home.run(["doctor", "--pid", &pid, "--all"]);
    for rule in punctual_host::process_rules() {
        assert!(
            all.fine().stdout.contains(&format!("\n {} ", rule.id)),
            "{}",
            rule.id
        );
    }
    let one = home.run(["doctor", "--pid", &pid, "--explain", "ordinary-policy"]);
    assert!(
        one.fine().stdout.contains("found: the thread is ordinary"),
        "{one:#?}"
    );
    let gate = home.run(["doctor", "--pid", &pid, "--fail-on", "high"]);
    assert_eq!(gate.code(), 3, "{gate:#?}");
    assert!(!home.store().exists(), "doctor needs no store");
}

#[test]
fn a_real_time_process_is_judged_by_its_name() {
    if !machine::root() {
        return machine::skip("doctor --comm", "real-time policies need root");
    }
    let home = Home::new();
    let sleeper = Sleeper::start("chrt", &["-f", "3", "taskset", "-c", "0", "sleep", "60"]);
    let answer = home.run(["doctor", "--comm", "sleep", "--json"]);
    let diagnosis = answer.fine().json();
    let processes = diagnosis["processes"].as_array().unwrap();
    let is_ours = |p: &&Value| p["pid"] == sleeper.0.id();
    let process = processes.iter().find(is_ours).unwrap();
    assert_eq!(process["threads"][0]["policy"], "SCHED_FIFO 3");
    assert_eq!(process["threads"][0]["cpus"], "0");
    assert_eq!(outcome(process, "ordinary-policy"), "fine");
    assert_eq!(outcome(process, "timer-slack"), "not_applicable");
    assert_ne!(outcome(process, "not-pinned"), "found");
}

#[test]
fn whoever_is_not_there_is_an_error_that_says_so() {
    let home = Home::new();
    let ended = Sleeper::start("sleep", &["60"]).pid();
    home.run(["doctor", "--pid", &ended])
        .error(2, &[&format!("--pid {ended}"), "there is no such process"]);
    home.run(["doctor", "--comm", "no such name"])
        .error(2, &["--comm no such name", "no process has this name"]);
    home.run(["doctor", "--pid", "1", "--comm", "x"])
        .error(2, &["--comm"]);
    home.run(["doctor", "--pid", "1", "--cpus", "0"])
        .error(2, &["--cpus"]);
    home.run(["doctor", "--pid", "first"]).error(2, &["--pid"]);
    let own = std::process::id().to_string();
    home.run(["doctor", "--pid", &own, "--explain", "pinned"])
        .error(2, &["no such rule", "not-pinned"]);
}
