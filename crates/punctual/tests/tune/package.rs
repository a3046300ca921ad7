// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What removing the package of Debian does on a machine of files. `make dist-check` removes a real one.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output};

use crate::boot::{DROP_IN, grub};
use crate::tree::Tree;

/// A machine on which the program is installed.
fn installed() -> Tree {
    let tree = grub();
    let bin = tree.root().join("usr/bin");
    fs::create_dir_all(&bin).unwrap();
    symlink(env!("CARGO_BIN_EXE_punctual"), bin.join("punctual")).unwrap();
    tree
}

/// Runs a script of the package as dpkg does for a tree of files; returns whether it succeeded, and what it said.
fn script(tree: &Tree, name: &str, action: &str) -> (bool, String) {
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/debian");
    let Output {
        status,
        stdout,
        stderr,
    } = Command::new("sh")
        .arg(scripts.join(name))
        .arg(action)
        .env("DPKG_ROOT", tree.root())
        .env("DPKG_MAINTSCRIPT_PACKAGE", "punctual")
        .output()
        .unwrap();
    let said = String::from_utf8([stdout, stderr].concat()).unwrap();
    (status.success(), said)
}

#[test]
fn removing_the_package_takes_kernel_arguments_away_and_says_what_remains_to_be_done() {
    let tree = installed();
    assert_eq!(script(&tree, "prerm", "remove"), (true, String::new()));
    let swappiness = tree.read("proc/sys/vm/swappiness");
    tree.tune("apply --set vm.swappiness=3 --yes").fine();
    tree.tune("boot apply --cpus 3 --yes").fine();
    assert_eq!(script(&tree, "prerm", "upgrade"), (true, String::new()));
    assert!(tree.root().join(DROP_IN).exists());
    let (removed, said) = script(&tree, "prerm", "remove");
    assert!(
        removed && said.contains("update-grub, then reboot"),
        "{said}"
    );
    assert!(!tree.root().join(DROP_IN).exists());
    assert_eq!(tree.read("proc/sys/vm/swappiness"), swappiness);
    assert_eq!(script(&tree, "postrm", "remove"), (true, String::new()));
    assert!(tree.state().exists());
    assert_eq!(script(&tree, "postrm", "purge"), (true, String::new()));
    assert!(!tree.root().join("var/lib/punctual").exists());
}

#[test]
fn the_package_stays_where_only_the_program_can_take_something_back() {
    let tree = installed();
    tree.tune("boot apply --cpus 3 --yes").fine();
    for (record, part) in [
        ("kernel-6.1.0-rt.json", "'punctual kernel uninstall'"),
        ("one-shot.json", "'punctual kernel install-once --revert'"),
    ] {
        let record = tree.state().join(record);
        fs::write(&record, "{}").unwrap();
        let (removed, said) = script(&tree, "prerm", "remove");
        assert!(!removed && said.contains(part), "{said}");
        // Nothing else was taken back before.
        assert!(tree.root().join(DROP_IN).exists());
        fs::remove_file(record).unwrap();
    }
    tree.write(DROP_IN, "# mine now");
    let (removed, said) = script(&tree, "prerm", "remove");
    assert!(!removed, "{said}");
    for part in [
        "LEFT ALONE",
        "punctual: not removed: 'punctual tune boot revert --yes' could not restore everything",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    // Whoever removes it by force does not lose what undoes the change.
    tree.write("var/lib/punctual/runs/some", "");
    let (purged, said) = script(&tree, "postrm", "purge");
    assert!(
        purged && said.ends_with("still in place: boot.json\n"),
        "{said}"
    );
    assert!(tree.state().join("boot.json").exists());
    assert!(!tree.root().join("var/lib/punctual/runs").exists());
}
