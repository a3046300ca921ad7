// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Staying off the CPUs that a run measures.
//!
//! A run is a process of its own, which moves itself to its housekeeping CPUs before it measures. The
//! process of the experiment goes where that went: its screen, its page of metrics and its own looks are then
//! where the run's recorder is. Between runs it is where it was, so that the next run inherits all CPUs.

use punctual_model::CpuSet;
use punctual_sys::{SysRoot, sched};

/// The CPUs of this process while a run goes on. They are given back when this is dropped.
#[derive(Debug)]
pub(super) struct OwnCpus {
    original: Option<CpuSet>,
    now: Option<CpuSet>,
}

impl OwnCpus {
    /// Notes where this process is.
    pub(super) fn begin() -> Self {
        let original = sched::affinity().ok();
        Self {
            now: original.clone(),
            original,
        }
    }

    /// Goes to the CPUs of process `run`, if these are others.
    pub(super) fn follow(&mut self, run: u32) {
        let Ok(pid) = i32::try_from(run) else { return };
        // A run that has just ended has none.
        let Ok(cpus) = sched::affinity_of(pid) else {
            return;
        };
        if self.original.is_some() && self.now.as_ref() != Some(&cpus) {
            go(&cpus);
            self.now = Some(cpus);
        }
    }
}

impl Drop for OwnCpus {
    fn drop(&mut self) {
        if self.now != self.original
            && let Some(original) = &self.original
        {
            go(original);
        }
    }
}

/// Binds every thread of this process. One that ended meanwhile, or a CPU that went, is no reason to stop.
fn go(cpus: &CpuSet) {
    let threads = SysRoot::live().names("/proc/self/task");
    let threads = threads.unwrap_or_default();
    for thread in threads.iter().filter_map(|name| name.parse().ok()) {
        drop(sched::set_affinity_of(thread, cpus));
    }
}
