// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The load process as the measurement sees it.

use std::io::{self, BufRead as _, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use punctual_model::LoadRecord;

use super::track::{SHORT_SILENCE, Track, Verdict, tolerated};
use super::{LoadSpec, REPORT_EVERY};

/// How long a load may take to get its memory and start.
const READY_WITHIN: Duration = Duration::from_secs(30);

const _: () = assert!(SHORT_SILENCE.as_millis() >= 5 * REPORT_EVERY.as_millis());

/// Time on a CPU, at most, of one load thread before the next has its turn.
const SLICE: Duration = Duration::from_millis(10);

/// A running `punctual load`, killed when this is dropped.
#[derive(Debug)]
pub struct LoadProcess {
    child: Child,
    loads: Vec<LoadSpec>,
    reports: Receiver<Report>,
    reader: Option<JoinHandle<()>>,
    started: Instant,
    /// One a load.
    tracks: Vec<Track>,
    /// How long it takes until every thread of the loads has had its turn.
    turn: Duration,
}

#[derive(Debug)]
enum Report {
    Ready,
    Work {
        place: usize,
        done: u64,
        rounds: u64,
        at: Instant,
    },
    /// It cannot start, and this is why.
    Failed(String),
    Gone,
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
            tracks: vec![Track::new(Instant::now()); loads.len()],
            turn: turn(&loads),
            loads,
            reports,
            reader: Some(reader),
            started: Instant::now(),
        };
        match process.reports.recv_timeout(READY_WITHIN) {
            Ok(Report::Ready) => {
                process.started = Instant::now();
                process.tracks.fill(Track::new(process.started));
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

    /// Judges each load by its reports from its start up to now.
    pub fn evidence(&mut self) -> Vec<LoadRecord> {
        let end = Instant::now();
        let mut gone = false;
        // Every load must show work after the end: one that stands still then is told by the wait.
        let until = end + REPORT_EVERY + SHORT_SILENCE + self.turn;
        let mut due: Vec<usize> = (0..self.loads.len()).collect();
        while !due.is_empty() && !gone {
            let wait = until.saturating_duration_since(Instant::now());
            match self.reports.recv_timeout(wait) {
                Ok(Report::Work {
                    place,
                    done,
                    rounds,
                    at,
                }) => {
                    if self.note(place, [done, rounds], at, end) && at >= end {
                        due.retain(|waiting| *waiting != place);
                    }
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
        let verdict = Verdict {
            end,
            looked: Instant::now(),
            limit: tolerated(end.saturating_duration_since(self.started)) + self.turn,
        };
        self.loads
            .iter()
            .zip(&mut self.tracks)
            .map(|(load, track)| {
                if gone {
                    let ended = || "its process ended during the run".to_owned();
                    track.died.get_or_insert_with(ended);
                }
                track.judge(load.to_string(), load.unit(), verdict)
            })
            .collect()
    }

    /// Returns whether the report shows work of every thread.
    fn note(&mut self, place: usize, report: [u64; 2], at: Instant, end: Instant) -> bool {
        let track = self.tracks.get_mut(place);
        track.is_some_and(|track| track.note(report, at, end))
    }
}

/// Returns how long it takes until every thread of `loads` has had its turn on these CPUs.
fn turn(loads: &[LoadSpec]) -> Duration {
    let cpus = std::thread::available_parallelism().map_or(1, |cpus| cpus.get());
    let cpus = u32::try_from(cpus).unwrap_or(u32::MAX);
    let threads = loads.iter().map(|load| match load {
        LoadSpec::Cpu { threads: Some(n) } => *n,
        LoadSpec::Cpu { threads: None } | LoadSpec::Memory { .. } => cpus,
    });
    SLICE * (threads.fold(0, u32::saturating_add) / cpus)
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
        let report = if line == "ready" {
            Some(Report::Ready)
        } else {
            work_report(&line)
        };
        if report.is_some_and(|report| !say(report)) {
            return;
        }
    }
    say(Report::Gone);
}

fn work_report(line: &str) -> Option<Report> {
    let mut words = line.strip_prefix("work ")?.split(' ');
    let report = Report::Work {
        place: words.next()?.parse().ok()?,
        done: words.next()?.parse().ok()?,
        rounds: words.next()?.parse().ok()?,
        at: Instant::now(),
    };
    words.next().is_none().then_some(report)
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
        let script =
            "echo ready; n=1; while :; do echo work 0 ${n}00 $n; n=$((n+1)); sleep 0.05; done";
        let mut load = shell(script).unwrap();
        std::thread::sleep(Duration::from_millis(200));
        let evidence = load.evidence();
        assert_eq!(evidence[0].fault, None);
        assert!(evidence[0].work >= 300.0, "{evidence:?}");
        assert!(evidence[0].per_second.unwrap() > 0.0, "{evidence:?}");
        assert_eq!(
            (&*evidence[0].load, &*evidence[0].unit),
            ("cpu", "additions")
        );
    }

    #[test]
    fn a_load_that_dies_is_told() {
        let mut load = shell("echo ready; echo work 0 5 1").unwrap();
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

    #[test]
    fn a_load_that_never_works_again_is_told() {
        let mut load = shell("echo ready; echo work 0 5 1; exec sleep 60").unwrap();
        let evidence = load.evidence();
        let fault = evidence[0].fault.as_ref().unwrap();
        assert!(fault.starts_with("no work for the last 1."), "{fault}");
    }

    #[test]
    fn reports_of_one_thread_that_stands_still_are_no_work() {
        let script = "echo ready; n=1; while :; do echo work 0 $n 1; n=$((n+1)); sleep 0.05; done";
        let mut load = shell(script).unwrap();
        let evidence = load.evidence();
        assert!(evidence[0].fault.is_some(), "{evidence:?}");
    }

    #[test]
    fn one_of_two_equal_loads_that_stands_still_is_told() {
        let script = "echo ready; n=1; while :; do \
                      echo work 0 $n $n; echo work 1 9 1; n=$((n+1)); sleep 0.05; done";
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let cpu = LoadSpec::Cpu { threads: Some(1) };
        let mut load = LoadProcess::start(command, vec![cpu, cpu]).unwrap();
        let evidence = load.evidence();
        assert_eq!(evidence[0].fault, None);
        assert!(evidence[1].fault.is_some());
    }
}
