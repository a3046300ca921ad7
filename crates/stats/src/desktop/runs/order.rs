// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The order in which runs were made: drift, and whether groups were made one after the other.
//!
//! A machine that gets slower during an experiment makes whatever was measured last look worse. Runs
//! in random or interleaved order turn that into noise; runs of one group before those of the other
//! turn it into an "effect" that no statistic can tell from a real one.
//!
//! Drift is looked for in what is left of each value after its group's mean is taken away (on the
//! scale of the comparison, see [`runs`](super)), against the order of the starts: Kendall's τ
//! (*Biometrika* 30, 1938; as a test of trend, Mann, *Econometrica* 13, 1945). Its p-value counts
//! permutations exactly up to 60 runs without ties, else takes the normal limit with the correction
//! for ties (Kendall, *Rank Correlation Methods*, 4.2). The size is the median of all slopes (Sen,
//! *Journal of the American Statistical Association* 63, 1968).

use super::question::{moments, scale_of};
use super::{QuestionError, Scale};
use crate::student::normal_cdf;

/// The exact distribution is counted up to this number of runs.
const MOST_EXACT: usize = 60;

/// A trend of values against their order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trend {
    /// Number of values.
    pub runs: usize,
    /// Kendall's τ, -1 to 1.
    pub tau: f64,
    /// Two-sided p-value of "no trend".
    pub p: f64,
    /// The median of all slopes times the number of steps: how much the values change from the first
    /// to the last. As a share (exp x - 1) where values are compared by their logarithms, else in
    /// their unit.
    pub change: f64,
    /// How the values were compared.
    pub scale: Scale,
}

/// Whether the runs of two groups were mixed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Order {
    /// Runs of one group lie between runs of the other.
    Mixed,
    /// All runs of one group were made before all of the other: drift and effect look alike.
    Separated,
    /// A side has fewer than two runs, so that there is no order to speak of.
    TooFew,
}

/// Whether runs that started at these times, in any unit, were mixed.
///
/// ```
/// use punctual_stats::runs::{Order, order};
///
/// assert_eq!(order(&[1.0, 4.0], &[2.0, 3.0]), Order::Mixed);
/// assert_eq!(order(&[1.0, 2.0], &[3.0, 4.0]), Order::Separated);
/// ```
pub fn order(baseline: &[f64], candidate: &[f64]) -> Order {
    if baseline.len() < 2 || candidate.len() < 2 {
        return Order::TooFew;
    }
    let ends = |times: &[f64]| {
        let first = times.iter().copied().fold(f64::INFINITY, f64::min);
        let last = times.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        (first, last)
    };
    let (a, b) = (ends(baseline), ends(candidate));
    if a.1 < b.0 || b.1 < a.0 {
        Order::Separated
    } else {
        Order::Mixed
    }
}

/// Looks for a trend in the values of all groups, each less its group's mean, against the times of
/// their starts. A group is its values and their times.
///
/// `None` below four values, or where nothing varies.
///
/// # Errors
///
/// [`QuestionError`] for values or times that are not finite, or that are not as many.
pub fn drift(groups: &[(&[f64], &[f64])]) -> Result<Option<Trend>, QuestionError> {
    for (values, times) in groups {
        if values.len() != times.len() {
            return Err(QuestionError::Blocks {
                group: "group",
                values: values.len(),
                blocks: times.len(),
            });
        }
        let odd = |xs: &[f64]| xs.iter().position(|x| !x.is_finite());
        if let Some(index) = odd(values).or_else(|| odd(times)) {
            return Err(QuestionError::NotFinite {
                group: "group",
                index,
            });
        }
    }
    let values: Vec<&[f64]> = groups.iter().map(|(values, _)| *values).collect();
    let scale = scale_of(&values);
    let mut rest: Vec<(f64, f64)> = Vec::new();
    for (values, times) in groups {
        let on_scale: Vec<f64> = match scale {
            Scale::Log => values.iter().map(|x| x.ln()).collect(),
            Scale::Linear => values.to_vec(),
        };
        let Some(mean) = moments(&on_scale).mean() else {
            continue;
        };
        rest.extend(times.iter().zip(&on_scale).map(|(t, x)| (*t, x - mean)));
    }
    rest.sort_by(|a, b| a.0.total_cmp(&b.0));
    let left: Vec<f64> = rest.iter().map(|(_, x)| *x).collect();
    Ok(trend(&left).map(|(tau, p, change)| Trend {
        runs: left.len(),
        tau,
        p,
        change: match scale {
            Scale::Log => change.exp_m1(),
            Scale::Linear => change,
        },
        scale,
    }))
}

/// τ, its p-value, and the change from first to last, of values in their order.
pub(crate) fn trend(xs: &[f64]) -> Option<(f64, f64, f64)> {
    let n = xs.len();
    if n < 4 {
        return None;
    }
    let mut slopes = Vec::with_capacity(n * (n - 1) / 2);
    let (mut sum, mut tied) = (0.0, false);
    for (i, x) in xs.iter().enumerate() {
        for (steps, y) in xs.iter().skip(i + 1).enumerate() {
            let rise = y - x;
            if rise == 0.0 {
                tied = true;
            } else {
                sum += rise.signum();
            }
            slopes.push(rise / (steps + 1) as f64);
        }
    }
    let spread = variance_of_sum(xs);
    if spread <= 0.0 {
        return None;
    }
    let p = if tied || n > MOST_EXACT {
        // Corrected for continuity: the sum moves in steps of two.
        let z = (sum.abs() - 1.0).max(0.0) / spread.sqrt();
        2.0 * normal_cdf(-z)
    } else {
        exact_p(n, sum)
    };
    slopes.sort_by(f64::total_cmp);
    let middle = slopes.len() / 2;
    let slope = if slopes.len() % 2 == 1 {
        slopes[middle]
    } else {
        f64::midpoint(slopes[middle - 1], slopes[middle])
    };
    let pairs = slopes.len() as f64;
    Some((sum / pairs, p.min(1.0), slope * (n - 1) as f64))
}

/// The variance of the sum of signs, with the correction for values that are equal.
fn variance_of_sum(xs: &[f64]) -> f64 {
    let part = |n: f64| n * (n - 1.0) * (2.0 * n + 5.0);
    let mut sorted = xs.to_vec();
    sorted.sort_by(f64::total_cmp);
    let ties: f64 = sorted
        .chunk_by(|a, b| a == b)
        .map(|equal| part(equal.len() as f64))
        .sum();
    (part(xs.len() as f64) - ties) / 18.0
}

/// The two-sided p-value of the sum of signs, by counting permutations by their inversions: those of
/// n values are those of n - 1 with the last moved to each of n places.
fn exact_p(n: usize, sum: f64) -> f64 {
    let pairs = n * (n - 1) / 2;
    let mut shares = vec![0.0; pairs + 1];
    shares[0] = 1.0;
    for places in 2..=n {
        let mut next = vec![0.0; pairs + 1];
        let mut window = 0.0_f64;
        for inversions in 0..=pairs {
            window += shares[inversions];
            if inversions >= places {
                window -= shares[inversions - places];
            }
            next[inversions] = window.max(0.0) / places as f64;
        }
        shares = next;
    }
    // A sum s is that of (pairs - s)/2 inversions.
    let fewest = (pairs as f64 - sum.abs()) / 2.0;
    let tail: f64 = shares
        .iter()
        .enumerate()
        .take_while(|(inversions, _)| *inversions as f64 <= fewest + 1e-9)
        .map(|(_, share)| share)
        .sum();
    2.0 * tail
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Samples, assert_close};

    #[test]
    fn kendall_agrees_with_scipy() {
        // scipy.stats.kendalltau(range(8), x): exact without ties, asymptotic with.
        let x = [3.1, 2.2, 4.8, 4.1, 6.0, 5.5, 7.9, 6.1];
        let (tau, p, change) = trend(&x).unwrap();
        assert_close(Some(tau), 0.714_285_714_285_714_2, 1e-12);
        assert_close(Some(p), 0.014_136_904_761_904_762, 1e-9);
        assert!((4.0..6.0).contains(&change), "{change}");
    }

    #[test]
    fn the_exact_p_value_of_a_perfect_order_is_two_of_all_permutations() {
        let (tau, p, _) = trend(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        assert_eq!(tau, 1.0);
        assert_close(Some(p), 2.0 / 120.0, 1e-12);
        let (tau, p, _) = trend(&[5.0, 4.0, 3.0, 2.0]).unwrap();
        assert_eq!(tau, -1.0);
        assert_close(Some(p), 2.0 / 24.0, 1e-12);
    }

    #[test]
    fn exact_and_normal_p_values_meet() {
        let mut samples = Samples::new(1);
        for _ in 0..20 {
            let x: Vec<f64> = (0..60)
                .map(|i| samples.normal() + 0.01 * f64::from(i))
                .collect();
            let (tau, exact, _) = trend(&x).unwrap();
            let sum = tau * 1770.0;
            let z = (sum.abs() - 1.0).max(0.0) / variance_of_sum(&x).sqrt();
            let normal = (2.0 * normal_cdf(-z)).min(1.0);
            assert!((exact - normal).abs() < 0.01, "{exact} {normal}");
        }
    }

    #[test]
    fn drift_is_found_below_an_effect_and_its_size_is_right() {
        let mut samples = Samples::new(2);
        // Each run 1 % above the one before; every second one is of a group that is 30 % above.
        let (mut a, mut b) = ((Vec::new(), Vec::new()), (Vec::new(), Vec::new()));
        for i in 0..20 {
            let group = if i % 2 == 0 { &mut a } else { &mut b };
            let level = if i % 2 == 0 { 50.0 } else { 65.0 };
            group
                .0
                .push(level * 1.01_f64.powi(i) * samples.lognormal(0.0, 0.01));
            group.1.push(f64::from(i));
        }
        let found = drift(&[(&a.0, &a.1), (&b.0, &b.1)]).unwrap().unwrap();
        assert!(found.p < 0.001, "{found:?}");
        assert!((found.change - 0.208).abs() < 0.05, "{found:?}");
        assert_eq!((found.scale, found.runs), (Scale::Log, 20));
    }

    #[test]
    fn no_drift_is_found_as_rarely_as_the_level_says() {
        let mut samples = Samples::new(3);
        let found = (0..400)
            .filter(|_| {
                let x: Vec<f64> = (0..12).map(|_| samples.lognormal(0.0, 0.3)).collect();
                let times: Vec<f64> = (0..12).map(f64::from).collect();
                drift(&[(&x[..6], &times[..6]), (&x[6..], &times[6..])])
                    .unwrap()
                    .unwrap()
                    .p
                    <= 0.05
            })
            .count();
        // Centred groups make it conservative.
        assert!(found <= 30, "{found}");
    }

    #[test]
    fn groups_that_touch_in_time_are_mixed() {
        assert_eq!(order(&[1.0, 3.0], &[3.0, 4.0]), Order::Mixed);
        assert_eq!(order(&[5.0, 6.0], &[3.0, 4.0]), Order::Separated);
        assert_eq!(order(&[5.0], &[3.0, 4.0]), Order::TooFew);
    }
}
