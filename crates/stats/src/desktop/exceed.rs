// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Exact counts of samples above thresholds, such as deadlines.
//!
//! A histogram answers the same for any threshold, but only to the border of a bucket. For the
//! deadlines that are known in advance this counts exactly.

/// Counts the samples that are greater than each of a set of thresholds.
///
/// ```
/// use punctual_stats::ThresholdCounter;
///
/// let mut deadlines = ThresholdCounter::new(&[100_000, 50_000]);
/// deadlines.record_slice(&[50_000, 50_001, 250_000]);
/// let counts: Vec<_> = deadlines.counts().collect();
/// assert_eq!(counts, [(50_000, 2), (100_000, 1)]);
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ThresholdCounter {
    count: u64,
    /// Ascending, without repetition.
    above: Vec<(u64, u64)>,
}

impl ThresholdCounter {
    /// Creates a counter of the given thresholds, in any order; a repeated one counts once.
    pub fn new(thresholds: &[u64]) -> Self {
        let mut above: Vec<_> = thresholds.iter().map(|&t| (t, 0)).collect();
        above.sort_unstable();
        above.dedup();
        Self { count: 0, above }
    }

    /// Counts one sample.
    ///
    /// Hot: it allocates nothing.
    pub fn record(&mut self, x: u64) {
        self.record_slice(&[x]);
    }

    /// Counts every sample of `xs`.
    ///
    /// Hot: it allocates nothing.
    pub fn record_slice(&mut self, xs: &[u64]) {
        self.count += xs.len() as u64;
        // Most slices hold nothing above the lowest deadline; one pass finds the most that can be.
        let Some(&max) = xs.iter().max() else { return };
        for (threshold, above) in &mut self.above {
            if max <= *threshold {
                break;
            }
            *above += xs.iter().map(|x| u64::from(x > threshold)).sum::<u64>();
        }
    }

    /// The number of samples.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The thresholds in ascending order, each with the number of samples greater than it.
    pub fn counts(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.above.iter().copied()
    }

    /// The number of samples greater than `threshold`; `None` when that is not one of the set.
    pub fn above(&self, threshold: u64) -> Option<u64> {
        let found = self.above.binary_search_by_key(&threshold, |&(t, _)| t);
        found.ok().and_then(|i| self.above.get(i)).map(|&(_, n)| n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_equal_to_the_threshold_is_not_above_it() {
        let mut c = ThresholdCounter::new(&[10, u64::MAX, 0, 10]);
        c.record_slice(&[0, 10, 11, u64::MAX]);
        assert_eq!(c.count(), 4);
        assert_eq!(
            c.counts().collect::<Vec<_>>(),
            [(0, 3), (10, 2), (u64::MAX, 0)]
        );
        assert_eq!((c.above(10), c.above(11)), (Some(2), None));
    }

    #[test]
    fn no_threshold_and_no_sample_are_fine() {
        let mut c = ThresholdCounter::new(&[]);
        c.record_slice(&[]);
        c.record_slice(&[1]);
        assert_eq!((c.count(), c.counts().count()), (1, 0));
    }
}
