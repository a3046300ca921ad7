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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use punctual_measure::frame::Found;
    use punctual_model::{CpuCapacity, Nanos, Policy, Setup};
    use punctual_report::document::{Document, Material};
    use punctual_report::html;
    use punctual_report::text::{Detail, page};

    use super::*;

    /// The record of a run on these CPUs of a board with four slow and two fast ones.
    fn on(cpus: &str) -> RunRecord {
        let setup = Setup {
            cpus: cpus.parse().unwrap(),
            priority: Policy::Other { nice: 0 },
            duration_ns: None,
            dma_latency_ns: None,
            mlock: false,
            housekeeping: "0".parse().unwrap(),
            loads: Vec::new(),
            options: BTreeMap::new(),
        };
        let job = Job {
            instrument: "noise",
            setup: setup.clone(),
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
        };
        let of = |capacity, cpus: &str| CpuCapacity {
            capacity,
            cpus: cpus.parse().unwrap(),
        };
        let host = HostFacts {
            cpu_capacities: vec![of(485, "0-3"), of(1024, "4-5")],
            ..HostFacts::default()
        };
        let outcome = RunOutcome {
            setup,
            found: Found::default(),
            duration: Nanos::from_secs(1),
            loads: Vec::new(),
        };
        to_record(Uuid::nil(), &job, host, SystemTime::UNIX_EPOCH, outcome)
    }

    #[test]
    fn figures_of_cpus_of_different_capacity_are_called_mixed_on_the_terminal_and_on_a_page() {
        let shown = |cpus: &str| {
            let material = Material {
                runs: vec![on(cpus).into()],
                ..Material::default()
            };
            let document = Document::new(&material);
            let text = page(&document, 100, Detail::Summary);
            let words: Vec<&str> = text.split_whitespace().collect();
            (words.join(" "), html::page(&document))
        };
        let said = "unequal-cpus: the measured CPUs differ in capacity: 485 (CPU 3), 1024 (CPU 4). \
                    Figures of all threads together mix fast and slow CPUs";
        let (text, page) = shown("3-4");
        assert!(text.contains(said), "{text}");
        assert!(page.contains(said), "{page}");
        let (text, page) = shown("4-5");
        assert!(
            !text.contains("unequal-cpus") && !page.contains("unequal-cpus"),
            "{text}"
        );
    }
}
