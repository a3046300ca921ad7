// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `cmd:`: a program of the user's as a load.

use std::time::{Duration, Instant};

use super::{MEASURE, allowed_cpu};
use crate::common::{Home, LONGER, machine, wait_until, worked};

/// A program that has worked for a moment before it ends may have been taken for a load, where that moment is a long one.
#[test]
fn a_program_that_is_no_load_is_one_error_before_anything_starts_or_makes_the_run_invalid() {
    let home = Home::new();
    let mut started = 0;
    for (load, part) in [
        ("cmd:false", "cmd:false: ended with exit status 1"),
        ("cmd:exit 0", "cmd:exit 0: ended with exit status 0"),
        ("cmd:no-such-program", "no-such-program: not found"),
        ("cmd:kill -KILL $$", "exit status 137 (signal 9)"),
    ] {
        home.run(["load", load]).error(1, &[part]);
        let args = format!("{MEASURE} --samples 5 --load");
        let answer = home.run(args.split_whitespace().chain([load]));
        if answer.stdout.is_empty() {
            answer.error(1, &[part]);
            continue;
        }
        started += 1;
        assert_eq!(answer.record()["valid"], false);
        assert!(answer.stderr.contains(part), "{part}: {answer:#?}");
    }
    assert_eq!(home.list().len(), started);
    assert!(machine::processes_of(&home.store()).is_empty());
}

#[test]
fn a_program_that_ends_during_the_run_makes_it_invalid() {
    let home = Home::new();
    let over = home.dir().join("over");
    let load = format!(
        "cmd:until [ -e {} ]; do :; done; echo no more >&2; exit 3",
        over.display()
    );
    let args = format!("{MEASURE} --duration {LONGER} --load");
    let running = home
        .start(args.split_whitespace().chain([load.as_str()]))
        .measuring();
    std::fs::write(over, "").unwrap();
    let ended = || machine::processes_of(&home.store()).len() == 2;
    assert!(wait_until(ended));
    running.signal("INT");
    let record = running.wait().record();
    assert_eq!(record["valid"], false);
    let fault = record["loads"][0]["fault"].as_str().unwrap();
    assert_eq!(fault, "ended with exit status 3: no more");
}

#[test]
fn a_program_says_itself_what_its_work_is() {
    let home = Home::new();
    let load = "cmd:n=0; while :; do n=$((n+7)); echo work $n frames; sleep 0.02; done";
    let mut milliseconds = 2_500;
    // Longer, where others keep it from all work for so long.
    let did = loop {
        let args = format!("{MEASURE} --duration {milliseconds}ms --load");
        let begun = Instant::now();
        let record = home.run(args.split_whitespace().chain([load])).json();
        let did = record["loads"][0].clone();
        let fault = did["fault"].as_str();
        let spoiled =
            |fault: &str| fault.starts_with("no work for ") || fault == "it never reported";
        assert!(fault.is_none_or(spoiled), "{did:#}");
        let work = did["work"].as_f64().unwrap();
        // At most 50 times 7 a second.
        assert!(work <= 350.0 * begun.elapsed().as_secs_f64(), "{did:#}");
        if work > 0.0 && did["seconds"].as_array().unwrap().len() >= 2 {
            break did;
        }
        milliseconds *= 2;
    };
    assert_eq!(did["unit"], "frames");
    assert_eq!(did["work"].as_f64().unwrap() % 7.0, 0.0, "{did:#}");
}

#[test]
fn what_a_program_did_before_it_said_so_is_no_work_of_the_run() {
    let home = Home::aside();
    let speak = home.dir().join("speak");
    let load = format!(
        "cmd:until [ -e {} ]; do :; done; n=7000000; \
         while :; do n=$((n+7)); echo work $n frames; sleep 0.02; done",
        speak.display()
    );
    let args = format!("{MEASURE} --duration {LONGER} --load");
    let mut span = Duration::from_secs(2);
    // Longer, where others keep it from all words for so long.
    let did = loop {
        let running = home
            .start(args.split_whitespace().chain([load.as_str()]))
            .measuring();
        std::fs::write(&speak, "").unwrap();
        std::thread::sleep(span);
        running.signal("INT");
        let did = running.wait().record()["loads"][0].clone();
        if did["unit"] == "frames" {
            break did;
        }
        std::fs::remove_file(&speak).unwrap();
        span *= 2;
    };
    assert!(did["work"].as_f64().unwrap() < 7_000_000.0, "{did:#}");
}

#[test]
fn a_program_runs_where_and_as_it_is_told_and_rests() {
    let home = Home::new();
    let cpu = allowed_cpu();
    // Not nicer: beside other work that would be a load that does nothing for a second, which is an error.
    let load = format!("cmd:while :; do :; done@cpus={cpu}@nice=2@intensity=20%");
    let mut running = home.start(["load", "--duration", LONGER, "--json", &load]);
    let program = || {
        let all = machine::processes_of(&home.store()).into_iter();
        all.map(|pid| (pid, machine::threads(pid)))
            .find(|(_, threads)| threads.iter().any(|thread| thread.name == "sh"))
    };
    assert!(wait_until(|| program().is_some()));
    let (pid, threads) = program().unwrap();
    assert_eq!((threads[0].nice, &threads[0].cpus), (2, &cpu));
    let stopped = || machine::status(format!("/proc/{pid}/status"), "State").starts_with('T');
    assert!(wait_until(stopped), "it never rests");
    assert!(wait_until(|| !stopped()), "it never goes on");
    std::thread::sleep(Duration::from_secs(2));
    assert!(running.is_alive());
    running.signal("INT");
    let answer = running.wait();
    assert!(worked(&answer), "{answer:#?}");
    let report = answer.json();
    // A fifth of the time. Where whoever stops it has to wait for a CPU, it may be more, but never all of it.
    let rate = report["loads"][0]["per_second"].as_f64();
    assert!(rate.is_none_or(|rate| rate < 950.0), "{report:#}");
    assert!(machine::processes_of(&home.store()).is_empty());
}

#[test]
fn a_program_may_clear_away_its_files_at_the_end() {
    let home = Home::new();
    let file = home.dir().join("file");
    let path = file.display();
    let load =
        format!("cmd:trap 'rm -f {path}; exit' TERM; touch {path}; while :; do sleep 0.01; done");
    let args = format!("{MEASURE} --duration 500ms --load");
    // It has a second for that, which may be too little where others have the processor: then it is killed.
    let cleared = |end: &dyn Fn()| {
        wait_until(|| {
            drop(std::fs::remove_file(&file));
            end();
            !file.exists()
        })
    };
    assert!(cleared(&|| {
        home.run(args.split_whitespace().chain([&*load])).record();
    }));
    assert!(cleared(&|| {
        let alone = home.run(["load", "--duration", "500ms", &load]);
        assert!(worked(&alone), "{alone:#?}");
    }));
}
