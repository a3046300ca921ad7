// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Options of the instruments that measure how much is done, not how late it is.

use clap::Args;
use punctual_measure::linpack::Engine;
use punctual_model::Policy;

use super::CommonArgs;

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
