// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What a load is.

use std::time::Duration;

use super::disk::Disk;
use super::ping::Ping;
use super::printk::Printk;
use super::sched;
use super::settings::Settings;
use crate::linpack;

/// What a disk that works may take for what it was given.
const DISK: Duration = Duration::from_secs(2);

/// A load, its size, and how it runs.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LoadSpec {
    /// What it does.
    pub kind: LoadKind,
    /// How it runs.
    pub settings: Settings,
}

/// What a load does, and how large it is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum LoadKind {
    /// Threads that add; one a CPU unless a number is given.
    Cpu {
        /// Number of threads.
        threads: Option<u32>,
    },
    /// A thread a CPU that reads and writes at random places of a block.
    Memory {
        /// Size of each thread's block, in bytes.
        block: u64,
    },
    /// Threads that start processes, which end at once, and wait for them; one a CPU unless a
    /// number is given.
    Fork {
        /// Number of threads.
        threads: Option<u32>,
    },
    /// Threads that solve systems of linear equations; one a CPU unless a number is given.
    Linpack {
        /// Number of threads.
        threads: Option<u32>,
        /// Number of equations of each system.
        order: u32,
    },
    /// Floods of ICMP echo requests.
    Ping(Ping),
    /// Lines for the kernel's log and the consoles.
    Printk(Printk),
    /// Groups of threads that send each other messages through sockets; one a CPU unless a number
    /// is given.
    Sched {
        /// Number of groups.
        groups: Option<u32>,
    },
    /// A thread a CPU that writes a file in memory and truncates it.
    Tmpfs {
        /// Size of each thread's file, in bytes.
        size: u64,
    },
    /// Requests to storage, by fio.
    Io(Disk),
    /// What stress-ng does.
    StressNg {
        /// Its arguments, as for a shell.
        args: String,
    },
    /// Any program.
    Cmd {
        /// What a shell is to run.
        command: String,
    },
}

impl LoadSpec {
    /// Returns the name without size and settings.
    pub const fn name(&self) -> &'static str {
        match self.kind {
            LoadKind::Cpu { .. } => "cpu",
            LoadKind::Memory { .. } => "memory",
            LoadKind::Fork { .. } => "fork",
            LoadKind::Linpack { .. } => "linpack",
            LoadKind::Ping(_) => "ping",
            LoadKind::Printk(_) => "printk",
            LoadKind::Sched { .. } => "sched",
            LoadKind::Tmpfs { .. } => "tmpfs",
            LoadKind::Io(_) => "io",
            LoadKind::StressNg { .. } => "stress-ng",
            LoadKind::Cmd { .. } => "cmd",
        }
    }

    /// Returns what the work is counted in, unless the load says so itself.
    pub const fn unit(&self) -> &'static str {
        match self.kind {
            LoadKind::Cpu { .. } => "additions",
            LoadKind::Memory { .. } => "accesses",
            LoadKind::Fork { .. } => "processes",
            LoadKind::Linpack { .. } => "floating-point operations",
            LoadKind::Ping(_) => "replies",
            LoadKind::Printk(_) => "lines",
            LoadKind::Sched { .. } => "messages",
            LoadKind::Tmpfs { .. } | LoadKind::Io(_) => "bytes",
            LoadKind::StressNg { .. } | LoadKind::Cmd { .. } => "ms of CPU time",
        }
    }

    /// Whether it may write to the consoles, which only who asks for it should have.
    pub const fn reaches_consoles(&self) -> bool {
        matches!(self.kind, LoadKind::Printk(_))
    }

    /// Whether it is a program of its own, and not threads of the load process.
    pub(super) const fn is_program(&self) -> bool {
        matches!(
            self.kind,
            LoadKind::Fork { .. }
                | LoadKind::Linpack { .. }
                | LoadKind::Io(_)
                | LoadKind::StressNg { .. }
                | LoadKind::Cmd { .. }
        )
    }

    /// Whether it is a program of somebody else: whatever the user's `PATH` or command line names.
    pub(super) const fn is_foreign_program(&self) -> bool {
        matches!(
            self.kind,
            LoadKind::Io(_) | LoadKind::StressNg { .. } | LoadKind::Cmd { .. }
        )
    }

    /// Returns how many threads it has, where it says, if the program may use `cpus` CPUs.
    pub(super) fn threads(&self, cpus: u32) -> u32 {
        let cpus = self.settings.cpu_count(cpus);
        match &self.kind {
            &(LoadKind::Cpu { threads }
            | LoadKind::Fork { threads }
            | LoadKind::Linpack { threads, .. }) => threads.unwrap_or(cpus),
            LoadKind::Ping(ping) => 2 * ping.floods,
            LoadKind::Sched { groups } => groups.unwrap_or(cpus).saturating_mul(2 * sched::GROUP),
            LoadKind::Memory { .. } | LoadKind::Tmpfs { .. } => cpus,
            LoadKind::Printk(_)
            | LoadKind::Io(_)
            | LoadKind::StressNg { .. }
            | LoadKind::Cmd { .. } => 1,
        }
    }

    /// Returns how long it may take, beyond what is usual, until it shows work, where each thread waits `turn`
    /// for a CPU.
    pub(super) fn patience(&self, turn: Duration) -> Duration {
        match self.kind {
            // The parent, the child that is to run the program, the program, the parent again.
            LoadKind::Fork { .. } => turn * 4,
            LoadKind::Io(_) => turn + DISK,
            _ => turn,
        }
    }

    /// Returns how much memory it takes, where it says, if the program may use `cpus` CPUs; bytes.
    pub(super) fn memory(&self, cpus: u32) -> u64 {
        match &self.kind {
            LoadKind::Io(disk) => disk.memory(),
            LoadKind::Memory { block } | LoadKind::Tmpfs { size: block } => {
                block.saturating_mul(self.threads(cpus).into())
            }
            LoadKind::Linpack { order, .. } => {
                let order = usize::try_from(*order).unwrap_or(usize::MAX);
                let each = linpack::memory_of(order);
                each.times(self.threads(cpus).into()).get()
            }
            _ => 0,
        }
    }
}

impl From<LoadKind> for LoadSpec {
    fn from(kind: LoadKind) -> Self {
        Self {
            kind,
            settings: Settings::default(),
        }
    }
}
