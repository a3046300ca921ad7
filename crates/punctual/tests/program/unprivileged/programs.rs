// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Programs that an ordinary user names: nothing of them stays, and no capability is lent to them.

use std::fs;
use std::process::Command;

use super::User;
use crate::common::{QUICK, Running, finish, machine, wait_until};

#[test]
fn nothing_of_a_users_program_is_left_when_the_measurement_or_its_load_is_killed() {
    let Some(user) = User::nobody() else { return };
    let stubborn = "--load=cmd:trap '' TERM HUP INT; \
                    (setsid sh -c 'while :; do sleep 0.01; done' >/dev/null 2>&1 &); \
                    while :; do sleep 0.005; done";
    let args = ["measure", "wakeup", "--quiet", "--priority=o:19", stubborn];
    let store = user.home.store();
    let rest = |besides: u32| {
        let all = machine::processes_of(&store);
        all.into_iter().filter(move |pid| *pid != besides)
    };
    // The measurement, then its load.
    for killed in 0..2 {
        let mut command = user.command(&args);
        command.env("PATH", "/usr/bin:/bin");
        let running = Running::start(command).measuring();
        let id = running.id();
        let parent = id.to_string();
        let led = |pid: &u32| machine::status(format!("/proc/{pid}/status"), "PPid") == parent;
        // The load, its keeper, the program, its child, and what they sleep with.
        assert!(wait_until(|| rest(id).count() >= 4));
        let target = match killed {
            0 => id,
            _ => rest(id).find(led).unwrap(),
        };
        machine::signal("KILL", &target.to_string());
        let gone = || rest(id).count() == 0;
        assert!(wait_until(gone), "{:?}", rest(id).count());
    }
}

#[test]
fn nothing_of_a_users_program_is_left_when_all_that_watch_it_are_killed_at_once() {
    let Some(user) = User::nobody() else { return };
    // Children in the keeper's group, and one that has left it for a session of its own.
    let script = "--load=cmd:(sleep 1000 & sleep 1000 & wait) & \
                  (setsid sh -c 'while :; do sleep 0.01; done' >/dev/null 2>&1 &); \
                  while :; do sleep 0.005; done";
    let mut command = user.command(&["measure", "wakeup", "--quiet", "--priority=o:19", script]);
    command.env("PATH", "/usr/bin:/bin");
    let running = Running::start(command).measuring();
    let store = user.home.store();
    let ours =
        |pid: &u32| fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe == user.program);
    // The three that watch, the program, its shell with two children, and the session.
    assert!(wait_until(|| machine::processes_of(&store).len() >= 8));
    let watchers = || -> Vec<u32> {
        let mut all = machine::processes_of(&store);
        all.retain(ours);
        all
    };
    let keeper = watchers().into_iter().max().unwrap();
    let slept = || -> u64 {
        let status = format!("/proc/{keeper}/status");
        machine::status(status, "voluntary_ctxt_switches")
            .parse()
            .unwrap()
    };
    // The keeper sleeps between its looks: some of them came after the program had made its session.
    let before = slept();
    assert!(wait_until(|| slept() >= before + 3));
    let watchers: Vec<String> = watchers().iter().map(ToString::to_string).collect();
    assert_eq!(watchers.len(), 3, "the measurement, its load, the keeper");
    let kill = [
        &["-s", "KILL", "--"][..],
        &watchers.iter().map(String::as_str).collect::<Vec<_>>(),
    ];
    assert!(
        Command::new("kill")
            .args(kill.concat())
            .status()
            .unwrap()
            .success()
    );
    let gone = || machine::processes_of(&store).len() <= 1;
    assert!(wait_until(gone), "{:?}", machine::processes_of(&store));
    drop(running);
}

#[test]
fn a_capability_of_the_file_is_not_lent_to_programs_that_a_user_names() {
    let Some(user) = User::nobody() else { return };
    let granted = Command::new("setcap")
        .arg("cap_sys_nice+ep")
        .arg(&user.program)
        .status();
    if !granted.is_ok_and(|status| status.success()) {
        machine::skip("setcap", "setcap cannot be used here");
        return;
    }
    let path = |args: &[&str]| {
        let mut command = user.command(args);
        command.env("PATH", "/usr/bin:/bin");
        finish(command)
    };
    for load in [
        "cmd:id@policy=f:1",
        "cmd:id@nice=-5",
        "stress-ng:--cpu 1@policy=r:1",
    ] {
        let limit = if load.contains("nice") {
            "ulimit -e"
        } else {
            "ulimit -r"
        };
        path(&["load", load, "--duration", "1s"])
            .error(5, &["is refused for programs that you name", limit]);
        let measure = [&QUICK[..], &["--load", load]].concat();
        path(&measure).error(5, &["is refused for programs that you name"]);
    }
    if machine::has_tool("fio") {
        let place = format!("--directory={}", user.home.store().display());
        let io = ["measure", "io", "--priority=f:1", "--buffered", "--size=1M"];
        path(&[&io[..], &[&place]].concat()).error(5, &["is refused for programs that you name"]);
    }
    // The rules of `doctor` are about the user's programs.
    let diagnosis = path(&["doctor", "--json"]).json();
    let findings = diagnosis["verdicts"].as_array().unwrap();
    let limit = findings
        .iter()
        .find(|rule| rule["rule"]["id"] == "rt-priority-limit");
    assert_eq!(limit.unwrap()["outcome"], "found", "{limit:?}");
    // What the program does itself it may do, and an ordinary program too.
    path(&[
        "load",
        "cpu:1@policy=f:1",
        "cmd:sleep 60",
        "--duration",
        "300ms",
    ])
    .fine();
    // Who may have it without the file may lend it.
    let limited = |args: &[&str]| {
        let mut command = Command::new("prlimit");
        command.arg("--rtprio=10").args(args);
        command.env("PUNCTUAL_HOME", user.home.store());
        command
    };
    if !limited(&["true"])
        .status()
        .is_ok_and(|status| status.success())
    {
        machine::skip("prlimit", "root may not raise a limit here");
        return;
    }
    let mut load = limited(&[
        "setpriv",
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
    ]);
    load.arg(&user.program)
        .args(["load", "cmd:sleep 60@policy=f:1", "--duration", "300ms"]);
    finish(load).fine();
}
