// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What cannot be watched, and programs that make it hard.

use std::fs;
use std::process::Command;
use std::time::Duration;

use crate::common::{Home, Running, machine};

/// The kernel's tracing files, mounted for a test.
struct Tracing(tempfile::TempDir);

impl Tracing {
    fn mount() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut mount = Command::new("mount");
        let mounted = mount
            .args(["-t", "tracefs", "nodev"])
            .arg(dir.path())
            .status();
        assert!(mounted.unwrap().success());
        Self(dir)
    }

    /// Returns the names of the instances, of whomever.
    fn instances(&self) -> Vec<String> {
        let names = fs::read_dir(self.0.path().join("instances")).unwrap();
        names
            .map(|name| name.unwrap().file_name().to_string_lossy().into_owned())
            .collect()
    }
}

impl Drop for Tracing {
    fn drop(&mut self) {
        drop(Command::new("umount").arg(self.0.path()).status());
    }
}

#[test]
fn nobody_to_watch_is_an_error_that_says_so() {
    let home = Home::new();
    home.run(["watch"]).error(2, &["COMMAND"]);
    home.run(["watch", "--pid", "1", "--comm", "x"])
        .error(2, &["--comm"]);
    home.run(["watch", "--deadline", "0s", "--", "true"])
        .error(2, &["--deadline 0s"]);
    home.run(["watch", "--cycle-at", "sleeping", "--", "true"])
        .error(2, &["--cycle-at sleeping", "no such system call"]);
    home.run(["watch", "--priority", "f:80", "--", "true"])
        .error(2, &["--priority", "sets its own"])
        .hinted();
    if !machine::root() {
        return machine::skip("watch", "tracing needs root");
    }
    home.run(["watch", "--pid", "4194304"])
        .error(2, &["--pid 4194304", "no such process"]);
    home.run(["watch", "--comm", "nobody-is-called-so"]).error(
        2,
        &["--comm nobody-is-called-so", "no process has this name"],
    );
    home.run(["watch", "--", "/nowhere/at-all"])
        .error(2, &["/nowhere/at-all", "cannot be started"]);
    assert_eq!(home.list().len(), 0, "nothing half-written");
}

#[test]
fn a_program_that_ends_at_once_is_an_invalid_run_and_its_status_is_passed_on() {
    if !machine::root() {
        return machine::skip("watch", "tracing needs root");
    }
    let home = Home::new();
    let answer = home.run(["watch", "--quiet", "--json", "--", "sh", "-c", "exit 7"]);
    assert_eq!(answer.code(), 7);
    let record = answer.json();
    assert_eq!(record["valid"], false);
    assert_eq!(home.run(["watch", "--quiet", "--", "true"]).code(), 1);
}

#[test]
fn a_thread_that_never_sleeps_and_one_with_a_name_that_commands_terminals_are_told() {
    if !machine::root() {
        return machine::skip("watch", "tracing needs root");
    }
    let home = Home::new();
    let spin = "exec -a x bash -c 'while :; do :; done'";
    let answer = home.run([
        "watch",
        "--quiet",
        "--duration",
        "300ms",
        "--",
        "bash",
        "-c",
        spin,
    ]);
    assert_eq!(answer.code(), 1, "{answer:#?}");
    assert!(
        answer
            .stdout
            .contains("no watched thread had a whole cycle"),
        "{}",
        answer.stdout
    );
    let named =
        r"printf '\033[2Jx' > /proc/self/comm; for i in 1 2 3 4 5 6 7 8 9; do sleep 0.01; done";
    let answer = home.run(["watch", "--quiet", "--", "bash", "-c", named]);
    assert!(!answer.stdout.contains('\u{1b}'), "{}", answer.stdout);
}

#[test]
fn killed_it_leaves_no_instance_and_ended_it_ends_the_program() {
    if !machine::root() {
        return machine::skip("watch", "tracing needs root");
    }
    let home = Home::alone();
    let tracing = Tracing::mount();
    let before = tracing.instances();
    let mut running = Running::start(home.command(["watch", "--quiet", "--", "sleep", "60"]));
    std::thread::sleep(Duration::from_millis(700));
    assert!(running.is_alive());
    running.signal("INT");
    let answer = running.wait();
    assert_eq!(answer.code(), 1, "sleep has no whole cycle: {answer:#?}");
    assert_eq!(tracing.instances(), before);
    let running = Running::start(home.command(["watch", "--quiet", "--", "sleep", "60"]));
    std::thread::sleep(Duration::from_millis(700));
    running.signal("KILL");
    running.wait();
    // Nobody needs to come back for what was left.
    let is_gone = || tracing.instances() == before;
    assert!(
        crate::common::wait_until(is_gone),
        "{:?}",
        tracing.instances()
    );
}
