// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! When to stop measuring: as soon as every target figure is as precise as was asked for.
//!
//! # How many samples count
//!
//! Latencies come in bursts, so n samples are worth fewer. For the mean, the effective number is
//! that of the values ([`BatchMeans`](crate::BatchMeans)). For a quantile it is that of the series
//! "this sample is above the quantile", 0 or 1, since its interval rests on how many samples lie above;
//! a burst of outliers matters for p99.9 and hardly for the median ([`Dependence`]).
//!
//! # Looking many times
//!
//! A test that is repeated until it succeeds succeeds too often. Three things keep the confidence:
//! - the rule waits for the interval to be *narrow*, not for the figure to have some value. Width
//!   depends on the number of samples and on the spread, hardly on where the estimate lies; for
//!   such rules the coverage tends to the nominal as the width gets small (Chow and Robbins, *Annals
//!   of Mathematical Statistics* 36, 1965);
//! - there is no look before [`StopRule::MINIMUM`] samples, where the estimated spread may be small
//!   by chance, and no interval while the run is short against the correlation of its samples
//!   ([`Worth::is_enough`](crate::Worth::is_enough));
//! - looks come at counts that grow by a quarter each, [`StopRule::is_due`]: 31 looks from a thousand
//!   samples to a million, and not a million.
//!
//! In simulation (a test) 95 % intervals at the stop cover the truth at least 92 % of the time.

use crate::precision::{dependent_mean_interval, dependent_quantile_interval};
use crate::{Accumulator, Dependence, HalfWidth, LatencyHistogram, PrecisionTarget, Statistic};

const BLOCK: usize = 64;

/// Watches a stream until its figures are precise enough.
///
/// ```
/// use punctual_stats::{Accumulator, Keep, StopRule};
///
/// # fn main() -> Result<(), punctual_stats::ParseTargetError> {
/// let mut rule = StopRule::new(vec!["p50:2%".parse()?, "mean:1%".parse()?]);
/// let mut all = Accumulator::new(&Keep::default());
/// let mut seed = 1u64;
/// let states = loop {
///     seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
///     let latency = 2_000 + (seed >> 54);
///     all.record_slice(&[latency]);
///     rule.extend(&[latency], all.histogram());
///     if rule.is_due() {
///         let states = rule.look(&all);
///         if states.iter().all(|state| state.met) {
///             break states;
///         }
///     }
/// };
/// assert!(states.iter().all(|state| state.effective_samples >= Some(100.0)));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct StopRule {
    targets: Vec<PrecisionTarget>,
    dependence: Dependence,
    count: u64,
    next_look: u64,
}

/// What is known about one target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TargetState {
    /// The target.
    pub target: PrecisionTarget,
    /// The figure in ns; `None` without samples.
    pub estimate: Option<f64>,
    /// The lower end of its interval in ns; `None` while there are too few samples for one.
    pub low: Option<f64>,
    /// The upper end of its interval in ns.
    pub high: Option<f64>,
    /// The number of independent samples that the interval rests on.
    pub effective_samples: Option<f64>,
    /// Whether the interval is as narrow as the target asks.
    pub met: bool,
}

impl StopRule {
    /// The number of samples before the first look.
    pub const MINIMUM: u64 = 1000;

    /// Creates a rule that is met when all `targets` are.
    ///
    /// A target with a quantile or a confidence outside 0 to 1 is never met.
    pub fn new(targets: Vec<PrecisionTarget>) -> Self {
        let quantiles = targets.iter().filter_map(|target| match target.statistic {
            Statistic::Mean => None,
            Statistic::Quantile(q) => Some(q),
        });
        Self {
            dependence: Dependence::new(&quantiles.collect::<Vec<_>>()),
            targets,
            count: 0,
            next_look: Self::MINIMUM,
        }
    }

    /// Feeds latencies in ns, in the order in which they were measured. `histogram` has all so far, these included or not.
    ///
    /// Hot: it allocates nothing.
    pub fn extend(&mut self, ns: &[u64], histogram: &LatencyHistogram) {
        let mut block = [0.0; BLOCK];
        for part in ns.chunks(BLOCK) {
            let values = &mut block[..part.len()];
            for (value, &x) in values.iter_mut().zip(part) {
                *value = x as f64;
            }
            self.dependence.extend(part, values, histogram);
        }
        self.count += ns.len() as u64;
    }

    /// The number of samples that were fed.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Whether the next look is due; see the [module](crate::stop) on why not sooner.
    pub fn is_due(&self) -> bool {
        self.count >= self.next_look
    }

    /// Evaluates the targets on the figures of `all`, which has the samples that were fed, and puts the next look off until a
    /// quarter more samples are there.
    pub fn look(&mut self, all: &Accumulator) -> Vec<TargetState> {
        self.next_look = self.count.max(Self::MINIMUM).saturating_mul(5) / 4;
        self.evaluate(all)
    }

    /// Evaluates the targets on the figures of `all`, for a display or the final report. Of a quantile that it follows too,
    /// samples are worth what they are worth there, so that one figure has one interval.
    ///
    /// To decide on stopping, use [`is_due`](Self::is_due) and [`look`](Self::look). No target is met
    /// before [`MINIMUM`](Self::MINIMUM) samples.
    pub fn evaluate(&self, all: &Accumulator) -> Vec<TargetState> {
        let state = |target: &PrecisionTarget| self.state(*target, all);
        self.targets.iter().map(state).collect()
    }

    fn state(&self, target: PrecisionTarget, all: &Accumulator) -> TargetState {
        let (histogram, moments) = (all.histogram(), all.moments());
        let worth = match target.statistic {
            Statistic::Mean => all.dependence().worth_of_mean(),
            Statistic::Quantile(q) if all.dependence().follows(q) => all.dependence().worth(q),
            Statistic::Quantile(q) => self.dependence.worth(q),
        };
        let (estimate, interval) = match target.statistic {
            Statistic::Mean => {
                let interval = worth
                    .and_then(|worth| dependent_mean_interval(moments, &worth, target.confidence))
                    // No latency is below 0.
                    .map(|interval| (interval.low.max(0.0), interval.high));
                (moments.mean(), interval)
            }
            Statistic::Quantile(q) => {
                let interval = worth
                    .and_then(|w| dependent_quantile_interval(histogram, &w, q, target.confidence))
                    .map(|(low, high)| (low as f64, high as f64));
                (histogram.quantile(q).map(|ns| ns as f64), interval)
            }
        };
        let narrow = |estimate: f64, (low, high): (f64, f64)| {
            let width = match target.width {
                HalfWidth::Relative(share) => share * estimate.abs(),
                HalfWidth::Absolute(ns) => ns,
            };
            (high - estimate).max(estimate - low) <= width
        };
        TargetState {
            target,
            estimate,
            low: interval.map(|(low, _)| low),
            high: interval.map(|(_, high)| high),
            effective_samples: worth.map(|worth| worth.effective_samples()),
            met: self.count >= Self::MINIMUM
                && estimate.zip(interval).is_some_and(|(e, i)| narrow(e, i)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Keep;
    use crate::num::floor_u64;
    use crate::testing::Samples;

    fn run(
        targets: &[&str],
        most: usize,
        mut next: impl FnMut() -> u64,
    ) -> (StopRule, Vec<TargetState>) {
        let targets = targets.iter().map(|t| t.parse().unwrap()).collect();
        let mut rule = StopRule::new(targets);
        let mut all = Accumulator::new(&Keep::default());
        for _ in 0..most / 100 {
            let part: Vec<u64> = (0..100).map(|_| next()).collect();
            all.record_slice(&part);
            rule.extend(&part, all.histogram());
            if rule.is_due() {
                let states = rule.look(&all);
                if states.iter().all(|s| s.met) {
                    return (rule, states);
                }
            }
        }
        let states = rule.evaluate(&all);
        (rule, states)
    }

    #[test]
    fn nothing_is_met_without_samples_or_targets() {
        let (_, states) = run(&["p99:2%", "mean:1%"], 0, || 1);
        assert!(
            states
                .iter()
                .all(|s| !s.met && s.estimate.is_none() && s.low.is_none())
        );
        let rule = StopRule::new(Vec::new());
        let states = rule.evaluate(&Accumulator::new(&Keep::default()));
        assert!(states.is_empty());
    }

    #[test]
    fn constant_input_is_precise_at_the_first_look() {
        let (rule, states) = run(&["p50:1%", "mean:0.005us"], 5000, || 2_000);
        assert_eq!(rule.count(), 1000);
        assert!(states.iter().all(|s| s.met && s.estimate == Some(2_000.0)));
    }

    #[test]
    fn correlated_samples_take_longer() {
        let mut samples = Samples::new(3);
        let (independent, _) = run(&["mean:2%"], 1_000_000, || {
            floor_u64(samples.exponential() * 1e5)
        });
        let (mut state, mut left) = (0.0, 0);
        let (correlated, _) = run(&["mean:2%"], 1_000_000, || {
            if left == 0 {
                (state, left) = (samples.exponential(), 16);
            }
            left -= 1;
            floor_u64(state * 1e5)
        });
        let ratio = correlated.count() as f64 / independent.count() as f64;
        // 16 but for the noise of the estimate and the steps between looks.
        assert!((9.0..30.0).contains(&ratio), "{ratio}");
    }

    #[test]
    fn intervals_at_the_stop_still_cover_the_truth() {
        let (mut mean, mut median, mut other) = (0, 0, 0);
        let runs = 300;
        for seed in 0..runs {
            let mut samples = Samples::new(1000 + seed);
            // One that is followed with all others, and one that only the rule follows.
            let (rule, states) = run(&["mean:4%", "p50:5%", "p60:5%"], 100_000, || {
                floor_u64(samples.exponential() * 1e6) + 1
            });
            assert!(states.iter().all(|s| s.met), "{rule:?}");
            let covers = |s: &TargetState, truth: f64| {
                u32::from(s.low.unwrap() <= truth && truth <= s.high.unwrap())
            };
            mean += covers(&states[0], 1e6);
            median += covers(&states[1], 693_147.0);
            other += covers(&states[2], 916_291.0);
        }
        let least = 0.92 * runs as f64;
        assert!(f64::from(mean) >= least, "{mean} of {runs}");
        assert!(f64::from(median) >= least, "{median} of {runs}");
        assert!(f64::from(other) >= least, "{other} of {runs}");
    }

    #[test]
    fn a_run_that_is_short_against_its_correlation_is_never_precise() {
        let mut samples = Samples::new(4);
        let mut x = 0.0;
        // A correlation over 199 samples, and values so alike that any interval would do.
        let (rule, states) = run(&["mean:10%", "p50:10%"], 5_000, || {
            x = 0.99 * x + samples.normal();
            floor_u64(1e6 + 1e3 * x)
        });
        assert_eq!(rule.count(), 5_000);
        for state in states {
            assert!(!state.met && state.low.is_none(), "{state:?}");
            assert!(state.effective_samples < Some(100.0), "{state:?}");
        }
    }

    #[test]
    fn an_invalid_quantile_is_never_met() {
        let mut rule = StopRule::new(vec![PrecisionTarget {
            statistic: Statistic::Quantile(f64::NAN),
            width: HalfWidth::Relative(1.0),
            confidence: 0.95,
        }]);
        let mut all = Accumulator::new(&Keep::default());
        all.record_slice(&[1; 2000]);
        rule.extend(&[1; 2000], all.histogram());
        assert!(!rule.evaluate(&all)[0].met);
    }
}
