// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! How many independent trials the samples of runs are worth.

use super::Effort;
use crate::binomial;
use crate::num::{floor_u64, positive};
use crate::precision::exceedance_upper_bound;

/// What one run saw of a limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen {
    /// Samples of all threads.
    pub samples: u64,
    /// Those above the limit.
    pub above: u64,
    /// Samples of the thread that has most. What stops one CPU may stop all of them at that moment, so
    /// threads of a run are no further evidence.
    pub of_one_thread: u64,
    /// Run time over which the samples were taken, in ns.
    pub time_ns: f64,
    /// Run time over which the samples were seen to depend on each other, in ns; 0 where that is not
    /// known.
    pub dependence_ns: f64,
}

impl Seen {
    /// The evidence under the assumption that no burst of samples above the limit lasts longer than
    /// `burst_ns` of run time.
    ///
    /// Bursts that come at a rate λ and last B on average make a share s = λB of samples above the
    /// limit, and none comes within a time T with probability exp(-λT) = exp(-s T/B). So T says as
    /// much as T/B independent samples: (1 - s)^(T/B) is not less. Where the samples above the limit,
    /// or the highest quantile that can be followed, depend on each other for longer than B, that
    /// time stands for B. There are no more trials than one thread has samples.
    ///
    /// ```
    /// use punctual_stats::requirement::{DEFAULT_BURST_NS, Seen};
    ///
    /// // Two threads, a minute, one sample each ms: worth 600 trials of 100 ms, not 120 000.
    /// let seen = Seen {
    ///     samples: 120_000,
    ///     above: 0,
    ///     of_one_thread: 60_000,
    ///     time_ns: 60e9,
    ///     dependence_ns: 2e6,
    /// };
    /// assert_eq!(seen.evidence(DEFAULT_BURST_NS).trials(), 600);
    /// // The samples are seen to come together for a second.
    /// let waves = Seen { dependence_ns: 1e9, ..seen };
    /// assert_eq!(waves.evidence(DEFAULT_BURST_NS).trials(), 60);
    /// ```
    pub fn evidence(&self, burst_ns: u64) -> Evidence {
        let burst = (burst_ns as f64).max(self.dependence_ns).max(1.0);
        Evidence {
            samples: self.samples,
            above: self.above,
            effective: (self.time_ns / burst).min(self.of_one_thread as f64),
            time_ns: self.time_ns,
        }
    }
}

/// What was seen of the samples, and what it is worth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Evidence {
    /// Number of samples.
    pub samples: u64,
    /// Samples above the time.
    pub above: u64,
    /// Number of independent samples that would say as much.
    pub effective: f64,
    /// Run time in ns; 0 where it is not known.
    pub time_ns: f64,
}

impl Evidence {
    /// Samples that do not depend on each other.
    pub fn independent(samples: u64, above: u64) -> Self {
        Self {
            samples,
            above,
            effective: samples as f64,
            time_ns: 0.0,
        }
    }

    /// Whole independent trials: one at least, where there is a sample.
    pub fn trials(&self) -> u64 {
        if self.samples == 0 {
            return 0;
        }
        // A time that is a multiple of a burst but for its last bit is one.
        let effective = self.effective * (1.0 + 1e-12);
        floor_u64(effective).clamp(1, self.samples)
    }

    /// The upper bound of the share of samples above the limit; of the trials the same share is above
    /// as of the samples. 1 without samples.
    pub fn share_at_most(&self, confidence: f64) -> f64 {
        let m = self.trials();
        // Rounded so that the bound is not too low.
        let hits = floor_u64(self.hits().ceil()).min(m);
        exceedance_upper_bound(hits, m, confidence).unwrap_or(1.0)
    }

    /// The lower bound of that share.
    pub fn share_at_least(&self, confidence: f64) -> f64 {
        match floor_u64(self.hits()) {
            0 => 0.0,
            hits => binomial::p_of_upper(hits, self.trials(), 1.0 - confidence),
        }
    }

    /// The share of samples above the limit that was seen.
    pub(super) fn rate(&self) -> f64 {
        self.above as f64 / (self.samples as f64).max(1.0)
    }

    /// The trials that were above the limit, and parts of them.
    fn hits(&self) -> f64 {
        self.rate() * self.trials() as f64
    }

    /// The evidence of several runs together.
    ///
    /// Where the share above varies between runs by more than chance, the samples are worth
    /// n r(1 - r) / V of n independent ones: r is the share of all, and V the variance of that ratio
    /// between runs, c/(c - 1) Σ(kᵢ - r nᵢ)²/n for c runs (divided by n once more for that of r; Rao
    /// and Scott, *Biometrics* 48, 1992).
    pub fn pooled(runs: &[Self]) -> Self {
        let sum = |of: fn(&Self) -> u64| runs.iter().map(of).fold(0, u64::saturating_add);
        let (samples, above) = (sum(|run| run.samples), sum(|run| run.above));
        let inside: f64 = runs.iter().map(|run| run.effective).sum();
        let (n, c) = (samples as f64, runs.len() as f64);
        let rate = above as f64 / n;
        let off: f64 = runs
            .iter()
            .map(|run| (run.above as f64 - rate * run.samples as f64).powi(2))
            .sum();
        let between = c / (c - 1.0) * off / n;
        let worth = n * rate * (1.0 - rate) / between;
        Self {
            samples,
            above,
            effective: if runs.len() > 1 && positive(worth) {
                inside.min(worth)
            } else {
                inside
            },
            // A run of which it is not known how long it took leaves none for all.
            time_ns: match runs.iter().all(|run| run.time_ns > 0.0) {
                true => runs.iter().map(|run| run.time_ns).sum(),
                false => 0.0,
            },
        }
    }

    /// The samples, and the time, that give this many trials if they go on as these did.
    pub(super) fn effort(&self, trials: u64) -> Effort {
        // Less than one trial was seen: it stands for itself.
        let each = |all: f64| match positive(self.effective) {
            true => all / self.effective,
            false => 1.0,
        };
        Effort {
            samples: floor_u64((trials as f64 * each(self.samples as f64)).ceil()),
            // One more, for what the beginning and the end of a run leave over.
            time_ns: positive(self.time_ns)
                .then(|| floor_u64(((trials as f64 + 1.0) * each(self.time_ns)).ceil())),
        }
    }
}
