// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The figures of one thread, kept up by the recorder.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use punctual_model::{
    Interval, Misses, Nanos, PrecisionState, Sample, Series, SeriesProgress, ThreadSample,
    WindowFigures,
};
use punctual_stats::{
    CountWindow, Exceedances, LatencyHistogram, PSquare, StopRule, TargetState, ThresholdCounter,
};

use crate::cyclic::Counts;
use crate::tally::{BLOCK, Tally, together, worst};
use crate::worker::Role;

/// Samples in the moving window.
const WINDOW: usize = 1_024;

/// Samples kept for the surroundings of one above the threshold, by thread.
const RECENT: usize = 64;

/// One thread's figures.
#[derive(Debug)]
pub(crate) struct ThreadStats {
    role: Role,
    counts: Arc<Counts>,
    tally: Tally,
    window: CountWindow,
    misses: ThresholdCounter,
    /// How the misses of each deadline depend on each other, in the order of the counter.
    late: Vec<Exceedances>,
    /// Overruns later than each deadline, in the order of the counter.
    late_overruns: Vec<u64>,
    /// Watches the precision targets, if there are any.
    rule: Option<StopRule>,
    precise: bool,
    last: Option<Sample>,
    recent: VecDeque<Sample>,
    hit: Option<Sample>,
}

impl ThreadStats {
    /// Takes the memory for `role`'s figures.
    pub(crate) fn new(role: Role, rule: Option<StopRule>) -> Self {
        let deadlines: Vec<u64> = role.spec.deadlines_ns.iter().map(|d| d.get()).collect();
        let misses = ThresholdCounter::new(&deadlines);
        Self {
            counts: Arc::clone(&role.counts),
            tally: Tally::new(),
            window: CountWindow::new(WINDOW),
            late: misses
                .counts()
                .map(|(deadline, _)| Exceedances::of_threshold(deadline))
                .collect(),
            late_overruns: vec![0; misses.counts().count()],
            misses,
            rule,
            precise: false,
            last: None,
            recent: VecDeque::with_capacity(RECENT),
            hit: None,
            role,
        }
    }

    /// Takes samples in, oldest first, and passes their values on to `total`.
    pub(crate) fn absorb(&mut self, samples: &[Sample], total: &mut PSquare) {
        for block in samples.chunks(BLOCK) {
            let mut ns = [0_u64; BLOCK];
            let mut values = [0_f64; BLOCK];
            for ((ns, value), sample) in ns.iter_mut().zip(&mut values).zip(block) {
                *ns = sample.latency_ns;
                #[expect(clippy::cast_precision_loss, reason = "exact below 104 days")]
                {
                    *value = sample.latency_ns as f64;
                }
            }
            let (ns, values) = (&ns[..block.len()], &values[..block.len()]);
            self.tally.take(ns, values);
            self.window.extend_from_slice(values);
            self.misses.record_slice(ns);
            self.follow_misses(block);
            if let Some(rule) = &mut self.rule {
                rule.extend(ns, self.tally.histogram());
            }
            total.extend_from_slice(values);
        }
        self.last = samples.last().copied().or(self.last);
        if let Some(threshold) = self.role.spec.on_threshold_ns {
            self.watch(samples, threshold);
        }
    }

    /// Follows the misses of each deadline, and counts those of the deadlines that a stall skipped by
    /// how late it came for them.
    fn follow_misses(&mut self, samples: &[Sample]) {
        let interval = self.role.interval.get().max(1);
        let deadlines = self.misses.counts().map(|(deadline, _)| deadline);
        for ((deadline, late), count) in deadlines.zip(&mut self.late).zip(&mut self.late_overruns)
        {
            for sample in samples {
                late.extend(&[sample.latency_ns], self.tally.histogram());
                if sample.skipped > 0 {
                    let missed = late_overruns(sample, interval, deadline);
                    late.extend_unsampled(true, missed);
                    late.extend_unsampled(false, u64::from(sample.skipped) - missed);
                    *count += missed;
                }
            }
        }
    }

    /// Looks whether the figures are precise enough, if a look is due, and says so; a run without
    /// targets never is.
    pub(crate) fn is_precise(&mut self) -> bool {
        if let Some(rule) = &mut self.rule
            && rule.is_due()
        {
            let states = rule.look(self.tally.histogram(), self.tally.moments());
            self.precise = states.iter().all(|state| state.met);
        }
        self.precise
    }

    /// Returns the state of each precision target.
    pub(crate) fn precision(&self) -> Vec<PrecisionState> {
        let states = self
            .rule
            .as_ref()
            .map(|rule| rule.evaluate(self.tally.histogram(), self.tally.moments()));
        let state = |state: TargetState| PrecisionState {
            target: state.target.to_string(),
            thread: self.role.index,
            estimate_ns: state.estimate,
            interval_ns: state.low.zip(state.high).map(|(low, high)| Interval {
                low,
                high,
                confidence: state.target.confidence,
            }),
            effective_samples: state.effective_samples,
            met: state.met,
        };
        states.into_iter().flatten().map(state).collect()
    }

    /// Keeps the latest samples, and the first above the threshold.
    fn watch(&mut self, samples: &[Sample], threshold: Nanos) {
        for sample in samples {
            if self.recent.len() == RECENT {
                self.recent.pop_front();
            }
            self.recent.push_back(*sample);
            if sample.latency_ns > threshold.get() && self.hit.is_none() {
                self.hit = Some(*sample);
            }
        }
    }

    /// Returns the first sample above the threshold.
    pub(crate) fn hit(&self) -> Option<ThreadSample> {
        self.hit.map(|sample| self.name(sample))
    }

    /// Returns the latest samples, for the surroundings of a hit.
    pub(crate) fn recent(&self) -> impl Iterator<Item = ThreadSample> + '_ {
        self.recent.iter().map(|sample| self.name(*sample))
    }

    const fn name(&self, sample: Sample) -> ThreadSample {
        ThreadSample {
            thread: self.role.index,
            t_ns: sample.t_ns,
            latency_ns: sample.latency_ns,
            cpu: sample.cpu,
        }
    }

    /// Returns the number of samples and the time between deadlines.
    pub(crate) fn pace(&self) -> (u64, Nanos) {
        (self.tally.moments().count(), self.role.interval)
    }

    /// Returns the histogram.
    pub(crate) const fn histogram(&self) -> &LatencyHistogram {
        self.tally.histogram()
    }

    /// Returns the largest sample.
    pub(crate) fn worst(&self) -> Option<Nanos> {
        self.tally.histogram().max().map(Nanos::new)
    }

    /// Returns the figures up to now.
    pub(crate) fn progress(&mut self) -> SeriesProgress {
        let window = self.window.summary(&[0.99]);
        SeriesProgress {
            thread: self.role.index,
            cpu: self.last.map(|s| s.cpu).or(self.role.pinned_to),
            policy: self.role.policy.to_string(),
            interval_ns: self.role.interval,
            count: self.tally.moments().count(),
            min_ns: self.tally.histogram().min(),
            last_ns: self.last.map(|s| s.latency_ns),
            mean_ns: self.tally.moments().mean(),
            p99_ns: self.tally.histogram().quantile(0.99),
            max_ns: self.tally.histogram().max(),
            overruns: self.counts.overruns.load(Ordering::Relaxed),
            lost: self.counts.lost.load(Ordering::Relaxed),
            window: Some(WindowFigures {
                count: window.count,
                mean_ns: window.mean,
                stddev_ns: window.std_dev,
                skewness: window.skewness,
                excess_kurtosis: window.excess_kurtosis,
                p99_ns: window.quantiles.first().and_then(|(_, q)| *q),
                max_ns: window.max,
            }),
            recent_max_ns: self.tally.take_recent_max(),
            steps: self.tally.steps(),
        }
    }

    fn misses(&self) -> Vec<Misses> {
        let late = self.late_overruns.iter().zip(&self.late);
        self.misses
            .counts()
            .zip(late)
            .map(|((deadline, count), (overruns, late))| Misses {
                deadline_ns: Nanos::new(deadline),
                count,
                overruns: *overruns,
                // Of none missed nothing is known of how they would come.
                effective: late.effective_samples().filter(|_| count + overruns > 0),
            })
            .collect()
    }

    /// Returns the final figures.
    pub(crate) fn series(&self, policy: String) -> Series {
        let mut series = self.tally.series();
        series.thread = Some(self.role.index);
        series.cpu = self.role.pinned_to;
        series.policy = Some(policy);
        series.interval_ns = Some(self.role.interval);
        series.overruns = Some(self.counts.overruns.load(Ordering::Relaxed));
        series.lost = Some(self.counts.lost.load(Ordering::Relaxed));
        let early = self.counts.early.load(Ordering::Relaxed);
        series.clamped = series.clamped.map(|n| n + early);
        series.warm_up_samples = Some(self.counts.warm_up.load(Ordering::Relaxed));
        series.misses = self.misses();
        series
    }
}

/// Returns the figures of all threads together. `psquare` has seen all samples, block by block in
/// the order in which the recorder took them.
pub(crate) fn total(threads: &[ThreadStats], series: &[Series], psquare: &PSquare) -> Series {
    let mut total = together(threads.iter().map(|t| &t.tally), psquare);
    let sum = |count: fn(&Series) -> Option<u64>| series.iter().map(count).sum();
    total.overruns = sum(|part| part.overruns);
    total.lost = sum(|part| part.lost);
    total.warm_up_samples = sum(|part| part.warm_up_samples);
    for part in series {
        add_misses(&mut total.misses, &part.misses);
    }
    total.clamped = sum(|part| part.clamped);
    total
}

/// Adds one thread's misses; all threads have the deadlines of one specification.
fn add_misses(total: &mut Vec<Misses>, part: &[Misses]) {
    if total.is_empty() {
        total.extend_from_slice(part);
        return;
    }
    for (sum, misses) in total.iter_mut().zip(part) {
        sum.count += misses.count;
        sum.overruns += misses.overruns;
        sum.effective = worst(sum.effective, misses.effective);
    }
}

/// Returns how many of the deadlines that `stall` skipped were served more than `deadline` late.
///
/// The first one skipped was due one interval after the sample's own: it waited `interval` less.
fn late_overruns(stall: &Sample, interval: u64, deadline: u64) -> u64 {
    // The number of n >= 1 with latency - n * interval > deadline.
    let beyond = stall.latency_ns.saturating_sub(deadline);
    u64::from(stall.skipped).min(beyond.saturating_sub(1) / interval)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stall_counts_every_deadline_that_it_made_late() {
        let stall = Sample {
            latency_ns: 3_500,
            skipped: 3,
            ..Sample::default()
        };
        // Due 1000, 2000 and 3000 after the sample's own deadline: 2500, 1500 and 500 late.
        for (deadline, late) in [
            (0, 3),
            (499, 3),
            (500, 2),
            (1_500, 1),
            (2_499, 1),
            (2_500, 0),
        ] {
            assert_eq!(late_overruns(&stall, 1_000, deadline), late, "{deadline}");
        }
        assert_eq!(late_overruns(&stall, 1_000, u64::MAX), 0);
    }
}
