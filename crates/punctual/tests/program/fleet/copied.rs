// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The program on a host: where it may lie, who may change it, and what stays of it when its way there is cut short.

use serde_json::Value;

use super::{Fleet, hosts, sent};
use crate::common::{Home, Running, finish, machine, wait_until};

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
    const KEPT: &str = "/run/at/all/kept";
    // Each has that place in another way: what is done there, whether it is refused or changes anything, and why.
    let root = format!("install -d {KEPT}; install -m 755 /mnt/punctual {KEPT}");
    let linked = root.replace(KEPT, "/run/home/kept");
    let file = format!("{KEPT}/punctual");
    let ways = [
        // The right program, which its owner can replace at any moment.
        ("theirs", format!("{root}; chown -R 4321 {KEPT}"), Err(KEPT)),
        // Root's, below a directory of theirs, which they can put another in place of; by its own name and by a link.
        (
            "below",
            format!("{root}; chown 4321 /run/at"),
            Err("/run/at"),
        ),
        (
            "link",
            format!("{linked}; mkdir -p /run/at/all; ln -s ../../home/kept {KEPT}"),
            Err("/run/home"),
        ),
        (
            "none",
            "install -d -o 4321 /run/at".to_owned(),
            Err("/run/at"),
        ),
        // Root's, and writable by a group.
        (
            "file",
            format!("{root}; chgrp 4321 {file}; chmod 775 {file}"),
            Err(file.as_str()),
        ),
        ("group", format!("{root}; chmod 2775 {KEPT}"), Err(KEPT)),
        ("there", root.clone(), Ok(false)),
        ("new", "true".to_owned(), Ok(true)),
    ];
    let hosts_of = ways.each_ref().map(|(host, ..)| format!("{host}:sudo"));
    let hosts_of = hosts_of.each_ref().map(String::as_str);
    let Some(fleet) = Fleet::new(Home::aside(), &hosts_of) else {
        return;
    };
    fleet.share_program();
    for (host, done, _) in &ways {
        fleet.on(host, done);
    }
    let mut command = fleet.command("doctor", &["--become", "--keep", KEPT]);
    // All of them log in at the same time, on whatever CPUs there are.
    command.env("ANSIBLE_TIMEOUT", "60");
    let mut all = hosts(&finish(command));
    for (name, _, expected) in &ways {
        let host = all.remove(*name).unwrap();
        match expected {
            Err(what) => refused(&host, &format!("{what}: others can write")),
            Ok(changed) => assert_eq!(
                (&host["state"], &host["changed"]),
                (&"done".into(), &(*changed).into()),
                "{host:#}"
            ),
        }
        let left = fleet.script("left", &[name]);
        assert!(!left.contains("punctual-fleet."), "left on {name}: {left}");
    }
    fleet.on("none", "[ ! -e /run/at/all ]");
}

#[test]
fn odd_hosts_are_understood_or_named() {
    let Some(fleet) = Fleet::new(Home::aside(), &["a", "b"]) else {
        return;
    };
    fleet.on("a", "mkdir /run/data");
    fleet.on(
        "b",
        "mkdir /run/data; mount -t tmpfs -o noexec none /run/data",
    );
    // A login that ends within a line.
    let shell = "printf '%s\\n' \"printf '\\033[2Jwelcome '\" >/root/.bashrc";
    fleet.on("a", shell);
    let base = ["--base", "/run/data"];
    let mut looked = hosts(&fleet.run("doctor", &[&base[..], &["--check"]].concat()));
    let host = looked.remove("a").unwrap();
    assert_eq!(
        (&host["state"], &host["uid"]),
        (&"checked".into(), &0.into()),
        "{host:#}"
    );
    refused(&looked["b"], "noexec");
    let refusal = fleet.run("doctor", &[&base[..], &["--hosts=b"]].concat());
    refused(&hosts(&refusal)["b"], "noexec");
    // A check sees what the command would stumble over.
    fleet.on("a", "install -d -m 777 /run/open");
    for (option, place, why) in [
        ("--base", "/run/none", "there is no directory /run/none"),
        ("--keep", "/run/open/kept", "/run/open: others can write"),
    ] {
        let looked = fleet.run("doctor", &[option, place, "--check", "--hosts=a"]);
        refused(&hosts(&looked)["a"], why);
    }
}

#[test]
fn nothing_stays_of_a_copy_that_is_stopped() {
    let mut names = vec!["slow"];
    let mut kinds = vec!["slow"];
    if machine::has_tool("sudo") {
        names.push("mine");
        kinds.push("mine:sudo");
    }
    let Some(fleet) = Fleet::new(Home::aside(), &kinds) else {
        return;
    };
    for host in &names {
        // Where who becomes root looks too.
        fleet.on(
            host,
            "mount -t tmpfs none /usr/local/bin
             printf '#!/bin/sh\\nsleep 10000 && exec /usr/bin/sha256sum \"$@\"\\n' >/usr/local/bin/sha256sum
             chmod 755 /usr/local/bin/sha256sum",
        );
    }
    // One of them as who logs in, and one as whom it becomes.
    if names.len() > 1 {
        fleet.add("[becoming]\nmine\n[becoming:vars]\nansible_become=true");
    }
    // It is not started, so that of guests does, which is smaller.
    let mut command = fleet.command("doctor", &["--program"]);
    command.arg(std::env::var_os("PUNCTUAL_AGENT").unwrap_or_else(|| sent().into()));
    let running = Running::start(command);
    for host in &names {
        let copied = || {
            let files = fleet.files(host, "/tmp");
            files.iter().any(|path| path.ends_with("/punctual"))
        };
        assert!(wait_until(copied), "{host}");
    }
    running.signal("INT");
    let answer = running.wait();
    assert_eq!(answer.code(), 1, "{answer:#?}");
    let stopped = hosts(&answer);
    assert_eq!(stopped.len(), names.len(), "{answer:#?}");
    for host in stopped.values() {
        assert_eq!(
            host["detail"], "stopped while the program was copied",
            "{host:#}"
        );
        let left = host["left"].as_array();
        assert!(left.is_none_or(Vec::is_empty), "{host:#}");
    }
    let left = |host: &&str| {
        let files = fleet.files(host, "/tmp");
        files.iter().any(|path| path.contains("punctual-fleet."))
    };
    assert!(wait_until(|| !names.iter().any(left)));
}
