// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What the figures of the seeds say.

use punctual_model::{Band, BandComparison, BandVerdict, LatencyCell, LatencyRun, RunRecord};

use super::plan::{Baseline, Row};

/// What became of a cell: its runs, and why some are none.
#[derive(Clone, Debug, Default)]
pub struct CellInput {
    /// The load's name.
    pub load: String,
    /// The model that was found running.
    pub model: Option<String>,
    /// Runs, by seed.
    pub runs: Vec<LatencyRun>,
    /// Why runs are missing, or support no claim.
    pub faults: Vec<String>,
}

/// Takes from the record of a run what is compared, if it has samples.
pub fn run_of(record: &RunRecord, seed: u64) -> Option<LatencyRun> {
    Some(LatencyRun {
        seed,
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

/// Makes cells of what was measured, row by row, and compares them with their baseline.
pub fn conclude(
    rows: &[Row],
    measured: Vec<Vec<CellInput>>,
    baseline: Option<&Baseline>,
    tolerance: f64,
) -> (Vec<LatencyCell>, Vec<BandComparison>) {
    let cells: Vec<Vec<LatencyCell>> = rows
        .iter()
        .zip(measured)
        .map(|(row, inputs)| inputs.into_iter().map(|input| cell(row, input)).collect())
        .collect();
    let mut comparisons = Vec::new();
    for (place, of_row) in cells.iter().enumerate() {
        let base = baseline.and_then(|baseline| baseline.of(place, rows));
        let Some(base) = base.and_then(|base| cells.get(base)) else {
            continue;
        };
        for (cell, base) in of_row.iter().zip(base) {
            comparisons.extend(compare(cell, base, tolerance));
        }
    }
    (cells.into_iter().flatten().collect(), comparisons)
}

fn cell(row: &Row, input: CellInput) -> LatencyCell {
    let valid = input.faults.is_empty();
    let band = |figure: fn(&LatencyRun) -> f64| {
        let values = || input.runs.iter().map(figure);
        let (low, high) = (values().reduce(f64::min)?, values().reduce(f64::max)?);
        valid.then_some(Band { low, high })
    };
    LatencyCell {
        kernel: row.kernel.clone(),
        image: row.image.display().to_string(),
        append: row.append.clone(),
        config: row.config.clone(),
        model: input
            .model
            .clone()
            .unwrap_or_else(|| row.model_name().to_owned()),
        load: input.load.clone(),
        mean_ns: band(|run| run.mean_ns),
        max_ns: band(|run| whole(run.max_ns)),
        faults: input.faults,
        runs: input.runs,
    }
}

#[expect(clippy::cast_precision_loss, reason = "exact up to 104 days")]
const fn whole(ns: u64) -> f64 {
    ns as f64
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guest::Model;
    use crate::latency_test::Kernel;

    fn input(values: &[(f64, u64)]) -> CellInput {
        let runs = (1..)
            .zip(values)
            .map(|(seed, (mean_ns, max_ns))| LatencyRun {
                seed,
                samples: 1_000,
                mean_ns: *mean_ns,
                max_ns: *max_ns,
                work: None,
            });
        CellInput {
            load: "fork".to_owned(),
            runs: runs.collect(),
            ..CellInput::default()
        }
    }

    fn verdicts(ours: CellInput, base: CellInput, tolerance: f64) -> Vec<BandVerdict> {
        let dir = tempfile::tempdir().unwrap();
        let kernels = ["base", "new"].map(|name| {
            let path = dir.path().join(name);
            // The head of an ELF file for x86-64 is that of a kernel.
            let mut elf = vec![0; 64];
            elf[..6].copy_from_slice(b"\x7fELF\x02\x01");
            elf[18] = 62;
            std::fs::write(&path, elf).unwrap();
            Kernel::parse(&format!("{name}={}", path.display())).unwrap()
        });
        let rows = super::super::rows(&kernels, &[]).unwrap();
        let baseline = Baseline::find("base", &rows).unwrap();
        let (cells, comparisons) = conclude(
            &rows,
            vec![vec![base], vec![ours]],
            Some(&baseline),
            tolerance,
        );
        assert_eq!(cells.len(), 2);
        comparisons.iter().map(|of| of.verdict).collect()
    }

    #[test]
    fn bands_decide_only_where_they_lie_apart() {
        use BandVerdict::{Better, NoDifference, Worse};
        let base = || input(&[(100.0, 1_000), (110.0, 1_500)]);
        let new = input(&[(120.0, 900), (130.0, 999)]);
        assert_eq!(verdicts(new.clone(), base(), 0.0), [Worse, Better]);
        // 120 is 9 % above 110, and 999 is 0.1 % below 1000.
        assert_eq!(verdicts(new.clone(), base(), 0.05), [Worse, NoDifference]);
        assert_eq!(verdicts(new, base(), 0.10), [NoDifference; 2]);
        assert_eq!(verdicts(base(), base(), 0.0), [NoDifference; 2]);
        let touching = input(&[(110.0, 1_500), (140.0, 1_600)]);
        assert_eq!(verdicts(touching, base(), 0.0), [NoDifference; 2]);
    }

    #[test]
    fn a_cell_with_a_fault_has_no_band_and_no_verdict() {
        let mut bad = input(&[(1.0, 2)]);
        bad.faults.push("seed 2: guest-timers".to_owned());
        let good = || input(&[(1.0, 2)]);
        assert_eq!(
            verdicts(bad.clone(), good(), 0.0),
            [BandVerdict::Invalid; 2]
        );
        assert_eq!(verdicts(good(), bad, 0.0), [BandVerdict::Invalid; 2]);
        let none = CellInput::default();
        assert_eq!(verdicts(none, good(), 0.0), [BandVerdict::Invalid; 2]);
    }

    #[test]
    fn chance_is_that_of_a_rank_test() {
        // C(4, 2) = 6, C(10, 5) = 252.
        assert!((chance(2) - 2.0 / 6.0).abs() < 1e-12);
        assert!((chance(5) - 2.0 / 252.0).abs() < 1e-12);
        assert!((chance(1) - 1.0).abs() < 1e-12);
        assert_eq!(Model::Rt.name(), "rt");
    }
}
