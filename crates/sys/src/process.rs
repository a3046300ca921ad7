// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Processes: leaving the terminal, asking others to end.

use std::io;

use rustix::process::{Pid, Signal, kill_process, setsid, umask};

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
    let pid = i32::try_from(pid)
        .ok()
        .and_then(Pid::from_raw)
        .ok_or(io::ErrorKind::InvalidInput)?;
    Ok(kill_process(pid, Signal::TERM)?)
}

/// Lets files that this process makes be its own user's alone.
pub fn make_files_private() {
    umask(rustix::fs::Mode::from_raw_mode(0o077));
}
