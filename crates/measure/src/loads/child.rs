// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The load process as the measurement sees it.

use std::collections::BTreeMap;
use std::io::{self, BufRead as _, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::{LoadSpec, REPORT_EVERY};

/// How long a load may take to get its memory and start.
const READY_WITHIN: Duration = Duration::from_secs(30);

/// A silence longer than this is a stall.
const SILENCE: Duration = Duration::from_secs(5);

/// A running `punctual load`, killed when this is dropped.
#[derive(Debug)]
pub struct LoadProcess {
    child: Child,
    loads: Vec<LoadSpec>,
    reports: Receiver<Report>,
    reader: Option<JoinHandle<()>>,
    started: Instant,
    work: BTreeMap<String, Work>,
}

#[derive(Debug)]
enum Report {
    Ready,
    Work {
        load: String,
        done: u64,
        at: Instant,
    },
    /// It cannot start, and this is why.
    Failed(String),
    Gone,
}

#[derive(Clone, Copy, Debug)]
struct Work {
    last: u64,
    last_at: Instant,
    longest_silence: Duration,
}

/// What a load did during a run.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct LoadEvidence {
    /// The load as given.
    pub(crate) load: String,
    /// Work from the first report to the last.
    pub(crate) work: u64,
    /// Why it counts as dead or stalled, if it does.
    pub(crate) fault: Option<String>,
}

impl LoadProcess {
    /// Starts `command`, which must run `loads` and report on its standard output, and waits until
    /// it says that it is ready.
    ///
    /// # Errors
    ///
    /// Fails when it cannot be started, ends, or is not ready within 30 s; its standard error goes
    /// where ours goes.
    pub fn start(mut command: Command, loads: Vec<LoadSpec>) -> io::Result<Self> {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let stdout = child
            .stdout
            .take()
            .ok_or_else(|| io::Error::other("the load process has no output"))?;
        let (send, reports) = channel();
        let reader = std::thread::Builder::new()
            .name("load reports".to_owned())
            .spawn(move || read(stdout, |report| send.send(report).is_ok()))?;
        let mut process = Self {
            child,
            loads,
            reports,
            reader: Some(reader),
            started: Instant::now(),
            work: BTreeMap::new(),
        };
        match process.reports.recv_timeout(READY_WITHIN) {
            Ok(Report::Ready) => {
                process.started = Instant::now();
                Ok(process)
            }
            Err(RecvTimeoutError::Timeout) => Err(io::Error::new(
                io::ErrorKind::TimedOut,
                "not ready within 30 s",
            )),
            Ok(Report::Failed(reason)) => Err(io::Error::other(reason)),
            _ => {
                let status = process.child.wait()?;
                Err(io::Error::other(format!(
                    "ended before it was ready, {status}"
                )))
            }
        }
    }

    /// Judges each load by its reports up to now.
    pub(crate) fn evidence(&mut self) -> Vec<LoadEvidence> {
        let mut gone = false;
        // One more report than has been written by now, unless the process is gone.
        let until = Instant::now() + REPORT_EVERY + SILENCE / 5;
        let mut due: Vec<String> = self.loads.iter().map(ToString::to_string).collect();
        let now = Instant::now();
        while !due.is_empty() && !gone {
            let wait = until.saturating_duration_since(Instant::now());
            match self.reports.recv_timeout(wait) {
                Ok(Report::Work { load, done, at }) => {
                    if at >= now {
                        due.retain(|name| *name != load);
                    }
                    self.note(load, done, at);
                }
                Ok(Report::Ready | Report::Failed(_)) => {}
                Ok(Report::Gone) | Err(RecvTimeoutError::Disconnected) => gone = true,
                Err(RecvTimeoutError::Timeout) => break,
            }
        }
        gone |= self
            .child
            .try_wait()
            .map_or(true, |status| status.is_some());
        self.loads
            .iter()
            .map(|load| self.judge(&load.to_string(), gone))
            .collect()
    }

    fn note(&mut self, load: String, done: u64, at: Instant) {
        let started = self.started;
        let work = self.work.entry(load).or_insert(Work {
            last: 0,
            last_at: started,
            longest_silence: Duration::ZERO,
        });
        // A report without new work is silence too.
        if done > work.last {
            work.longest_silence = work.longest_silence.max(at - work.last_at);
            work.last_at = at;
            work.last = done;
        }
    }

    fn judge(&self, load: &str, gone: bool) -> LoadEvidence {
        let work = self.work.get(load);
        let fault = match work {
            _ if gone => Some("its process ended during the run".to_owned()),
            None => Some("it never reported".to_owned()),
            Some(work) if work.last_at.elapsed() > SILENCE => {
                Some(format!("no work for the last {:?}", work.last_at.elapsed()))
            }
            Some(work) if work.longest_silence > SILENCE => {
                Some(format!("no work for {:?}", work.longest_silence))
            }
            Some(_) => None,
        };
        LoadEvidence {
            load: load.to_owned(),
            work: work.map_or(0, |work| work.last),
            fault,
        }
    }
}

impl Drop for LoadProcess {
    fn drop(&mut self) {
        // It fails only when the process is gone already.
        drop(self.child.kill());
        drop(self.child.wait());
        if let Some(reader) = self.reader.take() {
            drop(reader.join());
        }
    }
}

fn read(stdout: ChildStdout, mut say: impl FnMut(Report) -> bool) {
    for line in BufReader::new(stdout).lines().map_while(Result::ok) {
        if let Some(reason) = line.strip_prefix("failed ") {
            if !say(Report::Failed(reason.to_owned())) {
                return;
            }
            continue;
        }
        let mut words = line.split(' ');
        let report = match (words.next(), words.next(), words.next()) {
            (Some("ready"), None, None) => Some(Report::Ready),
            (Some("work"), Some(load), Some(done)) => done.parse().ok().map(|done| Report::Work {
                load: load.to_owned(),
                done,
                at: Instant::now(),
            }),
            _ => None,
        };
        if report.is_some_and(|report| !say(report)) {
            return;
        }
    }
    say(Report::Gone);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> io::Result<LoadProcess> {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        LoadProcess::start(command, vec![LoadSpec::Cpu { threads: None }])
    }

    #[test]
    fn a_working_load_has_no_fault() {
        let script = "echo ready; n=1; while :; do echo work cpu $n; n=$((n+1)); sleep 0.05; done";
        let mut load = shell(script).unwrap();
        std::thread::sleep(Duration::from_millis(200));
        let evidence = load.evidence();
        assert_eq!(evidence[0].fault, None);
        assert!(evidence[0].work > 1);
    }

    #[test]
    fn a_load_that_dies_is_told() {
        let mut load = shell("echo ready; echo work cpu 5").unwrap();
        // It may still be about to end.
        std::thread::sleep(Duration::from_millis(200));
        assert!(load.evidence()[0].fault.as_ref().unwrap().contains("ended"));
    }

    #[test]
    fn a_load_that_never_starts_is_an_error() {
        let err = shell("exit 3").unwrap_err().to_string();
        assert!(err.contains("before it was ready"), "{err}");
    }

    #[test]
    fn a_load_that_cannot_start_says_why() {
        let err = shell("echo failed for want of memory; exit 1").unwrap_err();
        assert_eq!(err.to_string(), "for want of memory");
    }

    #[test]
    fn a_load_that_never_works_is_told() {
        let mut load = shell("echo ready; exec sleep 60").unwrap();
        assert_eq!(
            load.evidence()[0].fault.as_deref(),
            Some("it never reported")
        );
    }
}
