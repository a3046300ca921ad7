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
    /// takes too long for its sender, ends the program at once; the terminal is as it was before. Who [asked](Self::ask)
    /// otherwise has sent none yet: Ctrl-C after a key that ends the run loses no run.
    pub(crate) fn on_signals() -> Result<Self, CliError> {
        let stop = Arc::new(AtomicBool::new(false));
        let heard = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            // nohup(1) asks that a hangup ends nothing. The others are taken also where a shell
            // has set them to be ignored, as it does for `punctual ... &` in a script.
            if signal == SIGHUP && hangup_is_ignored() {
                continue;
            }
            terminal::ask_and_end_on_signal(signal, Arc::clone(&stop), Arc::clone(&heard))
                .map_err(|err| CliError::failed_to("take signals").because(err))?;
        }
        // It ends the program at once, as anywhere; only the terminal is given back before.
        let always = Arc::new(AtomicBool::new(true));
        terminal::ask_and_end_on_signal(SIGQUIT, Arc::clone(&stop), always)
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

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;
    use std::process::Command;
    use std::time::Duration;

    use rustix::process::{Signal, getpid, kill_process};

    use super::*;

    /// Set for the process that gets the signals.
    const SIGNALLED: &str = "PUNCTUAL_TEST_SIGNALLED";

    /// This test starts itself once more: a second signal ends the process.
    #[test]
    fn a_key_that_asks_for_the_end_is_no_signal_yet() {
        if std::env::var_os(SIGNALLED).is_some() {
            let stop = StopRequest::on_signals().unwrap();
            stop.ask();
            for (signal, then) in [(Signal::TERM, "goes on"), (Signal::INT, "went on")] {
                kill_process(getpid(), signal).unwrap();
                // Another thread may be the one to take it.
                std::thread::sleep(Duration::from_millis(500));
                println!("it {then}");
            }
            return;
        }
        let answer = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "signals::tests::a_key_that_asks_for_the_end_is_no_signal_yet",
            ])
            .arg("--nocapture")
            .env(SIGNALLED, "yes")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&answer.stdout);
        assert!(said.contains("it goes on"), "{answer:?}");
        let ended_by = answer.status.signal().unwrap_or_default();
        assert!([SIGINT, SIGTERM].contains(&ended_by), "{answer:?}");
    }
}
