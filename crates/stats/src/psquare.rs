// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Quantiles of a stream in constant memory: the P-square algorithm.
//!
//! Jain and Chlamtac (*Communications of the ACM* 28, 1985). For the quantile p, five markers stand
//! on the minimum, the p/2, p and (1+p)/2 quantiles, and the maximum. A sample moves the positions
//! of the markers above it up by one; a marker that has drifted a whole position from where it
//! should be moves by one, and its height follows the parabola through it and its neighbours, or
//! the straight line where the parabola would leave the order.
//!
//! Two things differ from the text of 1985, in speed only. The place where a marker should be is
//! computed as f·(n-1), where the paper adds f once a sample, which gathers rounding. The
//! parabola is brought over one denominator, so that it takes one division and not three.
//!
//! # Tolerance
//!
//! The rank error is the distance of p from F(estimate), F being the share of samples at or below;
//! where F jumps, the distance from the jump. Over the default quantiles, samples in random order:
//!
//! | samples | n >= 1000 | n >= 10 000 |
//! |---|---|---|
//! | one mode, light tail: uniform, normal, exponential, lognormal up to σ = 1, rare outliers up to 20 times the median | 0.03 ([`RANK_TOLERANCE`]) | 0.02 |
//! | heavy tail: Pareto of shape 1.1 and more, one outlier in a thousand of 1000 times the median | 0.15 ([`HEAVY_TAIL_RANK_TOLERANCE`]) | 0.03 |
//! | two modes with a gap, 30 : 70 | 0.25 | 0.05 |
//! | discrete, like a lognormal in coarse ticks, the most frequent value with the share a | 0.03 + a | 0.03 + a |
//!
//! The figures are the largest that were seen in some hundred runs of each kind, rounded up; most
//! runs are several times better. A far outlier that comes early bends the parabolas, which takes
//! some thousand samples to forget: this is the weakness of the algorithm on latencies.
//!
//! None of it holds where the order carries information. After a change of regime, say calm and then
//! loaded, the markers stand for a mixture that never was, and the rank error may exceed 0.2. A
//! relative error is *not* promised: in a heavy tail 1 % of rank may be a factor of two in time.
//! Quote tail figures from [`LatencyHistogram`](crate::LatencyHistogram).
//!
//! # Memory
//!
//! Here a quantile takes 72 bytes, and the set 96 more. On a microcontroller: three heights and three
//! positions a quantile (24 bytes with `f32` and `u32`), and once for all the count, the minimum and
//! the maximum; p/2, p and (1+p)/2 are constants. `examples/online_quantiles.rs` shows the class.

use crate::num::finite;

/// The rank error kept after 1000 samples of one mode and a light tail; see the
/// [module](crate::psquare#tolerance).
pub const RANK_TOLERANCE: f64 = 0.03;

/// The rank error kept after 1000 samples of a heavy tail; see the
/// [module](crate::psquare#tolerance).
pub const HEAVY_TAIL_RANK_TOLERANCE: f64 = 0.15;

/// Samples that are kept as they are before the markers take over.
const FIRST: usize = 5;

/// Estimates of a set of quantiles of a stream, after Jain and Chlamtac.
///
/// A value that is not finite is counted in [`rejected`](Self::rejected) and otherwise ignored.
///
/// ```
/// use punctual_stats::PSquare;
///
/// # fn main() -> Result<(), punctual_stats::QuantileSetError> {
/// let mut quantiles = PSquare::new(&PSquare::DEFAULT)?;
/// for i in 0..10_000u32 {
///     quantiles.push(f64::from(i * 7919 % 10_000));
/// }
/// for (p, estimate) in quantiles.estimates() {
///     let estimate = estimate.unwrap_or(f64::NAN);
///     assert!((estimate / 10_000.0 - p).abs() < 0.01, "p{p}: {estimate}");
/// }
/// # Ok(())
/// # }
/// ```
///
/// The markers are in a `Vec`, or in the memory that [`within`](Self::within) gets.
#[derive(Clone, Debug)]
pub struct PSquare<M = crate::storage::List<Markers>> {
    count: u64,
    rejected: u64,
    /// The first samples, in ascending order as far as `count` goes.
    first: [f64; FIRST],
    min: f64,
    max: f64,
    markers: M,
}

#[cfg(feature = "std")]
impl Default for PSquare {
    /// An estimator of the [`DEFAULT`](Self::DEFAULT) quantiles.
    fn default() -> Self {
        Self::of(&Self::DEFAULT)
    }
}

/// The reason that a set of quantiles was rejected.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "std", derive(thiserror::Error))]
#[non_exhaustive]
pub enum QuantileSetError {
    /// A member is not inside the open interval from 0 to 1.
    #[cfg_attr(
        feature = "std",
        error("quantile {quantile} is not between 0 and 1, both excluded")
    )]
    OutOfRange {
        /// The rejected member.
        quantile: f64,
    },
}

/// The inner three markers of one quantile; the outer two are the minimum and the maximum.
///
/// Positions count from 0 and are whole numbers; as `f64` they need no conversion.
#[derive(Clone, Copy, Debug, Default)]
pub struct Markers {
    share: [f64; 3],
    height: [f64; 3],
    position: [f64; 3],
}

impl PSquare {
    /// The 5th, 50th, 95th and 99th percentile.
    pub const DEFAULT: [f64; 4] = [0.05, 0.5, 0.95, 0.99];
}

#[cfg(feature = "std")]
impl PSquare {
    /// Creates an estimator of the given quantiles, in that order.
    ///
    /// # Errors
    ///
    /// [`QuantileSetError::OutOfRange`] names a member that is not inside (0, 1).
    pub fn new(quantiles: &[f64]) -> Result<Self, QuantileSetError> {
        Self::within(vec![Markers::default(); quantiles.len()], quantiles)
    }

    pub(crate) fn of(quantiles: &[f64]) -> Self {
        Self::set(vec![Markers::default(); quantiles.len()], quantiles)
    }
}

impl<M: AsRef<[Markers]> + AsMut<[Markers]>> PSquare<M> {
    /// Creates an estimator of the given quantiles, in that order, whose state is in `markers`: one for each; where there
    /// are fewer, the last quantiles are left out.
    ///
    /// # Errors
    ///
    /// [`QuantileSetError::OutOfRange`] names a member that is not inside (0, 1).
    pub fn within(markers: M, quantiles: &[f64]) -> Result<Self, QuantileSetError> {
        // Written so that a NaN is out of range too.
        if let Some(&quantile) = quantiles.iter().find(|&&p| !(p > 0.0 && p < 1.0)) {
            return Err(QuantileSetError::OutOfRange { quantile });
        }
        Ok(Self::set(markers, quantiles))
    }

    fn set(mut markers: M, quantiles: &[f64]) -> Self {
        for (markers, &p) in markers.as_mut().iter_mut().zip(quantiles) {
            *markers = Markers::new(p);
        }
        Self {
            count: 0,
            rejected: 0,
            first: [0.0; FIRST],
            min: 0.0,
            max: 0.0,
            markers,
        }
    }

    /// Adds one sample.
    ///
    /// Hot: it allocates nothing.
    pub fn push(&mut self, x: f64) {
        self.extend_from_slice(&[x]);
    }

    /// Adds every sample of `xs`, in order; the result is that of [`push`](Self::push), bit for bit.
    ///
    /// Hot: it allocates nothing.
    pub fn extend_from_slice(&mut self, xs: &[f64]) {
        if xs.iter().fold(true, |all, x| all & x.is_finite()) {
            self.extend_finite(xs);
        } else {
            for run in xs.split(|x| !x.is_finite()) {
                self.extend_finite(run);
            }
            self.rejected += xs.iter().filter(|x| !x.is_finite()).count() as u64;
        }
    }

    /// The quantiles with their estimates; `None` before the first sample.
    ///
    /// Up to five samples the estimate is the exact order statistic of rank ⌈p n⌉.
    pub fn estimates(&self) -> impl Iterator<Item = (f64, Option<f64>)> + '_ {
        self.markers
            .as_ref()
            .iter()
            .map(|m| (m.share[1], self.estimate_of(m)))
    }

    /// The estimate of the quantile at `index` of the set, or `None` without one.
    pub fn estimate(&self, index: usize) -> Option<f64> {
        self.markers
            .as_ref()
            .get(index)
            .and_then(|m| self.estimate_of(m))
    }

    /// The number of samples.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The number of values that were refused because they were infinite or not a number.
    pub fn rejected(&self) -> u64 {
        self.rejected
    }

    fn estimate_of(&self, markers: &Markers) -> Option<f64> {
        match self.count {
            0 => None,
            n if n <= FIRST as u64 => {
                let rank = crate::num::quantile_rank(markers.share[1], n);
                self.first.get(crate::num::index(rank) - 1).copied()
            }
            _ => finite(markers.height[1]),
        }
    }

    fn extend_finite(&mut self, xs: &[f64]) {
        let missing = FIRST.saturating_sub(crate::num::index(self.count));
        let (first, rest) = xs.split_at(missing.min(xs.len()));
        for &x in first {
            self.push_first(x);
        }
        if rest.is_empty() {
            return;
        }
        let last = (self.count - 1) as f64;
        let mut extremes = (self.min, self.max);
        let (fours, others) = self.markers.as_mut().as_chunks_mut::<4>();
        for group in fours {
            extremes = run(group, rest, last, self.min, self.max);
        }
        for markers in others {
            extremes = run(
                core::array::from_mut(markers),
                rest,
                last,
                self.min,
                self.max,
            );
        }
        (self.min, self.max) = extremes;
        self.count += rest.len() as u64;
    }

    fn push_first(&mut self, x: f64) {
        let n = crate::num::index(self.count);
        self.first[n] = x;
        self.first[..=n].sort_unstable_by(f64::total_cmp);
        self.count += 1;
        (self.min, self.max) = (self.first[0], self.first[n]);
        if n + 1 == FIRST {
            for markers in self.markers.as_mut() {
                markers.height.copy_from_slice(&self.first[1..4]);
            }
        }
    }
}

impl Markers {
    fn new(p: f64) -> Self {
        Self {
            share: [p / 2.0, p, f64::midpoint(p, 1.0)],
            height: [0.0; 3],
            position: [1.0, 2.0, 3.0],
        }
    }

    #[inline(always)]
    fn step(&mut self, x: f64, last: f64, min: f64, max: f64) {
        let [f1, f2, f3] = self.share;
        let [q1, q2, q3] = &mut self.height;
        let [n1, n2, n3] = &mut self.position;
        // The search for the cell, without a branch: a marker above the sample moves up.
        *n1 += if x < *q1 { 1.0 } else { 0.0 };
        *n2 += if x < *q2 { 1.0 } else { 0.0 };
        *n3 += if x < *q3 { 1.0 } else { 0.0 };
        let (d1, d2, d3) = (last * f1 - *n1, last * f2 - *n2, last * f3 - *n3);
        if d1.abs() >= 1.0 {
            (*q1, *n1) = adjusted(d1, [min, *q1, *q2], [0.0, *n1, *n2]);
        }
        if d2.abs() >= 1.0 {
            (*q2, *n2) = adjusted(d2, [*q1, *q2, *q3], [*n1, *n2, *n3]);
        }
        if d3.abs() >= 1.0 {
            (*q3, *n3) = adjusted(d3, [*q2, *q3, max], [*n2, *n3, last]);
        }
    }
}

/// Feeds `xs` to `N` quantiles, given the position of the maximum and the extremes before them;
/// returns the extremes after them.
///
/// Sample by sample through all of the group: whether a marker moves is as good as random, and while
/// one quantile waits for its wrongly guessed branch the others have work that is already known.
fn run<const N: usize>(
    group: &mut [Markers; N],
    xs: &[f64],
    mut last: f64,
    mut min: f64,
    mut max: f64,
) -> (f64, f64) {
    for &x in xs {
        last += 1.0;
        min = if x < min { x } else { min };
        max = if x > max { x } else { max };
        for markers in group.iter_mut() {
            markers.step(x, last, min, max);
        }
    }
    (min, max)
}

/// The height and position of the middle of three markers after it moved one step towards `d`, if
/// there is room.
#[inline(always)]
fn adjusted(d: f64, q: [f64; 3], n: [f64; 3]) -> (f64, f64) {
    let (below, above) = (n[1] - n[0], n[2] - n[1]);
    let room = if d > 0.0 { above } else { below };
    if room <= 1.0 {
        return (q[1], n[1]);
    }
    let step = 1.0f64.copysign(d);
    let (rise_below, rise_above) = (q[1] - q[0], q[2] - q[1]);
    let bend = (below + step) * below * rise_above + (above - step) * above * rise_below;
    let parabola = q[1] + step * bend / ((below + above) * below * above);
    let height = if q[0] < parabola && parabola < q[2] {
        parabola
    } else if d > 0.0 {
        q[1] + rise_above / above
    } else {
        q[1] - rise_below / below
    };
    (height, n[1] + step)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Samples;

    /// The largest rank error of the default set over many seeds and three sizes from `least` on.
    fn worst(least: usize, sample: impl Fn(&mut Samples) -> f64) -> f64 {
        let mut worst: f64 = 0.0;
        for n in [least, 3 * least, 10 * least] {
            for seed in 0..(100_000 / n as u64).max(4) {
                let mut source = Samples::new(seed * 31 + n as u64);
                let xs: Vec<f64> = (0..n).map(|_| sample(&mut source)).collect();
                worst = worst.max(error_of_default_set(xs));
            }
        }
        worst
    }

    fn error_of_default_set(mut xs: Vec<f64>) -> f64 {
        let mut psquare = PSquare::new(&PSquare::DEFAULT).unwrap();
        psquare.extend_from_slice(&xs);
        xs.sort_unstable_by(f64::total_cmp);
        let errors = psquare.estimates().map(|(p, estimate)| {
            let estimate = estimate.unwrap();
            let below = xs.partition_point(|&x| x < estimate) as f64 / xs.len() as f64;
            let upto = xs.partition_point(|&x| x <= estimate) as f64 / xs.len() as f64;
            (below - p).max(p - upto)
        });
        errors.fold(0.0, f64::max)
    }

    type RandomSource = fn(&mut Samples) -> f64;

    #[track_caller]
    fn assert_within(sources: &[(&str, RandomSource)], from_1000: f64, from_10_000: f64) {
        for &(name, source) in sources {
            for (least, tolerance) in [(1000, from_1000), (10_000, from_10_000)] {
                let worst = worst(least, source);
                assert!(worst <= tolerance, "{name} from {least}: {worst}");
            }
        }
    }

    #[test]
    fn one_mode_with_a_light_tail_stays_within_the_stated_rank_error() {
        let sources: [(&str, RandomSource); 6] = [
            ("uniform", Samples::uniform),
            ("normal", Samples::normal),
            ("exponential", Samples::exponential),
            ("lognormal 0.35", |s| s.lognormal(7.6, 0.35)),
            ("lognormal 1", |s| s.lognormal(7.6, 1.0)),
            ("outliers", |s| {
                s.lognormal(7.6, 0.35) * if s.uniform() < 1e-3 { 20.0 } else { 1.0 }
            }),
        ];
        assert_within(&sources, RANK_TOLERANCE, 0.02);
    }

    #[test]
    fn a_heavy_tail_stays_within_the_stated_rank_error() {
        let sources: [(&str, RandomSource); 3] = [
            ("pareto 1.5", |s| s.pareto(1.5)),
            ("pareto 1.1", |s| s.pareto(1.1)),
            ("far outliers", |s| {
                s.lognormal(7.6, 0.35) * if s.uniform() < 1e-3 { 1e3 } else { 1.0 }
            }),
        ];
        assert_within(&sources, HEAVY_TAIL_RANK_TOLERANCE, 0.03);
    }

    #[test]
    fn two_modes_stay_within_the_stated_rank_error() {
        let two: RandomSource = |s| s.normal() + if s.uniform() < 0.3 { 50.0 } else { 10.0 };
        assert_within(&[("30 : 70", two)], 0.25, 0.05);
    }

    #[test]
    fn ticks_add_at_most_the_share_of_the_most_frequent_value() {
        for step in [10.0, 100.0, 500.0, 1000.0] {
            // The density of the lognormal at its mode, 1/(σ √τ exp(μ - σ²/2)), times the step.
            let share = step / (0.35 * 2.506_628 * (7.6f64 - 0.061_25).exp());
            let worst = worst(1000, |s| (s.lognormal(7.6, 0.35) / step).round() * step);
            assert!(worst <= RANK_TOLERANCE + share.min(1.0), "{step}: {worst}");
        }
    }

    #[test]
    fn a_change_of_regime_breaks_the_tolerance_as_the_docs_warn() {
        let mut source = Samples::new(5);
        let calm = (0..50_000).map(|_| 1.0).collect::<Vec<f64>>();
        let mut xs: Vec<f64> = calm.iter().map(|x| x * source.normal() + 10.0).collect();
        xs.extend(calm.iter().map(|x| x * source.normal() + 1000.0));
        let error = error_of_default_set(xs);
        assert!(error > RANK_TOLERANCE, "{error}");
    }

    #[test]
    fn the_worked_example_of_the_paper_comes_out() {
        // Jain and Chlamtac, table I: the median of twenty observations.
        let observations = [
            0.02, 0.15, 0.74, 3.39, 0.83, 22.37, 10.15, 15.43, 38.62, 15.92, 34.60, 10.28, 1.47,
            0.40, 0.05, 11.39, 0.27, 0.42, 0.09, 11.37,
        ];
        let mut psquare = PSquare::new(&[0.5]).unwrap();
        psquare.extend_from_slice(&observations);
        assert!((psquare.estimate(0).unwrap() - 4.44).abs() < 0.005);
    }

    #[test]
    fn few_samples_give_exact_order_statistics() {
        let mut psquare = PSquare::new(&[0.05, 0.5, 0.99]).unwrap();
        assert!(psquare.estimates().all(|(_, estimate)| estimate.is_none()));
        for (x, want) in [
            (5.0, [5.0, 5.0, 5.0]),
            (1.0, [1.0, 1.0, 5.0]),
            (3.0, [1.0, 3.0, 5.0]),
            (9.0, [1.0, 3.0, 9.0]),
            (4.0, [1.0, 4.0, 9.0]),
        ] {
            psquare.push(x);
            let got: Vec<f64> = psquare.estimates().filter_map(|(_, e)| e).collect();
            assert_eq!(got, want);
        }
    }

    #[test]
    fn slices_and_single_samples_give_the_same_bits() {
        let mut source = Samples::new(8);
        let mut xs: Vec<f64> = (0..5000).map(|_| source.lognormal(7.6, 1.0)).collect();
        xs[2] = f64::NAN;
        xs[1000] = f64::NEG_INFINITY;
        let set = [0.5, 0.99, 0.05, 0.95, 0.999, 0.9];
        let (mut whole, mut single) = (PSquare::new(&set).unwrap(), PSquare::new(&set).unwrap());
        whole.extend_from_slice(&xs);
        xs.iter().for_each(|&x| single.push(x));
        assert!(whole.estimates().eq(single.estimates()));
        assert_eq!((whole.count(), whole.rejected()), (4998, 2));
    }

    #[test]
    fn constant_input_and_huge_values_are_returned_as_they_are() {
        for x in [0.0, 1e9 + 0.1, u64::MAX as f64] {
            let mut psquare = PSquare::new(&PSquare::DEFAULT).unwrap();
            psquare.extend_from_slice(&vec![x; 10_000]);
            assert!(psquare.estimates().all(|(_, estimate)| estimate == Some(x)));
        }
    }

    #[test]
    fn a_quantile_outside_the_open_interval_is_named() {
        for p in [0.0, 1.0, -0.5, f64::NAN] {
            let Err(QuantileSetError::OutOfRange { quantile }) = PSquare::new(&[0.5, p]) else {
                panic!("{p} was accepted");
            };
            assert!(quantile == p || p.is_nan());
        }
        assert_eq!(PSquare::new(&[]).unwrap().estimates().count(), 0);
    }
}
