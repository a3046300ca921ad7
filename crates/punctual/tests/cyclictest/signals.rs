// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Signals, the named pipe, exit statuses, and what ours can beside.

use std::fs::File;
use std::io::Read as _;
use std::path::PathBuf;
use std::time::Duration;

use super::common::{Home, Running, finish, machine, wait_until};
use super::grammar::{THREAD, check, form, matches};
use super::{bound_by_default, command, link, ours};

fn start(home: &Home, line: &str) -> Running {
    let args: Vec<&str> = line.split_whitespace().collect();
    Running::start(command(home, &link(home), &args)).measuring()
}

#[test]
fn an_interrupt_ends_with_the_full_report() {
    let home = Home::new();
    if !machine::root() {
        return;
    }
    for signal in ["INT", "TERM"] {
        let running = start(&home, "-q -p 80 -h 100");
        std::thread::sleep(Duration::from_millis(100));
        running.signal(signal);
        let answer = running.wait();
        check(&answer.fine().stdout, form("-q -h 100"), 1);
    }
}

#[test]
fn signals_ask_for_the_status() {
    let home = Home::new();
    if !machine::root() {
        return;
    }
    let mut running = start(&home, "-q -p 80 -t 2");
    let file = PathBuf::from(format!("/dev/shm/cyclictest{}", running.id()));
    running.signal("USR1");
    running.signal("USR2");
    let read = || machine::read(&file).unwrap_or_default();
    assert!(wait_until(|| read().lines().count() == 5));
    let status = read();
    assert!(running.is_alive());
    running.signal("INT");
    let answer = running.wait();
    let lines: Vec<&str> = answer.fine().stderr.lines().collect();
    let at = lines
        .iter()
        .position(|line| line.starts_with("#---"))
        .unwrap();
    for block in [
        status.lines().collect::<Vec<_>>(),
        lines[at..at + 5].to_vec(),
    ] {
        assert_eq!(block[0], "#---------------------------");
        assert_eq!(block[1], "# cyclictest current status:");
        assert!(
            block[2..4].iter().all(|line| matches(line, THREAD)),
            "{block:#?}"
        );
        assert_eq!(block[4], block[0]);
    }
    assert!(!file.exists(), "the status file is left behind");
}

#[test]
fn each_reader_of_the_pipe_gets_the_lines() {
    let home = Home::new();
    if !machine::root() {
        return;
    }
    let running = start(&home, "-q -p 80 -t 2 -F pipe");
    let pipe = home.dir().join("pipe");
    assert!(wait_until(|| pipe.exists()));
    for _ in 0..2 {
        let mut text = String::new();
        // The first reader may come before the first look at the samples.
        wait_until(|| {
            text.clear();
            File::open(&pipe)
                .unwrap()
                .read_to_string(&mut text)
                .unwrap()
                > 0
        });
        assert!(text.lines().count() >= 2, "{text}");
        assert!(text.lines().all(|line| matches(line, THREAD)), "{text}");
    }
    running.signal("INT");
    running.wait().fine();
    assert!(!pipe.exists());
}

#[test]
fn exit_statuses_are_the_original_s_unless_told_otherwise() {
    let home = Home::new();
    if !machine::root() {
        return;
    }
    for (line, status) in [
        ("-q -p 80 -l 50 -b 1", 0),
        ("-q -p 80 -l 50 -b 1 --strict-exit", 2),
        ("-q -p 80 -l 5 --strict-exit", 0),
        ("--bogus", 0),
        ("--bogus --strict-exit", 129),
        ("-p 100 --strict-exit", 1),
    ] {
        assert_eq!(ours(&home, line).code(), status, "{line}");
    }
}

#[test]
fn the_verb_does_what_the_name_does() {
    let home = Home::new();
    if !machine::root() {
        return;
    }
    let answer = home.run(["cyclictest", "-qmp80", "-l", "20", "-t", "2"]);
    check(&answer.fine().stdout, form("-q"), 2);
    let answer = home.run(["cyclictest", "--help"]);
    assert!(answer.fine().stdout.starts_with("cyclictest V "));
}

#[test]
fn a_recorded_run_is_one_of_the_store_s() {
    let home = Home::new();
    if !machine::root() {
        return;
    }
    let answer = ours(&home, "-q -m -p 80 -a -l 50 --record");
    check(&answer.fine().stdout, form("-q"), 1);
    let runs = home.list();
    assert_eq!(runs.len(), 1);
    let record = home.run(["runs", "show", "last", "--json"]).json();
    assert_eq!(record["series"][0]["count"], 50);
    assert_eq!(record["spec"]["raw"], false);
    assert_eq!(record["ended"], "completed");
    assert_eq!(record["note"], "cyclictest -q -m -p 80 -a -l 50 --record");
}

#[test]
fn what_the_original_lets_pass_is_remarked_upon() {
    let home = Home::new();
    if !machine::root() {
        return;
    }
    for (line, part) in [
        ("-q -l 5 -smp -p 80", "-S -m -p 80"),
        ("-q -l 5", "no priority given"),
        ("-q -l 5 -p 80 -h 1", "exceeded the histogram"),
    ] {
        let answer = ours(&home, line);
        assert!(answer.fine().stderr.contains(part), "{line}: {answer:#?}");
    }
    assert_eq!(ours(&home, "-q -l 5 -p 80 -a").fine().stderr, "");
    let unbound = ours(&home, "-q -l 5 -p 80 -t 2");
    let said = unbound.fine().stderr.contains("not bound to CPUs");
    assert_eq!(said, !bound_by_default(), "{unbound:#?}");
}

#[test]
fn arguments_that_make_no_sense_end_in_an_answer() {
    let home = Home::new();
    for args in [
        &["-h", "99999999999999999999", "-p", "100"][..],
        &["-t", "99999999999999999999"],
        &["-a", "4294967295"],
        &["-a,,,"],
        &["-i", "0"],
        &["-D", "99999999999999999999d", "-p", "100"],
        &["--secaligned=99999999999999999999", "-c", "9"],
        &["-\u{e9}"],
        &["--=x"],
    ] {
        let answer = finish(command(&home, &link(&home), args));
        assert!([0, 1].contains(&answer.code()), "{args:?}: {answer:#?}");
        assert!(answer.stdout.starts_with("cyclictest V "), "{args:?}");
    }
}
