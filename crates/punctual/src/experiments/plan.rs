// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The plan of an experiment, what it costs, and the checks before it begins.

use std::collections::BTreeSet;

use clap::Parser as _;
use punctual_kernel::GuestTarget;
use punctual_lab::file::{Experiment, Sets};
use punctual_lab::order::seed_of;
use punctual_lab::plan::{Plan, guest_runs, invocation, is_virtual, stated_time};
use punctual_verdict::comparison::Metric;

use super::{Read, left_out, tuned};
use crate::cli::{Cli, Command};
use crate::error::CliError;

/// Seconds that a run takes in addition to its measuring: start, checks, recording.
const OVERHEAD: f64 = 0.3;

/// Seconds that a run takes longer in a guest, which boots for it: a guess, seen in virtual time.
const BOOT: f64 = 20.0;

/// Seconds that a run is taken for where its options do not state a time.
const UNSTATED: f64 = 10.0;

/// What an experiment will cost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    /// Runs in all, repeats apart.
    pub(crate) runs: u64,
    /// Seconds: an estimate.
    pub(crate) seconds: f64,
    /// Runs that do not state their time, for which a guess stands.
    pub(crate) open_runs: u64,
    /// Seconds after which no further block is begun.
    limit: Option<f64>,
}

impl Cost {
    /// Adds up what the plan says.
    pub(crate) fn of(experiment: &Experiment, plan: &Plan) -> Self {
        Self {
            runs: plan.runs(),
            seconds: block_seconds(experiment, plan) * f64::from(plan.all_blocks()),
            open_runs: stated_time(experiment, plan).open_runs * u64::from(plan.all_blocks()),
            limit: experiment.stop.time.map(|time| time.as_secs_f64()),
        }
    }

    /// Returns the seconds that it may take: no more than the file allows.
    pub(crate) fn most(&self) -> f64 {
        self.limit
            .map_or(self.seconds, |limit| self.seconds.min(limit))
    }

    /// Says the time.
    pub(crate) fn time(&self) -> String {
        let guessed = match self.open_runs {
            0 => String::new(),
            1 => format!(" (1 run of unknown length counts as {UNSTATED} s)"),
            n => format!(" ({n} runs of unknown length are counted as {UNSTATED} s each)"),
        };
        match self.limit.filter(|limit| *limit < self.seconds) {
            Some(limit) => format!("at most about {}", clock(limit)),
            None => format!("about {}{guessed}", clock(self.seconds)),
        }
    }
}

/// Returns about how many seconds one block takes.
pub(crate) fn block_seconds(experiment: &Experiment, plan: &Plan) -> f64 {
    let stated = stated_time(experiment, plan);
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    let [open, boots, runs] = [
        stated.open_runs,
        guest_runs(experiment, plan),
        plan.runs() / u64::from(plan.all_blocks().max(1)),
    ]
    .map(|count| count as f64);
    let seconds = stated.time.as_secs_f64() + open * UNSTATED + boots * BOOT + runs * OVERHEAD;
    // Guests in virtual time run one a CPU, and the blocks beside each other.
    match is_virtual(experiment, plan) {
        true => seconds / lanes(),
        false => seconds,
    }
}

/// Returns how many guests in virtual time run at once.
#[expect(clippy::cast_precision_loss, reason = "an estimate")]
fn lanes() -> f64 {
    std::thread::available_parallelism().map_or(1.0, |cpus| cpus.get() as f64)
}

/// Writes seconds as `1:02:03`, or `4 days 1:02:03`.
pub(crate) fn clock(seconds: f64) -> String {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "for display, saturating"
    )]
    let whole = seconds.max(0.0).round() as u64;
    let (days, rest) = (whole / 86_400, whole % 86_400);
    let (hours, minutes, seconds) = (rest / 3_600, rest / 60 % 60, rest % 60);
    match days {
        0 => format!("{hours}:{minutes:02}:{seconds:02}"),
        1 => format!("1 day {hours}:{minutes:02}:{seconds:02}"),
        days => format!("{days} days {hours}:{minutes:02}:{seconds:02}"),
    }
}

/// Plans what was read, and checks the command line of every cell.
pub(crate) fn of(read: &Read, seed: Option<u64>) -> Result<Plan, CliError> {
    for figure in &read.experiment.metrics {
        if let Err(err) = figure.parse::<Metric>() {
            return Err(CliError::usage(format!("{}: compare: {err}", read.file)));
        }
    }
    targets(read)?;
    let seed = seed.or(read.experiment.seed);
    let seed = seed.unwrap_or_else(|| seed_of(&read.text));
    let mut plan = Plan::of(&read.file, &read.experiment, seed)?;
    let mut seen = BTreeSet::new();
    for (number, cell) in (0..).zip(&plan.cells) {
        // Every level once: that is what a mistake is in, and there may be thousands of cells.
        let levels = plan.factors.iter().zip(cell);
        let new = levels.filter(|level| seen.insert(*level)).count();
        if new == 0 && number > 0 {
            continue;
        }
        for measurement in 0..read.experiment.measurements.len() {
            let measurement = u32::try_from(measurement).unwrap_or(u32::MAX);
            let run = invocation(&read.experiment, cell, measurement);
            let arguments = run.map(|run| run.in_block(0).arguments);
            let arguments = arguments.unwrap_or_default();
            let line = [vec!["punctual".to_owned()], arguments].concat();
            let wrong = |why: &str| {
                CliError::usage(format!(
                    "{}: cell {}: `{}`: {why}",
                    read.file,
                    plan.cell_name(number),
                    line.join(" ")
                ))
            };
            match Cli::try_parse_from(&line) {
                Ok(cli) => carried_out(&cli).map_err(|err| wrong(&err.in_one_line()))?,
                Err(err) => {
                    let text = err.to_string();
                    let why = text.lines().next().unwrap_or_default();
                    return Err(wrong(why.trim_start_matches("error: ")));
                }
            }
        }
    }
    left_out::leave_out(read, &mut plan)?;
    Ok(plan)
}

/// Refuses a run of which it is known beforehand that it cannot be.
fn carried_out(cli: &Cli) -> Result<(), CliError> {
    tuned::check(cli)?;
    match &cli.command {
        Command::Measure { tuning, instrument } if tuning.target.is_some() => {
            instrument.check_for_guest()
        }
        _ => Ok(()),
    }
}

/// Reads the kernels of the file, so that an error in one names its line.
fn targets(read: &Read) -> Result<(), CliError> {
    let factors = read.experiment.factors.iter();
    for factor in factors.filter(|factor| factor.sets == Sets::Target) {
        for level in factor.levels.iter().filter(|level| level.value != "here") {
            // The number of the block is not known yet, and any will do.
            let text = level.value.replace("{block}", "1");
            if let Err(err) = text.parse::<GuestTarget>() {
                return Err(CliError::usage(format!(
                    "{}, line {}: levels of \"{}\": \"{}\": {err}",
                    read.file, factor.line, factor.name, level.name
                )));
            }
        }
    }
    Ok(())
}
