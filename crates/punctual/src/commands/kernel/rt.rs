// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual kernel rt`.

use std::path::Path;

use punctual_model::{RtFlow, RtStepKind};
use punctual_report::document::Document;

use crate::cli::KernelRtArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::kernels::rt;
use crate::output::{self, print};
use crate::signals::StopRequest;

/// Does what is not done yet, and shows the comparison.
pub(super) fn run(home: Option<&Path>, args: &KernelRtArgs) -> Result<Exit, CliError> {
    let last = RtStepKind::Compare;
    let manner = (StopRequest::on_signals()?, args.json);
    let flow = rt::carried_out(home, args, last, manner)?;
    if args.json {
        output::show(&flow, true, |_: &RtFlow| Document::default())?;
    } else if let Some(test) = &flow.test {
        print("\n")?;
        print(&output::written(&Document::of_latency_test(test)))?;
    }
    let valid = flow.test.as_ref().is_some_and(|test| test.valid);
    Ok(if valid { Exit::Fine } else { Exit::Failed })
}
