// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Student's t where earlier runs say how much runs vary, so that one new run on each side is enough.
//!
//! With x̄ the mean of the new runs of a side, n their number and s the deviation of earlier runs with ν degrees of freedom,
//! (x̄₂ - x̄₁) / (s √(1/n₁ + 1/n₂)) has Student's distribution with ν degrees of freedom, where runs are normal,
//! independent, and vary as they did (Student, *Biometrika* 6, 1908).

use crate::num::float;
use crate::precision::Interval;
use crate::student::{student_t, student_t_cdf};

/// How much runs vary, as earlier ones show it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The standard deviation of a run, on the scale of the comparison.
    pub deviation: f64,
    /// Its degrees of freedom.
    pub freedom: f64,
}

/// How the means of two groups differ, with the spread of earlier runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ByEarlier {
    /// The interval of the difference.
    pub interval: Interval,
    /// Standard error of the difference.
    pub error: f64,
    /// Two-sided p-value.
    pub p: f64,
}

/// Tests the `difference` of the means of `runs` runs on each side. `None` without a run on each side, without a spread, or
/// where a number is not finite.
///
/// ```
/// use punctual_stats::runs::{Spread, by_earlier};
///
/// // One run a side, 10 % apart, where runs vary by 2 % as 30 degrees of freedom say.
/// let spread = Spread { deviation: 0.02, freedom: 30.0 };
/// let Some(test) = by_earlier(0.1, [1, 1], spread, 0.95) else { return };
/// assert!((test.p - 0.001_344).abs() < 1e-6);
/// assert!((test.interval.low - 0.0422).abs() < 1e-4);
/// ```
pub fn by_earlier(
    difference: f64,
    runs: [u64; 2],
    spread: Spread,
    confidence: f64,
) -> Option<ByEarlier> {
    let [a, b] = runs.map(float);
    let error = spread.deviation * (1.0 / a + 1.0 / b).sqrt();
    let usable = error > 0.0 && error.is_finite() && difference.is_finite();
    if !usable || spread.freedom < 1.0 {
        return None;
    }
    let half = error * student_t(spread.freedom, f64::midpoint(1.0, confidence))?;
    Some(ByEarlier {
        interval: Interval {
            low: difference - half,
            high: difference + half,
            confidence,
            effective_samples: spread.freedom + 1.0,
        },
        error,
        p: (2.0 * student_t_cdf(spread.freedom, -(difference / error).abs())?).min(1.0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::assert_close;

    #[test]
    fn it_gives_what_scipy_gives() {
        // 2 * scipy.stats.t.sf(0.1 / (0.02 * sqrt(1/2 + 1/3)), 9).
        let spread = Spread {
            deviation: 0.02,
            freedom: 9.0,
        };
        let test = by_earlier(-0.1, [2, 3], spread, 0.95).unwrap();
        assert_close(Some(test.p), 0.0003915705413501351, 1e-9);
        assert_close(Some(test.interval.low), -0.1 - 0.04130115022288211, 1e-9);
        assert_close(Some(test.interval.high), -0.1 + 0.04130115022288211, 1e-9);
    }

    #[test]
    fn without_runs_or_a_spread_there_is_no_test() {
        let of =
            |runs, deviation, freedom| by_earlier(0.1, runs, Spread { deviation, freedom }, 0.95);
        assert_eq!(of([0, 1], 0.02, 9.0), None);
        assert_eq!(of([1, 1], 0.0, 9.0), None);
        assert_eq!(of([1, 1], f64::NAN, 9.0), None);
        assert_eq!(of([1, 1], 0.02, 0.0), None);
    }
}
