// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The exact interval of a Poisson mean.
//!
//! The ends are the means at which this many events, or this few, have half of the remaining
//! probability (Garwood, *Biometrika* 28, 1936). Point probabilities are Loader's as for the
//! binomial distribution, so that large counts lose no digits.

use crate::binomial::{deviance, stirling_error};
use crate::num::finite;
use crate::precision::valid;

/// The two-sided interval of the expected number of events, after `k` were seen.
///
/// `None` for a confidence outside of 0 to 1.
///
/// ```
/// use punctual_stats::poisson_interval;
///
/// let Some((low, high)) = poisson_interval(10, 0.95) else { return };
/// assert!((low - 4.795389).abs() < 1e-5);
/// assert!((high - 18.390356).abs() < 1e-5);
/// // Nothing seen still allows some: -ln 0.025.
/// assert!((poisson_interval(0, 0.95).unwrap_or_default().1 - 3.688879).abs() < 1e-5);
/// ```
pub fn poisson_interval(k: u64, confidence: f64) -> Option<(f64, f64)> {
    if !valid(confidence) {
        return None;
    }
    let alpha = (1.0 - confidence) / 2.0;
    let low = if k == 0 {
        0.0
    } else {
        mean_where(k, alpha, ln_upper, -1.0)
    };
    let high = if k == 0 {
        -alpha.ln()
    } else {
        mean_where(k, alpha, ln_lower, 1.0)
    };
    Some((finite(low)?, finite(high)?))
}

/// The mean, below (`side` -1) or above (1) `k`, at which the tail has the probability `alpha`.
fn mean_where(k: u64, alpha: f64, ln_tail: fn(u64, f64) -> f64, side: f64) -> f64 {
    let (kf, target) = (k as f64, alpha.ln());
    // The tail falls with the distance from k. Go out until it is small enough, then halve.
    let mut near = kf;
    let mut width = kf.sqrt().max(1.0);
    let mut far = step(near, side * width);
    while ln_tail(k, far) > target {
        near = far;
        width *= 2.0;
        far = step(near, side * width);
    }
    for _ in 0..200 {
        let middle = f64::midpoint(near, far);
        if middle == near || middle == far {
            break;
        }
        if ln_tail(k, middle) > target {
            near = middle;
        } else {
            far = middle;
        }
    }
    f64::midpoint(near, far)
}

/// A mean is not negative: half of the way to 0 at most.
fn step(from: f64, by: f64) -> f64 {
    (from + by).max(from / 2.0)
}

/// ln P(X = k).
fn ln_point(k: u64, mean: f64) -> f64 {
    if k == 0 {
        return -mean;
    }
    let kf = k as f64;
    -stirling_error(k) - deviance(kf, mean) - 0.5 * (std::f64::consts::TAU * kf).ln()
}

/// ln P(X >= k), for a mean of at most `k`: the terms fall.
fn ln_upper(k: u64, mean: f64) -> f64 {
    let (mut sum, mut term, mut next) = (1.0, 1.0, k as f64 + 1.0);
    while term > 1e-17 * sum {
        term *= mean / next;
        sum += term;
        next += 1.0;
    }
    ln_point(k, mean) + f64::ln(sum)
}

/// ln P(X <= k), for a mean of at least `k`: the terms fall downward.
fn ln_lower(k: u64, mean: f64) -> f64 {
    let (mut sum, mut term, mut left) = (1.0, 1.0, k as f64);
    while left > 0.0 && term > 1e-17 * sum {
        term *= left / mean;
        sum += term;
        left -= 1.0;
    }
    ln_point(k, mean) + f64::ln(sum)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::assert_close;

    #[test]
    fn small_counts_have_garwoods_interval() {
        // Solved for with sums of the point probabilities in 40 digits.
        for (k, low, high) in [
            (1, 0.025_317_808, 5.571_643_390),
            (2, 0.242_209_278, 7.224_687_668),
            (10, 4.795_388_696, 18.390_356_042),
            (100, 81.363_991_251, 121.626_793_792),
        ] {
            let (got_low, got_high) = poisson_interval(k, 0.95).unwrap();
            assert_close(Some(got_low), low, 1e-8);
            assert_close(Some(got_high), high, 1e-8);
        }
    }

    #[test]
    fn the_tails_have_the_probability_that_is_left() {
        for k in [1, 7, 1_000, 10_000_000] {
            for confidence in [0.5, 0.95, 0.999] {
                let (low, high) = poisson_interval(k, confidence).unwrap();
                let rest = (1.0 - confidence) / 2.0;
                assert_close(Some(ln_upper(k, low).exp()), rest, 1e-6);
                assert_close(Some(ln_lower(k, high).exp()), rest, 1e-6);
                assert!(low < k as f64 && (k as f64) < high);
            }
        }
    }

    #[test]
    fn no_confidence_no_interval() {
        for confidence in [0.0, 1.0, f64::NAN, -0.5] {
            assert_eq!(poisson_interval(5, confidence), None);
        }
    }
}
