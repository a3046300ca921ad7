// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Boots a kernel to see whether it comes up.

use std::path::Path;

use punctual_kernel::GuestTarget;
use punctual_kernel::boot::{BootError, Booted, Machine};
use punctual_kernel::guest::{Fault, Job, checks};
use punctual_model::{Check, GUEST_BOOT_FORMAT, GuestBoot, Nanos};

use crate::error::CliError;
use crate::guests::{self, Host};
use crate::output::{Destination, remark};
use crate::signals::StopRequest;

/// Boots `target`, which fails as `fault` says, keeps its log, and judges what it says.
pub(crate) fn visited(
    target: &GuestTarget,
    log: Option<&Path>,
    fault: Option<Fault>,
    stop: &StopRequest,
) -> Result<GuestBoot, CliError> {
    let architecture = guests::architecture(&target.kernel)?;
    // Before the boot, which may take minutes.
    let log = log.map(|path| Destination::open(path, false)).transpose()?;
    let host = Host::of(architecture)?;
    let machine = guests::machine(&host, target, &stop.flag()).unwrap_or_else(|why| {
        remark(&format!("Without KVM: {why}."));
        Machine::Tcg
    });
    let design = host.design(target, machine)?;
    let mut job = Job::of(Vec::new());
    job.fault = fault;
    let initramfs = host.initramfs(&job)?;
    let limit = target.time_limit.into();
    let kernel = &target.kernel;
    let booted = host.boot(
        kernel,
        &design,
        &initramfs,
        limit,
        &stop.flag(),
        &mut |_, _| {},
    );
    // Of a guest that fails the log is what one looks into.
    let kept = match (log, logged(&booted)) {
        (Some(log), Some(console)) => log.put(console),
        _ => Ok(()),
    };
    let visit = match (host.answered(target, &job, booted), kept) {
        (Ok(visit), kept) => kept.map(|()| visit)?,
        (Err(failed), kept) => {
            if let Err(unkept) = kept {
                unkept.print();
            }
            return Err(failed);
        }
    };
    // A smoke test of the kernel: no latency is claimed, so no machine is wrong.
    let mut checks = checks(&visit.answer, &design, target.asked_model());
    checks.retain(|check| check.id != "guest-machine");
    let missing = &visit.answer.hello.not_mounted;
    let nanos =
        |time: std::time::Duration| Nanos::new(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    Ok(GuestBoot {
        format: GUEST_BOOT_FORMAT.to_owned(),
        kernel: target.kernel.display().to_string(),
        machine: machine.name().to_owned(),
        command_line: design.command_line(),
        seed: target.seed,
        agent: host.agent(),
        valid: checks.iter().all(Check::passed),
        checks,
        host: visit.answer.hello.host,
        not_mounted: missing.clone(),
        guest_ready_ns: Nanos::new(visit.answer.hello.uptime_ns),
        ready_ns: visit.booted.first_result.map(nanos),
        took_ns: nanos(visit.booted.took),
    })
}

/// What the kernel logged, also where it failed.
fn logged(booted: &Result<Booted, BootError>) -> Option<&[u8]> {
    match booted {
        Ok(booted) => Some(&booted.console),
        Err(err) => err.console(),
    }
}
