// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A frame for the tests of instruments: ordinary threads on all CPUs, nobody listens.

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use punctual_model::{Event, Nanos, Policy, Sample, Setup};
use punctual_sys::{SysRoot, sched};

use super::{Control, Found, Frame, RunOutcome};
use crate::error::MeasureError;
use crate::loads::LoadProcess;
use crate::sink::{Sink, SinkError};

struct Deaf;

impl Sink for Deaf {
    fn event(&mut self, _: &Event) -> Result<(), SinkError> {
        Ok(())
    }
    fn samples(&mut self, _: u32, _: &[Sample]) -> Result<(), SinkError> {
        Ok(())
    }
}

/// Returns the set-up of the tests.
pub(crate) fn setup() -> Setup {
    let cpus = sched::affinity().unwrap();
    Setup {
        cpus: cpus.clone(),
        priority: Policy::Other { nice: 0 },
        duration_ns: None,
        dma_latency_ns: None,
        mlock: false,
        housekeeping: cpus,
        loads: Vec::new(),
        options: BTreeMap::new(),
    }
}

/// Runs `instrument` with the set-up of the tests.
pub(crate) fn run(
    instrument: impl FnOnce(&mut Frame<'_>) -> Result<Found, MeasureError>,
) -> Result<RunOutcome, MeasureError> {
    run_on(&SysRoot::live(), &setup(), instrument)
}

/// The same with another set-up, on this machine or what looks like another one.
pub(crate) fn run_on(
    sys: &SysRoot,
    setup: &Setup,
    instrument: impl FnOnce(&mut Frame<'_>) -> Result<Found, MeasureError>,
) -> Result<RunOutcome, MeasureError> {
    run_under(sys, setup, None, instrument)
}

/// The same under a load that has done a million of its work before, and does little more. Returns what it did in the run.
pub(crate) fn load_work(
    instrument: impl FnOnce(&mut Frame<'_>) -> Result<Found, MeasureError>,
) -> f64 {
    const BEFORE: f64 = 1e6;
    let mut command = Command::new("sh");
    command.args([
        "-c",
        "echo ready; echo work 0 0 1; n=1000000; \
         while :; do echo work 0 $n $n; n=$((n+1)); sleep 0.05; done",
    ]);
    let mut load = LoadProcess::start(
        command,
        vec!["cpu".parse().unwrap()],
        &AtomicBool::new(false),
    )
    .unwrap();
    while load.progress()[0].work < BEFORE {
        std::thread::sleep(Duration::from_millis(10));
    }
    let outcome = run_under(&SysRoot::live(), &setup(), Some(&mut load), instrument).unwrap();
    outcome.loads[0].work
}

fn run_under(
    sys: &SysRoot,
    setup: &Setup,
    load: Option<&mut LoadProcess>,
    instrument: impl FnOnce(&mut Frame<'_>) -> Result<Found, MeasureError>,
) -> Result<RunOutcome, MeasureError> {
    let control = Control {
        id: "test".to_owned(),
        stop: Arc::default(),
        insist_on_mlock: false,
        insist_on_dma_latency: false,
        progress_every: Nanos::from_millis(50),
        psquare: false,
    };
    super::run(sys, setup, &control, load, &mut Deaf, instrument)
}
