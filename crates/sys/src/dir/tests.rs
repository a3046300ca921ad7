// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Names that lead nowhere else.

use super::*;
use std::fs;
use std::os::unix::fs::symlink;

#[test]
fn no_name_leads_out_of_a_directory() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("in/below")).unwrap();
    fs::write(dir.path().join("outside"), "kept").unwrap();
    let inside = Dir::open(&dir.path().join("in")).unwrap();
    for name in [
        "../outside",
        "..",
        ".",
        "",
        "/etc/passwd",
        "below/x",
        "below/",
    ] {
        let refused = |err: io::Error| assert_eq!(err.kind(), io::ErrorKind::InvalidInput);
        refused(inside.file(name).unwrap_err());
        refused(inside.new_file(name).unwrap_err());
        refused(inside.file_or_new(name).unwrap_err());
        refused(inside.dir(name).unwrap_err());
        refused(inside.remove_tree(name).unwrap_err());
    }
}

#[test]
fn links_are_neither_followed_nor_written_through() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    fs::create_dir_all(at("in")).unwrap();
    fs::create_dir_all(at("elsewhere/deep")).unwrap();
    fs::write(at("elsewhere/deep/file"), "kept").unwrap();
    symlink(at("elsewhere/deep/file"), at("in/file")).unwrap();
    symlink(at("missing"), at("in/dangling")).unwrap();
    symlink(at("elsewhere"), at("in/dir")).unwrap();
    let inside = Dir::open(&at("in")).unwrap();
    let said = inside.file("file").unwrap_err().to_string();
    assert_eq!(said, "a symbolic link, not a regular file");
    assert!(inside.file_or_new("dangling").is_err());
    assert!(inside.new_file("file").is_err() && inside.new_file("dangling").is_err());
    let said = inside.dir("dir").unwrap_err().to_string();
    assert_eq!(said, "a symbolic link, not a directory");
    assert!(!inside.has_file("file") && !inside.has_dir("dir"));
    inside.remove_tree("dir").unwrap();
    inside.remove_tree("file").unwrap();
    inside.remove_tree("never there").unwrap();
    assert_eq!(fs::read(at("elsewhere/deep/file")).unwrap(), b"kept");
    let deep = Dir::open(dir.path()).unwrap();
    deep.remove_tree("elsewhere").unwrap();
    assert!(!at("elsewhere").exists() && !at("missing").exists());
}

#[test]
fn only_so_much_is_read() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("file"), vec![b'x'; 2_048]).unwrap();
    let inside = Dir::open(dir.path()).unwrap();
    assert_eq!(inside.read("file", 2_048).unwrap().len(), 2_048);
    let err = inside.read("file", 1_024).unwrap_err();
    assert_eq!(err.to_string(), "larger than 1 KiB, the limit");
    assert_eq!(
        read_regular(&dir.path().join("file"), 4_096).unwrap().len(),
        2_048
    );
}
