// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What was written is read back, and damage is an error, never a panic and never silence.
#![expect(clippy::unwrap_used, reason = "test helpers")]

mod common;

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::time::{Duration, SystemTime};

use common::{id, names, record, samples, started, write_run};
use punctual_model::{Interval, Misses, Nanos, PrecisionState, RunRecord, Series, ThreadSample};
use punctual_stats::{LatencyHistogram, TaggedHistogram, write_hlog};
use punctual_store::{FindError, Raw, ReadError, SamplesFault, Store, StoreError, StoredRun};

fn store() -> (tempfile::TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    (dir, store)
}

fn named(n: u64, name: &str) -> RunRecord {
    RunRecord {
        name: Some(name.to_owned()),
        ..record(id(n))
    }
}

#[test]
fn a_run_round_trips() {
    let (_dir, store) = store();
    let path = write_run(&store, &record(id(1)));
    let run = store.find("last").unwrap();
    assert_eq!(run.record(), &record(id(1)));
    assert_eq!(run.path(), path);
    assert!(run.has_samples());
    let read: Vec<ThreadSample> = run.samples().unwrap().map(Result::unwrap).collect();
    let written = samples(3);
    assert_eq!(read.len(), 3);
    assert_eq!(read[2].t_ns, written[2].t_ns);
    assert_eq!(read[2].latency_ns, written[2].latency_ns);
    assert_eq!(read[2].cpu, written[2].cpu);
    let full: Vec<_> = run.full_samples().unwrap().map(Result::unwrap).collect();
    assert_eq!(full[2], (0, written[2]));
    let events: Vec<_> = run.events().unwrap().map(Result::unwrap).collect();
    assert_eq!(events, [started(id(1))]);
    assert_eq!(run.artifact("latency.hlog").unwrap().unwrap(), b"# log\n");
    assert_eq!(run.artifact("none").unwrap(), None);
    assert_eq!(run.artifact("../../store.json").unwrap(), None);
    assert!(run.size_bytes().unwrap() > 1_000);
    // The record ends in a line end and can be read wherever it is copied to.
    assert!(fs::read(path.join("run.json")).unwrap().ends_with(b"}\n"));
    assert_eq!(StoredRun::open(path).unwrap().into_record(), record(id(1)));
}

#[test]
fn a_run_without_raw_samples_has_no_file_of_them() {
    let (_dir, store) = store();
    let mut writer = store.begin(id(1), Raw::Drop).unwrap();
    writer.samples(0, &samples(9)).unwrap();
    writer.finish(&record(id(1))).unwrap();
    let run = store.find("last").unwrap();
    assert!(!run.has_samples());
    let Err(ReadError::Path(err)) = run.samples().map(|_| ()) else {
        panic!("there is a file of samples");
    };
    assert!(err.is_missing());
}

#[test]
fn every_cut_of_a_compressed_file_is_noticed() {
    let (_dir, store) = store();
    let path = write_run(&store, &record(id(1)));
    let run = store.find("last").unwrap();
    for name in ["samples.zst", "events.jsonl.zst"] {
        let file = path.join(name);
        let whole = fs::read(&file).unwrap();
        for cut in 0..whole.len() {
            fs::write(&file, &whole[..cut]).unwrap();
            if name == "samples.zst" {
                let err = run.samples().unwrap().find_map(Result::err).unwrap();
                assert!(
                    matches!(
                        err,
                        ReadError::Samples {
                            source: SamplesFault::Truncated,
                            ..
                        }
                    ),
                    "{cut}: {err:?}"
                );
            } else if cut > 0 {
                assert!(run.events().unwrap().any(|e| e.is_err()), "{cut}");
            }
        }
        // One flipped bit.
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x10;
            fs::write(&file, &bytes).unwrap();
            let samples = run.samples().unwrap().filter(Result::is_err).count();
            let events = run.events().unwrap().filter(Result::is_err).count();
            assert!(samples < 2, "{at}");
            // zstd has bits that say nothing; a flip that changes a value is caught.
            if name == "samples.zst" && samples == 0 {
                let read: Vec<_> = run.full_samples().unwrap().map(Result::unwrap).collect();
                assert_eq!(read.len(), 3, "{at}");
                assert_eq!(read[2].1, common::samples(3)[2]);
            }
            if name == "events.jsonl.zst" && events == 0 {
                let read: Vec<_> = run.events().unwrap().map(Result::unwrap).collect();
                assert_eq!(read, [started(id(1))], "{at}");
            }
        }
        fs::write(&file, &whole).unwrap();
    }
}

#[test]
fn every_cut_of_the_record_is_noticed() {
    let (_dir, store) = store();
    let file = write_run(&store, &record(id(1))).join("run.json");
    let whole = fs::read(&file).unwrap();
    // Without the last line end it is still whole.
    for cut in 0..whole.len() - 1 {
        fs::write(&file, &whole[..cut]).unwrap();
        let entry = store.entry(id(1));
        assert!(matches!(entry.run, Err(ReadError::Record { .. })), "{cut}");
    }
}

#[test]
fn an_event_of_a_newer_program_is_one_bad_line() {
    let (_dir, store) = store();
    let path = write_run(&store, &record(id(1)));
    let known = serde_json::to_string(&started(id(1))).unwrap();
    let text = format!("{{\"event\":\"teleported\"}}\n{known}\n");
    let bytes = zstd::encode_all(text.as_bytes(), 0).unwrap();
    fs::write(path.join("events.jsonl.zst"), bytes).unwrap();
    let events: Vec<_> = store.find("last").unwrap().events().unwrap().collect();
    assert!(matches!(&events[0], Err(ReadError::Event { line: 1, .. })));
    assert_eq!(events[1].as_ref().unwrap(), &started(id(1)));
}

#[test]
fn what_cannot_be_read_is_listed_with_its_reason() {
    let (_dir, store) = store();
    let path = |n| store.runs_dir().join(id(n).to_string());
    write_run(&store, &record(id(1)));
    // Another run's record.
    write_run(&store, &record(id(2)));
    fs::copy(path(1).join("run.json"), path(2).join("run.json")).unwrap();
    // No record.
    fs::create_dir(path(3)).unwrap();
    // A newer program's record.
    fs::create_dir(path(4)).unwrap();
    fs::write(path(4).join("run.json"), r#"{"format":"punctual.run/99"}"#).unwrap();
    // A file instead of a directory, another format, a fifo's stand-in.
    fs::write(path(5), "").unwrap();
    fs::create_dir(path(6)).unwrap();
    fs::write(path(6).join("run.json"), r#"{"format":"x"}"#).unwrap();
    fs::create_dir_all(path(7).join("run.json")).unwrap();
    // Foreign.
    fs::write(store.runs_dir().join("notes.txt"), "").unwrap();
    let upper = id(8).to_string().to_uppercase();
    fs::create_dir(store.runs_dir().join(&upper)).unwrap();

    let listing = store.entries().unwrap();
    let ids: Vec<_> = listing.runs.iter().map(|entry| entry.id).collect();
    assert_eq!(ids, [7, 6, 5, 4, 3, 2, 1].map(id));
    let reason = |n: usize| listing.runs[7 - n].run.as_ref().unwrap_err();
    assert!(matches!(reason(2), ReadError::OtherId { .. }));
    assert!(matches!(reason(3), ReadError::Path(err) if err.is_missing()));
    assert!(
        matches!(reason(4), ReadError::Newer { found, .. } if found == "punctual.run/99"),
        "{}",
        reason(4)
    );
    // However far its number is beyond ours.
    let far = "punctual.run/99999999999999999999";
    let text = format!(r#"{{"format":"{far}"}}"#);
    fs::write(path(4).join("run.json"), text).unwrap();
    let run = store.entry(id(4)).run;
    assert!(matches!(run, Err(ReadError::Newer { found, .. }) if found == far));
    assert!(matches!(reason(5), ReadError::Path(_)));
    assert!(matches!(reason(6), ReadError::NotARun { .. }));
    assert!(matches!(reason(7), ReadError::Path(_)));
    assert_eq!(
        listing.foreign,
        [
            store.runs_dir().join(upper),
            store.runs_dir().join("notes.txt")
        ]
    );
    // The newest is the last, readable or not.
    let err = store.find("last").unwrap_err();
    assert!(matches!(err, FindError::Unreadable { .. }), "{err}");
}

#[test]
fn only_regular_files_of_a_run_are_read() {
    let (dir, store) = store();
    let path = write_run(&store, &record(id(1)));
    let outside = dir.path().join("outside");
    fs::create_dir(&outside).unwrap();
    for name in [
        "latency.hlog",
        "samples.zst",
        "events.jsonl.zst",
        "run.json",
    ] {
        let (file, moved) = (path.join(name), outside.join(name));
        fs::rename(&file, &moved).unwrap();
        type Put = fn(&Path, &Path);
        let puts: [(&str, Put); 4] = [
            ("a symbolic link", |file, moved| {
                symlink(moved, file).unwrap();
            }),
            ("not a regular file", |file, _| {
                let mode = rustix::fs::Mode::RWXU;
                rustix::fs::mkfifoat(rustix::fs::CWD, file, mode).unwrap();
            }),
            ("not a regular file", |file, _| {
                UnixListener::bind(file).unwrap();
            }),
            ("not a regular file", |file, _| {
                fs::create_dir(file).unwrap();
            }),
        ];
        for (reason, put) in puts {
            put(&file, &moved);
            let run = store.entry(id(1)).run;
            let result = match name {
                "run.json" => run.map(|_| ()),
                "latency.hlog" => run.unwrap().artifact(name).map(|_| ()),
                "samples.zst" => {
                    assert!(!run.as_ref().unwrap().has_samples());
                    run.unwrap().samples().map(|_| ())
                }
                _ => run.unwrap().events().map(|_| ()),
            };
            let Err(ReadError::Path(err)) = result else {
                panic!("{name} is read although it is {reason}");
            };
            assert_eq!(err.path, file);
            let said = err.source.to_string();
            assert!(said.contains(reason), "{name}: {said}");
            fs::remove_file(&file)
                .or_else(|_| fs::remove_dir(&file))
                .unwrap();
        }
        fs::rename(&moved, &file).unwrap();
    }
    assert!(store.find("last").unwrap().has_samples());
}

#[test]
fn unknown_keys_of_a_later_minor_version_are_ignored() {
    let (_dir, store) = store();
    let file = write_run(&store, &record(id(1))).join("run.json");
    let mut value: serde_json::Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    value["invented"] = 1.into();
    value["total"]["invented"] = 1.into();
    // And keys that an older writer did not have.
    for key in ["name", "note", "threshold", "precision"] {
        value.as_object_mut().unwrap().remove(key);
    }
    value["total"]["misses"] = serde_json::json!([{ "deadline_ns": 1_000, "count": 1 }]);
    fs::write(&file, value.to_string()).unwrap();
    let mut expected = record(id(1));
    expected.total.misses = vec![Misses {
        deadline_ns: Nanos::new(1_000),
        count: 1,
        overruns: 0,
        effective: None,
    }];
    assert_eq!(store.find("last").unwrap().record(), &expected);
}

#[test]
fn runs_are_found_by_id_prefix_and_name() {
    let (_dir, store) = store();
    let empty = store.find("last").unwrap_err();
    assert_eq!(empty.to_string(), "find run `last`: the store has no runs");
    for (n, name) in [
        (0x2222_0000_0001, "idle"),
        (0x2222_0000_0002, "load"),
        (0, "load"),
    ] {
        write_run(&store, &named(n, name));
    }
    let found = |selector: &str| store.find(selector).map(StoredRun::into_record);
    assert_eq!(found("last").unwrap().name.unwrap(), "load");
    assert_eq!(found("idle").unwrap().name.unwrap(), "idle");
    let whole = id(0x2222_0000_0001).to_string();
    assert_eq!(found(&whole).unwrap().name.unwrap(), "idle");
    assert_eq!(found(&whole.to_uppercase()).unwrap().name.unwrap(), "idle");
    assert_eq!(
        found(&id(0).to_string()[..25]).unwrap().id,
        id(0).to_string()
    );

    let Err(FindError::Ambiguous { candidates, .. }) = found("load") else {
        panic!("two runs have this name");
    };
    assert_eq!(candidates.len(), 2);
    assert!(candidates[0].id > candidates[1].id);
    let Err(FindError::Ambiguous { candidates, .. }) = found("019a") else {
        panic!("all ids begin so");
    };
    assert_eq!(candidates.len(), 3);
    for selector in ["019", "", "nothing", "019b", "*", "../x"] {
        let Err(FindError::NotFound { known, .. }) = found(selector) else {
            panic!("{selector} finds something");
        };
        assert_eq!(known.len(), 3);
    }
}

#[test]
fn a_removed_run_is_gone_and_an_interrupted_removal_is_in_nobodys_way() {
    let (dir, store) = store();
    write_run(&store, &record(id(1)));
    let trash = store.runs_dir().join(format!(".trash-{}", id(1)));
    fs::create_dir(&trash).unwrap();
    fs::write(trash.join("run.json"), "").unwrap();
    assert_eq!(store.entries().unwrap().runs.len(), 1);
    store.remove(id(1)).unwrap();
    assert!(names(store.runs_dir()).is_empty());
    assert!(store.remove(id(1)).is_err());
    // An unreadable one, too.
    fs::create_dir(store.runs_dir().join(id(2).to_string())).unwrap();
    store.remove(id(2)).unwrap();
    drop(dir);
}

#[test]
fn a_store_that_is_not_there_lists_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open_existing(dir.path().join("none")).unwrap();
    assert!(store.entries().unwrap().runs.is_empty());
    assert!(
        store
            .index()
            .unwrap()
            .list(&punctual_store::Filter::default())
            .unwrap()
            .is_empty()
    );
    assert!(names(dir.path()).is_empty());
}

/// A record as large as one of this many threads and deadlines gets: no figure is missing or short.
fn large_record(threads: u32, deadlines: usize) -> RunRecord {
    const FIGURE: f64 = 1_234_567.890_123_456_7;
    let interval = Some(Interval {
        low: FIGURE,
        high: FIGURE,
        confidence: 0.95,
    });
    let names = ["p5", "p50", "p90", "p99", "p99.9", "p99.99", "p99.999"];
    let misses = Misses {
        deadline_ns: Nanos::from_millis(1),
        count: 86_400_000,
        overruns: 86_400_000,
        effective: Some(FIGURE),
    };
    let series = |thread| Series {
        thread: Some(thread),
        cpu: Some(thread),
        policy: Some("d:500000ns:1000000ns".to_owned()),
        interval_ns: Some(Nanos::from_millis(1)),
        count: 86_400_000,
        min_ns: Some(1_000),
        max_ns: Some(3_000_000),
        mean_ns: Some(FIGURE),
        stddev_ns: Some(FIGURE),
        skewness: Some(FIGURE),
        excess_kurtosis: Some(FIGURE),
        quantiles_ns: names.map(|name| (name.to_owned(), Some(1_234_567))).into(),
        quantile_relative_error: Some(FIGURE),
        psquare_ns: names.map(|name| (name.to_owned(), Some(FIGURE))).into(),
        mean_interval_ns: interval,
        quantile_intervals_ns: names.map(|name| (name.to_owned(), interval)).into(),
        effective_samples: Some(FIGURE),
        misses: vec![misses; deadlines],
        ..Series::default()
    };
    let precision = |thread| PrecisionState {
        target: "p99:2%".to_owned(),
        thread,
        estimate_ns: Some(FIGURE),
        interval_ns: interval,
        effective_samples: Some(FIGURE),
        met: true,
    };
    RunRecord {
        series: (0..threads).map(series).collect(),
        precision: (0..threads).map(precision).collect(),
        setup: None,
        figures: Vec::new(),
        findings: Vec::new(),
        tags: std::collections::BTreeMap::new(),
        requirements: Vec::new(),
        loads: Vec::new(),
        ..record(id(1))
    }
}

#[test]
fn the_record_of_the_most_threads_is_within_the_limit_and_a_larger_file_is_not_read() {
    let (_dir, store) = store();
    let record = large_record(4_096, 8);
    let file = write_run(&store, &record).join("run.json");
    assert!(store.entry(id(1)).run.unwrap().record() == &record);
    fs::File::options()
        .write(true)
        .open(file)
        .unwrap()
        .set_len((16 << 20) + 1)
        .unwrap();
    let Err(ReadError::Path(err)) = store.entry(id(1)).run else {
        panic!("a file above the limit is read");
    };
    assert_eq!(err.source.to_string(), "larger than 16 MiB, the limit");
}

#[test]
fn a_record_is_written_only_as_large_as_it_is_read() {
    let (_dir, store) = store();
    // Too large with its indentation, and not without.
    let record = large_record(4_096, 16);
    let pretty = serde_json::to_vec_pretty(&record).unwrap().len();
    assert!(pretty > 16 << 20, "{pretty}");
    let file = write_run(&store, &record).join("run.json");
    assert!(fs::metadata(file).unwrap().len() < 16 << 20);
    store.remove(id(1)).unwrap();

    let record = RunRecord {
        note: Some("x".repeat(16 << 20)),
        ..common::record(id(1))
    };
    let writer = store.begin(id(1), Raw::Drop).unwrap();
    let err = writer.finish(&record).unwrap_err();
    assert!(matches!(err, StoreError::RecordSize { .. }), "{err}");
    assert!(names(store.runs_dir()).is_empty());
}

#[test]
fn histograms_of_threads_are_added_up_over_the_widest_range() {
    let (_dir, store) = store();
    let samples: [&[u64]; 2] = [&[5_000, 36_000], &[9_000, 37_000, 84_000, 648_000]];
    let entries = [0, 1].map(|thread: usize| {
        let samples = samples[thread];
        let mut histogram = LatencyHistogram::new(samples[samples.len() - 1]);
        histogram.record_slice(samples);
        TaggedHistogram {
            tag: Some(thread.to_string()),
            start: Duration::ZERO,
            duration: Duration::from_secs(1),
            histogram,
        }
    });
    let mut log = Vec::new();
    write_hlog(&mut log, SystemTime::UNIX_EPOCH, &entries).unwrap();
    let mut run = record(id(1));
    run.total.count = 6;
    let mut writer = store.begin(id(1), Raw::Drop).unwrap();
    writer.artifact("latency.hlog", &log).unwrap();
    writer.finish(&run).unwrap();
    let run = store.find("last").unwrap();
    for all in [run.histogram(), run.required()] {
        let all = all.unwrap().unwrap();
        assert_eq!((all.count(), all.clamped()), (6, 0));
        assert_eq!((all.count_above(50_000), all.count_above(100_000)), (2, 1));
    }
}
