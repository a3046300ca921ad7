// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What a load is. Each is a file of this folder with its [`LoadKind`], listed in [`super::registry`].

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use punctual_model::CpuSet;
use punctual_sys::SysRoot;

use super::parse::Given;
use super::ping::Ping;
use super::settings::Settings;
use super::shift::Task;

/// Who does the work of a load.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Worker {
    /// Threads of the load process.
    Threads,
    /// A process of this program.
    OwnProgram,
    /// A program of somebody else: whatever the user's `PATH` or command line names.
    ForeignProgram,
}

/// Makes a load of the size and the settings that were given.
pub(super) type Parse = fn(Option<&str>, &mut Given<'_>) -> Result<Arc<dyn Load>, String>;

/// What is so of all loads of a name.
pub(super) struct LoadKind {
    /// The name.
    pub(super) name: &'static str,
    /// The name and its size as the help shows them.
    pub(super) usage: &'static str,
    /// Lines of the help.
    pub(super) help: &'static [&'static str],
    /// What the work is counted in, unless the load says so itself.
    pub(super) unit: &'static str,
    /// Who does the work.
    pub(super) worker: Worker,
    /// Whether it may write to the consoles, which only who asks for it should have.
    pub(super) reaches_consoles: bool,
    /// Whether its size is free text, which takes commas and all, so that it is the last of its list.
    pub(super) is_free_text: bool,
    /// Names of its own settings.
    pub(super) keys: &'static str,
    /// Makes one of its size and settings, or says why not.
    pub(super) parse: Parse,
}

impl LoadKind {
    /// A load of threads without settings of its own.
    pub(super) const THREADS: Self = Self {
        name: "",
        usage: "",
        help: &[],
        unit: "",
        worker: Worker::Threads,
        reaches_consoles: false,
        is_free_text: false,
        keys: "",
        parse: |_, _| Err(String::new()),
    };
}

impl fmt::Debug for LoadKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// One load, of one size. It is written as its size and settings stand behind the name, without those that are usual.
pub(super) trait Load: fmt::Debug + fmt::Display + Send + Sync {
    /// Returns how many threads it has, where it says, if it may use `cpus` CPUs.
    fn threads(&self, _cpus: u32) -> u32 {
        1
    }

    /// Returns how much memory it takes with this number of threads, where it says; bytes.
    fn memory(&self, _threads: u32) -> u64 {
        0
    }

    /// Returns how long it may take, beyond what is usual, until it shows work, where each thread waits `turn`
    /// for a CPU.
    fn patience(&self, turn: Duration) -> Duration {
        turn
    }

    /// Gets all that it needs, and returns a task for each of its threads.
    fn prepare(&self, site: &Site<'_>, threads: u32) -> io::Result<Vec<Task>>;

    /// Returns the floods, if it is those.
    fn ping(&self) -> Option<Ping> {
        None
    }
}

/// Where a load runs.
pub(super) struct Site<'a> {
    pub(super) sys: &'a SysRoot,
    pub(super) allowed: &'a CpuSet,
    pub(super) settings: &'a Settings,
    /// Takes what is being prepared, where that may take long, and says whether it is still wanted.
    pub(super) go_on: &'a dyn Fn(&str) -> bool,
}
