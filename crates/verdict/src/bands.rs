// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Kernels compared in virtual time: bands from the smallest value of all seeds to the largest.
//!
//! A cell is worse than its baseline when its whole band lies above the other one: of two equal kernels with N seeds each
//! that happens by chance, in one or the other direction, with probability 2 / C(2N, N), all orders of the 2N values
//! being equally probable.

use punctual_model::{
    Band, BandComparison, BandVerdict, LatencyCell, LatencyRun, Ordered as _, RunRecord,
};
use punctual_stats::float;

/// Takes from the record of a run what is compared, if it has samples.
fn run_of(record: &RunRecord) -> Option<LatencyRun> {
    Some(LatencyRun {
        seed: record.guest.as_ref()?.seed,
        samples: record.total.count,
        mean_ns: record.total.mean_ns?,
        max_ns: record.total.max_ns?,
        work: record.loads.first().map(|load| load.work),
    })
}

/// Returns the probability that the bands of two equal kernels lie apart by chance: 2 / C(2N, N).
pub fn chance(seeds: u32) -> f64 {
    // C(2N, N) is the product of (N + k) / k for k from 1 to N.
    let n = f64::from(seeds);
    let orders: f64 = (1..=seeds).map(f64::from).map(|k| (n + k) / k).product();
    (2.0 / orders).min(1.0)
}

/// Puts the runs of `records`, and their bands, into a cell; a cell with faults has none.
pub fn with_runs<'a>(
    cell: LatencyCell,
    records: impl IntoIterator<Item = &'a RunRecord>,
) -> LatencyCell {
    let mut runs = Vec::new();
    let mut faults = cell.faults;
    for record in records {
        match run_of(record) {
            Some(run) => runs.push(run),
            None => faults.push(format!("run {}: no samples", record.id)),
        }
    }
    runs.order_by_key(|run| run.seed);
    let band = |figure: fn(&LatencyRun) -> f64| {
        let values = || runs.iter().map(figure);
        let (low, high) = (values().reduce(f64::min)?, values().reduce(f64::max)?);
        faults.is_empty().then_some(Band { low, high })
    };
    LatencyCell {
        mean_ns: band(|run| run.mean_ns),
        max_ns: band(|run| float(run.max_ns)),
        faults,
        runs,
        ..cell
    }
}

/// Compares the cells of each row with those of its baseline, as `baseline` names it by its place.
pub fn compare_rows(
    rows: &[Vec<LatencyCell>],
    baseline: impl Fn(usize) -> Option<usize>,
    tolerance: f64,
) -> Vec<BandComparison> {
    let mut comparisons = Vec::new();
    for (place, row) in rows.iter().enumerate() {
        let base = baseline(place).and_then(|base| rows.get(base));
        for (cell, base) in row.iter().zip(base.into_iter().flatten()) {
            comparisons.extend(compare(cell, base, tolerance));
        }
    }
    comparisons
}

fn compare(cell: &LatencyCell, base: &LatencyCell, tolerance: f64) -> [BandComparison; 2] {
    let figures = [
        ("mean_ns", cell.mean_ns, base.mean_ns),
        ("max_ns", cell.max_ns, base.max_ns),
    ];
    figures.map(|(figure, ours, theirs)| BandComparison {
        kernel: cell.kernel.clone(),
        model: cell.model.clone(),
        load: cell.load.clone(),
        figure: figure.to_owned(),
        baseline: base.kernel.clone(),
        baseline_model: base.model.clone(),
        verdict: match (ours, theirs) {
            (Some(ours), Some(theirs)) => verdict(ours, theirs, tolerance),
            _ => BandVerdict::Invalid,
        },
    })
}

/// Bands that touch overlap. The gap is a share of the baseline's end that faces it.
fn verdict(ours: Band, theirs: Band, tolerance: f64) -> BandVerdict {
    if ours.low > theirs.high * (1.0 + tolerance) {
        BandVerdict::Worse
    } else if ours.high < theirs.low * (1.0 - tolerance) {
        BandVerdict::Better
    } else {
        BandVerdict::NoDifference
    }
}
