// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Machines of files, which need no privilege.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{Answer, Home, finish};

/// A machine of files, and the program that works on it.
pub(crate) struct Tree {
    home: Home,
}

/// A desktop with two cores, four threads.
const FILES: &[(&str, &str)] = &[
    ("proc/sys/kernel/random/boot_id", "boot-1"),
    ("proc/sys/kernel/hostname", "desk"),
    ("proc/sys/kernel/osrelease", "6.12.1"),
    ("proc/uptime", "100.00 1.00"),
    ("proc/cpuinfo", "vendor_id : GenuineIntel"),
    ("proc/sys/kernel/sched_rt_runtime_us", "950000"),
    ("proc/sys/kernel/sched_rt_period_us", "1000000"),
    ("proc/sys/kernel/timer_migration", "1"),
    ("proc/sys/vm/swappiness", "60"),
    ("proc/sys/vm/stat_interval", "1"),
    ("proc/irq/24/smp_affinity", "f"),
    ("proc/irq/25/smp_affinity", "f"),
    ("sys/devices/system/cpu/online", "0-3"),
    ("sys/devices/system/cpu/cpu1/online", "1"),
    ("sys/devices/system/cpu/cpu2/online", "1"),
    ("sys/devices/system/cpu/cpu3/online", "1"),
    (
        "sys/devices/system/cpu/cpu0/topology/thread_siblings_list",
        "0,2",
    ),
    (
        "sys/devices/system/cpu/cpu1/topology/thread_siblings_list",
        "1,3",
    ),
    (
        "sys/devices/system/cpu/cpu2/topology/thread_siblings_list",
        "0,2",
    ),
    (
        "sys/devices/system/cpu/cpu3/topology/thread_siblings_list",
        "1,3",
    ),
    ("run/keep", ""),
];

impl Tree {
    /// Makes the machine.
    pub(crate) fn new() -> Self {
        let tree = Self { home: Home::new() };
        for (path, text) in FILES {
            tree.write(path, text);
        }
        tree
    }

    /// Returns where its files are.
    pub(crate) fn root(&self) -> PathBuf {
        self.home.dir().join("machine")
    }

    /// Returns the directory of the journal.
    pub(crate) fn state(&self) -> PathBuf {
        self.root().join("var/lib/punctual/tune")
    }

    /// Removes the machine-wide record, if there is one.
    pub(crate) fn lose_record(&self) {
        drop(fs::remove_dir_all(self.root().join("run/punctual")));
    }

    /// Writes a file, with a newline, as the kernel shows its own.
    pub(crate) fn write(&self, path: &str, text: &str) {
        let full = self.root().join(path);
        fs::create_dir_all(full.parent().unwrap()).unwrap();
        fs::write(full, format!("{text}\n")).unwrap();
    }

    /// Reads a file without its newline.
    pub(crate) fn read(&self, path: &str) -> String {
        let bytes = fs::read(self.root().join(path)).unwrap();
        String::from_utf8(bytes).unwrap().trim().to_owned()
    }

    /// Reads all settings: files of the machine that are not the journal's.
    pub(crate) fn dump(&self) -> BTreeMap<String, String> {
        let mut found = BTreeMap::new();
        for (path, _) in FILES {
            found.insert((*path).to_owned(), self.read(path));
        }
        found
    }

    /// Returns what a session that did not end has left, for the words of a failed test.
    pub(crate) fn left_behind(&self) -> String {
        let file = |name: &str| fs::read(self.state().join(name)).unwrap_or_default();
        let parts = ["journal", "journal.last", "lock"].map(|name| {
            let text = String::from_utf8_lossy(&file(name)).into_owned();
            format!("{name}:\n{text}\n")
        });
        format!("{}\nsettings: {:?}", parts.concat(), self.dump())
    }

    /// Returns a command of the program on this machine.
    pub(crate) fn command(&self, args: &str) -> Command {
        let mut command = self.home.command(["tune"]);
        command
            .args(args.split_whitespace())
            .arg("--root")
            .arg(self.root());
        command.env_remove("PUNCTUAL_TUNE_STATE");
        command
    }

    /// Runs the program on this machine.
    pub(crate) fn tune(&self, args: &str) -> Answer {
        finish(self.command(args))
    }

    /// Runs a command in the tuned machine.
    pub(crate) fn run(&self, options: &str, script: &str) -> Command {
        let mut command = self.home.command(["tune", "run"]);
        command
            .args(options.split_whitespace())
            .arg("--root")
            .arg(self.root())
            .args(["--", "sh", "-c", script])
            .current_dir(self.root());
        command
    }

    /// Writes a profile, and returns its path.
    pub(crate) fn profile(&self, text: &str) -> PathBuf {
        let path = self.home.dir().join("profile.toml");
        let head = "format = \"punctual.profile/1\"\nname = \"mine\"\n";
        fs::write(&path, format!("{head}{text}")).unwrap();
        path
    }

    /// Returns a path as an option has it.
    pub(crate) fn shown(path: &Path) -> String {
        path.to_str().unwrap().to_owned()
    }
}

#[test]
fn a_test_that_has_the_machine_to_itself_may_have_files_too() {
    let alone = Home::alone();
    let tree = Tree::new();
    drop(alone);
    drop(tree);
    // The other way round it would wait for itself: that is an error.
    let beside = Home::new();
    let waits = std::panic::catch_unwind(Home::alone);
    drop(beside);
    let said = waits.err().unwrap();
    let said = said.downcast_ref::<&str>().unwrap();
    assert!(said.contains("cannot run alone any more"), "{said}");
}
