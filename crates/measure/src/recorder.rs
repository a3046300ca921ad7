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
use std::thread::JoinHandle;
use std::time::Duration;

use punctual_model::{
    Ended, Event, Nanos, PrecisionState, Progress, RunSpec, Sample, ThresholdHit,
};
use punctual_stats::PSquare;
use punctual_sys::clock;
use punctual_sys::thread::Tid;
use rtrb::Consumer;

use crate::cyclic::Shared;
use crate::pacing::{EndWith, Pacing};
use crate::series::ThreadStats;
use crate::standing::standing;
use crate::watch::Watch;
use crate::worker::Finished;

/// Time between two looks while the threads are asked to end.
const ENDING_TICK: Duration = Duration::from_millis(5);

/// Time that the other threads have where the first one to finish ends the run.
const LAST_CALL: Nanos = Nanos::from_millis(10);

/// A stall of the recorder that the rings must survive.
const RING_SPAN: Nanos = Nanos::from_secs(4);

/// Returns how many samples a thread's ring holds: 4 s of them, but 1 Ki at least and 256 Ki
/// (6 MiB) at most.
pub(crate) fn ring_slots(interval: Nanos) -> usize {
    let samples = RING_SPAN.get() / interval.get().max(1);
    usize::try_from(samples).map_or(1 << 18, |n| n.clamp(1 << 10, 1 << 18))
}

/// What the recorder says.
#[derive(Debug)]
pub(crate) enum Message {
    /// For the listener.
    Event(Event),
    /// For the listener: samples of a thread.
    Samples(u32, Vec<Sample>),
    /// For the listener: that was all up to now.
    Tick,
}

/// A measuring thread as the recorder sees it.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) ring: Consumer<Sample>,
    pub(crate) stats: ThreadStats,
    pub(crate) thread: JoinHandle<Option<Finished>>,
    pub(crate) tid: Option<Tid>,
}

/// The recorder's state.
#[derive(Debug)]
pub(crate) struct Recorder {
    pub(crate) spec: Arc<RunSpec>,
    pub(crate) sources: Vec<Source>,
    pub(crate) total: Option<PSquare>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) stop: Arc<AtomicBool>,
    pub(crate) out: Sender<Message>,
    pub(crate) origin: Nanos,
    pub(crate) progress_every: Nanos,
    pub(crate) pacing: Pacing,
}

/// What the recorder leaves when the run is over.
#[derive(Debug)]
pub(crate) struct Recorded {
    pub(crate) stats: Vec<ThreadStats>,
    pub(crate) finished: Vec<Option<Finished>>,
    pub(crate) total: Option<PSquare>,
    pub(crate) ended: Ended,
    pub(crate) duration: Nanos,
    pub(crate) hit: Option<ThresholdHit>,
    pub(crate) precision: Vec<PrecisionState>,
    pub(crate) watch: Watch,
}

impl Recorder {
    /// Records until every measuring thread is done.
    pub(crate) fn run(mut self) -> Recorded {
        let mut buffer = vec![Sample::default(); 4_096];
        let mut ended = Ended::Completed;
        let mut ending = false;
        let mut next_progress = self.progress_every;
        let mut watch = Watch::new(self.spec.clock, self.origin);
        let mut last_call = None;
        loop {
            watch.look();
            let finished = self.sources.iter().filter(|s| s.thread.is_finished());
            let finished = finished.count();
            let done = finished == self.sources.len();
            self.drain(&mut buffer);
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
                } else if finished > 0 && self.pacing.end == EndWith::First {
                    ending = now >= *last_call.get_or_insert(now + LAST_CALL);
                }
            }
            if ending {
                self.shared.stop();
            }
            if ending || self.shared.threshold_was_hit() {
                self.sources
                    .iter()
                    .filter_map(|s| s.tid)
                    .for_each(Tid::interrupt);
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

    /// Empties the rings, round robin, so that no thread's ring waits for another's.
    fn drain(&mut self, buffer: &mut [Sample]) {
        let mut more = true;
        while more {
            more = false;
            for (index, source) in (0_u32..).zip(&mut self.sources) {
                let full = buffer.len();
                let (taken, rest) = source.ring.pop_partial_slice(buffer);
                if taken.is_empty() {
                    continue;
                }
                more |= rest.is_empty() && taken.len() == full;
                source.stats.absorb(taken, self.total.as_mut());
                if self.spec.raw {
                    // A closed queue means that the listener failed and the run is ending.
                    drop(self.out.send(Message::Samples(index, taken.to_vec())));
                }
            }
        }
    }

    fn say_progress(&mut self, now: Nanos, watch: &Watch) {
        let (done, left) = self.done(now);
        let precision = self.precision();
        let sources = self.sources.iter_mut();
        let series: Vec<_> = sources.map(|s| s.stats.progress()).collect();
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
            let parts = self.sources.iter().map(|source| {
                let (count, interval) = source.stats.pace();
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
        let looks = self.sources.iter_mut().map(|s| s.stats.is_precise());
        looks.filter(|precise| !precise).count() == 0
    }

    fn precision(&self) -> Vec<PrecisionState> {
        self.sources
            .iter()
            .flat_map(|s| s.stats.precision())
            .collect()
    }

    fn finish(mut self, ended: Ended, watch: Watch) -> Recorded {
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
        drop(self.out.send(Message::Event(Event::Ended {
            reason: ended,
            t_ns: duration,
        })));
        let mut recorded = Recorded {
            stats: Vec::with_capacity(self.sources.len()),
            finished: Vec::with_capacity(self.sources.len()),
            total: self.total,
            ended,
            duration,
            hit,
            precision,
            watch,
        };
        for source in self.sources {
            recorded.stats.push(source.stats);
            // A panic in a measuring thread is reported as a defect by the coordinator.
            recorded.finished.push(source.thread.join().ok().flatten());
        }
        recorded
    }

    fn threshold_hit(&self) -> Option<ThresholdHit> {
        let threshold_ns = self.spec.on_threshold_ns?;
        let hits = self.sources.iter().filter_map(|s| s.stats.hit());
        let sample = hits.min_by_key(|sample| sample.t_ns)?;
        let mut around: Vec<_> = self.sources.iter().flat_map(|s| s.stats.recent()).collect();
        around.sort_by_key(|sample| sample.t_ns);
        Some(ThresholdHit {
            threshold_ns,
            sample,
            around,
        })
    }
}
