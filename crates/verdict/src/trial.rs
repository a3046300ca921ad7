// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! From the runs of a trial to what each knob buys.

use std::collections::BTreeMap;

use punctual_model::{
    ComparedFigure, ComparisonVerdict, CpuSet, Nanos, TRIAL_FORMAT, Treatment, TrialEffect,
    TrialFigure, TrialQuantity, TrialReport, TrialVerdict,
};
use punctual_stats::runs::Options;

use crate::comparison::{CompareError, ComparisonRequest, GroupInput, Metric, compare};

/// What runs of a trial are compared by.
pub const FIGURES: [&str; 3] = ["p50", "p99", "work"];

const QUANTITIES: [TrialQuantity; 3] = [
    TrialQuantity::P50Ns,
    TrialQuantity::P99Ns,
    TrialQuantity::WorkBytesPerSecond,
];

/// Something that was tried.
#[derive(Clone, Debug)]
pub struct Tried {
    /// The knob, or that it is all of them.
    pub name: String,
    /// Settings that it changes.
    pub settings: u64,
}

/// Returns what runs of a trial are compared by.
pub fn metrics() -> Vec<Metric> {
    let work = Metric::Figure {
        name: FIGURES[2].to_owned(),
        labels: Some(BTreeMap::new()),
    };
    vec![Metric::Quantile(0.5), Metric::Quantile(0.99), work]
}

/// Compares every treatment with none, inside the blocks; corrected for all comparisons together. The first group is
/// without any, the others are those of `tried`.
///
/// What is no matter of the runs (machine, profile, blocks) is left empty.
///
/// # Errors
///
/// As [`compare`]. Where no run has a figure, nothing is said of it.
pub fn trial(
    tried: &[Tried],
    groups: Vec<GroupInput>,
    effect: f64,
) -> Result<TrialReport, CompareError> {
    let options = Options {
        effect,
        ..Options::default()
    };
    let (confidence, effect) = (options.confidence, options.effect);
    let refused = groups.iter().map(|group| group.refused.len() as u64);
    let invalid_runs = refused.sum();
    let facts: Vec<(u64, u64)> = groups.iter().map(facts).collect();
    let mut known = metrics();
    known.retain(|metric| {
        let mut runs = groups.iter().flat_map(|group| &group.runs);
        runs.any(|run| run.value(metric).is_some())
    });
    let results = match known.is_empty() {
        true => Vec::new(),
        false => {
            let asked = ComparisonRequest {
                metrics: known,
                options,
                ..ComparisonRequest::default()
            };
            compare(groups, &asked)?.results
        }
    };
    let of = |at: usize, quantity: usize| {
        // A figure has a result for each group but the first.
        let of = |result: &&ComparedFigure| Some(&*result.figure) == FIGURES.get(quantity).copied();
        results.iter().filter(of).nth(at)
    };
    let each = || QUANTITIES.into_iter().enumerate();
    let treatments = tried.iter().enumerate().map(|(at, tried)| {
        let (runs, failed) = facts.get(at + 1).copied().unwrap_or_default();
        Treatment {
            name: tried.name.clone(),
            settings: tried.settings,
            failed,
            runs,
            effects: each()
                .map(|(n, quantity)| change(quantity, of(at, n)))
                .collect(),
        }
    });
    Ok(TrialReport {
        format: TRIAL_FORMAT.to_owned(),
        profile: String::new(),
        hostname: None,
        kernel_release: None,
        cpus: CpuSet::default(),
        blocks: 0,
        cell_ns: Nanos::ZERO,
        seed: 0,
        confidence,
        effect,
        invalid_runs,
        baseline: each()
            .map(|(n, quantity)| without(quantity, of(0, n)))
            .collect(),
        treatments: treatments.collect(),
        left_out: Vec::new(),
        complete: true,
    })
}

/// How many runs a group has, and how many wanted settings were unavailable in them.
fn facts(group: &GroupInput) -> (u64, u64) {
    let tuning = group
        .runs
        .iter()
        .filter_map(|run| run.record.host.tuning.as_ref());
    let failed = tuning.map(|tuning| tuning.failed).max();
    (group.runs.len() as u64, failed.unwrap_or_default())
}

/// What a unit of a run's figure is in the report's.
const fn scale(quantity: TrialQuantity) -> f64 {
    match quantity {
        TrialQuantity::P50Ns | TrialQuantity::P99Ns => 1.0,
        TrialQuantity::WorkBytesPerSecond => 1e6,
    }
}

/// Describes a quantity without any treatment.
fn without(quantity: TrialQuantity, result: Option<&ComparedFigure>) -> TrialFigure {
    let side = result.map(|result| &result.baseline);
    let interval = side.and_then(|side| side.interval);
    let scaled = |value: f64| value * scale(quantity);
    TrialFigure {
        quantity,
        runs: side.map_or(0, |side| side.runs),
        estimate: side.and_then(|side| side.estimate).map(scaled),
        low: interval.map(|interval| scaled(interval.low)),
        high: interval.map(|interval| scaled(interval.high)),
    }
}

fn change(quantity: TrialQuantity, result: Option<&ComparedFigure>) -> TrialEffect {
    let ratio = result.and_then(|result| result.ratio);
    let interval = ratio.and_then(|ratio| ratio.interval);
    let estimate = result.and_then(|result| result.candidate.estimate);
    TrialEffect {
        quantity,
        pairs: result.and_then(|result| result.pairs),
        estimate: estimate.map(|value| value * scale(quantity)),
        ratio: ratio.map(|ratio| ratio.estimate),
        low: interval.map(|interval| interval.low),
        high: interval.map(|interval| interval.high),
        p: result.and_then(|result| result.p),
        adjusted_p: result.and_then(|result| result.adjusted_p),
        smallest_detectable: result.and_then(|result| result.smallest_detectable),
        verdict: match result.map(|result| result.verdict) {
            Some(ComparisonVerdict::Better) => TrialVerdict::Gain,
            Some(ComparisonVerdict::Worse | ComparisonVerdict::Different) => TrialVerdict::Loss,
            Some(
                ComparisonVerdict::Equivalent
                | ComparisonVerdict::NotWorse
                | ComparisonVerdict::NotDistinguishable,
            ) => TrialVerdict::NoMeasurableGain,
            Some(ComparisonVerdict::TooFewRuns) | None => TrialVerdict::TooFewBlocks {
                more: result.and_then(|result| result.more_runs),
            },
        },
    }
}
