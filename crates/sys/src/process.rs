// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Processes: their names, leaving the terminal, telling others to end, to stop or to go on.

use std::ffi::CStr;
use std::io;

use punctual_model::Nanos;
use rustix::process::{Pid, Signal, kill_process, setsid, test_kill_process};

use crate::thread;

/// Gives the calling thread `name` where it has been started as /proc/self/exe: it would be called "exe" by `ps`, by traces, and
/// by all who read them. The kernel keeps 15 bytes.
pub fn name_if_exe(name: &CStr) {
    if rustix::thread::name().is_ok_and(|name| name.as_c_str() == c"exe") {
        // The name is for people only.
        rustix::thread::set_name(name).ok();
    }
}

/// Leaves the terminal for good: this process starts a session of its own, so that neither Ctrl-C
/// nor the end of the terminal reaches it.
///
/// # Errors
///
/// Fails with `EPERM` when this process leads a process group.
pub fn leave_terminal() -> io::Result<()> {
    setsid()?;
    Ok(())
}

/// Asks process `pid` to end (SIGTERM).
///
/// # Errors
///
/// Fails with `ESRCH` when there is no such process, and with `EPERM` when it is another user's.
pub fn ask_to_end(pid: u32) -> io::Result<()> {
    send(pid, Signal::TERM)
}

/// Ends process `pid` (SIGKILL).
///
/// # Errors
///
/// As [`ask_to_end`].
pub fn kill(pid: u32) -> io::Result<()> {
    send(pid, Signal::KILL)
}

/// Lets process `pid` stand still (SIGSTOP) until [`go_on`].
///
/// # Errors
///
/// As [`ask_to_end`].
pub fn stop(pid: u32) -> io::Result<()> {
    send(pid, Signal::STOP)
}

/// Lets process `pid` go on (SIGCONT) that stands still.
///
/// # Errors
///
/// As [`ask_to_end`].
pub fn go_on(pid: u32) -> io::Result<()> {
    send(pid, Signal::CONT)
}

/// Whether there is a process `pid` in our namespace, also one that is another user's or that was not waited for yet.
pub fn exists(pid: u32) -> bool {
    let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else {
        return false;
    };
    test_kill_process(pid) != Err(rustix::io::Errno::SRCH)
}

fn send(pid: u32, signal: Signal) -> io::Result<()> {
    let pid = i32::try_from(pid)
        .ok()
        .and_then(Pid::from_raw)
        .ok_or(io::ErrorKind::InvalidInput)?;
    Ok(kill_process(pid, signal)?)
}

/// Returns the CPU time of process `pid`, all its threads together, or `None` once it is gone.
pub fn cpu_time(pid: u32) -> Option<Nanos> {
    // The clock of another process: clock_getres(2), "dynamic clocks"; CPUCLOCK_SCHED in the low
    // bits, the inverted process number above them.
    thread::dynamic_clock((!i32::try_from(pid).ok()? << 3) | 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_time_of_this_process_grows_and_a_missing_one_has_none() {
        let before = cpu_time(std::process::id()).unwrap();
        while cpu_time(std::process::id()).unwrap() == before {
            std::hint::black_box(crate::compute_loop::add(1_000));
        }
        // Past the largest process number (PID_MAX_LIMIT).
        assert_eq!(cpu_time(5_000_000), None);
    }

    #[test]
    fn a_process_that_is_not_there_cannot_be_told_anything() {
        for tell in [ask_to_end, kill, stop, go_on] {
            assert!(tell(5_000_000).is_err());
            // Zero would be our own group.
            assert!(tell(0).is_err());
            assert!(tell(u32::MAX).is_err());
        }
    }
}
