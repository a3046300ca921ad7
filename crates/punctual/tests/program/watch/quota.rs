// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The CPU time that a control group has.

use std::fs;
use std::path::{Path, PathBuf};

use super::seen;
use crate::common::{Home, machine};

/// A group of processes that may use a twentieth of a CPU, and gets it before others do: on a busy machine it would not use its quota up.
/// Gone when this is dropped.
struct Group(PathBuf);

impl Group {
    fn make() -> Option<Self> {
        let name = format!("punctual-test-{}", std::process::id());
        let (v1, v2) = (Path::new("/sys/fs/cgroup/cpu"), Path::new("/sys/fs/cgroup"));
        if v1.join("cpu.cfs_quota_us").exists() || v1.join("cgroup.procs").exists() {
            let group = Self(v1.join(name));
            fs::create_dir(&group.0).ok()?;
            fs::write(group.0.join("cpu.cfs_quota_us"), "5000").ok()?;
            fs::write(group.0.join("cpu.shares"), "262144").ok()?;
            return Some(group);
        }
        let group = Self(v2.join(name));
        fs::create_dir(&group.0).ok()?;
        fs::write(group.0.join("cpu.max"), "5000 100000").ok()?;
        fs::write(group.0.join("cpu.weight"), "10000").ok()?;
        Some(group)
    }

    /// How often the kernel has stopped the group because its quota was used up.
    fn stopped(&self) -> u64 {
        let stat = machine::read(&self.0.join("cpu.stat")).unwrap();
        let count = stat
            .lines()
            .find_map(|line| line.strip_prefix("nr_throttled "));
        count.unwrap().parse().unwrap()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        for _ in 0..100 {
            if fs::remove_dir(&self.0).is_ok() {
                return;
            }
            // Whoever was in it is going still.
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
}

#[test]
fn the_quota_of_its_group_is_named() {
    if !machine::root() {
        return machine::skip("watch", "tracing needs root");
    }
    let home = Home::alone();
    let Some(group) = Group::make() else {
        return machine::skip("cpu quota", "no group with a CPU quota can be made");
    };
    let mut command = home.command("watch --quiet --json --".split(' '));
    let enter = format!(
        "echo $$ >{}/cgroup.procs; exec \"$0\" \"$@\"",
        group.0.display()
    );
    command.args(["sh", "-c", &enter]);
    let seen = seen(command, "cpu-quota", 500);
    let habits = seen.record["watched"]["habits"].as_array().unwrap();
    let quota = habits.iter().find(|h| h["rule"]["id"] == "cpu-quota");
    if group.stopped() == 0 {
        // Where others leave it less than its quota, there is nothing to name.
        assert_eq!(quota, None);
        return;
    }
    if quota.is_none() && seen.record["watched"]["set_up_unjudged"] == 1 {
        // On a busy machine the loop may end before it is looked at how it is set up, and that is said.
        return;
    }
    let quota = quota.unwrap_or_else(|| panic!("stopped {} times: {habits:#?}", group.stopped()));
    assert!(seen.thread["late"]["count"].as_u64().unwrap() > 0);
    let path = quota["evidence"][0]["path"].as_str().unwrap();
    assert!(path.contains("punctual-test-"), "{path}");
    // While the group may not run, others may: where they did, the kernel does not tell why the loop did not.
    let is = |kind: &'static str| move |c: &&serde_json::Value| c["kind"] == kind;
    let culprits = || seen.culprits().iter();
    let others = culprits().filter(is("task")).filter(|c| c["name"] != "hog");
    assert!(
        others.count() > 0 || culprits().any(|c| c["kind"] == "throttling"),
        "{:#?}",
        seen.culprits()
    );
}
