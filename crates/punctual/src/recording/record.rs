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
use punctual_store::of_required;
use punctual_verdict::requirement::{Required, require};
use uuid::Uuid;

use super::Job;

/// What the samples of a run allow to be said of each requirement.
pub(super) fn judged(
    requirements: &[Requirement],
    record: &RunRecord,
    histograms: &[(String, LatencyHistogram)],
) -> Vec<RequirementResult> {
    let parts = histograms.iter().map(|(tag, part)| {
        let kind = tag.split_once('/').map(|(_, kind)| kind);
        (kind, part)
    });
    let required = of_required(record, parts).map(Required::from);
    let rule = |asked| require(asked, once((record, required.as_ref())));
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
    use punctual_model::{CpuCapacity, Nanos, Policy, RequirementRuling, Series, Setup};
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

    #[test]
    fn a_requirement_is_judged_by_the_kind_of_samples_that_the_total_is_of() {
        let of = |count: u64, ns: u64| {
            let mut histogram = LatencyHistogram::default();
            (0..count).for_each(|_| histogram.record(ns));
            histogram
        };
        let kinds = |wake_up: &str| {
            [
                (format!("0/{wake_up}"), of(1_000, 20_000)),
                ("0/late".to_owned(), of(3, 900_000)),
            ]
        };
        let requirement = "no sample > 100us in 10".parse().unwrap();
        let mut record = on("3");
        (record.total.count, record.duration_ns) = (1_000, Some(Nanos::from_secs(60)));
        let results = |record: &RunRecord, kinds: &[(String, LatencyHistogram)]| {
            let result = judged(std::slice::from_ref(&requirement), record, kinds).remove(0);
            (result.samples, result.above, result.obstacle)
        };
        // That which the total names, as `irq`; else that of the first series, as `deadline`.
        record.total.context = Some("wake-up".to_owned());
        assert_eq!(results(&record, &kinds("wake-up")), (1_000, 0, None));
        record.total.context = None;
        record.series = vec![Series {
            context: Some("response".to_owned()),
            ..Series::default()
        }];
        assert_eq!(results(&record, &kinds("response")), (1_000, 0, None));
        let (samples, _, obstacle) = results(&record, &kinds("other"));
        assert_eq!(samples, 0);
        assert!(obstacle.is_some());
    }

    #[test]
    fn a_requirement_is_judged_by_the_wake_ups_without_tracing_too() {
        let of = |late: u64| {
            let mut histogram = LatencyHistogram::default();
            (0..1_000).for_each(|_| histogram.record(20_000));
            (0..late).for_each(|_| histogram.record(39_000_000));
            histogram
        };
        let wake_ups = |context: &str, thread, late| Series {
            context: Some(context.to_owned()),
            thread,
            count: 1_000 + late,
            max_ns: Some(if late > 0 { 39_000_000 } else { 20_000 }),
            interval_ns: Some(Nanos::from_millis(1)),
            ..Series::default()
        };
        let requirement = "no sample > 20ms".parse().unwrap();
        let ruled = |late, threads: u32| {
            let mut record = on("3");
            record.duration_ns = Some(Nanos::from_secs(2));
            record.total = wake_ups("wake-up", None, 0);
            record.total.count *= u64::from(threads);
            let mut parts = Vec::new();
            let mut all = LatencyHistogram::default();
            for thread in 0..threads {
                let late = if thread == 0 { late } else { 0 };
                record.series.extend([
                    wake_ups("wake-up", Some(thread), 0),
                    wake_ups("untraced", Some(thread), late),
                ]);
                parts.push((format!("{thread}/wake-up"), of(0)));
                parts.push((format!("{thread}/untraced"), of(late)));
                all.merge(&of(late));
            }
            if threads > 1 {
                record.series.push(wake_ups("untraced", None, late));
                parts.push(("all/untraced".to_owned(), all));
            }
            let result = judged(std::slice::from_ref(&requirement), &record, &parts).remove(0);
            (result.ruling, result.samples, result.above)
        };
        assert_eq!(ruled(3, 1), (RequirementRuling::Fail, 2_003, 3));
        assert_eq!(ruled(3, 2), (RequirementRuling::Fail, 4_003, 3));
        assert_eq!(ruled(0, 2), (RequirementRuling::Unclaimed, 4_000, 0));
    }
}
