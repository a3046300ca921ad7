// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! CPU time of a wake-up: user and system time of the whole process, its start and end included, over its wake-ups.
//!
//! The split between user and system is a matter of where the tick fell; the sum is exact (`sum_exec_runtime`).

use std::time::Duration;

use anyhow::Context as _;
use serde_json::Value;

use super::budget::Outcome;
use super::context::Context;
use super::program::{self, Finished};

pub(crate) fn measure(context: &Context) -> anyhow::Result<Outcome> {
    let interval = Duration::from_micros(200);
    let samples = 20_000.to_string();
    let pairs = if context.quick { 2 } else { 6 };
    let ours = || {
        let mut command = program::punctual(context, 1, interval);
        command.args(["--samples", &samples]);
        let (run, finished) = program::punctual_json(context, command)?;
        per_wakeup(&run["series"][0]["count"], &finished)
    };
    let theirs = || {
        let mut command = program::cyclictest(context, 1, interval);
        command.args(["-l", &samples]);
        let (thread, finished) = program::cyclictest_thread(context, command)?;
        per_wakeup(&thread["cycles"], &finished)
    };
    Ok(Outcome::Measured {
        pairs: context.pairs(pairs, ours, theirs)?,
        faults: vec![],
    })
}

/// Returns ns of CPU time.
fn per_wakeup(wakeups: &Value, finished: &Finished) -> anyhow::Result<f64> {
    let wakeups = wakeups
        .as_f64()
        .filter(|wakeups| *wakeups > 0.0)
        .context("no wake-ups were counted")?;
    Ok((finished.usage.utime + finished.usage.stime).as_secs_f64() * 1e9 / wakeups)
}
