// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The two programs: how they are called, and what they print.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use serde_json::Value;
use wait4::{ResourceUsage, Wait4 as _};

use super::context::Context;
use crate::files;

pub(crate) const PRIORITY: u8 = 80;

/// A program that came to its end.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) stdout: String,
    pub(crate) usage: ResourceUsage,
    pub(crate) wall: Duration,
    success: bool,
    pub(crate) stderr: String,
}

impl Finished {
    /// Returns the last line that the program complained with.
    fn complaint(&self) -> &str {
        self.stderr
            .lines()
            .rfind(|line| !line.trim().is_empty())
            .unwrap_or("no message")
    }
}

/// Runs a program to its end; its CPU time is that of the whole process, all threads.
pub(crate) fn finish(context: &Context, command: &mut Command) -> anyhow::Result<Finished> {
    let stdout = context.output.join("stdout");
    let stderr = context.output.join("stderr");
    let file = |path: &Path| {
        File::create(path).with_context(|| format!("failed to create {}", path.display()))
    };
    let name = command.get_program().to_string_lossy().into_owned();
    let started = Instant::now();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(file(&stdout)?)
        .stderr(file(&stderr)?)
        .spawn()
        .with_context(|| format!("failed to start {name}"))?;
    let ended = child
        .wait4()
        .with_context(|| format!("failed to wait for {name}"))?;
    let wall = started.elapsed();
    let text =
        |path: &Path| fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    Ok(Finished {
        stdout: text(&stdout).context("failed to read what the program printed")?,
        usage: ended.rusage,
        wall,
        success: ended.status.success(),
        stderr: text(&stderr).context("failed to read what the program printed")?,
    })
}

/// cyclictest with one pinned thread, or as many as `threads` says.
pub(crate) fn cyclictest(context: &Context, threads: usize, interval: Duration) -> Command {
    let mut command = Command::new("cyclictest");
    command.args([
        "-q",
        "-m",
        "-p",
        &PRIORITY.to_string(),
        "-t",
        &threads.to_string(),
    ]);
    command.args(["-i", &interval.as_micros().to_string()]);
    if threads == 1 {
        command.args(["-a", &context.cpu.to_string()]);
    }
    command
}

/// Runs cyclictest and returns the only thread's entry of its JSON: `cycles`, `histogram`.
pub(crate) fn cyclictest_thread(
    context: &Context,
    mut command: Command,
) -> anyhow::Result<(Value, Finished)> {
    let path = context.output.join("cyclictest.json");
    command.arg(format!("--json={}", path.display()));
    let finished = finish(context, &mut command)?;
    if !finished.success {
        bail!("cyclictest failed: {}", finished.complaint());
    }
    let text = files::read(&path).with_context(|| format!("failed to read {}", path.display()))?;
    let mut json: Value =
        serde_json::from_str(&text).context("failed to parse the JSON of cyclictest")?;
    let thread = json
        .pointer_mut("/thread/0")
        .context("no thread in the JSON of cyclictest")?
        .take();
    Ok((thread, finished))
}

/// `punctual measure wakeup`, pinned if there is one thread, with all statistics on.
pub(crate) fn punctual(context: &Context, threads: usize, interval: Duration) -> Command {
    let mut command = Command::new(&context.punctual);
    // Own home: a benchmark leaves nothing among the user's runs.
    command.env("PUNCTUAL_HOME", context.output.join("home"));
    command.args([
        "measure",
        "wakeup",
        "--json",
        "--quiet",
        "--threads",
        &threads.to_string(),
    ]);
    command.args(["--priority", &format!("f:{PRIORITY}")]);
    command.args(["--interval", &format!("{}us", interval.as_micros())]);
    if threads == 1 {
        command.args(["--cpus", &context.cpu.to_string()]);
    }
    command
}

/// Runs Punctual and returns its JSON. An invalid run is measured all the same: the reason is noted.
pub(crate) fn punctual_json(
    context: &Context,
    mut command: Command,
) -> anyhow::Result<(Value, Finished)> {
    let finished = finish(context, &mut command)?;
    forget_runs(context);
    let json: Value = match serde_json::from_str(&finished.stdout) {
        Ok(json) => json,
        Err(_) => bail!("punctual printed no JSON: {}", finished.complaint()),
    };
    if json["valid"] != Value::Bool(true) {
        let checks = json["checks"].as_array().map_or(&[][..], Vec::as_slice);
        let failed = checks
            .iter()
            .filter(|check| check["status"] != "pass")
            .filter_map(|check| check["id"].as_str());
        context.note(&format!(
            "run of punctual not valid: {}",
            failed.collect::<Vec<_>>().join(", ")
        ));
    }
    Ok((json, finished))
}

/// Removes the runs that Punctual recorded: those of a bench are nobody's history, and raw ones are large.
pub(crate) fn forget_runs(context: &Context) {
    // There are none if the program failed, and then that is what the user wants to read about.
    fs::remove_dir_all(context.output.join("home")).ok();
}

/// Sums a key over all series of a run.
pub(crate) fn sum(run: &Value, key: &str) -> anyhow::Result<u64> {
    let series = run["series"]
        .as_array()
        .context("no series in the JSON of punctual")?;
    let figure = |series: &Value| {
        series[key]
            .as_u64()
            .with_context(|| format!("no {key} in the JSON of punctual"))
    };
    series.iter().map(figure).sum()
}
