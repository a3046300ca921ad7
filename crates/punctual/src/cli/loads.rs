// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Options about loads.

use std::net::Ipv4Addr;

use clap::Args;
use punctual_measure::loads::{LoadKind, LoadList, LoadSpec};
use punctual_model::Nanos;

use crate::error::CliError;

/// Options of loads beside a measurement
#[derive(Args, Clone, Debug, Default)]
pub struct LoadOptions {
    /// Loads beside the measurement, see `punctual load --help` (comma-separated, can be repeated)
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

/// What loads may touch beyond the CPUs and the memory
#[derive(Args, Clone, Debug, Default)]
pub struct LoadReach {
    /// Host that ping loads flood [default: 127.0.0.2, this one]; another machine needs --ping-rate
    #[arg(long, value_name = "ADDR", help_heading = "Loads")]
    pub ping_to: Option<Ipv4Addr>,

    /// Requests a second that each ping load sends [default: as many as are answered]
    #[arg(long, value_name = "N", help_heading = "Loads",
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub ping_rate: Option<u32>,

    /// Let the load printk write to the kernel's log and the consoles
    #[arg(long, help_heading = "Loads")]
    pub allow_console: bool,
}

impl LoadReach {
    /// Returns `loads` as these options have them.
    pub(crate) fn over(&self, mut loads: Vec<LoadSpec>) -> Result<Vec<LoadSpec>, CliError> {
        let mut pings = 0;
        for load in &mut loads {
            if let LoadKind::Ping(ping) = &mut load.kind {
                pings += 1;
                // What a load says of itself is more exact.
                ping.to = ping.to.or(self.ping_to);
                ping.rate = ping.rate.or(self.ping_rate);
            }
        }
        if pings == 0 && (self.ping_to.is_some() || self.ping_rate.is_some()) {
            return Err(CliError::usage(
                "--ping-to and --ping-rate: no load pings; add the load ping",
            ));
        }
        let console = loads.iter().find(|load| load.reaches_consoles());
        match (console, self.allow_console) {
            (Some(load), false) => Err(CliError::usage(format!(
                "{load}: it writes to the kernel's log and the consoles, which only \
                 --allow-console lets it do"
            ))),
            (None, true) => Err(CliError::usage(
                "--allow-console: no load writes to the consoles; add the load printk",
            )),
            _ => Ok(loads),
        }
    }
}

const LOADS: &str = "\
Loads, by default one thread a CPU:
  cpu[:N]          N threads that add; work in additions
  memory[:SIZE]    threads that read and write at random places of SIZE each [default: 32M]
  fork[:N]         N threads that start processes, which end at once, and wait for them
  io[:PATTERN]     fio on a file without a name: read, write, randread, randwrite, randrw [default:
                   randrw]; @engine=libaio or io_uring, @block=64K, @depth=16, @jobs=1,
                   @size=128M, @dir=., @buffered=no are the defaults; work in bytes
  linpack[:N]      N threads that solve systems of linear equations; @order=N is their number in
                   each system [default: 2000]; work in floating-point operations
  ping[:N]         N floods of ICMP echo requests, each both ways [default: 1];
                   @to=ADDR and @rate=N as --ping-to and --ping-rate
  printk[:RATE]    RATE lines a second for the kernel's log [default: 100], with --allow-console;
                   @level=N is their severity [default: 3]
  sched[:GROUPS]   groups of 20 senders and 20 receivers of messages [default: one a CPU]
  tmpfs[:SIZE]     threads that write files of SIZE in memory and truncate them [default: 4M]
  stress-ng:ARGS   stress-ng with these arguments, as a shell reads them; work is the CPU time of all
                   its processes; the rest of the list belongs to it
  cmd:COMMAND      any program, by the shell: work is what it says in lines `work TOTAL [UNIT]`, or
                   else the CPU time of all its processes; the rest of the list belongs to it

Presets, which take the settings below too:
  bridgers         ping:4,memory
  kernel           fork,tmpfs@intensity=50%,sched@intensity=10%
  raju:N           cpu:N
  vasyukov         linpack

Settings of any load, such as memory:64M@cpus=0,2-3@nice=5:
  @cpus=LIST       CPUs that it may run on
  @policy=POLICY   o[:NICE], b, i, f:PRIO or r:PRIO [default: o]
  @nice=N          the same as @policy=o:N
  @intensity=N%    share of the time that it works [default: 100%]";

/// Options of `load`
#[derive(Args, Debug)]
#[command(after_help = LOADS)]
pub struct LoadArgs {
    /// Loads to run (also comma-separated)
    #[arg(required = true, value_name = "LOAD")]
    pub loads: Vec<LoadList>,

    /// What the loads may touch
    #[command(flatten)]
    pub reach: LoadReach,

    /// Print what the loads did as JSON when they end, and no rates before
    #[arg(long)]
    pub json: bool,

    /// Print no rates, only the result
    #[arg(long, short = 'q')]
    pub quiet: bool,

    /// Stop after this time [default: at Ctrl-C]
    #[arg(long, short = 'D', value_name = "TIME", allow_hyphen_values = true)]
    pub duration: Option<Nanos>,

    /// Number of CPUs that the loads are sized for [default: all that are allowed]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub cpus: Option<u32>,

    /// Report for a measurement, and end with the process that has this number
    #[arg(long, value_name = "PID", hide = true)]
    pub report_to: Option<u32>,
}
