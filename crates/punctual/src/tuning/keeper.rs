// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The keeper of a session, from outside: how it is started, told and let go.

use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use punctual_host::journal::SessionKeeper;
use punctual_host::knob::thread_of;
use punctual_host::session::Session;
use punctual_model::{CpuSet, Nanos};
use punctual_sys::child::start_to_stay;
use punctual_sys::{SysRoot, process};

use super::Place;
use crate::error::CliError;
use crate::exit::Exit;

/// How long the keeper may take to be ready, and to be gone.
const PATIENCE: Duration = Duration::from_secs(10);

/// The orders of a keeper when it starts.
#[derive(Clone, Debug)]
pub(crate) struct Keep {
    session: String,
    duration: Option<Nanos>,
    hold: Option<Nanos>,
    cpus: CpuSet,
    place: Place,
}

impl Keep {
    /// Watches over a session.
    pub(crate) fn for_session(session: &Session, place: &Place) -> Self {
        Self {
            session: session.id().to_owned(),
            duration: None,
            hold: None,
            cpus: session.plan().cpus_housekeeping.clone(),
            place: place.clone(),
        }
    }

    /// Reverts after a time.
    #[must_use]
    pub(crate) const fn lasting(mut self, duration: Option<Nanos>) -> Self {
        self.duration = duration;
        self
    }

    /// Holds what the plan wants held.
    #[must_use]
    pub(crate) fn holding(mut self, hold: Option<Nanos>) -> Self {
        self.hold = hold;
        self
    }

    fn options(&self) -> Vec<OsString> {
        let mut options: Vec<OsString> = vec!["tune".into(), "keep".into()];
        let mut add = |name: &str, value: Option<OsString>| {
            if let Some(value) = value {
                options.push(name.into());
                options.push(value);
            }
        };
        let span = |span: Nanos| OsString::from(format!("{}ns", span.get()));
        add("--session", Some(self.session.clone().into()));
        add("--for", self.duration.map(span));
        add("--hold", self.hold.map(span));
        // A captured machine's CPUs are not ours.
        let bound = self.place.root.is_none() && !self.cpus.is_empty();
        add("--cpus", bound.then(|| self.cpus.to_string().into()));
        add("--state", Some(self.place.state.clone().into()));
        add("--root", self.place.root.clone().map(Into::into));
        options
    }
}

/// Fails where a keeper would end with this process, and nobody were left to hold and to revert: the first process of a
/// namespace takes all others along (`pid_namespaces(7)`).
pub(crate) fn require_to_stay() -> Result<(), CliError> {
    match std::process::id() {
        1 => Err(CliError::failed_to(
            "hold a setting, or revert it later: this is process 1 of its container, which ends with it",
        )
        .exiting(Exit::Unsupported)
        .hint("`punctual tune run ... -- COMMAND` tunes as long as a command runs; or tune on the host")),
        _ => Ok(()),
    }
}

/// A keeper that waits.
#[derive(Debug)]
pub(crate) struct Watch {
    child: Child,
    pipe: Option<ChildStdin>,
}

impl Watch {
    /// Starts a keeper, and waits until it is out of reach of the terminal.
    pub(crate) fn start(keep: &Keep) -> Result<Self, CliError> {
        let fail = |err: std::io::Error| {
            CliError::failed_to("start the process that reverts the changes if this one is killed")
                .because(err)
        };
        // Our own program, also where the file was replaced since we started.
        let mut command = Command::new("/proc/self/exe");
        command.args(keep.options()).current_dir("/");
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = start_to_stay(command.stderr(Stdio::null())).map_err(fail)?;
        let pipe = child.stdin.take();
        let said = child.stdout.take();
        let (send, receive) = mpsc::channel();
        std::thread::spawn(move || {
            let mut line = String::new();
            let read = said.map(|said| BufReader::new(said).read_line(&mut line));
            let ready = read.is_some_and(|r| r.is_ok()) && line == "ready\n";
            // Nobody waits any more for what comes too late.
            send.send(ready).unwrap_or_default();
        });
        if receive.recv_timeout(PATIENCE).unwrap_or(false) {
            return Ok(Self { child, pipe });
        }
        drop(child.kill());
        drop(child.wait());
        Err(fail(std::io::Error::other("it did not become ready")))
    }

    /// Returns what tells this keeper from other processes.
    pub(crate) fn keeper(&self) -> SessionKeeper {
        let pid = self.child.id();
        SessionKeeper {
            pid,
            started_ticks: started(pid).unwrap_or_default(),
        }
    }

    fn tell(&mut self, line: &str) {
        if let Some(pipe) = &mut self.pipe {
            // A keeper that is gone keeps nothing: whoever killed it meant it.
            drop(pipe.write_all(line.as_bytes()));
        }
    }

    /// Tells which process is to end if we are killed.
    pub(crate) fn command(&mut self, pid: u32) {
        let started = started(pid).unwrap_or_default();
        self.tell(&format!("command {pid} {started}\n"));
    }

    /// Lets the keeper end: everything is taken back.
    pub(crate) fn done(mut self) {
        self.tell("done\n");
        self.pipe = None;
        drop(self.child.wait());
    }

    /// Leaves the keeper behind: the changes stay.
    pub(crate) fn stay(mut self) {
        self.tell("stay\n");
    }
}

/// Returns when a process started, in clock ticks after boot.
pub(super) fn started(pid: u32) -> Option<u64> {
    let pid = i32::try_from(pid).ok()?;
    Some(thread_of(&SysRoot::live(), pid)?.id.started_ticks)
}

/// Whether a process is there, and is the one that started then.
pub(crate) fn is_alive(pid: u32, started_ticks: Option<u64>) -> bool {
    started(pid).is_some_and(|at| started_ticks.is_none_or(|wanted| wanted == at))
}

/// Asks a process to end, if it still is the one that started then.
pub(crate) fn end_process(pid: u32, started_ticks: u64) {
    if is_alive(pid, Some(started_ticks)) {
        // It may end by itself at this very moment.
        drop(process::ask_to_end(pid));
    }
}

/// Lets a keeper go, and waits until what it held is released.
pub(crate) fn release(keeper: &SessionKeeper) {
    end_process(keeper.pid, keeper.started_ticks);
    let end = Instant::now() + PATIENCE;
    while is_alive(keeper.pid, Some(keeper.started_ticks)) && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(10));
    }
}
