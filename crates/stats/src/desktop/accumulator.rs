// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Everything that is kept of one series of latencies, behind one call: what every instrument records with.

use crate::{
    CountWindow, Dependence, Exceedances, LatencyHistogram, Moments, PSquare, ThresholdCounter,
};

/// Samples that are worked on at once: they fit the first-level cache.
const BLOCK: usize = 256;

/// What an [`Accumulator`] keeps beyond what every one keeps.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Keep {
    /// The thresholds in ns above which samples are counted, in any order.
    pub thresholds_ns: Vec<u64>,
    /// Whether the [default](PSquare::DEFAULT) quantiles are estimated by P-square too, which takes several
    /// times as long as all the rest and has no bound on its error.
    pub psquare: bool,
}

/// Moments, histogram, moving window, and what the samples are worth where they depend on each other, of one
/// series of latencies in ns.
///
/// All memory is taken in [`new`](Self::new): some 300 KiB. The order of the samples counts.
///
/// ```
/// use punctual_stats::Accumulator;
///
/// let mut stats = Accumulator::default();
/// stats.record_slice(&[1_900, 2_100, 2_000]);
/// assert_eq!(stats.moments().mean(), Some(2_000.0));
/// assert_eq!(stats.histogram().quantile(0.5), Some(2_000));
/// assert_eq!(stats.window().summary(&[]).count, 3);
/// ```
#[derive(Clone, Debug)]
pub struct Accumulator {
    histogram: LatencyHistogram,
    /// Has the moments too.
    dependence: Dependence,
    window: CountWindow,
    thresholds: ThresholdCounter,
    /// How the samples above each threshold come, and the deadlines that passed without a sample, in the
    /// order of the counter.
    late: Vec<Late>,
    psquare: Option<PSquare>,
    recent_max: Option<u64>,
}

#[derive(Clone, Debug)]
struct Late {
    exceedances: Exceedances,
    unsampled: u64,
}

/// What is known of the samples above one threshold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Above {
    /// The threshold in ns.
    pub threshold_ns: u64,
    /// The samples strictly above it, exact.
    pub count: u64,
    /// What passed above it without a sample: see [`Accumulator::record_unsampled`].
    pub unsampled: u64,
    /// The number of independent samples that would say as much about the share of those above. `None` from
    /// too few samples, and where none was above: nothing is known of how they would come.
    pub effective: Option<f64>,
}

impl Default for Accumulator {
    fn default() -> Self {
        Self::new(&Keep::default())
    }
}

impl Accumulator {
    /// The quantiles of which the dependence is followed, so that they can have intervals, with their names.
    pub const QUANTILES: [(&str, f64); 7] = [
        ("p5", 0.05),
        ("p50", 0.5),
        ("p90", 0.9),
        ("p99", 0.99),
        ("p99.9", 0.999),
        ("p99.99", 0.9999),
        ("p99.999", 0.99999),
    ];

    /// The number of samples in the moving window.
    pub const WINDOW: usize = 1_024;

    /// Takes the memory.
    pub fn new(keep: &Keep) -> Self {
        let thresholds = ThresholdCounter::new(&keep.thresholds_ns);
        let late = |(threshold, _)| Late {
            exceedances: Exceedances::of_threshold(threshold),
            unsampled: 0,
        };
        Self {
            histogram: LatencyHistogram::default(),
            dependence: Dependence::new(&Self::QUANTILES.map(|(_, p)| p)),
            window: CountWindow::new(Self::WINDOW),
            late: thresholds.counts().map(late).collect(),
            thresholds,
            psquare: keep.psquare.then(PSquare::default),
            recent_max: None,
        }
    }

    /// Records latencies in ns, in the order in which they were measured.
    ///
    /// Hot: it allocates nothing. The cost a sample falls with the length of the slice, up to 256.
    pub fn record_slice(&mut self, ns: &[u64]) {
        let mut block = [0.0; BLOCK];
        for part in ns.chunks(BLOCK) {
            let values = &mut block[..part.len()];
            for (value, &x) in values.iter_mut().zip(part) {
                *value = x as f64;
            }
            let max = part.iter().copied().max().unwrap_or(0);
            self.recent_max = self.recent_max.max(Some(max));
            self.histogram.record_slice(part);
            self.dependence
                .extend_up_to(max, part, values, &self.histogram);
            self.window.extend_from_slice(values);
            if !self.late.is_empty() {
                self.thresholds.record_slice(part);
            }
            for late in &mut self.late {
                late.exceedances.extend_up_to(max, part, &self.histogram);
            }
            if let Some(psquare) = &mut self.psquare {
                psquare.extend_from_slice(values);
            }
        }
    }

    /// Records `n` deadlines that passed after the samples so far and have none, `late` of which were served
    /// later than a threshold: they matter for the thresholds alone.
    ///
    /// Hot: it allocates nothing.
    pub fn record_unsampled(&mut self, n: u64, late: impl Fn(u64) -> u64) {
        for ((threshold, _), of) in self.thresholds.counts().zip(&mut self.late) {
            let above = late(threshold).min(n);
            of.exceedances.extend_unsampled(true, above);
            of.exceedances.extend_unsampled(false, n - above);
            of.unsampled += above;
        }
    }

    /// The number of samples.
    pub fn count(&self) -> u64 {
        self.histogram.count()
    }

    /// The moments of all samples.
    pub fn moments(&self) -> &Moments {
        self.dependence.moments()
    }

    /// The histogram of all samples.
    pub const fn histogram(&self) -> &LatencyHistogram {
        &self.histogram
    }

    /// How the samples depend on each other.
    pub const fn dependence(&self) -> &Dependence {
        &self.dependence
    }

    /// The number of independent samples that would say as much about the highest quantile that has samples
    /// enough beyond it.
    pub fn tail_effective_samples(&self) -> Option<f64> {
        let tau = self.dependence.highest()?.autocorrelation_time()?;
        Some(self.count() as f64 / tau)
    }

    /// The latest samples; mutable, because a summary sorts a copy that the window holds.
    pub const fn window(&mut self) -> &mut CountWindow {
        &mut self.window
    }

    /// The P-square estimates, where they were asked for.
    pub const fn psquare(&self) -> Option<&PSquare> {
        self.psquare.as_ref()
    }

    /// What is known of each threshold, in ascending order.
    pub fn above(&self) -> impl Iterator<Item = Above> + '_ {
        let counts = self.thresholds.counts().zip(&self.late);
        counts.map(|((threshold_ns, count), late)| Above {
            threshold_ns,
            count,
            unsampled: late.unsampled,
            effective: late
                .exceedances
                .effective_samples()
                .filter(|_| count + late.unsampled > 0),
        })
    }

    /// The largest latency since the last call, which is then forgotten.
    pub const fn take_recent_max(&mut self) -> Option<u64> {
        self.recent_max.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keep() -> Keep {
        Keep {
            thresholds_ns: vec![900, 500],
            psquare: true,
        }
    }

    #[test]
    fn every_part_sees_every_sample() {
        let mut stats = Accumulator::new(&keep());
        let ns: Vec<u64> = (1..=2000).collect();
        stats.record_slice(&ns);
        stats.record_slice(&[]);
        assert_eq!((stats.count(), stats.moments().count()), (2000, 2000));
        assert_eq!(stats.moments().mean(), Some(1000.5));
        assert_eq!(stats.psquare().map(PSquare::count), Some(2000));
        let window = stats.window().summary(&[0.5]);
        assert_eq!(window.count, 1_024);
        assert_eq!(window.quantiles, [(0.5, Some(1488.0))]);
        let worth = stats.dependence().worth_of_mean().unwrap();
        assert!(worth.effective_samples() < 200.0);
        assert_eq!(stats.take_recent_max(), Some(2000));
        assert_eq!(stats.take_recent_max(), None);
        let above: Vec<_> = stats.above().map(|a| (a.threshold_ns, a.count)).collect();
        assert_eq!(above, [(500, 1500), (900, 1100)]);
    }

    #[test]
    fn deadlines_without_a_sample_count_above_their_thresholds_alone() {
        let mut stats = Accumulator::new(&keep());
        stats.record_slice(&[400; 300]);
        assert!(stats.above().all(|above| above.effective.is_none()));
        stats.record_slice(&[2_000]);
        stats.record_unsampled(4, |threshold| if threshold == 500 { 3 } else { 9 });
        let above: Vec<_> = stats.above().map(|a| (a.count, a.unsampled)).collect();
        assert_eq!(above, [(1, 3), (1, 4)]);
        assert!(stats.above().all(|above| above.effective.is_some()));
        assert_eq!(stats.count(), 301);
    }

    #[test]
    fn the_largest_integer_passes_through_every_part() {
        let mut stats = Accumulator::new(&keep());
        stats.record_slice(&[u64::MAX; 300]);
        assert_eq!(stats.histogram().clamped(), 300);
        assert_eq!(stats.moments().variance(), Some(0.0));
        let estimate = stats.psquare().and_then(|psquare| psquare.estimate(1));
        assert_eq!(estimate, Some(u64::MAX as f64));
    }

    #[test]
    fn psquare_is_kept_only_where_it_was_asked_for() {
        assert!(Accumulator::default().psquare().is_none());
    }
}
