// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A frame for the tests of instruments: ordinary threads on all CPUs, nobody listens.

use std::collections::BTreeMap;
use std::sync::Arc;

use punctual_model::{Event, Nanos, Policy, Sample, Setup};
use punctual_sys::{SysRoot, sched};

use super::{Control, Found, Frame, RunOutcome};
use crate::error::MeasureError;
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
    let control = Control {
        id: "test".to_owned(),
        stop: Arc::default(),
        insist_on_mlock: false,
        insist_on_dma_latency: false,
        progress_every: Nanos::from_millis(50),
        psquare: false,
    };
    let sys = SysRoot::live();
    super::run(&sys, &setup(), &control, None, &mut Deaf, instrument)
}
