// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual kernel patch`.

use std::path::Path;

use punctual_kernel::patch::Limits;
use punctual_report::document::Document;

use crate::cli::KernelPatchArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::kernels::kernel_store::{self, show};
use crate::kernels::patch::{fails, put_in};
use crate::signals::StopRequest;

/// Tries a series, puts it in, and notes that in the store.
pub(super) fn run(home: Option<&Path>, args: &KernelPatchArgs) -> Result<Exit, CliError> {
    let stock = kernel_store::open(home)?;
    let stop = StopRequest::on_signals()?;
    let limits = Limits {
        fuzz: args.fuzz,
        leave_out: args.leave_out,
        trial: args.dry_run,
    };
    let report = put_in(&stock, &args.source, &args.series, limits, &stop)?;
    show(&report, args.json, Document::of_patched)?;
    Ok(if fails(&report) && !args.leave_out {
        Exit::Failed
    } else {
        Exit::Fine
    })
}
