// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `--deepest-idle-state`: what it switches off is on again, however the run ends.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::common::{Home, machine, wait_until};
use super::{command, link, ours};

/// Every state of every CPU: file and value.
type States = BTreeMap<PathBuf, String>;

fn states() -> States {
    let cpus = std::fs::read_dir("/sys/devices/system/cpu").unwrap();
    let mut all = States::new();
    for cpu in cpus {
        let dir = cpu.unwrap().path().join("cpuidle");
        for state in std::fs::read_dir(dir).into_iter().flatten() {
            let file = state.unwrap().path().join("disable");
            if let Some(value) = machine::read(&file) {
                all.insert(file, value.trim().to_owned());
            }
        }
    }
    all
}

/// The states of a machine, which are as they were when this is dropped, also by a failed test.
struct Found(States);

impl Found {
    /// Finds the states of a machine that has some to switch off.
    fn on_this_machine() -> Option<Self> {
        let states = states();
        let many = states
            .keys()
            .any(|file| file.to_string_lossy().contains("state1/"));
        if !many {
            machine::skip("cpuidle", "the kernel has no idle states to switch off");
        }
        (machine::root() && many).then_some(Self(states))
    }

    /// Waits until the states are `expected`.
    fn becomes(&self, what: &str, expected: impl Fn(&States) -> bool) {
        let there = wait_until(|| expected(&states()));
        assert!(there, "{what}: {:#?}, was {:#?}", states(), self.0);
    }
}

impl Drop for Found {
    fn drop(&mut self) {
        for (file, value) in &self.0 {
            drop(std::fs::write(file, value));
        }
    }
}

/// Whether the states with a number from `from` of the CPUs that `of` takes are off.
fn off(states: &States, from: u32, of: impl Fn(&str) -> bool) -> bool {
    states.iter().all(|(file, value)| {
        let text = file.to_string_lossy().into_owned();
        let number = |part: &str| {
            text.split(part)
                .nth(1)
                .unwrap()
                .split('/')
                .next()
                .unwrap()
                .to_owned()
        };
        let deeper = number("/state").parse::<u32>().unwrap() >= from;
        !deeper || !of(&number("/cpu/cpu")) || value == "1"
    })
}

fn start(home: &Home, line: &str) -> Child {
    let args: Vec<&str> = line.split_whitespace().collect();
    let mut command = command(home, &link(home), &args);
    command.stdout(Stdio::null()).spawn().unwrap()
}

fn signal(pid: u32, name: &str) {
    let status = Command::new("kill").args([name, &pid.to_string()]).status();
    assert!(status.unwrap().success());
}

/// Returns the process that `parent` started.
fn child_of(parent: u32) -> u32 {
    let is_child = |pid: &u32| {
        let stat = machine::read(Path::new(&format!("/proc/{pid}/stat"))).unwrap_or_default();
        // The parent is the second field behind the name, which may hold blanks (proc(5)).
        let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        rest.split_whitespace().nth(1) == Some(&parent.to_string())
    };
    let entries = std::fs::read_dir("/proc").unwrap();
    let pid =
        |entry: std::io::Result<std::fs::DirEntry>| entry.ok()?.file_name().to_str()?.parse().ok();
    entries.filter_map(pid).find(is_child).unwrap()
}

#[test]
fn idle_states_are_on_again_however_the_run_ends() {
    let home = Home::alone();
    let Some(found) = Found::on_this_machine() else {
        return;
    };
    for ends in machine::ends().iter().copied().chain(["KILL"]) {
        let mut child = start(&home, "-q -p 80 -D 10800 --deepest-idle-state=0");
        found.becomes("off", |states| off(states, 1, |_| true));
        if ends == "KILL" {
            // Whoever is left to do it does not mind being asked to end.
            signal(child_of(child.id()), "-TERM");
        }
        signal(child.id(), &format!("-{ends}"));
        let status = child.wait().unwrap();
        assert_eq!(status.success(), ends != "KILL", "{ends}");
        found.becomes(ends, |states| *states == found.0);
    }
    // By itself, and then nothing has to be waited for.
    ours(&home, "-q -p 80 -l 20 --deepest-idle-state=-1").fine();
    assert_eq!(states(), found.0);
}

#[test]
fn only_the_cpus_in_use_are_changed_and_what_was_off_stays_off() {
    let home = Home::alone();
    let Some(found) = Found::on_this_machine() else {
        return;
    };
    let odd = found
        .0
        .keys()
        .find(|file| file.ends_with("cpu0/cpuidle/state1/disable"));
    let odd = odd.unwrap().clone();
    std::fs::write(&odd, "1").unwrap();
    let mut before = found.0.clone();
    before.insert(odd, "1".to_owned());
    let mut child = start(&home, "-q -p 80 -a 0 -D 10800 --deepest-idle-state=-1");
    found.becomes("off", |states| off(states, 0, |cpu| cpu == "0"));
    let others = |states: &States| -> States {
        let other = |file: &PathBuf| !file.starts_with("/sys/devices/system/cpu/cpu0");
        states
            .clone()
            .into_iter()
            .filter(|(file, _)| other(file))
            .collect()
    };
    assert_eq!(others(&states()), others(&before));
    signal(child.id(), "-INT");
    child.wait().unwrap();
    assert_eq!(states(), before);
}

#[test]
fn dma_latency_is_not_held_beside_it() {
    let home = Home::new();
    if machine::root() {
        let answer = ours(&home, "-q -p 80 -l 20 --deepest-idle-state=9");
        assert!(answer.fine().stdout.starts_with("T: 0 "), "{answer:#?}");
    }
}
