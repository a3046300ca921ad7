// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The figures of one thread, kept up by the recorder.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use punctual_model::{
    Interval, Misses, Nanos, PrecisionState, Sample, Series, SeriesProgress, ThreadSample,
};
use punctual_stats::{Accumulator, Keep, LatencyHistogram, PSquare, StopRule, TargetState};

use crate::cyclic::Counts;
use crate::figures::{self, worst};
use crate::stream::BLOCK;
use crate::worker::Role;

/// Samples kept for the surroundings of one above the threshold, by thread.
const RECENT: usize = 64;

/// One thread's figures.
#[derive(Debug)]
pub(crate) struct ThreadStats {
    role: Role,
    counts: Arc<Counts>,
    /// With the deadlines as thresholds.
    stats: Accumulator,
    /// Watches the precision targets, if there are any.
    rule: Option<StopRule>,
    precise: bool,
    last: Option<Sample>,
    recent: VecDeque<Sample>,
    hit: Option<Sample>,
}

impl ThreadStats {
    /// Takes the memory for `role`'s figures.
    pub(crate) fn new(role: Role, psquare: bool, rule: Option<StopRule>) -> Self {
        let keep = Keep {
            thresholds_ns: role.spec.deadlines_ns.iter().map(|d| d.get()).collect(),
            psquare,
        };
        Self {
            counts: Arc::clone(&role.counts),
            stats: Accumulator::new(&keep),
            rule,
            precise: false,
            last: None,
            recent: VecDeque::with_capacity(RECENT),
            hit: None,
            role,
        }
    }

    /// Takes samples in, oldest first, and passes their values on to `total`, if there is one.
    pub(crate) fn absorb(&mut self, samples: &[Sample], mut total: Option<&mut PSquare>) {
        for part in samples.split_inclusive(|sample| sample.skipped > 0) {
            for block in part.chunks(BLOCK) {
                self.take(block, total.as_deref_mut());
            }
            if let Some(stall) = part.last() {
                let interval = self.role.interval.get().max(1);
                self.stats
                    .record_unsampled(stall.skipped.into(), |deadline| {
                        late_overruns(stall, interval, deadline)
                    });
            }
        }
        self.last = samples.last().copied().or(self.last);
        if let Some(threshold) = self.role.spec.on_threshold_ns {
            self.watch(samples, threshold);
        }
    }

    /// Takes one block of samples in.
    fn take(&mut self, block: &[Sample], total: Option<&mut PSquare>) {
        let mut ns = [0_u64; BLOCK];
        for (ns, sample) in ns.iter_mut().zip(block) {
            *ns = sample.latency_ns;
        }
        let ns = &ns[..block.len()];
        self.stats.record_slice(ns);
        if let Some(rule) = &mut self.rule {
            rule.extend(ns, self.stats.histogram());
        }
        if let Some(total) = total {
            #[expect(clippy::cast_precision_loss, reason = "exact below 104 days")]
            ns.iter().for_each(|ns| total.push(*ns as f64));
        }
    }

    /// Looks whether the figures are precise enough, if a look is due, and says so; a run without
    /// targets never is.
    pub(crate) fn is_precise(&mut self) -> bool {
        if let Some(rule) = &mut self.rule
            && rule.is_due()
        {
            let states = rule.look(self.stats.histogram(), self.stats.moments());
            self.precise = states.iter().all(|state| state.met);
        }
        self.precise
    }

    /// Returns the state of each precision target.
    pub(crate) fn precision(&self) -> Vec<PrecisionState> {
        let states = self
            .rule
            .as_ref()
            .map(|rule| rule.evaluate(self.stats.histogram(), self.stats.moments()));
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
        (self.stats.count(), self.role.interval)
    }

    /// Returns the histogram.
    pub(crate) const fn histogram(&self) -> &LatencyHistogram {
        self.stats.histogram()
    }

    /// Returns the largest sample.
    pub(crate) fn worst(&self) -> Option<Nanos> {
        self.stats.histogram().max().map(Nanos::new)
    }

    /// Returns the figures up to now.
    pub(crate) fn progress(&mut self) -> SeriesProgress {
        SeriesProgress {
            thread: self.role.index,
            cpu: self.last.map(|s| s.cpu).or(self.role.pinned_to),
            policy: self.role.policy.to_string(),
            interval_ns: self.role.interval,
            last_ns: self.last.map(|s| s.latency_ns),
            overruns: self.counts.overruns.load(Ordering::Relaxed),
            lost: self.counts.lost.load(Ordering::Relaxed),
            ..figures::progress(&mut self.stats)
        }
    }

    /// Returns the final figures.
    pub(crate) fn series(&self, policy: String) -> Series {
        let mut series = figures::series(&self.stats);
        series.thread = Some(self.role.index);
        series.cpu = self.role.pinned_to;
        series.policy = Some(policy);
        series.interval_ns = Some(self.role.interval);
        series.overruns = Some(self.counts.overruns.load(Ordering::Relaxed));
        series.lost = Some(self.counts.lost.load(Ordering::Relaxed));
        let early = self.counts.early.load(Ordering::Relaxed);
        series.clamped = series.clamped.map(|n| n + early);
        series.warm_up_samples = Some(self.counts.warm_up.load(Ordering::Relaxed));
        series.misses = figures::misses(&self.stats);
        series
    }
}

/// Returns the figures of all threads together. `psquare` has seen all samples, block by block in
/// the order in which the recorder took them.
pub(crate) fn total(
    threads: &[ThreadStats],
    series: &[Series],
    psquare: Option<&PSquare>,
) -> Series {
    let parts: Vec<&Accumulator> = threads.iter().map(|t| &t.stats).collect();
    let mut total = figures::total(&parts);
    if let Some(psquare) = psquare {
        figures::add_psquare(&mut total, psquare, &parts);
    }
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
