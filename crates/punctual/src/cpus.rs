// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The CPUs that this process may measure on.

use punctual_model::{Clock, CpuSet, Nanos, Pin, Policy, RunSpec, TimerKind};
use punctual_sys::{SysRoot, sched};

use crate::error::CliError;

/// The CPUs that there are.
#[derive(Clone, Debug)]
pub(crate) struct Cpus {
    /// Online.
    pub(crate) online: CpuSet,
    /// Online and allowed to this process.
    pub(crate) allowed: CpuSet,
    /// Online, and this process's for the asking: also those that it did not inherit.
    pub(crate) reachable: CpuSet,
}

impl Cpus {
    /// The CPUs besides those of `busy`; all, where there is no other.
    pub(crate) fn free_of(&self, busy: &CpuSet) -> CpuSet {
        let free = self.allowed.without(busy);
        if free.is_empty() {
            self.allowed.clone()
        } else {
            free
        }
    }
}

/// Reads which CPUs there are.
pub(crate) fn cpus(sys: &SysRoot) -> Result<Cpus, CliError> {
    let allowed = sched::affinity()
        .map_err(|err| CliError::failed_to("read the CPUs of this process").because(err))?;
    // Without sysfs the affinity is all that is known, and what can be used.
    let online: CpuSet = sys
        .fact("/sys/devices/system/cpu/online")
        .unwrap_or_else(|| allowed.clone());
    // CPUs that were taken from this process by its parents, as isolated ones are, can be had.
    let reachable = sched::reachable(&online).unwrap_or_else(|_| allowed.clone());
    Ok(Cpus {
        allowed: allowed.common(&online),
        reachable,
        online,
    })
}

/// Returns what a thread on each of `measured` measures every millisecond, with no end and no load.
pub(crate) fn on_each(measured: CpuSet, cpus: &Cpus, priority: Policy) -> RunSpec {
    RunSpec {
        threads: u32::try_from(measured.len()).unwrap_or(u32::MAX),
        housekeeping: cpus.free_of(&measured),
        cpus: measured,
        pin: Pin::Each,
        priority,
        priority_spread: false,
        interval_ns: Nanos::from_millis(1),
        distance_ns: Nanos::ZERO,
        duration_ns: None,
        samples: None,
        warm_up_ns: Nanos::ZERO,
        timer: TimerKind::Nanosleep,
        clock: Clock::Monotonic,
        dma_latency_ns: None,
        mlock: true,
        raw: false,
        until: Vec::new(),
        on_threshold_ns: None,
        deadlines_ns: Vec::new(),
        loads: Vec::new(),
    }
}

/// Says how to use CPUs that a partition of `punctual tune` has taken from all other programs.
fn in_partition(denied: &CpuSet) -> Option<String> {
    let group = "/sys/fs/cgroup/punctual";
    let cpus: CpuSet = SysRoot::live().fact(&format!("{group}/cpuset.cpus.effective"))?;
    let all = denied.without(&cpus).is_empty();
    all.then(|| {
        format!("they are in a partition: `echo $$ > {group}/cgroup.procs` puts this shell into it")
    })
}

/// Returns the CPUs that `option` asked for, if they can be used.
pub(crate) fn usable(option: &str, asked: &CpuSet, cpus: &Cpus) -> Result<CpuSet, CliError> {
    let offline = asked.without(&cpus.online);
    let denied = asked.without(&cpus.reachable);
    if asked.is_empty() {
        Err(CliError::usage(format!("{option}: the list is empty")))
    } else if !offline.is_empty() {
        Err(
            CliError::usage(format!("{option} {asked}: CPU {offline} is not online"))
                .hint(format!("online CPUs: {}", cpus.online)),
        )
    } else if !denied.is_empty() {
        Err(CliError::usage(format!(
            "{option} {asked}: this process may not use CPU {denied}"
        ))
        .hint(format!("allowed CPUs: {} (see cpuset(7))", cpus.reachable))
        .hints(in_partition(&denied)))
    } else {
        Ok(asked.clone())
    }
}
