// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Kernel arguments on a machine of files.

use std::fs;
use std::process::Stdio;

use crate::common::finish;
use crate::files::assert_valid;
use crate::tree::Tree;

pub(crate) const DROP_IN: &str = "etc/default/grub.d/99-punctual.cfg";

/// A machine that GRUB starts, with one of the wanted arguments.
pub(crate) fn grub() -> Tree {
    let tree = Tree::new();
    tree.write("proc/cmdline", "root=/dev/sda1 quiet threadirqs");
    tree.write("boot/config-6.12.1", "CONFIG_CPU_ISOLATION=y");
    tree.write("etc/default/grub", "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet\"");
    tree.write("etc/default/grub.d/keep.cfg", "# empty");
    tree
}

#[test]
fn a_plan_of_kernel_arguments_changes_nothing_and_says_what_this_kernel_heeds() {
    let tree = grub();
    let text = tree.tune("boot plan --cpus 3").fine().stdout.clone();
    for part in [
        "isolcpus=managed_irq,domain,3",
        "irqaffinity=0-2",
        "ignores nohz_full=3 ",
        "given",
        "/etc/default/grub.d/99-punctual.cfg would be made:",
        "Then      update-grub",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let plan = tree.tune("boot plan --cpus 3 --json").fine().json();
    assert_valid("boot-plan.schema.json", &plan);
    assert_eq!(plan["loader"], "grub_drop_in");
    let unheeded = |name: &str| {
        let all = plan["arguments"].as_array().unwrap().iter();
        let of = |a: &&serde_json::Value| a["word"].as_str().unwrap().starts_with(name);
        let argument = all.clone().find(of).unwrap();
        argument["unheeded"].as_str().map(str::to_owned)
    };
    assert!(unheeded("nohz_full").unwrap().contains("CONFIG_NO_HZ_FULL"));
    assert_eq!(unheeded("isolcpus"), None);
    assert!(!tree.root().join(DROP_IN).exists() && !tree.state().exists());
    tree.tune("boot plan").error(2, &["CPUs"]).hinted();
    tree.tune("boot plan --cpus 0-3").error(2, &[]).hinted();
}

#[test]
fn the_boot_loader_is_not_touched_without_being_asked() {
    let tree = grub();
    let mut command = tree.command("boot apply --cpus 3");
    command.stdin(Stdio::null());
    finish(command)
        .error(1, &["no terminal to ask on"])
        .hinted();
    assert!(!tree.root().join(DROP_IN).exists());
    tree.tune("boot apply --cpus 3 --yes").fine();
    let written = tree.read(DROP_IN);
    assert!(
        written.contains("$GRUB_CMDLINE_LINUX_DEFAULT isolcpus=managed_irq,domain,3 "),
        "{written}"
    );
    // Nor a second time, nor taken away unasked.
    tree.tune("boot apply --cpus 2-3 --yes")
        .error(1, &["already in place"])
        .hinted();
    let mut command = tree.command("boot revert");
    command.stdin(Stdio::null());
    finish(command).error(1, &["no terminal"]);
    assert_eq!(tree.read(DROP_IN), written);
    tree.tune("boot revert --yes").fine();
    assert!(!tree.root().join(DROP_IN).exists());
    let again = tree.tune("boot revert --yes").fine().stdout.clone();
    assert!(again.contains("Nothing to revert"), "{again}");
}

#[test]
fn a_boot_file_that_someone_changed_is_left_alone() {
    let tree = grub();
    tree.tune("boot apply --cpus 3 --yes").fine();
    tree.write(DROP_IN, "# mine now");
    let answer = tree.tune("boot revert --yes");
    assert_eq!(answer.code(), 4, "{answer:?}");
    assert!(answer.stdout.contains("LEFT ALONE"), "{answer:?}");
    assert_eq!(tree.read(DROP_IN), "# mine now");
    // What undoes the change is kept, until the file is gone or as it was.
    tree.tune("boot apply --cpus 3 --yes")
        .error(1, &["already in place"])
        .hinted();
    fs::remove_file(tree.root().join(DROP_IN)).unwrap();
    tree.tune("boot revert --yes").fine();
    // One that nobody of us made is no more touched.
    tree.write(DROP_IN, "# mine now");
    tree.tune("boot apply --cpus 3 --yes")
        .error(1, &["exists, but"])
        .hinted();
    assert_eq!(tree.read(DROP_IN), "# mine now");
}

#[test]
fn without_a_boot_loader_the_arguments_are_printed_and_the_status_says_so() {
    let tree = Tree::new();
    tree.write("proc/cmdline", "quiet");
    let answer = tree.tune("boot apply --cpus 3 --yes");
    assert_eq!(answer.code(), 5, "{answer:?}");
    assert!(answer.stdout.contains("found no boot loader"));
    assert!(answer.stdout.contains("isolcpus=managed_irq,domain,3"));
    assert!(!tree.state().exists());
}
