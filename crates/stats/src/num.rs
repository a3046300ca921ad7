// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Small numeric helpers: checked casts and exact sums.

/// Returns a count or a time as a figure to reckon with: exact below 2^53, above it the nearest that there is.
#[expect(
    clippy::cast_precision_loss,
    reason = "figures, not identities: 2^53 ns are 104 days"
)]
pub const fn float(n: u64) -> f64 {
    n as f64
}

/// Returns `x` when it is finite.
pub(crate) fn finite(x: f64) -> Option<f64> {
    x.is_finite().then_some(x)
}

#[cfg(feature = "std")]
/// Whether `x` is above 0 and finite; a NaN is neither.
pub(crate) fn positive(x: f64) -> bool {
    x > 0.0 && x.is_finite()
}

/// Rounds down and saturates: below 0 and not a number give 0.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float to integer cast saturates, which is what callers ask for"
)]
pub(crate) fn floor_u64(x: f64) -> u64 {
    x as u64
}

/// Rounds up and saturates as [`floor_u64`] does.
pub(crate) fn ceil_u64(x: f64) -> u64 {
    let floor = floor_u64(x);
    floor.saturating_add(u64::from(float(floor) < x))
}

/// The square root, correctly rounded, and so the same on every machine: `core` has none.
pub(crate) fn sqrt(x: f64) -> f64 {
    libm::sqrt(x)
}

#[cfg(feature = "std")]
/// Returns the number whose sign is the last bit: 0, -1, 1, -2 and so on.
#[expect(clippy::cast_possible_wrap, reason = "halved, it is below 2^63")]
pub(crate) const fn from_zig_zag(coded: u64) -> i64 {
    let half = (coded >> 1) as i64;
    match coded & 1 {
        0 => half,
        _ => !half,
    }
}

/// Converts an element count or an index; a machine that has 64-bit addresses loses nothing.
pub(crate) fn index(x: u64) -> usize {
    usize::try_from(x).unwrap_or(usize::MAX)
}

/// Returns the rounded sum and its rounding error; the two add up to `a + b` exactly.
///
/// Knuth, *The Art of Computer Programming* 2, 4.2.2, theorem B.
pub(crate) fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let b_part = sum - a;
    (sum, (a - (sum - b_part)) + (b - b_part))
}

/// The 1-based rank of the `q` quantile of `count` samples: `ceil(q * count)`, at least 1.
///
/// The product is taken one rounding error low, so that 0.07 of 100 samples is rank 7, not 8.
pub(crate) fn quantile_rank(q: f64, count: u64) -> u64 {
    let exact = q * count as f64;
    ceil_u64(exact - exact * f64::EPSILON).clamp(1, count.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantile_rank_is_the_ceiling_without_rounding_noise() {
        assert_eq!(quantile_rank(0.07, 100), 7);
        assert_eq!(quantile_rank(0.99, 1000), 990);
        assert_eq!(quantile_rank(0.991, 1000), 991);
        assert_eq!(quantile_rank(0.5, 3), 2);
        assert_eq!(quantile_rank(0.0, 10), 1);
        assert_eq!(quantile_rank(1.0, 10), 10);
        assert_eq!(quantile_rank(0.999, 0), 1);
    }

    #[test]
    fn two_sum_keeps_what_rounding_drops() {
        let (sum, error) = two_sum(1e16, 1.0);
        assert_eq!(sum + error, 1e16);
        assert_eq!((sum, error), (1e16, 1.0));
    }
}
