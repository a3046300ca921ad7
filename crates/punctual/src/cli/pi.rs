// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Options of `measure pi`.

use clap::Args;
use punctual_measure::pi::Protocol;
use punctual_model::{Nanos, Policy};

use super::measure::CommonArgs;
use super::one_of;

/// Options of `measure pi`
#[derive(Args, Debug)]
pub struct PiArgs {
    /// Protocols of the lock, comma-separated [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = "Sampling",
          value_parser = one_of(Protocol::ALL, Protocol::name))]
    pub protocol: Vec<Protocol>,

    /// Time between the beginnings of cycles
    #[arg(
        long,
        short = 'i',
        value_name = "TIME",
        allow_hyphen_values = true,
        default_value = "100ms",
        help_heading = "Sampling"
    )]
    pub interval: Nanos,

    /// What the least urgent thread works while it holds the lock
    #[arg(
        long,
        value_name = "TIME",
        allow_hyphen_values = true,
        default_value = "2ms",
        help_heading = "Sampling"
    )]
    pub hold: Nanos,

    /// What the thread in between works, in every second cycle half of it
    #[arg(
        long,
        value_name = "TIME",
        allow_hyphen_values = true,
        default_value = "20ms",
        help_heading = "Sampling"
    )]
    pub spin: Nanos,

    /// FIFO priority of the most urgent thread; the others have the two below: f:3 to f:99
    #[arg(
        long,
        short = 'p',
        value_name = "POLICY",
        default_value = "f:80",
        help_heading = "Threads"
    )]
    pub priority: Policy,

    /// Measure for this time
    #[arg(
        long,
        short = 'D',
        value_name = "TIME",
        allow_hyphen_values = true,
        default_value = "30s",
        help_heading = "End"
    )]
    pub duration: Nanos,

    /// What all instruments share
    #[command(flatten)]
    pub common: CommonArgs,
}
