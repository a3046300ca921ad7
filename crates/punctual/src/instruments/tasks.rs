// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual measure tasks`: its options, and what they mean.

#[cfg(feature = "workbench")]
mod analysed;

use std::path::{Path, PathBuf};

use clap::Args;
use punctual_measure::duty::Duty;
use punctual_measure::task_set::{self, TaskSetRun};
use punctual_model::tasks::{TasksCheck, TasksPlan};
use punctual_model::{CpuSet, Policy};
use punctual_sys::SysRoot;

#[cfg(feature = "workbench")]
pub(crate) use self::analysed::for_guest;
use super::request::{self, Request};
use crate::cli::{CommonArgs, SampleArgs, own, path};
use crate::error::CliError;
use crate::exit::Exit;

const EXIT: &str = "\
Exit status: 0 if every job met its deadline and no response was longer than its
bound, 3 if not.";

/// Options of `measure tasks`
#[derive(Args, Debug)]
#[command(mut_args(own("tasks", &[])), mut_arg("priority", |arg| arg.hide(true)), after_help = EXIT,
          mut_arg("cpus", |arg| arg.help("CPUs of all tasks, in place of those that the set names [default: all online and allowed]")))]
pub struct TasksArgs {
    /// The set: a TOML file, a JSON file of rt-app, or example:NAME (arm, rate-monotonic,
    /// earliest-deadline-first, ext-rate-monotonic, ext-earliest-deadline-first)
    #[arg(value_name = "SET", value_parser = path(),
          required_unless_present_any = ["set_file", "analysed"])]
    pub file: Option<PathBuf>,

    /// Same as SET, for places that take only options, such as an experiment file
    #[arg(long, value_name = "SET", conflicts_with = "file", help_heading = "Sampling",
          value_parser = path())]
    pub set_file: Option<PathBuf>,

    /// Share of its execution time that each job computes; the rest is left for its wake-up and for interrupts, which count as execution
    #[arg(
        long,
        value_name = "PERCENT",
        default_value = "95%",
        help_heading = "Sampling"
    )]
    pub work: Duty,

    /// Multiply all execution times, runtimes and critical sections by this
    #[arg(long, value_name = "FACTOR", default_value = "1", help_heading = "Sampling",
          value_parser = factor)]
    pub scale: f64,

    /// Take the overheads of the analysis from this run: the longest wake-up of `measure wakeup`, or of a program that was
    /// watched
    #[arg(long, value_name = "RUN", help_heading = "Sampling")]
    pub overheads: Option<String>,

    /// The set with its analysis as JSON, in place of the file: what a guest gets
    #[arg(long, value_name = "JSON", hide = true)]
    pub analysed: Option<String>,

    /// How long, and what is kept of samples
    #[command(flatten)]
    pub sampling: SampleArgs,

    /// What all instruments share
    #[command(flatten)]
    pub common: CommonArgs,
}

impl TasksArgs {
    /// Returns the set's file.
    #[cfg(feature = "workbench")]
    fn path(&self) -> &Path {
        let given = self.file.as_deref().or(self.set_file.as_deref());
        given.unwrap_or_else(|| Path::new(""))
    }
}

fn factor(text: &str) -> Result<f64, String> {
    let factor: f64 = text
        .parse()
        .map_err(|_| "must be a number, such as 1.2".to_owned())?;
    match (0.001..=1_000.0).contains(&factor) {
        true => Ok(factor),
        false => Err("must be 0.001 to 1000".to_owned()),
    }
}

/// Runs the set as `args` say.
pub(crate) fn run(home: Option<&Path>, args: &TasksArgs) -> Result<Exit, CliError> {
    let plan = plan(home, args)?;
    let check = &plan.check;
    let cpus: CpuSet = check
        .tasks
        .iter()
        .flat_map(|task| task.cpus.iter())
        .collect();
    let common = CommonArgs {
        cpus: Some(cpus),
        priority: most_urgent(check),
        ..args.common.clone()
    };
    let asked = Request::of("tasks")
        .samples(&args.sampling)
        .option("set", &check.set.name)
        .option("scale", args.scale)
        .option("work", args.work);
    let first = check.set.tasks.iter().map(|task| task.offset_ns).min();
    if let Some(first) = first.filter(|first| *first >= args.sampling.duration) {
        return Err(CliError::usage(format!(
            "--duration {}: the first job is released after {first}",
            args.sampling.duration
        )));
    }
    let set = TaskSetRun {
        plan,
        work: args.work,
    };
    // What the kernel refuses is an error before a load, a screen or a thread starts.
    set.try_out(&SysRoot::live())?;
    request::run(home, &common, asked, |frame| task_set::run(&set, frame))
}

/// The policy that goes before all others of the set.
fn most_urgent(check: &TasksCheck) -> Policy {
    let tasks = check.set.tasks.iter();
    if tasks.clone().any(|task| task.policy.ext().is_some()) {
        return Policy::Ext;
    }
    let highest = tasks.filter_map(|task| task.policy.priority()).max();
    highest.map_or(Policy::Other { nice: 0 }, |priority| Policy::Fifo {
        priority,
    })
}

fn plan(home: Option<&Path>, args: &TasksArgs) -> Result<TasksPlan, CliError> {
    if let Some(json) = &args.analysed {
        return serde_json::from_slice(json.as_bytes()).map_err(|err| {
            CliError::usage("--analysed: not a task set with its analysis").because(err)
        });
    }
    #[cfg(feature = "workbench")]
    return analysed::here(home, args);
    #[cfg(not(feature = "workbench"))]
    {
        let _ = home;
        Err(CliError::usage(
            "--analysed: missing, and this program reads no files of sets",
        ))
    }
}
