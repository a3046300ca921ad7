// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What a program has started that is to end: whoever ends the program alone leaves that running.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::SysRoot;
use crate::proc::below;

/// Processes below a program. Each is named also when its number is another's.
#[derive(Debug, Default)]
pub struct Below(Vec<OwnedFd>);

impl Below {
    /// Returns those that are below `program` now: when it has ended they have another parent.
    pub fn of(sys: &SysRoot, program: u32) -> Self {
        let open = |pid: u32| {
            let pid = Pid::from_raw(i32::try_from(pid).ok()?)?;
            // One that is gone by now needs no asking.
            pidfd_open(pid, PidfdFlags::empty()).ok()
        };
        Self(below(sys, program).into_iter().filter_map(open).collect())
    }

    /// Asks those that are left to end (SIGTERM), and kills those that have not after `patience`.
    pub fn end_within(mut self, patience: Duration) {
        let end = Instant::now() + patience;
        self.0.retain(|one| !has_ended(one, Duration::ZERO));
        self.tell(Signal::TERM);
        let left = || end.saturating_duration_since(Instant::now());
        self.0.retain(|one| !has_ended(one, left()));
        self.tell(Signal::KILL);
    }

    fn tell(&self, signal: Signal) {
        for one in &self.0 {
            // That it is gone is what is wanted.
            let _ = pidfd_send_signal(one, signal);
        }
    }
}

/// Waits for at most `patience` for the end of a process (pidfd_open(2): its descriptor can be read then).
fn has_ended(process: &OwnedFd, patience: Duration) -> bool {
    let mut waits = [PollFd::new(process, PollFlags::IN)];
    let patience = Timespec::try_from(patience).ok();
    matches!(poll(&mut waits, patience.as_ref()), Ok(1..))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead as _, BufReader};
    use std::process::{Command, Stdio};

    #[test]
    fn what_a_program_started_ends_with_it_also_where_it_does_not_listen() {
        // Two that sleep, one of which hears no SIGTERM: its loop starts another one at once.
        let script = "sleep 300 & (trap '' TERM; while :; do sleep 300; done) & echo ready; wait";
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdout(Stdio::piped());
        let mut program = command.spawn().unwrap();
        let mut said = String::new();
        let mut out = BufReader::new(program.stdout.take().unwrap());
        out.read_line(&mut said).unwrap();
        let sys = SysRoot::live();
        let until = Instant::now() + Duration::from_secs(60);
        while below(&sys, program.id()).len() < 3 && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
        let pids = below(&sys, program.id());
        assert_eq!(pids.len(), 3, "{pids:?}");
        let left = Below::of(&sys, program.id());
        program.kill().unwrap();
        program.wait().unwrap();
        left.end_within(Duration::from_millis(200));
        let lives = |pid: &u32| {
            let stat = sys
                .read_lossy(&format!("/proc/{pid}/stat"))
                .unwrap_or_default();
            // Whoever has it now as a child may not have asked how it ended.
            let of_ours = stat.contains("(sleep)") || stat.contains("(sh)");
            of_ours && !stat.contains(") Z")
        };
        let until = Instant::now() + Duration::from_secs(60);
        while pids.iter().any(lives) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
        let left: Vec<&u32> = pids.iter().filter(|pid| lives(pid)).collect();
        assert!(left.is_empty(), "{left:?}");
    }
}
