// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What an extrapolation takes for granted, as p-values.

use statrs::distribution::{ChiSquared, ContinuousCDF};

use super::fit::Tail;

/// Lags of the test of independence.
const LAGS: usize = 10;

/// Anderson and Darling's A², which weighs the tails.
pub(super) fn anderson_darling(tail: &Tail, values: &[f64]) -> f64 {
    let mut f: Vec<f64> = values.iter().map(|x| tail.cdf(*x)).collect();
    f.sort_by(f64::total_cmp);
    let n = f.len();
    let bounded = |x: f64| x.clamp(1e-12, 1.0 - 1e-12);
    let sum: f64 = (0..n)
        .map(|i| {
            let (low, high) = (bounded(f[i]), bounded(f[n - 1 - i]));
            (2.0 * i as f64 + 1.0) * (low.ln() + (1.0 - high).ln())
        })
        .sum();
    -(n as f64) - sum / n as f64
}

/// The p-value that two halves have one distribution, by Kolmogorov's limit (Smirnov, *Bulletin of
/// Moscow University* 2, 1939) with Stephens' correction for few values.
pub(super) fn kolmogorov_smirnov(a: &[f64], b: &[f64]) -> f64 {
    let (mut a, mut b) = (a.to_vec(), b.to_vec());
    a.sort_by(f64::total_cmp);
    b.sort_by(f64::total_cmp);
    let share = |xs: &[f64], x: f64| xs.partition_point(|y| *y <= x) as f64 / xs.len() as f64;
    let distance = a
        .iter()
        .chain(&b)
        .map(|x| (share(&a, *x) - share(&b, *x)).abs())
        .fold(0.0, f64::max);
    let n = a.len() as f64 * b.len() as f64 / (a.len() + b.len()) as f64;
    kolmogorov(n, distance)
}

/// The p-value that sorted places are spread evenly from 0 to 1, in the same way.
pub(super) fn uniform(places: &[f64]) -> f64 {
    let n = places.len() as f64;
    let distance = places.iter().enumerate().map(|(i, x)| {
        let (before, after) = (i as f64 / n, (i as f64 + 1.0) / n);
        (x - before).abs().max((after - x).abs())
    });
    kolmogorov(n, distance.fold(0.0, f64::max))
}

fn kolmogorov(n: f64, distance: f64) -> f64 {
    let lambda = (n.sqrt() + 0.12 + 0.11 / n.sqrt()) * distance;
    let term = |k: f64| (-2.0 * (k * lambda).powi(2)).exp();
    let sum: f64 = (1..=100)
        .map(|k| {
            let sign = if k % 2 == 1 { 1.0 } else { -1.0 };
            sign * term(f64::from(k))
        })
        .sum();
    // The series does not converge where the distributions are all but the same.
    if lambda < 0.3 {
        1.0
    } else {
        (2.0 * sum).clamp(0.0, 1.0)
    }
}

/// Ranks from 1, the mean of them for values that are equal.
pub(super) fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    let mut from = 0;
    while from < order.len() {
        let mut to = from + 1;
        while to < order.len() && values[order[to]] == values[order[from]] {
            to += 1;
        }
        for at in &order[from..to] {
            ranks[*at] = (from + to + 1) as f64 / 2.0;
        }
        from = to;
    }
    ranks
}

/// The p-value that values do not depend on those before (Ljung and Box, *Biometrika* 65, 1978).
pub(super) fn ljung_box(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let centred: Vec<f64> = values.iter().map(|x| x - mean).collect();
    let variance: f64 = centred.iter().map(|x| x * x).sum();
    if variance <= 0.0 {
        return 1.0;
    }
    let q: f64 = (1..=LAGS)
        .map(|lag| {
            let later = centred.iter().skip(lag);
            let rho = centred.iter().zip(later).map(|(a, b)| a * b).sum::<f64>() / variance;
            rho * rho / (n - lag as f64)
        })
        .sum();
    let q = n * (n + 2.0) * q;
    ChiSquared::new(LAGS as f64).map_or(1.0, |chi| chi.sf(q))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tests_of_the_gates_agree_with_known_values() {
        // scipy.stats: ks_2samp is 1 for the same values; chi2.sf(18.307, 10) is 0.05.
        assert_eq!(kolmogorov_smirnov(&[1.0, 2.0, 3.0], &[1.0, 2.0, 3.0]), 1.0);
        assert!(kolmogorov_smirnov(&[1.0; 30], &[2.0; 30]) < 1e-9);
        // scipy.stats.kstest([0.1, 0.2, 0.3, 0.4], "uniform"): D = 0.6, p = 0.0714; the limit with
        // Stephens' correction says 0.069.
        assert!((uniform(&[0.1, 0.2, 0.3, 0.4]) - 0.07).abs() < 0.01);
        let even: Vec<f64> = (0..50).map(|i| (f64::from(i) + 0.5) / 50.0).collect();
        assert_eq!(uniform(&even), 1.0);
        assert_eq!(ranks(&[3.0, 1.0, 3.0, 2.0]), [3.5, 1.0, 3.5, 2.0]);
        assert!((ChiSquared::new(10.0).unwrap().sf(18.307) - 0.05).abs() < 1e-4);
    }
}
