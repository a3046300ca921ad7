// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual measure linpack`.

use std::collections::BTreeMap;
use std::path::Path;

use punctual_measure::linpack::{self, Engine, Linpack};

use super::instrument::{self, Asked, Kind, Measured};
use crate::cli::LinpackArgs;
use crate::error::CliError;
use crate::exit::Exit;

/// Small, middling and large: how the rate grows, in some seconds.
const DEFAULT_ORDERS: [usize; 3] = [1_000, 2_000, 4_000];

/// Measures how fast systems of equations are solved, as `args` say.
pub(crate) fn run(home: Option<&Path>, args: &LinpackArgs) -> Result<Exit, CliError> {
    let command = matches!(args.engine, Engine::Command(_));
    if command && !args.order.is_empty() {
        return Err(CliError::usage(
            "--order: what --engine command:PROGRAM solves is said in its own command line",
        ));
    }
    if command && args.product {
        return Err(CliError::usage(
            "--product: of which order is not known before --engine command:PROGRAM has run",
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
    let mut asked = Asked {
        instrument: "linpack",
        kind: Kind::Throughput,
        measured: Measured::All,
        priority: args.priority,
        duration: None,
        options: BTreeMap::new(),
    }
    .option("engine", &args.engine)
    .option("repeats", args.repeats)
    .option("product", args.product);
    if !command {
        asked = asked.option("order", list.join(","));
    }
    let what = Linpack {
        engine: args.engine.clone(),
        orders,
        repeats: args.repeats,
        product: args.product,
        openblas_core: std::env::var("OPENBLAS_CORETYPE").ok(),
    };
    instrument::run(home, &args.common, asked, |frame| {
        linpack::run(&what, frame)
    })
}
