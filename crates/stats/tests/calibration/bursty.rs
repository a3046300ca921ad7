// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Runs that are made up, of a machine that misses a limit in bursts, at a share that is known; and
//! the rule for requirements that does not see bursts.

use punctual_stats::dependence::highest;
use punctual_stats::requirement::{Evidence, Requirement, Ruled, Seen};
use punctual_stats::{BatchMeans, Exceedances, LatencyHistogram, RandomSource};

/// The limit, in ns.
const LIMIT: u64 = 50_000;

/// Time between samples: 1 ms.
const INTERVAL_NS: f64 = 1e6;

/// Quantiles that are followed, as a run of `measure` does.
const QUANTILES: [f64; 5] = [0.9, 0.99, 0.999, 0.9999, 0.99999];

/// A requirement on the made-up limit: `p99.9` with this share allowed.
pub(crate) fn allowing(share: f64) -> Requirement {
    let text = format!("p{} <= 50us", 100.0 * (1.0 - share));
    text.parse().unwrap_or_else(|err| unreachable!("{err}"))
}

/// A machine: bursts begin at random, and last as long as they please.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bursty {
    /// The true share of samples above the limit.
    pub(crate) share: f64,
    /// Mean length of a burst in samples; lengths are geometric.
    pub(crate) mean: f64,
}

/// What was counted of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taken {
    samples: u64,
    above: u64,
    /// How samples above the limit depend on each other, in samples.
    misses: Option<f64>,
    /// How those above the highest quantile do that has data.
    tail: Option<f64>,
}

impl Bursty {
    /// Makes a run of one thread, of which only the misses are followed.
    pub(crate) fn run(&self, source: &mut RandomSource, samples: u64) -> Taken {
        const AT_ONCE: usize = 1_024;
        let indicator = [[0.0; AT_ONCE], [1.0; AT_ONCE]];
        let mut late = BatchMeans::new();
        let mut above = 0;
        let mut in_burst = source.uniform() <= self.share;
        let mut taken = 0;
        while taken < samples {
            let length = self.length(source, in_burst).min(samples - taken);
            let mut left = length;
            while left > 0 {
                let now = usize::try_from(left).unwrap_or(AT_ONCE).min(AT_ONCE);
                late.extend_from_slice(&indicator[usize::from(in_burst)][..now]);
                left -= now as u64;
            }
            above += length * u64::from(in_burst);
            taken += length;
            in_burst = !in_burst;
        }
        Taken {
            samples,
            above,
            misses: late.autocorrelation_time(),
            tail: None,
        }
    }

    /// Makes a run and follows its latencies too, as `measure` does: those below the limit do not
    /// depend on each other.
    pub(crate) fn followed(&self, source: &mut RandomSource, samples: u64) -> Taken {
        let mut histogram = LatencyHistogram::new(1 << 20);
        let mut quantiles = QUANTILES.map(Exceedances::of_quantile);
        let mut late = Exceedances::of_threshold(LIMIT);
        let mut above = 0;
        let mut in_burst = source.uniform() <= self.share;
        let mut left = self.length(source, in_burst);
        for _ in 0..samples {
            if left == 0 {
                in_burst = !in_burst;
                left = self.length(source, in_burst);
            }
            left -= 1;
            let ns = match in_burst {
                true => 2 * LIMIT + (source.bits() >> 49),
                false => 10_000 + (source.bits() >> 49),
            };
            above += u64::from(in_burst);
            histogram.record(ns);
            late.extend(&[ns], &histogram);
            for quantile in &mut quantiles {
                quantile.extend(&[ns], &histogram);
            }
        }
        Taken {
            samples,
            above,
            misses: late.autocorrelation_time(),
            tail: highest(quantiles.iter()).and_then(Exceedances::autocorrelation_time),
        }
    }

    /// Samples until the burst, or the quiet, ends.
    fn length(&self, source: &mut RandomSource, in_burst: bool) -> u64 {
        let ends = match in_burst {
            true => 1.0 / self.mean,
            false => self.share / (1.0 - self.share) / self.mean,
        };
        if ends <= 0.0 || self.share >= 1.0 {
            return u64::MAX;
        }
        // Geometric: by inversion of 1 - (1 - p)^k.
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "positive, and saturates"
        )]
        let length = (source.uniform().ln() / (-ends).ln_1p()).ceil() as u64;
        length.max(1)
    }
}

impl Taken {
    /// What the rule gets to know.
    pub(crate) fn seen(&self) -> Seen {
        let misses = self.misses.filter(|_| self.above > 0).unwrap_or(0.0);
        Seen {
            samples: self.samples,
            above: self.above,
            of_one_thread: self.samples,
            time_ns: self.samples as f64 * INTERVAL_NS,
            dependence_ns: misses.max(self.tail.unwrap_or(0.0)) * INTERVAL_NS,
        }
    }

    /// The evidence under the assumption of the requirement.
    pub(crate) fn evidence(&self, requirement: &Requirement) -> Evidence {
        self.seen().evidence(requirement.burst_ns)
    }

    /// What the rule before bursts were assumed took it for: where no miss was seen, all samples are
    /// independent.
    pub(crate) fn naive(&self) -> Evidence {
        let n = self.samples as f64;
        Evidence {
            samples: self.samples,
            above: self.above,
            effective: n / self.misses.unwrap_or(1.0),
            time_ns: n * INTERVAL_NS,
        }
    }
}

/// What the rule says of a run.
pub(crate) fn ruled(requirement: &Requirement, taken: &Taken) -> Ruled {
    requirement.rule(&taken.evidence(requirement))
}
