// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual measure ipc`: its options, and what they mean.

use std::path::Path;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use punctual_measure::ipc::{self, Ipc, Placement, Way};
use punctual_model::{CpuId, CpuSet, Nanos, UnknownChoice};
use punctual_sys::SysRoot;

use super::request::{self, Request};
use crate::cli::{CommonArgs, IntervalArgs, SampleArgs, one_of, own};
use crate::cpus::{Cpus, cpus, usable};
use crate::error::CliError;
use crate::exit::Exit;

/// Options of `measure ipc`
#[derive(Args, Debug)]
#[command(mut_args(own("ipc", &[
    ("interval", "1ms", Some("Time between the wake-ups of a pair")),
    ("priority", "f:80", Some("Policy of the receivers; FIFO and round-robin senders run one priority below")),
    ("duration", "30s", Some("Measure for this time, with all pairs taking turns")),
])))]
pub struct IpcArgs {
    /// Wake-up mechanisms, comma-separated
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

    /// How often
    #[command(flatten)]
    pub pace: IntervalArgs,

    /// How long, and what is kept of samples
    #[command(flatten)]
    pub sampling: SampleArgs,

    /// What all instruments share
    #[command(flatten)]
    pub common: CommonArgs,
}

/// A value of `--path`
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum WayArg {
    /// All that are available
    All,
    /// This one, which must be there
    One(Way),
}

/// Measures wake-ups between threads as `args` say.
pub(crate) fn run(home: Option<&Path>, args: &IpcArgs) -> Result<Exit, CliError> {
    let ipc = plan(args, &cpus(&SysRoot::live())?)?;
    let names = |names: Vec<&str>| names.join(",");
    let mut common = args.common.clone();
    let mut cpus: CpuSet = std::iter::once(ipc.receiver).collect();
    if ipc.placements.contains(&Placement::Cross) {
        cpus = cpus.iter().chain([ipc.sender]).collect();
    }
    common.cpus = Some(cpus);
    let mut asked = Request::of("ipc")
        .samples(&args.sampling)
        .option("interval", args.pace.interval)
        .option("path", names(ipc.ways.iter().map(|w| w.name()).collect()))
        .option(
            "placement",
            names(ipc.placements.iter().map(|p| p.name()).collect()),
        )
        .option("receiver", ipc.receiver);
    if ipc.placements.contains(&Placement::Cross) {
        asked = asked.option("sender", ipc.sender);
    }
    request::run(home, &common, asked, |frame| ipc::run(&ipc, frame))
}

/// Returns what the options mean on a machine with `cpus`.
fn plan(args: &IpcArgs, cpus: &Cpus) -> Result<Ipc, CliError> {
    args.pace.at_least(Nanos::from_micros(10))?;
    args.pace.fits(args.sampling.duration)?;
    if Ipc::sender_policy(args.common.priority).is_none() {
        return Err(CliError::usage(format!(
            "--priority {}: must be above the lowest: the sender runs one priority below",
            args.common.priority
        )));
    }
    let all = args.path.contains(&WayArg::All);
    let asked = |way: &Way| all || args.path.contains(&WayArg::One(*way));
    let measured = match &args.common.cpus {
        Some(list) => usable("--cpus", list, cpus)?,
        None => cpus.allowed.clone(),
    };
    let one = |option: &str, cpu: CpuId| {
        usable(option, &std::iter::once(cpu).collect(), cpus).map(|_| cpu)
    };
    let receiver = match args.receiver {
        Some(cpu) => one("--receiver", cpu)?,
        None => first(&measured, args.sender)
            .or_else(|| first(&measured, None))
            .unwrap_or(0),
    };
    let sender = match args.sender {
        Some(cpu) => Some(one("--sender", cpu)?),
        None => first(&measured, Some(receiver)),
    };
    let cross = sender.filter(|cpu| *cpu != receiver);
    let placements = match (args.placement.as_slice(), cross) {
        ([], Some(_)) => Placement::ALL.to_vec(),
        ([], None) => vec![Placement::Same],
        (some, None) if some.contains(&Placement::Cross) => {
            return Err(CliError::usage(format!(
                "--placement cross: sender and receiver would both be on CPU {receiver}"
            ))
            .hint("name two CPUs with --cpus, or with --sender and --receiver"));
        }
        (some, _) => Placement::ALL
            .iter()
            .filter(|placement| some.contains(placement))
            .copied()
            .collect(),
    };
    let ipc = Ipc {
        ways: Way::ALL.iter().filter(|way| asked(way)).copied().collect(),
        insist: !all,
        placements,
        sender: cross.unwrap_or(receiver),
        receiver,
        interval: args.pace.interval,
    };
    let shortest = ipc.shortest();
    if args.sampling.duration < shortest {
        let pairs = ipc.ways.len() * ipc.placements.len();
        return Err(CliError::usage(format!(
            "--duration {}: too short for the turns of {pairs} pairs at --interval {}, which take {shortest}",
            args.sampling.duration, args.pace.interval
        ))
        .hint("measure longer, wake more often, or choose fewer pairs with --path and --placement"));
    }
    Ok(ipc)
}

/// Returns the first CPU of `cpus` that is not `other`.
fn first(cpus: &CpuSet, other: Option<CpuId>) -> Option<CpuId> {
    cpus.iter().find(|cpu| Some(*cpu) != other)
}

fn ways() -> impl TypedValueParser<Value = WayArg> {
    let names = Way::ALL.iter().map(|way| way.name()).chain(["all"]);
    PossibleValuesParser::new(names).try_map(|name| {
        Ok::<_, UnknownChoice>(match name.as_str() {
            "all" => WayArg::All,
            name => WayArg::One(name.parse()?),
        })
    })
}
