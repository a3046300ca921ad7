// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Statistics of the latest samples.
//!
//! A sample costs one write into a ring. The figures are computed from the samples themselves when
//! they are asked for, so they are exact at any age: sums that are kept by adding the new sample
//! and subtracting the old one drift. A display that asks ten times a second pays some
//! microseconds; the loop that records pays a nanosecond.
//!
//! A quantile q of n samples is the order statistic of rank ⌈q n⌉, as in
//! [`LatencyHistogram`](crate::LatencyHistogram).

#[cfg(feature = "std")]
use crate::moments::Moments;
use crate::num::{index, quantile_rank};

/// What a window holds, as figures; `None` where the samples define none.
#[cfg(feature = "std")]
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WindowSummary {
    /// The number of samples.
    pub count: u64,
    /// The smallest sample.
    pub min: Option<f64>,
    /// The largest sample.
    pub max: Option<f64>,
    /// The arithmetic mean.
    pub mean: Option<f64>,
    /// The standard deviation with divisor n - 1.
    pub std_dev: Option<f64>,
    /// The biased skewness g1.
    pub skewness: Option<f64>,
    /// The biased excess kurtosis g2.
    pub excess_kurtosis: Option<f64>,
    /// The quantiles that were asked for; `None` without samples, or for one outside 0 to 1.
    pub quantiles: Vec<(f64, Option<f64>)>,
}

/// The latest `n` samples.
///
/// ```
/// use punctual_stats::CountWindow;
///
/// let mut window = CountWindow::new(3);
/// window.extend_from_slice(&[100.0, 1.0, 2.0, 6.0]);
/// let summary = window.summary(&[0.5]);
/// assert_eq!((summary.count, summary.mean), (3, Some(3.0)));
/// assert_eq!(summary.quantiles, [(0.5, Some(2.0))]);
/// ```
///
/// The samples are in a `Box`, or in the memory that [`within`](Self::within) gets.
#[derive(Clone, Debug)]
pub struct CountWindow<R = crate::storage::Fixed<f64>> {
    ring: R,
    next: usize,
    filled: usize,
    rejected: u64,
    scratch: R,
}

#[cfg(feature = "std")]
impl CountWindow {
    /// Creates a window over `n` samples, at least one, and takes all its memory: 16 bytes a sample.
    pub fn new(n: usize) -> Self {
        let ring = || vec![0.0; n.max(1)].into_boxed_slice();
        Self::within(ring(), ring())
    }

    /// Computes the figures of the samples in the window and the given quantiles.
    ///
    /// It sorts a copy, into memory that the window holds; only the list of quantiles is allocated.
    pub fn summary(&mut self, quantiles: &[f64]) -> WindowSummary {
        summarize(self.sorted(), quantiles)
    }
}

impl<R: AsRef<[f64]> + AsMut<[f64]>> CountWindow<R> {
    /// Creates a window over as many samples as `ring` holds. `scratch`, of the same length, is where
    /// [`sorted`](Self::sorted) puts them; where it is shorter, the window is as long as it.
    pub fn within(ring: R, scratch: R) -> Self {
        Self {
            ring,
            next: 0,
            filled: 0,
            rejected: 0,
            scratch,
        }
    }

    /// The samples in the window in ascending order, in memory that the window holds. Their figures are those of
    /// [`Moments`], pushed in this order.
    pub fn sorted(&mut self) -> &mut [f64] {
        let sorted = &mut self.scratch.as_mut()[..self.filled];
        sorted.copy_from_slice(&self.ring.as_ref()[..self.filled]);
        sorted.sort_unstable_by(f64::total_cmp);
        sorted
    }

    /// The order statistic of rank ⌈q n⌉. It sorts a copy; `None` without samples, or where `q` is outside 0 to 1.
    pub fn quantile(&mut self, q: f64) -> Option<f64> {
        quantile_of(self.sorted(), q)
    }

    /// Adds one sample; a full window forgets its oldest.
    ///
    /// Hot: it allocates nothing.
    pub fn push(&mut self, x: f64) {
        if !x.is_finite() {
            self.rejected += 1;
            return;
        }
        let length = self.capacity();
        let Some(slot) = self.ring.as_mut()[..length].get_mut(self.next) else {
            return;
        };
        *slot = x;
        self.next += 1;
        self.filled = self.filled.max(self.next);
        if self.next == length {
            self.next = 0;
        }
    }

    /// Adds every sample of `xs`.
    ///
    /// Hot: it allocates nothing.
    pub fn extend_from_slice(&mut self, xs: &[f64]) {
        if !xs.iter().fold(true, |all, x| all & x.is_finite()) {
            xs.iter().for_each(|&x| self.push(x));
            return;
        }
        // What would be overwritten within this call is not written at all.
        let length = self.capacity();
        let mut xs = &xs[xs.len().saturating_sub(length)..];
        while !xs.is_empty() {
            let room = length - self.next;
            let (now, later) = xs.split_at(room.min(xs.len()));
            self.ring.as_mut()[self.next..self.next + now.len()].copy_from_slice(now);
            self.next += now.len();
            self.filled = self.filled.max(self.next);
            if self.next == length {
                self.next = 0;
            }
            xs = later;
        }
    }

    /// The number of samples in the window.
    pub fn len(&self) -> usize {
        self.filled
    }

    /// Whether the window holds no sample.
    pub fn is_empty(&self) -> bool {
        self.filled == 0
    }

    /// The number of samples that fit.
    pub fn capacity(&self) -> usize {
        self.ring.as_ref().len().min(self.scratch.as_ref().len())
    }

    /// The number of values that were refused because they were infinite or not a number.
    pub fn rejected(&self) -> u64 {
        self.rejected
    }

    /// The samples, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = f64> + '_ {
        let (newer, older) = self.ring.as_ref()[..self.filled].split_at(self.next.min(self.filled));
        older.iter().chain(newer).copied()
    }
}

#[cfg(feature = "std")]
fn summarize(sorted: &[f64], quantiles: &[f64]) -> WindowSummary {
    // Of the sorted samples, so that the sums do not depend on where the ring begins.
    let mut moments = Moments::new();
    moments.extend_from_slice(sorted);
    WindowSummary {
        count: moments.count(),
        min: moments.min(),
        max: moments.max(),
        mean: moments.mean(),
        std_dev: moments.std_dev(),
        skewness: moments.skewness(),
        excess_kurtosis: moments.excess_kurtosis(),
        quantiles: quantiles
            .iter()
            .map(|&q| (q, quantile_of(sorted, q)))
            .collect(),
    }
}

fn quantile_of(sorted: &[f64], q: f64) -> Option<f64> {
    let rank = (0.0..=1.0)
        .contains(&q)
        .then(|| quantile_rank(q, sorted.len() as u64))?;
    sorted.get(index(rank) - 1).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_window_has_no_figure() {
        let want = WindowSummary {
            quantiles: vec![(0.5, None)],
            ..WindowSummary::default()
        };
        assert_eq!(CountWindow::new(5).summary(&[0.5]), want);
    }

    #[test]
    fn one_and_two_samples_have_what_they_define() {
        let mut window = CountWindow::new(5);
        window.push(3.0);
        let one = window.summary(&[0.0, 0.5, 1.5]);
        assert_eq!(
            (one.mean, one.std_dev, one.skewness),
            (Some(3.0), None, None)
        );
        assert_eq!(
            one.quantiles,
            [(0.0, Some(3.0)), (0.5, Some(3.0)), (1.5, None)]
        );
        window.push(5.0);
        let two = window.summary(&[]);
        assert_eq!((two.skewness, two.excess_kurtosis), (Some(0.0), Some(-2.0)));
    }

    #[test]
    fn a_window_of_nothing_holds_one_sample() {
        let mut window = CountWindow::new(0);
        window.extend_from_slice(&[1.0, 2.0]);
        assert_eq!(
            (window.capacity(), window.summary(&[]).mean),
            (1, Some(2.0))
        );
    }

    #[test]
    fn constant_input_at_an_offset_has_no_deviation() {
        let mut window = CountWindow::new(1000);
        window.extend_from_slice(&[1e9 + 0.1; 5000]);
        let s = window.summary(&[0.99]);
        assert_eq!((s.std_dev, s.skewness), (Some(0.0), None));
        assert_eq!(s.quantiles, [(0.99, Some(1e9 + 0.1))]);
    }

    #[test]
    fn values_that_are_not_finite_are_counted_and_not_kept() {
        let mut window = CountWindow::new(4);
        window.extend_from_slice(&[1.0, f64::NAN, 2.0, f64::INFINITY]);
        assert_eq!((window.len(), window.rejected()), (2, 2));
    }
}
