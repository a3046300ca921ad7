// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Runs that are made up, on a machine whose truth is known.
//!
//! Latencies are correlated (a lognormal AR(1) body), come in bursts with a Pareto tail, and all of
//! a run is stretched by what that boot is like. What a comparison makes of such runs can be counted.

use punctual_stats::runs::bootstrap::SampleBlocks;
use punctual_stats::{LatencyHistogram, Moments, RandomSource};

/// The figures of a run that are compared, and whether each is above 0 in every run.
pub(crate) const FIGURES: [&str; 8] = [
    "mean",
    "stddev",
    "p50",
    "p99",
    "p99.9",
    "max",
    "share above 60 µs",
    "misses of 500 µs per second",
];

/// Place of the median in [`FIGURES`].
pub(crate) const P50: usize = 2;
/// Place of p99 in [`FIGURES`].
pub(crate) const P99: usize = 3;
/// Place of the largest sample in [`FIGURES`].
pub(crate) const MAX: usize = 5;

/// A machine.
#[derive(Clone, Debug)]
pub(crate) struct World {
    /// What it is called in tables.
    pub(crate) name: &'static str,
    /// Samples a run, one each millisecond.
    pub(crate) samples: usize,
    /// Deviation of the logarithm from boot to boot.
    pub(crate) boots: f64,
    /// Tail index of the bursts: below 2 they have no variance.
    pub(crate) tail: f64,
    /// Share of runs that something disturbs, and the factor by which it does.
    pub(crate) disturbed: (f64, f64),
}

impl World {
    /// Boots that differ by 5 %, bursts with finite variance.
    pub(crate) fn ordinary(samples: usize) -> Self {
        Self {
            name: "5 % between boots",
            samples,
            boots: 0.05,
            tail: 3.0,
            disturbed: (0.0, 1.0),
        }
    }

    /// The same with a tail that has no variance.
    pub(crate) fn heavy(samples: usize) -> Self {
        Self {
            name: "infinite variance",
            tail: 1.8,
            ..Self::ordinary(samples)
        }
    }

    /// The same with one run in ten 40 % worse.
    pub(crate) fn disturbed(samples: usize) -> Self {
        Self {
            name: "one run in ten disturbed",
            disturbed: (0.1, 1.4),
            ..Self::ordinary(samples)
        }
    }

    /// Makes a run, all latencies of which are `factor` times as long.
    pub(crate) fn run(&self, source: &mut RandomSource, factor: f64) -> Run {
        self.run_and(source, factor, |_| {})
    }

    /// Makes a run and shows its latencies in ns, in their order, piece by piece.
    pub(crate) fn run_and(
        &self,
        source: &mut RandomSource,
        factor: f64,
        mut show: impl FnMut(&[u64]),
    ) -> Run {
        let mut boot = (self.boots * source.normal()).exp() * factor;
        if source.uniform() < self.disturbed.0 {
            boot *= self.disturbed.1;
        }
        let mut histogram = LatencyHistogram::new(1 << 34);
        let mut moments = Moments::new();
        let (mut body, mut burst) = (source.normal(), 1.0);
        let mut chunk = [0_u64; 256];
        let mut floats = [0.0; 256];
        let mut left = self.samples;
        while left > 0 {
            let now = left.min(chunk.len());
            for (ns, x) in chunk[..now].iter_mut().zip(&mut floats) {
                body = 0.9 * body + 0.435_889_894 * source.normal();
                // Bursts begin once in 200 samples and last five.
                let u = source.uniform();
                if burst == 1.0 {
                    if u < 0.005 {
                        burst = 2.0 * source.uniform().powf(-1.0 / self.tail);
                    }
                } else if u < 0.2 {
                    burst = 1.0;
                }
                let latency = 20_000.0 * boot * (0.2 * body).exp() * burst;
                *ns = whole(latency);
                *x = latency;
            }
            histogram.record_slice(&chunk[..now]);
            show(&chunk[..now]);
            moments.extend_from_slice(&floats[..now]);
            left -= now;
        }
        Run { histogram, moments }
    }

    /// Makes a group of runs.
    pub(crate) fn group(&self, source: &mut RandomSource, runs: usize, factor: f64) -> Vec<Run> {
        (0..runs).map(|_| self.run(source, factor)).collect()
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "made-up latencies are positive and saturate"
)]
fn whole(ns: f64) -> u64 {
    ns as u64
}

/// A made-up run.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) histogram: LatencyHistogram,
    pub(crate) moments: Moments,
}

impl Run {
    /// Its figures, as [`FIGURES`].
    pub(crate) fn figures(&self) -> [f64; 8] {
        let n = self.histogram.count() as f64;
        let quantile = |q| self.histogram.quantile(q).unwrap_or(0) as f64;
        let above = |ns| self.histogram.count_above(ns) as f64;
        [
            self.moments.mean().unwrap_or(0.0),
            self.moments.std_dev().unwrap_or(0.0),
            quantile(0.5),
            quantile(0.99),
            quantile(0.999),
            quantile(1.0),
            above(60_000) / n,
            above(500_000) / n * 1e3,
        ]
    }
}

/// The values of one figure of a group.
pub(crate) fn column(group: &[[f64; 8]], figure: usize) -> Vec<f64> {
    group.iter().map(|run| run[figure]).collect()
}

/// The figures of a group.
pub(crate) fn figures(group: &[Run]) -> Vec<[f64; 8]> {
    group.iter().map(Run::figures).collect()
}

/// The p99 of each run of two groups that are alike, and values of it that the run's samples, drawn
/// again in blocks, might have made.
pub(crate) fn with_blocks(
    world: &World,
    source: &mut RandomSource,
    runs: usize,
    blocks: usize,
) -> ([Vec<f64>; 2], [Vec<Vec<f64>>; 2]) {
    let mut group = || -> (Vec<f64>, Vec<Vec<f64>>) {
        (0..runs)
            .map(|_| {
                let mut samples = Vec::with_capacity(world.samples);
                let run = world.run_and(source, 1.0, |part| samples.extend_from_slice(part));
                let p99 = |all: &LatencyHistogram, _: &Moments| Some(all.quantile(0.99)? as f64);
                let blocks = SampleBlocks::new(&samples, blocks);
                let redrawn = blocks.map(|blocks| blocks.redraw(p99, 100, source));
                (run.figures()[P99], redrawn.unwrap_or_default())
            })
            .unzip()
    };
    let (a, b) = (group(), group());
    ([a.0, b.0], [a.1, b.1])
}
