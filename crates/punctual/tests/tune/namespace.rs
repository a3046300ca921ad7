// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Sessions of containers: numbers of processes and starts of threads mean something in one namespace only.

use std::fs;
use std::process::{Command, Stdio};

use crate::common::{Answer, Running, finish, machine, wait_until};
use crate::live::Live;
use crate::tree::Tree;

const SWAPPINESS: &str = "proc/sys/vm/swappiness";
const OWN: &str = "proc/self/ns/pid";

/// A text in one line, wherever the terminal's width has broken it.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Gives the machine of a tree another namespace of processes.
fn another_namespace(tree: &Tree) {
    // A file of its own is another inode.
    tree.write("proc/self/ns/new", "");
    fs::rename(tree.root().join("proc/self/ns/new"), tree.root().join(OWN)).unwrap();
}

#[test]
fn what_a_process_of_another_namespace_holds_is_neither_released_nor_said_to_be() {
    let tree = Tree::new();
    tree.write("dev/cpu_dma_latency", "");
    another_namespace(&tree);
    let own = fs::File::open(tree.root().join(OWN)).unwrap();
    tree.tune("apply --set dma_latency=0us --set vm.swappiness=20 --for 3h")
        .fine();
    let before = fs::read(tree.state().join("journal")).unwrap();
    let home = tree.root().join("proc/self/ns/home");
    fs::hard_link(tree.root().join(OWN), &home).unwrap();
    another_namespace(&tree);
    let status = tree.tune("status");
    let said = flat(&status.fine().stdout);
    assert!(said.contains("another process namespace"), "{said}");
    assert!(
        !said.contains("has ended;") && !said.contains("NOT held"),
        "{said}"
    );
    let json = tree.tune("status --json").fine().json();
    assert_eq!(json["complete"], false, "{json:#}");
    tree.tune("revert")
        .error(5, &["another process namespace"])
        .hinted();
    assert_eq!(tree.read(SWAPPINESS), "20");
    assert_eq!(fs::read(tree.state().join("journal")).unwrap(), before);
    fs::rename(&home, tree.root().join(OWN)).unwrap();
    tree.tune("revert").fine();
    assert_eq!(tree.read(SWAPPINESS), "60");
    drop(own);
}

#[test]
fn what_nothing_is_known_of_by_a_number_is_reverted_from_anywhere() {
    let tree = Tree::new();
    another_namespace(&tree);
    tree.tune("apply --set vm.swappiness=20").fine();
    fs::rename(tree.root().join(OWN), tree.root().join("proc/self/ns/old")).unwrap();
    another_namespace(&tree);
    let status = tree.tune("status");
    assert!(
        flat(&status.fine().stdout).contains("undoes it here too"),
        "{status:?}"
    );
    tree.tune("revert").fine();
    assert_eq!(tree.read(SWAPPINESS), "60");
}

#[test]
fn a_session_that_was_reverted_from_another_root_is_over() {
    let tree = Tree::new();
    tree.tune("apply --set vm.swappiness=20").fine();
    // Whoever has another root has other files in the place of the journal.
    let aside = tree.root().join("aside");
    fs::rename(tree.state(), &aside).unwrap();
    let status = tree.tune("status");
    assert!(
        !flat(&status.fine().stdout).contains("is gone"),
        "{status:?}"
    );
    tree.tune("revert").fine();
    // Another session there, so that it is not the last one.
    tree.tune("apply --set vm.stat_interval=7").fine();
    tree.tune("revert").fine();
    fs::remove_dir_all(tree.state()).unwrap();
    fs::rename(&aside, tree.state()).unwrap();
    tree.write(SWAPPINESS, "20");
    let status = tree.tune("status");
    assert!(
        flat(&status.fine().stdout).contains("nothing is changed"),
        "{status:?}"
    );
    let reverted = tree.tune("revert");
    assert_eq!(reverted.fine().stdout, "Nothing to revert\n");
    assert_eq!(tree.read(SWAPPINESS), "20");
    assert!(!tree.state().join("journal").exists());
    tree.tune("apply --set vm.swappiness=10").fine();
    tree.tune("revert").fine();
    assert_eq!(tree.read(SWAPPINESS), "20");
}

/// Puts a command into namespaces of its own; none where that cannot be done.
fn apart(namespaces: &str, command: &Command) -> Option<Command> {
    let namespaces = namespaces.split(' ');
    let made = Command::new("unshare")
        .args(namespaces.clone())
        .arg("true")
        .stderr(Stdio::null())
        .status();
    if !made.is_ok_and(|status| status.success()) {
        machine::skip("unshare", "no such namespace can be made");
        return None;
    }
    let mut apart = Command::new("unshare");
    apart
        .args(namespaces)
        .arg(command.get_program())
        .args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => apart.env(name, value),
            None => apart.env_remove(name),
        };
    }
    Some(apart)
}

fn tune_apart(live: &Live, namespaces: &str, args: &str) -> Option<Answer> {
    apart(namespaces, &live.command(args.split(' '))).map(finish)
}

const PROCESSES: &str = "--pid --fork --mount-proc";
const CLOCK: &str = "--time --boottime 100000 --fork";

#[test]
fn threads_are_put_back_where_their_numbers_and_starts_are_theirs() {
    let Some(live) = Live::new() else { return };
    let online = machine::read("/sys/devices/system/cpu/online".as_ref()).unwrap();
    if online == "0\n" {
        return machine::skip("affinity", "there is one CPU");
    }
    let program = live.dir().join("pnct-ns-loop");
    fs::copy("/bin/sleep", &program).unwrap();
    let mut sleep = Command::new(&program);
    sleep.arg("10800");
    let thread = Running::start(sleep);
    let of = |thread: u32| machine::status(format!("/proc/{thread}/status"), "Cpus_allowed_list");
    let before = of(thread.id());
    live.tune("apply --cpus 1 --set threads.affinity@pnct-ns-loop=0")
        .fine();
    let moved = of(thread.id());
    for (namespaces, said) in [
        (PROCESSES, ["process namespace of the host", "--pid=host"]),
        (CLOCK, ["another time namespace", "--boottime 0"]),
    ] {
        if let Some(answer) = tune_apart(&live, namespaces, "revert") {
            answer.error(5, &said);
            assert_eq!(of(thread.id()), moved);
        }
        if let Some(status) = tune_apart(&live, namespaces, "status") {
            assert!(flat(&status.fine().stdout).contains(said[0]), "{status:?}");
        }
    }
    // What its hint says has the clock of the machine.
    match tune_apart(&live, "--time --boottime 0 --fork", "revert") {
        Some(reverted) => reverted.fine().carried_out(),
        None => live.tune("revert").fine().carried_out(),
    };
    let after = of(thread.id());
    assert_eq!((moved.as_str(), after), ("0", before));
}

#[test]
fn what_a_container_left_is_reverted_once_it_has_ended() {
    let Some(live) = Live::new() else { return };
    let now = || fs::read("/proc/sys/vm/swappiness").unwrap();
    let before = now();
    let other = match before.as_slice() {
        b"61\n" => "vm.swappiness=62",
        _ => "vm.swappiness=61",
    };
    let apply = format!("apply --set {other} --for 3h");
    let Some(init) = tune_apart(&live, PROCESSES, &apply) else {
        return;
    };
    init.error(5, &["process 1 of its container"]).hinted();
    assert_eq!(now(), before);
    let ready = live.dir().join("ready");
    let mut shell = live.command([]);
    let program = shell.get_program().to_owned();
    shell = {
        let mut inner = Command::new("sh");
        inner.args([
            "-c",
            "\"$0\" tune \"$@\" >$READY.new; mv $READY.new $READY; sleep 10800; :",
        ]);
        inner.arg(program).args(apply.split(' '));
        for (name, value) in shell.get_envs() {
            inner.env(name, value.unwrap_or_default());
        }
        inner.env("READY", &ready);
        inner
    };
    let kept = format!("{PROCESSES} --kill-child");
    let container = Running::start(apart(&kept, &shell).unwrap());
    assert!(wait_until(|| ready.exists()));
    let said = flat(&machine::read(&ready).unwrap());
    assert!(said.contains("ends with this container"), "{said}");
    let status = live.tune("status");
    let said = flat(&status.fine().stdout);
    assert!(said.contains("container that still runs"), "{said}");
    assert!(!said.contains("has ended;"), "{said}");
    live.tune("revert")
        .error(5, &["container that still runs", "nsenter --target"]);
    assert_ne!(now(), before);
    container.signal("KILL");
    drop(container);
    let gone = || {
        let status = live.tune("status");
        flat(&status.stdout).contains("has ended with its container")
    };
    assert!(wait_until(gone), "{:?}", live.tune("status"));
    let status = live.tune("status");
    assert!(!flat(&status.stdout).contains("is at work"), "{status:?}");
    live.tune("revert").fine();
    assert_eq!(now(), before);
}
