// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Samples from a measuring thread to its figures, over a wait-free ring.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use punctual_model::{Check, Nanos, Sample, Series, SeriesProgress};
use punctual_stats::{Accumulator, Keep};
use rtrb::{Consumer, Producer, RingBuffer};

use crate::checks::lost_samples;
use crate::crew::Post;
use crate::figures;
use crate::recorder::ring_slots;

/// Samples that are worked on at once: they fit the first-level cache.
pub(crate) const BLOCK: usize = 256;

/// The measuring thread's end. To push is hot: it allocates nothing, locks nothing, never waits.
#[derive(Debug)]
pub struct Tap {
    ring: Producer<Sample>,
    counts: Arc<TapCounts>,
}

/// What the measuring thread counts beside its samples. Written by that thread alone.
#[derive(Debug, Default)]
#[repr(align(128))]
struct TapCounts {
    lost: AtomicU64,
    overruns: AtomicU64,
}

/// Adds without a locked instruction: there is one writer.
#[inline]
fn add(counter: &AtomicU64, n: u64) {
    counter.store(counter.load(Ordering::Relaxed) + n, Ordering::Relaxed);
}

impl Tap {
    /// Passes a sample on, or counts it as lost where the ring is full.
    #[inline]
    pub fn push(&mut self, sample: Sample) {
        if self.ring.push(sample).is_err() {
            add(&self.counts.lost, 1);
        }
    }

    /// Counts deadlines that passed while the thread was late for an earlier one.
    #[inline]
    pub fn overran(&self, deadlines: u64) {
        add(&self.counts.overruns, deadlines);
    }

    /// Makes the ring's memory present: locking does that too, but it may be off or refused.
    fn touch(&mut self) {
        // What is written is not committed, so nobody reads it.
        drop(self.ring.write_chunk(self.ring.slots()));
    }
}

/// The other end: takes the samples in and keeps their figures.
#[derive(Debug)]
pub struct Stream {
    ring: Consumer<Sample>,
    counts: Arc<TapCounts>,
    tally: Accumulator,
    last: Option<Sample>,
    thread: u32,
    post: Post,
    interval: Nanos,
}

impl Stream {
    /// Makes both ends for thread `thread`, which takes about one sample an `interval`. The ring
    /// holds some seconds of them. Its memory is present.
    pub fn pair(thread: u32, post: &Post, interval: Nanos, keep: &Keep) -> (Tap, Self) {
        let (producer, ring) = RingBuffer::new(ring_slots(interval));
        let counts = Arc::<TapCounts>::default();
        let mut tap = Tap {
            ring: producer,
            counts: Arc::clone(&counts),
        };
        tap.touch();
        let stream = Self {
            ring,
            counts,
            tally: Accumulator::new(keep),
            last: None,
            thread,
            post: post.clone(),
            interval,
        };
        (tap, stream)
    }

    /// Takes in what is there, oldest first. To be called several times a second, and once after
    /// the thread is done.
    pub fn drain(&mut self, mut each: impl FnMut(&[Sample])) {
        let ready = self.ring.slots();
        let Ok(chunk) = self.ring.read_chunk(ready) else {
            return;
        };
        let (first, second) = chunk.as_slices();
        for part in [first, second] {
            for block in part.chunks(BLOCK) {
                let mut ns = [0_u64; BLOCK];
                for (ns, sample) in ns.iter_mut().zip(block) {
                    *ns = sample.latency_ns;
                }
                self.tally.record_slice(&ns[..block.len()]);
                each(block);
            }
            self.last = part.last().copied().or(self.last);
        }
        chunk.commit_all();
    }

    /// Returns the figures without what the thread counted.
    pub const fn tally(&self) -> &Accumulator {
        &self.tally
    }

    /// Returns the number of samples that found the ring full.
    pub fn lost(&self) -> u64 {
        self.counts.lost.load(Ordering::Relaxed)
    }

    /// Returns the final figures.
    pub fn series(&self, context: Option<&str>) -> Series {
        let mut series = figures::series(&self.tally);
        series.thread = Some(self.thread);
        series.context = context.map(ToOwned::to_owned);
        series.cpu = self.pinned_to();
        series.policy = Some(self.post.policy.to_string());
        series.interval_ns = Some(self.interval);
        series.overruns = Some(self.counts.overruns.load(Ordering::Relaxed));
        series.lost = Some(self.lost());
        series.warm_up_samples = Some(0);
        series
    }

    /// Returns the figures up to now.
    pub fn progress(&mut self) -> SeriesProgress {
        SeriesProgress {
            thread: self.thread,
            cpu: self.cpu(),
            policy: self.post.policy.to_string(),
            interval_ns: self.interval,
            last_ns: self.last.map(|s| s.latency_ns),
            overruns: self.counts.overruns.load(Ordering::Relaxed),
            lost: self.lost(),
            ..figures::progress(&mut self.tally)
        }
    }

    /// Returns the CPU that the thread was last seen on, else the one it is bound to.
    pub fn cpu(&self) -> Option<u32> {
        self.last.map(|s| s.cpu).or_else(|| self.pinned_to())
    }

    fn pinned_to(&self) -> Option<u32> {
        let cpus = &self.post.cpus;
        (cpus.len() == 1).then(|| cpus.iter().next()).flatten()
    }
}

/// Judges the samples of an instrument with one series a thread.
pub fn sample_checks(series: &[Series]) -> Vec<Check> {
    let count: u64 = series.iter().map(|s| s.count).sum();
    let lost: u64 = series.iter().filter_map(|s| s.lost).sum();
    let clamped: u64 = series.iter().filter_map(|s| s.clamped).sum();
    let empty = series.iter().filter(|s| s.count == 0).count();
    vec![
        Check::of(
            "samples",
            empty == 0 && count > 0,
            match empty {
                0 => format!("{count} samples, every series has some"),
                n => format!("{n} of {} series have no sample", series.len()),
            },
        ),
        lost_samples("samples", count, lost),
        Check::of(
            "clamped-samples",
            clamped == 0,
            format!("{clamped} samples past the histogram's range"),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_model::Policy;

    #[test]
    fn samples_arrive_in_order_and_the_overflow_is_counted() {
        let post = Post::on("x", Policy::Other { nice: 0 }, 3);
        let (mut tap, mut stream) = Stream::pair(1, &post, Nanos::from_secs(1), &Keep::default());
        let slots = ring_slots(Nanos::from_secs(1)) as u64;
        for n in 0..slots + 7 {
            tap.push(Sample {
                latency_ns: n,
                ..Sample::default()
            });
        }
        tap.overran(2);
        let mut seen = Vec::new();
        stream.drain(|block| seen.extend(block.iter().map(|s| s.latency_ns)));
        assert_eq!(seen, (0..slots).collect::<Vec<_>>());
        let series = stream.series(Some("thread"));
        assert_eq!((series.count, series.lost), (slots, Some(7)));
        assert_eq!((series.cpu, series.overruns), (Some(3), Some(2)));
        assert_eq!(series.max_ns, Some(slots - 1));
    }
}
