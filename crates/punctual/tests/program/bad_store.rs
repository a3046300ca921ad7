// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Stores and runs that are damaged, newer, or not what they seem.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::common::{Home, QUICK, finish, program};

/// A run directory of `home` whose record is `record`.
fn dir_of(home: &Home, record: &Value) -> PathBuf {
    home.runs_dir().join(record["id"].as_str().unwrap())
}

fn cut(path: PathBuf, keep: usize) {
    let bytes = fs::read(&path).unwrap();
    fs::write(path, &bytes[..keep.min(bytes.len())]).unwrap();
}

#[test]
fn a_damaged_record_is_listed_named_and_removable_and_others_are_unharmed() {
    let home = Home::aside();
    let good = home.quick(&["--raw"]);
    type Damage = fn(PathBuf, &Value);
    let damages: [(&str, Damage); 7] = [
        ("EOF while parsing", |file, _| fs::write(file, "").unwrap()),
        ("EOF while parsing", |file, _| cut(file, 300)),
        ("expected value", |file, _| {
            fs::write(file, [0xff; 999]).unwrap()
        }),
        ("missing field", |file, _| {
            fs::write(file, r#"{"format":"punctual.run/1"}"#).unwrap();
        }),
        ("its record has the id", |file, other| {
            let text = String::from_utf8(fs::read(&file).unwrap()).unwrap();
            let record: Value = serde_json::from_str(&text).unwrap();
            let (own, other) = (record["id"].as_str(), other["id"].as_str());
            fs::write(&file, text.replace(own.unwrap(), other.unwrap())).unwrap();
        }),
        ("No such file", |file, _| fs::remove_file(file).unwrap()),
        ("punctual.run/99", |file, _| {
            let text = String::from_utf8(fs::read(&file).unwrap()).unwrap();
            fs::write(&file, text.replace("punctual.run/1", "punctual.run/99")).unwrap();
        }),
    ];
    for (reason, damage) in damages {
        let record = home.quick(&["--raw"]);
        let id = record["id"].as_str().unwrap();
        damage(dir_of(&home, &record).join("run.json"), &good);

        let rows = home.list();
        assert_eq!(rows.len(), 2, "{reason}");
        let row = rows.iter().find(|row| row["id"] == id).unwrap();
        let said = row["unreadable"].as_str().unwrap();
        assert!(said.contains(reason), "{reason}: {said}");
        let table = home.run(["runs", "list"]);
        assert!(table.fine().stdout.contains("cannot be read"), "{table:#?}");

        for verb in [
            vec!["show", id],
            vec!["show", "last"],
            vec!["export", id, "--format=csv"],
        ] {
            home.run(["runs"].into_iter().chain(verb))
                .error(1, &[id, reason])
                .hinted();
        }
        let first = good["id"].as_str().unwrap();
        assert_eq!(
            home.run(["runs", "show", first, "--json"]).fine().json(),
            good
        );
        home.run(["runs", "rm", id]).fine();
        assert_eq!(home.list().len(), 1, "{reason}");
    }
}

#[test]
fn damaged_samples_are_an_error_and_half_an_export_is_none() {
    let home = Home::aside();
    let record =
        home.measure("--priority o --dma-latency off --samples 5000 --interval 50us --raw");
    let samples = dir_of(&home, &record).join("samples.zst");
    let whole = fs::read(&samples).unwrap();
    let output = home.dir().join("out");
    let output = output.to_str().unwrap();
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 0x40;
    for damaged in [
        &whole[..0],
        &whole[..3],
        &whole[..whole.len() / 2],
        &whole[..whole.len() - 1],
        &flipped,
        &[0xff; 4096],
    ] {
        fs::write(&samples, damaged).unwrap();
        for format in ["csv", "json", "parquet"] {
            let args = ["runs", "export", "last", "--format", format];
            home.run(args).error(1, &["samples.zst"]);
            home.run(args.into_iter().chain(["--output", output]))
                .error(1, &["samples.zst"]);
            // Nor is a part of it left beside.
            let files = fs::read_dir(home.dir()).unwrap();
            assert_eq!(files.count(), 1, "{format}: half an export");
        }
    }
    fs::write(&samples, &whole).unwrap();
    home.run(["runs", "export", "last", "--format=csv", "--output", output])
        .fine();
}

#[test]
fn samples_that_are_gone_or_never_were_are_an_error() {
    let home = Home::aside();
    let record = home.quick(&["--raw"]);
    fs::remove_file(dir_of(&home, &record).join("samples.zst")).unwrap();
    // A summary instead would pass for the samples.
    for format in ["csv", "json", "parquet"] {
        home.run(["runs", "export", "last", "--format", format])
            .error(1, &["samples.zst"]);
    }
    home.quick(&[]);
    for args in [
        &["runs", "export", "last", "--format=parquet"][..],
        &["runs", "export", "last", "--format=csv", "--data=samples"],
    ] {
        home.run(args).error(1, &["samples", "--raw"]).hinted();
    }
    home.run([
        "runs",
        "export",
        "last",
        "--format=parquet",
        "--data=summary",
    ])
    .error(2, &["--data summary", "--format parquet"])
    .hinted();
}

#[test]
fn what_a_record_says_cannot_command_the_terminal() {
    let home = Home::aside();
    let record = home.quick(&["--raw"]);
    let id = record["id"].as_str().unwrap();
    let file = dir_of(&home, &record).join("run.json");
    let evil = "a\u{1b}]0;b\u{7}\u{1b}[2J\u{9b}31m\r\nError: c\t\u{7f}\u{85}\u{202e}d\u{202a}\u{2066}\u{2069}e";
    let safe = "a\u{fffd}]0;b\u{fffd}\u{fffd}[2J\u{fffd}31m\u{fffd}\u{fffd}Error: c\
                \u{fffd}\u{fffd}\u{fffd}\u{fffd}d\u{fffd}\u{fffd}\u{fffd}e";
    type Change = fn(&mut Value, &str);
    let changes: [(&str, Change); 5] = [
        (safe, |record, evil| record["format"] = evil.into()),
        (safe, |record, evil| {
            record["format"] = format!("punctual.run/{evil}").into();
        }),
        (safe, |record, evil| record["id"] = evil.into()),
        ("unknown variant", |record, evil| {
            record["ended"] = evil.into()
        }),
        ("", |record, evil| record["spec"]["priority"] = evil.into()),
    ];
    for (said, change) in changes {
        let mut record = record.clone();
        change(&mut record, evil);
        fs::write(&file, record.to_string()).unwrap();
        for verb in [vec!["show", id], vec!["export", id, "--format=csv"]] {
            let answer = home.run(["runs"].into_iter().chain(verb));
            answer.error(1, &["caused by: ", said]).hinted();
            let harmful = |c: char| {
                let turns = ('\u{202a}'..='\u{202e}').contains(&c);
                let isolates = ('\u{2066}'..='\u{2069}').contains(&c);
                c != '\n' && c.is_control() || turns || isolates
            };
            assert!(!answer.stderr.contains(harmful), "{answer:#?}");
        }
    }
    // Nor does what it becomes in the formats of others that are text.
    let mut named = record.clone();
    named["note"] = evil.into();
    named["host"]["hostname"] = evil.into();
    fs::write(&file, named.to_string()).unwrap();
    for format in ["cyclictest-hist", "rteval", "hdr"] {
        let answer = home.run(["runs", "export", id, "--format", format]);
        let printed = &answer.fine().stdout;
        let harmful = |c: char| c.is_control() && !"\n\t".contains(c);
        assert!(!printed.contains(harmful), "{format}: {printed:?}");
    }
    let log = dir_of(&home, &record).join("latency.hlog");
    let sound = String::from_utf8(fs::read(&log).unwrap()).unwrap();
    for (damaged, said) in [
        (format!("#\u{1b}[2J\n{sound}"), "its histograms are damaged"),
        (evil.to_owned(), "malformed"),
    ] {
        fs::write(&log, damaged).unwrap();
        let answer = home.run(["runs", "export", id, "--format=hdr"]);
        answer.error(1, &[said]);
        assert_eq!(answer.stdout, "");
    }
    // What the user wrote comes back in the hints and in the first line.
    let answer = home.run(["runs", "show", evil]);
    answer.error(2, &[safe]);
}

#[test]
fn a_fifo_among_the_files_of_a_run_is_an_error_and_not_waited_for() {
    let home = Home::aside();
    let record = home.quick(&["--raw"]);
    for (name, args) in [
        ("samples.zst", ["--format=csv", "--data=samples"]),
        ("events.jsonl.zst", ["--format=json", "--data=events"]),
        ("latency.hlog", ["--format=hdr", "--data=histogram"]),
    ] {
        let path = dir_of(&home, &record).join(name);
        for (program, target, reason) in [
            ("mkfifo", None, "not a regular file"),
            ("ln", Some("/etc/passwd"), "a symbolic link"),
        ] {
            fs::remove_file(&path).unwrap();
            let mut command = std::process::Command::new(program);
            if let Some(target) = target {
                command.args(["-s", target]);
            }
            assert!(command.arg(&path).status().unwrap().success());
            let answer = home.run(["runs", "export", "last"].into_iter().chain(args));
            answer.error(1, &[name, reason]);
            assert_eq!(answer.stdout, "");
        }
    }
}

#[test]
fn a_newer_store_is_refused_and_not_touched() {
    let home = Home::aside();
    home.quick(&[]);
    let leftover = home
        .runs_dir()
        .join(".tmp-00000000-0000-7000-8000-000000000000");
    fs::create_dir(&leftover).unwrap();
    let format = home.store().join("store.json");
    let newer = r#"{"format":"punctual.store/2","more":[1]}"#;
    fs::write(&format, newer).unwrap();
    for args in [
        QUICK.to_vec(),
        vec!["runs", "list"],
        vec!["runs", "show"],
        vec!["runs", "rm", "last"],
        vec!["runs", "export", "last", "--format=csv"],
    ] {
        home.run(args)
            .error(1, &["punctual.store/2", "punctual.store/1"])
            .hinted();
    }
    assert_eq!(fs::read(&format).unwrap(), newer.as_bytes());
    assert!(leftover.is_dir(), "what a newer program keeps is its own");
}

#[test]
fn a_damaged_store_file_is_an_error_that_names_it() {
    let home = Home::aside();
    home.quick(&[]);
    let path = home.store().join("store.json");
    let name = path.display().to_string();
    for text in ["", "{", "garbage", r#"{"format":"sundial/1"}"#, "[]"] {
        fs::write(&path, text).unwrap();
        for args in [QUICK.to_vec(), vec!["runs", "list"]] {
            home.run(args).error(1, &[&name]);
        }
        assert_eq!(fs::read(&path).unwrap(), text.as_bytes());
    }
}

#[test]
fn a_damaged_index_is_made_anew() {
    let home = Home::aside();
    let record = home.quick(&[]);
    home.list();
    let index = home.store().join("index.sqlite");
    for damaged in [&b""[..], b"garbage", &[0xff; 8_192]] {
        fs::write(&index, damaged).unwrap();
        assert_eq!(home.list()[0]["id"], record["id"]);
    }
}

#[test]
fn a_run_that_could_not_be_opened_once_is_in_the_next_list() {
    let home = Home::aside();
    let record = home.quick(&[]);
    let mut refused = 0;
    for descriptors in 4..=12 {
        let mut command = Command::new("sh");
        let line = format!("ulimit -n {descriptors}; exec \"$0\" runs list");
        command.args(["-c", &line]).arg(program());
        command.env("PUNCTUAL_HOME", home.store());
        refused += usize::from(finish(command).stdout.contains("cannot be read"));
        let list = home.list();
        assert_eq!(
            list[0]["figures"]["count"], record["total"]["count"],
            "{list:#?}"
        );
    }
    assert!(refused > 0);
}

#[test]
fn what_is_no_run_is_left_alone_and_named() {
    let home = Home::aside();
    home.quick(&[]);
    let foreign = home.runs_dir().join("thesis");
    fs::create_dir(&foreign).unwrap();
    let answer = home.run(["runs", "list", "--json"]);
    let value = answer.fine().json();
    assert_eq!(value["foreign"][0], foreign.display().to_string());
    assert_eq!(value["runs"].as_array().unwrap().len(), 1);
    let table = home.run(["runs", "list"]);
    assert!(table.fine().stdout.contains("thesis"), "{table:#?}");
    home.run(["runs", "rm", "last"]).fine();
    assert!(foreign.is_dir());
}

#[test]
fn a_selector_means_one_run_or_is_an_error() {
    let home = Home::aside();
    home.run(["runs", "show"]).error(2, &["no runs"]);
    let one = home.quick(&["--name=twin"]);
    let two = home.quick(&["--name=twin"]);
    let (first, second) = (one["id"].as_str().unwrap(), two["id"].as_str().unwrap());
    home.run(["runs", "show", "sundial"])
        .error(2, &["sundial", &home.store().display().to_string()])
        .hinted();
    for ambiguous in ["twin", &first[..4]] {
        home.run(["runs", "show", ambiguous])
            .error(2, &[ambiguous, first, second])
            .hinted();
    }
    // A mistake in a list removes nothing.
    home.run(["runs", "rm", first, "sundial"])
        .error(2, &["sundial"]);
    assert_eq!(home.list().len(), 2);
    for selector in ["last", second, &second.to_uppercase()] {
        let shown = home.run(["runs", "show", selector, "--json"]);
        assert_eq!(shown.fine().json()["id"], second);
    }
    home.run(["runs", "rm", first, first]).fine();
    assert_eq!(home.list().len(), 1);
    assert_eq!(
        home.run(["runs", "show", "twin", "--json"]).fine().json()["id"],
        second
    );
}
