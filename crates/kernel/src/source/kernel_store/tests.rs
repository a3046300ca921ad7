// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Kernels, sources and builds that are listed, damaged, in use, removed.

use super::*;

#[test]
fn a_name_stays_in_its_directory() {
    let stock = KernelStore::at("/none");
    for name in ["6.12.117-rt", "linux-source-6.1", "a+b_c"] {
        stock.place(StoredKind::Build, name).unwrap();
    }
    for name in ["", ".", "..", "a/b", "-rf", ".new", "a b", "ä"] {
        stock.place(StoredKind::Build, name).unwrap_err();
    }
    assert!(stock.list().unwrap().sources.is_empty());
}

#[test]
fn what_a_killed_program_left_goes_with_the_next_one_and_what_one_works_in_stays() {
    let dir = tempfile::tempdir().unwrap();
    let stock = KernelStore::at(dir.path());
    let held = stock.begin(StoredKind::Source).unwrap();
    let left = dir.path().join("sources/.new-left");
    fs::create_dir_all(left.join("linux")).unwrap();
    let second = stock.begin(StoredKind::Source).unwrap();
    assert!(!left.exists());
    assert!(held.path().exists() && second.path().exists());
}

#[test]
fn what_is_put_together_gets_its_name_once_and_can_be_removed() {
    let dir = tempfile::tempdir().unwrap();
    let stock = KernelStore::at(dir.path());
    let image = KernelImage {
        name: "one".into(),
        release: "6.1".into(),
        from: "p 1".into(),
        sha256: "0".into(),
        verified_by: None,
        image: "/x".into(),
        config: None,
        at: "2026-01-01T00:00:00Z".into(),
    };
    let made = stock.begin(StoredKind::Image).unwrap();
    stock
        .finish(StoredKind::Image, "one", made, &image)
        .unwrap();
    let made = stock.begin(StoredKind::Image).unwrap();
    let err = stock
        .finish(StoredKind::Image, "one", made, &image)
        .unwrap_err();
    assert!(matches!(err, KernelStoreError::Taken { .. }), "{err:?}");
    fs::create_dir_all(dir.path().join("builds/odd")).unwrap();
    fs::write(dir.path().join("builds/odd/build.log"), "").unwrap();
    let list = stock.list().unwrap();
    assert_eq!(list.images, [image]);
    assert_eq!(list.damaged, ["build odd: has no build.json"]);
    assert_eq!(stock.bootable("one").unwrap().0, Path::new("/x"));
    stock.bootable("two").unwrap_err();
    let claim = stock.claim(StoredKind::Image, "one").unwrap();
    stock.remove(claim).unwrap();
    stock.claim(StoredKind::Image, "one").unwrap_err();
    assert!(
        fs::read_dir(dir.path().join("images"))
            .unwrap()
            .next()
            .is_none()
    );
}

/// Tries again for a while: what another test starts at the moment when a lock is let go has that until its execve(2).
fn soon<T>(mut done: impl FnMut() -> Option<T>) -> T {
    for _ in 0..500 {
        if let Some(done) = done() {
            return done;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    panic!("not within ten seconds");
}

#[test]
fn what_somebody_uses_is_not_removed() {
    let dir = tempfile::tempdir().unwrap();
    let stock = KernelStore::at(dir.path());
    let refused = |kind| {
        let err = stock.claim(kind, "x").unwrap_err();
        assert!(matches!(err, KernelStoreError::InUse { .. }), "{err:?}");
    };
    let builds = stock.work_in(StoredKind::Build, "x").unwrap();
    stock.work_in(StoredKind::Build, "x").unwrap_err();
    refused(StoredKind::Build);
    assert!(is_held(&dir.path().join("builds/x")));
    drop(builds);
    soon(|| (!is_held(&dir.path().join("builds/x"))).then_some(()));
    let claim = soon(|| stock.claim(StoredKind::Build, "x").ok());
    stock.work_in(StoredKind::Build, "x").unwrap_err();
    stock.remove(claim).unwrap();
    assert!(!dir.path().join("builds/x").exists());
    // Many read one source.
    fs::create_dir_all(dir.path().join("sources/x")).unwrap();
    let readers = [(), ()].map(|()| stock.using(StoredKind::Source, "x").unwrap());
    refused(StoredKind::Source);
    drop(readers);
    soon(|| stock.claim(StoredKind::Source, "x").ok());
}

#[test]
fn a_removal_that_is_interrupted_leaves_nothing_that_is_listed_and_the_next_one_ends_it() {
    let dir = tempfile::tempdir().unwrap();
    let stock = KernelStore::at(dir.path());
    let sources = dir.path().join("sources");
    let left = || fs::read_dir(&sources).unwrap().count();
    fs::create_dir_all(sources.join("x/tree/kernel")).unwrap();
    let claim = stock.claim(StoredKind::Source, "x").unwrap();
    let set_aside = stock.set_aside(&claim).unwrap();
    let list = stock.list().unwrap();
    assert!(
        list.sources.is_empty() && list.damaged.is_empty(),
        "{list:?}"
    );
    stock.source("x").unwrap_err();
    // It is not taken from whoever removes it.
    stock.claim(StoredKind::Source, "x").unwrap_err();
    assert_eq!(left(), 1);
    drop((claim, set_aside));
    soon(|| {
        stock.claim(StoredKind::Source, "x").unwrap_err();
        (left() == 0).then_some(())
    });
}

#[test]
fn a_build_that_was_never_configured_is_not_damaged() {
    let dir = tempfile::tempdir().unwrap();
    let stock = KernelStore::at(dir.path());
    fs::create_dir_all(dir.path().join("builds/x/obj")).unwrap();
    assert!(stock.list().unwrap().damaged.is_empty());
    fs::write(dir.path().join("builds/x/config"), "").unwrap();
    assert_eq!(
        stock.list().unwrap().damaged,
        ["build x: has no build.json"]
    );
}
