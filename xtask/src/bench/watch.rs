// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What `watch` costs: those who are watched, and the machine that they are on.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, bail};
use serde_json::Value;

use super::budget::{Outcome, Pair};
use super::context::Context;
use super::program::{self, Finished};

/// The median wake-up of a thread of 1 kHz with FIFO 80, watched, beyond what it is without. Another program of ours
/// measures it: the clock of cyclictest has whole microseconds.
pub(crate) fn response(context: &Context) -> anyhow::Result<Outcome> {
    let pairs = if context.quick { 2 } else { 10 };
    let median = |watched: bool| {
        let measured = measured(context);
        let command = match watched {
            true => {
                let mut command = Command::new(&context.punctual);
                command.args(["watch", "--quiet", "--json", "--"]);
                command
                    .arg(measured.get_program())
                    .args(measured.get_args());
                command
            }
            false => measured,
        };
        p50(context, command, watched)
    };
    let pairs = context.pairs(pairs, || median(true), || median(false))?;
    let more = |pair: &Pair| Pair {
        ours: pair.ours - pair.theirs.unwrap_or(f64::NAN),
        theirs: None,
    };
    for pair in &pairs {
        let unwatched = pair.theirs.unwrap_or(f64::NAN);
        context.note(&format!(
            "{:.0} ns watched, {unwatched:.0} ns not",
            pair.ours
        ));
    }
    Ok(Outcome::Measured {
        pairs: pairs.iter().map(more).collect(),
        faults: vec![],
    })
}

/// The thread whose wake-ups are looked at, with one result on its standard output.
fn measured(context: &Context) -> Command {
    let mut command = program::punctual(context, 1, Duration::from_millis(1));
    command.args(["--duration", if context.quick { "1s" } else { "5s" }]);
    command
}

/// Returns the median in ns that the program itself says, on its standard error where it is watched.
fn p50(context: &Context, mut command: Command, watched: bool) -> anyhow::Result<f64> {
    command.env("PUNCTUAL_HOME", context.output.join("home"));
    let finished = program::finish(context, &mut command)?;
    program::forget_runs(context);
    let text = match watched {
        true => &finished.stderr,
        false => &finished.stdout,
    };
    let from = text.find('{').context("no result in what was printed")?;
    let mut results = serde_json::Deserializer::from_str(&text[from..]).into_iter::<Value>();
    let run = results.next().context("no result in what was printed")??;
    let median = run["series"][0]["quantiles_ns"]["p50"].as_f64();
    median.context("the result has no median")
}

/// CPU time of the recorder a second, with 20,000 switches a second on two CPUs, all threads watched.
pub(crate) fn recorder(context: &Context) -> anyhow::Result<Outcome> {
    let seconds = if context.quick { 5 } else { 30 };
    let busy = busy(context, seconds)?;
    let cpu = busy.finished.usage.utime + busy.finished.usage.stime;
    Ok(Outcome::Measured {
        pairs: one(cpu.as_secs_f64() * 1e9 / f64::from(seconds)),
        faults: busy.faults,
    })
}

/// Time that a trace record takes to be read and analysed.
pub(crate) fn analysis(context: &Context) -> anyhow::Result<Outcome> {
    let busy = busy(context, if context.quick { 5 } else { 30 })?;
    let figures = busy.run["figures"].as_array();
    let is_it = |of: &&Value| of["name"] == "analysis_per_record";
    let value = figures.and_then(|all| all.iter().find(is_it)?["value"].as_f64());
    Ok(Outcome::Measured {
        pairs: one(value.context("no analysis_per_record in the run")?),
        faults: busy.faults,
    })
}

/// Memory of ten minutes.
pub(crate) fn memory(context: &Context) -> anyhow::Result<Outcome> {
    let busy = busy(context, if context.quick { 10 } else { 600 })?;
    let kib = u32::try_from(busy.finished.usage.maxrss >> 10).unwrap_or(u32::MAX);
    Ok(Outcome::Measured {
        pairs: one(f64::from(kib) * 1_024.0),
        faults: busy.faults,
    })
}

fn one(ours: f64) -> Vec<Pair> {
    vec![Pair { ours, theirs: None }]
}

/// A busy machine that was watched.
struct Busy {
    run: Value,
    finished: Finished,
    faults: Vec<String>,
}

/// Has 20,000 switches a second watched, without the programs that make them being started by the watcher, whose CPU time
/// they would be.
fn busy(context: &Context, seconds: u32) -> anyhow::Result<Busy> {
    let _switches = Switches::start(seconds)?;
    std::thread::sleep(Duration::from_millis(500));
    let mut command = Command::new(&context.punctual);
    command.env("PUNCTUAL_HOME", context.output.join("home"));
    command.args(["watch", "--quiet", "--json", "--comm", "cyclictest"]);
    command.args(["--duration", &format!("{seconds}s")]);
    let (run, finished) = program::punctual_json(context, command)?;
    let records = run["watched"]["records"].as_f64().unwrap_or(0.0);
    context.note(&format!(
        "{:.0} records a second",
        records / f64::from(seconds)
    ));
    let checks = run["checks"].as_array().map_or(&[][..], Vec::as_slice);
    let lost = checks.iter().find(|c| c["id"] == "lost-events");
    let faults = match lost.map(|check| (&check["status"], &check["detail"])) {
        Some((status, _)) if status == "pass" => vec![],
        Some((_, detail)) => vec![detail.to_string()],
        None => bail!("no check lost-events in the run"),
    };
    Ok(Busy {
        run,
        finished,
        faults,
    })
}

/// A thread on each of two CPUs that wakes up 5,000 times a second, with two switches each time.
struct Switches(Child);

impl Switches {
    fn start(seconds: u32) -> anyhow::Result<Self> {
        let mut command = Command::new("cyclictest");
        command.args([
            "-q", "-m", "-p", "80", "-t", "2", "-a", "-d", "0", "-i", "200",
        ]);
        command.args(["-D", &format!("{}s", seconds + 30)]);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        Ok(Self(child.context("failed to start cyclictest")?))
    }
}

impl Drop for Switches {
    fn drop(&mut self) {
        // It may have ended by itself.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}
