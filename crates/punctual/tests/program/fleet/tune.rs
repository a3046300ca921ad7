// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Tuning of hosts: applied, verified and reverted by plays of their own, with a reboot in between.

use std::fs;

use serde_json::{Value, json};

use super::{Fleet, hosts, sent};
use crate::common::{Answer, Home, finish, machine};

const KNOB: &str = "/proc/sys/vm/stat_interval";

#[test]
fn tuning_is_applied_once_and_reverted_also_after_a_reboot() {
    let Some(fleet) = Fleet::new(Home::aside(), &["a"]) else {
        return;
    };
    fleet.has_program();
    // The host has this setting to itself, so that nobody else's is changed for the minutes that the plays take.
    let setting = fleet.inventory().with_file_name("setting");
    fs::write(&setting, "1\n").unwrap();
    fleet.on("a", &format!("mount --bind /mnt/setting {KNOB}"));
    let knob = || machine::read(&setting).unwrap().trim().to_owned();
    let (before, wanted) = ("1", "7");
    let set = format!("--set=vm.stat_interval={wanted}");
    let tune = |args: &[&str]| fleet.run("tune", args);
    let host = |answer: &Answer| -> Value { hosts(answer)["a"].clone() };
    assert_eq!(host(tune(&["--", "apply", &set]).fine())["changed"], true);
    assert_eq!(knob(), wanted);
    let again = host(tune(&["--installed", "--", "apply", &set]).fine());
    assert_eq!(again["changed"], false, "{again:#}");
    // Only the undo record stays.
    let left = fleet.script("left", &["a"]);
    assert!(
        left.lines().all(|line| line.contains("/punctual")),
        "{left}"
    );
    assert!(!left.contains("punctual-fleet"), "{left}");
    assert_eq!(
        host(tune(&["--installed", "--", "revert"]).fine())["changed"],
        true
    );
    assert_eq!(knob(), before);

    // What could not be set is in the answer alone.
    let fixed = fleet.inventory().with_file_name("fixed");
    fs::write(&fixed, "1\n").unwrap();
    let swappiness = "/proc/sys/vm/swappiness";
    fleet.on(
        "a",
        &format!("mount --bind /mnt/fixed {swappiness}; mount -o remount,ro,bind {swappiness}"),
    );
    let in_part = tune(&["--installed", "--", "apply", &set, "--set=vm.swappiness=3"]);
    assert_eq!(in_part.code(), 1, "{in_part:#?}");
    let in_part = host(&in_part);
    assert_eq!(
        (&in_part["state"], &in_part["changed"]),
        (&"failed".into(), &true.into())
    );
    let why = in_part["detail"].as_str().unwrap();
    assert!(
        why.contains("vm.swappiness could not be set"),
        "{in_part:#}"
    );
    tune(&["--installed", "--", "revert"]).fine();
    fleet.on("a", &format!("umount {swappiness}"));
    assert_eq!(knob(), before);

    // The same by the role, in plays of a site's own.
    let collections = fleet.home.dir().join("collections");
    let written = fleet
        .home
        .run(["fleet", "collection", collections.to_str().unwrap()]);
    let place = written.fine().stdout.trim().to_owned();
    let fetch = fleet.home.dir().join("answers");
    // So is the limit that a process holds.
    let mut arguments = vec![set.as_str()];
    if machine::dma_latency().is_some() {
        fleet.on(
            "a",
            ": >/mnt/latency; mount --bind /mnt/latency /dev/cpu_dma_latency",
        );
        arguments.push("--set=dma_latency=0us");
    }
    let site = fleet.home.dir().join("site.yml");
    // Plays one after the other: states, and whether the program is copied for that.
    let play = |states: &[(&str, bool)], check: bool| {
        let plays = states.iter().map(|(state, copied)| {
            if *state == "seen" {
                // What the setting is between two of them.
                let look = json!({ "ansible.builtin.raw": format!("cat {KNOB} >/mnt/seen") });
                return json!({ "hosts": "all", "gather_facts": false, "tasks": [look] });
            }
            let mut variables = json!({
                "fleet_become": false,
                "tune_state": state,
                "tune_arguments": arguments,
            });
            match copied {
                true => {
                    variables["program_files"] = json!({ std::env::consts::ARCH: sent() });
                }
                false => variables["program_installed"] = true.into(),
            }
            if check {
                // One need not be a list.
                variables["tune_arguments"] = set.as_str().into();
            }
            if *state == "verified" {
                variables["tune_fetch"] = fetch.to_str().unwrap().into();
            }
            json!({
                "import_playbook": format!("{place}/playbooks/tune.yml"),
                "vars": variables,
            })
        });
        let plays: Value = plays.collect();
        fs::write(&site, plays.to_string()).unwrap();
        let mut command = fleet.enter(["ansible-playbook", "--inventory"]);
        command
            .arg(fleet.inventory())
            .args(check.then_some("--check"))
            .arg(&site)
            .env("ANSIBLE_COLLECTIONS_PATH", &collections);
        finish(command)
    };
    play(&[("applied", true)], true).fine();
    assert_eq!(knob(), before);
    // Of two, the second one changes nothing.
    let applied = play(&[("applied", true), ("applied", false)], false);
    let said = &applied.fine().stdout;
    assert!(said.contains("changed=1 "), "{applied:#?}");
    assert_eq!(knob(), wanted);
    // What another program has set since is not in effect.
    fs::write(&setting, "3\n").unwrap();
    for (state, why) in [
        ("verified", "reads 3 now, not 7"),
        ("applied", "not as wanted now: vm.stat_interval"),
    ] {
        let other = play(&[(state, false)], false);
        assert_ne!(other.code(), 0, "{other:#?}");
        assert!(other.stdout.contains(why), "{other:#?}");
    }
    // A reboot undoes settings and empties /run; the journal stays.
    fs::write(&setting, "1\n").unwrap();
    fleet.on(
        "a",
        "rm -rf /run/punctual; echo 11111111-2222-4333-8444-555555555555 >/run/boot
         mount --bind /run/boot /proc/sys/kernel/random/boot_id",
    );
    let lost = play(&[("verified", false)], false);
    assert_ne!(lost.code(), 0, "{lost:#?}");
    assert!(lost.stdout.contains("rebooted"), "{lost:#?}");
    let seen = setting.with_file_name("seen");
    play(
        &[
            ("applied", false),
            ("verified", false),
            ("seen", false),
            ("reverted", false),
        ],
        false,
    )
    .fine();
    assert_eq!(machine::read(&seen).unwrap().trim(), wanted);
    assert_eq!(knob(), before);
}

#[test]
fn five_hosts_are_tuned_and_reverted_while_one_is_away_and_one_refuses() {
    const TUNED: [&str; 5] = ["a", "b", "c", "d", "e"];
    let all = [&TUNED[..], &["user:user"]].concat();
    let Some(fleet) = Fleet::new(Home::aside(), &all) else {
        return;
    };
    fleet.has_program();
    // Nobody listens there, which is said at once.
    fleet.add("away ansible_host=10.231.255.1");
    let machine_itself = || machine::read(KNOB.as_ref()).unwrap();
    // Each host has this setting to itself, and another value of it.
    let file = |host: &str| fleet.inventory().with_file_name(format!("setting-{host}"));
    let before = |at: usize| (at + 1).to_string();
    for (at, host) in TUNED.into_iter().enumerate() {
        fs::write(file(host), before(at)).unwrap();
        fleet.on(host, &format!("mount --bind /mnt/setting-{host} {KNOB}"));
    }
    let now = || TUNED.map(|host| machine::read(&file(host)).unwrap().trim().to_owned());
    let untouched: [String; 5] = std::array::from_fn(before);
    let wanted: [String; 5] = std::array::from_fn(|_| "77".to_owned());
    // The two that cannot do it are lines of every result; returns those of the five that can.
    let tune = |args: &[&str]| -> Vec<Value> {
        let mut command = fleet.command("tune", &[&["--installed", "--"][..], args].concat());
        // All seven log in at the same time, on whatever CPUs there are.
        command.env("ANSIBLE_TIMEOUT", "60");
        let answer = finish(command);
        assert_eq!(answer.code(), 1, "{answer:#?}");
        let mut all = hosts(&answer);
        assert_eq!(all.len(), TUNED.len() + 2, "{answer:#?}");
        assert_eq!(all["away"]["state"], "unreachable", "{answer:#?}");
        let user = &all["user"];
        assert!(
            args == ["status"] || user["state"] == "no_privilege",
            "{user:#}"
        );
        assert_eq!(user["changed"], false, "{user:#}");
        // Whoever tunes it meanwhile wants another value.
        assert_ne!(machine_itself().trim(), "77");
        let of = |host| all.remove(host).unwrap();
        let five: Vec<Value> = TUNED.into_iter().map(of).collect();
        for host in &five {
            assert_eq!(host["state"], "done", "{host:#}");
        }
        five
    };
    let changed = |five: &[Value]| five.iter().filter(|host| host["changed"] == true).count();
    let complete = |five: &[Value]| -> Vec<bool> {
        let each = five.iter().map(|host| &host["answer"]["complete"]);
        each.map(|complete| complete.as_bool().unwrap()).collect()
    };
    let apply = ["apply", "--set=vm.stat_interval=77"];
    assert_eq!(changed(&tune(&apply)), 5);
    assert_eq!(now(), wanted);
    // What somebody else changes on one host is seen there, and only there.
    fs::write(file("c"), "5\n").unwrap();
    let looked = tune(&["status"]);
    assert_eq!(complete(&looked), [true, true, false, true, true]);
    let said = looked[2]["detail"].as_str().unwrap();
    assert!(
        said.contains("vm.stat_interval reads 5 now, not 77"),
        "{said}"
    );
    fs::write(file("c"), "77\n").unwrap();
    assert_eq!(changed(&tune(&["revert"])), 5);
    assert_eq!(now(), untouched);
    assert_eq!(changed(&tune(&["revert"])), 0);
    assert_eq!(now(), untouched);
    assert!(
        tune(&["status"])
            .iter()
            .all(|host| host["answer"]["session"].is_null())
    );
    // Nothing of a host is mounted on the machine.
    let mounts = machine::read("/proc/self/mountinfo".as_ref()).unwrap();
    assert!(!mounts.contains("setting-"), "{mounts}");
    for host in TUNED {
        let left = fleet.script("left", &[host]);
        assert!(!left.contains("punctual-fleet"), "left on {host}: {left}");
    }
    assert_eq!(fleet.script("left", &["user"]), "");
}
