// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What every `measure` subcommand but `wakeup` does around its instrument.

use std::collections::BTreeMap;
use std::path::Path;

use punctual_measure::MeasureError;
use punctual_measure::frame::{Found, Frame};
use punctual_model::{CpuSet, Nanos, Policy, Setup};
use punctual_store::Store;
use punctual_sys::SysRoot;

use super::plan::{Cpus, usable};
use crate::cli::{CommonArgs, DmaLatency, Switch};
use crate::error::CliError;
use crate::exit::Exit;
use crate::home;
use crate::recording::{Job, record};
use crate::signals::StopRequest;
use crate::view::View;

/// What an instrument measures, which decides what holds when nothing is said.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Kind {
    /// Idle states are bounded and memory is locked.
    Latency,
    /// Neither: they are no part of the question, and locking gigabytes takes a privilege.
    Throughput,
}

/// CPUs that are measured when nothing is said.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Measured {
    /// Every CPU that this process may use.
    All,
    /// So many of them, from the first.
    First(u32),
    /// All but the first, which is left to everything else; that one, where there is no other.
    AllButFirst,
}

impl Measured {
    fn of(self, allowed: &CpuSet) -> CpuSet {
        match self {
            Self::All => allowed.clone(),
            Self::First(n) => allowed.iter().take(n as usize).collect(),
            Self::AllButFirst if allowed.len() > 1 => allowed.iter().skip(1).collect(),
            Self::AllButFirst => allowed.clone(),
        }
    }
}

/// What one instrument adds to [`CommonArgs`].
#[derive(Debug)]
pub(crate) struct Asked {
    /// Name of the subcommand and of the instrument in the record.
    pub(crate) instrument: &'static str,
    /// What it measures.
    pub(crate) kind: Kind,
    /// CPUs that it measures when nothing is said.
    pub(crate) measured: Measured,
    /// Policy of the measuring threads.
    pub(crate) priority: Policy,
    /// Longest time to measure.
    pub(crate) duration: Option<Nanos>,
    /// The instrument's own options, in the words of the command line.
    pub(crate) options: BTreeMap<String, String>,
}

impl Asked {
    /// Adds an option as it was given or defaulted.
    pub(crate) fn option(mut self, name: &str, value: impl ToString) -> Self {
        self.options.insert(name.to_owned(), value.to_string());
        self
    }
}

/// Measures, records, and prints, with `instrument` in the middle.
pub(crate) fn run(
    home: Option<&Path>,
    common: &CommonArgs,
    asked: Asked,
    instrument: impl FnOnce(&mut Frame<'_>) -> Result<Found, MeasureError>,
) -> Result<Exit, CliError> {
    let sys = SysRoot::live();
    let name = asked.instrument;
    let setup = setup(common, asked, &super::cpus(&sys)?)?;
    let store = Store::open(home::find(home)?)?;
    let stop = StopRequest::on_signals()?;
    let job = super::asked(common, Job::of(name, setup))?;
    let mut view = View::pick(common.quiet, &stop);
    view.title(name);
    let recorded = record(&sys, &store, &job, &stop, &mut view, instrument)?;
    super::finish(&recorded, common.json, common.quiet)
}

/// Returns what the options mean on a machine with `cpus`.
fn setup(common: &CommonArgs, asked: Asked, cpus: &Cpus) -> Result<Setup, CliError> {
    if asked.duration.is_some_and(Nanos::is_zero) {
        return Err(CliError::usage("--duration 0s: must be at least 1ns"));
    }
    let measured = match &common.cpus {
        Some(list) => usable("--cpus", list, cpus)?,
        None => asked.measured.of(&cpus.allowed),
    };
    let housekeeping = match &common.housekeeping {
        Some(list) => usable("--housekeeping", list, cpus)?,
        None => cpus.free_of(&measured),
    };
    let latency = asked.kind == Kind::Latency;
    Ok(Setup {
        cpus: measured,
        priority: asked.priority,
        duration_ns: asked.duration,
        dma_latency_ns: match common.dma_latency {
            Some(DmaLatency::Hold(bound)) => Some(bound),
            Some(DmaLatency::Off) => None,
            None => latency.then_some(Nanos::ZERO),
        },
        mlock: common.mlock.map_or(latency, |switch| switch == Switch::On),
        housekeeping,
        loads: common.loads.words()?,
        options: asked.options,
    })
}
