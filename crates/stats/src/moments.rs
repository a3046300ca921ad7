// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Count, extremes and the first four moments of a stream, in constant memory.
//!
//! The state is the mean and the sums of the second, third and fourth powers of the deviations
//! from it. One sample updates them after Welford (*Technometrics* 4, 1962) and, for the higher
//! ones, Terriberry (*Computing higher-order moments online*, 2007). Two states A and B join after
//! Chan, Golub and LeVeque (1979) and Pébay (SAND2008-6212); with d = mean(B) - mean(A), n = a + b:
//!
//! ```text
//! M2 = M2a + M2b + d² ab/n
//! M3 = M3a + M3b + d³ ab(a-b)/n² + 3d (a M2b - b M2a)/n
//! M4 = M4a + M4b + d⁴ ab(a²-ab+b²)/n³ + 6d² (a² M2b + b² M2a)/n² + 4d (a M3b - b M3a)/n
//! ```
//!
//! The mean is held as an unevaluated sum of two doubles. With one double, samples such as
//! 1 000 000 000.25 leave an error of 1e-7 in `d`, which shows in the variance; with two the
//! result is good to about 1e-12 whatever the offset. Constant input gives a variance of exactly 0.

use core::cmp::Ordering;

use crate::num::{finite, sqrt, two_sum};

/// Samples that [`Moments::extend_from_slice`] turns into one state before it merges.
const BLOCK: usize = 64;

/// Independent sums kept while a block is added up, so that the compiler can use vectors.
const LANES: usize = 8;

/// Count, minimum, maximum, mean, variance, skewness and kurtosis of a stream.
///
/// A value that is not finite is not a sample: it is counted in [`rejected`](Self::rejected) and
/// changes nothing else. Every figure that the samples do not define is `None`.
///
/// ```
/// use punctual_stats::Moments;
///
/// let mut moments = Moments::new();
/// moments.extend_from_slice(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]);
/// assert_eq!(moments.mean(), Some(5.0));
/// assert_eq!(moments.population_variance(), Some(4.0));
/// assert_eq!(Moments::new().mean(), None);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moments {
    count: u64,
    rejected: u64,
    min: f64,
    max: f64,
    mean: f64,
    /// What `mean` lost to rounding.
    mean_low: f64,
    m2: f64,
    m3: f64,
    m4: f64,
}

impl Moments {
    /// Creates a state without samples.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one sample.
    ///
    /// Hot: it allocates nothing. A slice at once is several times cheaper a sample.
    pub fn push(&mut self, x: f64) {
        if !x.is_finite() {
            self.rejected += 1;
            return;
        }
        if self.count == 0 {
            (self.min, self.max, self.mean) = (x, x, x);
            self.count = 1;
            return;
        }
        self.min = self.min.min(x);
        self.max = self.max.max(x);
        let before = self.count as f64;
        self.count += 1;
        let n = self.count as f64;

        let delta = (x - self.mean) - self.mean_low;
        let step = delta / n;
        let step2 = step * step;
        let term = delta * step * before;
        self.m4 +=
            term * step2 * (n * n - 3.0 * n + 3.0) + 6.0 * step2 * self.m2 - 4.0 * step * self.m3;
        self.m3 += term * step * (n - 2.0) - 3.0 * step * self.m2;
        self.m2 += term;
        self.shift_mean(step);
    }

    /// Adds every sample of `xs`.
    ///
    /// Hot: it allocates nothing. Blocks are summed in two passes and merged, without a division a
    /// sample; the figures agree with those of [`push`](Self::push) within rounding.
    pub fn extend_from_slice(&mut self, xs: &[f64]) {
        let (blocks, rest) = xs.as_chunks::<BLOCK>();
        for block in blocks {
            match Self::of_block(block) {
                Some(state) => self.merge(&state),
                None => block.iter().for_each(|&x| self.push(x)),
            }
        }
        for &x in rest {
            self.push(x);
        }
    }

    /// Adds the samples of `other`.
    ///
    /// Commutative bit for bit: `a.merge(&b)` and `b.merge(&a)` give equal states. For a result
    /// that does not depend on how several parts are grouped see [`merged`](Self::merged).
    pub fn merge(&mut self, other: &Self) {
        let rejected = self.rejected + other.rejected;
        if self.count == 0 {
            *self = *other;
        } else if other.count > 0 {
            // The larger part first: any fixed order would do for commutativity, this one also
            // keeps the correction to the mean small.
            *self = match self.canonical_cmp(other) {
                Ordering::Less => Self::joined(other, self),
                _ => Self::joined(self, other),
            };
        }
        self.rejected = rejected;
    }

    /// Merges any number of parts; the result is the same, bit for bit, in whatever order they come.
    ///
    /// ```
    /// use punctual_stats::Moments;
    ///
    /// let part = |xs: &[f64]| {
    ///     let mut m = Moments::new();
    ///     m.extend_from_slice(xs);
    ///     m
    /// };
    /// let (a, b, c) = (part(&[0.1, 0.7]), part(&[0.3]), part(&[1e9, 0.2]));
    /// assert_eq!(Moments::merged(&[a, b, c]), Moments::merged(&[c, a, b]));
    /// ```
    #[cfg(feature = "std")]
    pub fn merged(parts: &[Self]) -> Self {
        let mut sorted = parts.to_vec();
        sorted.sort_by(|a, b| b.canonical_cmp(a));
        let mut total = Self::new();
        for part in &sorted {
            total.merge(part);
        }
        total
    }

    /// The number of samples.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The number of values that were refused because they were infinite or not a number.
    pub fn rejected(&self) -> u64 {
        self.rejected
    }

    /// The smallest sample.
    pub fn min(&self) -> Option<f64> {
        (self.count > 0).then_some(self.min)
    }

    /// The largest sample.
    pub fn max(&self) -> Option<f64> {
        (self.count > 0).then_some(self.max)
    }

    /// The arithmetic mean.
    pub fn mean(&self) -> Option<f64> {
        self.defined(1, || self.mean)
    }

    /// The variance with divisor n - 1, which estimates that of the source; needs two samples.
    pub fn variance(&self) -> Option<f64> {
        self.defined(2, || self.m2 / (self.count as f64 - 1.0))
    }

    /// The variance with divisor n, which describes the samples themselves.
    pub fn population_variance(&self) -> Option<f64> {
        self.defined(1, || self.m2 / self.count as f64)
    }

    /// The square root of [`variance`](Self::variance).
    pub fn std_dev(&self) -> Option<f64> {
        self.variance().map(sqrt)
    }

    /// The skewness g1 = (M3/n) / (M2/n)^1.5, the biased one, as scipy's default is.
    ///
    /// `None` for constant input, where it is 0/0.
    pub fn skewness(&self) -> Option<f64> {
        let m2 = self.spread()?;
        self.defined(2, || self.m3 / self.count as f64 / (m2 * sqrt(m2)))
    }

    /// The excess kurtosis g2 = (M4/n) / (M2/n)² - 3, the biased one, as scipy's default is.
    ///
    /// `None` for constant input, where it is 0/0.
    pub fn excess_kurtosis(&self) -> Option<f64> {
        let m2 = self.spread()?;
        self.defined(2, || self.m4 / self.count as f64 / (m2 * m2) - 3.0)
    }

    fn defined(&self, least: u64, figure: impl FnOnce() -> f64) -> Option<f64> {
        (self.count >= least).then(figure).and_then(finite)
    }

    fn spread(&self) -> Option<f64> {
        self.population_variance().filter(|&v| v > 0.0)
    }

    fn shift_mean(&mut self, by: f64) {
        let (sum, error) = two_sum(self.mean, by);
        (self.mean, self.mean_low) = two_sum(sum, error + self.mean_low);
    }

    /// The state of one block, or `None` when a value in it is not finite.
    fn of_block(block: &[f64; BLOCK]) -> Option<Self> {
        // Differences from a sample, not from zero: exact where the samples lie close together.
        let pivot = block[0];
        let mut sums = [0.0; LANES];
        let mut mins = [pivot; LANES];
        let mut maxs = [pivot; LANES];
        for row in block.as_chunks::<LANES>().0 {
            for lane in 0..LANES {
                let x = row[lane];
                sums[lane] += x - pivot;
                mins[lane] = if x < mins[lane] { x } else { mins[lane] };
                maxs[lane] = if x > maxs[lane] { x } else { maxs[lane] };
            }
        }
        let sum = total(sums);
        // An infinity or a NaN anywhere reaches the sum; so does an overflow, which takes the slow
        // path without harm.
        if !sum.is_finite() {
            return None;
        }
        let n = BLOCK as f64;
        let shift = sum / n;
        let (mut s1, mut s2, mut s3, mut s4) =
            ([0.0; LANES], [0.0; LANES], [0.0; LANES], [0.0; LANES]);
        for row in block.as_chunks::<LANES>().0 {
            for lane in 0..LANES {
                let d = (row[lane] - pivot) - shift;
                let d2 = d * d;
                s1[lane] += d;
                s2[lane] += d2;
                s3[lane] += d2 * d;
                s4[lane] += d2 * d2;
            }
        }
        let (mean, mean_low) = two_sum(pivot, shift);
        // The deviations add up to zero but for rounding; what is left corrects the second moment.
        let s1 = total(s1);
        Some(Self {
            count: BLOCK as u64,
            rejected: 0,
            min: mins.into_iter().fold(pivot, f64::min),
            max: maxs.into_iter().fold(pivot, f64::max),
            mean,
            mean_low,
            m2: (total(s2) - s1 * s1 / n).max(0.0),
            m3: total(s3),
            m4: total(s4),
        })
    }

    fn joined(a: &Self, b: &Self) -> Self {
        let (na, nb) = (a.count as f64, b.count as f64);
        let n = na + nb;
        let delta = (b.mean - a.mean) + (b.mean_low - a.mean_low);
        // The shares of the two parts; written so that one division serves all terms.
        let inverse = 1.0 / n;
        let (pa, pb) = (na * inverse, nb * inverse);
        let d2 = delta * delta;
        let term = d2 * na * pb;
        let mut joined = Self {
            count: a.count + b.count,
            rejected: 0,
            min: a.min.min(b.min),
            max: a.max.max(b.max),
            mean: a.mean,
            mean_low: a.mean_low,
            m2: a.m2 + b.m2 + term,
            m3: a.m3 + b.m3 + term * delta * (pa - pb) + 3.0 * delta * (pa * b.m2 - pb * a.m2),
            m4: a.m4
                + b.m4
                + term * d2 * (pa * pa - pa * pb + pb * pb)
                + 6.0 * d2 * (pa * pa * b.m2 + pb * pb * a.m2)
                + 4.0 * delta * (pa * b.m3 - pb * a.m3),
        };
        joined.shift_mean(delta * pb);
        joined
    }

    /// A total order of states; states that compare equal are the same.
    fn canonical_cmp(&self, other: &Self) -> Ordering {
        let floats = |m: &Self| [m.mean, m.mean_low, m.m2, m.m3, m.m4, m.min, m.max];
        self.count.cmp(&other.count).then_with(|| {
            floats(self)
                .iter()
                .zip(floats(other))
                .map(|(a, b)| a.total_cmp(&b))
                .find(|order| order.is_ne())
                .unwrap_or(Ordering::Equal)
        })
    }
}

fn total(lanes: [f64; LANES]) -> f64 {
    let [a, b, c, d, e, f, g, h] = lanes;
    ((a + b) + (c + d)) + ((e + f) + (g + h))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Samples, assert_close};

    fn of(xs: &[f64]) -> Moments {
        let mut m = Moments::new();
        m.extend_from_slice(xs);
        m
    }

    fn pushed(xs: &[f64]) -> Moments {
        let mut m = Moments::new();
        xs.iter().for_each(|&x| m.push(x));
        m
    }

    /// Count, mean, n-1 variance, g1, g2 of integers, from exact 128-bit power sums.
    fn exact(xs: &[i64]) -> (f64, f64, f64, f64) {
        let n = xs.len() as i128;
        let sum: i128 = xs.iter().map(|&x| i128::from(x)).sum();
        // n x - sum is n times the deviation, an integer.
        let mut p = [0i128; 3];
        for &x in xs {
            let d = n * i128::from(x) - sum;
            p[0] += d * d;
            p[1] += d * d * d;
            p[2] += d * d * d * d;
        }
        let nf = n as f64;
        let m2 = p[0] as f64 / nf.powi(3);
        let m3 = p[1] as f64 / nf.powi(4);
        let m4 = p[2] as f64 / nf.powi(5);
        (
            sum as f64 / nf,
            m2 * nf / (nf - 1.0),
            m3 / m2.powf(1.5),
            m4 / (m2 * m2) - 3.0,
        )
    }

    #[test]
    fn no_sample_has_no_figure() {
        let m = Moments::new();
        assert_eq!(m.count(), 0);
        for figure in [m.min(), m.max(), m.mean(), m.variance(), m.std_dev()] {
            assert_eq!(figure, None);
        }
        assert_eq!(m.population_variance(), None);
        assert_eq!((m.skewness(), m.excess_kurtosis()), (None, None));
    }

    #[test]
    fn one_sample_has_a_mean_and_no_deviation() {
        let m = of(&[42.5]);
        assert_eq!(
            (m.min(), m.max(), m.mean()),
            (Some(42.5), Some(42.5), Some(42.5))
        );
        assert_eq!((m.variance(), m.std_dev()), (None, None));
        assert_eq!(m.population_variance(), Some(0.0));
        assert_eq!((m.skewness(), m.excess_kurtosis()), (None, None));
    }

    #[test]
    fn two_samples_have_no_skewness_and_the_least_kurtosis() {
        let m = of(&[1.0, 3.0]);
        assert_eq!(m.mean(), Some(2.0));
        assert_eq!(m.variance(), Some(2.0));
        assert_eq!(m.skewness(), Some(0.0));
        assert_eq!(m.excess_kurtosis(), Some(-2.0));
    }

    #[test]
    fn constant_input_has_exactly_no_variance_at_any_offset() {
        for value in [
            0.0,
            0.1,
            1e9 + 0.1,
            1.0 / 3.0,
            1e-300,
            1.8446744073709552e19,
        ] {
            for n in [2, 63, 64, 65, 1000] {
                let m = of(&vec![value; n]);
                assert_eq!(m.mean(), Some(value));
                assert_eq!(m.variance(), Some(0.0), "{value} x {n}");
                assert_eq!((m.skewness(), m.excess_kurtosis()), (None, None));
                assert_eq!(pushed(&vec![value; n]).variance(), Some(0.0));
            }
        }
    }

    #[test]
    fn figures_hold_at_a_large_offset() {
        for (offset, scale) in [(0, 5000), (1_000_000_000i64, 5000), (1_000_000_000, 3)] {
            for n in [5usize, 100, 1000, 20_011] {
                let mut samples = Samples::new(7);
                let xs: Vec<i64> = (0..n)
                    .map(|_| offset + samples.lognormal_integer(f64::from(scale)))
                    .collect();
                let (mean, variance, skewness, kurtosis) = exact(&xs);
                let floats: Vec<f64> = xs.iter().map(|&x| x as f64).collect();
                for m in [of(&floats), pushed(&floats)] {
                    assert_close(m.mean(), mean, 1e-15);
                    assert_close(m.variance(), variance, 1e-11);
                    assert_close(m.skewness(), skewness, 1e-10);
                    assert_close(m.excess_kurtosis(), kurtosis, 1e-10);
                }
            }
        }
    }

    #[test]
    fn the_largest_integers_give_finite_figures() {
        let mut xs = vec![u64::MAX as f64; 100];
        xs.push(0.0);
        let m = of(&xs);
        assert!(m.skewness().is_some_and(f64::is_finite));
        assert!(m.excess_kurtosis().is_some_and(f64::is_finite));
    }

    #[test]
    fn overflow_is_none_rather_than_not_a_number() {
        let m = of(&[1e300, -1e300, 1e300, f64::MAX, -f64::MAX]);
        assert_eq!(m.variance(), None);
        assert_eq!(m.excess_kurtosis(), None);
        assert_eq!(m.max(), Some(f64::MAX));
    }

    #[test]
    fn values_that_are_not_finite_are_counted_and_change_nothing() {
        let mut xs = vec![1.0; 200];
        xs[3] = f64::NAN;
        xs[70] = f64::INFINITY;
        xs[199] = f64::NEG_INFINITY;
        xs[100] = 5.0;
        let m = of(&xs);
        assert_eq!((m.count(), m.rejected()), (197, 3));
        assert_eq!((m.min(), m.max()), (Some(1.0), Some(5.0)));
        let clean: Vec<f64> = xs.iter().copied().filter(|x| x.is_finite()).collect();
        assert_close(m.variance(), of(&clean).variance().unwrap(), 1e-14);
    }

    #[test]
    fn merge_with_nothing_changes_nothing() {
        let m = of(&[1.0, 2.0, 4.0]);
        let mut left = m;
        left.merge(&Moments::new());
        let mut right = Moments::new();
        right.merge(&m);
        assert_eq!((left, right), (m, m));
    }
}
