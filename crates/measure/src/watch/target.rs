// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Whom to watch: a program that is started, or threads that are there.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, ExitStatus};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use punctual_model::CpuSet;
use punctual_sys::{SysRoot, child, proc, process, sched, thread};

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
    /// The threads of the kernel's timerlat tracer, which runs already.
    Timerlat(Vec<Tid>),
}

/// How long a program that was started has to end when it is asked to, and once more when it is killed: one that waits
/// for a device that does not answer does not even end then.
const PATIENCE: Duration = Duration::from_secs(3);

/// Names of threads that go on without the program, at most.
const NAMED: usize = 5;

/// How a program that was started ended.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ProgramEnd {
    /// As the kernel told.
    Status(ExitStatus),
    /// Nobody knows, for this reason.
    Unknown(String),
}

/// A thread that is there.
#[derive(Debug)]
pub(super) struct Present {
    pub(super) tid: Tid,
    /// Its process, by the number of that one's first thread.
    pub(super) process: Tid,
    pub(super) name: String,
}

/// Returns the threads that are there.
pub(super) fn threads_of(sys: &SysRoot, target: &Target) -> Result<Vec<Present>, MeasureError> {
    let spec = |option: String, reason: &str| MeasureError::Spec {
        option,
        reason: reason.to_owned(),
    };
    let processes = match target {
        Target::Command(_) => return Ok(Vec::new()),
        Target::Process(pid) => vec![*pid],
        Target::Named(name) => {
            let named = proc::named(sys, name);
            if named.is_empty() {
                return Err(spec(format!("--comm {name}"), "no process has this name"));
            }
            named
        }
        Target::Timerlat(tids) => tids.iter().map(|tid| tid.unsigned_abs()).collect(),
    };
    let mut threads = Vec::new();
    for pid in &processes {
        for tid in proc::numbers(sys, &format!("/proc/{pid}/task")) {
            let name = sys.read(&format!("/proc/{pid}/task/{tid}/comm"));
            let name = name.unwrap_or_default();
            if let (Ok(tid), Ok(process)) = (Tid::try_from(tid), Tid::try_from(*pid)) {
                threads.push(Present { tid, process, name });
            }
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

/// Returns the threads that are there and not among `known`, which holds them too then. None where the process has ended by now.
pub(super) fn newcomers(sys: &SysRoot, target: &Target, known: &mut BTreeSet<Tid>) -> Vec<Present> {
    let mut there = threads_of(sys, target).unwrap_or_default();
    there.retain(|thread| known.insert(thread.tid));
    there
}

/// Whether a thread has not ended, be it that nobody has asked for its status yet.
pub(super) fn lives(sys: &SysRoot, tid: Tid) -> bool {
    let stat = sys.read(&format!("/proc/{tid}/stat"));
    let stat = stat.unwrap_or_default();
    let state = proc::Stat::parse(&stat).and_then(|stat| stat.field(3));
    state.is_some_and(|state| !matches!(state, "Z" | "X"))
}

/// A program that was started to be watched.
#[derive(Debug)]
pub(super) struct Started {
    pid: u32,
    ended: Receiver<io::Result<ExitStatus>>,
    end: Option<ProgramEnd>,
    waiter: Option<JoinHandle<()>>,
}

/// A thread that is there to start the program: what it starts is watched from its first instruction on.
#[derive(Debug)]
pub(super) struct Starter {
    pub(super) tid: Tid,
    program: OsString,
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
            let mut child = match child::start_asked_to_end(&mut command, None) {
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
            program: program.clone(),
            go,
            started,
            ended,
            waiter,
        })
    }

    /// Starts the program.
    pub(super) fn start(self) -> Result<Started, MeasureError> {
        let _ = self.go.send(());
        let refused = |reason: String| MeasureError::Spec {
            option: self.program.to_string_lossy().into_owned(),
            reason,
        };
        match self.started.recv() {
            Ok(Ok(pid)) => Ok(Started {
                pid,
                ended: self.ended,
                end: None,
                waiter: Some(self.waiter),
            }),
            Ok(Err(err)) => Err(refused(format!("the program cannot be started: {err}"))),
            Err(_) => Err(MeasureError::Defect { thread: 0 }),
        }
    }
}

impl Started {
    /// Returns how the program ended, if it has.
    pub(super) fn ended(&mut self) -> Option<ProgramEnd> {
        if self.end.is_none() {
            self.end = match self.ended.try_recv() {
                Ok(told) => Some(ProgramEnd::of(told)),
                Err(TryRecvError::Empty) => None,
                Err(TryRecvError::Disconnected) => Some(ProgramEnd::untold()),
            };
        }
        self.end.clone()
    }

    /// Asks the program to end, and kills it where it does not.
    pub(super) fn end(&mut self) -> ProgramEnd {
        self.end_within(PATIENCE)
    }

    fn end_within(&mut self, patience: Duration) -> ProgramEnd {
        if let Some(end) = self.ended() {
            return end;
        }
        // A shell that is ended leaves running what it has started, and that may be what was watched.
        let below = child::Below::of(&SysRoot::live(), self.pid);
        let end = self.end_alone(patience);
        below.end_within(patience);
        end
    }

    fn end_alone(&mut self, patience: Duration) -> ProgramEnd {
        let asks: [fn(u32) -> io::Result<()>; 2] = [process::ask_to_end, process::kill];
        for ask in asks {
            if let Some(end) = self.ended() {
                return end;
            }
            drop(ask(self.pid));
            self.end = match self.ended.recv_timeout(patience) {
                Ok(told) => Some(ProgramEnd::of(told)),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => Some(ProgramEnd::untold()),
            };
        }
        let pid = self.pid;
        let end = self.end.get_or_insert_with(|| {
            // Whoever waits for it waits on: a thread that is joined would never come back.
            self.waiter = None;
            ProgramEnd::Unknown(format!("process {pid} did not end when it was killed"))
        });
        end.clone()
    }
}

impl ProgramEnd {
    fn of(told: io::Result<ExitStatus>) -> Self {
        match told {
            Ok(status) => Self::Status(status),
            Err(err) => Self::Unknown(format!("the kernel did not tell: {err}")),
        }
    }

    /// Says how the program ended, where not all is well: it failed, or these threads that it has started go on.
    pub(super) fn says(&self, alive: &[&str]) -> Option<String> {
        let how = match self {
            Self::Unknown(why) => {
                return Some(format!("how the program ended is not known: {why}"));
            }
            Self::Status(status) => match (status.code(), status.signal()) {
                (Some(0), _) => None,
                (Some(code), _) => Some(format!("the program ended with status {code}")),
                (None, signal) => Some(format!(
                    "the program was ended by signal {}",
                    signal.unwrap_or(0)
                )),
            },
        };
        let mut names = alive.to_vec();
        names.sort_unstable();
        names.dedup();
        names.truncate(NAMED);
        let unwatched = match alive.len() {
            0 => return how,
            1 => format!("{} went on and was", names.join(", ")),
            n => format!("{n} threads ({}) went on and were", names.join(", ")),
        };
        let how = how.unwrap_or_else(|| "the program ended".to_owned());
        Some(format!(
            "{how}; of what it had started, {unwatched} not watched any more"
        ))
    }

    fn untold() -> Self {
        Self::Unknown("the thread that waited for the program is gone".to_owned())
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

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    const SHORT: Duration = Duration::from_millis(50);

    /// Starts a program that sleeps. The channel returns how it ended.
    #[expect(
        clippy::zombie_processes,
        reason = "the test plays the thread that waits for it"
    )]
    fn started() -> (Started, std::sync::mpsc::Sender<io::Result<ExitStatus>>) {
        let child = Command::new("sleep").arg("60").spawn().unwrap();
        let (ending, ended) = channel();
        let pid = child.id();
        let started = Started {
            pid,
            ended,
            end: None,
            waiter: None,
        };
        (started, ending)
    }

    #[test]
    fn threads_that_are_there_only_now_are_found() {
        let dir = tempfile::tempdir().unwrap();
        let sys = SysRoot::at(dir.path());
        let start = |tid: u32| {
            let task = dir.path().join(format!("proc/70/task/{tid}"));
            std::fs::create_dir_all(&task).unwrap();
            std::fs::write(task.join("comm"), format!("thread {tid}\n")).unwrap();
        };
        let target = Target::Process(70);
        let mut known = BTreeSet::new();
        let mut new = || {
            let new = newcomers(&sys, &target, &mut known);
            new.iter().map(|of| of.tid).collect::<BTreeSet<_>>()
        };
        start(70);
        start(71);
        assert_eq!(new(), BTreeSet::from([70, 71]));
        start(72);
        assert_eq!(new(), BTreeSet::from([72]));
        assert_eq!(new(), BTreeSet::new());
        std::fs::remove_dir_all(dir.path().join("proc/70")).unwrap();
        assert_eq!(new(), BTreeSet::new());
        let command = Target::Command(vec!["true".into()]);
        assert!(newcomers(&sys, &command, &mut BTreeSet::new()).is_empty());
    }

    #[test]
    fn a_program_whose_end_nobody_tells_has_ended_all_the_same() {
        let (mut one, ending) = started();
        assert_eq!(one.ended(), None);
        ending.send(Err(io::Error::from_raw_os_error(10))).unwrap();
        assert!(matches!(one.ended(), Some(ProgramEnd::Unknown(why)) if why.contains("10")));
        assert_eq!(Some(one.end()), one.ended());
        let (mut one, ending) = started();
        drop(ending);
        assert!(matches!(one.ended(), Some(ProgramEnd::Unknown(_))));
        drop(process::kill(one.pid));
    }

    #[test]
    fn a_program_that_failed_or_left_others_behind_says_so() {
        let ended = |code: i32| ProgramEnd::Status(ExitStatus::from_raw(code));
        assert_eq!(ended(0).says(&[]), None);
        let says = |code, alive: &[&str]| ended(code).says(alive).unwrap();
        assert_eq!(says(42 << 8, &[]), "the program ended with status 42");
        assert_eq!(says(9, &[]), "the program was ended by signal 9");
        assert_eq!(
            says(0, &["loop"]),
            "the program ended; of what it had started, loop went on and was not watched any more"
        );
        assert_eq!(
            says(1 << 8, &["loop", "main", "loop"]),
            "the program ended with status 1; of what it had started, 3 threads (loop, main) went on and were not \
             watched any more"
        );
    }

    #[test]
    fn a_program_that_does_not_even_end_when_it_is_killed_is_given_up() {
        // As of one that waits for a device, nobody hears of its end.
        let (mut one, _ending) = started();
        let asked = Instant::now();
        let end = one.end_within(SHORT);
        assert!(asked.elapsed() >= 2 * SHORT);
        assert!(matches!(end, ProgramEnd::Unknown(why) if why.contains("did not end")));
    }
}
