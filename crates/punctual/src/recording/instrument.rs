// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Measuring with any instrument but `wakeup`, and making a record of it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use punctual_measure::MeasureError;
use punctual_measure::frame::{self, Control, Found, Frame, Outcome};
use punctual_measure::loads::LoadSpec;
use punctual_model::{Check, HostFacts, INSTRUMENT_RUN_FORMAT, RunRecord, Setup};
use punctual_stats::requirement::Requirement;
use punctual_stats::{TaggedHistogram, write_hlog};
use punctual_store::{Raw, Store};
use punctual_sys::SysRoot;
use uuid::Uuid;

use super::{Gap, Listener, Recorded, judged, keep, merged, run_id, start_load};
use crate::error::CliError;
use crate::metrics::Metrics;
use crate::signals::StopRequest;
use crate::view::View;

/// What to measure and record.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    /// Name of the instrument in the record.
    pub(crate) instrument: &'static str,
    pub(crate) setup: Setup,
    pub(crate) name: Option<String>,
    pub(crate) note: Option<String>,
    pub(crate) tags: BTreeMap<String, String>,
    pub(crate) requirements: Vec<Requirement>,
    pub(crate) loads: Vec<LoadSpec>,
    /// Who else learns how it goes.
    pub(crate) metrics: Option<Arc<Metrics>>,
    /// Whether the user asked for the lock in so many words.
    pub(crate) insist_on_mlock: bool,
    /// Whether the user asked for the bound in so many words.
    pub(crate) insist_on_dma_latency: bool,
    /// Whether quantiles are estimated by P-square too.
    pub(crate) psquare: bool,
}

/// Measures with `instrument`, and stores what was measured.
pub(crate) fn record(
    sys: &SysRoot,
    store: &Store,
    job: &Job,
    stop: &StopRequest,
    view: &mut View,
    instrument: impl FnOnce(&mut Frame<'_>) -> Result<Found, MeasureError>,
) -> Result<Recorded, CliError> {
    let id = run_id()?;
    let mut listener = Listener {
        progress_every: view.every(),
        writer: store.begin(id, Raw::Drop)?,
        view,
        gap: Gap::default(),
        keep_samples: false,
        beside: None,
        metrics: job.metrics.clone(),
    };
    let mut load = start_load(&job.loads)?;
    let control = Control {
        id: id.to_string(),
        stop: stop.flag(),
        insist_on_mlock: job.insist_on_mlock,
        insist_on_dma_latency: job.insist_on_dma_latency,
        psquare: job.psquare,
        progress_every: listener.progress_every,
    };
    let started = SystemTime::now();
    let outcome = frame::run(
        sys,
        &job.setup,
        &control,
        load.as_mut(),
        &mut listener,
        instrument,
    );
    drop(load);
    listener.view.pause();
    let outcome = outcome?;
    let host = crate::tuning::host_facts(sys);
    let log = histogram_log(&outcome, started);
    let all = merged(
        outcome
            .found
            .histograms
            .iter()
            .map(|(_, histogram)| histogram),
    );
    let mut record = to_record(id, job, host, started, outcome);
    record.requirements = judged(&job.requirements, &record, all.as_ref());
    let stored = keep(listener.writer, &log, &record);
    Ok(Recorded { record, stored })
}

fn to_record(
    id: Uuid,
    job: &Job,
    host: HostFacts,
    started: SystemTime,
    outcome: Outcome,
) -> RunRecord {
    let found = outcome.found;
    RunRecord {
        format: INSTRUMENT_RUN_FORMAT.to_owned(),
        id: id.to_string(),
        valid: found.checks.iter().all(Check::passed),
        checks: found.checks,
        instrument: job.instrument.to_owned(),
        origin: None,
        guest: None,
        name: job.name.clone(),
        note: job.note.clone(),
        program: concat!("punctual ", env!("CARGO_PKG_VERSION")).to_owned(),
        spec: None,
        setup: Some(outcome.setup),
        host,
        started: Timestamp::try_from(started).ok().map(|t| t.to_string()),
        duration_ns: Some(outcome.duration),
        ended: Some(found.ended),
        series: found.series,
        total: found.total,
        figures: found.figures,
        findings: found.findings,
        tags: job.tags.clone(),
        requirements: Vec::new(),
        loads: outcome.loads,
        threshold: None,
        precision: Vec::new(),
    }
}

fn histogram_log(outcome: &Outcome, started: SystemTime) -> Vec<u8> {
    let histograms = outcome.found.histograms.iter();
    let entries: Vec<TaggedHistogram> = histograms
        .map(|(tag, histogram)| TaggedHistogram {
            tag: Some(tag.clone()),
            start: Duration::ZERO,
            duration: outcome.duration.into(),
            histogram: histogram.clone(),
        })
        .collect();
    let mut log = Vec::new();
    // As for wake-ups: memory takes everything, and a missing histogram is told by the reader.
    drop(write_hlog(&mut log, started, &entries));
    log
}
