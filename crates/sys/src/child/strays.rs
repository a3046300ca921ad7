// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Processes below a program that have left its process group, as those of timeout(1), setsid(1) and of this program do:
//! what is said to the group does not reach them.

use std::os::fd::OwnedFd;

use rustix::process::{Pid, PidfdFlags, Signal, getpgid, pidfd_open, pidfd_send_signal};

use crate::SysRoot;
use crate::proc::{below, parent};

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
    /// Adds those below the first process of `group`, and below those that were found before.
    pub(super) fn find(&mut self, sys: &SysRoot, group: Pid) {
        let first = u32::try_from(group.as_raw_nonzero().get()).unwrap_or(0);
        let roots = std::iter::once(first).chain(self.0.iter().map(|stray| stray.pid));
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

    /// Kills all of them.
    pub(super) fn kill(&self) {
        for stray in &self.0 {
            let _ = pidfd_send_signal(&stray.handle, Signal::KILL);
        }
    }
}
