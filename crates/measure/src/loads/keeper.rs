// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The process between a load and a program that it runs: nothing of the program outlives it.

use std::ffi::OsString;
use std::io;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use punctual_sys::below::below;
use punctual_sys::keep::{Hold, Kept, Look, become_keeper};
use punctual_sys::{SysRoot, process};

/// Time between two looks, where nothing happens that ends the wait for them.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Whoever cannot be killed within this time hangs in the kernel.
const KILL_WITHIN: Duration = Duration::from_secs(5);

/// Runs `command`, and ends with it, with the thread of process `parent` that started this
/// process, when `stop` is set, or when nobody reads its output any more. Then all that the
/// program has started is killed. Returns the status to exit with: the program's, or 128 and the
/// number of the signal that ended it.
///
/// # Errors
///
/// Fails when the program cannot be started.
pub(super) fn keep(parent: u32, command: &[OsString], stop: &AtomicBool) -> io::Result<u8> {
    let hold = become_keeper(parent)?;
    // It fails only where this process leads a group, and then no terminal reaches it either.
    drop(process::leave_terminal());
    let Some((program, args)) = command.split_first() else {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    };
    let kept = Kept::start(Command::new(program).args(args)).map_err(|err| {
        let what = format!("{}: {err}", program.to_string_lossy());
        io::Error::new(err.kind(), what)
    })?;
    let status = loop {
        match kept.look(LOOK_EVERY)? {
            Look::Ended(status) => break status,
            Look::Unheard => break 0,
            Look::Nothing if stop.load(Ordering::Relaxed) => break 0,
            Look::Nothing => {}
        }
    };
    if hold == Hold::Adoption {
        kill_all_below(std::process::id());
    }
    Ok(status)
}

/// Kills until nothing is left: what is killed may have started something at the last moment.
fn kill_all_below(pid: u32) {
    let sys = SysRoot::live();
    let end = Instant::now() + KILL_WITHIN;
    loop {
        let below = below(&sys, pid);
        let alive = below.iter().filter(|pid| process::kill(**pid).is_ok());
        // The kernel lists a process that nobody has waited for yet; it has no children any more.
        if alive.count() == 0 || Instant::now() > end {
            return;
        }
        punctual_sys::keep::clear_away();
        std::thread::sleep(Duration::from_millis(1));
    }
}
