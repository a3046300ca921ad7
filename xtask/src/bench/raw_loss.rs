// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Two threads at 50 us with every sample stored: none is lost.

use std::time::Duration;

use super::budget::{Outcome, Pair};
use super::context::Context;
use super::program;

pub(crate) fn measure(context: &Context) -> anyhow::Result<Outcome> {
    let mut command = program::punctual(context, 2, Duration::from_micros(50));
    command.args([
        "--raw",
        "--duration",
        if context.quick { "10s" } else { "60s" },
    ]);
    let (run, _) = program::punctual_json(context, command)?;
    let lost = u32::try_from(program::sum(&run, "lost")?).unwrap_or(u32::MAX);
    let count = program::sum(&run, "count")?;
    context.note(&format!(
        "{count} samples stored, {} overruns",
        program::sum(&run, "overruns")?
    ));
    let faults = if count == 0 {
        vec!["no samples at all".into()]
    } else {
        vec![]
    };
    Ok(Outcome::Measured {
        pairs: vec![Pair {
            ours: f64::from(lost),
            theirs: None,
        }],
        faults,
    })
}
