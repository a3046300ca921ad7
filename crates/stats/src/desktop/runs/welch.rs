// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Welch's t from means and standard errors alone, for tables that others published.
//!
//! Welch, *Biometrika* 34, 1947, with the degrees of freedom of Satterthwaite (*Biometrics* 2,
//! 1946). It trusts that the means are normal; nothing in a table can show whether they are.

use crate::precision::Interval;
use crate::student::{student_t, student_t_cdf};

/// A published mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// Number of runs.
    pub runs: u64,
    /// Their mean.
    pub mean: f64,
    /// The standard error of the mean: the deviation over √n.
    pub standard_error: f64,
}

/// How two published means compare.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Welch {
    /// Candidate minus baseline.
    pub difference: f64,
    /// The interval of the difference.
    pub difference_interval: Interval,
    /// Candidate over baseline. `None` unless both means are above 0.
    pub ratio: Option<f64>,
    /// The interval of the ratio, by the delta method on its logarithm.
    pub ratio_interval: Option<Interval>,
    /// Welch's t.
    pub t: f64,
    /// Degrees of freedom.
    pub freedom: f64,
    /// Two-sided p-value.
    pub p: f64,
}

/// Compares two published means. `None` where one has fewer than two runs, where both standard
/// errors are 0, or where a number is not finite.
///
/// ```
/// use punctual_stats::runs::{Summary, welch};
///
/// let a = Summary { runs: 6, mean: 93.71, standard_error: 4.23 };
/// let b = Summary { runs: 3, mean: 108.60, standard_error: 1.54 };
/// let Some(welch) = welch(&a, &b, 0.95) else { return };
/// assert!((welch.t - 3.3077).abs() < 1e-4);
/// assert!((welch.p - 0.0157).abs() < 1e-4);
/// ```
pub fn welch(baseline: &Summary, candidate: &Summary, confidence: f64) -> Option<Welch> {
    let [a, b] = [baseline, candidate].map(|s| s.standard_error * s.standard_error);
    let counts = [baseline.runs as f64, candidate.runs as f64];
    if counts.iter().any(|n| *n < 2.0) || !crate::num::positive(a + b) {
        return None;
    }
    let freedom = satterthwaite([a, b], counts);
    let quantile = student_t(freedom, f64::midpoint(1.0, confidence))?;
    let difference = candidate.mean - baseline.mean;
    let error = (a + b).sqrt();
    let t = difference / error;
    let interval = |low: f64, high: f64| Interval {
        low,
        high,
        confidence,
        effective_samples: counts[0] + counts[1],
    };
    let ratio =
        (baseline.mean > 0.0 && candidate.mean > 0.0).then(|| candidate.mean / baseline.mean);
    let ratio_interval = ratio.and_then(|ratio| {
        let (a, b) = (a / baseline.mean.powi(2), b / candidate.mean.powi(2));
        let quantile = student_t(
            satterthwaite([a, b], counts),
            f64::midpoint(1.0, confidence),
        )?;
        let half = quantile * (a + b).sqrt();
        Some(interval(ratio * (-half).exp(), ratio * half.exp()))
    });
    Some(Welch {
        difference,
        difference_interval: interval(difference - quantile * error, difference + quantile * error),
        ratio,
        ratio_interval,
        t,
        freedom,
        p: (2.0 * student_t_cdf(freedom, -t.abs())?).min(1.0),
    })
}

/// The degrees of freedom of a sum of two variances of means.
pub(crate) fn satterthwaite(parts: [f64; 2], counts: [f64; 2]) -> f64 {
    let [a, b] = parts;
    let below = a * a / (counts[0] - 1.0) + b * b / (counts[1] - 1.0);
    if below > 0.0 {
        (a + b).powi(2) / below
    } else {
        counts[0] + counts[1] - 2.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::assert_close;

    #[test]
    fn a_published_table_gives_what_scipy_gives() {
        // scipy.stats.ttest_ind_from_stats(93.71, 4.23*sqrt(6), 6, 108.60, 1.54*sqrt(3), 3, False).
        let a = Summary {
            runs: 6,
            mean: 93.71,
            standard_error: 4.23,
        };
        let b = Summary {
            runs: 3,
            mean: 108.60,
            standard_error: 1.54,
        };
        let w = welch(&a, &b, 0.95).unwrap();
        assert_close(Some(w.t), 3.307_704_860_794_717, 1e-12);
        assert_close(Some(w.freedom), 6.143_461_487_405, 1e-12);
        assert_close(Some(w.p), 0.015_696_709_970_381_9, 1e-8);
        assert_close(Some(w.difference), 14.89, 1e-12);
        let back = welch(&b, &a, 0.95).unwrap();
        assert_close(Some(back.p), w.p, 1e-12);
        assert_close(Some(back.ratio.unwrap() * w.ratio.unwrap()), 1.0, 1e-12);
    }

    #[test]
    fn one_run_or_no_spread_is_no_ground_for_a_test() {
        let of = |runs, standard_error| Summary {
            runs,
            mean: 1.0,
            standard_error,
        };
        assert_eq!(welch(&of(1, 1.0), &of(9, 1.0), 0.95), None);
        assert_eq!(welch(&of(9, 0.0), &of(9, 0.0), 0.95), None);
        assert_eq!(welch(&of(9, f64::NAN), &of(9, 0.0), 0.95), None);
        assert!(welch(&of(9, 0.0), &of(9, 0.1), 0.95).is_some());
    }
}
