// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual measure ipc`.

use std::collections::BTreeMap;
use std::path::Path;

use punctual_measure::ipc::{self, Ipc, Placement, Way};
use punctual_model::{CpuId, CpuSet, Nanos};
use punctual_sys::SysRoot;

use super::instrument::{self, Asked, Kind, Measured};
use super::plan::{Cpus, usable};
use crate::cli::{IpcArgs, WayArg};
use crate::error::CliError;
use crate::exit::Exit;

/// Measures wake-ups between threads as `args` say.
pub(crate) fn run(home: Option<&Path>, args: &IpcArgs) -> Result<Exit, CliError> {
    let ipc = plan(args, &super::cpus(&SysRoot::live())?)?;
    let names = |names: Vec<&str>| names.join(",");
    let mut common = args.common.clone();
    let mut cpus: CpuSet = std::iter::once(ipc.receiver).collect();
    if ipc.placements.contains(&Placement::Cross) {
        cpus = cpus.iter().chain([ipc.sender]).collect();
    }
    common.cpus = Some(cpus);
    let mut asked = Asked {
        instrument: "ipc",
        kind: Kind::Latency,
        measured: Measured::All,
        priority: args.priority,
        duration: Some(args.duration),
        options: BTreeMap::new(),
    }
    .option("interval", args.interval)
    .option("path", names(ipc.ways.iter().map(|w| w.name()).collect()))
    .option(
        "placement",
        names(ipc.placements.iter().map(|p| p.name()).collect()),
    )
    .option("receiver", ipc.receiver);
    if ipc.placements.contains(&Placement::Cross) {
        asked = asked.option("sender", ipc.sender);
    }
    instrument::run(home, &common, asked, |frame| ipc::run(&ipc, frame))
}

/// Returns what the options mean on a machine with `cpus`.
fn plan(args: &IpcArgs, cpus: &Cpus) -> Result<Ipc, CliError> {
    if args.interval < Nanos::from_micros(10) {
        return Err(CliError::usage(format!(
            "--interval {}: must be at least 10us",
            args.interval
        )));
    }
    if args.duration < args.interval {
        return Err(CliError::usage(format!(
            "--duration {}: shorter than --interval {}, so there would be no sample",
            args.duration, args.interval
        )));
    }
    if Ipc::sender_policy(args.priority).is_none() {
        return Err(CliError::usage(format!(
            "--priority {}: must be above the lowest: the sender runs one priority below",
            args.priority
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
        interval: args.interval,
    };
    let shortest = ipc.shortest();
    if args.duration < shortest {
        let pairs = ipc.ways.len() * ipc.placements.len();
        return Err(CliError::usage(format!(
            "--duration {}: too short for the turns of {pairs} pairs at --interval {}, which take {shortest}",
            args.duration, args.interval
        ))
        .hint("measure longer, wake more often, or take fewer pairs with --path and --placement"));
    }
    Ok(ipc)
}

/// Returns the first CPU of `cpus` that is not `other`.
fn first(cpus: &CpuSet, other: Option<CpuId>) -> Option<CpuId> {
    cpus.iter().find(|cpu| Some(*cpu) != other)
}
