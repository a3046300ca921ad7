// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Options of `study`.

use std::path::PathBuf;

use clap::builder::{OsStringValueParser, TypedValueParser as _};
use clap::{Args, Subcommand};
use punctual_model::Nanos;

/// What to do with studies
#[derive(Debug, Subcommand)]
pub enum StudyAction {
    /// List the published experiments that can be carried out here
    List {
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Show what a study is: the work, its published figures, and what is done differently here
    Show {
        /// The study
        name: String,

        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Carry a study out, or go on with one that was stopped or killed, and report it
    Run(StudyRunArgs),
    /// Report what a study said here, beside what was published
    Report(StudyReportArgs),
}

/// Options of `study run`
#[derive(Args, Debug)]
pub struct StudyRunArgs {
    /// The study, or `all`
    pub name: String,

    /// Less than a minute a study: shows that it works, and seldom more
    #[arg(long, group = "scale", help_heading = "Scale")]
    pub quick: bool,

    /// The parameters of the authors, which may take hours
    #[arg(long, group = "scale", help_heading = "Scale")]
    pub paper: bool,

    /// As many blocks as fit into this time
    #[arg(long, value_name = "TIME", group = "scale", help_heading = "Scale")]
    pub budget: Option<Nanos>,

    /// A kernel for studies that compare two, as `measure --target` takes it: first the stock kernel, then
    /// the RT kernel (twice) [default: two of one version that are found, as guests in virtual time]
    #[arg(long, value_name = "TARGET", help_heading = "Kernels")]
    pub target: Vec<String>,

    /// Directory with kernel images, of which a stock kernel and an RT kernel of one version are taken
    /// [default: target/kernels, /boot and the store]
    #[arg(
        long,
        value_name = "DIR",
        conflicts_with = "target",
        help_heading = "Kernels"
    )]
    pub kernels: Option<PathBuf>,

    /// Value of a parameter of the study's experiments, over the scale's (can be repeated)
    #[arg(long, value_name = "NAME=VALUE", value_parser = super::experiment::parameter, help_heading = "Scale")]
    pub parameter: Vec<(String, toml::Value)>,

    /// Begin anew, also where one like this was begun and is not over
    #[arg(long)]
    pub new: bool,

    /// Where the page with the report goes, which must not exist [default: NAME.html in the store's `studies`, the one
    /// before replaced]
    #[arg(long, short = 'o', value_name = "FILE",
          value_parser = OsStringValueParser::new().map(PathBuf::from))]
    pub output: Option<PathBuf>,

    /// Overwrite it
    #[arg(long, requires = "output")]
    pub force: bool,

    /// Print the report as JSON
    #[arg(long)]
    pub json: bool,

    /// Show no progress
    #[arg(long, short = 'q')]
    pub quiet: bool,
}

/// Options of `study report`
#[derive(Args, Debug)]
pub struct StudyReportArgs {
    /// The study, or `all` that were carried out here
    pub name: String,

    /// Which carrying out of it, from 1 [default: the latest]
    #[arg(long, value_name = "N", conflicts_with = "recorded")]
    pub number: Option<u32>,

    /// Compare two sets of recorded runs, named as `compare` takes them, in place of the study's own: those
    /// of the stock kernel and those of the RT kernel
    #[arg(long, num_args = 2, value_names = ["STOCK", "RT"])]
    pub recorded: Vec<String>,

    /// Write it as an HTML page that needs nothing else to this file, which must not exist; `-` is standard output
    #[arg(long, short = 'o', value_name = "FILE", conflicts_with = "json",
          value_parser = OsStringValueParser::new().map(PathBuf::from))]
    pub output: Option<PathBuf>,

    /// Overwrite it
    #[arg(long, requires = "output")]
    pub force: bool,

    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}
