// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual kernel boot`.

use std::path::Path;

use punctual_kernel::GuestTarget;
use punctual_kernel::boot::Machine;
use punctual_report::document::Document;

use crate::cli::{GuestOptions, KernelBootArgs, MachineArg};
use crate::error::CliError;
use crate::exit::Exit;
use crate::kernels::boot::visited;
use crate::kernels::kernel_store;
use crate::output::{self};
use crate::signals::StopRequest;

/// Boots the kernel, and says what it found.
pub(super) fn run(home: Option<&Path>, args: &KernelBootArgs) -> Result<Exit, CliError> {
    let target = target(&kernel_store::image(home, &args.kernel)?, &args.guest)?;
    let stop = StopRequest::on_signals()?;
    let boot = visited(&target, args.log.as_deref(), args.fault, &stop)?;
    output::show(&boot, args.json, Document::of_guest_boot)?;
    Ok(match boot.valid {
        true => Exit::Fine,
        false => Exit::Failed,
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
