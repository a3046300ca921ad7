// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Options of `measure ipc`.

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use punctual_measure::ipc::{ParseWayError, Placement, Way};
use punctual_model::{CpuId, Nanos, Policy};

use super::measure::CommonArgs;
use super::one_of;

/// Options of `measure ipc`
#[derive(Args, Debug)]
pub struct IpcArgs {
    /// Ways to wake, comma-separated
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "all",
        help_heading = "Sampling",
        value_parser = ways()
    )]
    pub path: Vec<WayArg>,

    /// Sender and receiver on the same CPU, or across two [default: both, with two CPUs]
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = "Threads",
          value_parser = one_of(Placement::ALL, Placement::name))]
    pub placement: Vec<Placement>,

    /// CPU of the sender across CPUs [default: the second of --cpus]
    #[arg(long, value_name = "CPU", help_heading = "Threads")]
    pub sender: Option<CpuId>,

    /// CPU of the receiver, and of both on the same CPU [default: the first of --cpus]
    #[arg(long, value_name = "CPU", help_heading = "Threads")]
    pub receiver: Option<CpuId>,

    /// Time between the wake-ups of a pair
    #[arg(
        long,
        short = 'i',
        value_name = "TIME",
        allow_hyphen_values = true,
        default_value = "1ms",
        help_heading = "Sampling"
    )]
    pub interval: Nanos,

    /// Policy of the receivers; FIFO and round-robin senders run one priority below
    #[arg(
        long,
        short = 'p',
        value_name = "POLICY",
        default_value = "f:80",
        help_heading = "Threads"
    )]
    pub priority: Policy,

    /// Measure for this time, in which all pairs take turns
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

/// A value of `--path`
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum WayArg {
    /// All that there are
    All,
    /// This one, which must be there
    One(Way),
}

fn ways() -> impl TypedValueParser<Value = WayArg> {
    let names = Way::ALL.iter().map(|way| way.name()).chain(["all"]);
    PossibleValuesParser::new(names).try_map(|name| {
        Ok::<_, ParseWayError>(match name.as_str() {
            "all" => WayArg::All,
            name => WayArg::One(name.parse()?),
        })
    })
}
