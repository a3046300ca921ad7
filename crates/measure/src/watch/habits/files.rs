// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What the descriptors of a watched thread are: files and terminals, or devices, sockets and timers, which real-time code
//! may use.

use std::collections::BTreeMap;

use punctual_sys::{SysRoot, calls};

use super::super::thread::Thread;

/// Descriptors that are kept.
const KEPT: usize = 256;

/// The descriptors of a thread that calls named, and what they were when they were last looked up.
#[derive(Debug, Default)]
pub(super) struct Files(BTreeMap<u64, String>);

impl Files {
    /// Looks up the descriptors that calls since `from` named. A thread that is gone keeps what was known.
    pub(super) fn look(&mut self, sys: &SysRoot, thread: &Thread, from: u64) {
        let mut named: Vec<u64> = thread
            .calls_within(from, u64::MAX)
            .filter(|(.., call)| {
                let name = calls::name(call.call).unwrap_or_default();
                ["read", "write", "sync"]
                    .iter()
                    .any(|part| name.contains(part))
            })
            .map(|(.., call)| call.first())
            .collect();
        named.sort_unstable();
        named.dedup();
        for descriptor in named {
            let link = sys.full(&format!("/proc/{}/fd/{descriptor}", thread.tid));
            let Ok(target) = std::fs::read_link(link) else {
                continue;
            };
            if self.0.len() < KEPT || self.0.contains_key(&descriptor) {
                let target = target.to_string_lossy();
                let shown = target
                    .chars()
                    .map(|c| if c.is_control() { '\u{fffd}' } else { c });
                self.0.insert(descriptor, shown.collect());
            }
        }
    }

    /// Returns what a descriptor was.
    pub(super) fn path(&self, descriptor: u64) -> Option<&str> {
        self.0.get(&descriptor).map(String::as_str)
    }

    /// Whether it is a file of a file system that may wait for storage or locks.
    pub(super) fn is_file(&self, descriptor: u64) -> bool {
        self.path(descriptor).is_some_and(|path| {
            path.starts_with('/') && !path.starts_with("/dev/") && !path.starts_with("/memfd:")
        })
    }

    /// Whether who writes to it waits for a file, a terminal or whoever reads its output.
    pub(super) fn is_output(&self, descriptor: u64) -> bool {
        let is_terminal = |path: &str| {
            let tty = path.strip_prefix("/dev/tty");
            let is_console = tty.is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit()));
            is_console || path.starts_with("/dev/pts/") || path == "/dev/console"
        };
        let is_piped = |path: &str| path.starts_with("pipe:") && matches!(descriptor, 1 | 2);
        self.is_file(descriptor)
            || self
                .path(descriptor)
                .is_some_and(|path| is_terminal(path) || is_piped(path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_sockets_and_memory_are_no_files() {
        let of = |path: &str| Files(BTreeMap::from([(1, path.to_owned()), (5, path.to_owned())]));
        for path in ["/tmp/log", "/tmp/log (deleted)", "/proc/interrupts"] {
            assert!(of(path).is_file(5) && of(path).is_output(5), "{path}");
        }
        for path in ["/dev/pts/3", "/dev/tty", "/dev/tty1", "/dev/console"] {
            assert!(!of(path).is_file(5) && of(path).is_output(5), "{path}");
        }
        // A serial line and a field bus are what such a loop is for.
        for path in [
            "/dev/ttyUSB0",
            "/dev/EtherCAT0",
            "/dev/null",
            "/dev/shm/ring",
            "/memfd:ring",
            "socket:[7]",
            "anon_inode:[timerfd]",
        ] {
            assert!(!of(path).is_file(5) && !of(path).is_output(5), "{path}");
        }
        assert!(of("pipe:[9]").is_output(1));
        assert!(!of("pipe:[9]").is_output(5));
        assert!(!of("pipe:[9]").is_output(7), "it was never looked up");
    }
}
