// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Latencies in nanoseconds, counted in log-linear buckets of fixed memory.
//!
//! The counts are an `hdrhistogram::Histogram<u64>` of three significant digits: values below
//! 2048 ns have a bucket each, above that a power of two is divided into 1024 buckets. A figure read
//! from a bucket is therefore off by less than 1/1024 of itself ([`LatencyHistogram::RELATIVE_ERROR`]).
//! The extremes are kept beside the buckets and are exact.
//!
//! All memory is taken when the histogram is made: 8 bytes a bucket, 254 KiB for the default range
//! of 2⁴⁰ ns, about 18 minutes. A value above the range is counted at its end and in
//! [`clamped`](LatencyHistogram::clamped), never dropped.

use std::fmt;

use hdrhistogram::Histogram;

use crate::num::quantile_rank;
use crate::view::{Bucket, CdfPoint, PdfPoint, View};

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
#[derive(Clone)]
pub struct LatencyHistogram {
    inner: Histogram<u64>,
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

    const SIGNIFICANT_DIGITS: u8 = 3;

    /// Creates an empty histogram for values up to `highest` ns; below 2 it is taken as 2.
    #[expect(
        clippy::expect_used,
        reason = "the constructor fails only for bounds that are excluded here"
    )]
    pub fn new(highest: u64) -> Self {
        let highest = highest.max(2);
        let inner = Histogram::new_with_bounds(1, highest, Self::SIGNIFICANT_DIGITS)
            .expect("1 to at least 2 with 3 digits is a valid range");
        Self {
            inner,
            highest,
            clamped: 0,
            min: u64::MAX,
            max: 0,
        }
    }

    /// Records one latency of `ns` nanoseconds.
    ///
    /// Hot: it allocates nothing.
    pub fn record(&mut self, ns: u64) {
        self.record_n(ns, 1);
    }

    /// Records every latency of `ns`.
    ///
    /// Hot: it allocates nothing.
    pub fn record_slice(&mut self, ns: &[u64]) {
        for &value in ns {
            self.record_n(value, 1);
        }
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
        self.inner.saturating_record_n(ns.min(self.highest), count);
    }

    /// Adds the counts of `other`, whatever its range; what is above this range is clamped.
    pub fn merge(&mut self, other: &Self) {
        // The buckets of two ranges have the same borders; only their number differs.
        let same = other.highest <= self.highest && self.inner.add(&other.inner).is_ok();
        if !same {
            for bucket in other.buckets() {
                let value = bucket.to_ns.min(other.highest);
                if value > self.highest {
                    self.clamped += bucket.count;
                }
                self.inner
                    .saturating_record_n(value.min(self.highest), bucket.count);
            }
            // What `other` clamped lies in its last bucket, which was just counted.
            if other.highest > self.highest {
                self.clamped -= other.clamped;
            }
        }
        self.clamped += other.clamped;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Forgets every value and keeps the memory.
    pub fn clear(&mut self) {
        self.inner.reset();
        (self.clamped, self.min, self.max) = (0, u64::MAX, 0);
    }

    /// The number of values.
    pub fn count(&self) -> u64 {
        self.inner.len()
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
        self.inner.distinct_values() * size_of::<u64>()
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
    /// ranks it is a lower bound, except that the last rank is the exact maximum. `None` when there
    /// is no such rank.
    pub fn value_at_rank(&self, rank: u64) -> Option<u64> {
        let n = self.count();
        if rank == 0 || rank > n {
            return None;
        }
        if rank == n {
            return self.max();
        }
        // Half a rank down, so that the rounding of the product cannot reach the next rank.
        let value = self.inner.value_at_quantile((rank as f64 - 0.5) / n as f64);
        Some(value.clamp(self.min, self.max))
    }

    /// The number of values above `ns`.
    ///
    /// Exact up to 2047 ns; beyond, values in the bucket of `ns` are not counted. At or beyond
    /// [`highest`](Self::highest) it is the clamped count, an upper bound.
    pub fn count_above(&self, ns: u64) -> u64 {
        if ns >= self.max {
            0
        } else if ns >= self.highest {
            self.clamped
        } else {
            self.count() - self.inner.count_between(0, ns)
        }
    }

    /// The buckets that hold values, in ascending order.
    pub fn buckets(&self) -> impl Iterator<Item = Bucket> + '_ {
        self.inner.iter_recorded().map(|step| Bucket {
            from_ns: self.inner.lowest_equivalent(step.value_iterated_to()),
            to_ns: step.value_iterated_to(),
            count: step.count_at_value(),
        })
    }

    /// The buckets that hold values up to `upto_ns`.
    pub fn head(&self, upto_ns: u64) -> View<'_> {
        View::new(self, 0, upto_ns)
    }

    /// The buckets that hold values of `from_ns` and above.
    pub fn tail(&self, from_ns: u64) -> View<'_> {
        View::new(self, from_ns, u64::MAX)
    }

    /// The cumulative distribution: the share of values up to the end of each bucket.
    pub fn cdf(&self) -> impl Iterator<Item = CdfPoint> + '_ {
        let n = self.count() as f64;
        self.buckets().scan(0u64, move |below, bucket| {
            *below = below.saturating_add(bucket.count);
            Some(CdfPoint {
                ns: bucket.to_ns,
                share: *below as f64 / n,
            })
        })
    }

    /// The density: the share of values per nanosecond, over each bucket.
    pub fn pdf(&self) -> impl Iterator<Item = PdfPoint> + '_ {
        let n = self.count() as f64;
        self.buckets().map(move |bucket| PdfPoint {
            from_ns: bucket.from_ns,
            to_ns: bucket.to_ns,
            per_ns: bucket.count as f64 / n / ((bucket.to_ns - bucket.from_ns) as f64 + 1.0),
        })
    }

    pub(crate) fn inner(&self) -> &Histogram<u64> {
        &self.inner
    }

    pub(crate) fn with_extremes(mut self, min: u64, max: u64) -> Self {
        (self.min, self.max) = (min, max);
        self
    }
}

impl Default for LatencyHistogram {
    /// A histogram up to [`DEFAULT_HIGHEST`](Self::DEFAULT_HIGHEST).
    fn default() -> Self {
        Self::new(Self::DEFAULT_HIGHEST)
    }
}

impl fmt::Debug for LatencyHistogram {
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

impl PartialEq for LatencyHistogram {
    fn eq(&self, other: &Self) -> bool {
        self.highest == other.highest
            && self.clamped == other.clamped
            && (self.min, self.max) == (other.min, other.max)
            && self.inner == other.inner
    }
}
