// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Options of `report`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{label, path};

/// Options of `report`
#[derive(Args, Debug)]
pub struct ReportArgs {
    /// Runs: an id (or at least 4 characters of its beginning or end), a name, a pattern such as 'before-*',
    /// tag:KEY=VALUE, host:NAME, `last`, a directory of runs; the name of an experiment; a file with the --json output of
    /// measure, watch, assess, compare, history, experiment results, study report, tune trial, kernel latency-test,
    /// tasks check, runs extrapolate, doctor or fleet
    #[arg(required = true, value_name = "WHAT")]
    pub what: Vec<String>,

    /// File to write, which must not exist; `-` is standard output [default but for html: standard output]
    #[arg(long, short = 'o', value_name = "FILE", value_parser = path())]
    pub output: Option<PathBuf>,

    /// Form of the report
    #[arg(
        long,
        short = 'f',
        value_name = "FORMAT",
        value_enum,
        default_value = "html"
    )]
    pub format: ReportFormat,

    /// Also write every chart as SVG into this directory, made if it does not exist
    #[arg(long, value_name = "DIR", value_parser = path())]
    pub svg: Option<PathBuf>,

    /// Also write every chart as PNG into this directory, made if it does not exist
    #[arg(long, value_name = "DIR", value_parser = path())]
    pub png: Option<PathBuf>,

    /// Treat each WHAT as a group of runs and compare it with the first, as `punctual compare` does
    #[arg(long)]
    pub compare: bool,

    /// Title of the report
    #[arg(long, value_name = "TEXT", value_parser = label)]
    pub title: Option<String>,

    /// Overwrite files
    #[arg(long)]
    pub force: bool,
}

/// Forms of a report
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum ReportFormat {
    /// One self-contained page: no server, no network, no other files
    Html,
    /// Markdown with tables, for mail and pull requests
    Md,
    /// JUnit XML for CI systems: a case for each check, requirement, comparison, rule and host
    Junit,
    /// The same cases as TAP version 13, as kselftest prints them
    Tap,
}
