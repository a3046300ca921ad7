// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Finds the changes of series: reads one a line, values separated by spaces, and writes for each the
//! number of the first value after each change, from 0.
//!
//! `cargo run --release -p punctual-stats --example changes [PERMUTATIONS] < series.txt`. It is what
//! scripts/beside-otava.py compares with another program.

#![expect(clippy::print_stdout, reason = "the answers are what it is for")]

use std::io::{self, BufRead as _};
use std::process::ExitCode;

use punctual_stats::history::{Options, changes};

fn main() -> ExitCode {
    let draws = std::env::args().nth(1).and_then(|text| text.parse().ok());
    let options = Options {
        draws: draws.unwrap_or_else(|| Options::default().draws),
        ..Options::default()
    };
    for line in io::stdin().lock().lines() {
        let values = line.ok().and_then(|line| {
            let values = line.split_whitespace().map(|word| word.parse().ok());
            values.collect::<Option<Vec<f64>>>()
        });
        let Some(history) = values.and_then(|values| changes(&values, None, &options)) else {
            println!("not a series");
            return ExitCode::FAILURE;
        };
        let firsts = history
            .changes
            .iter()
            .map(|change| change.first.to_string());
        println!("{}", firsts.collect::<Vec<_>>().join(" "));
    }
    ExitCode::SUCCESS
}
