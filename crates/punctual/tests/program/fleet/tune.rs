// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Tuning of hosts: applied, verified and reverted by plays of their own, with a reboot in between.

use std::fs;
use std::process::Command;

use serde_json::Value;

use super::{Fleet, hosts};
use crate::common::{Answer, Home, finish, machine, program};

const KNOB: &str = "/proc/sys/vm/stat_interval";

/// Runs something on host `a`, as root.
fn on_host(fleet: &Fleet, script: &str) {
    let pid = machine::read(&fleet.inventory().with_file_name("a.pid")).unwrap();
    let mut command = Command::new("nsenter");
    command.args([
        "--target",
        pid.trim(),
        "--mount",
        "--pid",
        "sh",
        "-ec",
        script,
    ]);
    finish(command).fine();
}

#[test]
fn tuning_is_applied_once_and_reverted_also_after_a_reboot() {
    let Some(fleet) = Fleet::new(Home::new(), &["a"]) else {
        return;
    };
    // The host has this setting to itself, so that nobody else's is changed for the minutes that the plays take.
    let setting = fleet.inventory().with_file_name("setting");
    fs::write(&setting, "1\n").unwrap();
    on_host(&fleet, &format!("mount --bind /mnt/setting {KNOB}"));
    let knob = || machine::read(&setting).unwrap().trim().to_owned();
    let (before, wanted) = ("1", "7");
    let set = format!("--set=vm.stat_interval={wanted}");
    let tune = |args: &[&str]| fleet.run("tune", &[&["--"][..], args].concat());
    let host = |answer: &Answer| -> Value { hosts(answer)["a"].clone() };
    assert_eq!(host(tune(&["apply", &set]).fine())["changed"], true);
    assert_eq!(knob(), wanted);
    let again = host(tune(&["apply", &set]).fine());
    assert_eq!(again["changed"], false, "{again:#}");
    // Only the undo record stays.
    let left = fleet.script("left", &["a"]);
    assert!(
        left.lines().all(|line| line.contains("/punctual")),
        "{left}"
    );
    assert!(!left.contains("punctual-fleet"), "{left}");
    assert_eq!(host(tune(&["revert"]).fine())["changed"], true);
    assert_eq!(knob(), before);
    assert_eq!(host(tune(&["revert"]).fine())["changed"], false);

    // The same by the role, in plays of a site's own.
    let collections = fleet.home.dir().join("collections");
    let written = fleet
        .home
        .run(["fleet", "collection", collections.to_str().unwrap()]);
    let place = written.fine().stdout.trim().to_owned();
    let fetch = fleet.home.dir().join("answers");
    fs::create_dir(&fetch).unwrap();
    let play = |state: &str, check: bool| {
        let variables = serde_json::json!({
            "program_files": { std::env::consts::ARCH: program() },
            "fleet_become": false,
            "tune_state": state,
            "tune_arguments": [set],
            "tune_fetch": fetch,
        });
        let mut command = fleet.enter(["ansible-playbook", "--inventory"]);
        command.arg(fleet.inventory());
        command.args(["--extra-vars", &variables.to_string()]);
        command.args(check.then_some("--check"));
        command
            .arg(format!("{place}/playbooks/tune.yml"))
            .env("ANSIBLE_COLLECTIONS_PATH", &collections);
        finish(command)
    };
    play("applied", true).fine();
    assert_eq!(knob(), before);
    play("applied", false).fine();
    assert_eq!(knob(), wanted);
    play("verified", false).fine();
    // A reboot undoes settings and empties /run; the journal stays.
    fs::write(&setting, "1\n").unwrap();
    on_host(
        &fleet,
        "rm -rf /run/punctual; echo 11111111-2222-4333-8444-555555555555 >/run/boot
         mount --bind /run/boot /proc/sys/kernel/random/boot_id",
    );
    let lost = play("verified", false);
    assert_ne!(lost.code(), 0, "{lost:#?}");
    assert!(lost.stdout.contains("rebooted"), "{lost:#?}");
    play("applied", false).fine();
    assert_eq!(knob(), wanted);
    play("verified", false).fine();
    play("reverted", false).fine();
    assert_eq!(knob(), before);
}
