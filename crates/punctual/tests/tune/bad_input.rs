// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Wrong options and profiles: one error that says where, what and what instead.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::common::{finish, machine};
use crate::tree::Tree;

#[test]
fn a_wrong_option_is_named_with_what_was_expected() {
    let tree = Tree::new();
    for (args, parts) in [
        (
            "plan nosuch",
            ["there is no profile nosuch", "built in: latency"],
        ),
        (
            "plan --set vm.swapiness=1",
            ["--set vm.swapiness=1", "did you mean `vm.swappiness`"],
        ),
        (
            "plan --set vm.swappiness=x",
            ["--set vm.swappiness=x", "a whole number"],
        ),
        (
            "plan --set vm.swappiness",
            ["--set vm.swappiness", "expected KNOB=VALUE"],
        ),
        (
            "plan latency --only nosuch",
            ["--only nosuch", "no knob of profile latency"],
        ),
        ("plan isolate", ["needs to know the CPUs", "--isolate"]),
        (
            "plan --isolate 0-3",
            ["no CPU is left", "leave at least one"],
        ),
        ("plan --isolate 9", ["CPUs 9 are not online", "0-3"]),
        ("knobs nosuch", ["nosuch: no such knob", "tune knobs"]),
        ("apply --for 0", ["--for 0", "must be above 0"]),
    ] {
        tree.tune(args).error(2, &parts);
    }
    assert!(!tree.state().exists());
}

#[test]
fn a_wrong_profile_is_named_with_its_line_and_key() {
    let tree = Tree::new();
    for (text, parts) in [
        (
            "[knobs]\nvm.swapiness = 1\n",
            ["profile.toml, line 4, `vm.swapiness`", "did you mean"],
        ),
        (
            "[knobs]\nvm.swappiness = []\n",
            ["line 4, `vm.swappiness`", "expected a string"],
        ),
        ("colour = 1\n", ["line 3, `colour`", "unknown key"]),
        (
            "[boot]\nisolcpus = \"$(reboot)\"\n",
            ["line 4, `isolcpus`", "without blanks, quotes"],
        ),
        (
            "base = \"nosuch\"\n",
            ["there is no profile nosuch", "there is no"],
        ),
        ("x", ["profile.toml, line 3", "Error: "]),
    ] {
        let path = tree.profile(text);
        let args = format!("plan {}", Tree::shown(&path));
        tree.tune(&args).error(2, &parts);
    }
    let missing = tree.root().join("none.toml");
    let args = format!("plan {}", Tree::shown(&missing));
    tree.tune(&args).error(1, &["read profile", "No such file"]);
    let args = format!("plan {}", Tree::shown(&tree.root().join("proc/sys/")));
    tree.tune(&args).error(1, &["not a regular file"]);
}

#[test]
fn a_profile_that_is_too_long_is_not_applied_in_part() {
    let tree = Tree::new();
    let line = format!("#{}\n", "x".repeat(62));
    let longest = line.repeat((1 << 20) / line.len());
    let path = tree.profile(&format!("{longest}[knobs]\nvm.swappiness = 5\n"));
    for verb in ["plan", "apply"] {
        tree.tune(&format!("{verb} {}", Tree::shown(&path)))
            .error(1, &["profile.toml", "larger than 1 MiB"]);
    }
    assert!(!tree.state().exists());
}

#[test]
fn a_profile_that_is_its_own_base_ends() {
    let tree = Tree::new();
    let path = tree.profile("");
    let own = format!("base = \"{}\"\n", Tree::shown(&path));
    let path = tree.profile(&own);
    let args = format!("plan {}", Tree::shown(&path));
    tree.tune(&args)
        .error(2, &["nested base profiles"])
        .hinted();
}

#[test]
fn root_does_not_obey_a_profile_that_everybody_may_write() {
    if !machine::root() {
        return;
    }
    let tree = Tree::new();
    let path = tree.profile("[knobs]\nvm.swappiness = 5\n");
    let args = format!("plan {}", Tree::shown(&path));
    let mode = |path: &Path, bits| {
        fs::set_permissions(path, fs::Permissions::from_mode(bits)).unwrap();
    };
    // The group counts too.
    for bits in [0o666, 0o664] {
        mode(&path, bits);
        tree.tune(&args)
            .error(1, &["as root", "others may write to it"])
            .hinted();
    }
    mode(&path, 0o644);
    tree.tune(&args).fine();
    let above = path.parent().unwrap();
    for (bits, safe) in [
        (0o777, false),
        (0o775, false),
        (0o1777, true),
        (0o755, true),
    ] {
        mode(above, bits);
        let answer = tree.tune(&args);
        if safe {
            answer.fine();
        } else {
            answer
                .error(1, &["as root", "others may rename what is in it"])
                .hinted();
        }
    }
    // A directory further up will do as well, and so will an owner who is neither root nor the caller.
    let inner = above.join("inner/most");
    fs::create_dir_all(&inner).unwrap();
    let deep = inner.join("profile.toml");
    fs::copy(&path, &deep).unwrap();
    mode(&deep, 0o644);
    let args = format!("plan {}", Tree::shown(&deep));
    tree.tune(&args).fine();
    mode(&above.join("inner"), 0o777);
    tree.tune(&args).error(1, &["others may rename"]);
    mode(&above.join("inner"), 0o755);
    std::os::unix::fs::chown(&deep, Some(65_534), None).unwrap();
    tree.tune(&args)
        .error(1, &["belongs to another user"])
        .hinted();
    let mut command = tree.command(&args);
    command.env("SUDO_UID", "65534");
    finish(command).fine();
}

#[test]
fn a_journal_that_others_could_change_is_not_obeyed() {
    let tree = Tree::new();
    tree.tune("apply --set vm.swappiness=10").fine();
    fs::set_permissions(tree.state(), fs::Permissions::from_mode(0o777)).unwrap();
    tree.tune("revert")
        .error(1, &["is not safe", "mode must be 700"]);
    tree.tune("status").error(1, &["is not safe"]);
    fs::set_permissions(tree.state(), fs::Permissions::from_mode(0o700)).unwrap();
    let journal = tree.state().join("journal");
    let elsewhere = tree.root().join("elsewhere");
    fs::rename(&journal, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &journal).unwrap();
    // The machine-wide record alone would do, and the link is not read then either.
    tree.lose_record();
    tree.tune("revert").error(1, &["journal"]);
    assert_eq!(tree.read("proc/sys/vm/swappiness"), "10");
}

#[test]
fn a_link_out_of_a_captured_machine_is_not_followed() {
    let tree = Tree::new();
    let elsewhere = tree.root().join("../elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let victim = elsewhere.join("victim");
    fs::write(&victim, "60\n").unwrap();
    let knob = tree.root().join("proc/sys/vm/swappiness");
    fs::remove_file(&knob).unwrap();
    std::os::unix::fs::symlink(&victim, &knob).unwrap();
    let answer = tree.tune("apply --set vm.swappiness=10 --set vm.stat_interval=5");
    assert_eq!(answer.code(), 1, "{answer:?}");
    assert!(
        answer.stdout.contains("1 as wanted"),
        "the other one is: {answer:?}"
    );
    let plan = tree.tune("plan --set vm.swappiness=10");
    assert!(
        plan.stdout.contains("leads out of the captured tree"),
        "{plan:?}"
    );
    tree.tune("revert").fine();
    assert_eq!(fs::read(&victim).unwrap(), b"60\n");
    // Nor a directory of the boot loader's files.
    tree.write("etc/default/grub", "");
    std::os::unix::fs::symlink(&elsewhere, tree.root().join("etc/default/grub.d")).unwrap();
    tree.tune("boot apply isolate --cpus 1 --yes")
        .error(1, &["leads out of the captured tree"]);
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 1);
}

#[test]
fn what_this_machine_has_not_is_said_with_status_5() {
    let tree = Tree::new();
    let answer = tree.tune("apply --set thp.enabled=never");
    assert_eq!(answer.code(), 5, "{answer:?}");
    assert!(
        answer
            .stdout
            .contains("this kernel or hardware does not have it"),
        "{answer:?}"
    );
}
