// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! CPU time of wake-ups, user and system time of the whole process: of one more wake-up, and of a whole run with its start and end.
//!
//! The split between user and system is a matter of where the tick fell; the sum is exact (`sum_exec_runtime`).

use std::time::Duration;

use anyhow::Context as _;
use serde_json::Value;

use super::budget::Outcome;
use super::context::Context;
use super::program::{self, Finished};

const INTERVAL: Duration = Duration::from_micros(200);
const WAKEUPS: u32 = 20_000;
/// As much is set up and put away for a run of these.
const FEW: u32 = 1_000;

/// Returns ns a wake-up, by what more of them take.
pub(crate) fn of_a_wakeup(context: &Context) -> anyhow::Result<Outcome> {
    let more = |few: Used, many: Used| (many.ns - few.ns) / (many.wakeups - few.wakeups);
    measure(
        context,
        || Ok(more(ours(context, FEW)?, ours(context, WAKEUPS)?)),
        || Ok(more(theirs(context, FEW)?, theirs(context, WAKEUPS)?)),
    )
}

/// Returns ns a wake-up, all that the process takes among them.
pub(crate) fn of_a_run(context: &Context) -> anyhow::Result<Outcome> {
    measure(
        context,
        || ours(context, WAKEUPS).map(|used| used.ns / used.wakeups),
        || theirs(context, WAKEUPS).map(|used| used.ns / used.wakeups),
    )
}

fn measure(
    context: &Context,
    ours: impl FnMut() -> anyhow::Result<f64>,
    theirs: impl FnMut() -> anyhow::Result<f64>,
) -> anyhow::Result<Outcome> {
    let pairs = if context.quick { 2 } else { 6 };
    Ok(Outcome::Measured {
        pairs: context.pairs(pairs, ours, theirs)?,
        faults: vec![],
    })
}

/// What a process took.
struct Used {
    ns: f64,
    wakeups: f64,
}

fn ours(context: &Context, samples: u32) -> anyhow::Result<Used> {
    let mut command = program::punctual(context, 1, INTERVAL);
    command.args(["--samples", &samples.to_string()]);
    let (run, finished) = program::punctual_json(context, command)?;
    used(&run["series"][0]["count"], &finished)
}

fn theirs(context: &Context, samples: u32) -> anyhow::Result<Used> {
    let mut command = program::cyclictest(context, 1, INTERVAL);
    command.args(["-l", &samples.to_string()]);
    let (thread, finished) = program::cyclictest_thread(context, command)?;
    used(&thread["cycles"], &finished)
}

fn used(wakeups: &Value, finished: &Finished) -> anyhow::Result<Used> {
    let wakeups = wakeups
        .as_f64()
        .filter(|wakeups| *wakeups > 0.0)
        .context("no wake-ups were counted")?;
    let ns = (finished.usage.utime + finished.usage.stime).as_secs_f64() * 1e9;
    Ok(Used { ns, wakeups })
}
