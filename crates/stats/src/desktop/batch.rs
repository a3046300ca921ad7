// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! How many independent samples a correlated series is worth.
//!
//! With autocorrelation ρ, the mean of n samples varies as that of n/τ independent ones, where
//! τ = 1 + 2 Σ ρ(k) is the integrated autocorrelation time. [`BatchMeans`] keeps what it takes to
//! estimate it online: the means of batches of equal length (Conway, *Management Science* 10, 1963).
//! It holds 256 to 512 of them; when the last is full, neighbours are joined and batches become twice
//! as long. What follows from them is in [`worth`](crate::worth).
//!
//! [`autocorrelation_time`] is the reference: it needs all samples at once, and truncates the sum by
//! Geyer's initial positive sequence (*Statistical Science* 7, 1992).

use crate::worth::Worth;
use crate::{Moments, num};

const BATCHES: usize = 512;

/// What a stream of correlated samples is worth, in constant memory.
///
/// ```
/// use punctual_stats::BatchMeans;
///
/// let mut batches = BatchMeans::new();
/// // Each value comes eight times: worth an eighth of the samples.
/// let mut state = 1u32;
/// for i in 0..80_000u32 {
///     if i % 8 == 0 {
///         state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
///     }
///     batches.push(f64::from(state >> 8));
/// }
/// let tau = batches.autocorrelation_time().unwrap_or(f64::NAN);
/// assert!((4.0..16.0).contains(&tau));
/// ```
#[derive(Clone, Debug, Default)]
pub struct BatchMeans {
    moments: Moments,
    /// Sums are taken from the first sample, so that a large offset costs no digits.
    pivot: f64,
    batches: Batches,
}

impl BatchMeans {
    /// Samples below which there is no estimate: the batches would be single samples.
    pub const MINIMUM: u64 = 128;

    /// Creates a state without samples.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one sample; one that is not finite is counted in the moments as rejected.
    pub fn push(&mut self, x: f64) {
        self.extend_from_slice(&[x]);
    }

    /// Adds every sample of `xs`, in order.
    ///
    /// Hot: it allocates nothing.
    pub fn extend_from_slice(&mut self, xs: &[f64]) {
        let refused = self.moments.rejected();
        if self.moments.count() == 0
            && let Some(&first) = xs.iter().find(|x| x.is_finite())
        {
            self.pivot = first;
        }
        self.moments.extend_from_slice(xs);
        let pivot = self.pivot;
        if self.moments.rejected() == refused {
            self.batches.extend(xs, |part| sum_from(pivot, part));
        } else {
            for run in xs.split(|x| !x.is_finite()) {
                self.batches.extend(run, |part| sum_from(pivot, part));
            }
        }
    }

    /// The moments of all samples, which this type needs itself.
    pub fn moments(&self) -> &Moments {
        &self.moments
    }

    /// What the samples are worth for their mean. `None` below [`MINIMUM`](Self::MINIMUM) samples.
    pub fn worth(&self) -> Option<Worth> {
        let count = self.moments.count();
        Worth::of(&self.batches, count, self.moments.variance()?)
    }

    /// The integrated autocorrelation time τ in samples, at least 1.
    ///
    /// 1 for constant input. `None` below [`MINIMUM`](Self::MINIMUM) samples. Too low where the run
    /// is shorter than the correlation; and, being at least 1, it does not credit a series that
    /// alternates.
    pub fn autocorrelation_time(&self) -> Option<f64> {
        Some(self.worth()?.autocorrelation_time)
    }

    /// The number of independent samples that the series is worth: n / τ.
    pub fn effective_samples(&self) -> Option<f64> {
        Some(self.worth()?.effective_samples())
    }
}

/// Sums of batches of one size, oldest first. When there is no room for another, neighbours are
/// joined, and batches become twice as long.
#[derive(Clone, Debug)]
pub(crate) struct Batches {
    sums: [f64; BATCHES],
    full: usize,
    size: u64,
    open_sum: f64,
    open_count: u64,
}

impl Default for Batches {
    fn default() -> Self {
        Self {
            sums: [0.0; BATCHES],
            full: 0,
            size: 1,
            open_sum: 0.0,
            open_count: 0,
        }
    }
}

impl Batches {
    /// Adds samples, of which `sum` tells the sum of any part.
    ///
    /// Hot: it allocates nothing.
    pub(crate) fn extend<T>(&mut self, mut xs: &[T], mut sum: impl FnMut(&[T]) -> f64) {
        while !xs.is_empty() {
            let room = num::index(self.size - self.open_count);
            let (now, later) = xs.split_at(room.min(xs.len()));
            self.open_sum += sum(now);
            self.open_count += now.len() as u64;
            if self.open_count == self.size {
                self.close();
            }
            xs = later;
        }
    }

    /// Adds `n` times the same.
    pub(crate) fn extend_alike(&mut self, x: f64, mut n: u64) {
        while n > 0 {
            let now = n.min(self.size - self.open_count);
            self.open_sum += x * now as f64;
            self.open_count += now;
            if self.open_count == self.size {
                self.close();
            }
            n -= now;
        }
    }

    /// The number of samples in a full batch.
    pub(crate) const fn size(&self) -> u64 {
        self.size
    }

    /// The means of the full batches.
    pub(crate) fn means(&self) -> Vec<f64> {
        let size = self.size as f64;
        self.sums[..self.full]
            .iter()
            .map(|sum| sum / size)
            .collect()
    }

    fn close(&mut self) {
        self.sums[self.full] = self.open_sum;
        self.full += 1;
        (self.open_sum, self.open_count) = (0.0, 0);
        if self.full == BATCHES {
            for i in 0..BATCHES / 2 {
                self.sums[i] = self.sums[2 * i] + self.sums[2 * i + 1];
            }
            self.full = BATCHES / 2;
            self.size *= 2;
        }
    }
}

/// The integrated autocorrelation time τ of `xs`, at least 1, by Geyer's initial positive sequence.
///
/// `None` for fewer than two samples, constant input, or a value that is not finite. The cost is
/// the length times some multiple of τ.
///
/// ```
/// let alternating: Vec<f64> = (0..100).map(|i| f64::from(i % 2)).collect();
/// assert_eq!(punctual_stats::autocorrelation_time(&alternating), Some(1.0));
/// ```
pub fn autocorrelation_time(xs: &[f64]) -> Option<f64> {
    let mut moments = Moments::new();
    moments.extend_from_slice(xs);
    let (mean, variance) = (moments.mean()?, moments.population_variance()?);
    if moments.rejected() > 0 || variance == 0.0 || xs.len() < 2 {
        return None;
    }
    let n = xs.len() as f64;
    let rho = |lag: usize| {
        let products = xs.iter().zip(xs.iter().skip(lag));
        products.map(|(a, b)| (a - mean) * (b - mean)).sum::<f64>() / n / variance
    };
    let mut pairs = 0.0;
    // For a reversible chain the sums of neighbours are positive; the first that is not is noise.
    for lag in (0..xs.len()).step_by(2) {
        let pair = rho(lag) + rho(lag + 1);
        if pair <= 0.0 {
            break;
        }
        pairs += pair;
    }
    crate::num::finite(2.0 * pairs - 1.0).map(|tau| tau.max(1.0))
}

fn sum_from(pivot: f64, xs: &[f64]) -> f64 {
    let (rows, rest) = xs.as_chunks::<8>();
    let mut sums = [0.0; 8];
    for row in rows {
        for (sum, x) in sums.iter_mut().zip(row) {
            *sum += x - pivot;
        }
    }
    sums.iter().sum::<f64>() + rest.iter().map(|x| x - pivot).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Samples;

    fn ar1(phi: f64, n: usize, seed: u64) -> Vec<f64> {
        let mut samples = Samples::new(seed);
        let mut x = 0.0;
        (0..n)
            .map(|_| {
                x = phi * x + samples.normal();
                1e9 + x
            })
            .collect()
    }

    fn batched(xs: &[f64]) -> BatchMeans {
        let mut batches = BatchMeans::new();
        batches.extend_from_slice(xs);
        batches
    }

    #[test]
    fn both_estimators_find_the_known_time_of_an_autoregressive_series() {
        for (phi, seed) in [(0.0, 1), (0.5, 2), (0.9, 3), (0.95, 4)] {
            let known = (1.0 + phi) / (1.0 - phi);
            let xs = ar1(phi, 200_000, seed);
            let online = batched(&xs).autocorrelation_time().unwrap();
            let reference = autocorrelation_time(&xs).unwrap();
            // Three standard errors of 48 sums.
            assert!(
                (online / known - 1.0).abs() < 0.62,
                "{phi}: {online}, {known}"
            );
            assert!(
                (reference / known - 1.0).abs() < 0.15,
                "{phi}: {reference}, {known}"
            );
        }
    }

    #[test]
    fn the_online_estimate_is_right_on_average() {
        let known = 19.0;
        let mean = (0..20)
            .map(|seed| {
                batched(&ar1(0.9, 50_000, seed))
                    .autocorrelation_time()
                    .unwrap()
                    / known
            })
            .sum::<f64>()
            / 20.0;
        assert!((mean - 1.0).abs() < 0.12, "{mean}");
    }

    #[test]
    fn slices_of_any_size_and_single_samples_give_the_same_batches() {
        let xs = ar1(0.7, 10_000, 9);
        let whole = batched(&xs);
        let mut parts = BatchMeans::new();
        xs.chunks(77).for_each(|part| parts.extend_from_slice(part));
        assert_eq!(whole.batches.size, parts.batches.size);
        let (a, b) = (whole.autocorrelation_time(), parts.autocorrelation_time());
        assert!((a.unwrap() / b.unwrap() - 1.0).abs() < 1e-6);
    }

    #[test]
    fn too_few_samples_and_constant_input_are_told_apart() {
        assert_eq!(batched(&[1.0; 100]).autocorrelation_time(), None);
        assert_eq!(batched(&[]).effective_samples(), None);
        assert_eq!(batched(&[0.1; 1000]).autocorrelation_time(), Some(1.0));
        assert_eq!(autocorrelation_time(&[3.0; 10]), None);
        assert_eq!(autocorrelation_time(&[3.0]), None);
        assert_eq!(autocorrelation_time(&[3.0, f64::NAN]), None);
    }

    #[test]
    fn values_that_are_not_finite_leave_no_trace() {
        let mut xs = ar1(0.5, 5_000, 5);
        let clean = batched(&xs).autocorrelation_time();
        xs.insert(0, f64::NAN);
        xs.insert(1234, f64::INFINITY);
        let dirty = batched(&xs);
        assert_eq!(dirty.moments().rejected(), 2);
        assert!((dirty.autocorrelation_time().unwrap() / clean.unwrap() - 1.0).abs() < 1e-6);
    }
}
