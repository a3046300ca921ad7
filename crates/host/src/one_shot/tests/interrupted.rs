// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What is left by a program that was killed, and what files are beside their content.

use std::os::unix::fs::PermissionsExt as _;

use super::*;

fn mode(bench: &Bench, path: &str) -> u32 {
    let meta = fs::metadata(bench.sys.full(path)).unwrap();
    meta.permissions().mode() & 0o7777
}

#[test]
fn a_file_that_root_alone_reads_stays_one() {
    let bench = Bench::grub(&[]);
    bench.write(
        CUSTOM,
        b"password_pbkdf2 root grub.pbkdf2.sha512.10000.AB\n",
    );
    let secret = fs::Permissions::from_mode(0o600);
    fs::set_permissions(bench.sys.full(CUSTOM), secret).unwrap();
    bench.install().unwrap();
    assert_eq!(mode(&bench, CUSTOM), 0o600);
    assert!(bench.revert().is_complete());
    assert_eq!(mode(&bench, CUSTOM), 0o600);
}

#[test]
fn modules_are_copied_without_privileged_modes() {
    let bench = Bench::grub(&[]);
    let module = bench.outside("new/modules/kernel/drivers/x.ko");
    fs::set_permissions(&module, fs::Permissions::from_mode(0o4777)).unwrap();
    bench.install().unwrap();
    let path = format!("lib/modules/{CANDIDATE}/kernel/drivers/x.ko");
    assert_eq!(mode(&bench, &path), 0o755);
    assert!(bench.revert().is_complete());
}

#[test]
fn what_a_killed_program_left_half_written_is_known_for_ours() {
    let bench = Bench::grub(&[]);
    let before = bench.dump();
    bench.install().unwrap();
    // As it is when it is killed while it copies the image: the pieces before are there, all of it is kept.
    fs::remove_file(bench.sys.full("boot/punctual/initrd.img")).unwrap();
    fs::rename(
        bench.sys.full("boot/punctual/vmlinuz"),
        bench.sys.full("boot/punctual/vmlinuz.punctual-abc-1"),
    )
    .unwrap();
    fs::remove_file(bench.sys.full(CUSTOM)).unwrap();
    bench.write("boot/grub/custom.cfg.punctual-abc-1", b"menu");
    let modules = format!("lib/modules/{CANDIDATE}");
    fs::rename(
        bench.sys.full(&modules),
        bench.sys.full(&format!("{modules}.punctual-abc-1")),
    )
    .unwrap();
    let reverted = bench.revert();
    assert!(reverted.is_complete(), "{reverted:?}");
    assert_eq!(bench.dump(), before);
}

#[test]
fn a_piece_that_was_changed_since_the_plan_is_not_overwritten() {
    let bench = Bench::grub(&[]);
    let prepared = prepare(&bench.sys, &bench.wish());
    bench.write(CUSTOM, b"menuentry 'mine' { true }\n");
    let before = bench.dump();
    let err = install(&prepared, &bench.sys, &bench.state(), "now").unwrap_err();
    assert!(matches!(err, OneShotError::File(_)), "{err}");
    assert_eq!(bench.dump(), before);
    assert_eq!(installed(&bench.state()).unwrap(), None);
}

#[test]
fn what_cannot_be_taken_back_after_a_failure_is_kept_and_named() {
    let bench = Bench::grub(&[]);
    let mut prepared = prepare(&bench.sys, &bench.wish());
    let place = prepared
        .steps
        .iter()
        .position(|step| matches!(step, Step::Copy { to, .. } if to.ends_with("initrd.img")))
        .unwrap();
    // A program that leaves a file of its own in our directory, and fails.
    let program = bench.outside("fails");
    let theirs = bench.sys.full("boot/punctual/theirs");
    let script = format!("#!/bin/sh\ntouch '{}'\nexit 3\n", theirs.display());
    let text = bench.outside("fails.sh");
    fs::write(&text, script).unwrap();
    // By another process, so that no descriptor writes to it when it is run (ETXTBSY).
    let mut install_program = std::process::Command::new("install");
    install_program.arg("--mode=755").args([&text, &program]);
    assert!(install_program.status().unwrap().success());
    prepared.steps[place] = Step::Made {
        by: program,
        release: CANDIDATE.to_owned(),
        to: "/boot/punctual/initrd.img".to_owned(),
    };
    let err = install(&prepared, &bench.sys, &bench.state(), "now").unwrap_err();
    let left = matches!(&err, OneShotError::Left { paths, .. } if paths == "/boot/punctual");
    assert!(left, "{err:?}");
    assert!(installed(&bench.state()).unwrap().is_some());
    assert!(!bench.revert().is_complete());
    fs::remove_file(theirs).unwrap();
    assert!(bench.revert().is_complete());
    assert!(!bench.sys.exists("/boot/punctual"));
}
