// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual kernel bisect`.

use std::path::Path;

use punctual_kernel::bisect::{self, BisectError, Order, bisect, command_oracle};
use punctual_kernel::source::make_private;
use punctual_report::document::Document;
use punctual_sys::dir::Missing;

use super::rebase::tree;
use crate::cli::KernelBisectArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::home;
use crate::kernels::kernel_store::{failed, show};
use crate::output::remark;
use crate::signals::StopRequest;

/// Bisects with a command as the oracle.
pub(super) fn run(home: Option<&Path>, args: &KernelBisectArgs) -> Result<Exit, CliError> {
    let kernels = home::own(home, Missing::Make)?.join("kernels");
    make_private(&kernels).map_err(|err| failed(&format!("make {}", kernels.display()), err))?;
    let (tree, _held) = tree(home, &args.tree)?;
    let order = Order {
        tree,
        good: args.good.clone(),
        bad: args.bad.clone(),
        oracle: args.oracle.clone(),
        judge_ends: !args.trust_ends,
        scratch: kernels.clone(),
    };
    let log = args.log.clone();
    let log = log.unwrap_or_else(|| kernels.join("bisect.log"));
    // The oracle runs elsewhere.
    let log = std::path::absolute(&log).map_err(|err| failed("find the log", err))?;
    let own = std::env::current_exe().map_err(|err| failed("find this program", err))?;
    let stop = StopRequest::on_signals()?;
    let stopped = || stop.is_set();
    let mut oracle = command_oracle(&args.oracle, &own, &log, &stopped);
    let report = bisect(&order, &mut oracle, &stopped, &mut |step| {
        if !args.quiet {
            let seconds = step.took_ms / 1000;
            remark(&format!(
                "{:.12} is {} ({seconds} s): {}",
                step.commit.id,
                bisect::word_of(step.verdict),
                step.commit.subject
            ));
        }
    });
    let report = report.map_err(|err| match err {
        BisectError::Unknown { .. } | BisectError::NoAncestor { .. } => {
            CliError::usage(err.to_string())
        }
        err => failed("bisect", err),
    })?;
    show(&report, args.json, Document::of_bisection)?;
    Ok(if report.first_bad.is_some() {
        Exit::Fine
    } else {
        Exit::Failed
    })
}
