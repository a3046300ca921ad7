// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Runs that lie far from the others of their group.

use super::Scale;
use super::question::scale_of;

/// The places of the values that lie far from the others, up to a fifth of them. A clean group has one
/// with probability `level`, about. They are to be reported and looked into, not removed: a run that
/// was disturbed is what the machine does.
///
/// Values are looked at on the logarithmic scale where all are above 0. There the figures of clean
/// runs, the largest sample included, have a tail that is at most exponential, so that the j-th gap
/// from the end, times j, is exponential and independent of the others (Rényi, *Acta Mathematica
/// Hungarica* 4, 1953; Weissman, *Journal of the American Statistical Association* 73, 1978). The gap
/// below the r farthest values, over the sum of the m gaps behind it, is x or more with probability
/// (1 + x)^-m: a cut-off that depends on the number of runs.
///
/// Below five values none is one, and among values with a 0 neither: of what is rare most runs have
/// nothing, and a run that has something is no outlier.
///
/// ```
/// use punctual_stats::runs::outliers;
///
/// assert_eq!(outliers(&[50.0, 51.0, 49.5, 50.5, 80.0, 50.2], 0.01), [4]);
/// assert_eq!(outliers(&[50.0, 51.0, 49.5, 50.5, 53.0, 50.2], 0.01), []);
/// assert_eq!(outliers(&[50.0, 51.0, 80.0], 0.01), []);
/// ```
pub fn outliers(values: &[f64], level: f64) -> Vec<usize> {
    if values.len() < 5 || values.iter().any(|x| !x.is_finite() || *x == 0.0) {
        return Vec::new();
    }
    let log = scale_of(&[values]) == Scale::Log;
    let on_scale = values.iter().map(|x| if log { x.ln() } else { *x });
    let mut order: Vec<(usize, f64)> = on_scale.enumerate().collect();
    let mut found = Vec::new();
    // What disturbs a run makes it slower, and figures have the longer tail there.
    for (sign, part) in [(-1.0, 0.75), (1.0, 0.25)] {
        order.sort_by(|a, b| (sign * a.1).total_cmp(&(sign * b.1)));
        let sorted: Vec<f64> = order.iter().map(|(_, x)| sign * x).collect();
        let far = farthest(&sorted, part * level);
        found.extend(order.iter().take(far).map(|(at, _)| *at));
    }
    found.sort_unstable();
    found
}

/// How many of the first of sorted values lie far from those behind them.
fn farthest(sorted: &[f64], level: f64) -> usize {
    let gaps: Vec<f64> = sorted
        .windows(2)
        .zip(1..)
        .map(|(pair, j)| f64::from(j) * (pair[1] - pair[0]))
        .collect();
    let looks = sorted.len() / 5;
    let is_far = |r: &usize| {
        let (gap, behind) = (gaps[r - 1], &gaps[*r..]);
        let sum: f64 = behind.iter().sum();
        let m = i32::try_from(behind.len()).unwrap_or(i32::MAX);
        gap > 0.0 && (1.0 + gap / sum).powi(-m) <= level / looks as f64
    };
    (1..=looks).rev().find(is_far).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Samples;

    #[test]
    fn outliers_are_found_also_where_most_values_are_equal_and_where_they_are_several() {
        assert_eq!(outliers(&[2.0, 2.0, 2.0, 2.0, 2.0, 9.0], 0.01), [5]);
        assert_eq!(outliers(&[2.0; 6], 0.01), []);
        assert_eq!(outliers(&[1.0, 2.0, f64::NAN, 3.0, 90.0], 0.01), []);
        let mut many: Vec<f64> = (0..20).map(|i| 50.0 + f64::from(i % 5)).collect();
        (many[3], many[11]) = (150.0, 155.0);
        assert_eq!(outliers(&many, 0.01), [3, 11]);
    }

    #[test]
    fn a_run_that_missed_among_runs_that_did_not_is_no_outlier() {
        assert_eq!(outliers(&[0.0, 0.0, 0.0, 0.0, 7.0, 0.0], 0.05), []);
    }

    #[test]
    fn clean_groups_have_one_as_rarely_as_the_level_says_also_with_a_long_tail() {
        let mut samples = Samples::new(8);
        for n in [5, 6, 12, 20] {
            let mut hits = [0; 2];
            for _ in 0..2_000 {
                let normal: Vec<f64> = (0..n).map(|_| samples.lognormal(3.9, 0.05)).collect();
                let maxima: Vec<f64> = (0..n).map(|_| 50.0 * samples.pareto(1.8)).collect();
                hits[0] += usize::from(!outliers(&normal, 0.05).is_empty());
                hits[1] += usize::from(!outliers(&maxima, 0.05).is_empty());
            }
            // 100, and three standard errors of 9.7.
            assert!(hits.iter().all(|hits| *hits <= 130), "{n}: {hits:?}");
            assert!(hits[1] > 0, "{n}: {hits:?}");
        }
    }
}
