// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The program on a host: where it may lie, who may change it, and what stays of it when its way there is cut short.

use std::fs;

use serde_json::Value;

use super::{Fleet, hosts, sent};
use crate::common::{Home, Running, machine, wait_until};

/// What became of `host` in a diagnosis.
fn diagnosed(fleet: &Fleet, host: &str, args: &[&str]) -> Value {
    let hosts_of = ["--hosts", host];
    let answer = fleet.run("doctor", &[&hosts_of[..], args].concat());
    hosts(&answer)[host].clone()
}

fn refused(host: &Value, why: &str) {
    assert_eq!(host["state"], "failed", "{host:#}");
    let detail = host["detail"].as_str().unwrap();
    assert!(detail.contains(why), "{host:#}");
}

#[test]
fn root_starts_no_kept_program_that_others_can_change() {
    if !machine::has_tool("sudo") {
        return;
    }
    let Some(fleet) = Fleet::new(Home::new(), &["mine:sudo"]) else {
        return;
    };
    fs::copy(sent(), fleet.inventory().with_file_name("program")).unwrap();
    let kept = |dir: &str| diagnosed(&fleet, "mine", &["--become", "--keep", dir]);
    // The right program, which its owner can replace at any moment.
    let theirs = "install -d -o 4321 /run/home/kept
                  install -o 4321 -m 755 /mnt/program /run/home/kept/punctual";
    fleet.on("mine", theirs);
    refused(&kept("/run/home/kept"), "/run/home/kept: others can write");
    // Root's, below a directory of theirs, which they can put another in place of; by its own name and by a link.
    let below = "chown -R 0:0 /run/home/kept; ln -s home/kept /run/link";
    fleet.on("mine", below);
    refused(&kept("/run/home/kept"), "/run/home: others can write");
    refused(&kept("/run/link"), "/run/home: others can write");
    refused(&kept("/run/home/new/one"), "/run/home: others can write");
    fleet.on("mine", "[ ! -e /run/home/new ]");
    // Root's, and writable by a group.
    fleet.on(
        "mine",
        "install -d /run/kept; install -g 4321 -m 775 /mnt/program /run/kept/punctual",
    );
    refused(&kept("/run/kept"), "/run/kept/punctual: others can write");
    fleet.on("mine", "chmod 755 /run/kept/punctual; chmod 2775 /run/kept");
    refused(&kept("/run/kept"), "/run/kept: others can write");
    fleet.on("mine", "chmod 755 /run/kept");
    let host = kept("/run/kept");
    assert_eq!(
        (&host["state"], &host["changed"]),
        (&"done".into(), &false.into()),
        "{host:#}"
    );
    let host = kept("/run/other/kept");
    assert_eq!(
        (&host["state"], &host["changed"]),
        (&"done".into(), &true.into()),
        "{host:#}"
    );
    assert!(!fleet.script("left", &["mine"]).contains("punctual-fleet."));
}

#[test]
fn odd_hosts_are_understood_or_named() {
    let Some(fleet) = Fleet::new(Home::new(), &["a"]) else {
        return;
    };
    // A login that ends within a line.
    let shell = "printf '%s\\n' \"printf '\\033[2Jwelcome '\" >/root/.bashrc";
    fleet.on("a", shell);
    let host = diagnosed(&fleet, "a", &["--check"]);
    assert_eq!(host["state"], "checked", "{host:#}");
    fleet.on(
        "a",
        "mkdir /run/data; mount -t tmpfs -o noexec none /run/data",
    );
    for more in [&["--check"][..], &[]] {
        let args = [&["--base", "/run/data"], more].concat();
        refused(&diagnosed(&fleet, "a", &args), "noexec");
    }
}

#[test]
fn nothing_stays_of_a_copy_that_is_stopped() {
    let Some(fleet) = Fleet::new(Home::new(), &["slow", "mine:sudo"]) else {
        return;
    };
    let mut names = vec!["slow"];
    if machine::has_tool("sudo") {
        names.push("mine");
    }
    for host in &names {
        fleet.on(
            host,
            "mount -t tmpfs none /usr/local/sbin
             printf '#!/bin/sh\\nsleep 20; exec /usr/bin/sha256sum \"$@\"\\n' >/usr/local/sbin/sha256sum
             chmod 755 /usr/local/sbin/sha256sum",
        );
        let limit = format!("--hosts={host}");
        let mut args = vec![limit.as_str()];
        if *host == "mine" {
            args.push("--become");
        }
        let running = Running::start(fleet.command("doctor", &args));
        let copied = || fleet.script("left", &[host]).contains("/punctual\n");
        assert!(wait_until(copied), "{host}");
        running.signal("INT");
        let answer = running.wait();
        assert_eq!(answer.code(), 1, "{answer:#?}");
        let host = &hosts(&answer)[*host];
        assert_eq!(
            host["detail"], "stopped while the program was copied",
            "{host:#}"
        );
        let left = host["left"].as_array();
        assert!(left.is_none_or(Vec::is_empty), "{host:#}");
    }
    let left = |host: &&str| fleet.script("left", &[*host]).contains("punctual-fleet.");
    assert!(wait_until(|| !names.iter().any(left)));
}
