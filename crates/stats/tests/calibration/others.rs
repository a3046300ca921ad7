// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Tests that take samples for independent observations. They are here to show what that does.

use punctual_stats::{LatencyHistogram, Moments};

use crate::simulate::Run;

/// Welch's t of all samples of both groups.
pub(crate) fn sample_t(a: &[Run], b: &[Run]) -> f64 {
    let pooled = |group: &[Run]| {
        let parts: Vec<Moments> = group.iter().map(|run| run.moments).collect();
        let all = Moments::merged(&parts);
        let n = all.count() as f64;
        (all.mean().unwrap_or(0.0), all.variance().unwrap_or(0.0) / n)
    };
    let ((mean_a, error_a), (mean_b, error_b)) = (pooled(a), pooled(b));
    (mean_b - mean_a) / (error_a + error_b).sqrt()
}

/// The p-value of the two-sample Kolmogorov-Smirnov test of all samples, by its limit, and whether
/// the second group is later where the distributions differ most.
pub(crate) fn kolmogorov_smirnov(a: &[Run], b: &[Run]) -> (f64, bool) {
    let pooled = |group: &[Run]| {
        let mut all = LatencyHistogram::new(1 << 34);
        group.iter().for_each(|run| all.merge(&run.histogram));
        all
    };
    let (a, b) = (pooled(a), pooled(b));
    let (n, m) = (a.count() as f64, b.count() as f64);
    let mut buckets: Vec<(u64, f64)> = a
        .buckets()
        .map(|bucket| (bucket.to_ns, bucket.count as f64 / n))
        .chain(
            b.buckets()
                .map(|bucket| (bucket.to_ns, -(bucket.count as f64) / m)),
        )
        .collect();
    buckets.sort_by_key(|bucket| bucket.0);
    let (mut apart, mut farthest) = (0.0, 0.0_f64);
    for same in buckets.chunk_by(|x, y| x.0 == y.0) {
        apart += same.iter().map(|bucket| bucket.1).sum::<f64>();
        if apart.abs() > farthest.abs() {
            farthest = apart;
        }
    }
    let lambda = farthest.abs() * (n * m / (n + m)).sqrt();
    let series = (1..=100).map(|k| {
        let k = f64::from(k);
        let sign = if k % 2.0 == 1.0 { 2.0 } else { -2.0 };
        sign * (-2.0 * k * k * lambda * lambda).exp()
    });
    let p = if lambda < 0.2 {
        1.0
    } else {
        series.sum::<f64>()
    };
    (p.clamp(0.0, 1.0), farthest > 0.0)
}
