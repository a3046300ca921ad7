// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Directories that can be trusted, and others.

use super::*;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_directory_that_others_may_write_is_not_trusted_nor_one_below_it() {
    let dir = tempfile::tempdir().unwrap();
    let open = dir.path().join("open");
    let home = open.join("a/home");
    fs::create_dir(&open).unwrap();
    let trusted = || Dir::trusted(&home, Missing::Make).map(|dir| dir.is_some());
    for bad in [0o777, 0o757, 0o703] {
        mode(&open, bad);
        let err = trusted().unwrap_err().to_string();
        assert!(err.contains("open: every user can write there"), "{err}");
        assert!(!home.exists());
    }
    mode(&open, 0o1777);
    assert!(trusted().unwrap());
    for made in [&home, home.parent().unwrap()] {
        let made = fs::metadata(made).unwrap().permissions().mode();
        assert_eq!(made & 0o7777, 0o700);
    }
}

#[test]
fn nothing_is_made_where_nothing_is_to_be_made() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("a/b");
    assert!(Dir::trusted(&home, Missing::Leave).unwrap().is_none());
    assert!(!dir.path().join("a").exists());
    fs::write(dir.path().join("a"), "").unwrap();
    let err = Dir::trusted(&home, Missing::Make).unwrap_err();
    assert!(matches!(err, TrustError::Path(err)
        if err.source.kind() == io::ErrorKind::NotADirectory));
}

#[test]
fn links_of_ones_own_are_followed_and_their_way_is_looked_at_too() {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().join("place");
    fs::create_dir_all(place.join("home")).unwrap();
    symlink("place/../place/home", dir.path().join("relative")).unwrap();
    symlink(place.join("home"), dir.path().join("whole")).unwrap();
    symlink("loop", dir.path().join("loop")).unwrap();
    let real = fs::canonicalize(place.join("home")).unwrap();
    for name in ["relative", "whole"] {
        let found = Dir::trusted(&dir.path().join(name), Missing::Leave).unwrap();
        assert_eq!(found.unwrap().real_path().unwrap(), real, "{name}");
    }
    let around = Dir::trusted(&dir.path().join("loop"), Missing::Leave);
    assert!(matches!(around, Err(TrustError::Path(_))));
    mode(&place, 0o777);
    assert!(matches!(
        Dir::trusted(&dir.path().join("whole"), Missing::Leave),
        Err(TrustError::Unsafe { path, .. }) if path.ends_with("place")
    ));
}

#[test]
fn who_else_could_write_is_said() {
    let own = rustix::process::geteuid().as_raw();
    assert_eq!(distrust(own, 12_345, 0o700), None);
    assert_eq!(distrust(0, 0, 0o1777), None);
    assert_eq!(distrust(0, 0, 0o755), None);
    let group = distrust(own, 12_345, 0o770).unwrap();
    assert_eq!(group, "the group 12345 can write there");
    let other = distrust(own + 7, 0, 0o700).unwrap();
    assert!(other.starts_with("belongs to another user"), "{other}");
    // Sticky or not: the owner can do as he likes.
    assert!(distrust(own + 7, 0, 0o1777).is_some());
}
