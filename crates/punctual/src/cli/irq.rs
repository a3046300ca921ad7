// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Options of `measure irq`.

use clap::{Args, ValueEnum};
use punctual_model::{Nanos, Policy};

use super::measure::CommonArgs;

/// Options of `measure irq`
#[derive(Args, Debug)]
pub struct IrqArgs {
    /// What measures: the timerlat tracer, or threads of our own and trace events
    #[arg(
        long,
        value_name = "SOURCE",
        value_enum,
        default_value = "auto",
        help_heading = "Sampling"
    )]
    pub source: IrqSource,

    /// Time between the deadlines of a thread
    #[arg(
        long,
        short = 'i',
        value_name = "TIME",
        allow_hyphen_values = true,
        default_value = "1ms",
        help_heading = "Sampling"
    )]
    pub interval: Nanos,

    /// Scheduling policy: f:PRIO (FIFO), r:PRIO (round robin), o[:NICE], b, i, d:RUNTIME:PERIOD
    #[arg(
        long,
        short = 'p',
        value_name = "POLICY",
        default_value = "f:80",
        help_heading = "Threads"
    )]
    pub priority: Policy,

    /// Measure for this time, half of it without tracing
    #[arg(
        long,
        short = 'D',
        value_name = "TIME",
        allow_hyphen_values = true,
        default_value = "20s",
        help_heading = "End"
    )]
    pub duration: Nanos,

    /// What all instruments share
    #[command(flatten)]
    pub common: CommonArgs,
}

/// What measures interrupt latency
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum IrqSource {
    /// The timerlat tracer where the kernel has it, else trace events
    Auto,
    /// The kernel's timerlat tracer
    Timerlat,
    /// Threads of our own, and the kernel's trace events of their wake-ups
    Events,
}
