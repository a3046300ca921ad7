// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Stores in places that somebody else has in hand, and run directories that somebody else made.
#![expect(clippy::unwrap_used, reason = "test helpers")]

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, chown, symlink};
use std::path::Path;

use common::{id, names, record, write_run};
use punctual_model::{Nanos, RunRecord};
use punctual_store::{Filter, Raw, ReadError, Store, StoreError, archive};
use rusqlite::Connection;

/// Another user: nobody.
const OTHER: u32 = 65_534;

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// Whether a directory can be given away; if not, the test is skipped.
fn given_to_another(dir: &Path) -> bool {
    let given = chown(dir, Some(OTHER), Some(OTHER)).is_ok();
    let required = std::env::var("PUNCTUAL_TEST_REQUIRE").unwrap_or_default();
    assert!(given || !required.contains("root"), "needs root");
    given
}

fn refused(home: &Path) -> String {
    let err = Store::open(home).unwrap_err();
    assert!(matches!(err, StoreError::Unsafe { .. }), "{err}");
    err.to_string()
}

#[test]
fn a_home_of_another_user_is_refused_and_its_traps_catch_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("home");
    let victim = dir.path().join("victim");
    fs::write(&victim, "of root").unwrap();
    fs::create_dir_all(home.join("runs/.tmp-019aa000-0000-7000-8000-000000000001")).unwrap();
    symlink(&victim, home.join(".tmp-store.json")).unwrap();
    symlink(dir.path().join("made"), home.join("lock")).unwrap();
    let left = home.join("runs/.tmp-019aa000-0000-7000-8000-000000000001/lock");
    symlink(dir.path().join("made"), left).unwrap();
    if !given_to_another(&home) {
        return;
    }
    assert!(refused(&home).contains("belongs to another user"));
    assert!(refused(&home.join("below")).contains("belongs to another user"));
    // Reading makes, removes and follows nothing either.
    fs::write(home.join("store.json"), r#"{"format":"punctual.store/1"}"#).unwrap();
    let store = Store::open_existing(&home).unwrap();
    assert!(store.entries().unwrap().runs.is_empty());
    let index = store.index().unwrap();
    assert!(index.fallback().is_some());
    assert!(matches!(
        store.begin(id(1), Raw::Drop),
        Err(StoreError::Unsafe { .. })
    ));
    assert_eq!(names(dir.path()), ["home", "victim"]);
    assert_eq!(
        names(&home),
        [".tmp-store.json", "lock", "runs", "store.json"]
    );
    assert_eq!(fs::read(&victim).unwrap(), b"of root");
}

#[test]
fn a_store_that_others_may_write_to_or_replace_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let above = dir.path().join("above");
    let home = above.join("home");
    fs::create_dir(&above).unwrap();
    Store::open(&home).unwrap();
    for path in [&above, &home, &home.join("runs")] {
        let before = fs::metadata(path).unwrap().permissions();
        mode(path, 0o777);
        assert!(
            refused(&home).contains("every user can write"),
            "{}",
            path.display()
        );
        // What is to be read is read all the same.
        assert!(Store::open_existing(&home).is_ok());
        fs::set_permissions(path, before).unwrap();
    }
    Store::open(&home).unwrap();
    mode(&above, 0o1777);
    Store::open(&home).unwrap();
}

#[test]
fn links_in_a_store_lead_nowhere() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let store = Store::open(at("other")).unwrap();
    let elsewhere = write_run(&store, &record(id(1)));
    fs::create_dir_all(at("home")).unwrap();
    fs::write(at("victim"), "kept").unwrap();
    symlink(at("victim"), at("home/.tmp-store.json")).unwrap();
    let store = Store::open(at("home")).unwrap();
    assert_eq!(fs::read(at("victim")).unwrap(), b"kept");

    // A run is no link, and a listing says so; to remove it removes the link.
    symlink(&elsewhere, store.runs_dir().join(id(1).to_string())).unwrap();
    let Err(ReadError::Path(err)) = store.entry(id(1)).run else {
        panic!("a link is followed");
    };
    assert_eq!(err.source.to_string(), "a symbolic link, not a directory");
    let rows = store.index().unwrap().list(&Filter::default()).unwrap();
    assert!(
        rows[0]
            .figures
            .as_ref()
            .unwrap_err()
            .contains("a symbolic link")
    );
    store.remove(id(1)).unwrap();
    assert!(elsewhere.join("run.json").exists());

    // A leftover with a lock that leads elsewhere stays, and makes nothing.
    let left = store.runs_dir().join(format!(".tmp-{}", id(2)));
    fs::create_dir(&left).unwrap();
    symlink(at("made"), left.join("lock")).unwrap();
    assert_eq!(Store::open(at("home")).unwrap().leftovers().len(), 1);
    assert!(!at("made").exists());

    // Nor is the directory of the runs one.
    let runs = at("home/runs");
    fs::remove_dir_all(&runs).unwrap();
    symlink(at("other/runs"), &runs).unwrap();
    let err = Store::open(at("home")).unwrap_err().to_string();
    assert!(err.contains("home/runs"), "{err}");
    assert!(Store::open_existing(at("home")).unwrap().entries().is_err());
}

/// The tables of a database.
fn tables(file: &Path) -> Vec<String> {
    let db = Connection::open(file).unwrap();
    let mut query = db
        .prepare("SELECT name FROM sqlite_schema ORDER BY name")
        .unwrap();
    let rows = query.query_map([], |row| row.get(0)).unwrap();
    rows.map(Result::unwrap).collect()
}

#[test]
fn a_database_that_is_not_ours_is_left_alone() {
    for linked in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("home");
        let store = Store::open(&home).unwrap();
        write_run(&store, &record(id(1)));
        let index = home.join("index.sqlite");
        let file = match linked {
            true => dir.path().join("ledger"),
            false => index.clone(),
        };
        for sql in [
            "CREATE TABLE runs (kept); INSERT INTO runs VALUES (1)",
            "PRAGMA user_version = 3",
            "PRAGMA application_id = 7",
        ] {
            Connection::open(&file).unwrap().execute_batch(sql).unwrap();
            if linked && !index.is_symlink() {
                symlink(&file, &index).unwrap();
            }
            let before = fs::read(&file).unwrap();
            let made = store.index().unwrap();
            assert!(made.fallback().is_some(), "{sql}");
            assert_eq!(made.list(&Filter::default()).unwrap().len(), 1);
            assert_eq!(fs::read(&file).unwrap(), before, "{sql}");
            assert_eq!(tables(&file), ["runs"]);
        }
    }
}

#[test]
fn a_null_or_a_view_in_place_of_the_table_makes_the_index_anew() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    write_run(&store, &record(id(1)));
    let rows = || store.index().unwrap().list(&Filter::default()).unwrap();
    let before = rows();
    let file = dir.path().join("index.sqlite");
    for sql in [
        "UPDATE runs SET instrument = NULL",
        "UPDATE runs SET valid = NULL",
        "UPDATE runs SET id = 'nonsense'",
        "DROP TABLE runs; CREATE VIEW runs AS SELECT 1 AS id",
        "DROP INDEX runs_name; CREATE VIEW runs_name AS SELECT 1",
        "CREATE TABLE more (x)",
        "CREATE TRIGGER t AFTER INSERT ON runs BEGIN SELECT 1; END",
    ] {
        Connection::open(&file).unwrap().execute_batch(sql).unwrap();
        assert_eq!(rows(), before, "{sql}");
        assert_eq!(store.index().unwrap().fallback(), None, "{sql}");
        assert_eq!(rows(), before, "{sql}");
        assert_eq!(tables(&file).len(), 3, "{sql}");
    }
}

#[test]
fn an_index_of_a_program_before_is_made_anew() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    write_run(&store, &record(id(1)));
    drop(store.index().unwrap());
    let file = dir.path().join("index.sqlite");
    let old = "PRAGMA application_id = 0; PRAGMA user_version = 3; DELETE FROM runs";
    Connection::open(&file).unwrap().execute_batch(old).unwrap();
    let index = store.index().unwrap();
    assert_eq!(index.fallback(), None);
    assert_eq!(index.list(&Filter::default()).unwrap().len(), 1);
}

/// A run whose file `name` has the bytes `content`, packed.
fn packed(store: &Store, n: u64, name: &str, record: RunRecord, content: &[u8]) {
    let record = RunRecord {
        id: id(n).to_string(),
        ..record
    };
    let run = write_run(store, &record);
    let mut file = zstd::Encoder::new(fs::File::create(run.join(name)).unwrap(), 3).unwrap();
    file.write_all(content).unwrap();
    file.finish().unwrap();
}

#[test]
fn no_more_samples_or_events_are_unpacked_than_the_record_leads_one_to_expect() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let mut samples = b"PNCTSMPL\x01\0\x1c\0\0\0\0\0".to_vec();
    samples.resize(16 + 28 * 100_000, 0);
    packed(&store, 1, "samples.zst", record(id(1)), &samples);
    let run = store.entry(id(1)).run.unwrap();
    let read: Vec<_> = run.samples().unwrap().collect();
    assert!(read.len() < 2_000, "{}", read.len());
    let err = read.into_iter().find_map(Result::err).unwrap();
    assert!(matches!(err, ReadError::Samples { .. }), "{err}");

    let line = b"{\"event\":\"started\",\"id\":\"\",\"threads\":1}\n";
    let lines = line.repeat(100_000);
    packed(&store, 2, "events.jsonl.zst", record(id(2)), &lines);
    let run = store.entry(id(2)).run.unwrap();
    let read: Vec<_> = run.events().unwrap().collect();
    assert!(read.len() < 2_000, "{}", read.len());
    let err = read.into_iter().find_map(Result::err).unwrap();
    assert!(matches!(err, ReadError::Path(_)), "{err}");

    // As many as a run of its time may have are read.
    let long = RunRecord {
        duration_ns: Some(Nanos::from_secs(86_400)),
        ..record(id(3))
    };
    packed(&store, 3, "events.jsonl.zst", long, &lines);
    let run = store.entry(id(3)).run.unwrap();
    assert_eq!(run.events().unwrap().filter(Result::is_ok).count(), 100_000);
}

#[test]
fn a_window_larger_than_ours_is_not_taken_memory_for() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let run = write_run(&store, &record(id(1)));
    for name in ["samples.zst", "events.jsonl.zst"] {
        let mut file = zstd::Encoder::new(fs::File::create(run.join(name)).unwrap(), 1).unwrap();
        file.window_log(27).unwrap();
        // Known to be so long, that the frame asks for the whole window.
        let part = vec![b'\n'; 1 << 20];
        for _ in 0..130 {
            file.write_all(&part).unwrap();
        }
        file.finish().unwrap();
    }
    let run = store.entry(id(1)).run.unwrap();
    let first = run.samples().unwrap().next().unwrap().unwrap_err();
    assert!(matches!(first, ReadError::Samples { .. }), "{first}");
    let first = run.events().unwrap().next().unwrap().unwrap_err();
    assert!(matches!(first, ReadError::Path(_)), "{first}");
}

#[test]
fn a_record_of_very_many_parts_is_not_read() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let run = write_run(&store, &record(id(1)));
    let text = String::from_utf8(fs::read(run.join("run.json")).unwrap()).unwrap();
    let many = "{},".repeat(2_000_000);
    let text = text.replace("\"checks\": []", &format!("\"checks\": [{many}{{}}]"));
    assert!(text.len() > many.len());
    fs::write(run.join("run.json"), text).unwrap();
    let Err(ReadError::Path(err)) = store.entry(id(1)).run else {
        panic!("it is read");
    };
    let said = err.source.to_string();
    assert!(
        said.contains("objects and arrays, more than the limit of"),
        "{said}"
    );
}

#[test]
fn an_artifact_is_written_only_as_large_as_it_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let mut writer = store.begin(id(1), Raw::Drop).unwrap();
    let err = writer.artifact("x", &vec![0; (64 << 20) + 1]).unwrap_err();
    assert!(matches!(err, StoreError::ArtifactSize { .. }), "{err}");
    drop(writer);
    let run = write_run(&store, &record(id(2)));
    fs::File::create(run.join("latency.hlog"))
        .unwrap()
        .set_len(1 << 40)
        .unwrap();
    let run = store.entry(id(2)).run.unwrap();
    assert!(run.artifact("latency.hlog").is_err());
}

#[test]
fn a_file_of_zeros_that_nobody_stored_is_not_copied() {
    let [from, to] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let store = Store::open(from.path()).unwrap();
    let run = write_run(&store, &record(id(1)));
    let file = fs::File::create(run.join("samples.zst")).unwrap();
    file.set_len(1 << 30).unwrap();
    let run = store.entry(id(1)).run.unwrap();
    let to = Store::open(to.path()).unwrap();
    let adopted = to.adopt(&run, &BTreeMap::new()).unwrap_err();
    let packed = archive::pack([&run], std::io::sink()).unwrap_err();
    for err in [format!("{adopted:?}"), format!("{packed:?}")] {
        assert!(
            err.contains("samples.zst") && err.contains("sparse"),
            "{err}"
        );
    }
    assert!(to.entries().unwrap().runs.is_empty());
}
