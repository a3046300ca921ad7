// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Other programs that measure for us, attended as our own threads are.

use std::collections::BTreeSet;
use std::io::{self, BufRead as _, BufReader, Read, Write as _};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use punctual_model::{Check, CpuSet, Policy, Progress};
use punctual_sys::child::{Bounds, TiedChild};
use punctual_sys::thread::is_users_own_right;
use punctual_sys::{SysRoot, proc, sched};

use crate::error::MeasureError;
use crate::frame::Frame;

/// Time between two looks at the clocks while a program works.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Time that a program has to end once it has closed its output.
const PATIENCE: Duration = Duration::from_secs(10);

/// What is kept of its standard error: the end of it.
const KEPT_BYTES: usize = 4_096;

/// Time between two looks at a program's threads.
const THREADS_EVERY: Duration = Duration::from_secs(1);

/// Looks at a program's threads before they become rare: a program starts its threads one after the other, and one
/// that runs for less than [`THREADS_EVERY`] has them too.
const FIRST_LOOKS: u32 = 20;

/// What the kernel said of a program's threads, each time it was asked.
#[derive(Clone, Debug, Default)]
pub(crate) struct Threads {
    /// Times that at least one was seen.
    looks: u32,
    /// The most that were seen at once.
    most: usize,
    /// The fewest that must have been seen at once, where that is known.
    expected: usize,
    /// The most of the start in which the fewest were seen, where that is not enough.
    missing: Option<usize>,
    /// Those that ran otherwise than they should, all looks together.
    wrong: usize,
    policies: BTreeSet<String>,
}

/// A program at work. It and what it started is gone when this is dropped.
#[derive(Debug)]
pub(crate) struct Program {
    name: String,
    child: TiedChild,
    lines: Receiver<String>,
    policy: Option<Policy>,
    cpus: Option<CpuSet>,
    threads: Threads,
    looked: Instant,
    complaints: Option<JoinHandle<String>>,
}

/// What a program answered.
#[derive(Debug, Eq, PartialEq)]
pub(crate) enum Answer {
    /// A line of its output.
    Line(String),
    /// It has closed its output.
    End,
    /// The run is to end first.
    Stopped,
}

impl Program {
    /// Starts `command`, called `name` in errors, within `bounds`.
    ///
    /// # Errors
    ///
    /// [`MeasureError::Unsupported`] with `hint` when there is no such program, and where the policy is a privilege of
    /// our file and not of who runs it.
    pub(crate) fn start(
        name: &str,
        command: &mut Command,
        bounds: &Bounds,
        hint: &str,
    ) -> Result<Self, MeasureError> {
        if let Some(policy) = bounds.policy.filter(|policy| !is_users_own_right(*policy)) {
            return Err(MeasureError::Unsupported {
                what: format!("{name}: {}", not_lent(policy)),
                hint: None,
            });
        }
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = TiedChild::start(command, bounds)
            .map_err(|err| not_started(name, bounds, hint, &err))?;
        let process = child.process();
        let (out, err) = (process.stdout.take(), process.stderr.take());
        let (send, lines) = channel();
        Builder::new()
            .name("answers".to_owned())
            .spawn(move || {
                let lines = out.into_iter().flat_map(|out| BufReader::new(out).lines());
                for line in lines.map_while(Result::ok) {
                    if send.send(line).is_err() {
                        return;
                    }
                }
            })
            .map_err(MeasureError::Spawn)?;
        let complaints = Builder::new()
            .name("complaints".to_owned())
            .spawn(move || err.map_or_else(String::new, |mut err| tail(&mut err)))
            .map_err(MeasureError::Spawn)?;
        Ok(Self {
            name: name.to_owned(),
            child,
            lines,
            policy: bounds.policy,
            cpus: bounds.cpus.clone(),
            threads: Threads::default(),
            looked: Instant::now(),
            complaints: Some(complaints),
        })
    }

    /// Reads back what the kernel says of each thread of the program. It is done now and then while it is waited
    /// for, so this is for programs that answer at once.
    pub(crate) fn look_at_threads(&mut self, sys: &SysRoot) {
        self.looked = Instant::now();
        let own = self.child.process().id();
        let mut seen = 0;
        // What it starts is to run as it was started itself: the work of a script is done by others.
        for tid in std::iter::once(own)
            .chain(proc::below(sys, own))
            .flat_map(|pid| threads_of(sys, pid))
        {
            let status = sys.read(&format!("/proc/{tid}/status"));
            let (Ok(policy), Ok(status)) = (sched::policy_of(tid), status) else {
                // It has ended since its name was read.
                continue;
            };
            seen += 1;
            self.threads.policies.insert(policy.to_string());
            let on = status
                .lines()
                .find_map(|l| l.strip_prefix("Cpus_allowed_list:"));
            let on: Option<CpuSet> = on.and_then(|list| list.trim().parse().ok());
            let inside = |cpus: &CpuSet| on.as_ref().is_some_and(|on| on.without(cpus).is_empty());
            let right = self.policy.is_none_or(|asked| asked == policy)
                && self.cpus.as_ref().is_none_or(inside);
            self.threads.wrong += usize::from(!right);
        }
        self.threads.looks += u32::from(seen > 0);
        self.threads.most = self.threads.most.max(seen);
    }

    /// Says how many threads the program must have at some time.
    pub(crate) const fn expect_threads(&mut self, expected: usize) {
        self.threads.expected = expected;
    }

    /// Returns what was seen of its threads.
    pub(crate) fn threads(&self) -> Threads {
        let mut threads = self.threads.clone();
        threads.missing = (threads.most < threads.expected).then_some(threads.most);
        threads
    }

    /// Writes a line to the program. If it does not take it, its end shows that.
    pub(crate) fn say(&mut self, line: &str) {
        if let Some(input) = self.child.process().stdin.as_mut() {
            drop(writeln!(input, "{line}"));
            drop(input.flush());
        }
    }

    /// Closes what the program reads.
    pub(crate) fn close(&mut self) {
        drop(self.child.process().stdin.take());
    }

    /// Waits for the next line, looking at the frame meanwhile.
    pub(crate) fn answer(
        &mut self,
        frame: &mut Frame<'_>,
        mut progress: impl FnMut() -> Progress,
    ) -> Answer {
        loop {
            let answer = self.lines.recv_timeout(LOOK_EVERY);
            frame.look(&mut progress);
            match answer {
                Ok(line) => return Answer::Line(line),
                Err(RecvTimeoutError::Disconnected) => return Answer::End,
                Err(RecvTimeoutError::Timeout) => {}
            }
            if frame.is_stopped() {
                return Answer::Stopped;
            }
            if self.threads.looks < FIRST_LOOKS || self.looked.elapsed() >= THREADS_EVERY {
                self.look_at_threads(frame.sys());
            }
        }
    }

    /// Reads to the end of what the program prints; `None` where the run is to end first.
    pub(crate) fn all(
        &mut self,
        frame: &mut Frame<'_>,
        mut progress: impl FnMut() -> Progress,
    ) -> Option<Vec<String>> {
        self.close();
        let mut lines = Vec::new();
        loop {
            match self.answer(frame, &mut progress) {
                Answer::Line(line) => lines.push(line),
                Answer::End => return Some(lines),
                Answer::Stopped => return None,
            }
        }
    }

    /// Waits for the end of a program that has closed its output, and takes a bad end as an error.
    ///
    /// # Errors
    ///
    /// [`MeasureError::Program`] with the last that it said to its standard error.
    pub(crate) fn finish(mut self) -> Result<(), MeasureError> {
        match self.end() {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => {
                let reason = how(status);
                Err(self.failed(&reason))
            }
            Err(reason) => Err(self.failed(&reason)),
        }
    }

    /// Returns that the program failed for `reason`, with the last that it said to its standard error.
    pub(crate) fn failed(mut self, reason: &str) -> MeasureError {
        let program = std::mem::take(&mut self.name);
        let complaints = self.complaints.take();
        // The reader ends with the program.
        drop(self);
        let said = complaints.and_then(|reader| reader.join().ok());
        let said = said.as_deref().and_then(|said| {
            let mut lines = said.lines().map(str::trim);
            lines.rfind(|line| !line.is_empty())
        });
        let reason = match said {
            Some(said) => format!("{reason}: {said}"),
            None => reason.to_owned(),
        };
        MeasureError::Program { program, reason }
    }

    fn end(&mut self) -> Result<ExitStatus, String> {
        match self.child.wait(PATIENCE) {
            Ok(Some(status)) => Ok(status),
            Ok(None) => Err("does not end".to_owned()),
            Err(err) => Err(format!("cannot be waited for: {err}")),
        }
    }
}

impl Threads {
    /// Adds what was seen of another start of the program.
    pub(crate) fn add(&mut self, other: &Self) {
        self.looks += other.looks;
        self.most = self.most.max(other.most);
        self.expected = self.expected.max(other.expected);
        self.missing = match (self.missing, other.missing) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        self.wrong += other.wrong;
        self.policies.extend(other.policies.iter().cloned());
    }

    /// Judges whether all ran with `policy` on `cpus`, as they were started.
    pub(crate) fn check(&self, program: &str, policy: Policy, cpus: &CpuSet) -> Check {
        const ID: &str = "program-threads";
        let (looks, most) = (self.looks, self.most);
        let asked = format!("with {policy} on CPUs {cpus}");
        if looks == 0 {
            return Check::unknown(ID, format!("no threads of {program} were seen"));
        }
        if let Some(missing) = self.missing.filter(|_| self.wrong == 0) {
            let expected = self.expected;
            return Check::unknown(
                ID,
                format!(
                    "only {missing} of at least {expected} threads of {program} seen at once, all {asked}"
                ),
            );
        }
        if self.wrong == 0 {
            let detail = format!(
                "threads of {program} seen at once: {most}; in each of {looks} checks all {asked}"
            );
            return Check::pass(ID, detail);
        }
        let policies: Vec<&str> = self.policies.iter().map(String::as_str).collect();
        let wrong = self.wrong;
        Check::fail(
            ID,
            format!(
                "threads of {program} seen at once: {most}; {wrong} times one did not run {asked} ({looks} checks); \
                 policies seen: {}",
                policies.join(", ")
            ),
        )
    }
}

/// Says why a program could not be started within `bounds`: what is refused before its exec(2) is no fault of it.
fn not_started(name: &str, bounds: &Bounds, hint: &str, err: &io::Error) -> MeasureError {
    if err.kind() == io::ErrorKind::NotFound {
        return MeasureError::Unsupported {
            what: format!("{name} is not installed"),
            hint: Some(hint.to_owned()),
        };
    }
    if let Some(policy) = bounds.policy
        && let Err(source) = sched::tried(policy, bounds.cpus.as_ref())
    {
        return MeasureError::Policy { policy, source };
    }
    MeasureError::Program {
        program: name.to_owned(),
        reason: format!("cannot be started: {err}"),
    }
}

/// Says why a program that somebody names does not get `policy`: a privilege that comes from our file is everybody's
/// who may run the file, so it is only for what we do ourselves.
pub(crate) fn not_lent(policy: Policy) -> String {
    let limit = match policy {
        Policy::Deadline { .. } => "",
        Policy::Fifo { .. } | Policy::RoundRobin { .. } => {
            ", or raise your own limit on real-time priority (ulimit -r, limits.conf(5))"
        }
        _ => ", or raise your own limit on niceness (ulimit -e, limits.conf(5))",
    };
    format!(
        "{} ({policy}) is refused for programs that you name, because only the file capability of \
         punctual allows it; run it with sudo{limit}",
        policy.kernel_name()
    )
}

/// Returns the numbers of a process's threads.
fn threads_of(sys: &SysRoot, pid: u32) -> Vec<i32> {
    let names = sys.names(&format!("/proc/{pid}/task")).unwrap_or_default();
    names.iter().filter_map(|name| name.parse().ok()).collect()
}

/// Says how a program ended.
fn how(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt as _;
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit status {code}"),
        (None, Some(signal)) => format!("killed by signal {signal}"),
        (None, None) => "ended".to_owned(),
    }
}

/// Reads to the end and returns the last of it.
fn tail(from: &mut impl Read) -> String {
    let mut kept = Vec::new();
    let mut part = [0; 1_024];
    while let Ok(read @ 1..) = from.read(&mut part) {
        kept.extend_from_slice(&part[..read]);
        let excess = kept.len().saturating_sub(KEPT_BYTES);
        kept.drain(..excess);
    }
    String::from_utf8_lossy(&kept).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{Found, testing};

    fn shell(script: &str) -> Program {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Program::start("sh", &mut command, &Bounds::default(), "").unwrap()
    }

    /// Reads all lines that `program` answers.
    fn lines(program: &mut Program) -> Vec<String> {
        let mut lines = Vec::new();
        testing::run(|frame| {
            while let Answer::Line(line) = program.answer(frame, Progress::default) {
                lines.push(line);
            }
            Ok(Found::default())
        })
        .unwrap();
        lines
    }

    #[test]
    fn a_program_is_told_and_answers_and_ends() {
        let mut program = shell("read a; read b; echo $b $a");
        program.say("one");
        program.say("two");
        program.close();
        assert_eq!(lines(&mut program), ["two one"]);
        program.finish().unwrap();
    }

    #[test]
    fn a_bad_end_is_told_with_the_last_complaint() {
        let mut program = shell("echo fine; echo first >&2; echo 'no luck' >&2; exit 3");
        assert_eq!(lines(&mut program), ["fine"]);
        let err = program.finish().unwrap_err();
        assert_eq!(err.to_string(), "sh: exit status 3: no luck");
        let mut killed = shell("kill -9 $$");
        assert!(lines(&mut killed).is_empty());
        assert_eq!(
            killed.finish().unwrap_err().to_string(),
            "sh: killed by signal 9"
        );
    }

    #[test]
    fn a_program_that_is_not_there_is_unsupported() {
        let mut command = Command::new("/no/such/program");
        let result = Program::start("it", &mut command, &Bounds::default(), "get it");
        let err = result.unwrap_err();
        assert!(err.is_unsupported());
        assert_eq!(err.to_string(), "it is not installed");
    }

    #[test]
    fn a_wish_to_stop_is_heard_while_a_program_says_nothing() {
        let mut program = shell("exec sleep 600");
        testing::run(|frame| {
            frame
                .stop_flag()
                .store(true, std::sync::atomic::Ordering::Relaxed);
            let answer = program.answer(frame, Progress::default);
            assert_eq!(answer, Answer::Stopped);
            Ok(Found::default())
        })
        .unwrap();
    }

    #[test]
    fn threads_that_run_otherwise_are_seen() {
        let one: CpuSet = sched::affinity().unwrap().iter().take(1).collect();
        let bounds = Bounds {
            cpus: Some(one.clone()),
            policy: Some(Policy::Batch),
        };
        let mut command = Command::new("sleep");
        command.arg("600");
        let mut program = Program::start("sleep", &mut command, &bounds, "").unwrap();
        let sys = SysRoot::live();
        program.look_at_threads(&sys);
        let check = program.threads().check("sleep", Policy::Batch, &one);
        assert!(check.passed(), "{check:?}");
        // As if the program had changed it.
        program.policy = Some(Policy::Fifo { priority: 1 });
        program.look_at_threads(&sys);
        let check = program.threads().check("sleep", Policy::Batch, &one);
        assert!(
            check.detail.contains("1 times one did not run"),
            "{check:?}"
        );
        let none = Threads::default().check("sleep", Policy::Batch, &one);
        assert_eq!(none.status, punctual_model::CheckStatus::Unknown);
    }

    #[test]
    fn threads_that_were_not_seen_are_not_vouched_for() {
        let one: CpuSet = sched::affinity().unwrap();
        let mut program = shell("exec sleep 600");
        let mut all = Threads::default();
        for (expected, passed) in [(1, true), (3, false), (1, false)] {
            program.expect_threads(expected);
            program.look_at_threads(&SysRoot::live());
            all.add(&program.threads());
            let check = all.check("sleep", Policy::Other { nice: 0 }, &one);
            assert_eq!(check.passed(), passed, "{check:?}");
        }
        let check = all.check("sleep", Policy::Other { nice: 0 }, &one);
        assert!(
            check.detail.contains("only 1 of at least 3 threads"),
            "{check:?}"
        );
    }

    #[test]
    fn only_the_end_of_much_is_kept() {
        let text = "x".repeat(100_000) + "\nlast";
        let kept = tail(&mut text.as_bytes());
        assert!(kept.len() <= KEPT_BYTES && kept.ends_with("last"));
    }
}
