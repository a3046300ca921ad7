// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual kernel rt`.

use std::path::Path;

use punctual_model::{RtFlow, RtStepKind};
use punctual_report::document::Document;

use super::config::wish;
use crate::cli::KernelRtArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::kernels::rt::{self, Order, Says};
use crate::output::{self, print};
use crate::signals::StopRequest;

/// Does what is not done yet, and shows the comparison.
pub(super) fn run(home: Option<&Path>, args: &KernelRtArgs) -> Result<Exit, CliError> {
    let stop = StopRequest::on_signals()?;
    let flow = rt::carried_out(home, &order(args), RtStepKind::Compare, stop)?;
    if args.json {
        output::show(&flow, true, |_: &RtFlow| Document::default())?;
    } else if let Some(test) = &flow.test {
        print("\n")?;
        print(&output::written(&Document::of_latency_test(test)))?;
    }
    let valid = flow.test.as_ref().is_some_and(|test| test.valid);
    Ok(if valid { Exit::Fine } else { Exit::Failed })
}

/// Returns what the options order.
fn order(args: &KernelRtArgs) -> Order {
    Order {
        version: args.linux.clone(),
        source: args.source.clone(),
        sha256: args.sha256.clone(),
        patch: args.patch.clone(),
        fuzz: args.fuzz,
        leave_out: args.leave_out,
        name: args.name.clone(),
        stock: args.stock,
        arch: args.wish.arch,
        wish: wish(&args.wish),
        anyway: args.anyway,
        ccache: !args.no_ccache,
        loads: args.load.clone(),
        seeds: args.seeds,
        samples: args.samples,
        jobs: args.jobs,
        says: match (args.quiet, args.json) {
            (true, _) => Says::Nothing,
            (false, true) => Says::Remarks,
            (false, false) => Says::Steps,
        },
    }
}
