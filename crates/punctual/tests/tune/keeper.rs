// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Sessions that end by themselves: with a command, with time, with a kill.

use crate::common::{Running, finish, machine, wait_until};
use crate::tree::Tree;

const SET: &str = "--set vm.swappiness=10";
const SWAPPINESS: &str = "proc/sys/vm/swappiness";

fn keepers(tree: &Tree) -> usize {
    let root = Tree::shown(&tree.root());
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter_map(|process| std::fs::read(process.path().join("cmdline")).ok())
        .filter(|line| {
            let line = String::from_utf8_lossy(line).into_owned();
            line.contains("\0keep\0") && line.contains(&root)
        })
        .count()
}

/// The process that the journal names.
fn keeper_of(tree: &Tree) -> String {
    let text = std::fs::read(tree.state().join("journal")).unwrap();
    let text = String::from_utf8(text).unwrap();
    let line = text.lines().find(|line| line.contains("\"keeper\""));
    let record: serde_json::Value = serde_json::from_str(line.unwrap()).unwrap();
    record["pid"].to_string()
}

#[test]
fn a_command_runs_in_the_tuned_machine_and_its_status_is_ours() {
    let tree = Tree::new();
    let before = tree.dump();
    let answer = finish(tree.run(SET, "cat proc/sys/vm/swappiness; exit 7"));
    assert_eq!(answer.code(), 7, "{answer:?}");
    assert_eq!(answer.stdout, "10");
    assert_eq!(tree.dump(), before);
    let answer = finish(tree.run(SET, "kill -9 $$"));
    assert_eq!(answer.code(), 137, "{answer:?}");
    assert_eq!(tree.dump(), before);
    assert!(wait_until(|| keepers(&tree) == 0));
}

#[test]
fn what_is_applied_and_held_is_not_applied_again() {
    const LATENCY: &str = "dev/cpu_dma_latency";
    let tree = Tree::new();
    tree.write(LATENCY, "");
    let wanted = format!("apply {SET} --set dma_latency=0us");
    tree.tune(&wanted).fine();
    let applied = tree.tune("status --json").fine().json();
    let again = tree.tune(&format!("{wanted} --json")).fine().json();
    assert_eq!(again["steps"], serde_json::json!([]), "{again:#}");
    assert_eq!(tree.tune("status --json").fine().json(), applied);
    let said = tree.tune(&wanted).fine().stdout.clone();
    assert!(said.contains("2 already as wanted"), "{said}");
    // Another limit is another wish.
    tree.tune(&format!("apply {SET} --set dma_latency=5us"))
        .error(1, &["are not reverted", "not as wanted now: dma_latency"]);
    tree.write(SWAPPINESS, "33");
    tree.tune(&wanted)
        .error(1, &["not as wanted now: vm.swappiness"]);
    tree.write(SWAPPINESS, "10");
    // So is one that ends with the time of its session.
    tree.tune("revert").fine();
    tree.tune(&format!("{wanted} --for 3h")).fine();
    tree.tune(&wanted)
        .error(1, &["not as wanted now: dma_latency"]);
    tree.tune("revert").fine();
    assert!(wait_until(|| keepers(&tree) == 0));
}

#[test]
fn a_command_that_cannot_start_leaves_nothing() {
    let tree = Tree::new();
    let before = tree.dump();
    let mut command = tree.command(&format!("run {SET}"));
    command.args(["--", "/no/such/command"]);
    finish(command).error(1, &["failed to run /no/such/command"]);
    assert_eq!(tree.dump(), before);
}

#[test]
fn ctrl_c_and_sigterm_end_the_command_and_put_everything_back() {
    for signal in machine::ends() {
        let tree = Tree::new();
        let before = tree.dump();
        let running = Running::start(tree.run(SET, "echo $$ >pid; exec sleep 10800"));
        assert!(wait_until(|| tree.root().join("pid").exists()));
        assert_eq!(tree.read(SWAPPINESS), "10");
        running.signal(signal);
        let answer = running.wait();
        assert_eq!(answer.code(), 128 + 15, "{answer:?}");
        assert_eq!(tree.dump(), before);
    }
}

#[test]
fn killed_it_is_reverted_by_its_keeper_and_the_command_ends() {
    let tree = Tree::new();
    let before = tree.dump();
    let running = Running::start(tree.run(SET, "echo $$ >pid; exec sleep 10800"));
    let pid = tree.root().join("pid");
    let started = || pid.exists() && !tree.read("pid").is_empty();
    assert!(wait_until(started));
    let command = tree.read("pid");
    running.signal("KILL");
    drop(running);
    let back = wait_until(|| tree.dump() == before);
    assert!(back, "{}", tree.left_behind());
    let gone = || machine::status(format!("/proc/{command}/status"), "State").is_empty();
    assert!(wait_until(gone), "the command goes on");
    assert!(wait_until(|| keepers(&tree) == 0));
    assert!(
        tree.tune("status")
            .fine()
            .stdout
            .contains("nothing is changed")
    );
}

#[test]
fn another_tuner_waits_its_turn() {
    let tree = Tree::new();
    let running = Running::start(tree.run(SET, "echo $$ >pid; exec sleep 10800"));
    assert!(wait_until(|| tree.root().join("pid").exists()));
    tree.tune("apply --set vm.stat_interval=7")
        .error(1, &["another process is tuning: process", "(run)"]);
    let status = tree.tune("status").fine().stdout.clone();
    assert!(status.contains("active now: process"), "{status}");
    running.signal("TERM");
    running.wait();
    tree.tune("apply --set vm.stat_interval=7").fine();
}

#[test]
fn time_reverts_also_when_the_terminal_is_gone() {
    let tree = Tree::new();
    let before = tree.dump();
    // setsid(1) is the terminal: when its session's leader ends, its group is hung up.
    let mut command = std::process::Command::new("setsid");
    let tune = tree.command(&format!("apply {SET} --for 2s --json"));
    command.arg(tune.get_program()).args(tune.get_args());
    // By its own word: it may be over before anybody else can look.
    let applied = finish(command).fine().json();
    assert_eq!(applied["steps"][0]["outcome"]["is"], "applied");
    assert!(wait_until(|| tree.dump() == before));
    assert!(wait_until(|| keepers(&tree) == 0));
    assert!(
        tree.tune("revert")
            .fine()
            .stdout
            .contains("Nothing to revert")
    );
}

#[test]
fn time_reverts_also_where_the_journal_is_named_from_here() {
    let tree = Tree::new();
    let mut command =
        tree.command("apply --set vm.swappiness=10 --for 300ms --state journals/here");
    command.current_dir(tree.root());
    command.arg("--json");
    let applied = finish(command).fine().json();
    assert_eq!(applied["steps"][0]["outcome"]["is"], "applied");
    let back = || tree.read("proc/sys/vm/swappiness") == "60";
    assert!(wait_until(back));
}

#[test]
fn a_keeper_has_none_of_its_callers_files() {
    let tree = Tree::new();
    tree.write("lock", "");
    let tune = tree.command(&format!("apply {SET} --for 3h"));
    // As flock(1) runs a command: with the lock's file open.
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", "exec 9<lock; exec \"$0\" \"$@\""]);
    shell.arg(tune.get_program()).args(tune.get_args());
    shell.envs(tune.get_envs().filter_map(|(k, v)| Some((k, v?))));
    shell.current_dir(tree.root());
    finish(shell).fine();
    let keeper = keeper_of(&tree);
    let open = std::fs::read_dir(format!("/proc/{keeper}/fd")).unwrap();
    let lock = std::fs::canonicalize(tree.root().join("lock")).unwrap();
    let open: Vec<_> = open
        .flatten()
        .filter_map(|file| std::fs::read_link(file.path()).ok())
        .collect();
    assert!(!open.is_empty() && !open.contains(&lock), "{open:?}");
    tree.tune("revert").fine();
}

#[test]
fn a_revert_in_time_lets_the_keeper_go() {
    let tree = Tree::new();
    let before = tree.dump();
    tree.tune(&format!("apply {SET} --for 3h")).fine();
    assert_eq!(tree.read(SWAPPINESS), "10");
    assert_eq!(keepers(&tree), 1);
    let status = tree.tune("status").fine().stdout.clone();
    assert!(status.contains(", until"), "{status}");
    tree.tune("revert").fine();
    assert!(wait_until(|| keepers(&tree) == 0));
    assert_eq!(tree.dump(), before);
}

#[test]
fn a_time_limit_that_nobody_keeps_any_more_is_no_longer_promised() {
    let tree = Tree::new();
    let before = tree.dump();
    tree.tune(&format!("apply {SET} --for 3h")).fine();
    machine::signal("KILL", &keeper_of(&tree));
    assert!(wait_until(|| keepers(&tree) == 0));
    let status = tree.tune("status");
    assert_eq!(status.code(), 1, "{status:?}");
    let said = status
        .stdout
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    assert!(
        said.starts_with("Tuned in part") && !said.contains(", until"),
        "{status:?}"
    );
    assert!(said.contains("nobody reverts this at 2"), "{status:?}");
    let json = tree.tune("status --json").json();
    assert_eq!(json["complete"], false);
    assert!(json["session"]["until"].is_null());
    tree.tune("revert").fine();
    assert_eq!(tree.dump(), before);
}

#[test]
fn a_keeper_with_a_time_limit_reverts_when_it_is_asked_to_end() {
    let tree = Tree::new();
    let before = tree.dump();
    tree.tune(&format!("apply {SET} --for 3h")).fine();
    machine::signal("TERM", &keeper_of(&tree));
    let back = wait_until(|| tree.dump() == before);
    assert!(back, "{}", tree.left_behind());
}

#[test]
fn a_time_limit_of_what_is_set_already_is_said_to_take_nothing_back() {
    let tree = Tree::new();
    tree.tune(&format!("apply {SET}")).fine();
    let again = tree.tune(&format!("apply {SET} --for 1s"));
    let note = "--for takes back what this command changes, which is nothing";
    assert!(again.fine().stderr.contains(note), "{again:?}");
    assert_eq!(keepers(&tree), 0);
    let without = tree.tune(&format!("apply {SET}"));
    assert!(!without.fine().stderr.contains(note), "{without:?}");
    tree.tune("revert").fine();
}
