// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Options of the instruments that measure how much is done, not how late it is.

use std::path::PathBuf;

use clap::builder::{OsStringValueParser, TypedValueParser as _};
use clap::{Args, ValueEnum};
use punctual_measure::io::{AsyncEngine, Pattern};
use punctual_measure::linpack::Engine;
use punctual_measure::memory::Kernel;
use punctual_model::{Bytes, Nanos, Policy};

use super::{CommonArgs, one_of};

/// Options of `measure linpack`
#[derive(Args, Debug)]
pub struct LinpackArgs {
    /// What solves them: own, openblas[:PATH], mkl[:PATH], command:PROGRAM that prints what HPL prints
    #[arg(
        long,
        value_name = "ENGINE",
        default_value = "own",
        help_heading = "Sampling"
    )]
    pub engine: Engine,

    /// Numbers of equations (comma-separated) [default: 1000,2000,4000; what a command solves is its own affair]
    #[arg(
        long,
        value_name = "N",
        value_delimiter = ',',
        help_heading = "Sampling",
        value_parser = clap::value_parser!(u32).range(1..=1_000_000)
    )]
    pub order: Vec<u32>,

    /// Measure the product of two matrices of the same order too, in turns: the ceiling of any solver
    #[arg(long, help_heading = "Sampling")]
    pub product: bool,

    /// Solve each order, or run the command, this often
    #[arg(
        long,
        value_name = "N",
        default_value = "5",
        help_heading = "End",
        value_parser = clap::value_parser!(u32).range(1..=10_000)
    )]
    pub repeats: u32,

    /// Scheduling policy: f:PRIO (FIFO), r:PRIO (round robin), o[:NICE], b, i
    #[arg(
        long,
        short = 'p',
        value_name = "POLICY",
        default_value = "o",
        help_heading = "Threads"
    )]
    pub priority: Policy,

    /// What all instruments share
    #[command(flatten)]
    pub common: CommonArgs,
}

/// Options of `measure memory`
#[derive(Args, Debug)]
pub struct MemoryArgs {
    /// Size of a block, such as 256M; each thread has up to four on every memory node
    #[arg(
        long,
        value_name = "SIZE",
        default_value = "256M",
        help_heading = "Sampling"
    )]
    pub size: Bytes,

    /// Loops to measure (comma-separated) [default: all]
    #[arg(
        long,
        value_name = "KERNEL",
        value_delimiter = ',',
        help_heading = "Sampling",
        value_parser = one_of(Kernel::ALL, Kernel::name)
    )]
    pub kernels: Vec<Kernel>,

    /// Threads of each CPU node that work at once
    #[arg(
        long,
        short = 't',
        value_name = "N",
        default_value = "1",
        help_heading = "Threads",
        value_parser = clap::value_parser!(u32).range(1..=4096)
    )]
    pub threads: u32,

    /// Whether blocks lie in huge pages: as the kernel is set, asked for, or refused
    #[arg(
        long,
        value_name = "HOW",
        default_value = "leave",
        help_heading = "Sampling"
    )]
    pub huge_pages: HugePagesArg,

    /// Observe each loop and pair of nodes this often
    #[arg(
        long,
        value_name = "N",
        default_value = "5",
        help_heading = "End",
        value_parser = clap::value_parser!(u32).range(1..=10_000)
    )]
    pub repeats: u32,

    /// Scheduling policy: f:PRIO (FIFO), r:PRIO (round robin), o[:NICE], b, i
    #[arg(
        long,
        short = 'p',
        value_name = "POLICY",
        default_value = "o",
        help_heading = "Threads"
    )]
    pub priority: Policy,

    /// What all instruments share
    #[command(flatten)]
    pub common: CommonArgs,
}

/// Whether memory lies in huge pages
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum HugePagesArg {
    /// As the kernel is set
    Leave,
    /// Asked for
    Ask,
    /// Refused
    Refuse,
}

/// Options of `measure io`
#[derive(Args, Debug)]
pub struct IoArgs {
    /// How requests reach the kernel
    #[arg(
        long,
        value_name = "ENGINE",
        default_value = "libaio",
        help_heading = "Sampling",
        value_parser = one_of(AsyncEngine::ALL, AsyncEngine::name)
    )]
    pub engine: AsyncEngine,

    /// Which requests, in fio's words
    #[arg(
        long,
        value_name = "PATTERN",
        default_value = "randwrite",
        help_heading = "Sampling",
        value_parser = one_of(Pattern::ALL, Pattern::name)
    )]
    pub rw: Pattern,

    /// Size of a request
    #[arg(
        long,
        value_name = "SIZE",
        default_value = "64K",
        help_heading = "Sampling"
    )]
    pub block_size: Bytes,

    /// Requests under way at once, of each thread
    #[arg(
        long,
        value_name = "N",
        default_value = "32",
        help_heading = "Sampling",
        value_parser = clap::value_parser!(u32).range(1..=65_536)
    )]
    pub depth: u32,

    /// Threads of fio
    #[arg(
        long,
        short = 't',
        value_name = "N",
        default_value = "1",
        help_heading = "Threads",
        value_parser = clap::value_parser!(u32).range(1..=4096)
    )]
    pub threads: u32,

    /// Size of the file
    #[arg(
        long,
        value_name = "SIZE",
        default_value = "1G",
        help_heading = "Sampling"
    )]
    pub size: Bytes,

    /// Where the file is made; it has no name, and is gone at any end
    #[arg(
        long,
        value_name = "DIR",
        default_value = ".",
        help_heading = "Sampling",
        value_parser = OsStringValueParser::new().map(PathBuf::from)
    )]
    pub directory: PathBuf,

    /// Go through the page cache; without it requests go to the device (O_DIRECT)
    #[arg(long, help_heading = "Sampling")]
    pub buffered: bool,

    /// How long each run of fio takes
    #[arg(
        long,
        value_name = "TIME",
        allow_hyphen_values = true,
        default_value = "3s",
        help_heading = "End"
    )]
    pub runtime: Nanos,

    /// Run fio this often
    #[arg(
        long,
        value_name = "N",
        default_value = "5",
        help_heading = "End",
        value_parser = clap::value_parser!(u32).range(1..=10_000)
    )]
    pub repeats: u32,

    /// Scheduling policy: f:PRIO (FIFO), r:PRIO (round robin), o[:NICE], b, i
    #[arg(
        long,
        short = 'p',
        value_name = "POLICY",
        default_value = "o",
        help_heading = "Threads"
    )]
    pub priority: Policy,

    /// What all instruments share
    #[command(flatten)]
    pub common: CommonArgs,
}
