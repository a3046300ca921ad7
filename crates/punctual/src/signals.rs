// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Signals that ask for the end: the run stops cleanly and is recorded.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use punctual_sys::{SysRoot, terminal};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::flag;

use crate::error::CliError;

/// What the signals have asked for.
#[derive(Clone, Debug)]
pub(crate) struct StopRequest(Arc<AtomicBool>);

impl StopRequest {
    /// Takes SIGINT, SIGTERM and SIGHUP. The first asks for a clean end; a second one, when that
    /// takes too long for its sender, ends the program at once; the terminal is as it was before.
    pub(crate) fn on_signals() -> Result<Self, CliError> {
        let stop = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            // nohup(1) asks that a hangup ends nothing. The others are taken also where a shell
            // has set them to be ignored, as it does for `punctual ... &` in a script.
            if signal == SIGHUP && hangup_is_ignored() {
                continue;
            }
            terminal::ask_and_end_on_signal(signal, Arc::clone(&stop))
                .map_err(|err| CliError::failed_to("take signals").because(err))?;
        }
        // It ends the program at once, as anywhere; only the terminal is given back before.
        let always = Arc::new(AtomicBool::new(true));
        terminal::ask_and_end_on_signal(SIGQUIT, always)
            .map_err(|err| CliError::failed_to("take signals").because(err))?;
        Ok(Self(stop))
    }

    /// Takes SIGINT, SIGTERM and SIGHUP, however often they come: for a process whose end needs its
    /// time. The kernel sends the signal of a parent's death once for each of the parent's threads
    /// that the process belonged to.
    pub(crate) fn on_any_number_of_signals() -> Result<Self, CliError> {
        let stop = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            flag::register(signal, Arc::clone(&stop))
                .map_err(|err| CliError::failed_to("take signals").because(err))?;
        }
        Ok(Self(stop))
    }

    /// Returns the flag itself.
    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }

    /// Asks for the end, as the first signal does.
    pub(crate) fn ask(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether the end was asked for.
    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Reads the mask of ignored signals (proc(5), `SigIgn`); bit 0 is signal 1.
fn hangup_is_ignored() -> bool {
    let status = SysRoot::live()
        .read("/proc/self/status")
        .unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_some_and(|mask| mask & (1 << (SIGHUP - 1)) != 0)
}
