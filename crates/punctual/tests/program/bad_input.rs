// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Command lines that are wrong: exit status 2, one error, and it names the option.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;

use crate::common::{Home, QUICK};

#[test]
fn a_wrong_option_of_a_measurement_is_named() {
    let home = Home::new();
    for (args, parts) in [
        ("--interval 0", &["--interval", "at least 1us"][..]),
        ("--interval 1", &["--interval"]),
        ("--interval 10s --duration 1s", &["--duration", "no sample"]),
        ("--cpus 99", &["--cpus 99", "not online"]),
        ("--cpus 1-0", &["--cpus"]),
        ("--cpus 0-", &["--cpus"]),
        ("--housekeeping 99", &["--housekeeping 99", "not online"]),
        ("--priority f:100", &["--priority", "1 to 99"]),
        ("--priority f:0", &["--priority", "1 to 99"]),
        ("--priority x", &["--priority"]),
        ("--priority d:2ms:1ms", &["--priority"]),
        ("--duration -1s", &["--duration", "negative"]),
        ("--duration=-1s", &["--duration", "negative"]),
        ("-D -1s", &["--duration", "negative"]),
        ("--duration 0s", &["--duration"]),
        ("--duration 1e9s", &["--duration"]),
        ("--duration 99999999999999999999s", &["--duration"]),
        ("--warm-up=-1ms", &["--warm-up", "negative"]),
        ("--distance=-1ms", &["--distance", "negative"]),
        ("--timer sundial", &["--timer", "nanosleep, relative"]),
        ("--clock cuckoo", &["--clock", "monotonic"]),
        ("--timer futex --clock tai", &["--timer", "--clock tai"]),
        ("--samples 0", &["--samples"]),
        ("--samples -1", &["Error: "]),
        ("--samples 18446744073709551616", &["--samples"]),
        ("--threads 0", &["--threads"]),
        ("--threads 4097", &["--threads"]),
        ("--pin both", &["--pin", "each"]),
        ("--until p101:1%", &["--until"]),
        ("--until p99", &["--until"]),
        ("--deadline 0", &["--deadline"]),
        ("--on-threshold 0", &["--on-threshold"]),
        ("--dma-latency 1ns", &["--dma-latency", "microseconds"]),
        ("--mlock maybe", &["--mlock"]),
        ("--load disk", &["--load", "not a load"]),
        ("--load cpu:0", &["--load"]),
        ("--name=", &["--name"]),
        ("--sundial", &["--sundial"]),
    ] {
        let line = format!("measure wakeup {args}");
        let answer = home.run(line.split_whitespace());
        answer.error(2, parts);
        assert!(answer.stdout.is_empty(), "{args}: {answer:#?}");
    }
    assert!(!home.store().exists(), "a wrong command line makes nothing");
}

#[test]
fn a_wrong_option_of_another_verb_is_named() {
    let home = Home::new();
    for (line, parts) in [
        ("assess --duration -1s", &["--duration", "negative"][..]),
        ("assess --duration 1ms", &["--duration"]),
        ("assess --deadline 0", &["--deadline"]),
        ("assess --cpus 99", &["--cpus 99", "not online"]),
        ("load", &["LOAD"]),
        ("load disk", &["not a load"]),
        ("load cpu --duration 0", &["--duration"]),
        ("runs export last", &["--format"]),
        ("runs export last --format xml", &["--format", "parquet"]),
        ("runs list --limit x", &["--limit"]),
        ("runs list --valid --invalid", &["--valid", "--invalid"]),
        ("runs rm", &["RUNS"]),
        ("measure", &["subcommand"]),
        ("sundial", &["sundial"]),
        ("", &["subcommand"]),
    ] {
        home.run(line.split_whitespace()).error(2, parts);
    }
    assert!(!home.store().exists());
}

#[test]
fn a_label_is_one_line_of_text() {
    let home = Home::new();
    for label in ["a\nb", "\u{1b}[31mred", "\u{7f}", &"x".repeat(201)] {
        home.run(QUICK.into_iter().chain(["--name", label]))
            .error(2, &["--name"]);
    }
    let label = "größer, \"als\" erwartet";
    let record = home.quick(&["--name", label, "--note", label]);
    assert_eq!(
        (&record["name"], &record["note"]),
        (&label.into(), &label.into())
    );
    let shown = home.run(["runs", "show", label, "--json"]).fine().json();
    assert_eq!(shown, record);
}

#[test]
fn an_argument_that_is_no_text_is_named_and_a_path_may_be_one() {
    let home = Home::new();
    let odd = OsStr::from_bytes(b"st\xffre");
    let quick = || QUICK.map(OsString::from).into_iter();
    for option in ["--name", "--interval", "--cpus"] {
        let args = ["measure".into(), "wakeup".into(), option.into(), odd.into()];
        let args: [OsString; 4] = args;
        home.run(args).error(2, &[option, "UTF-8"]);
    }
    let mut joined = OsString::from("--note=");
    joined.push(odd);
    home.run(quick().chain([joined]))
        .error(2, &["--note=", "UTF-8"]);
    home.run([OsStr::new("runs"), OsStr::new("show"), odd])
        .error(2, &["UTF-8"]);
    home.run([odd]).error(2, &[]);
    let evil = OsStr::from_bytes(b"st\x1b]0;x\x07\xffre");
    let answer = home.run([OsStr::new("runs"), OsStr::new("show"), evil]);
    let stderr = answer.error(2, &["UTF-8"]).stderr.replace('\n', "");
    assert!(!stderr.contains(char::is_control), "{stderr:?}");

    let store = home.dir().join(odd);
    let at_store = || [OsString::from("--home"), store.clone().into()];
    home.run(quick().chain(at_store())).record();
    assert!(store.join("store.json").is_file());
    let list = ["runs", "list", "--json"].map(OsString::from);
    let list = home.run(list.into_iter().chain(at_store())).fine().json();
    assert_eq!(list["runs"].as_array().unwrap().len(), 1);
}

#[test]
fn an_empty_place_for_the_store_is_an_error() {
    let home = Home::new();
    for args in [QUICK.to_vec(), vec!["runs", "list"]] {
        let mut command = home.command(args);
        command.env("PUNCTUAL_HOME", "").current_dir(home.dir());
        crate::common::finish(command)
            .error(2, &["PUNCTUAL_HOME", "empty"])
            .hinted();
    }
    assert_eq!(std::fs::read_dir(home.dir()).unwrap().count(), 0);
}

#[test]
fn the_exit_statuses_are_in_the_help() {
    let home = Home::new();
    let help = home.run(["--help"]).fine().stdout.clone();
    for status in 0..=5 {
        assert!(
            help.contains(&format!("\n  {status}  ")),
            "{status}: {help}"
        );
    }
    for line in ["--version", "measure wakeup --help", "help runs"] {
        let answer = home.run(line.split_whitespace());
        assert!(!answer.fine().stdout.is_empty());
        assert!(answer.stderr.is_empty());
    }
}
