// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The load process as the measurement sees it.

use std::collections::BTreeSet;
use std::io::{self, BufRead as _, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use punctual_model::{LoadProgress, LoadRecord};
use punctual_sys::process;

use super::ledger::Ledger;
use super::own::not_started;
use super::report::{Report, refusal};
use super::track::SHORT_SILENCE;
use super::{LoadSpec, REPORT_EVERY};

/// How long a load may take to get its memory and start, or to come along with what it has to write.
const READY_WITHIN: Duration = Duration::from_secs(30);

/// Time between two looks at the wish to stop while it is not ready.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// How long after a program's last work its end is reported, at most: it is looked for, and its last words are waited for.
const END_IS_TOLD: Duration = REPORT_EVERY.saturating_add(Duration::from_millis(150));

/// What loads that are programs have to end by themselves.
const GRACE: Duration = Duration::from_secs(4);

/// The rate that goes with progress is that of so long.
const RATE_OVER: Duration = Duration::from_secs(1);

const _: () = assert!(SHORT_SILENCE.as_millis() >= 5 * REPORT_EVERY.as_millis());

/// A running `punctual load`, killed when this is dropped.
#[derive(Debug)]
pub struct LoadProcess {
    child: Child,
    messages: Receiver<Message>,
    reader: Option<JoinHandle<()>>,
    ledger: Ledger,
    /// Number of loads.
    count: usize,
    /// Whether some of the loads are programs.
    has_programs: bool,
    /// Whether its output was found closed.
    gone: bool,
    /// For each load, the look that the next rate is taken from, and the latest rate.
    rates: Vec<Rate>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Rate {
    from: Option<(f64, Instant)>,
    per_second: Option<f64>,
}

#[derive(Debug)]
enum Message {
    Report(Report, Instant),
    /// Its output is closed.
    Gone,
}

impl LoadProcess {
    /// Starts `command`, which must run `loads` and report on its standard output, and waits until
    /// it says that it is ready.
    ///
    /// # Errors
    ///
    /// Fails when it cannot be started, ends, or is neither ready nor comes along within 30 s; its standard error goes
    /// where ours goes. With `Interrupted` where `stop` is set while it writes what it needs.
    pub fn start(
        mut command: Command,
        loads: Vec<LoadSpec>,
        stop: &AtomicBool,
    ) -> io::Result<Self> {
        let program = command.get_program().to_owned();
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
        let mut child = child.map_err(not_started(&program))?;
        let stdout = child
            .stdout
            .take()
            .ok_or_else(|| io::Error::other("the load process has no output"))?;
        let (send, messages) = channel();
        let reader = std::thread::Builder::new()
            .name("load reports".to_owned())
            .spawn(move || read(stdout, |message| send.send(message).is_ok()))?;
        let count = loads.len();
        let mut process = Self {
            child,
            messages,
            reader: Some(reader),
            ledger: Ledger::open(Vec::new(), Instant::now()),
            count,
            has_programs: loads.iter().any(LoadSpec::is_program),
            gone: false,
            rates: vec![Rate::default(); count],
        };
        match ready(|wait| process.messages.recv_timeout(wait), stop)? {
            Some(at) => {
                process.ledger = Ledger::open(loads, at);
                Ok(process)
            }
            None => {
                let status = process.child.wait()?;
                Err(io::Error::other(format!(
                    "ended before it was ready, {status}"
                )))
            }
        }
    }

    /// Returns what each load has done up to now.
    pub fn progress(&mut self) -> Vec<LoadProgress> {
        while let Ok(message) = self.messages.try_recv() {
            match message {
                Message::Report(report, at) => {
                    self.ledger.note(&report, at, at);
                }
                Message::Gone => {
                    self.gone = true;
                    self.ledger.note_gone();
                }
            }
        }
        let now = Instant::now();
        let mut loads: Vec<LoadProgress> = self.ledger.progress();
        for ((place, load), rate) in loads.iter_mut().enumerate().zip(&mut self.rates) {
            if let Some(at) = self.ledger.last_report(place) {
                rate.take(load.work, at, now);
            }
            load.per_second = rate.per_second;
        }
        loads
    }

    /// Has the loads judged by what they do from now on.
    pub fn begin_again(&mut self) {
        // What they have said up to now is about before.
        drop(self.progress());
        self.ledger.begin_again(Instant::now());
        self.rates = vec![Rate::default(); self.count];
    }

    /// Judges each load by its reports from its start, or since it began again, up to now. A load that works slowly is waited for,
    /// unless the run is to `stop`.
    pub fn evidence(&mut self, stop: &AtomicBool) -> Vec<LoadRecord> {
        let end = Instant::now();
        let mut gone = self.gone;
        // Every load must show work after the end: the wait finds one that stands still then.
        let soon = end + REPORT_EVERY + SHORT_SILENCE;
        let mut due: Vec<usize> = (0..self.count).collect();
        let mut shown = BTreeSet::new();
        while !due.is_empty() && !gone {
            let until = match stop.load(Ordering::Relaxed) {
                true => soon,
                false => soon + self.ledger.patience(),
            };
            let left = until.saturating_duration_since(Instant::now());
            match self.messages.recv_timeout(left.min(LOOK_EVERY)) {
                Ok(Message::Report(report, at)) => {
                    let worked = self.ledger.note(&report, at, end);
                    due.retain(|place| {
                        // Of a run between two reports, how much it did is known from the one after that.
                        let showed = at >= end && (worked == Some(*place) || shown.contains(place));
                        if showed {
                            shown.insert(*place);
                        }
                        let is_told = showed && self.ledger.is_counted(*place);
                        !is_told && !self.ledger.is_dead(*place)
                    });
                }
                Ok(Message::Gone) | Err(RecvTimeoutError::Disconnected) => gone = true,
                Err(RecvTimeoutError::Timeout) if left <= LOOK_EVERY => break,
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
        if self.has_programs {
            gone |= self.hear_of_ends(end);
        }
        gone |= self
            .child
            .try_wait()
            .map_or(true, |status| status.is_some());
        if gone {
            self.ledger.note_gone();
        }
        self.ledger.judge(end, Instant::now())
    }

    /// Waits for the news that a program had ended before the `end`. Returns whether the process of all loads has.
    fn hear_of_ends(&mut self, end: Instant) -> bool {
        let until = Instant::now() + END_IS_TOLD;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.messages.recv_timeout(left) {
                Ok(Message::Report(report, at)) => {
                    self.ledger.note(&report, at, end);
                }
                Err(RecvTimeoutError::Timeout) => return false,
                Ok(Message::Gone) | Err(RecvTimeoutError::Disconnected) => return true,
            }
        }
    }
}

/// Waits until the process says that it is ready, and returns when that was; nothing if it ends first.
fn ready(
    mut next: impl FnMut(Duration) -> Result<Message, RecvTimeoutError>,
    stop: &AtomicBool,
) -> io::Result<Option<Instant>> {
    let mut silent = Duration::ZERO;
    let mut doing = None;
    while silent < READY_WITHIN {
        match next(LOOK_EVERY) {
            Ok(Message::Report(Report::Ready, at)) => return Ok(Some(at)),
            Ok(Message::Report(Report::Preparing { what }, _)) => {
                (silent, doing) = (Duration::ZERO, Some(what));
            }
            Ok(Message::Report(Report::Refused { fault, reason }, _)) => {
                return Err(refusal(fault, reason));
            }
            Err(RecvTimeoutError::Timeout) => silent += LOOK_EVERY,
            _ => return Ok(None),
        }
        // What takes no time is not given up: the run then says itself that it was stopped.
        if let Some(what) = &doing
            && stop.load(Ordering::Relaxed)
        {
            let what = format!("stopped before it was ready ({what})");
            return Err(io::Error::new(io::ErrorKind::Interrupted, what));
        }
    }
    let doing = doing.map(|what| format!(" ({what})")).unwrap_or_default();
    let within = READY_WITHIN.as_secs();
    let what = format!("not ready within {within} s{doing}");
    Err(io::Error::new(io::ErrorKind::TimedOut, what))
}

impl Rate {
    /// Takes the `work` reported `at`, where a second has passed since the work before.
    fn take(&mut self, work: f64, at: Instant, now: Instant) {
        match self.from {
            // The work is counted anew, in another unit.
            Some((before, _)) if work < before => {
                *self = Self {
                    from: Some((work, at)),
                    per_second: None,
                }
            }
            Some((before, since)) if at >= since + RATE_OVER => {
                let span = at.saturating_duration_since(since).as_secs_f64();
                self.per_second = Some((work - before) / span);
                self.from = Some((work, at));
            }
            // No report since: it stands still.
            Some(_) if now >= at + RATE_OVER => self.per_second = Some(0.0),
            Some(_) => {}
            None => self.from = Some((work, at)),
        }
    }
}

impl Drop for LoadProcess {
    fn drop(&mut self) {
        if self.has_programs {
            // They may have files to clear away.
            drop(process::ask_to_end(self.child.id()));
            let end = Instant::now() + GRACE;
            while Instant::now() < end && matches!(self.child.try_wait(), Ok(None)) {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        // It fails only when the process is gone already.
        drop(self.child.kill());
        drop(self.child.wait());
        if let Some(reader) = self.reader.take() {
            drop(reader.join());
        }
    }
}

fn read(stdout: ChildStdout, mut say: impl FnMut(Message) -> bool) {
    for line in BufReader::new(stdout).lines().map_while(Result::ok) {
        if let Ok(report) = line.parse()
            && !say(Message::Report(report, Instant::now()))
        {
            return;
        }
    }
    say(Message::Gone);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> io::Result<LoadProcess> {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let never = AtomicBool::new(false);
        LoadProcess::start(command, vec!["cpu".parse().unwrap()], &never)
    }

    /// Waits for a process that reports these lines; the number is of looks that find nothing before each.
    fn waited(said: &[(u32, &str)], stop: bool) -> Result<bool, String> {
        let mut said = said.iter().flat_map(|(looks, line)| {
            let silence = (0..*looks).map(|_| Err(RecvTimeoutError::Timeout));
            let report = Message::Report(line.parse().unwrap(), Instant::now());
            silence.chain([Ok(report)])
        });
        let next = |_| said.next().unwrap_or(Ok(Message::Gone));
        let waited = ready(next, &AtomicBool::new(stop));
        waited.map(|at| at.is_some()).map_err(|err| err.to_string())
    }

    #[test]
    fn a_load_may_take_long_as_long_as_it_comes_along() {
        let writing = "preparing io: writing its file";
        let most = 299;
        assert_eq!(waited(&[(most, "ready")], false), Ok(true));
        let told = waited(&[(most + 1, "ready")], false).unwrap_err();
        assert_eq!(told, "not ready within 30 s");
        let long = [(most, writing), (most, writing), (most, "ready")];
        assert_eq!(waited(&long, false), Ok(true));
        let told = waited(&[(0, writing), (most + 1, "ready")], false).unwrap_err();
        assert_eq!(told, "not ready within 30 s (io: writing its file)");
        // What takes long is given up where the end is asked for.
        assert_eq!(waited(&[(most, "ready")], true), Ok(true));
        let told = waited(&long, true).unwrap_err();
        assert!(told.starts_with("stopped before it was ready"), "{told}");
        assert_eq!(waited(&[(0, writing)], false), Ok(false));
    }

    /// Looks until a load is as expected.
    fn until(load: &mut LoadProcess, is: impl Fn(&LoadProgress) -> bool) {
        let begun = Instant::now();
        loop {
            let said = load.progress();
            if is(&said[0]) {
                return;
            }
            assert!(begun.elapsed() < Duration::from_secs(1_800), "{said:?}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Whether a load has no fault but that others kept it from its work for a while.
    fn worked(evidence: &LoadRecord) -> bool {
        let fault = evidence.fault.as_deref();
        fault.is_none_or(|fault| fault.starts_with("no work for "))
    }

    #[test]
    fn a_working_load_has_no_fault() {
        let script =
            "echo ready; n=1; while :; do echo work 0 ${n}00 $n; n=$((n+1)); sleep 0.05; done";
        let mut load = shell(script).unwrap();
        until(&mut load, |said| said.work >= 300.0);
        let evidence = load.evidence(&AtomicBool::new(false));
        assert!(worked(&evidence[0]), "{evidence:?}");
        assert!(evidence[0].work >= 300.0, "{evidence:?}");
        assert!(evidence[0].per_second.unwrap() > 0.0, "{evidence:?}");
        assert_eq!(
            (&*evidence[0].load, &*evidence[0].unit),
            ("cpu", "additions")
        );
    }

    #[test]
    fn what_a_load_did_in_a_run_between_two_of_its_reports_is_known() {
        let script =
            "echo ready; n=1; while :; do echo work 0 ${n}00 $n; n=$((n+1)); sleep 0.3; done";
        let mut load = shell(script).unwrap();
        until(&mut load, |said| said.work >= 100.0);
        load.begin_again();
        let evidence = load.evidence(&AtomicBool::new(false));
        assert!(evidence[0].work >= 100.0, "{evidence:?}");
        assert!(evidence[0].per_second.unwrap() > 0.0, "{evidence:?}");
    }

    #[test]
    fn a_slow_load_is_not_waited_for_once_nobody_wants_it() {
        let ping: LoadSpec = "ping:64@to=127.0.0.1@rate=1".parse().unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", "echo ready; echo work 0 5 1; exec sleep 600"]);
        let mut load = LoadProcess::start(command, vec![ping], &AtomicBool::new(false)).unwrap();
        until(&mut load, |said| said.work >= 0.0);
        let begun = Instant::now();
        load.evidence(&AtomicBool::new(true));
        // It may take two minutes between two requests.
        assert!(begun.elapsed() < Duration::from_secs(60));
    }

    #[test]
    fn progress_tells_the_rate_of_the_last_second_and_takes_nothing_from_the_evidence() {
        let script =
            "echo ready; n=1; while :; do echo work 0 ${n}00 $n; n=$((n+1)); sleep 0.05; done";
        let mut load = shell(script).unwrap();
        // It is none while others keep it from its work for a second.
        until(&mut load, |said| said.per_second > Some(0.0));
        let said = load.progress();
        assert!(said[0].work > 0.0 && said[0].fault.is_none(), "{said:?}");
        let evidence = load.evidence(&AtomicBool::new(false));
        assert!(worked(&evidence[0]), "{evidence:?}");
        assert!(evidence[0].work >= said[0].work, "{evidence:?}");
    }

    #[test]
    fn progress_and_evidence_both_tell_of_a_load_that_died() {
        let mut load = shell("echo ready; echo work 0 5 1").unwrap();
        until(&mut load, |said| said.fault.is_some());
        assert!(
            load.evidence(&AtomicBool::new(false))[0]
                .fault
                .as_ref()
                .unwrap()
                .contains("ended")
        );
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
        let err = shell("echo unsupported fio is not there; exit 1").unwrap_err();
        assert_eq!(err.kind(), io::ErrorKind::Unsupported);
    }

    #[test]
    fn one_load_that_dies_is_told_while_the_process_goes_on() {
        let script =
            "echo ready; echo died 0 was killed; while :; do echo work 0 5 1; sleep 0.05; done";
        let mut load = shell(script).unwrap();
        let evidence = load.evidence(&AtomicBool::new(false));
        assert_eq!(evidence[0].fault.as_deref(), Some("was killed"));
    }

    #[test]
    fn a_program_that_had_ended_is_told_after_its_last_work() {
        let script = "echo ready; sleep 0.3; \
                      printf 'work 0 100 1\\nwork 0 200 2\\ndied 0 was killed\\n'; exec sleep 60";
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let loads = vec!["cmd:true".parse().unwrap()];
        let mut load = LoadProcess::start(command, loads, &AtomicBool::new(false)).unwrap();
        let evidence = load.evidence(&AtomicBool::new(true));
        assert_eq!(evidence[0].fault.as_deref(), Some("was killed"));
    }

    #[test]
    fn a_load_that_never_works_is_told() {
        let mut load = shell("echo ready; exec sleep 60").unwrap();
        assert_eq!(
            load.evidence(&AtomicBool::new(false))[0].fault.as_deref(),
            Some("it never reported")
        );
    }

    #[test]
    fn a_load_that_never_works_again_is_told() {
        let mut load = shell("echo ready; echo work 0 5 1; exec sleep 60").unwrap();
        let evidence = load.evidence(&AtomicBool::new(false));
        let fault = evidence[0].fault.as_ref().unwrap();
        assert!(fault.starts_with("no work for the last "), "{fault}");
    }

    #[test]
    fn reports_of_one_thread_that_stands_still_are_no_work() {
        let script = "echo ready; n=1; while :; do echo work 0 $n 1; n=$((n+1)); sleep 0.05; done";
        let mut load = shell(script).unwrap();
        let evidence = load.evidence(&AtomicBool::new(false));
        assert!(evidence[0].fault.is_some(), "{evidence:?}");
    }

    #[test]
    fn one_of_two_equal_loads_that_stands_still_is_told() {
        let script = "echo ready; n=1; while :; do \
                      echo work 0 $n $n; echo work 1 9 1; n=$((n+1)); sleep 0.05; done";
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let cpu: LoadSpec = "cpu:1".parse().unwrap();
        let mut load =
            LoadProcess::start(command, vec![cpu.clone(), cpu], &AtomicBool::new(false)).unwrap();
        let evidence = load.evidence(&AtomicBool::new(false));
        assert!(worked(&evidence[0]), "{evidence:?}");
        assert!(evidence[1].fault.is_some());
    }
}
