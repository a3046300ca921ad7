// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Processes below a program that have left its process group, as those of timeout(1), setsid(1) and of this program do:
//! what is said to the group does not reach them.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::process::{
    Pid, PidfdFlags, Signal, getpgid, kill_process_group, pidfd_open, pidfd_send_signal,
};

use crate::SysRoot;
use crate::proc::{Stat, below, numbers, parent, stat_number};

/// The field of a process's `stat` that has its process group (proc_pid_stat(5)).
const PROCESS_GROUP: usize = 5;

/// The field of a `stat` that has the state: T and t are stopped, Z and X have ended.
const STATE: usize = 3;

/// How long one that was told to stop is waited for: it cannot while it waits for a disk.
const STOPPED_WITHIN: Duration = Duration::from_secs(1);

/// Those that were found.
#[derive(Debug, Default)]
pub(super) struct Strays(Vec<Stray>);

#[derive(Debug)]
struct Stray {
    pid: u32,
    /// Who started it.
    parent: Option<u32>,
    /// Names it also when the number is another's.
    handle: OwnedFd,
    asked: bool,
}

impl Strays {
    /// Adds those below the processes of `group`, and below those that were found before.
    pub(super) fn find(&mut self, sys: &SysRoot, group: Pid) {
        // The first process may be gone, and what it started has another parent then.
        let members = numbers(sys, "/proc")
            .filter(|pid| stat_number(sys, *pid, PROCESS_GROUP) == Some(group.as_raw_pid()));
        let roots = members.chain(self.0.iter().map(|stray| stray.pid));
        let found: Vec<u32> = roots.flat_map(|root| below(sys, root)).collect();
        for pid in found {
            let known = self.0.iter().any(|stray| stray.pid == pid);
            let Some(of) = i32::try_from(pid).ok().and_then(Pid::from_raw) else {
                continue;
            };
            if known || getpgid(Some(of)).is_ok_and(|its| its == group) {
                continue;
            }
            // One that is gone by now needs no asking.
            if let Ok(handle) = pidfd_open(of, PidfdFlags::empty()) {
                self.0.push(Stray {
                    pid,
                    parent: parent(sys, pid),
                    handle,
                    asked: false,
                });
            }
        }
    }

    /// Asks those to end (SIGTERM), once each, whose parent is gone: a parent that is there was asked itself, and needs
    /// its children to leave things in order.
    pub(super) fn ask_orphans(&mut self, sys: &SysRoot) {
        for stray in &mut self.0 {
            if !stray.asked && parent(sys, stray.pid) != stray.parent {
                stray.asked = true;
                // That it is gone is what was asked for.
                let _ = pidfd_send_signal(&stray.handle, Signal::TERM);
            }
        }
    }

    /// Adds all that have left `group` after stopping them and the group, so that none of them starts another one that
    /// nobody finds.
    pub(super) fn find_and_stop(&mut self, sys: &SysRoot, group: Pid) {
        let mut stopped = None;
        while stopped != Some(self.0.len()) {
            stopped = Some(self.0.len());
            let _ = kill_process_group(group, Signal::STOP);
            self.tell(Signal::STOP);
            self.wait_until_stopped(sys, group);
            self.find(sys, group);
        }
    }

    /// Waits until all of them have stopped: one that is in the middle of starting another ends that first.
    fn wait_until_stopped(&self, sys: &SysRoot, group: Pid) {
        let end = Instant::now() + STOPPED_WITHIN;
        let runs = |pid: u32| {
            let task = format!("/proc/{pid}/task");
            let state = |tid: u32| {
                let stat = sys.read_lossy(&format!("{task}/{tid}/stat")).ok()?;
                Stat::parse(&stat)?.number(STATE)
            };
            numbers(sys, &task).any(|tid| state(tid).is_some_and(|of: char| !"TtZX".contains(of)))
        };
        let of_group =
            |pid: &u32| stat_number(sys, *pid, PROCESS_GROUP) == Some(group.as_raw_pid());
        let all_stand = || {
            let strays = self.0.iter().map(|stray| stray.pid);
            !numbers(sys, "/proc")
                .filter(of_group)
                .chain(strays)
                .any(runs)
        };
        while !all_stand() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Kills all of them.
    pub(super) fn kill(&self) {
        self.tell(Signal::KILL);
    }

    fn tell(&self, signal: Signal) {
        for stray in &self.0 {
            // That it is gone is what is wanted at last.
            let _ = pidfd_send_signal(&stray.handle, signal);
        }
    }
}
