// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The recorder: takes the samples out of the rings, keeps the figures, watches for the end.
//!
//! It runs on a thread of its own, on the housekeeping CPUs, with an ordinary policy. It wakes a
//! few times a second; the rings hold seconds. Whoever shows or stores what it says may be slow:
//! the way there is a queue, and only its memory grows.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::time::Duration;

use punctual_model::{
    Ended, Event, Nanos, Ordered as _, PrecisionState, Progress, RunSpec, Sample, ThresholdHit,
};
use punctual_stats::PSquare;
use punctual_sys::clock;

use super::follow::Follower;
use super::worker::Slept;
use crate::crew::{Crew, ThreadReport};
use crate::cyclic::Shared;
use crate::error::MeasureError;
use crate::interim_checks::standing;
use crate::pacing::{EndWith, Pacing};
use crate::steadiness::Steadiness;

/// Time between two looks while the threads are asked to end.
const ENDING_TICK: Duration = Duration::from_millis(5);

/// Time that the other threads have where the first one to finish ends the run.
const LAST_CALL: Nanos = Nanos::from_millis(10);

/// What the recorder says.
#[derive(Debug)]
pub(super) enum Message {
    /// For the listener.
    Event(Event),
    /// For the listener: samples of a thread.
    Samples(u32, Vec<Sample>),
    /// For the listener: that was all up to now.
    Tick,
}

/// The recorder's state.
#[derive(Debug)]
pub(super) struct Recorder {
    pub(super) spec: Arc<RunSpec>,
    pub(super) followers: Vec<Follower>,
    pub(super) crew: Crew<Slept>,
    pub(super) total: Option<PSquare>,
    pub(super) shared: Arc<Shared>,
    pub(super) stop: Arc<AtomicBool>,
    pub(super) out: Sender<Message>,
    pub(super) origin: Nanos,
    pub(super) progress_every: Nanos,
    pub(super) pacing: Pacing,
}

/// What the recorder leaves when the run is over.
#[derive(Debug)]
pub(super) struct Recorded {
    pub(super) followers: Vec<Follower>,
    pub(super) threads: Result<Vec<(Slept, ThreadReport)>, MeasureError>,
    pub(super) total: Option<PSquare>,
    pub(super) ended: Ended,
    pub(super) duration: Nanos,
    pub(super) hit: Option<ThresholdHit>,
    pub(super) precision: Vec<PrecisionState>,
    pub(super) watch: Steadiness,
}

impl Recorder {
    /// Records until every measuring thread is done.
    pub(super) fn run(mut self) -> Recorded {
        let mut ended = Ended::Completed;
        let mut ending = false;
        let mut next_progress = self.progress_every;
        let mut watch = Steadiness::new(self.spec.clock, self.origin);
        let mut last_call = None;
        loop {
            watch.look();
            let finished = self.crew.done();
            let done = finished == self.followers.len();
            self.drain();
            if self.pacing.tell_ticks {
                // A closed queue means that the listener failed and the run is ending.
                drop(self.out.send(Message::Tick));
            }
            if done {
                break;
            }
            let now = self.elapsed();
            if !ending {
                if self.stop.load(Ordering::Relaxed) {
                    ended = Ended::Interrupted;
                    ending = true;
                } else if self.is_precise() {
                    ended = Ended::Precision;
                    ending = true;
                } else if self.pacing.end == EndWith::First && finished > self.out_of_time(now) {
                    ending = now >= *last_call.get_or_insert(now + LAST_CALL);
                }
            }
            if ending {
                self.shared.stop();
            }
            if ending || self.shared.threshold_was_hit() {
                self.crew.interrupt();
            }
            if now >= next_progress {
                // Late looks do not pile up.
                next_progress = now + self.progress_every;
                self.say_progress(now, &watch);
            }
            let hurried = ending || last_call.is_some();
            let tick = self.pacing.tick;
            std::thread::park_timeout(if hurried { ENDING_TICK } else { tick });
        }
        self.finish(ended, watch)
    }

    fn elapsed(&self) -> Nanos {
        clock::read(self.spec.clock) - self.origin
    }

    /// Counts the threads that may be done because no deadline is left in the run's time.
    fn out_of_time(&self, now: Nanos) -> usize {
        let Some(duration) = self.spec.duration_ns else {
            return 0;
        };
        let end = self.spec.warm_up_ns + duration;
        let last = |f: &&Follower| now + f.stream.interval() >= end;
        self.followers.iter().filter(last).count()
    }

    /// Empties the rings, one after the other: each holds seconds, and this takes milliseconds.
    fn drain(&mut self) {
        for (index, follower) in (0_u32..).zip(&mut self.followers) {
            let mut raw = Vec::new();
            let keep = self.spec.raw;
            follower.take(self.total.as_mut(), |block| {
                if keep {
                    raw.extend_from_slice(block);
                }
            });
            if !raw.is_empty() {
                // A closed queue means that the listener failed and the run is ending.
                drop(self.out.send(Message::Samples(index, raw)));
            }
        }
    }

    fn say_progress(&mut self, now: Nanos, watch: &Steadiness) {
        let (done, left) = self.done(now);
        let precision = self.precision();
        let followers = self.followers.iter_mut();
        let series: Vec<_> = followers.map(|f| f.stream.progress()).collect();
        let progress = Progress {
            t_ns: now,
            done,
            left_ns: left,
            checks: standing(&series, &[], watch, self.spec.clock),
            series,
            precision,
            ..Progress::default()
        };
        drop(self.out.send(Message::Event(Event::Progress(progress))));
    }

    /// Returns the part that is done and the time left, by whichever bound comes first.
    #[expect(clippy::cast_precision_loss, reason = "for display")]
    fn done(&self, now: Nanos) -> (Option<f64>, Option<Nanos>) {
        let by_time = self.spec.duration_ns.map(|duration| {
            let all = self.spec.warm_up_ns + duration;
            (now.get() as f64 / all.get().max(1) as f64, all - now)
        });
        let by_samples = self.spec.samples.map(|wanted| {
            // The slowest thread decides.
            let parts = self.followers.iter().map(|follower| {
                let (count, interval) = follower.pace();
                let missing = wanted.saturating_sub(count);
                (count as f64 / wanted.max(1) as f64, interval.times(missing))
            });
            parts.fold((1.0_f64, Nanos::ZERO), |(done, left), (d, l)| {
                (done.min(d), left.max(l))
            })
        });
        let earlier = match (by_time, by_samples) {
            (Some(a), Some(b)) => Some(if a.1 <= b.1 { a } else { b }),
            (a, b) => a.or(b),
        };
        earlier.map_or((None, None), |(done, left)| {
            (Some(done.clamp(0.0, 1.0)), Some(left))
        })
    }

    /// Whether every thread's figures are precise enough.
    fn is_precise(&mut self) -> bool {
        // Every thread looks when its look is due, also after one that is not precise.
        let looks = self.followers.iter_mut().map(Follower::is_precise);
        looks.filter(|precise| !precise).count() == 0
    }

    fn precision(&self) -> Vec<PrecisionState> {
        self.followers
            .iter()
            .flat_map(Follower::precision)
            .collect()
    }

    fn finish(mut self, ended: Ended, watch: Steadiness) -> Recorded {
        let duration = watch.elapsed();
        // What came since the progress before belongs to the run as much as the rest.
        self.say_progress(duration, &watch);
        let precision = self.precision();
        let hit = self.threshold_hit();
        let ended = if hit.is_some() {
            Ended::Threshold
        } else {
            ended
        };
        if let Some(hit) = &hit {
            drop(self.out.send(Message::Event(Event::Threshold(hit.clone()))));
        }
        Recorded {
            followers: self.followers,
            threads: self.crew.join(),
            total: self.total,
            ended,
            duration,
            hit,
            precision,
            watch,
        }
    }

    fn threshold_hit(&self) -> Option<ThresholdHit> {
        let threshold_ns = self.spec.on_threshold_ns?;
        let hits = self.followers.iter().filter_map(Follower::hit);
        let sample = hits.min_by_key(|sample| sample.t_ns)?;
        let mut around: Vec<_> = self.followers.iter().flat_map(Follower::recent).collect();
        around.order_by_key(|sample| sample.t_ns);
        Some(ThresholdHit {
            threshold_ns,
            sample,
            around,
        })
    }
}
