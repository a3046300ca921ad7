// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What can be read from a [`LatencyHistogram`]: buckets, parts of it, distributions.

#[cfg(feature = "std")]
use crate::LatencyHistogram;

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

/// A point of the cumulative distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CdfPoint {
    /// The end of a bucket, in ns.
    pub ns: u64,
    /// The share of values at or below it, 0 to 1.
    pub share: f64,
}

/// A step of the density.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PdfPoint {
    /// The lowest value of the bucket, in ns.
    pub from_ns: u64,
    /// The highest value of the bucket, in ns.
    pub to_ns: u64,
    /// The share of values per nanosecond.
    pub per_ns: f64,
}

/// The buckets of a histogram that touch a range of values.
#[cfg(feature = "std")]
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    histogram: &'a LatencyHistogram,
    from_ns: u64,
    upto_ns: u64,
}

#[cfg(feature = "std")]
impl<'a> View<'a> {
    pub(crate) fn new(histogram: &'a LatencyHistogram, from_ns: u64, upto_ns: u64) -> Self {
        Self {
            histogram,
            from_ns,
            upto_ns,
        }
    }

    /// The buckets in ascending order; a bucket that the border cuts belongs to the view.
    pub fn buckets(&self) -> impl Iterator<Item = Bucket> + 'a {
        let Self {
            histogram,
            from_ns,
            upto_ns,
        } = *self;
        histogram
            .buckets()
            .skip_while(move |bucket| bucket.to_ns < from_ns)
            .take_while(move |bucket| bucket.from_ns <= upto_ns)
    }

    /// The number of values in the view.
    pub fn count(&self) -> u64 {
        self.buckets().map(|bucket| bucket.count).sum()
    }

    /// The share of all values that is in the view, 0 to 1; `None` for an empty histogram.
    pub fn share(&self) -> Option<f64> {
        let n = self.histogram.count();
        (n > 0).then(|| self.count() as f64 / n as f64)
    }
}
