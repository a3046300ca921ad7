// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual kernel boot`.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;

use punctual_kernel::GuestTarget;
use punctual_kernel::boot::Machine;
use punctual_kernel::guest::{Fault, Job, checks};
use punctual_model::{Check, GUEST_BOOT_FORMAT, GuestBoot, Nanos};
use punctual_report::document::Document;

use super::kernel_store;
use crate::cli::{GuestOptions, KernelBootArgs, MachineArg};
use crate::error::CliError;
use crate::exit::Exit;
use crate::guests::{self, Host};
use crate::output::{self, remark};
use crate::signals::StopRequest;

/// Boots the kernel, and says what it found.
pub(super) fn run(home: Option<&Path>, args: &KernelBootArgs) -> Result<Exit, CliError> {
    let target = target(&kernel_store::image(home, &args.kernel), &args.guest)?;
    let stop = StopRequest::on_signals()?;
    let boot = visited(&target, args.log.as_deref(), args.fault, &stop)?;
    output::show(&boot, args.json, Document::of_guest_boot)?;
    Ok(match boot.valid {
        true => Exit::Fine,
        false => Exit::Failed,
    })
}

/// Boots `target`, which fails as `fault` says, keeps its log, and judges what it says.
pub(super) fn visited(
    target: &GuestTarget,
    log: Option<&Path>,
    fault: Option<Fault>,
    stop: &StopRequest,
) -> Result<GuestBoot, CliError> {
    let architecture = guests::architecture(&target.kernel)?;
    let host = Host::of(architecture)?;
    let machine = guests::machine(&host, target, &stop.flag()).unwrap_or_else(|why| {
        remark(&format!("Without KVM: {why}."));
        Machine::Tcg
    });
    let design = host.design(target, machine);
    let mut job = Job::of(Vec::new());
    job.fault = fault;
    let visit = host.visit(target, &design, &job, &stop.flag())?;
    if let Some(path) = log {
        keep(path, &visit.booted.console)?;
    }
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

/// Returns the guest that the options describe.
fn target(kernel: &Path, options: &GuestOptions) -> Result<GuestTarget, CliError> {
    let target = GuestTarget {
        machine: match (options.virtual_time, options.machine) {
            (true, _) => Some(Machine::Virtual),
            (false, MachineArg::Auto) => None,
            (false, MachineArg::Kvm) => Some(Machine::Kvm),
            (false, MachineArg::Tcg) => Some(Machine::Tcg),
        },
        append: options.append.clone(),
        model: options.model,
        cpus: options.cpus,
        memory: options.memory,
        nodes: options.nodes,
        seed: options.seed,
        time_limit: options.time_limit,
        ..GuestTarget::of(kernel)
    };
    target
        .check()
        .map_err(|err| CliError::usage(err.to_string()))?;
    Ok(target)
}

fn keep(path: &Path, log: &[u8]) -> Result<(), CliError> {
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(path)
        .and_then(|mut file| file.write_all(log))
        .map_err(|err| CliError::failed_to(format!("write {}", path.display())).because(err))
}
