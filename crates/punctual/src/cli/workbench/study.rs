// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Options of `study`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use punctual_model::Nanos;

use super::path;

/// What to do with studies
#[derive(Debug, Subcommand)]
pub enum StudyAction {
    /// List the published experiments that can be repeated here
    List {
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Describe a study: the paper, its published figures, and what differs here
    Show {
        /// The study
        name: String,

        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Run a study, or continue one that was stopped or killed, and report it
    Run(StudyRunArgs),
    /// Report the results of a study here, side by side with the published ones
    Report(StudyReportArgs),
}

/// After the options of `study run`.
const RUN_EXIT: &str = "\
Exit status: 0 if every cell of every experiment has a valid run; 1 if not, and
then the cells are named, or if a study failed or was stopped; 5 if nothing of
the study can be carried out here. A part that this machine cannot carry out is
left out with the reason.";

/// Options of `study run`
#[derive(Args, Debug, Default)]
#[command(after_long_help = RUN_EXIT)]
pub struct StudyRunArgs {
    /// The study, or `all`
    pub name: String,

    /// Less than a minute per study: shows that it works, rarely more
    #[arg(long, group = "scale", help_heading = "Scale")]
    pub quick: bool,

    /// Use the parameters of the authors, which may take hours
    #[arg(long, group = "scale", help_heading = "Scale")]
    pub paper: bool,

    /// Run as many blocks as fit into this time
    #[arg(long, value_name = "TIME", group = "scale", help_heading = "Scale")]
    pub budget: Option<Nanos>,

    /// Kernels for studies that compare two, in the form of `measure --target`: first the stock kernel, then
    /// the RT kernel (give it twice) [default: two of the same version, as guests in virtual time]
    #[arg(long, value_name = "TARGET", help_heading = "Kernels")]
    pub target: Vec<String>,

    /// Directory with images of a stock kernel and an RT kernel of the same version
    /// [default: target/kernels, /boot and the store]
    #[arg(
        long,
        value_name = "DIR",
        conflicts_with = "target",
        help_heading = "Kernels"
    )]
    pub kernels: Option<PathBuf>,

    /// Build both kernels first, from a source with PREEMPT_RT: a package linux-source-VERSION, a directory or a source in
    /// the store. Same steps as `punctual kernel rt`; resumed by the same command [default SOURCE: linux-source-6.12]
    #[arg(
        long,
        value_name = "SOURCE",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "linux-source-6.12",
        conflicts_with_all = ["target", "kernels", "quick"],
        help_heading = "Kernels"
    )]
    pub build: Option<String>,

    /// Value of a parameter of the study's experiments, instead of the scale's (can be repeated)
    #[arg(long, value_name = "NAME=VALUE", value_parser = super::experiment::parameter, help_heading = "Scale")]
    pub parameter: Vec<(String, toml::Value)>,

    /// Start a new one even if an unfinished one exists
    #[arg(long)]
    pub new: bool,

    /// File for the report page, which must not exist [default: NAME.html in the store's `studies`, the one
    /// before replaced]
    #[arg(long, short = 'o', value_name = "FILE", value_parser = path())]
    pub output: Option<PathBuf>,

    /// Overwrite it
    #[arg(long, requires = "output")]
    pub force: bool,

    /// Print the report as JSON
    #[arg(long)]
    pub json: bool,

    /// Guests that run at once
    #[command(flatten)]
    pub jobs: super::JobsArgs,

    /// Show no progress
    #[arg(long, short = 'q')]
    pub quiet: bool,
}

/// Options of `study report`
#[derive(Args, Debug)]
pub struct StudyReportArgs {
    /// The study, or `all` that were run here
    pub name: String,

    /// Which run of it, from 1 [default: the latest]
    #[arg(long, value_name = "N", conflicts_with = "recorded")]
    pub number: Option<u32>,

    /// Compare two sets of recorded runs, named as for `compare`, instead of the study's own: those
    /// of the stock kernel and those of the RT kernel
    #[arg(long, num_args = 2, value_names = ["STOCK", "RT"])]
    pub recorded: Vec<String>,

    /// Write it as a self-contained HTML page to this file, which must not exist; `-` is standard output
    #[arg(long, short = 'o', value_name = "FILE", conflicts_with = "json", value_parser = path())]
    pub output: Option<PathBuf>,

    /// Overwrite it
    #[arg(long, requires = "output")]
    pub force: bool,

    /// Print every table and the method too
    #[arg(long, short = 'a', conflicts_with_all = ["json", "output"])]
    pub all: bool,

    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}
