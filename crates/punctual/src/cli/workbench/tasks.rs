// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Options of `tasks`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use punctual_model::CpuSet;

use super::path;

const CHECK_EXIT: &str = "\
Exit status: 0 if analysis shows that every deadline is met, 3 if not, 2 if the
set is wrong.";

/// What to do with task sets
#[derive(Debug, Subcommand)]
pub enum TasksAction {
    /// Analyse a set: will all tasks meet their deadlines, with how much room, and what delays them?
    Check(TasksCheckArgs),
    /// Write a set with the longest times that `watch` observed of a program's threads; they are no worst cases
    New(TasksNewArgs),
}

/// Options of `tasks check`
#[derive(Args, Debug)]
#[command(after_help = CHECK_EXIT)]
pub struct TasksCheckArgs {
    /// The set: a TOML file, a JSON file of rt-app, or example:NAME (arm, rate-monotonic,
    /// earliest-deadline-first, ext-rate-monotonic, ext-earliest-deadline-first)
    #[arg(value_name = "SET", value_parser = path())]
    pub set: PathBuf,

    /// CPUs of tasks that name none [default: all online]
    #[arg(long, short = 'c', value_name = "LIST")]
    pub cpus: Option<CpuSet>,

    /// Take the overheads from this run: the longest wake-up of `measure wakeup`, or of a program that was watched
    #[arg(long, value_name = "RUN")]
    pub overheads: Option<String>,

    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// Options of `tasks new`
#[derive(Args, Debug)]
pub struct TasksNewArgs {
    /// The run of `watch`: an id (or at least 4 characters of its beginning or end), a name, or `last`
    #[arg(long, value_name = "RUN")]
    pub from: String,

    /// File to write; - is standard output
    #[arg(long, short = 'o', value_name = "FILE", default_value = "-", value_parser = path())]
    pub output: PathBuf,

    /// Overwrite the file
    #[arg(long)]
    pub force: bool,

    /// Print the set as JSON instead
    #[arg(long, conflicts_with_all = ["output", "force"])]
    pub json: bool,
}
