// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Processes below a program that have left its process group, as those of timeout(1), setsid(1) and of this program do:
//! what is said to the group does not reach them.

use std::os::fd::OwnedFd;

use rustix::process::{
    Pid, PidfdFlags, Signal, getpgid, kill_process_group, pidfd_open, pidfd_send_signal,
};

use crate::SysRoot;
use crate::proc::{below, numbers, parent, stat_number};

/// The field of a process's `stat` that has its process group (proc_pid_stat(5)).
const PROCESS_GROUP: usize = 5;

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
            self.find(sys, group);
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
