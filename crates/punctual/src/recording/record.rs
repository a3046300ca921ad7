// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The record of a run, and its histograms.

use std::iter::once;
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use punctual_measure::frame::RunOutcome;
use punctual_measure::wakeup;
use punctual_model::{
    Check, Finding, HostFacts, INSTRUMENT_RUN_FORMAT, RUN_FORMAT, RequirementResult, RunRecord,
};
use punctual_stats::requirement::Requirement;
use punctual_stats::{LatencyHistogram, TaggedHistogram, write_hlog};
use punctual_verdict::requirement::require;
use uuid::Uuid;

use super::Job;

/// All samples in one histogram.
pub(super) fn merged<'a>(
    histograms: impl IntoIterator<Item = &'a LatencyHistogram>,
) -> Option<LatencyHistogram> {
    let mut histograms = histograms.into_iter();
    let mut all = histograms.next()?.clone();
    histograms.for_each(|histogram| all.merge(histogram));
    Some(all)
}

/// What the samples of a run allow to be said of each requirement.
pub(super) fn judged(
    requirements: &[Requirement],
    record: &RunRecord,
    histogram: Option<&LatencyHistogram>,
) -> Vec<RequirementResult> {
    // Histograms of several kinds of samples are not those of the total.
    let histogram = histogram.filter(|all| all.count() == record.total.count);
    let rule = |asked| require(asked, once((record, histogram)));
    requirements.iter().map(rule).collect()
}

pub(super) fn to_record(
    id: Uuid,
    job: &Job,
    host: HostFacts,
    started: SystemTime,
    outcome: RunOutcome,
) -> RunRecord {
    let mut found = outcome.found;
    let unequal = host.unequal(&outcome.setup.cpus);
    found
        .findings
        .extend(unequal.map(|kinds| Finding::unequal_cpus(&kinds)));
    let spec = job.spec.as_ref();
    let spec = spec.map(|spec| wakeup::carried_out(spec, &outcome.setup));
    let format = match &spec {
        Some(_) => RUN_FORMAT,
        None => INSTRUMENT_RUN_FORMAT,
    };
    RunRecord {
        format: format.to_owned(),
        id: id.to_string(),
        valid: found.checks.iter().all(Check::passed),
        checks: found.checks,
        instrument: job.instrument.to_owned(),
        origin: None,
        guest: None,
        name: job.name.clone(),
        note: job.note.clone(),
        program: concat!("punctual ", env!("CARGO_PKG_VERSION")).to_owned(),
        setup: spec.is_none().then_some(outcome.setup),
        spec,
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
        watched: found.watched,
        tasks: found.tasks,
        loads: outcome.loads,
        threshold: found.threshold,
        precision: found.precision,
    }
}

pub(super) fn histogram_log(outcome: &RunOutcome, started: SystemTime) -> Vec<u8> {
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
    // Memory takes everything, and these tags are sound: an error would be a defect of ours, and
    // the reader of the run would say that the histograms are missing.
    drop(write_hlog(&mut log, started, &entries));
    log
}
