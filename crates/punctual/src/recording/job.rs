// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What a run is to be.

use std::collections::BTreeMap;
use std::sync::Arc;

use punctual_measure::frame::Control;
use punctual_measure::loads::LoadSpec;
use punctual_measure::wakeup;
use punctual_model::{Nanos, RunSpec, Setup};
use punctual_stats::requirement::Requirement;

use crate::metrics::Metrics;
use crate::signals::StopRequest;

/// What to measure and record.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    /// Name of the instrument in the record.
    pub(crate) instrument: &'static str,
    pub(crate) setup: Setup,
    /// What stands in the record in place of the set-up, for wake-ups.
    pub(crate) spec: Option<RunSpec>,
    pub(crate) name: Option<String>,
    pub(crate) note: Option<String>,
    pub(crate) tags: BTreeMap<String, String>,
    pub(crate) requirements: Vec<Requirement>,
    pub(crate) loads: Vec<LoadSpec>,
    /// Who else learns how it goes.
    pub(crate) metrics: Option<Arc<Metrics>>,
    /// Whether the user asked for the lock explicitly.
    pub(crate) insist_on_mlock: bool,
    /// Whether the user asked for the bound explicitly.
    pub(crate) insist_on_dma_latency: bool,
    /// Whether quantiles are estimated by P-square too.
    pub(crate) psquare: bool,
    /// Whether the measuring threads are watched, to say why a sample was late.
    pub(crate) explain: bool,
    /// How long ordinary work is done afterwards.
    pub(crate) work: Option<Nanos>,
}

impl Job {
    /// Measures as `setup` says.
    pub(crate) const fn of(instrument: &'static str, setup: Setup) -> Self {
        Self {
            instrument,
            setup,
            spec: None,
            name: None,
            note: None,
            tags: BTreeMap::new(),
            requirements: Vec::new(),
            loads: Vec::new(),
            metrics: None,
            insist_on_mlock: false,
            insist_on_dma_latency: false,
            psquare: false,
            explain: false,
            work: None,
        }
    }

    /// Measures wake-ups as `spec` says.
    pub(crate) fn wakeup(spec: RunSpec) -> Self {
        let setup = wakeup::setup(&spec);
        Self {
            spec: Some(spec),
            ..Self::of("wakeup", setup)
        }
    }

    /// Returns how it is done beyond its set-up.
    pub(crate) fn control(&self, id: String, stop: &StopRequest, progress_every: Nanos) -> Control {
        Control {
            id,
            stop: stop.flag(),
            insist_on_mlock: self.insist_on_mlock,
            insist_on_dma_latency: self.insist_on_dma_latency,
            progress_every,
            psquare: self.psquare,
        }
    }
}
