// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Whether values may be normal: Shapiro and Francia, *Journal of the American Statistical Association* 67, 1972.

use crate::student::{normal_cdf, normal_quantile};

/// Fewer values than this show no shape, and the approximation was made for at least this many.
const LEAST: usize = 8;

/// The p-value of "these values are normal", by Royston's approximation (*Statistics and Computing* 3, 1993), which was made for
/// 5 to 5000 values. `None` below 8 values, or where they do not vary.
pub(crate) fn normal_p(values: &[f64]) -> Option<f64> {
    let n = values.len() as f64;
    if values.len() < LEAST {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let mean = sorted.iter().sum::<f64>() / n;
    let (mut products, mut squares, mut scores) = (0.0, 0.0, 0.0);
    for (at, x) in sorted.iter().enumerate() {
        let score = normal_quantile((at as f64 + 0.625) / (n + 0.25))?;
        products += score * (x - mean);
        squares += (x - mean).powi(2);
        scores += score * score;
    }
    let straight = products * products / (squares * scores);
    if !straight.is_finite() {
        return None;
    }
    let log = n.min(5_000.0).ln();
    let (mu, sigma) = (
        -1.2725 + 1.0521 * (log.ln() - log),
        1.0308 - 0.26758 * (log.ln() + 2.0 / log),
    );
    // Values on a perfect line are as normal as can be.
    let away = (1.0 - straight).max(f64::MIN_POSITIVE).ln();
    Some(1.0 - normal_cdf((away - mu) / sigma))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Samples, assert_close};

    #[test]
    fn the_p_value_is_that_of_the_same_formula_with_scipy() {
        let weights = [
            148.0, 154.0, 158.0, 160.0, 161.0, 162.0, 166.0, 170.0, 182.0, 195.0, 236.0,
        ];
        assert_close(normal_p(&weights), 0.007_347_640, 1e-6);
    }

    #[test]
    fn normal_values_are_rejected_as_rarely_as_the_level_says() {
        let mut samples = Samples::new(6);
        for n in [8, 20, 100] {
            let mut values = || (0..n).map(|_| samples.normal()).collect::<Vec<f64>>();
            let wrong = (0..600).filter(|_| normal_p(&values()).unwrap() < 0.05);
            // 30, and three standard errors of 5.3.
            let wrong = wrong.count();
            assert!((10..=46).contains(&wrong), "{n}: {wrong}");
        }
    }

    #[test]
    fn odd_values_have_no_p_value_and_no_panic() {
        assert_eq!(normal_p(&[1.0; 20]), None);
        assert_eq!(normal_p(&[1.0, 2.0]), None);
        assert_eq!(normal_p(&[f64::NAN; 20]), None);
        assert!(normal_p(&(0..20).map(f64::from).collect::<Vec<f64>>()).is_some());
    }
}
