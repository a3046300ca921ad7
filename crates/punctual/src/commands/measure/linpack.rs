// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual measure linpack`.

use std::collections::BTreeMap;
use std::path::Path;

use punctual_measure::linpack::{self, Linpack};

use super::instrument::{self, Asked, Kind, Measured};
use crate::cli::LinpackArgs;
use crate::error::CliError;
use crate::exit::Exit;

/// Measures how fast systems of equations are solved, as `args` say.
pub(crate) fn run(home: Option<&Path>, args: &LinpackArgs) -> Result<Exit, CliError> {
    let mut orders: Vec<usize> = args.order.iter().map(|n| *n as usize).collect();
    orders.sort_unstable();
    orders.dedup();
    let list: Vec<String> = orders.iter().map(ToString::to_string).collect();
    let asked = Asked {
        instrument: "linpack",
        kind: Kind::Throughput,
        measured: Measured::All,
        priority: args.priority,
        duration: None,
        options: BTreeMap::new(),
    }
    .option("order", list.join(","))
    .option("repeats", args.repeats)
    .option("product", args.product);
    let what = Linpack {
        orders,
        repeats: args.repeats,
        product: args.product,
    };
    instrument::run(home, &args.common, asked, |frame| {
        linpack::run(&what, frame)
    })
}
