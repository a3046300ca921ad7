// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The keeper of a session: a process that reverts when its parent is killed, or when time is up.
//!
//! It reads lines from its parent: `command PID STARTED`, the process that ends with the parent;
//! `stay`, the parent ends and the changes stay; `done`, everything is taken back. If the lines end
//! without one of the last two, the parent was killed.

use std::io::{self, BufRead as _, Write as _};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use punctual_host::session::{Left, SessionError, Tuner};
use punctual_model::{Clock, Nanos};
use punctual_sys::{HeldDmaLatency, clock, process, sched};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::cli::KeepArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::tuning::{Place, end_process};

/// Every how often a keeper that stays looks whether its session still is there.
const LOOK: Duration = Duration::from_secs(5);
/// How long it waits for another tuner.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a keeper hears.
enum Word {
    Command {
        pid: u32,
        started_ticks: u64,
    },
    Stay,
    Done,
    /// The parent is gone.
    Silence,
    /// SIGTERM.
    End,
}

/// Keeps watch.
pub(super) fn run(place: &Place, args: &KeepArgs) -> Result<Exit, CliError> {
    let fail = |what: &str, err: io::Error| CliError::failed_to(what).because(err);
    process::leave_terminal().map_err(|err| fail("leave the terminal", err))?;
    if let Some(cpus) = &args.cpus {
        // A keeper on a real-time CPU is a nuisance, no failure. Its threads have the CPUs of who starts them.
        drop(sched::set_affinity(cpus));
    }
    let words = listen().map_err(|err| fail("take signals", err))?;
    let _held = args
        .hold
        .map(|bound| HeldDmaLatency::hold(&place.sys, bound))
        .transpose()
        .map_err(|err| CliError::failed_to("limit the exit latency of idle states").because(err))?;
    let tuner = place.tuner()?;
    let mut out = io::stdout();
    out.write_all(b"ready\n")
        .and_then(|()| out.flush())
        .map_err(|err| fail("report that it is ready", err))?;
    let until = args.duration.map(|span| now() + span);
    if keep(&tuner, &args.session, &words, until) {
        revert(&tuner, &args.session);
    }
    Ok(Exit::Fine)
}

/// Listens to the parent and to signals.
fn listen() -> io::Result<Receiver<Word>> {
    let (send, receive) = mpsc::channel();
    let from_signals = send.clone();
    // Ctrl-C and the end of a terminal are none of its business; taken, so that they end nothing.
    let mut signals = Signals::new([SIGTERM, SIGINT, SIGHUP, SIGQUIT])?;
    std::thread::spawn(move || {
        for signal in signals.forever() {
            if signal == SIGTERM && from_signals.send(Word::End).is_err() {
                break;
            }
        }
    });
    std::thread::spawn(move || {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            let parts: Vec<&str> = line.split_whitespace().collect();
            let word = match parts.as_slice() {
                ["command", pid, started] => match (pid.parse(), started.parse()) {
                    (Ok(pid), Ok(started_ticks)) => Word::Command { pid, started_ticks },
                    _ => continue,
                },
                ["stay"] => Word::Stay,
                ["done"] => Word::Done,
                _ => continue,
            };
            if send.send(word).is_err() {
                return;
            }
        }
        drop(send.send(Word::Silence));
    });
    Ok(receive)
}

/// Waits for the end of the session. Returns whether it is to be reverted.
fn keep(tuner: &Tuner, session: &str, words: &Receiver<Word>, until: Option<Nanos>) -> bool {
    let mut stays = false;
    // It may be asked to end before it has read that it stays: those come by different ways.
    let mut asked = false;
    let mut commands = Vec::new();
    loop {
        let left = until.map(|at| Duration::from(at.since(now())));
        if stays && asked {
            // Whoever has a time limit is to be back in the old state when the machine goes down.
            return until.is_some();
        }
        if stays && left.is_some_and(|left| left.is_zero()) {
            return true;
        }
        let pause = left.filter(|_| stays).map_or(LOOK, |left| left.min(LOOK));
        match words.recv_timeout(pause) {
            Ok(Word::Command { pid, started_ticks }) => commands.push((pid, started_ticks)),
            Ok(Word::Stay) => stays = true,
            Ok(Word::Done) | Err(RecvTimeoutError::Disconnected) => return false,
            Ok(Word::Silence) if stays => {}
            Ok(Word::Silence) => {
                for (pid, started_ticks) in commands {
                    end_process(pid, started_ticks);
                }
                return true;
            }
            Ok(Word::End) => asked = true,
            Err(RecvTimeoutError::Timeout) if stays => {
                if !is_active(tuner, session) {
                    return false;
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

fn is_active(tuner: &Tuner, session: &str) -> bool {
    match tuner.left() {
        Ok(Left::Changes(journal)) => journal.session().id == session,
        Ok(_) => false,
        // What cannot be read now may be readable later.
        Err(_) => true,
    }
}

/// Reverts, and tries again as long as another tuner is at work.
fn revert(tuner: &Tuner, session: &str) {
    // What could not be put back stays in the journal; nobody is here to be told.
    while is_active(tuner, session) {
        match tuner.revert(Some(session), PATIENCE) {
            // A session of another namespace is never ours to revert.
            Ok(_) | Err(SessionError::Elsewhere { .. }) => return,
            Err(_) => std::thread::sleep(LOOK),
        }
    }
}

/// Returns the time since boot, sleep of the machine included.
fn now() -> Nanos {
    clock::read(Clock::Boottime)
}
