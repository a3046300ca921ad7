// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Keeping a program and all that it starts, so that nothing of it outlives its keeper.
//!
//! With privilege the keeper is the first process of a process-number space of its own
//! (pid_namespaces(7)): when it ends, by whatever, the kernel kills everything in there. Without,
//! it adopts what the program leaves behind (`PR_SET_CHILD_SUBREAPER`), so that all of it can be
//! found below it and be killed.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, getpid, pidfd_open, set_child_subreaper,
    set_parent_process_death_signal, wait,
};
use rustix::thread::{UnshareFlags, unshare_unsafe};

use crate::thread;

/// Lets the next process that the calling thread starts be the first of a process-number space of
/// its own, and those after it live there. The thread can start no further threads.
///
/// # Errors
///
/// Fails with `EPERM` without `CAP_SYS_ADMIN`, and with `EINVAL` or `ENOSPC` where the kernel has
/// no such spaces or no more of them.
pub fn isolate_processes() -> io::Result<()> {
    // SAFETY: only the numbers of processes that are started from now on change; no file
    // descriptor, memory or credential of this process is affected.
    Ok(unsafe { unshare_unsafe(UnshareFlags::NEWPID) }?)
}

/// How the keeper holds its program.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Hold {
    /// By the kernel: everything dies with the keeper.
    Kernel,
    /// By adoption: the keeper has to kill what is below it.
    Adoption,
}

/// Makes this process a keeper that ends with the thread of `parent` that started it: by SIGKILL
/// where the kernel holds the program, else by SIGTERM, which leaves it time to kill.
///
/// # Errors
///
/// Fails when the parent is gone already.
pub fn become_keeper(parent: u32) -> io::Result<Hold> {
    if getpid().is_init() {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        return Ok(Hold::Kernel);
    }
    set_child_subreaper(Some(getpid()))?;
    set_parent_process_death_signal(Some(Signal::TERM))?;
    let now = rustix::process::getppid().map_or(0, |pid| pid.as_raw_nonzero().get());
    match i64::from(now) == i64::from(parent) {
        true => Ok(Hold::Adoption),
        false => Err(io::Error::other("the parent process is gone")),
    }
}

/// A program that this process keeps. While there is one, nothing else may wait for children.
#[derive(Debug)]
pub struct Kept {
    pid: Pid,
    pidfd: OwnedFd,
}

/// What a look at a kept program has shown.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Look {
    /// It goes on.
    Nothing,
    /// It has ended with this status; 128 and the number of the signal if one ended it.
    Ended(u8),
    /// Nobody reads this process's standard output any more.
    Unheard,
}

impl Kept {
    /// Starts `command`, which also dies with the calling thread.
    ///
    /// # Errors
    ///
    /// Fails as `fork(2)` and `execve(2)` do.
    pub fn start(command: &mut Command) -> io::Result<Self> {
        let parent = std::process::id();
        // SAFETY: the closure runs between fork and exec, where another thread may have held any
        // lock: it makes system calls on plain values. Only where the parent is gone does it make
        // an error that allocates, and then nobody waits for the answer.
        unsafe { command.pre_exec(move || thread::die_with_parent(parent)) };
        let child = command.spawn()?;
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let pid = pid.ok_or(io::ErrorKind::InvalidData)?;
        let pidfd = pidfd_open(pid, PidfdFlags::empty())?;
        Ok(Self { pid, pidfd })
    }

    /// Waits until something has happened, for `patience` at most, and clears away what has ended
    /// below this process. A signal that is handled ends the wait too.
    ///
    /// # Errors
    ///
    /// Fails as `poll(2)` and `wait4(2)` do, for no reason that is known.
    pub fn look(&self, patience: Duration) -> io::Result<Look> {
        let stdout = io::stdout();
        let mut fds = [
            PollFd::new(&self.pidfd, PollFlags::IN),
            PollFd::from_borrowed_fd(stdout.as_fd(), PollFlags::empty()),
        ];
        let patience = Timespec::try_from(patience).map_err(|_| io::ErrorKind::InvalidInput)?;
        match poll(&mut fds, Some(&patience)) {
            Ok(_) => {}
            Err(Errno::INTR) => return Ok(Look::Nothing),
            Err(err) => return Err(err.into()),
        }
        let unheard = fds[1].revents().contains(PollFlags::ERR);
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid == self.pid => {
                    let code = status.exit_status();
                    let signal = status.terminating_signal().map(|signal| 128 + signal);
                    let code = code.or(signal).unwrap_or(255);
                    return Ok(Look::Ended(u8::try_from(code).unwrap_or(255)));
                }
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) | Err(Errno::CHILD) => break,
                Err(err) => return Err(err.into()),
            }
        }
        Ok(if unheard {
            Look::Unheard
        } else {
            Look::Nothing
        })
    }
}

/// Clears away all children that have ended.
pub fn clear_away() {
    while matches!(wait(WaitOptions::NOHANG), Ok(Some(_))) {}
}

/// Makes starting `command` copy this process (fork(2)), where the library would otherwise borrow
/// its memory for the moment (vfork(2)).
pub fn copy_to_start(command: &mut Command) {
    // SAFETY: the closure does nothing.
    unsafe { command.pre_exec(|| Ok(())) };
}
