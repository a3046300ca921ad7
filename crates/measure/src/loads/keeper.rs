// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The process between a load and a program that it runs: nothing of the program outlives it.

use std::ffi::OsString;
use std::io;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use punctual_sys::keep::{Fuses, Hold, Kept, Look, become_keeper};
use punctual_sys::proc::below;
use punctual_sys::{SysRoot, process};

/// Time between two looks, where nothing happens that ends the wait for them.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Time between the first looks: what a program starts in groups of its own it mostly starts at once.
const FIRST_LOOKS_EVERY: Duration = Duration::from_millis(50);

/// Number of those.
const FIRST_LOOKS: u32 = 20;

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
    // What dies with the keeper anyway needs none. Where they cannot be had, the keeper still kills unless it is killed.
    let mut fuses = match hold {
        Hold::Kernel => None,
        Hold::Adoption => Fuses::new().ok(),
    };
    let kept = Kept::start(Command::new(program).args(args), fuses.as_ref()).map_err(|err| {
        let what = format!("{}: {err}", program.to_string_lossy());
        io::Error::new(err.kind(), what)
    })?;
    let status = watch(&kept, fuses.as_mut(), stop)?;
    if hold == Hold::Adoption {
        kill_all_below(std::process::id());
    }
    if let Some(fuses) = fuses {
        fuses.leave_to_the_end();
    }
    Ok(status)
}

/// Waits for the end of the program or of the wish for it; returns the status.
fn watch(kept: &Kept, mut fuses: Option<&mut Fuses>, stop: &AtomicBool) -> io::Result<u8> {
    let sys = SysRoot::live();
    let mut looks = 0_u32;
    loop {
        let patience = match fuses {
            Some(_) if looks < FIRST_LOOKS => FIRST_LOOKS_EVERY,
            _ => LOOK_EVERY,
        };
        match kept.look(patience)? {
            Look::Ended(status) => return Ok(status),
            Look::Unheard => return Ok(0),
            Look::Nothing if stop.load(Ordering::Relaxed) => return Ok(0),
            Look::Nothing => {}
        }
        looks = looks.saturating_add(1);
        if let Some(fuses) = &mut fuses {
            fuses.arm(&below(&sys, std::process::id()))?;
        }
    }
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
