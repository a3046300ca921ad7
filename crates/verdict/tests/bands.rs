// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Bands over seeds, of runs whose figures are known.

mod common;

use punctual_model::{BandVerdict, Guest, GuestTime, LatencyCell, RunRecord};
use punctual_verdict::bands::{chance, compare_rows, with_runs};

fn cell(values: &[(f64, u64)]) -> LatencyCell {
    let run = |(seed, (mean_ns, max_ns)): (u64, &(f64, u64))| {
        let mut record = common::run();
        record.guest = Some(Guest {
            kernel: "k".to_owned(),
            kernel_sha256: None,
            time: GuestTime::Virtual,
            instruction_ns: None,
            command_line: String::new(),
            cpus: 1,
            memory_bytes: 1,
            nodes: None,
            seed,
            agent: None,
            unpacked: false,
        });
        record.total.mean_ns = Some(*mean_ns);
        record.total.max_ns = Some(*max_ns);
        record
    };
    let records: Vec<RunRecord> = (1..).zip(values).map(run).collect();
    let empty = LatencyCell {
        load: "fork".to_owned(),
        ..LatencyCell::default()
    };
    with_runs(empty, &records)
}

fn verdicts(ours: &LatencyCell, base: &LatencyCell, tolerance: f64) -> Vec<BandVerdict> {
    let rows = [vec![base.clone()], vec![ours.clone()]];
    let baseline = |place| (place == 1).then_some(0);
    let comparisons = compare_rows(&rows, baseline, tolerance);
    comparisons.iter().map(|of| of.verdict).collect()
}

#[test]
fn bands_decide_only_where_they_lie_apart() {
    use BandVerdict::{Better, NoDifference, Worse};
    let base = cell(&[(100.0, 1_000), (110.0, 1_500)]);
    let new = cell(&[(120.0, 900), (130.0, 999)]);
    assert_eq!(verdicts(&new, &base, 0.0), [Worse, Better]);
    // 120 is 9 % above 110, and 999 is 0.1 % below 1000.
    assert_eq!(verdicts(&new, &base, 0.05), [Worse, NoDifference]);
    assert_eq!(verdicts(&new, &base, 0.10), [NoDifference; 2]);
    assert_eq!(verdicts(&base, &base, 0.0), [NoDifference; 2]);
    let touching = cell(&[(110.0, 1_500), (140.0, 1_600)]);
    assert_eq!(verdicts(&touching, &base, 0.0), [NoDifference; 2]);
}

#[test]
fn a_cell_with_a_fault_has_no_band_and_no_verdict() {
    let good = cell(&[(1.0, 2)]);
    let bad = LatencyCell {
        faults: vec!["seed 2: guest-timers".to_owned()],
        ..LatencyCell::default()
    };
    let bad = with_runs(bad, &[]);
    assert_eq!(verdicts(&bad, &good, 0.0), [BandVerdict::Invalid; 2]);
    assert_eq!(verdicts(&good, &bad, 0.0), [BandVerdict::Invalid; 2]);
    let none = cell(&[]);
    assert_eq!(verdicts(&none, &good, 0.0), [BandVerdict::Invalid; 2]);
}

#[test]
fn chance_is_that_of_a_rank_test() {
    // C(4, 2) = 6, C(10, 5) = 252.
    assert!((chance(2) - 2.0 / 6.0).abs() < 1e-12);
    assert!((chance(5) - 2.0 / 252.0).abs() < 1e-12);
    assert!((chance(1) - 1.0).abs() < 1e-12);
}
