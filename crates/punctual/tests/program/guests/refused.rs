// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What no guest can do is said before one boots.

use std::fs;

use super::{boot, images, run};
use crate::common::Home;

#[test]
fn what_takes_programs_of_this_machine_is_refused_before_a_guest_boots() {
    let Some(images) = images() else { return };
    let home = Home::aside();
    let image = images.dynamic.to_str().unwrap();
    let target = format!("--target=guest:{image},virtual-time");
    let refused = |args: &[&str], what: &str| {
        let mut command = home.command(args);
        command.env("PUNCTUAL_QEMU", "/no/such/qemu");
        let answer = crate::common::finish(command);
        answer.error(2, &[what, "a guest has only Punctual itself"]);
    };
    let measure = ["measure", &target];
    refused(&[&measure[..], &["io"]].concat(), "io: needs");
    let engine = ["linpack", "--engine=openblas"];
    refused(&[&measure[..], &engine].concat(), "--engine openblas");
    for load in ["io", "fork,stress-ng:--cpu 1", "cmd:true"] {
        let wakeup = ["wakeup", "--load", load];
        let last = load.trim_start_matches("fork,");
        let said = format!("--load {last}");
        refused(&[&measure[..], &wakeup].concat(), &said);
        let test = ["kernel", "latency-test", image, "--load", load];
        refused(&test, &said);
    }
    let file = home.dir().join("loads.toml");
    let text = format!(
        r#"name = "loads"
compare = ["mean"]
[[measure]]
instrument = "wakeup"
options = {{ samples = 50, target = "guest:{image},virtual-time" }}
[[factor]]
name = "load"
load = true
levels = {{ idle = "none", disk = "io" }}
[stop]
blocks = 2
"#
    );
    fs::write(&file, text).unwrap();
    let run = ["experiment", "run", file.to_str().unwrap()];
    refused(&run, "--load io");
    assert!(home.list().is_empty());
}

#[test]
fn too_little_memory_is_said_and_not_shown_as_registers() {
    let Some(images) = images() else { return };
    let home = Home::aside();
    let boot = |memory| boot(&home, &images.dynamic, &[memory]);
    boot("--memory=64M").error(2, &["64M is too little for this kernel"]);
    boot("--memory=84M")
        .error(1, &["System is deadlocked on memory"])
        .hinted();
}

#[test]
fn a_target_has_more_time_by_its_own_option() {
    let Some(images) = images() else { return };
    let home = Home::aside();
    let target = format!(
        "--target=guest:{},virtual-time,time-limit=1ms",
        images.dynamic.display()
    );
    let answer = run(&home, &["measure", &target, "wakeup", "--samples=10"]);
    assert_eq!(answer.code(), 1);
    assert!(answer.stderr.contains("with `,time-limit=`"), "{answer:#?}");
}
