// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Keeping a program and all that it starts, so that nothing of it outlives its keeper.
//!
//! With privilege the keeper is the first process of a process-number space of its own
//! (pid_namespaces(7)): when it ends, by whatever, the kernel kills everything in there. Without,
//! it adopts what the program leaves behind (`PR_SET_CHILD_SUBREAPER`), so that all of it can be
//! found below it and be killed. Where the keeper itself is killed in that moment, its [`Fuses`] are left.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::time::Duration;

use std::os::fd::{AsRawFd as _, RawFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, getpid, pidfd_open, set_child_subreaper,
    set_parent_process_death_signal, wait,
};
use rustix::thread::{UnshareFlags, unshare_unsafe};

use crate::errno::done;
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

/// Pipes that only this process can write to, and whose other ends the program and what it starts inherit. When this
/// process ends, by whatever, the kernel tells the readers' process groups that nobody writes any more (`O_ASYNC`), by
/// the signal that was asked for: SIGKILL.
///
/// A group is passed on only while one process still has the end of the pipe, and a group of its own that a process has made
/// since the last [`Fuses::arm`] is not told.
#[derive(Debug)]
pub struct Fuses {
    /// Each with the group that it is for.
    armed: Vec<(Fuse, Option<Pid>)>,
}

#[derive(Debug)]
struct Fuse {
    read: OwnedFd,
    #[expect(dead_code, reason = "that it is open is all that it is for")]
    write: OwnedFd,
}

/// Numbers that programs do not use of themselves.
const FUSE_FROM: RawFd = 200;

/// Which signal is sent; missing in the crate `libc` (fcntl(2), `asm-generic/fcntl.h`).
const F_SETSIG: libc::c_int = 10;

/// Most groups that are passed on.
const FUSES: usize = 8;

impl Fuses {
    /// Makes them, the first for this process's own group, in which the program begins.
    ///
    /// # Errors
    ///
    /// Fails as `pipe2(2)` and `fcntl(2)` do, where there are no more descriptors.
    pub fn new() -> io::Result<Self> {
        let armed = (0..FUSES).map(|_| Ok((Fuse::new()?, None)));
        let mut fuses = Self {
            armed: armed.collect::<io::Result<_>>()?,
        };
        let own = rustix::process::getpgrp();
        if let Some((fuse, group)) = fuses.armed.first_mut() {
            fuse.arm(own)?;
            *group = Some(own);
        }
        Ok(fuses)
    }

    /// Arms them for the groups of `processes` too, as far as there are enough: those that have ended make room.
    ///
    /// # Errors
    ///
    /// Fails as `fcntl(2)` does, for no reason that is known.
    pub fn arm(&mut self, processes: &[u32]) -> io::Result<()> {
        let pids = processes.iter().filter_map(|pid| i32::try_from(*pid).ok());
        // A process that has ended by now has no group.
        let groups = pids.filter_map(|pid| rustix::process::getpgid(Pid::from_raw(pid)).ok());
        let groups: Vec<Pid> = groups.collect();
        let own = rustix::process::getpgrp();
        for group in groups.iter().filter(|group| **group != own) {
            if self.armed.iter().any(|(_, armed)| armed == &Some(*group)) {
                continue;
            }
            let gone = |armed: &Option<Pid>| {
                armed.is_none_or(|armed| armed != own && !groups.contains(&armed))
            };
            let Some((fuse, armed)) = self.armed.iter_mut().find(|(_, armed)| gone(armed)) else {
                return Ok(());
            };
            fuse.arm(*group)?;
            *armed = Some(*group);
        }
        Ok(())
    }

    /// Keeps them until this process has ended: it is in one of the groups itself.
    pub fn leave_to_the_end(self) {
        std::mem::forget(self);
    }

    fn reads(&self) -> Vec<RawFd> {
        let fuses = self.armed.iter();
        fuses.map(|(fuse, _)| fuse.read.as_raw_fd()).collect()
    }
}

impl Fuse {
    fn new() -> io::Result<Self> {
        let (read, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        let read = rustix::io::fcntl_dupfd_cloexec(&read, FUSE_FROM).unwrap_or(read);
        let fuse = Self { read, write };
        fuse.set(F_SETSIG, libc::SIGKILL)?;
        fuse.set(libc::F_SETFL, libc::O_ASYNC)?;
        Ok(fuse)
    }

    fn arm(&self, group: Pid) -> io::Result<()> {
        self.set(libc::F_SETOWN, -group.as_raw_nonzero().get())
    }

    fn set(&self, what: libc::c_int, value: libc::c_int) -> io::Result<()> {
        // SAFETY: the descriptor is open for as long as `self` lives, and each of the three requests takes a number.
        done(unsafe { libc::fcntl(self.read.as_raw_fd(), what, value) })
    }
}

/// A program that this process keeps. While there is one, nothing else may wait for children.
#[derive(Debug)]
pub struct Kept {
    pid: Pid,
    pidfd: OwnedFd,
}

/// Lets the program have a descriptor that is closed on execve(2) otherwise.
fn keep_over_exec(fd: RawFd) -> io::Result<()> {
    // SAFETY: the request takes a number. The descriptor is one of the fuses', which the parent that was copied holds;
    // were it none, the kernel would say so.
    done(unsafe { libc::fcntl(fd, libc::F_SETFD, 0) })
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
    /// Starts `command`, which also dies with the calling thread, and inherits its ends of `fuses`.
    ///
    /// # Errors
    ///
    /// Fails as `fork(2)` and `execve(2)` do.
    pub fn start(command: &mut Command, fuses: Option<&Fuses>) -> io::Result<Self> {
        let parent = std::process::id();
        let inherited = fuses.map(Fuses::reads).unwrap_or_default();
        let prepare = move || {
            thread::die_with_parent(parent)?;
            inherited.iter().try_for_each(|fd| keep_over_exec(*fd))
        };
        // SAFETY: the closure runs between fork and exec, where another thread may have held any
        // lock: it makes system calls on plain values. Only where the parent is gone does it make
        // an error that allocates, and then nobody waits for the answer.
        unsafe { command.pre_exec(prepare) };
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
