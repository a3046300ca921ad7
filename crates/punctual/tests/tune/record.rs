// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The machine-wide record: what is applied is known whatever directory is named, and whatever became
//! of the journal.

use std::fs;

use crate::common::{Running, finish, machine, wait_until};
use crate::live::Live;
use crate::tree::Tree;

const SWAPPINESS: &str = "proc/sys/vm/swappiness";

#[test]
fn of_two_directories_the_second_is_refused_and_takes_back_what_the_first_applied() {
    let tree = Tree::new();
    let before = tree.dump();
    let first = tree.root().join("first");
    let second = tree.root().join("second");
    let (first, second) = (Tree::shown(&first), Tree::shown(&second));
    tree.tune(&format!("apply --set vm.swappiness=20 --state {first}"))
        .fine();
    let part = format!("journal is in {first}");
    tree.tune(&format!("apply --set vm.swappiness=10 --state {second}"))
        .error(1, &["not reverted", &part])
        .hinted();
    assert_eq!(tree.read(SWAPPINESS), "20");
    let status = tree.tune(&format!("status --state {second}"));
    assert!(status.fine().stdout.contains(&first), "{status:?}");
    assert!(status.stdout.contains("vm.swappiness"), "{status:?}");
    tree.tune(&format!("revert --state {second}")).fine();
    assert_eq!(tree.dump(), before);
    let status = tree.tune(&format!("status --state {first}"));
    assert!(
        status.fine().stdout.contains("nothing is changed"),
        "{status:?}"
    );
}

#[test]
fn a_deleted_journal_hides_nothing() {
    let tree = Tree::new();
    let before = tree.dump();
    tree.tune("apply --set vm.swappiness=20").fine();
    fs::remove_dir_all(tree.state()).unwrap();
    let status = tree.tune("status");
    let text = &status.fine().stdout;
    assert!(!text.contains("nothing is changed"), "{text}");
    assert!(
        text.contains("as seen from here") && text.contains("vm.swappiness"),
        "{text}"
    );
    tree.tune("apply --set vm.stat_interval=7")
        .error(1, &["not reverted"]);
    let plan = tree.tune("plan");
    assert!(plan.fine().stderr.contains("undoes it"), "{plan:?}");
    tree.tune("revert").fine();
    assert_eq!(tree.dump(), before);
}

#[test]
fn a_damaged_journal_is_no_loss_as_long_as_the_record_is_there() {
    let tree = Tree::new();
    let before = tree.dump();
    tree.tune("apply --set vm.swappiness=20 --set vm.stat_interval=7")
        .fine();
    fs::write(tree.state().join("journal"), "garbage\n").unwrap();
    let answer = tree.tune("revert");
    assert!(
        answer.fine().stdout.contains("record is used"),
        "{answer:?}"
    );
    assert_eq!(tree.dump(), before);
    tree.tune("apply --set vm.swappiness=20").fine();
}

#[test]
fn a_record_that_cannot_be_read_is_said_and_moved_aside() {
    let tree = Tree::new();
    tree.tune("apply --set vm.swappiness=20").fine();
    fs::remove_file(tree.state().join("journal")).unwrap();
    let record = tree.root().join("run/punctual/journal");
    fs::write(&record, "garbage\n").unwrap();
    tree.tune("status")
        .error(1, &["machine-wide record"])
        .hinted();
    let answer = tree.tune("revert");
    assert_eq!(answer.code(), 4, "{answer:?}");
    assert!(answer.stdout.contains("unknown"), "{answer:?}");
    assert!(record.with_file_name("journal.damaged").exists());
    tree.tune("apply --set vm.stat_interval=7").fine();
}

#[test]
fn a_bound_that_nobody_holds_any_more_is_not_said_to_be_held() {
    let Some(live) = Live::new() else { return };
    if machine::dma_latency().is_none() {
        machine::skip("dma_latency", "there is no /dev/cpu_dma_latency");
        return;
    }
    live.tune("apply --set dma_latency=0us").fine();
    let status = live.tune("status");
    assert!(
        status.fine().stdout.contains("Held      dma_latency 0 µs"),
        "{status:?}"
    );
    let journal = machine::read(&live.state().join("journal")).unwrap();
    let line = journal
        .lines()
        .find(|line| line.contains("\"keeper\""))
        .unwrap();
    let keeper: serde_json::Value = serde_json::from_str(line).unwrap();
    let keeper = keeper["pid"].to_string();
    machine::signal("KILL", &keeper);
    let gone = || machine::status(format!("/proc/{keeper}/status"), "State").is_empty();
    assert!(crate::common::wait_until(gone));
    let status = live.tune("status");
    assert!(!status.fine().stdout.contains("Held "), "{status:?}");
    assert!(
        status.stdout.contains("dma_latency is NOT held"),
        "{status:?}"
    );
    let json = live.tune("status --json").fine().json();
    assert_eq!(json["held"].as_array().unwrap().len(), 0, "{json:#}");
    assert_eq!(json["complete"], false);
    live.tune("revert").fine();
}

#[test]
fn the_loser_of_two_that_tune_at_once_is_told_who_the_other_is() {
    for _ in 0..2 {
        let tree = Tree::new();
        // Whoever is first tunes until the other has its answer.
        tree.write("held", "");
        let start = || Running::start(tree.run("--set vm.swappiness=20", HOLD));
        let mut both = [start(), start()];
        let mut loser = None;
        let ended = wait_until(|| {
            loser = both.iter_mut().position(|one| !one.is_alive());
            loser.is_some()
        });
        assert!(ended, "both tune");
        let [first, second] = both;
        let (loser, winner) = match loser {
            Some(0) => (first, second),
            _ => (second, first),
        };
        let other = format!("another process is tuning: process {} (run)", winner.id());
        loser.wait().error(1, &[&other]);
        fs::remove_file(tree.root().join("held")).unwrap();
        winner.wait().fine();
    }
}

/// Goes on while there is a file `held`.
const HOLD: &str = "while [ -e held ]; do sleep 0.05; done";

#[test]
fn the_record_goes_with_the_session() {
    let tree = Tree::new();
    let record = tree.root().join("run/punctual/journal");
    tree.tune("apply --set vm.swappiness=20").fine();
    assert_eq!(
        fs::read(&record).unwrap(),
        fs::read(tree.state().join("journal")).unwrap()
    );
    let mode = |path: &std::path::Path| {
        use std::os::unix::fs::PermissionsExt as _;
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    };
    assert_eq!(
        (mode(record.parent().unwrap()), mode(&record)),
        (0o700, 0o600)
    );
    tree.tune("revert").fine();
    assert!(!record.exists());
    let mut command = tree.command("run --set vm.swappiness=20");
    command.args(["--", "true"]);
    finish(command).fine();
    assert!(!record.exists());
}
