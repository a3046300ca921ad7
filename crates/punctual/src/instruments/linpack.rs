// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual measure linpack`: its options, and what they mean.

use std::path::Path;

use clap::Args;
use punctual_measure::linpack::{self, Engine, Linpack};

use super::request::{self, Request};
use crate::cli::{CommonArgs, RATES, RepeatArgs, own};
use crate::error::CliError;
use crate::exit::Exit;

/// Options of `measure linpack`
#[derive(Args, Debug)]
#[command(mut_args(own("linpack", &[RATES, ("repeats", "5", Some("How often to solve each order, or run the command"))])))]
pub struct LinpackArgs {
    /// Solver: own, openblas[:PATH], mkl[:PATH], or command:PROGRAM that prints results in HPL's format
    #[arg(
        long,
        value_name = "ENGINE",
        default_value = "own",
        help_heading = "Sampling"
    )]
    pub engine: Engine,

    /// Numbers of equations (comma-separated) [default: 1000,2000,4000; with a command, up to the command]
    #[arg(
        long,
        value_name = "N",
        value_delimiter = ',',
        help_heading = "Sampling",
        value_parser = clap::value_parser!(u32).range(1..=1_000_000)
    )]
    pub order: Vec<u32>,

    /// Also measure the product of two matrices of the same order, in turns: the upper limit of any solver
    #[arg(long, help_heading = "Sampling")]
    pub product: bool,

    /// How often
    #[command(flatten)]
    pub repeat: RepeatArgs,

    /// What all instruments share
    #[command(flatten)]
    pub common: CommonArgs,
}

/// Small, middling and large: how the rate grows, in some seconds.
const DEFAULT_ORDERS: [usize; 3] = [1_000, 2_000, 4_000];

/// Measures how fast systems of equations are solved, as `args` say.
pub(crate) fn run(home: Option<&Path>, args: &LinpackArgs) -> Result<Exit, CliError> {
    let command = matches!(args.engine, Engine::Command(_));
    if command && !args.order.is_empty() {
        return Err(CliError::usage(
            "--order: with --engine command:PROGRAM, set the order in that command line",
        ));
    }
    if command && args.product {
        return Err(CliError::usage(
            "--product: not available with --engine command:PROGRAM, whose order is unknown in advance",
        ));
    }
    let mut orders: Vec<usize> = match (command, args.order.as_slice()) {
        // One run of it a round.
        (true, _) => vec![1],
        (false, []) => DEFAULT_ORDERS.to_vec(),
        (false, given) => given.iter().map(|n| *n as usize).collect(),
    };
    orders.sort_unstable();
    orders.dedup();
    let list: Vec<String> = orders.iter().map(ToString::to_string).collect();
    let mut asked = Request::of("linpack")
        .option("engine", &args.engine)
        .option("repeats", args.repeat.repeats)
        .option("product", args.product);
    if !command {
        asked = asked.option("order", list.join(","));
    }
    let what = Linpack {
        engine: args.engine.clone(),
        orders,
        repeats: args.repeat.repeats,
        product: args.product,
        openblas_core: std::env::var("OPENBLAS_CORETYPE").ok(),
        omp_threads: std::env::var("OMP_NUM_THREADS").ok(),
    };
    request::run(home, &args.common, asked, |frame| {
        linpack::run(&what, frame)
    })
}
