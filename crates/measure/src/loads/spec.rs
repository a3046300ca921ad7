// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A load, its size, and how it runs.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use punctual_model::CpuSet;
use punctual_sys::SysRoot;

use super::kind::{Load, LoadKind, Site, Worker};
use super::ping::Ping;
use super::settings::Settings;
use super::shift::Task;

/// A load, its size, and how it runs.
#[derive(Clone, Debug)]
pub struct LoadSpec {
    pub(super) kind: &'static LoadKind,
    pub(super) load: Arc<dyn Load>,
    /// How it runs.
    pub settings: Settings,
}

impl LoadSpec {
    /// Returns the name without size and settings.
    pub fn name(&self) -> &'static str {
        self.kind.name
    }

    /// Returns what the work is counted in, unless the load says so itself.
    pub fn unit(&self) -> &'static str {
        self.kind.unit
    }

    /// Whether it may write to the consoles, which only who asks for it should have.
    pub fn reaches_consoles(&self) -> bool {
        self.kind.reaches_consoles
    }

    /// Returns the floods, if it is those.
    pub fn ping(&self) -> Option<Ping> {
        self.load.ping()
    }

    /// Makes it these floods.
    pub fn set_ping(&mut self, ping: Ping) {
        self.load = Arc::new(ping);
    }

    /// Whether it is a program of its own, and not threads of the load process.
    pub(super) fn is_program(&self) -> bool {
        self.kind.worker != Worker::Threads
    }

    /// Whether it is a program of somebody else: whatever the user's `PATH` or command line names.
    pub fn is_foreign_program(&self) -> bool {
        self.kind.worker == Worker::ForeignProgram
    }

    /// Returns how many threads it has, where it says, if the program may use `cpus` CPUs.
    pub(super) fn threads(&self, cpus: u32) -> u32 {
        self.load.threads(self.settings.cpu_count(cpus))
    }

    /// Returns how long it may take, beyond what is usual, until it shows work, where each thread waits `turn`
    /// for a CPU. One that works for a tenth of the time takes ten times as long.
    pub(super) fn patience(&self, turn: Duration) -> Duration {
        self.load.patience(turn) * 100 / self.settings.intensity.percent()
    }

    /// Returns how much memory it takes, where it says, if the program may use `cpus` CPUs; bytes.
    pub(super) fn memory(&self, cpus: u32) -> u64 {
        self.load.memory(self.threads(cpus))
    }

    /// Gets all that it needs, and returns a task for each of its threads. Fails with `Interrupted` where `go_on` says that it is not
    /// wanted any more.
    pub(super) fn prepare(
        &self,
        sys: &SysRoot,
        allowed: &CpuSet,
        cpus: u32,
        go_on: &dyn Fn(&str) -> bool,
    ) -> io::Result<Vec<Task>> {
        let settings = &self.settings;
        let site = Site {
            sys,
            allowed,
            settings,
            go_on,
        };
        self.load.prepare(&site, self.threads(cpus))
    }
}

impl fmt::Display for LoadSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}{}", self.name(), self.load, self.settings)
    }
}

/// What is written in the same way is the same load.
impl PartialEq for LoadSpec {
    fn eq(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
}

impl Eq for LoadSpec {}
