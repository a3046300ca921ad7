// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What is watched of one thread's samples beyond their figures: precision, and the threshold.

use std::collections::VecDeque;

use punctual_model::{Interval, Nanos, PrecisionState, Sample, ThreadSample};
use punctual_stats::{PSquare, StopRule, TargetState};

use crate::stream::Stream;

/// Samples kept for the surroundings of one above the threshold, by thread.
const RECENT: usize = 64;

/// One thread as the recorder sees it.
#[derive(Debug)]
pub(super) struct Follower {
    pub(super) stream: Stream,
    watched: Watched,
    /// Watches the precision targets, if there are any.
    rule: Option<StopRule>,
    precise: bool,
}

/// The samples around a threshold.
#[derive(Debug)]
struct Watched {
    threshold: Option<Nanos>,
    recent: VecDeque<Sample>,
    hit: Option<Sample>,
}

impl Follower {
    /// Takes the memory.
    pub(super) fn new(stream: Stream, rule: Option<StopRule>, threshold: Option<Nanos>) -> Self {
        Self {
            stream,
            watched: Watched {
                threshold,
                recent: VecDeque::with_capacity(RECENT),
                hit: None,
            },
            rule,
            precise: false,
        }
    }

    /// Takes the samples in that are there, oldest first, and passes them on to `total` and `each`.
    pub(super) fn take(
        &mut self,
        mut total: Option<&mut PSquare>,
        mut each: impl FnMut(&[Sample]),
    ) {
        let (rule, watched) = (&mut self.rule, &mut self.watched);
        self.stream.drain_with(|block, ns, stats| {
            if let Some(rule) = rule {
                rule.extend(ns, stats.histogram());
            }
            if let Some(total) = &mut total {
                #[expect(clippy::cast_precision_loss, reason = "exact below 104 days")]
                ns.iter().for_each(|ns| total.push(*ns as f64));
            }
            watched.take(block);
            each(block);
        });
    }

    /// Looks whether the figures are precise enough, if a look is due, and says so; a run without
    /// targets never is.
    pub(super) fn is_precise(&mut self) -> bool {
        if let Some(rule) = &mut self.rule
            && rule.is_due()
        {
            let states = rule.look(self.stream.tally());
            self.precise = states.iter().all(|state| state.met);
        }
        self.precise
    }

    /// Returns the state of each precision target.
    pub(super) fn precision(&self) -> Vec<PrecisionState> {
        let stats = self.stream.tally();
        let states = self.rule.as_ref().map(|rule| rule.evaluate(stats));
        let state = |state: TargetState| PrecisionState {
            target: state.target.to_string(),
            thread: self.stream.thread(),
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

    /// Returns the first sample above the threshold.
    pub(super) fn hit(&self) -> Option<ThreadSample> {
        self.watched.hit.map(|sample| self.name(sample))
    }

    /// Returns the latest samples, for the surroundings of a hit.
    pub(super) fn recent(&self) -> impl Iterator<Item = ThreadSample> + '_ {
        self.watched.recent.iter().map(|sample| self.name(*sample))
    }

    const fn name(&self, sample: Sample) -> ThreadSample {
        ThreadSample {
            thread: self.stream.thread(),
            t_ns: sample.t_ns,
            latency_ns: sample.latency_ns,
            cpu: sample.cpu,
        }
    }

    /// Returns the number of samples and the time between deadlines.
    pub(super) fn pace(&self) -> (u64, Nanos) {
        (self.stream.tally().count(), self.stream.interval())
    }
}

impl Watched {
    /// Keeps the latest samples, and the first above the threshold.
    fn take(&mut self, samples: &[Sample]) {
        let Some(threshold) = self.threshold else {
            return;
        };
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
}
