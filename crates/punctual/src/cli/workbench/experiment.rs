// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Options of `experiment`.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use punctual_lab::sweep::parse_knob;
use punctual_model::Nanos;
use punctual_stats::requirement::Requirement;

use crate::instruments::Instrument;

use super::{FailOn, JobsArgs, Metrics, MetricsArgs, Percent, path};

/// What to do with experiments
#[derive(Debug, Subcommand)]
pub enum ExperimentAction {
    /// Show the plan of a file: its cells, runs, their order, and how long they take
    Plan(ExperimentPlanArgs),
    /// Run an experiment from the beginning
    Run(ExperimentRunArgs),
    /// Continue an experiment that was stopped, killed, or cut off by a reboot
    Resume(ExperimentResumeArgs),
    /// Show the progress of experiments
    Status(ExperimentStatusArgs),
    /// Remove experiments, so that their names are free; their runs stay in the store
    Rm(ExperimentRmArgs),
    /// Show the results of an experiment: answers, effects, and best trade-offs
    Results(ExperimentResultsArgs),
    /// Write an experiment file for a common case: one knob over several values
    Sweep(ExperimentSweepArgs),
}

/// Options of `experiment plan`
#[derive(Args, Debug)]
pub struct ExperimentPlanArgs {
    /// The experiment, TOML
    #[arg(value_name = "FILE", value_parser = path())]
    pub file: PathBuf,

    /// Seed of the order [default: the file's, or one derived from its text]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,

    /// Value of a parameter of the file, as TOML or else as text (can be repeated)
    #[arg(long, value_name = "NAME=VALUE", value_parser = parameter)]
    pub parameter: Vec<(String, toml::Value)>,

    /// List every run in order, not only the cells
    #[arg(long)]
    pub runs: bool,

    /// Print the plan as JSON
    #[arg(long)]
    pub json: bool,
}

/// Options of `experiment run`
#[derive(Args, Debug)]
pub struct ExperimentRunArgs {
    /// The experiment, TOML
    #[arg(value_name = "FILE", value_parser = path())]
    pub file: PathBuf,

    /// Seed of the order [default: the file's, or one derived from its text]; recorded
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,

    /// Value of a parameter of the file, as TOML or else as text (can be repeated)
    #[arg(long, value_name = "NAME=VALUE", value_parser = parameter)]
    pub parameter: Vec<(String, toml::Value)>,

    /// Continue the experiment of that name with the edited file; its cells must be the same
    #[arg(long, conflicts_with = "seed")]
    pub replan: bool,

    /// Do not ask, however long it takes
    #[arg(long, short = 'y')]
    pub yes: bool,

    /// Metrics for Prometheus during the runs
    #[command(flatten)]
    pub metrics: MetricsArgs,

    /// Guests that run at once
    #[command(flatten)]
    pub jobs: JobsArgs,

    /// Show no progress
    #[arg(long, short = 'q')]
    pub quiet: bool,
}

/// Options of `experiment resume`
#[derive(Args, Debug)]
pub struct ExperimentResumeArgs {
    /// Name of the experiment
    pub name: String,

    /// Metrics for Prometheus during the runs
    #[command(flatten)]
    pub metrics: MetricsArgs,

    /// Guests that run at once
    #[command(flatten)]
    pub jobs: JobsArgs,

    /// Show no progress
    #[arg(long, short = 'q')]
    pub quiet: bool,
}

/// Options of `experiment status`
#[derive(Args, Debug)]
pub struct ExperimentStatusArgs {
    /// Name of the experiment [default: all of them]
    pub name: Option<String>,

    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

/// Options of `experiment rm`
#[derive(Args, Debug)]
pub struct ExperimentRmArgs {
    /// Names of experiments
    #[arg(required = true, value_name = "NAME")]
    pub names: Vec<String>,

    /// Remove their runs too
    #[arg(long)]
    pub runs: bool,
}

/// Options of `experiment results`
#[derive(Args, Debug)]
pub struct ExperimentResultsArgs {
    /// Name of the experiment
    pub name: String,

    /// Figures instead of those of the file, separated by commas
    #[arg(long, short = 'm', value_name = "FIGURE")]
    pub metric: Vec<Metrics>,

    /// Test whether cells are the same within this change
    #[arg(long, value_name = "PERCENT")]
    pub equivalence: Option<Percent>,

    /// Test whether cells are not worse by this change, in figures that have a bad direction
    #[arg(long, value_name = "PERCENT", conflicts_with = "equivalence")]
    pub not_worse: Option<Percent>,

    /// The smallest change that matters
    #[arg(long, value_name = "PERCENT", default_value = "10%")]
    pub effect: Percent,

    /// Level of all tests together [default: 5%, or the alpha of the file's sequential rule]
    #[arg(long, value_name = "PERCENT")]
    pub level: Option<Percent>,

    /// Require this of each cell, and exit 3 unless it is shown to hold (can be repeated)
    #[arg(long, value_name = "REQUIREMENT")]
    pub require: Vec<Requirement>,

    /// Longest burst of misses to assume if no miss was seen; requirements count
    /// bursts, not samples [default: 100ms]
    #[arg(long, value_name = "TIME", requires = "require")]
    pub burst: Option<Nanos>,

    /// Exit 3 on this verdict, 6 if a figure cannot be judged (also comma-separated)
    #[arg(long, value_name = "VERDICT", value_enum, value_delimiter = ',')]
    pub fail_on: Vec<FailOn>,

    /// Also use runs that failed a check
    #[arg(long)]
    pub allow_invalid: bool,

    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

/// Options of `experiment sweep`
#[derive(Args, Debug)]
pub struct ExperimentSweepArgs {
    /// The knob and its values, such as kernel.sched_rt_runtime_us=100000..1000000:100000 or a list
    #[arg(long, value_name = "KNOB=VALUES", value_parser = parse_knob)]
    pub knob: (String, Vec<String>),

    /// Instrument to measure with at each value
    #[arg(long, value_name = "INSTRUMENT", default_value = "wakeup",
          value_parser = PossibleValuesParser::new(Instrument::NAMES), hide_possible_values = true)]
    pub measure: String,

    /// Another instrument (can be repeated)
    #[arg(long, value_name = "INSTRUMENT",
          value_parser = PossibleValuesParser::new(Instrument::NAMES), hide_possible_values = true)]
    pub and: Vec<String>,

    /// Passes over all values, each in its own order
    #[arg(long, value_name = "N", default_value_t = 6,
          value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub blocks: u32,

    /// How long each run measures, of instruments that measure for a time
    #[arg(long, short = 'D', value_name = "TIME", default_value = "10s")]
    pub duration: String,

    /// Figure to compare, such as p99 (can be repeated)
    #[arg(long, value_name = "FIGURE", default_values = ["p50", "p99"])]
    pub compare: Vec<String>,

    /// File to write; - is standard output
    #[arg(long, short = 'o', value_name = "FILE", default_value = "-", value_parser = path())]
    pub output: PathBuf,

    /// Overwrite the file
    #[arg(long)]
    pub force: bool,
}

/// Reads `NAME=VALUE`.
pub(super) fn parameter(text: &str) -> Result<(String, toml::Value), String> {
    let (name, value) = text
        .split_once('=')
        .filter(|(name, _)| !name.is_empty())
        .ok_or("expected NAME=VALUE")?;
    // A duration is no TOML; a number, a list, a table are.
    let parsed = format!("value = {value}").parse::<toml::Table>();
    let parsed = parsed.ok().filter(|table| table.len() == 1);
    let parsed = parsed.and_then(|mut table| table.remove("value"));
    let value = parsed.unwrap_or_else(|| toml::Value::String(value.to_owned()));
    Ok((name.to_owned(), value))
}
