// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What loads must not ask for, looked at before any of them works.

use std::io;

use punctual_model::{Bytes, CpuSet, Policy};
use punctual_sys::{SysRoot, sched};

use super::settings::Settings;
use super::spec::LoadSpec;
use crate::available::available;
use crate::budget::Budgets;
use crate::program::not_lent;
use crate::refusal;

pub(super) fn of(load: &LoadSpec, err: &io::Error) -> io::Error {
    io::Error::new(err.kind(), format!("{load}: {err}"))
}

pub(super) fn check_cpus(loads: &[LoadSpec], allowed: &CpuSet) -> io::Result<()> {
    for load in loads {
        let asked = load.settings.cpus.iter().flat_map(CpuSet::iter);
        let other: CpuSet = asked.filter(|cpu| !allowed.contains(*cpu)).collect();
        if !other.is_empty() {
            let what = format!("{load}: CPUs {other} are not among those allowed, {allowed}");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        }
    }
    Ok(())
}

/// A privilege that comes from our file is for what we do, and not for programs that somebody names: whoever may run
/// the file could run anything with it.
pub(super) fn check_right(
    loads: &[LoadSpec],
    is_own_right: impl Fn(Policy) -> bool,
) -> io::Result<()> {
    for load in loads.iter().filter(|load| load.is_foreign_program()) {
        if let Some(policy) = load.settings.policy.filter(|policy| !is_own_right(*policy)) {
            return Err(of(
                load,
                &io::Error::new(io::ErrorKind::Unsupported, not_lent(policy)),
            ));
        }
    }
    Ok(())
}

/// A policy that the kernel refuses is known before anything works.
pub(super) fn check_policies(loads: &[LoadSpec]) -> io::Result<()> {
    for load in loads {
        let Settings { policy, cpus, .. } = &load.settings;
        let Some(policy) = *policy else { continue };
        sched::tried(policy, cpus.as_ref()).map_err(|err| {
            let what = refusal::told(policy, &err);
            of(load, &io::Error::new(io::ErrorKind::Unsupported, what))
        })?;
    }
    Ok(())
}

/// Real-time loads on every CPU leave the machine to nobody where the kernel does not stop them
/// now and then.
pub(super) fn check_real_time(
    sys: &SysRoot,
    loads: &[LoadSpec],
    allowed: &CpuSet,
) -> io::Result<()> {
    let budgets = Budgets::read(sys);
    let greedy =
        |load: &&LoadSpec| load.settings.is_real_time() && load.settings.intensity.percent() > 95;
    let cpus = loads.iter().filter(greedy).map(|load| &load.settings.cpus);
    let taken: CpuSet = cpus
        .flat_map(|cpus| cpus.as_ref().unwrap_or(allowed).iter())
        .collect();
    if budgets.leave_something() || !allowed.without(&taken).is_empty() || taken.is_empty() {
        return Ok(());
    }
    let off = match budgets.throttling() {
        Some(budget) if !budget.is_open() => "the fair server",
        _ => "real-time throttling",
    };
    Err(io::Error::new(
        io::ErrorKind::InvalidInput,
        format!(
            "real-time loads would take every CPU forever, because {off} is off: leave \
             a CPU free with @cpus=LIST, or add pauses with @intensity=95%"
        ),
    ))
}

pub(super) fn check_memory(sys: &SysRoot, loads: &[LoadSpec], cpus: u32) -> io::Result<()> {
    let wanted = loads
        .iter()
        .map(|load| load.memory(cpus))
        .fold(0, u64::saturating_add);
    match available(sys).map(Bytes::get) {
        Some(available) if wanted > available / 2 => {
            let megabytes = |bytes: u64| bytes.div_ceil(1_000_000);
            let what = format!(
                "the loads need {} MB, more than half of the {} MB available",
                megabytes(wanted),
                megabytes(available)
            );
            Err(io::Error::new(io::ErrorKind::OutOfMemory, what))
        }
        _ => Ok(()),
    }
}
