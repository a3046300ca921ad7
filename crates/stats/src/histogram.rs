// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Latencies in nanoseconds, counted in log-linear buckets of fixed memory.
//!
//! The buckets are those of an HdrHistogram with three significant digits: values below 2048 ns have
//! a bucket each, above that every power of two is divided into 1024 buckets. A figure read from a
//! bucket is therefore off by less than 1/1024 of itself ([`LatencyHistogram::RELATIVE_ERROR`]). The
//! extremes are kept separately from the buckets and are exact. The `hdrhistogram` crate reads and writes the
//! exchange formats; the counts are our own, because a record then is one shift and one addition,
//! a third of its cost.
//!
//! All memory is taken when the histogram is made: 8 bytes a bucket, 248 KiB for the default range
//! of 2⁴⁰ ns, about 18 minutes. A value above the range is counted at its end and in
//! [`clamped`](LatencyHistogram::clamped), never dropped.

use core::fmt;

use crate::num::quantile_rank;

/// A bucket that holds values; both ends belong to it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Bucket {
    /// The lowest value that it counts, in ns.
    pub from_ns: u64,
    /// The highest value that it counts, in ns.
    pub to_ns: u64,
    /// The number of values.
    pub count: u64,
}

/// A latency histogram from 1 ns to a highest value, in nanoseconds.
///
/// ```
/// use punctual_stats::LatencyHistogram;
///
/// let mut latencies = LatencyHistogram::default();
/// latencies.record_slice(&[1_800, 2_100, 1_900, 250_000]);
/// assert_eq!(latencies.quantile(0.5), Some(1_900));
/// assert_eq!(latencies.max(), Some(250_000));
/// assert_eq!(latencies.count_above(100_000), 1);
/// ```
///
/// The counts are in a `Box`, or in the memory that [`within`](Self::within) gets.
#[derive(Clone, Eq, PartialEq)]
pub struct LatencyHistogram<C = crate::storage::Fixed<u64>> {
    counts: C,
    count: u64,
    highest: u64,
    clamped: u64,
    min: u64,
    max: u64,
}

impl LatencyHistogram {
    /// The highest value of the default range: 2⁴⁰ ns, about 18 minutes.
    pub const DEFAULT_HIGHEST: u64 = 1 << 40;

    /// The bound on the relative error of a value that is read from a bucket.
    ///
    /// A quantile is never below the exact order statistic, and above it by less than this share.
    pub const RELATIVE_ERROR: f64 = 1.0 / 1024.0;
}

#[cfg(feature = "std")]
impl LatencyHistogram {
    /// Creates an empty histogram for values up to `highest` ns.
    pub fn new(highest: u64) -> Self {
        Self {
            counts: vec![0; index_of(highest) + 1].into_boxed_slice(),
            count: 0,
            highest,
            clamped: 0,
            min: u64::MAX,
            max: 0,
        }
    }

    /// The bytes that the buckets of a histogram up to `highest` ns take.
    pub(crate) fn bytes_for(highest: u64) -> u64 {
        (size_of::<Self>() + (index_of(highest) + 1) * size_of::<u64>()) as u64
    }

    /// The buckets that hold values, put together to four steps to each power of two, in ascending
    /// order: they end below 4, 5, 6 and 7 times a power of two, where buckets end too, so that
    /// each value is in the step it belongs to. Up to 7 ns each value is a step.
    pub fn steps(&self) -> Vec<Bucket> {
        let mut steps: Vec<Bucket> = Vec::new();
        for bucket in self.buckets() {
            let (from_ns, to_ns) = step_of(bucket.from_ns);
            match steps.last_mut() {
                Some(last) if last.to_ns == to_ns => last.count += bucket.count,
                _ => steps.push(Bucket {
                    from_ns,
                    to_ns,
                    count: bucket.count,
                }),
            }
        }
        steps
    }

    /// Adds histograms up, over the widest of their ranges: nothing is clamped that was not. `None` of none.
    pub fn merged<'a>(parts: impl IntoIterator<Item = &'a Self>) -> Option<Self> {
        let mut parts = parts.into_iter();
        let mut all = parts.next()?.clone();
        for part in parts {
            if part.highest > all.highest {
                let narrower = core::mem::replace(&mut all, part.clone());
                all.merge(&narrower);
            } else {
                all.merge(part);
            }
        }
        Some(all)
    }

    pub(crate) fn with_extremes(mut self, min: u64, max: u64) -> Self {
        (self.min, self.max) = (min, max);
        self
    }
}

impl<C: AsRef<[u64]> + AsMut<[u64]>> LatencyHistogram<C> {
    /// Creates an empty histogram whose buckets are `counts`. How many there are says how far it reaches: 2048 up to 2047 ns,
    /// and 1024 more for each power of two above that.
    ///
    /// Without any, every value above 0 is clamped and no quantile is known but the extremes.
    pub fn within(mut counts: C) -> Self {
        counts.as_mut().fill(0);
        let last = counts.as_ref().len().saturating_sub(1);
        Self {
            highest: bounds_of(last.min(index_of(u64::MAX))).1,
            counts,
            count: 0,
            clamped: 0,
            min: u64::MAX,
            max: 0,
        }
    }

    /// Records one latency of `ns` nanoseconds.
    ///
    /// Hot: it allocates nothing.
    pub fn record(&mut self, ns: u64) {
        self.record_slice(&[ns]);
    }

    /// Records every latency of `ns`.
    ///
    /// Hot: it allocates nothing.
    pub fn record_slice(&mut self, ns: &[u64]) {
        let (mut min, mut max, mut clamped) = (self.min, self.max, 0);
        for &value in ns {
            min = min.min(value);
            max = max.max(value);
            clamped += u64::from(value > self.highest);
            if let Some(count) = self
                .counts
                .as_mut()
                .get_mut(index_of(value.min(self.highest)))
            {
                *count += 1;
            }
        }
        (self.min, self.max) = (min, max);
        self.clamped += clamped;
        self.count += ns.len() as u64;
    }

    /// Records `count` latencies of `ns` nanoseconds each.
    pub fn record_n(&mut self, ns: u64, count: u64) {
        if count == 0 {
            return;
        }
        self.min = self.min.min(ns);
        self.max = self.max.max(ns);
        if ns > self.highest {
            self.clamped += count;
        }
        if let Some(bucket) = self.counts.as_mut().get_mut(index_of(ns.min(self.highest))) {
            *bucket += count;
        }
        self.count += count;
    }

    /// Adds the counts of `other`, whatever its range; what is above this range is clamped.
    pub fn merge(&mut self, other: &Self) {
        let counts = self.counts.as_mut();
        let theirs = other.counts.as_ref();
        let (shared, beyond) = theirs.split_at(counts.len().min(theirs.len()));
        for (mine, theirs) in counts.iter_mut().zip(shared) {
            *mine += theirs;
        }
        // Only buckets above this range are left; whatever `other` clamped is among what is now
        // clamped here, or lies in the buckets that both have.
        let above: u64 = beyond.iter().sum();
        if let Some(last) = counts.last_mut() {
            *last += above;
        }
        self.clamped += if beyond.is_empty() {
            other.clamped
        } else {
            above
        };
        self.count += other.count;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Forgets every value and keeps the memory.
    pub fn clear(&mut self) {
        self.counts.as_mut().fill(0);
        (self.count, self.clamped, self.min, self.max) = (0, 0, u64::MAX, 0);
    }

    /// The number of values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The number of values above [`highest`](Self::highest), which are counted at its end.
    pub fn clamped(&self) -> u64 {
        self.clamped
    }

    /// The highest value that has a bucket of its own size, in ns.
    pub fn highest(&self) -> u64 {
        self.highest
    }

    /// The smallest value in ns, exact.
    pub fn min(&self) -> Option<u64> {
        (self.count() > 0).then_some(self.min)
    }

    /// The largest value in ns, exact also when it was clamped.
    pub fn max(&self) -> Option<u64> {
        (self.count() > 0).then_some(self.max)
    }

    /// The bytes that the buckets take.
    pub fn memory_bytes(&self) -> usize {
        size_of_val(self.counts.as_ref())
    }

    /// The `q` quantile in ns: the value of rank ⌈q n⌉; see [`value_at_rank`](Self::value_at_rank).
    ///
    /// `None` without values, or when `q` is outside 0 to 1.
    pub fn quantile(&self, q: f64) -> Option<u64> {
        if !(0.0..=1.0).contains(&q) {
            return None;
        }
        self.value_at_rank(quantile_rank(q, self.count()))
    }

    /// The value in ns of the 1-based `rank`: the upper end of the bucket that holds it, or the exact
    /// extreme where that is nearer.
    ///
    /// It is at least the exact order statistic and less than
    /// [`RELATIVE_ERROR`](Self::RELATIVE_ERROR) above it. For the [`clamped`](Self::clamped) highest
    /// ranks it is the maximum, the only bound that is known. `None` when there is no such rank.
    pub fn value_at_rank(&self, rank: u64) -> Option<u64> {
        if rank == 0 || rank > self.count {
            return None;
        }
        self.bucket_at_rank(rank).map(|(_, to)| to)
    }

    /// The lowest and highest value of the bucket that holds `rank`; the extremes for the end ranks.
    pub(crate) fn bucket_at_rank(&self, rank: u64) -> Option<(u64, u64)> {
        let mut below = 0;
        let index = self.counts.as_ref().iter().position(|&count| {
            below += count;
            below >= rank
        })?;
        let (from, to) = bounds_of(index);
        // Within the extremes; a value that was clamped reaches up to the maximum.
        let to = if rank > self.count - self.clamped {
            self.max
        } else {
            to.min(self.max)
        };
        Some((from.max(self.min), to))
    }

    /// The number of values above `ns`.
    ///
    /// Exact up to 2047 ns; beyond that, values in the bucket of `ns` are not counted. At or beyond
    /// [`highest`](Self::highest) it is the clamped count, an upper bound.
    pub fn count_above(&self, ns: u64) -> u64 {
        if ns >= self.max {
            0
        } else if ns >= self.highest {
            self.clamped
        } else {
            self.counts.as_ref().iter().skip(index_of(ns) + 1).sum()
        }
    }

    /// The buckets that hold values, in ascending order.
    pub fn buckets(&self) -> impl Iterator<Item = Bucket> + '_ {
        let recorded = self
            .counts
            .as_ref()
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0);
        recorded.map(|(index, &count)| {
            let (from_ns, to_ns) = bounds_of(index);
            Bucket {
                from_ns,
                to_ns,
                count,
            }
        })
    }
}

#[cfg(feature = "std")]
impl Default for LatencyHistogram {
    /// A histogram up to [`DEFAULT_HIGHEST`](Self::DEFAULT_HIGHEST).
    fn default() -> Self {
        Self::new(Self::DEFAULT_HIGHEST)
    }
}

impl<C: AsRef<[u64]> + AsMut<[u64]>> fmt::Debug for LatencyHistogram<C> {
    /// Writes the summary, not the thousands of counts.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LatencyHistogram")
            .field("highest", &self.highest)
            .field("count", &self.count())
            .field("clamped", &self.clamped)
            .field("min", &self.min())
            .field("max", &self.max())
            .finish_non_exhaustive()
    }
}

/// Values that have a bucket each, and twice the buckets of every power of two above them.
const LINEAR: usize = 2048;

/// The bucket of `value`: itself below 2048; above, the leading 11 bits and how far they were moved.
fn index_of(value: u64) -> usize {
    let bits = u64::BITS - (value | 1).leading_zeros();
    let shift = bits.saturating_sub(LINEAR.ilog2());
    // At most 54 * 1024 + 2047.
    (shift as usize) * (LINEAR / 2) + crate::num::index(value >> shift)
}

/// The lowest and highest value of a bucket.
fn bounds_of(index: usize) -> (u64, u64) {
    let shift = (index / (LINEAR / 2)).saturating_sub(1);
    let lead = (index - shift * (LINEAR / 2)) as u64;
    let from = lead << shift;
    (from, from + ((1 << shift) - 1))
}

/// The lowest and highest value of the step that `value` is in.
#[cfg(feature = "std")]
const fn step_of(value: u64) -> (u64, u64) {
    let bits = u64::BITS - (value | 1).leading_zeros();
    let shift = bits.saturating_sub(3);
    let from = (value >> shift) << shift;
    (from, from + ((1 << shift) - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_count_every_value_where_it_belongs() {
        let mut histogram = LatencyHistogram::default();
        let values = [0, 3, 4, 7, 8, 1023, 1024, 1279, 1280, 5_000_000, 1 << 39];
        values.iter().for_each(|value| histogram.record(*value));
        for step in histogram.steps() {
            let inside = |v: &&u64| (step.from_ns..=step.to_ns).contains(*v);
            let inside = values.iter().filter(inside).count();
            assert_eq!(step.count, inside as u64, "{step:?}");
        }
        let ends: Vec<u64> = histogram.steps().iter().map(|step| step.to_ns).collect();
        assert_eq!(&ends[..7], [0, 3, 4, 7, 9, 1023, 1279]);
        let all: u64 = histogram.steps().iter().map(|step| step.count).sum();
        assert_eq!(all, histogram.count());
    }

    #[test]
    fn buckets_tile_the_range_without_gap_or_overlap() {
        let mut next = 0u64;
        for index in 0..=index_of(u64::MAX) {
            let (from, to) = bounds_of(index);
            assert_eq!(from, next);
            assert_eq!((index_of(from), index_of(to)), (index, index));
            assert!((to - from) as f64 <= from as f64 * LatencyHistogram::RELATIVE_ERROR);
            next = to.wrapping_add(1);
        }
        assert_eq!(next, 0, "the last bucket ends at the largest integer");
    }

    #[test]
    fn buckets_are_those_of_hdrhistogram() {
        let hdr = hdrhistogram::Histogram::<u64>::new_with_bounds(1, 1 << 40, 3).unwrap();
        for shift in 0..40 {
            for value in [
                1u64 << shift,
                (1 << shift) + 1,
                (3u64 << shift) / 2,
                (2 << shift) - 1,
            ] {
                let (from, to) = bounds_of(index_of(value));
                assert_eq!(from, hdr.lowest_equivalent(value));
                assert_eq!(to, hdr.highest_equivalent(value));
            }
        }
    }

    #[test]
    fn an_empty_histogram_has_no_figure() {
        let h = LatencyHistogram::default();
        assert_eq!((h.count(), h.min(), h.max()), (0, None, None));
        assert_eq!((h.quantile(0.5), h.value_at_rank(1)), (None, None));
        assert_eq!(h.buckets().count(), 0);
        assert_eq!(h.count_above(0), 0);
    }

    #[test]
    fn the_default_range_takes_the_memory_that_the_docs_state() {
        let bytes = LatencyHistogram::default().memory_bytes();
        assert!(bytes <= 256 * 1024, "{bytes}");
        assert!(bytes >= 240 * 1024, "{bytes}");
    }

    #[test]
    fn values_above_the_range_are_clamped_counted_and_keep_the_exact_maximum() {
        let mut h = LatencyHistogram::new(10_000);
        h.record_slice(&[5, 10_000, 10_001, u64::MAX]);
        assert_eq!((h.count(), h.clamped()), (4, 2));
        assert_eq!((h.min(), h.max()), (Some(5), Some(u64::MAX)));
        assert_eq!(h.quantile(1.0), Some(u64::MAX));
        assert_eq!(h.count_above(10_000), 2);
        assert!(h.quantile(0.75).unwrap() >= 10_000);
        let mut full = LatencyHistogram::new(u64::MAX);
        full.record(u64::MAX);
        assert_eq!((full.clamped(), full.quantile(0.5)), (0, Some(u64::MAX)));
    }

    #[test]
    fn quantiles_outside_zero_to_one_are_none() {
        let mut h = LatencyHistogram::default();
        h.record(7);
        for q in [-0.1, 1.1, f64::NAN, f64::INFINITY] {
            assert_eq!(h.quantile(q), None);
        }
        assert_eq!((h.quantile(0.0), h.quantile(1.0)), (Some(7), Some(7)));
    }

    #[test]
    fn merge_of_two_ranges_counts_what_the_smaller_clamps() {
        let mut small = LatencyHistogram::new(1_000);
        small.record_slice(&[1, 2_000]);
        let mut large = LatencyHistogram::new(100_000);
        large.record_slice(&[3, 50_000, 200_000]);
        let mut into_small = small.clone();
        into_small.merge(&large);
        assert_eq!((into_small.count(), into_small.clamped()), (5, 3));
        let mut into_large = large.clone();
        into_large.merge(&small);
        assert_eq!((into_large.count(), into_large.clamped()), (5, 2));
        assert_eq!(into_large.max(), Some(200_000));
        assert_eq!(into_large.min(), Some(1));
        for parts in [[&small, &large], [&large, &small]] {
            assert_eq!(LatencyHistogram::merged(parts).unwrap(), into_large);
        }
        assert_eq!(LatencyHistogram::merged([]), None);
    }
}
