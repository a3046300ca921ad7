// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The original itself: what it answers, and what ours answers, to the same options.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::common::{Answer, Home, finish, machine, wait_until};
use super::grammar::json_lines;
use super::{bound_by_default, command, link};

/// Returns the original; if there is none, says that the test is skipped.
fn original() -> Option<PathBuf> {
    let path = PathBuf::from("/usr/bin/cyclictest");
    if !path.exists() {
        machine::skip("cyclictest", "there is no /usr/bin/cyclictest");
        return None;
    }
    machine::root().then_some(path)
}

fn run(home: &Home, program: &Path, line: &str) -> Answer {
    let args: Vec<&str> = line.split_whitespace().collect();
    finish(command(home, program, &args))
}

/// Returns the structure of what was printed: runs of digits and blanks are one mark, frames and
/// rows that vary in number are one, and what follows a usage line is left out.
fn structure(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        let mut shape = String::new();
        for c in line.chars() {
            let c = if c.is_ascii_digit() { '0' } else { c };
            let number = c == '0' || c == ' ';
            if number && shape.ends_with('0') && c == '0' {
                continue;
            }
            if c == '0' {
                shape.truncate(shape.trim_end_matches(' ').len());
            }
            shape.push(c);
        }
        // How many did not fit differs from run to run.
        if shape.starts_with("# Thread0:") {
            shape = "# Thread0:".to_owned();
        }
        // So does the number of values and of spikes; rows of threads are counted.
        let counted = shape.starts_with("T:") && !shape.contains("Spike");
        if counted || lines.last() != Some(&shape) {
            lines.push(shape);
        }
    }
    if lines
        .first()
        .is_some_and(|line| line.starts_with("cyclictest V"))
    {
        lines.truncate(3);
        lines[0] = "cyclictest V".to_owned();
    }
    lines
}

/// Options whose frames or values are too many to be compared in their order.
fn as_set(lines: Vec<String>) -> BTreeSet<String> {
    let cut = |line: String| {
        // Whether the original goes back up before it ends is a matter of its timing.
        let line = line.replace("\u{1b}[0A", "");
        let frame = line.find("policy:").map(|at| line[at..].to_owned());
        frame.map_or(line, |frame| {
            frame.split("loadavg").next().unwrap().to_owned()
        })
    };
    lines.into_iter().map(cut).collect()
}

#[test]
fn the_same_options_give_the_same_structure_and_status() {
    let home = Home::new();
    let Some(original) = original() else { return };
    for line in [
        "-q -p 80 -l 20",
        "-q -m -p 80 -t 2 -l 20",
        "-q -p 80 -t2 -a -l 20",
        "-q -p80 -t 2 -a 0-0 -l 20",
        "-Sp 80 -q -l 20",
        "-q -l 20",
        "-q -l 20 -t0",
        "-q -p 80 -l 20 -N",
        "-q -p 80 -l 20 -h 300",
        "-q -p 80 -l 20 -h 300 -t 3",
        "-q -p 80 -l 20 -H 300 -t 2",
        "-q -p 80 -l 20 -H 300",
        "-q -p 80 -l 20 -b 1",
        "-q -p 80 -l 20 -b 10000000",
        "-q -p 80 -l 20 -h 50 -b 1",
        "-q -p 80 -l 20 --spike=1 --spike-nodes=5",
        "-q -p 80 -l 20 --spike=10000000",
        "-p 80 -l 30 -t 2",
        "-p 80 -l 30 --policy=rr",
        "-l 30 --policy=batch",
        "-l 30 --policy=idle",
        "-q -p 80 -l 30 -M",
        "-p 80 -l 20 -h 200",
        "-v -p 80 -l 20 -t 2",
        "-v -p 80 -l 20 -h 20",
        "-v -p 80 -l 20 -o 4",
        "-v -p 80 -l 20 -N",
        "-q -p 80 -l 20 -r",
        "-q -p 80 -l 20 -s",
        "-q -p 80 -l 20 -x",
        "-q -p 80 -l 20 -c 1",
        "-q -p 80 -l 20 -A 100 -t 2",
        "-q -p 80 -l 20 --secaligned=100 -t 2",
        "-q -p 80 -D 1",
        "-q -p 80 -l 20 --laptop",
        "-q -p 80 -l 20 --default-system",
        "-q -p 80 -l 20 --latency=100",
        "-q -p 80 -l 20 --mainaffinity=0",
        "-q -p 80 -l 20 -d 0 -t 2 -i 500 -u",
        "-q -l 20 --priospread -t 3",
        "-q -smp -p 80 -l 20",
        "-q -p 80 -l 20 --histfile=h.txt -h 20",
        "-q -p 80 -l 20 stray",
        "-q -p 100",
        "-q -p -5",
        "-q -h 0",
        "-q -c 7",
        "-q -o 5",
        "-q -a 4095 -l 20",
        "-q --bogus",
        "-q -Z",
        "-q -p",
        "--help",
        "-q -p 80 -l 5 --json=/nonexistent/x",
        "-q -p 80 -l 5 -F /nonexistent/x",
        // Values that are not what they should be.
        "-q -p 80 -D -1",
        "-q -p 80 -D 0 -l 5",
        "-q -o 0 -l 5",
        "-v -o 0 -l 5",
        "-v -o foo -l 5",
        "-v -o -3 -l 5",
        "-q -p 80 -l 20 --mainaffinity=4095",
        "-q -p 80 -l 20 --mainaffinity=foo",
        "-q -p 80 -l 20 --mainaffinity=",
        "-q -p 80 -l 20 -a 0x0",
        "-q -p 80 -l 20 -a0x0",
        "-q -p 80 -l 20 -a 0x4095",
        "-q -p 80 -l 20 -a 00",
        "-q -p 80 -l 20 -a 08",
        "-q -p 80 -l 20 -a 1-0",
        "-q -p 80 -l 20 -a 0,",
        "-q -p 80 -l 20 -a ,0",
        "-q -p 80 -l 20 -a 0-",
        "-q -p 80 -l 20 -a 0:1",
        "-q -p 80 -l 20 -a 0x",
        "-q -p 80 -l 20 -a foo",
        "-q -p 80 -l 20 --affinity=foo",
        "-q -p 80 -l 20 --affinity=",
        "-q -p 80 -l 20 -a -1",
        "-q -p 80 -l 20 -a-1",
        "-q -p 80 -l 20 -a -1 --bogus",
        "-q -p 80 -l 20 -A -5",
        "-q -p 80 -l 20 -A-5 -t 2",
        "-q -p 80 -l 20 -A foo -t 2",
        "-q -p 80 -l 20 -t 2 -A",
        "-q -p 80 -l 20 --aligned -t 2",
        "-q -p 80 -l 20 --secaligned=-5",
        "-q -p 80 -l 20 -t -5",
        "-q -p 80 -l 20 -tfoo",
        "-q -p 80 -l 20 -b foo",
        "-q -p 80 -l 20 -b -5",
        "-q -p 80 -l 20 --spike=foo",
        "-q -p 80 -l 20 --latency=foo",
        "-q -p 80 -l 20 -c foo",
        "-q -p 80 -l 20 -c -1",
        "-q -p 80 -l 20 -h foo",
        "-q -p 80 -l 20 -D foo",
        "-q -p 80 -l 20 --dbg_cyclictest",
    ] {
        let theirs = run(&home, &original, line);
        let ours = run(&home, &link(&home), line);
        assert_eq!(ours.code(), theirs.code(), "{line}: {ours:#?}");
        let (a, b) = (structure(&ours.stdout), structure(&theirs.stdout));
        if line.contains("-q") {
            assert_eq!(a, b, "{line}");
        } else {
            assert_eq!(as_set(a), as_set(b), "{line}");
        }
    }
}

#[test]
fn what_the_original_remarks_on_ours_remarks_on() {
    let home = Home::new();
    let Some(original) = original() else { return };
    for line in [
        "-q -p 0 -l 5",
        "-q --priospread -t 3 -l 5",
        "-q -p 5 --policy=idle -l 5",
        "-q -S -t 3 -l 5",
        "-q -S -a 0 -l 5",
        "-q -l 5 --laptop",
        "-q -l 5 --default-system",
        "-q -l 5 -R",
        "-q -o 5",
        "-q --bogus",
        "-q --p=80",
        "-q -l",
        "-q -l 5 -F /nonexistent/x",
    ] {
        let theirs = run(&home, &original, line);
        let ours = run(&home, &link(&home), line);
        // Up to what is measured or named.
        let prefix = |line: &str| {
            let line = line.trim_start_matches("/usr/bin/");
            line.split(|c: char| c.is_ascii_digit())
                .next()
                .unwrap()
                .to_owned()
        };
        let said: Vec<String> = ours.stderr.lines().map(prefix).collect();
        for remark in theirs.stderr.lines().map(prefix) {
            assert!(said.contains(&remark), "{line}: {remark}: {said:#?}");
        }
    }
}

/// What can be said of the counter of system management interrupts depends on the processor, the driver
/// and the privilege. The original refuses processors that are newer than its list of models.
#[test]
fn a_counter_of_smis_that_cannot_be_read_is_said_as_the_original_says_it() {
    let home = Home::new();
    let Some(original) = original() else { return };
    for line in ["-q --smi -l 5", "--smi -l 5", "--smi -p 0 -t 2 -l 5 -q"] {
        let theirs = run(&home, &original, line);
        let ours = run(&home, &link(&home), line);
        if ours.code() != 0 {
            let before = ours.stderr.split("FATAL").next().unwrap();
            assert!(!before.contains("no priority given"), "{line}: {ours:#?}");
        }
        if theirs.stderr.contains("not supported on this processor") {
            let reason = ["not supported on this processor", "Could not open MSR"];
            let newer = reason.iter().any(|reason| ours.stderr.contains(reason));
            assert!(newer || ours.code() == 0, "{line}: {ours:#?}");
            continue;
        }
        assert_eq!(ours.code(), theirs.code(), "{line}: {ours:#?}");
        if theirs.code() == 0 {
            continue;
        }
        // Ours remarks on more. Of several threads the original says it of each, ours of the first.
        let said: Vec<&str> = ours.stderr.lines().collect();
        for remark in theirs
            .stderr
            .lines()
            .filter(|remark| !remark.contains("/cpu/1/"))
        {
            assert!(said.contains(&remark), "{line}: {remark}: {said:#?}");
        }
        if line.contains("-q") {
            assert_eq!(ours.stdout, theirs.stdout, "{line}");
        }
    }
}

/// As `/proc/PID/stat` has it.
const SCHED_FIFO: u32 = 1;

/// The CPUs that the measuring threads of a running cyclictest are bound to, in the order of their numbers.
fn bound(home: &Home, program: &Path, line: &str) -> Vec<String> {
    let args: Vec<&str> = line.split_whitespace().collect();
    let mut command = command(home, program, &args);
    command
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null());
    let mut child = command.spawn().unwrap();
    let measuring = || {
        let threads = machine::threads(child.id());
        let real_time = threads
            .into_iter()
            .filter(|thread| thread.policy == SCHED_FIFO);
        real_time.map(|thread| thread.cpus).collect::<Vec<_>>()
    };
    assert!(wait_until(|| measuring().len() == 2));
    let cpus = measuring();
    child.kill().unwrap();
    child.wait().unwrap();
    cpus
}

#[test]
fn threads_are_bound_where_the_original_binds_them() {
    let home = Home::new();
    let Some(original) = original() else { return };
    for line in [
        "-q -p 80 -t 2 -D 1h",
        "-q -p 80 -t 2 -a -D 1h",
        "-q -p 80 -t 2 -a 0 -D 1h",
    ] {
        assert_eq!(
            bound(&home, &link(&home), line),
            bound(&home, &original, line),
            "{line}"
        );
    }
}

#[test]
fn what_old_scripts_pass_is_taken_and_ignored() {
    let home = Home::new();
    if !machine::root() {
        return;
    }
    let answer = run(&home, &link(&home), "-q -n --notrace -p 80 -l 20");
    assert_eq!(answer.code(), 0, "{answer:#?}");
    assert!(answer.stdout.contains("T: 0 ("), "{answer:#?}");
}

#[test]
fn a_histogram_that_cannot_be_written_is_an_error_before_the_run() {
    let home = Home::new();
    if !machine::root() {
        return;
    }
    for path in ["/nonexistent/x", "/"] {
        // Without an end: it does not begin.
        let line = format!("-q -p 80 -h 20 --histfile={path}");
        let answer = run(&home, &link(&home), &line);
        assert_eq!((answer.code(), &*answer.stdout), (1, ""), "{answer:#?}");
        let expected = format!("opening histogram file: {path}: ");
        assert!(answer.stderr.contains(&expected), "{answer:#?}");
    }
    // What is there is replaced at the end, whole.
    std::fs::write(home.dir().join("h.txt"), "~".repeat(100_000)).unwrap();
    let answer = run(&home, &link(&home), "-q -p 80 -h 20 -l 20 --histfile=h.txt");
    assert_eq!(answer.code(), 0, "{answer:#?}");
    let text = machine::read(&home.dir().join("h.txt")).unwrap();
    assert!(
        text.starts_with("# Histogram\n") && !text.contains('~'),
        "{text}"
    );
}

#[test]
fn the_files_of_results_keep_their_content_when_the_run_fails() {
    let home = Home::new();
    if !machine::root() {
        return;
    }
    let names = ["x.json", "h.txt"];
    for name in names {
        std::fs::write(home.dir().join(name), "~".repeat(100_000)).unwrap();
    }
    let read = |name: &str| machine::read(&home.dir().join(name)).unwrap();
    let line = "-q -p 80 -l 20 -h 20 --json=x.json --histfile=h.txt";
    // No store can be where a file is.
    let mut failing = command(&home, &link(&home), &[]);
    failing.args(line.split(' ')).arg("--record");
    failing.env("PUNCTUAL_HOME", home.dir().join("h.txt"));
    let answer = finish(failing);
    assert_eq!(answer.code(), 1, "{answer:#?}");
    for name in names {
        assert_eq!(read(name), "~".repeat(100_000), "{name}");
    }
    // And lose all of it when it does not.
    assert_eq!(run(&home, &link(&home), line).code(), 0);
    assert!(names.iter().all(|name| !read(name).contains('~')));
    let _whole: Value = serde_json::from_str(&read("x.json")).unwrap();
}

#[test]
fn debugging_says_what_was_asked_for_in_words() {
    let home = Home::new();
    if !machine::root() {
        return;
    }
    let answer = run(&home, &link(&home), "-q -p 80 -l 20 -t 2 --dbg_cyclictest");
    let bound = if bound_by_default() {
        "bound to CPUs 0"
    } else {
        "not bound to CPUs;"
    };
    assert!(
        answer
            .stderr
            .contains(&format!("DEBUG: threads 2, {bound}")),
        "{answer:#?}"
    );
    let said = "; policy fifo, priority 80; interval 1000 us, distance 500 us; 20 loops;";
    assert!(answer.stderr.contains(said), "{answer:#?}");
    assert!(!answer.stderr.contains('{'), "{answer:#?}");
}

#[test]
fn the_json_has_the_same_keys() {
    let home = Home::new();
    let Some(original) = original() else { return };
    for line in [
        "-q -p 80 -t 2 -l 20 -h 3 --json=x.json",
        "-q -p 80 -N -l 20 -h 9 --json=x.json",
        "-q -p 80 -l 2 -h 9 -b 1 -a 0 --json=x.json",
    ] {
        let text = |program: &Path| -> String {
            run(&home, program, line).fine();
            machine::read(&home.dir().join("x.json")).unwrap()
        };
        // On a busy machine a thread of the original may have no sample, and then no mean: `-nan`.
        let whole = |text: &String| !text.contains("nan");
        let Some(theirs) = (0..20).map(|_| text(&original)).find(whole) else {
            machine::skip("cyclictest", "no thread of /usr/bin/cyclictest gets to run");
            continue;
        };
        let ours = text(&link(&home));
        assert_eq!(json_lines(&ours), json_lines(&theirs), "{line}");
        let read = |text: &str| -> Value { serde_json::from_str(text).unwrap() };
        let (theirs, ours) = (read(&theirs), read(&ours));
        assert_eq!(keys(&ours), keys(&theirs), "{line}");
        assert_eq!(ours["resolution_in_ns"], theirs["resolution_in_ns"]);
    }
}

/// Returns the path and type of every value but those of single buckets.
fn keys(document: &Value) -> BTreeSet<String> {
    fn walk(value: &Value, path: &str, out: &mut BTreeSet<String>) {
        match value {
            Value::Object(map) if !path.ends_with("histogram") => {
                for (key, value) in map {
                    walk(value, &format!("{path}/{key}"), out);
                }
            }
            Value::Object(_) => drop(out.insert(path.to_owned())),
            Value::Number(_) => drop(out.insert(format!("{path} number"))),
            Value::String(_) => drop(out.insert(format!("{path} string"))),
            other => panic!("{path}: {other}"),
        }
    }
    let mut out = BTreeSet::new();
    walk(document, "", &mut out);
    out
}
