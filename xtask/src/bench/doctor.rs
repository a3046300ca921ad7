// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! How long `punctual doctor` takes, from exec to exit, text printed.

use std::process::Command;

use anyhow::bail;

use super::budget::{Outcome, Pair};
use super::context::Context;
use super::program;

pub(crate) fn measure(context: &Context) -> anyhow::Result<Outcome> {
    let rounds = if context.quick { 5 } else { 21 };
    let mut pairs = Vec::new();
    for _ in 0..rounds {
        let mut command = Command::new(&context.punctual);
        command.arg("doctor");
        let finished = program::finish(context, &mut command)?;
        if !finished.stdout.contains(" rules judged ") {
            bail!("punctual doctor printed no diagnosis");
        }
        pairs.push(Pair {
            ours: finished.wall.as_secs_f64() * 1e9,
            theirs: None,
        });
    }
    context.note(&format!("{rounds} runs"));
    Ok(Outcome::Measured {
        pairs,
        faults: vec![],
    })
}
