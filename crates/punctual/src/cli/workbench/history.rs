// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Options of `history`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use punctual_verdict::comparison::names_of_one_series;
use punctual_verdict::history::By;

use super::{Metrics, Percent, path};

const HELP: &str = "\
Runs: an id (or at least 4 characters of its beginning or end), a name, with *
and ? for any characters ('*' for all runs that have a name or none),
tag:KEY=VALUE, host:NAME for all runs of a machine, the directory of a run, a
directory of such directories, or the JSON of `measure --json`; several, also
separated by commas.

Series: only runs of one machine, measured in one way, are compared with each
other; what else differs, such as the kernel, is named next to a change.
--ignore FACT puts series together.

A change: a figure has another level from some run on. For each, the output says
between which runs it came, how large it is, and which recorded facts differ
before and after it. At least 10 runs are needed; a change shows with the third
run after it at the earliest.

Exit status: 3 if --fail-on finds a new change; 6 if --fail-on is given and a
figure has too few runs or no verdict; 1 if there is no series at all; else 0,
whatever changed.";

/// Options of `history`
#[derive(Args, Debug)]
#[command(after_long_help = HELP)]
pub struct HistoryArgs {
    /// Runs
    #[arg(required = true, value_name = "RUNS")]
    pub what: Vec<String>,

    /// Locate a change between two runs, commits (tag `commit`), kernels, or days in UTC
    #[arg(long, value_name = "WHAT", default_value = "run",
          value_parser = super::one_of(By::ALL, By::name))]
    pub by: By,

    /// Figures, separated by commas [default: p50, p99, p99.9, max, and results that have a good
    /// direction]
    #[arg(long, short = 'm', value_name = "FIGURE")]
    pub metric: Vec<Metrics>,

    /// Keep runs in one series even if they differ in this fact, such as `machine` or `duration` (also comma-separated)
    #[arg(long, value_name = "FACT", value_delimiter = ',', value_parser = fact)]
    pub ignore: Vec<String>,

    /// Also take runs that failed a check
    #[arg(long)]
    pub allow_invalid: bool,

    /// Exit 3 on this, 6 if a figure cannot be judged (also comma-separated)
    #[arg(long, value_name = "WHAT", value_enum, value_delimiter = ',')]
    pub fail_on: Vec<HistoryFailOn>,

    /// Probability of any wrong change in all series together
    #[arg(long, value_name = "PERCENT", default_value = "5%")]
    pub level: Percent,

    /// Seed of the permutations
    #[arg(long, value_name = "N", default_value = "1")]
    pub seed: u64,

    /// Also write a page with the series as charts
    #[arg(long, short = 'o', value_name = "FILE", value_parser = path())]
    pub output: Option<PathBuf>,

    /// Overwrite the page
    #[arg(long, requires = "output")]
    pub force: bool,

    /// Print the history as JSON
    #[arg(long)]
    pub json: bool,
}

/// What fails
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum HistoryFailOn {
    /// A change in the newest 10 runs, in any direction
    NewChange,
    /// A change for the worse in the newest 10 runs
    NewWorse,
}

fn fact(text: &str) -> Result<String, String> {
    if text.starts_with("option ") || names_of_one_series().any(|name| name == text) {
        return Ok(text.to_owned());
    }
    let known: Vec<&str> = names_of_one_series().collect();
    Err(format!(
        "no such fact; one of: {}, or `option NAME`",
        known.join(", ")
    ))
}
