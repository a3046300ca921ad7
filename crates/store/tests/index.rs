// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The index says what the directories say, whatever happened to it.
#![expect(clippy::unwrap_used, reason = "test helpers")]

mod common;

use std::fs;
use std::path::Path;

use common::{Tmpfs, id, record, write_run};
use punctual_model::RunRecord;
use punctual_store::{Filter, RunRow, Store};
use rusqlite::Connection;

fn list(store: &Store) -> Vec<RunRow> {
    store.index().unwrap().list(&Filter::default()).unwrap()
}

fn ids(store: &Store, filter: &Filter) -> Vec<uuid::Uuid> {
    let rows = store.index().unwrap().list(filter).unwrap();
    rows.into_iter().map(|row| row.id).collect()
}

fn three_runs(home: &Path) -> Store {
    let store = Store::open(home).unwrap();
    write_run(&store, &record(id(1)));
    let named = RunRecord {
        name: Some("idle".to_owned()),
        valid: false,
        ..record(id(2))
    };
    write_run(&store, &named);
    fs::create_dir(store.runs_dir().join(id(3).to_string())).unwrap();
    store
}

#[test]
fn opening_a_store_makes_no_index() {
    let dir = tempfile::tempdir().unwrap();
    three_runs(dir.path());
    Store::open(dir.path()).unwrap();
    assert!(!dir.path().join("index.sqlite").exists());
}

#[test]
fn rows_say_what_the_records_say() {
    let dir = tempfile::tempdir().unwrap();
    let store = three_runs(dir.path());
    fs::write(store.runs_dir().join("x"), "").unwrap();
    let index = store.index().unwrap();
    assert_eq!(index.fallback(), None);
    assert_eq!(index.foreign(), [store.runs_dir().join("x")]);
    let rows = index.list(&Filter::default()).unwrap();
    assert_eq!(rows.len(), 3);
    assert_eq!(rows[2].id, id(3));
    let problem = rows[2].figures.as_ref().unwrap_err();
    assert!(problem.contains("run.json: No such file"), "{problem}");
    let figures = rows[1].figures.as_ref().unwrap();
    assert_eq!(figures, &punctual_model::RunListFigures::of(&record(id(1))));
    assert_eq!(figures.p50_ns, Some(1_000));
    assert_eq!(figures.p99_ns, None);
    assert_eq!(figures.ended.as_deref(), Some("completed"));
    assert_eq!(figures.host.as_deref(), Some("bench"));
}

#[test]
fn filters_narrow() {
    let dir = tempfile::tempdir().unwrap();
    let store = three_runs(dir.path());
    let by = |name: Option<&str>, valid, limit| Filter {
        name: name.map(ToOwned::to_owned),
        valid,
        limit,
        ..Filter::default()
    };
    assert_eq!(ids(&store, &by(Some("idle"), None, None)), [id(2)]);
    assert_eq!(ids(&store, &by(None, Some(true), None)), [id(1)]);
    assert_eq!(ids(&store, &by(None, Some(false), None)), [id(2), id(3)]);
    assert_eq!(ids(&store, &by(None, None, Some(1))), [id(2)]);
}

#[test]
fn runs_are_listed_by_their_start_and_the_last_is_the_one_added_last() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let starts = [
        Some("2025-02-28T03:00:00Z"),
        Some("2025-01-01T03:00:00Z"),
        None,
        Some("2025-02-28T03:00:00.25Z"),
        Some("2025-02-28T03:00:00.2Z"),
        None,
        Some("2025-01-31T03:00:00Z"),
        Some("2025-01-31T03:00:00Z"),
    ];
    for (n, started) in (1..).zip(starts) {
        let imported = RunRecord {
            started: started.map(ToOwned::to_owned),
            ..record(id(n))
        };
        write_run(&store, &imported);
    }
    let sorted = [4, 5, 1, 8, 7, 2, 6, 3].map(id);
    assert_eq!(ids(&store, &Filter::default()), sorted);
    let newest = Filter {
        limit: Some(2),
        ..Filter::default()
    };
    assert_eq!(ids(&store, &newest), sorted[..2]);
    assert_eq!(store.find("last").unwrap().record().id, id(8).to_string());
}

#[test]
fn tags_filter_by_key_and_value() {
    let dir = tempfile::tempdir().unwrap();
    let store = three_runs(dir.path());
    let tagged = |n, value: &str| punctual_model::RunRecord {
        tags: [("kernel".to_owned(), value.to_owned())].into(),
        ..record(id(n))
    };
    write_run(&store, &tagged(7, "rt"));
    write_run(&store, &tagged(8, "it's \"stock\""));
    let by = |key: &str, value: &str| Filter {
        tag: Some((key.to_owned(), value.to_owned())),
        ..Filter::default()
    };
    assert_eq!(ids(&store, &by("kernel", "rt")), [id(7)]);
    assert_eq!(ids(&store, &by("kernel", "it's \"stock\"")), [id(8)]);
    assert!(ids(&store, &by("kernel", "r")).is_empty());
    assert!(ids(&store, &by("rt", "kernel")).is_empty());
}

#[test]
fn it_follows_what_happens_to_the_directories() {
    let dir = tempfile::tempdir().unwrap();
    let store = three_runs(dir.path());
    assert_eq!(list(&store).len(), 3);
    store.remove(id(1)).unwrap();
    write_run(&store, &record(id(4)));
    let run = store.runs_dir().join(id(2).to_string()).join("run.json");
    fs::write(run, "damaged").unwrap();
    let rows = list(&store);
    assert_eq!(ids(&store, &Filter::default()), [id(4), id(3), id(2)]);
    assert!(rows[0].figures.is_ok());
    assert!(rows[2].figures.is_err());
}

#[test]
fn what_was_known_of_a_run_that_cannot_be_read_any_more_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let store = three_runs(dir.path());
    let known = |row: &RunRow| row.before.as_ref().and_then(|before| before.name.clone());
    assert!(list(&store).iter().all(|row| row.before.is_none()));
    let run = store.runs_dir().join(id(2).to_string()).join("run.json");
    let text = fs::read(&run).unwrap();
    for damaged in ["damaged", "damaged again"] {
        fs::write(&run, damaged).unwrap();
        let rows = list(&store);
        assert_eq!(
            rows.iter().map(known).collect::<Vec<_>>(),
            [None, None, Some("idle".to_owned())]
        );
        assert!(rows[2].figures.is_err());
        let valid = Filter {
            valid: Some(true),
            ..Filter::default()
        };
        assert_eq!(ids(&store, &valid), [id(1)]);
    }
    fs::write(&run, text).unwrap();
    assert!(list(&store).iter().all(|row| row.before.is_none()));
    fs::write(&run, "damaged").unwrap();
    fs::remove_file(dir.path().join("index.sqlite")).unwrap();
    assert!(list(&store).iter().all(|row| row.before.is_none()));
}

#[test]
fn deleted_damaged_or_foreign_it_is_made_again() {
    let dir = tempfile::tempdir().unwrap();
    let store = three_runs(dir.path());
    let before = list(&store);
    let file = dir.path().join("index.sqlite");
    let whole = fs::read(&file).unwrap();
    let mut zeroed = whole.clone();
    zeroed[4_096..].fill(0);
    let mut noisy = whole.clone();
    for (n, byte) in noisy.iter_mut().enumerate().skip(100) {
        *byte ^= n.to_le_bytes()[0];
    }
    for bytes in [
        &b"this is no database"[..],
        &[],
        &zeroed,
        &noisy,
        &whole[..whole.len() / 2],
    ] {
        fs::write(&file, bytes).unwrap();
        assert_eq!(list(&store), before);
        assert_eq!(store.index().unwrap().fallback(), None);
    }
    fs::remove_file(&file).unwrap();
    assert_eq!(list(&store), before);
    // Another schema, under our version and under another.
    for sql in [
        "DROP TABLE runs; CREATE TABLE runs (x)",
        "DROP TABLE runs; CREATE TABLE runs (x); PRAGMA user_version = 99",
        "PRAGMA user_version = 0",
    ] {
        Connection::open(&file).unwrap().execute_batch(sql).unwrap();
        assert_eq!(list(&store), before, "{sql}");
        assert_eq!(store.index().unwrap().fallback(), None);
    }
}

#[test]
fn a_directory_in_its_place_is_worked_around() {
    let dir = tempfile::tempdir().unwrap();
    let store = three_runs(dir.path());
    fs::create_dir(dir.path().join("index.sqlite")).unwrap();
    let index = store.index().unwrap();
    assert!(index.fallback().is_some());
    assert_eq!(index.list(&Filter::default()).unwrap().len(), 3);
}

#[test]
fn many_at_once_agree() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path();
    Store::open(home).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4_u64 {
            scope.spawn(move || {
                for n in 0..8 {
                    let store = Store::open(home).unwrap();
                    let id = id(thread * 100 + n);
                    write_run(&store, &record(id));
                    assert!(ids(&store, &Filter::default()).contains(&id));
                }
            });
        }
    });
    let store = Store::open(home).unwrap();
    assert_eq!(store.index().unwrap().fallback(), None);
    assert_eq!(list(&store).len(), 32);
}

#[test]
fn a_full_or_read_only_disk_has_it_in_memory() {
    let Some(disk) = Tmpfs::mount("128k") else {
        return;
    };
    let home = disk.path().join("home");
    let store = three_runs(&home);
    let filler = disk.path().join("filler");
    assert!(fs::write(&filler, vec![1; 256 << 10]).is_err());
    let index = store.index().unwrap();
    assert!(index.fallback().is_some());
    assert_eq!(index.list(&Filter::default()).unwrap().len(), 3);
    fs::remove_file(filler).unwrap();
    // Now with a file that is there and out of date.
    assert!(store.index().unwrap().fallback().is_none());
    write_run(&store, &record(id(9)));
    disk.make_read_only();
    let store = Store::open_existing(&home).unwrap();
    let index = store.index().unwrap();
    assert!(index.fallback().is_some());
    assert_eq!(index.list(&Filter::default()).unwrap().len(), 4);
}
