// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Samples from a measuring thread to its figures, over a wait-free ring.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use punctual_model::{Check, Nanos, Sample, Series, SeriesProgress};
use punctual_stats::{Accumulator, Keep};
use rtrb::{Consumer, Producer, RingBuffer};

use crate::checks::lost_samples;
use crate::crew::Post;
use crate::cyclic::{Counts, add};
use crate::figures;

/// Samples that are worked on at once: they fit the first-level cache.
pub(crate) const BLOCK: usize = 256;

/// Time between two looks at the rings.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(50);

/// A stall of whoever takes the samples in that the rings must survive.
const RING_SPAN: Nanos = Nanos::from_secs(4);

/// Returns how many samples a thread's ring holds: 4 s of them, but 1 Ki at least and 256 Ki
/// (6 MiB) at most.
pub(crate) fn ring_slots(interval: Nanos) -> usize {
    let samples = RING_SPAN.get() / interval.get().max(1);
    usize::try_from(samples).map_or(1 << 18, |n| n.clamp(1 << 10, 1 << 18))
}

/// The measuring thread's end. To push is hot: it allocates nothing, locks nothing, never waits.
#[derive(Debug)]
pub struct Tap {
    ring: Producer<Sample>,
    counts: Arc<Counts>,
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

    /// Returns what [`cyclic::run`](crate::cyclic::run) writes to.
    pub(crate) fn parts(&mut self) -> (&mut Producer<Sample>, &Counts) {
        (&mut self.ring, &self.counts)
    }

    /// Makes the ring's memory present: locking does that too, but it may be off or refused, and then every
    /// page would fault while the thread measures.
    pub(crate) fn touch(&mut self) {
        // What is written is not committed, so nobody reads it.
        drop(self.ring.write_chunk(self.ring.slots()));
    }
}

/// The other end: takes the samples in and keeps their figures.
#[derive(Debug)]
pub struct Stream {
    ring: Consumer<Sample>,
    counts: Arc<Counts>,
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
        let (mut tap, stream) = Self::pair_untouched(thread, post, interval, keep);
        tap.touch();
        (tap, stream)
    }

    /// As [`Self::pair`], of a ring whose memory the thread makes present near its CPU.
    pub(crate) fn pair_untouched(
        thread: u32,
        post: &Post,
        interval: Nanos,
        keep: &Keep,
    ) -> (Tap, Self) {
        let (producer, ring) = RingBuffer::new(ring_slots(interval));
        let counts = Arc::<Counts>::default();
        let tap = Tap {
            ring: producer,
            counts: Arc::clone(&counts),
        };
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
        self.drain_with(|block, _, _| each(block));
    }

    /// As [`Self::drain`]; `each` also gets the latencies alone, and what is kept of all samples so far.
    pub(crate) fn drain_with(&mut self, mut each: impl FnMut(&[Sample], &[u64], &Accumulator)) {
        let ready = self.ring.slots();
        let Ok(chunk) = self.ring.read_chunk(ready) else {
            return;
        };
        let interval = self.interval.get().max(1);
        let (first, second) = chunk.as_slices();
        for run in [first, second] {
            for part in run.split_inclusive(|sample| sample.skipped > 0) {
                for block in part.chunks(BLOCK) {
                    let mut ns = [0_u64; BLOCK];
                    for (ns, sample) in ns.iter_mut().zip(block) {
                        *ns = sample.latency_ns;
                    }
                    let ns = &ns[..block.len()];
                    self.tally.record_slice(ns);
                    each(block, ns, &self.tally);
                }
                if let Some(stall) = part.last() {
                    let late = |deadline| late_overruns(stall, interval, deadline);
                    self.tally.record_unsampled(stall.skipped.into(), late);
                }
            }
            self.last = run.last().copied().or(self.last);
        }
        chunk.commit_all();
    }

    /// Returns the time between deadlines.
    pub(crate) const fn interval(&self) -> Nanos {
        self.interval
    }

    /// Returns the number of the thread.
    pub(crate) const fn thread(&self) -> u32 {
        self.thread
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
        series.cpu = self.post.cpus.only();
        series.policy = Some(self.post.policy.to_string());
        series.interval_ns = Some(self.interval);
        series.overruns = Some(self.counts.overruns.load(Ordering::Relaxed));
        series.lost = Some(self.lost());
        let early = self.counts.early.load(Ordering::Relaxed);
        series.clamped = series.clamped.map(|clamped| clamped + early);
        series.warm_up_samples = Some(self.counts.warm_up.load(Ordering::Relaxed));
        series.misses = figures::misses(&self.tally);
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
            overruns: Some(self.counts.overruns.load(Ordering::Relaxed)),
            lost: Some(self.lost()),
            ..figures::progress(&mut self.tally)
        }
    }

    /// Returns the CPU that the thread was last seen on, else the one it is bound to.
    pub fn cpu(&self) -> Option<u32> {
        let seen = self.last.map(|s| s.cpu);
        seen.or_else(|| self.post.cpus.only())
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

/// Judges the samples of a run with one series a thread, or a thread and kind.
pub fn sample_checks(series: &[Series]) -> Vec<Check> {
    let count: u64 = series.iter().map(|s| s.count).sum();
    let lost: u64 = series.iter().filter_map(|s| s.lost).sum();
    let clamped: u64 = series.iter().filter_map(|s| s.clamped).sum();
    let kinds = series.iter().any(|s| s.context.is_some());
    let name = |s: &Series| {
        let thread = s
            .thread
            .map_or_else(String::new, |thread| thread.to_string());
        match &s.context {
            Some(context) => format!("{thread}/{context}"),
            None => thread,
        }
    };
    let empty: Vec<String> = series.iter().filter(|s| s.count == 0).map(name).collect();
    let noun = if kinds { "series" } else { "thread" };
    vec![
        Check::of(
            "samples",
            empty.is_empty() && count > 0,
            if empty.is_empty() {
                format!("{count} samples, some from every {noun}")
            } else {
                format!("no sample from {noun} {}", empty.join(", "))
            },
        ),
        lost_samples("samples", count, lost),
        Check::of(
            "clamped-samples",
            clamped == 0,
            format!("{clamped} samples beyond the histogram's range or before their deadline"),
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
