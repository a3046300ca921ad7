// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Runs of samples that depend on each other, and whether intervals made of one run cover the truth.

use std::f64::consts::PI;

use punctual_stats::{
    Dependence, LatencyHistogram, RandomSource, dependent_mean_interval,
    dependent_quantile_interval,
};

/// The figures whose intervals are looked at.
pub(crate) const FIGURES: [&str; 4] = ["mean", "p50", "p99", "p99.9"];

const QUANTILES: [f64; 3] = [0.5, 0.99, 0.999];

/// How samples depend on each other.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Process {
    /// Logarithms that remember: each a part of the last one plus noise, with this correlation time τ
    /// in samples and this deviation.
    Remembering { time: f64, deviation: f64 },
    /// Bursts over independent samples: one sample in `every` begins one that lasts `length` samples on
    /// average, all of which are as much longer as a Pareto variable of index 3 says.
    Bursts { every: f64, length: f64 },
}

/// Whether there was an interval of each figure, and whether it covered.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) made: [bool; 4],
    pub(crate) covered: [bool; 4],
}

/// What is true of a process, in ns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Truth([f64; 4]);

impl Process {
    /// Makes `n` samples in ns.
    pub(crate) fn samples(self, n: usize, source: &mut RandomSource) -> Vec<u64> {
        match self {
            Self::Remembering { time, deviation } => {
                let kept = (time - 1.0) / (time + 1.0);
                let noise = (1.0 - kept * kept).sqrt();
                let mut x = source.normal();
                let next = |_| {
                    let now = x;
                    x = kept * x + noise * source.normal();
                    whole(1e8 * (deviation * now).exp())
                };
                (0..n).map(next).collect()
            }
            Self::Bursts { every, length } => {
                let mut burst = None;
                let height = |source: &mut RandomSource| 2.0 * source.uniform().powf(-1.0 / 3.0);
                if source.uniform() < length / (every + length) {
                    burst = Some(height(source));
                }
                let next = |_| {
                    let now = 1e8 * (0.2 * source.normal()).exp() * burst.unwrap_or(1.0);
                    burst = match burst {
                        Some(_) if source.uniform() * length < 1.0 => None,
                        None if source.uniform() * every < 1.0 => Some(height(source)),
                        burst => burst,
                    };
                    whole(now)
                };
                (0..n).map(next).collect()
            }
        }
    }

    /// Returns the truth: the formulas of a lognormal, or for bursts quadrature over the height.
    pub(crate) fn truth(self) -> Truth {
        match self {
            Self::Remembering { deviation, .. } => {
                let z = [0.0, 2.326_347_874_040_841, 3.090_232_306_167_813];
                let [p50, p99, p999] = z.map(|z| 1e8 * (deviation * z).exp());
                Truth([1e8 * (deviation * deviation / 2.0).exp(), p50, p99, p999])
            }
            Self::Bursts { every, length } => {
                let share = length / (every + length);
                let (body, height) = (1e8 * 0.02_f64.exp(), 3.0);
                let mean = body * (1.0 - share + share * height);
                let [p50, p99, p999] = QUANTILES.map(|p| {
                    let (mut low, mut high) = (1e7_f64, 1e11_f64);
                    for _ in 0..60 {
                        let middle = (low * high).sqrt();
                        if above(middle, share) > 1.0 - p {
                            low = middle;
                        } else {
                            high = middle;
                        }
                    }
                    low
                });
                Truth([mean, p50, p99, p999])
            }
        }
    }

    /// Makes a run and its intervals as a recorder does, in blocks.
    pub(crate) fn intervals(self, truth: Truth, n: usize, source: &mut RandomSource) -> Seen {
        let ns = self.samples(n, source);
        let mut histogram = LatencyHistogram::default();
        let mut dependence = Dependence::new(&QUANTILES);
        for block in ns.chunks(256) {
            let values: Vec<f64> = block.iter().map(|ns| *ns as f64).collect();
            histogram.record_slice(block);
            dependence.extend(block, &values, &histogram);
        }
        let mean = dependence
            .worth_of_mean()
            .and_then(|worth| dependent_mean_interval(dependence.moments(), &worth, 0.95))
            .map(|interval| (interval.low, interval.high));
        let mut ends = vec![mean];
        for p in QUANTILES {
            let interval = dependence
                .worth(p)
                .and_then(|worth| dependent_quantile_interval(&histogram, &worth, p, 0.95));
            ends.push(interval.map(|(low, high)| (low as f64, high as f64)));
        }
        let mut seen = Seen::default();
        for (at, ends) in ends.into_iter().enumerate() {
            seen.made[at] = ends.is_some();
            seen.covered[at] = ends.is_some_and(|(low, high)| (low..=high).contains(&truth.0[at]));
        }
        seen
    }
}

/// The share of samples of a process with bursts that are above `ns`.
fn above(ns: f64, share: f64) -> f64 {
    let body = |factor: f64| normal_above((ns / (1e8 * factor)).ln() / 0.2);
    // Over the probabilities of the height.
    let steps = 2_000_u32;
    let bursts: f64 = (0..steps)
        .map(|step| {
            let u = (f64::from(step) + 0.5) / f64::from(steps);
            // Finer where the height is large: u = v³.
            3.0 * u * u * body(2.0 / u)
        })
        .sum();
    (1.0 - share) * body(1.0) + share * bursts / f64::from(steps)
}

/// P(Z > z), by Simpson's rule.
fn normal_above(z: f64) -> f64 {
    if z < -8.0 {
        return 1.0;
    }
    let (from, steps) = (z.min(9.0), 200_u32);
    let width = (9.0 - from) / f64::from(steps);
    let density = |x: f64| (-0.5 * x * x).exp() / (2.0 * PI).sqrt();
    let sum: f64 = (0..=steps)
        .map(|i| {
            let weight = match i {
                0 => 1.0,
                _ if i == steps => 1.0,
                _ if i % 2 == 1 => 4.0,
                _ => 2.0,
            };
            weight * density(from + width * f64::from(i))
        })
        .sum();
    sum * width / 3.0
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "made-up latencies are positive and saturate"
)]
fn whole(ns: f64) -> u64 {
    ns as u64
}
