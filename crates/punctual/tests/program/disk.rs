// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Disks that are full, read-only or forbidden: one clear error, and nothing half-written.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::common::machine::{self, Tmpfs};
use crate::common::{Home, QUICK, assert_sound, wait_until};

/// Returns what is in the directory of the runs.
fn runs(store: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(store.join("runs"))
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_full_disk_is_an_error_before_the_measurement_where_it_can_be_known() {
    if !machine::root() {
        return;
    }
    let home = Home::new();
    let disk = Tmpfs::mount(&home.store(), "64k");
    let path = home.store().display().to_string();
    let endless = "measure wakeup --raw --interval 20us --samples 100000 --priority o --quiet";
    home.run(endless.split_whitespace())
        .error(1, &[&path, "--raw"])
        .hinted();
    assert_eq!(runs(&home.store()), Vec::<String>::new());
    fs::remove_file(home.store().join("store.json")).unwrap();
    disk.fill();
    home.run(QUICK)
        .error(1, &[&path, "No space left", "--home"])
        .hinted();
    assert_eq!(runs(&home.store()), Vec::<String>::new());
    assert!(machine::processes_of(&home.store()).is_empty());
}

#[test]
fn figures_are_printed_when_only_the_last_write_fails() {
    if !machine::root() {
        return;
    }
    let home = Home::new();
    let disk = Tmpfs::mount(&home.store(), "64k");
    let first = home.quick(&[]);
    let full = disk.fill();
    let answer = home.run(QUICK);
    answer
        .error(1, &["keep the run", "No space left", "--home"])
        .hinted();
    assert!(answer.stderr.contains(&home.store().display().to_string()));
    let record = answer.json();
    assert_sound(&record);
    assert_eq!(record["total"]["count"], 20);
    assert_eq!(runs(&home.store()), [first["id"].as_str().unwrap()]);
    // What is there can be read on the full disk, and all is well when there is room again.
    assert_eq!(home.list().len(), 1);
    fs::remove_file(full).unwrap();
    home.quick(&[]);
    assert_eq!(home.list().len(), 2);
}

#[test]
fn a_disk_that_fills_up_ends_the_run_and_nothing_stays() {
    if !machine::root() {
        return;
    }
    let home = Home::new();
    // Room for all of it, until others take that.
    let disk = Tmpfs::mount(&home.store(), "64m");
    let args = "measure wakeup --raw --interval 100us --duration 3m --quiet --json \
                --priority o --threads 2 --dma-latency off --load cpu:1";
    let running = home.start(args.split_whitespace()).measuring();
    disk.fill();
    let answer = running.wait();
    answer
        .error(1, &["samples.zst", "No space left", "--home"])
        .hinted();
    assert_eq!(runs(&home.store()), Vec::<String>::new());
    let gone = || machine::processes_of(&home.store()).is_empty();
    assert!(wait_until(gone), "the load goes on");
}

#[test]
fn a_read_only_store_can_be_read_and_not_measured_to() {
    if !machine::root() {
        return;
    }
    let home = Home::new();
    let disk = Tmpfs::mount(&home.store(), "1m");
    let record = home.quick(&["--raw"]);
    disk.make_read_only();
    let path = home.store().display().to_string();
    for args in [QUICK.to_vec(), vec!["runs", "rm", "last"]] {
        home.run(args)
            .error(1, &[&path, "Read-only file system", "--home"])
            .hinted();
    }
    assert_eq!(home.list()[0]["id"], record["id"]);
    home.run(["runs", "show"]).fine();
    assert_eq!(home.samples().len(), 20);
    assert_eq!(runs(&home.store()), [record["id"].as_str().unwrap()]);
}

#[test]
fn a_read_only_place_without_a_store_is_an_error() {
    if !machine::root() {
        return;
    }
    let home = Home::new();
    let disk = Tmpfs::mount(&home.dir().join("disk"), "64k");
    disk.make_read_only();
    let store = home.dir().join("disk/store");
    let mut args: Vec<&std::ffi::OsStr> = QUICK.map(AsRef::as_ref).to_vec();
    args.extend(["--home".as_ref(), store.as_os_str()]);
    home.run(args)
        .error(1, &[&store.display().to_string(), "Read-only file system"])
        .hinted();
}

#[test]
fn a_file_where_the_store_should_be_is_an_error() {
    let home = Home::new();
    fs::write(home.store(), "not a directory").unwrap();
    let path = home.store().display().to_string();
    home.run(QUICK).error(1, &[&path, "a file is in the way"]);
    for args in [["runs", "list"], ["runs", "show"]] {
        home.run(args).error(1, &[&path, "Not a directory"]);
    }
    assert_eq!(fs::read(home.store()).unwrap(), b"not a directory");
}

#[test]
fn a_new_store_is_for_its_owner_alone() {
    let home = Home::new();
    home.quick(&[]);
    let mode = fs::metadata(home.store()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}
