// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Whom to watch: a program that is started, or threads that are there.

use std::ffi::OsString;
use std::io;
use std::process::{Command, ExitStatus};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use punctual_model::CpuSet;
use punctual_sys::{SysRoot, child, process, sched, thread};

use super::who::Tid;
use crate::error::MeasureError;

/// Whom to watch.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Target {
    /// A program with its arguments, to be started.
    Command(Vec<OsString>),
    /// A process by its number.
    Process(u32),
    /// All processes that call themselves this.
    Named(String),
}

/// How long a program that was started has to end when it is asked to.
const PATIENCE: Duration = Duration::from_secs(3);

/// Returns the threads that are there, each with its name.
pub(super) fn threads_of(
    sys: &SysRoot,
    target: &Target,
) -> Result<Vec<(Tid, Vec<u8>)>, MeasureError> {
    let spec = |option: String, reason: &str| MeasureError::Spec {
        option,
        reason: reason.to_owned(),
    };
    let processes = match target {
        Target::Command(_) => return Ok(Vec::new()),
        Target::Process(pid) => vec![*pid],
        Target::Named(name) => {
            let own = std::process::id();
            let all = sys.names("/proc").unwrap_or_default();
            let numbers = all.iter().filter_map(|name| name.parse::<u32>().ok());
            let named = |pid: &u32| {
                *pid != own
                    && comm(sys, &format!("/proc/{pid}/comm")).is_some_and(|c| c == name.as_bytes())
            };
            let named: Vec<u32> = numbers.filter(named).collect();
            if named.is_empty() {
                return Err(spec(format!("--comm {name}"), "no process has this name"));
            }
            named
        }
    };
    let mut threads = Vec::new();
    for pid in &processes {
        let tasks = sys.names(&format!("/proc/{pid}/task")).unwrap_or_default();
        for tid in tasks.iter().filter_map(|name| name.parse::<Tid>().ok()) {
            let name = comm(sys, &format!("/proc/{pid}/task/{tid}/comm"));
            threads.push((tid, name.unwrap_or_default()));
        }
    }
    match (threads.is_empty(), target) {
        (true, Target::Process(pid)) => {
            Err(spec(format!("--pid {pid}"), "there is no such process"))
        }
        (true, _) => Err(spec("--comm".to_owned(), "the process has ended")),
        (false, _) => Ok(threads),
    }
}

fn comm(sys: &SysRoot, path: &str) -> Option<Vec<u8>> {
    let text = sys.read(path).ok()?;
    Some(text.trim_end_matches('\n').as_bytes().to_owned())
}

/// A program that was started to be watched.
#[derive(Debug)]
pub(super) struct Started {
    pid: u32,
    ended: Receiver<io::Result<ExitStatus>>,
    status: Option<ExitStatus>,
    waiter: Option<JoinHandle<()>>,
}

/// A thread that is there to start the program: what it starts is watched from its first instruction on.
#[derive(Debug)]
pub(super) struct Starter {
    pub(super) tid: Tid,
    go: std::sync::mpsc::Sender<()>,
    started: Receiver<io::Result<u32>>,
    ended: Receiver<io::Result<ExitStatus>>,
    waiter: JoinHandle<()>,
}

impl Starter {
    /// Gets ready to start `words` on the CPUs `original`, with its output on our standard error if `aside`.
    pub(super) fn new(
        words: &[OsString],
        original: &CpuSet,
        aside: bool,
    ) -> Result<Self, MeasureError> {
        let [program, args @ ..] = words else {
            return Err(MeasureError::Spec {
                option: "COMMAND".to_owned(),
                reason: "no program is named".to_owned(),
            });
        };
        let mut command = Command::new(program);
        command.args(args);
        if aside {
            command.stdout(std::io::stderr());
        }
        let original = original.clone();
        let (ready, is_ready) = channel();
        let (go, gone) = channel();
        let (starting, started) = channel();
        let (ending, ended) = channel();
        let work = move || {
            // Where the CPUs may not be had back the program keeps those of ours.
            drop(sched::set_affinity(&original));
            let _ = ready.send(thread::Tid::current().get());
            if gone.recv().is_err() {
                return;
            }
            let mut child = match child::start_asked_to_end(&mut command) {
                Ok(child) => child,
                Err(err) => return drop(starting.send(Err(err))),
            };
            drop(starting.send(Ok(child.id())));
            drop(ending.send(child.wait()));
        };
        let waiter = std::thread::Builder::new().name("punctual-start".to_owned());
        let waiter = waiter.spawn(work).map_err(MeasureError::Spawn)?;
        let tid = is_ready
            .recv()
            .map_err(|_| MeasureError::Defect { thread: 0 })?;
        Ok(Self {
            tid,
            go,
            started,
            ended,
            waiter,
        })
    }

    /// Starts the program.
    pub(super) fn start(self, program: &OsString) -> Result<Started, MeasureError> {
        let _ = self.go.send(());
        let refused = |reason: String| MeasureError::Spec {
            option: program.to_string_lossy().into_owned(),
            reason,
        };
        match self.started.recv() {
            Ok(Ok(pid)) => Ok(Started {
                pid,
                ended: self.ended,
                status: None,
                waiter: Some(self.waiter),
            }),
            Ok(Err(err)) => Err(refused(format!("the program cannot be started: {err}"))),
            Err(_) => Err(MeasureError::Defect { thread: 0 }),
        }
    }
}

impl Started {
    /// Returns how the program ended, if it has.
    pub(super) fn status(&mut self) -> Option<ExitStatus> {
        if self.status.is_none() {
            match self.ended.try_recv() {
                Ok(Ok(status)) => self.status = Some(status),
                Ok(Err(_)) | Err(TryRecvError::Empty | TryRecvError::Disconnected) => {}
            }
        }
        self.status
    }

    /// Asks the program to end, and kills it where it does not.
    pub(super) fn end(&mut self) -> Option<ExitStatus> {
        if self.status().is_some() {
            return self.status;
        }
        drop(process::ask_to_end(self.pid));
        let asked = Instant::now();
        while self.status().is_none() {
            if asked.elapsed() > PATIENCE {
                drop(process::kill(self.pid));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        self.status
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        self.end();
        if let Some(waiter) = self.waiter.take() {
            drop(waiter.join());
        }
    }
}
