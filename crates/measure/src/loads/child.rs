// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The load process as the measurement sees it.

use std::io::{self, BufRead as _, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::{LoadSpec, REPORT_EVERY};

/// How long a load may take to get its memory and start.
const READY_WITHIN: Duration = Duration::from_secs(30);

/// A silence longer than this is a stall, however long the run is.
const SILENCE: Duration = Duration::from_secs(5);

/// A silence of no more than this is normal, however short the run is: the measuring threads and
/// the host take the CPUs from the loads.
const SHORT_SILENCE: Duration = Duration::from_secs(1);
const _: () = assert!(SHORT_SILENCE.as_millis() >= 5 * REPORT_EVERY.as_millis());

/// Between the two, a silence is a stall from this part of the measured time on.
const SILENT_PART: u32 = 10;

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
    /// One a load, from its first report on.
    work: Vec<Option<Work>>,
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

#[derive(Clone, Copy, Debug)]
struct Work {
    first: u64,
    last: u64,
    rounds: u64,
    last_at: Instant,
    longest_silence: Duration,
}

/// What a load did during a run.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct LoadEvidence {
    /// The load as given, and its longest silence if that is no fault.
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
            work: vec![None; loads.len()],
            turn: turn(&loads),
            loads,
            reports,
            reader: Some(reader),
            started: Instant::now(),
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

    /// Judges each load by its reports from its start up to now.
    pub(crate) fn evidence(&mut self) -> Vec<LoadEvidence> {
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
        let looked = Instant::now();
        let limit = tolerated(end.saturating_duration_since(self.started)) + self.turn;
        self.loads
            .iter()
            .zip(&self.work)
            .map(|(load, work)| {
                if gone {
                    return LoadEvidence::fault(*load, "its process ended during the run");
                }
                match work {
                    None => LoadEvidence::fault(*load, "it never reported"),
                    Some(work) => work.judge(*load, end, looked, limit),
                }
            })
            .collect()
    }

    /// Returns whether the report shows work of every thread.
    fn note(&mut self, place: usize, [done, rounds]: [u64; 2], at: Instant, end: Instant) -> bool {
        let started = self.started;
        let Some(work) = self.work.get_mut(place) else {
            return false;
        };
        // The first report is the work from before the run.
        let work = work.get_or_insert(Work {
            first: done,
            last: done,
            rounds,
            last_at: started,
            longest_silence: Duration::ZERO,
        });
        work.last = done;
        // A report without new work of some thread is silence too.
        let worked = rounds > work.rounds;
        if worked {
            // What comes after the end is no silence of the run.
            let silence = at.min(end).saturating_duration_since(work.last_at);
            work.longest_silence = work.longest_silence.max(silence);
            work.last_at = at;
            work.rounds = rounds;
        }
        worked
    }
}

impl Work {
    fn judge(
        &self,
        load: LoadSpec,
        end: Instant,
        looked: Instant,
        limit: Duration,
    ) -> LoadEvidence {
        let at_the_end = if self.last_at < end {
            looked.saturating_duration_since(self.last_at)
        } else {
            Duration::ZERO
        };
        let silence = self.longest_silence.max(at_the_end);
        let seconds = silence.as_secs_f64();
        let fault = (silence > limit).then(|| {
            let last = if silence == at_the_end {
                "the last "
            } else {
                ""
            };
            let limit = limit.as_secs_f64();
            format!("no work for {last}{seconds:.2} s, more than {limit:.2} s")
        });
        LoadEvidence {
            load: match fault {
                None => format!("{load} (longest silence {seconds:.2} s)"),
                Some(_) => load.to_string(),
            },
            work: self.last.saturating_sub(self.first),
            fault,
        }
    }
}

impl LoadEvidence {
    fn fault(load: LoadSpec, fault: &str) -> Self {
        Self {
            load: load.to_string(),
            work: 0,
            fault: Some(fault.to_owned()),
        }
    }
}

/// Returns the longest silence that is no stall in a run that measured for `measured`.
fn tolerated(measured: Duration) -> Duration {
    (measured / SILENT_PART).clamp(SHORT_SILENCE, SILENCE)
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
        assert!(evidence[0].work >= 300, "{evidence:?}");
        let name = &evidence[0].load;
        assert!(name.starts_with("cpu (longest silence 0."), "{name}");
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

    /// Returns the fault of a load that worked at these milliseconds of a run, and up to its end.
    fn fault(worked_ms: &[u64], end_ms: u64) -> Option<String> {
        let mut load = shell("echo ready; exec sleep 60").unwrap();
        let started = load.started;
        let end = started + Duration::from_millis(end_ms);
        load.note(0, [7, 1], started, end);
        for (round, ms) in (2..).zip(worked_ms) {
            load.note(
                0,
                [7 * round, round],
                started + Duration::from_millis(*ms),
                end,
            );
        }
        let limit = tolerated(end - started);
        let looked = end + Duration::from_millis(1_200);
        let spec = load.loads[0];
        load.work[0].unwrap().judge(spec, end, looked, limit).fault
    }

    #[test]
    fn a_silence_is_judged_by_the_length_of_the_run() {
        // Stopped for 4.5 s of 6 s, at the start, in the middle and to the end.
        assert!(fault(&[4_600, 5_000, 5_900, 6_100], 6_000).is_some());
        assert!(fault(&[200, 900, 5_400, 6_100], 6_000).is_some());
        let told = fault(&[200, 900, 1_500], 6_000).unwrap();
        assert_eq!(told, "no work for the last 5.70 s, more than 1.00 s");
        // Up to the end, then on again: what comes after the end is no part of it.
        let told = fault(&[200, 900, 1_500, 9_000], 6_000).unwrap();
        assert_eq!(told, "no work for 4.50 s, more than 1.00 s");
        // A short silence is normal, and 4.5 s are little of a minute, but never more than 5 s.
        assert_eq!(fault(&[900, 1_800, 2_100], 2_000), None);
        assert_eq!(fault(&[4_500, 9_000, 9_900], 9_800).map(|_| ()), Some(()));
        let minute: Vec<u64> = (0..14).map(|n| n * 4_500).collect();
        assert_eq!(fault(&minute, 58_400), None);
        let hour: Vec<u64> = (0..800).map(|n| n * 5_100).collect();
        assert!(fault(&hour, 3_600_000).is_some());
    }
}
