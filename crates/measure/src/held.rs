// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What a run holds while it lasts, and lets go whatever ends it.

use punctual_model::{CpuSet, Nanos};
use punctual_sys::memory::LockedMemory;
use punctual_sys::{HeldDmaLatency, SysRoot, sched};

use crate::checks::{IdleBound, Locking};
use crate::error::MeasureError;

/// The calling thread runs elsewhere while this lives.
#[derive(Debug)]
pub(crate) struct AffinityGuard(CpuSet);

impl AffinityGuard {
    pub(crate) fn move_to(cpus: &CpuSet, original: &CpuSet) -> Result<Self, MeasureError> {
        sched::set_affinity(cpus).map_err(|source| MeasureError::Affinity {
            cpus: cpus.clone(),
            source,
        })?;
        Ok(Self(original.clone()))
    }
}

impl Drop for AffinityGuard {
    fn drop(&mut self) {
        // The set was this thread's own a moment ago; if its CPUs are gone, the kernel chooses.
        drop(sched::set_affinity(&self.0));
    }
}

/// Bounds the idle latency to `wanted`, and takes the wish back where it is refused and nobody
/// insists.
pub(crate) fn hold_idle_bound(
    sys: &SysRoot,
    wanted: &mut Option<Nanos>,
    insist: bool,
) -> Result<(Option<HeldDmaLatency>, IdleBound), MeasureError> {
    let Some(bound) = *wanted else {
        return Ok((None, IdleBound::Off));
    };
    match HeldDmaLatency::hold(sys, bound) {
        Ok(held) => Ok((Some(held), IdleBound::Held(bound))),
        Err(err) if insist => Err(MeasureError::DmaLatency(err)),
        Err(err) => {
            *wanted = None;
            Ok((None, IdleBound::Refused(reason(&err))))
        }
    }
}

/// Locks the process's memory if `wanted`, and takes the wish back where it is refused and nobody
/// insists.
pub(crate) fn lock_memory(
    wanted: &mut bool,
    insist: bool,
) -> Result<(Option<LockedMemory>, Locking), MeasureError> {
    if !*wanted {
        return Ok((None, Locking::Off));
    }
    match LockedMemory::lock_all() {
        Ok(lock) => Ok((Some(lock), Locking::Locked)),
        Err(err) if insist => Err(MeasureError::Lock(err)),
        Err(err) => {
            *wanted = false;
            Ok((None, Locking::Refused(err.to_string())))
        }
    }
}

fn reason(err: &dyn std::error::Error) -> String {
    err.source()
        .map_or_else(|| err.to_string(), ToString::to_string)
}
