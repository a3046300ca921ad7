// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What the tests of the program share: a store of their own, the program's answers, the machine.
#![expect(clippy::unwrap_used, reason = "test helpers")]

pub(crate) mod machine;
pub(crate) mod stored;

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use self::machine::Turn;

/// What takes longer than this hangs. No machine is so busy: nothing that a test asserts depends on how long it is.
pub(crate) const HANG: Duration = Duration::from_secs(1_800);

/// The duration of a measurement, load or command that ends before its time: longer than [`HANG`], so that a test that waits
/// for its end cannot take the end of the time for it.
pub(crate) const LONGER: &str = "3h";

/// A quick measurement that needs no privilege and holds nothing.
pub(crate) const QUICK: [&str; 8] = [
    "measure",
    "wakeup",
    "--priority=o",
    "--dma-latency=off",
    "--threads=1",
    "--samples=20",
    "--quiet",
    "--json",
];

/// A store of a test's own. It, and what it wrote, is gone when this is dropped.
#[derive(Debug)]
pub(crate) struct Home {
    dir: TempDir,
    turn: Option<Turn>,
    /// Whether CPUs may go offline while its test measures.
    aside: bool,
}

impl Home {
    /// Makes a store beside which other tests may run.
    pub(crate) fn new() -> Self {
        Self::with(Some(Turn::beside_others()))
    }

    /// Makes a store of a test that must have the machine to itself, as far as our tests go.
    pub(crate) fn alone() -> Self {
        Self::with(Some(Turn::alone()))
    }

    /// Makes a store of a test that only computes, measures in guests, or measures with ordinary threads what need not be valid: whoever runs alone does not notice it, and what that one
    /// changes meanwhile (throttling, which CPUs are online) is nothing to it.
    pub(crate) fn aside() -> Self {
        let mut home = Self::with(Some(Turn::aside()));
        home.aside = true;
        home
    }

    /// Lets tests run that want to be alone: what is left only computes.
    pub(crate) fn gives_way(&mut self) {
        machine::yields();
        self.turn = None;
    }

    fn with(turn: Option<Turn>) -> Self {
        Self {
            dir: tempfile::Builder::new()
                .prefix("punctual-test-")
                .permissions(std::fs::Permissions::from_mode(0o755))
                .tempdir()
                .unwrap(),
            turn,
            aside: false,
        }
    }

    /// Returns a directory beside the store, for a test's other files.
    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// Returns the store.
    pub(crate) fn store(&self) -> PathBuf {
        self.dir().join("store")
    }

    /// Returns the directory of the runs.
    pub(crate) fn runs_dir(&self) -> PathBuf {
        self.store().join("runs")
    }

    /// Returns a command that starts the program on this store.
    pub(crate) fn command<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Command {
        let mut command = Command::new(program());
        command
            .args(args)
            .env("PUNCTUAL_HOME", self.store())
            .stdin(Stdio::null());
        command
    }

    /// Runs the program to its end.
    pub(crate) fn run<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Answer {
        finish(self.command(args))
    }

    /// Starts the program, its output kept for [`Running::wait`].
    pub(crate) fn start<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Running {
        Running::start(self.command(args))
    }

    /// Measures quickly with further options, and returns the record.
    pub(crate) fn quick(&self, args: &[&str]) -> Value {
        // No thread is bound to a CPU that may be gone when it is.
        let anywhere = self.aside.then_some("--pin=none");
        self.run(QUICK.iter().chain(args).chain(anywhere.iter()))
            .record()
    }

    /// Measures with `args`, and returns the record.
    pub(crate) fn measure(&self, args: &str) -> Value {
        self.run(measure_args(args)).record()
    }

    /// Lists the runs.
    pub(crate) fn list(&self) -> Vec<Value> {
        let answer = self.run(["runs", "list", "--json"]);
        answer.fine().json()["runs"].as_array().unwrap().clone()
    }

    /// Exports the last run's samples: thread, CPU, time, latency.
    pub(crate) fn samples(&self) -> Vec<[u64; 4]> {
        let answer = self.run(["runs", "export", "last", "--format", "csv"]);
        let mut lines = answer.fine().stdout.lines();
        assert_eq!(lines.next(), Some("thread,cpu,t_ns,latency_ns"));
        lines
            .map(|line| {
                let row: Vec<u64> = line.split(',').map(|n| n.parse().unwrap()).collect();
                row.try_into().unwrap()
            })
            .collect()
    }
}

/// Returns the program.
pub(crate) fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_punctual"))
}

/// Splits the options of a measurement whose record is printed.
pub(crate) fn measure_args(args: &str) -> Vec<&str> {
    ["measure", "wakeup", "--quiet", "--json"]
        .into_iter()
        .chain(args.split_whitespace())
        .collect()
}

/// Runs `command` to its end.
pub(crate) fn finish(command: Command) -> Answer {
    let output = assert_cmd::Command::from_std(command)
        .timeout(HANG)
        .output()
        .unwrap();
    Answer::of(output)
}

/// What the program said.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Answer {
    fn of(output: Output) -> Self {
        let answer = Self {
            status: output.status,
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        };
        assert!(!answer.stderr.contains("panicked"), "{answer:#?}");
        let mut hints = answer.stderr.lines().filter(|l| l.starts_with("Hint: "));
        let gap = hints.find(|hint| hint.contains("  "));
        assert!(gap.is_none(), "a gap in a hint: {answer:#?}");
        answer
    }

    /// Returns the exit status.
    pub(crate) fn code(&self) -> i32 {
        let code = self.status.code();
        code.unwrap_or_else(|| panic!("ended by signal {:?}: {self:#?}", self.status.signal()))
    }

    /// Requires success.
    pub(crate) fn fine(&self) -> &Self {
        assert_eq!(self.code(), 0, "{self:#?}");
        self
    }

    /// Requires that an experiment was carried out. On a busy machine a cell may have no valid run.
    pub(crate) fn carried_out(&self) -> &Self {
        let is_whole = self.code() == 0 || (self.code() == 1 && !self.stderr.contains("Error: "));
        assert!(is_whole, "{self:#?}");
        self
    }

    /// Requires one error that ends with `code` and says each of `parts`.
    pub(crate) fn error(&self, code: i32, parts: &[&str]) -> &Self {
        assert_eq!(self.code(), code, "{self:#?}");
        let errors = |line: &&str| line.to_lowercase().starts_with("error");
        let lines: Vec<&str> = self.stderr.lines().filter(errors).collect();
        assert_eq!(lines.len(), 1, "one error: {self:#?}");
        assert!(lines[0].starts_with("Error: "), "{self:#?}");
        for part in parts {
            assert!(self.stderr.contains(part), "`{part}` is not in {self:#?}");
        }
        self
    }

    /// Requires a hint.
    pub(crate) fn hinted(&self) -> &Self {
        assert!(self.stderr.contains("\nHint: "), "no hint: {self:#?}");
        self
    }

    /// Reads standard output as one JSON document.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|err| panic!("{err}: {self:#?}"))
    }

    /// Reads standard output as the record of a run that agrees with the exit status.
    pub(crate) fn record(&self) -> Value {
        let record = self.json();
        assert_sound(&record);
        let expected = match (record["ended"].as_str(), record["valid"].as_bool()) {
            (Some("threshold"), Some(true)) => 3,
            (_, Some(true)) if is_missed(&record) => 3,
            (_, Some(true)) => 0,
            _ => 1,
        };
        assert_eq!(self.code(), expected, "{self:#?}");
        record
    }
}

/// Whether a deadline that was given as a time was missed, other than one that a requirement judges.
fn is_missed(record: &Value) -> bool {
    let own = &record["setup"]["options"]["deadline"];
    if own.as_str().is_some_and(|own| own.starts_with("auto")) {
        return false;
    }
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let judged: Vec<Value> = list(&record["requirements"])
        .iter()
        .map(|requirement| requirement["limit_ns"].clone())
        .collect();
    let mut counted = list(&record["series"]);
    counted.push(record["total"].clone());
    let mut misses = counted.iter().flat_map(|series| list(&series["misses"]));
    misses.any(|misses| {
        let later = misses["count"].as_u64().unwrap() + misses["overruns"].as_u64().unwrap();
        later > 0 && !judged.contains(&misses["deadline_ns"])
    })
}

/// Requires what holds for every record: it is valid if, and only if, every check passed.
pub(crate) fn assert_sound(record: &Value) {
    let checks = record["checks"].as_array().unwrap();
    assert!(checks.len() >= 10, "{checks:#?}");
    let all = checks.iter().all(|check| check["status"] == "pass");
    assert_eq!(record["valid"], all, "{checks:#?}");
    // The total is of one kind of series, where there are several.
    let series = record["series"].as_array().unwrap();
    let sum = |kind: &Value| -> u64 {
        let of_kind = series.iter().filter(|s| s["context"] == *kind);
        of_kind.map(|s| s["count"].as_u64().unwrap()).sum()
    };
    let fits = |s: &Value| record["total"]["count"] == sum(&s["context"]);
    let none = series.is_empty() && record["total"]["count"] == 0;
    assert!(none || series.iter().any(fits), "{series:#?}");
}

/// A started program. Killed when this is dropped.
#[derive(Debug)]
pub(crate) struct Running(Option<Child>);

impl Running {
    /// Starts `command`.
    pub(crate) fn start(mut command: Command) -> Self {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        Self(Some(command.spawn().unwrap()))
    }

    /// Returns its process number.
    pub(crate) fn id(&self) -> u32 {
        self.0.as_ref().unwrap().id()
    }

    /// Whether it goes on.
    pub(crate) fn is_alive(&mut self) -> bool {
        self.0.as_mut().unwrap().try_wait().unwrap().is_none()
    }

    /// Sends it a signal, such as `INT`.
    pub(crate) fn signal(&self, signal: &str) {
        machine::signal(signal, &self.id().to_string());
    }

    /// Waits for its end.
    pub(crate) fn wait(mut self) -> Answer {
        let child = self.0.take().unwrap();
        let pid = child.id().to_string();
        let (send, receive) = mpsc::channel();
        std::thread::spawn(move || send.send(child.wait_with_output()));
        let Ok(output) = receive.recv_timeout(HANG) else {
            machine::signal("KILL", &pid);
            panic!("it does not end");
        };
        Answer::of(output.unwrap())
    }

    /// Waits until its measuring threads are there.
    pub(crate) fn measuring(mut self) -> Self {
        let pid = self.id();
        let there = wait_until(|| {
            if !self.is_alive() {
                let said = self.0.take().map(Child::wait_with_output);
                panic!("it ended before it measured: {said:?}");
            }
            machine::threads(pid).iter().any(|t| t.name == "recorder")
        });
        assert!(there, "it does not measure");
        self
    }
}

/// A started program that is heard line by line. Killed when this is dropped.
#[derive(Debug)]
pub(crate) struct Saying {
    running: Running,
    lines: mpsc::Receiver<String>,
    said: String,
}

impl Saying {
    /// Starts `command`.
    pub(crate) fn start(command: Command) -> Self {
        let mut running = Running::start(command);
        let output = running.0.as_mut().and_then(|child| child.stdout.take());
        let (send, lines) = mpsc::channel();
        std::thread::spawn(move || {
            let lines = BufReader::new(output.unwrap()).lines();
            // Who hears nobody any more does not read on.
            drop(
                lines
                    .map_while(Result::ok)
                    .try_for_each(|line| send.send(line)),
            );
        });
        Self {
            running,
            lines,
            said: String::new(),
        }
    }

    /// Waits until it has said `text`.
    pub(crate) fn says(&mut self, text: &str) {
        while !self.said.contains(text) {
            let Ok(line) = self.lines.recv_timeout(HANG) else {
                panic!("`{text}` is not in {}", self.said);
            };
            self.said += &line;
            self.said.push('\n');
        }
    }

    /// Kills it.
    pub(crate) fn kill(self) {
        self.running.signal("KILL");
    }

    /// Asks loads to end, and returns all that they said.
    pub(crate) fn ends_when_asked(mut self) -> String {
        self.running.signal("INT");
        while let Ok(line) = self.lines.recv_timeout(HANG) {
            self.said += &line;
            self.said.push('\n');
        }
        let answer = self.running.wait();
        assert!(worked(&answer), "{answer:#?}");
        self.said
    }
}

/// Whether loads alone did their work, or at worst were kept from it by others for a while, and said so.
pub(crate) fn worked(answer: &Answer) -> bool {
    let kept = ["no work for ", "it never reported"];
    answer.code() == 0 || answer.code() == 1 && kept.iter().any(|why| answer.stderr.contains(why))
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            drop(child.kill());
            drop(child.wait());
        }
    }
}

/// Waits until `condition` holds; returns whether it does, which it never will after [`HANG`].
pub(crate) fn wait_until(mut condition: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + HANG;
    loop {
        if condition() {
            return true;
        }
        if Instant::now() >= end {
            return false;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}
