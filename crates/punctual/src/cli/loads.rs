// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Options about loads.

use std::net::Ipv4Addr;

use clap::Args;
use punctual_measure::loads::{self, LoadList, LoadSpec};
use punctual_model::Nanos;

use crate::error::CliError;

/// Options of loads during a measurement
#[derive(Args, Clone, Debug, Default)]
pub struct LoadOptions {
    /// Loads to run during the measurement, see `punctual load --help` (comma-separated, can be repeated)
    #[arg(long, value_name = "LOAD", help_heading = "Loads")]
    pub load: Vec<LoadList>,

    /// What the loads may touch
    #[command(flatten)]
    pub reach: LoadReach,
}

impl LoadOptions {
    /// Returns the loads that are asked for.
    pub(crate) fn chosen(&self) -> Result<Vec<LoadSpec>, CliError> {
        self.reach.over(LoadList::join(&self.load))
    }

    /// Returns the loads that are asked for, in the words of the command line.
    pub(crate) fn words(&self) -> Result<Vec<String>, CliError> {
        Ok(self.chosen()?.iter().map(ToString::to_string).collect())
    }
}

/// What loads may touch besides CPUs and memory
#[derive(Args, Clone, Debug, Default)]
pub struct LoadReach {
    /// Host that ping loads flood [default: 127.0.0.2, this machine]; other machines need --ping-rate
    #[arg(long, value_name = "ADDR", help_heading = "Loads")]
    pub ping_to: Option<Ipv4Addr>,

    /// Requests a second of each ping load [default: as fast as replies come]
    #[arg(long, value_name = "N", help_heading = "Loads",
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub ping_rate: Option<u32>,

    /// Allow the load printk to write to the kernel log and the consoles
    #[arg(long, help_heading = "Loads")]
    pub allow_console: bool,
}

impl LoadReach {
    /// Returns `loads` as these options have them.
    pub(crate) fn over(&self, mut loads: Vec<LoadSpec>) -> Result<Vec<LoadSpec>, CliError> {
        let (mut pings, mut with_target) = (0, 0);
        for load in &mut loads {
            if let Some(mut ping) = load.ping() {
                pings += 1;
                with_target += u32::from(!ping.namespaces);
                // What a load says of itself is more exact.
                // Nobody else is in namespaces of its own.
                if !ping.namespaces {
                    ping.to = ping.to.or(self.ping_to);
                }
                ping.rate = ping.rate.or(self.ping_rate);
                load.set_ping(ping);
            }
        }
        if pings == 0 && (self.ping_to.is_some() || self.ping_rate.is_some()) {
            return Err(CliError::usage(
                "--ping-to and --ping-rate: need the load ping",
            ));
        }
        if with_target == 0 && self.ping_to.is_some() {
            return Err(CliError::usage(
                "--ping-to: nobody else is in the namespaces that these pings go between",
            ));
        }
        let console = loads.iter().find(|load| load.reaches_consoles());
        match (console, self.allow_console) {
            (Some(load), false) => Err(CliError::usage(format!(
                "{load}: writes to the kernel log and the consoles; add --allow-console"
            ))),
            (None, true) => Err(CliError::usage("--allow-console: needs the load printk")),
            _ => Ok(loads),
        }
    }
}

/// Returns what `load` says of each load after its options.
fn after_help() -> String {
    format!(
        "Loads, by default one thread a CPU:\n{}\n{MORE}",
        loads::help()
    )
}

const MORE: &str = "\
Presets, which also take the settings below:
  bridgers         ping:4,memory
  kernel           fork,tmpfs@intensity=50%,sched@intensity=10%
  raju:N           cpu:N
  vasyukov         linpack

Settings of any load, such as memory:64M@cpus=0,2-3@nice=5:
  @cpus=LIST       CPUs that it may run on
  @policy=POLICY   o[:NICE], b, i, f:PRIO or r:PRIO [default: o]
  @nice=N          short for @policy=o:N
  @intensity=N%    share of the time in which it works [default: 100%]";

/// Options of `load`
#[derive(Args, Debug)]
#[command(after_help = after_help())]
pub struct LoadArgs {
    /// Loads to run (also comma-separated)
    #[arg(required = true, value_name = "LOAD")]
    pub loads: Vec<LoadList>,

    /// What the loads may touch
    #[command(flatten)]
    pub reach: LoadReach,

    /// Print what the loads did as JSON at the end, and no rates
    #[arg(long)]
    pub json: bool,

    /// Print no rates, only the result
    #[arg(long, short = 'q')]
    pub quiet: bool,

    /// Stop after this time [default: at Ctrl-C]
    #[arg(long, short = 'D', value_name = "TIME", allow_hyphen_values = true)]
    pub duration: Option<Nanos>,

    /// Number of CPUs to size the loads for [default: all allowed]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub cpus: Option<u32>,

    /// Report to the measuring process with this PID, and end with it
    #[arg(long, value_name = "PID", hide = true)]
    pub report_to: Option<u32>,
}
