// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A run is there whole or not at all.

mod common;

use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use common::{Tmpfs, id, names, record, samples, started, write_run};
use punctual_store::{Raw, Store, StoreError, free_bytes};
use rustix::fs::{FlockOperation, flock};

#[test]
fn a_home_is_made_for_its_owner_alone() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("a/b");
    Store::open(&home).unwrap();
    Store::open(&home).unwrap();
    assert_eq!(names(&home), ["lock", "runs", "store.json"]);
    let mode = fs::metadata(&home).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    assert_eq!(
        fs::read(home.join("store.json")).unwrap(),
        b"{\"format\":\"punctual.store/1\"}\n"
    );
}

#[test]
fn a_newer_store_is_refused_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(
        dir.path().join("store.json"),
        r#"{"format":"punctual.store/2","x":1}"#,
    )
    .unwrap();
    for result in [Store::open(dir.path()), Store::open_existing(dir.path())] {
        let err = result.unwrap_err();
        assert!(
            matches!(&err, StoreError::NewerStore { found, .. } if found == "punctual.store/2"),
            "{err}"
        );
    }
    assert_eq!(names(dir.path()), ["store.json"]);
}

#[test]
fn a_store_file_that_is_something_else_is_refused() {
    for text in [
        "",
        "{",
        "{}",
        r#"{"format":"other/1"}"#,
        r#"{"format":"punctual.store/x"}"#,
        r#"{"format":"punctual.store/0"}"#,
    ] {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("store.json"), text).unwrap();
        let err = Store::open(dir.path()).unwrap_err();
        assert!(matches!(err, StoreError::NotAStore { .. }), "{text}: {err}");
    }
}

#[test]
fn a_file_in_the_way_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("home");
    fs::write(&home, "").unwrap();
    let err = Store::open(&home).unwrap_err().to_string();
    assert!(err.contains(home.to_str().unwrap()), "{err}");
}

#[test]
fn no_store_is_an_empty_store_for_a_reader() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("none");
    Store::open_existing(&home).unwrap();
    assert!(!home.exists());
}

#[test]
fn a_finished_run_has_its_files_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let run = write_run(&store, &record(id(1)));
    assert_eq!(run, store.runs_dir().join(id(1).to_string()));
    assert_eq!(
        names(&run),
        [
            "events.jsonl.zst",
            "latency.hlog",
            "run.json",
            "samples.zst"
        ]
    );
    assert_eq!(names(store.runs_dir()), [id(1).to_string()]);
}

#[test]
fn a_dropped_writer_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let mut writer = store.begin(id(1), Raw::Keep).unwrap();
    writer.samples(0, &samples(9)).unwrap();
    assert_eq!(names(store.runs_dir()).len(), 1);
    drop(writer);
    assert!(names(store.runs_dir()).is_empty());
}

#[test]
fn an_id_is_used_once() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let second = store.begin(id(2), Raw::Drop).unwrap();
    write_run(&store, &record(id(1)));
    let err = store.begin(id(1), Raw::Drop).unwrap_err();
    assert!(matches!(err, StoreError::RunExists { .. }), "{err}");
    // It appears while the writer is at work.
    fs::create_dir(store.runs_dir().join(id(2).to_string())).unwrap();
    fs::write(store.runs_dir().join(id(2).to_string()).join("x"), "").unwrap();
    let err = second.finish(&record(id(2))).unwrap_err();
    assert!(matches!(err, StoreError::RunExists { .. }), "{err}");
    assert_eq!(names(store.runs_dir()).len(), 2);
}

#[test]
fn a_record_of_another_run_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let writer = store.begin(id(1), Raw::Drop).unwrap();
    let err = writer.finish(&record(id(2))).unwrap_err();
    assert!(matches!(err, StoreError::OtherRun { .. }), "{err}");
    assert!(names(store.runs_dir()).is_empty());
}

#[test]
fn artifact_names_stay_in_the_run_directory() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let mut writer = store.begin(id(1), Raw::Drop).unwrap();
    for name in [
        "",
        ".",
        "..",
        "../x",
        "a/b",
        "run.json",
        "lock",
        "samples.zst",
        ".x",
        "a\0",
    ] {
        let err = writer.artifact(name, b"").unwrap_err();
        assert!(
            matches!(err, StoreError::ArtifactName { .. }),
            "{name}: {err}"
        );
    }
    writer.finish(&record(id(1))).unwrap();
}

#[test]
fn what_a_dead_process_left_is_removed_and_what_is_held_is_not() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let runs = store.runs_dir();
    let alive = store.begin(id(1), Raw::Keep).unwrap();
    let left = |prefix: &str, n: u64| format!(".{prefix}-{}", id(n));
    let [unlocked, lockless, held_name, trash] = [
        left("tmp", 2),
        left("tmp", 3),
        left("tmp", 4),
        left("trash", 5),
    ];
    for name in [&unlocked, &lockless, &held_name, &trash] {
        fs::create_dir(runs.join(name)).unwrap();
        fs::write(runs.join(name).join("samples.zst"), "half").unwrap();
    }
    fs::write(runs.join(unlocked).join("lock"), "").unwrap();
    // flock belongs to the open file description, so this is what another process is to us.
    let held = File::create(runs.join(&held_name).join("lock")).unwrap();
    flock(&held, FlockOperation::LockExclusive).unwrap();

    let store = Store::open(dir.path()).unwrap();
    assert!(store.leftovers().is_empty(), "{:?}", store.leftovers());
    assert_eq!(names(runs), [left("tmp", 1), held_name]);

    drop(held);
    Store::open_existing(dir.path()).unwrap();
    assert_eq!(names(runs), [left("tmp", 1)]);
    alive.finish(&record(id(1))).unwrap();
    assert_eq!(names(runs), [id(1).to_string()]);
}

#[test]
fn what_only_looks_like_a_leftover_is_someones_and_stays() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let runs = store.runs_dir();
    let outside = dir.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("thesis"), "").unwrap();
    for n in 2..5 {
        write_run(&store, &record(id(n)));
    }
    let upper = id(1).to_string().to_uppercase();
    let mut put = Vec::new();
    for prefix in [".tmp-", ".trash-"] {
        for name in ["my-notes", "", "bin", &upper, &format!("{}x", id(1))] {
            put.push(runs.join(format!("{prefix}{name}")));
            fs::create_dir(put.last().unwrap()).unwrap();
            fs::write(put.last().unwrap().join("x"), "").unwrap();
        }
        put.push(runs.join(format!("{prefix}{}", id(2))));
        fs::write(put.last().unwrap(), "").unwrap();
        put.push(runs.join(format!("{prefix}{}", id(3))));
        symlink(&outside, put.last().unwrap()).unwrap();
        put.push(runs.join(format!("{prefix}{}", id(4))));
        symlink("nowhere", put.last().unwrap()).unwrap();
    }
    put.sort();
    let store = Store::open(dir.path()).unwrap();
    assert!(store.leftovers().is_empty(), "{:?}", store.leftovers());
    assert_eq!(store.entries().unwrap().foreign, put);
    assert_eq!(names(&outside), ["thesis"]);

    // Nor does a removal take what is in its way.
    for n in 2..5 {
        let err = store.remove(id(n)).unwrap_err().to_string();
        assert!(err.contains(".trash-"), "{err}");
    }
    let listing = store.entries().unwrap();
    assert_eq!(listing.runs.len(), 3);
    assert_eq!(listing.foreign, put);
    assert_eq!(names(&outside), ["thesis"]);
}

#[test]
fn cleaning_steps_back_while_a_run_begins() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let new = format!(".tmp-{}", id(1));
    fs::create_dir(store.runs_dir().join(&new)).unwrap();
    let beginning = File::open(dir.path().join("lock")).unwrap();
    flock(&beginning, FlockOperation::LockShared).unwrap();
    Store::open(dir.path()).unwrap();
    assert_eq!(names(store.runs_dir()), [new]);
    drop(beginning);
    Store::open(dir.path()).unwrap();
    assert!(names(store.runs_dir()).is_empty());
}

#[test]
fn writers_and_cleaners_at_once_lose_no_run() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path();
    Store::open(home).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4_u64 {
            scope.spawn(move || {
                for n in 0..10 {
                    let store = Store::open(home).unwrap();
                    let left = id(1_000 + thread * 100 + n);
                    fs::create_dir(home.join(format!("runs/.tmp-{left}"))).unwrap();
                    write_run(&store, &record(id(thread * 100 + n)));
                }
            });
        }
    });
    let store = Store::open(home).unwrap();
    assert_eq!(names(store.runs_dir()).len(), 40);
}

#[test]
fn a_full_disk_is_one_error_and_leaves_nothing() {
    let Some(disk) = Tmpfs::mount("1m") else {
        return;
    };
    let store = Store::open(disk.path().join("home")).unwrap();
    write_run(&store, &record(id(1)));
    assert!(free_bytes(&disk.path().join("home/not/there")).unwrap() < 1 << 20);

    let mut writer = store.begin(id(2), Raw::Keep).unwrap();
    writer.event(&started(id(2))).unwrap();
    // Noise, so that it does not compress away.
    let mut state = 1_u64;
    let mut noise = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        state
    };
    let err = loop {
        let mut batch = samples(1_000);
        for sample in &mut batch {
            (sample.t_ns, sample.latency_ns) = (noise(), noise());
        }
        if let Err(err) = writer.samples(0, &batch) {
            break err;
        }
    };
    assert!(err.is_full(), "{err:?}");
    assert!(!err.is_read_only() && !err.is_permission());
    assert!(err.to_string().ends_with("samples.zst"), "{err}");
    let err = writer.finish(&record(id(2))).unwrap_err();
    assert!(matches!(err, StoreError::Incomplete { .. }), "{err}");
    assert_eq!(names(store.runs_dir()), [id(1).to_string()]);

    // Room for the directory but not for the record.
    wait_for_room(disk.path(), 512 << 10);
    let mut writer = store.begin(id(4), Raw::Drop).unwrap();
    writer.artifact("filler", &[1; 64 << 10]).unwrap();
    let mut big = record(id(4));
    big.note = Some("x".repeat(2 << 20));
    let err = writer.finish(&big).unwrap_err();
    assert!(err.is_full(), "{err:?}");
    assert_eq!(names(store.runs_dir()), [id(1).to_string()]);
    wait_for_room(disk.path(), 512 << 10);
    write_run(&store, &record(id(5)));
}

/// tmpfs counts its pages by CPU and may give freed ones back a moment late.
fn wait_for_room(path: &Path, bytes: u64) {
    let again = (0..100_000).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        free_bytes(path).is_ok_and(|free| free > bytes)
    });
    assert!(again, "the failed runs still take room");
}

#[test]
fn a_full_disk_has_no_half_made_store() {
    let Some(disk) = Tmpfs::mount("16k") else {
        return;
    };
    let filler = disk.path().join("filler");
    assert!(fs::write(&filler, vec![1; 64 << 10]).is_err());
    let home = disk.path().join("home");
    let err = Store::open(&home).unwrap_err();
    assert!(err.is_full(), "{err:?}");
    fs::remove_file(filler).unwrap();
    Store::open(&home).unwrap();
    assert_eq!(names(&home), ["lock", "runs", "store.json"]);
}

#[test]
fn a_read_only_home_is_one_error_for_a_writer() {
    let Some(disk) = Tmpfs::mount("1m") else {
        return;
    };
    let home = disk.path().join("home");
    let store = Store::open(&home).unwrap();
    write_run(&store, &record(id(1)));
    let left = format!(".tmp-{}", id(9));
    fs::create_dir(store.runs_dir().join(left)).unwrap();
    disk.make_read_only();
    let err = store.begin(id(2), Raw::Drop).unwrap_err();
    assert!(err.is_read_only(), "{err:?}");
    let err = Store::open(disk.path().join("new")).unwrap_err();
    assert!(err.is_read_only(), "{err:?}");
    let store = Store::open_existing(&home).unwrap();
    assert!(store.leftovers()[0].is_read_only());
    assert_eq!(names(store.runs_dir()).len(), 2);
}
