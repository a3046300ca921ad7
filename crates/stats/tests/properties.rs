// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Properties that hold for any samples.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "test helpers and small numbers"
)]

use proptest::prelude::*;
use punctual_stats::{
    CountWindow, LatencyHistogram, Moments, PSquare, PrecisionTarget, ThresholdCounter,
    clopper_pearson, quantile_interval, quantile_ranks,
};

fn moments_of(xs: &[f64]) -> Moments {
    let mut moments = Moments::new();
    moments.extend_from_slice(xs);
    moments
}

fn close(a: Option<f64>, b: Option<f64>, scale: f64) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => (a - b).abs() <= 1e-9 * scale.max(a.abs()).max(b.abs()),
        (a, b) => a.is_none() && b.is_none(),
    }
}

fn histogram_of(ns: &[u64]) -> LatencyHistogram {
    let mut histogram = LatencyHistogram::default();
    histogram.record_slice(ns);
    histogram
}

/// Latencies of every magnitude, also beyond the range of the histogram.
fn latency() -> impl Strategy<Value = u64> {
    (0u32..64, any::<u64>()).prop_map(|(shift, x)| x >> shift)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn merged_moments_are_those_of_the_concatenation(
        a in prop::collection::vec(-1e9..1e9f64, 0..300),
        b in prop::collection::vec(1e9..1.000001e9f64, 0..300),
    ) {
        let whole = moments_of(&[a.clone(), b.clone()].concat());
        let mut merged = moments_of(&a);
        merged.merge(&moments_of(&b));
        prop_assert_eq!(merged.count(), whole.count());
        prop_assert_eq!((merged.min(), merged.max()), (whole.min(), whole.max()));
        prop_assert!(close(merged.mean(), whole.mean(), 1.0));
        prop_assert!(close(merged.variance(), whole.variance(), 0.0));
        prop_assert!(close(merged.skewness(), whole.skewness(), 1.0));
        prop_assert!(close(merged.excess_kurtosis(), whole.excess_kurtosis(), 1.0));
    }

    #[test]
    fn merge_is_commutative_and_merged_is_free_of_order_bit_for_bit(
        parts in prop::collection::vec(prop::collection::vec(any::<f64>(), 0..80), 0..6),
        by in 0usize..6,
    ) {
        let states: Vec<Moments> = parts.iter().map(|part| moments_of(part)).collect();
        let mut rotated = states.clone();
        rotated.rotate_left(by.min(states.len()));
        let same = |a: &Moments, b: &Moments| format!("{a:?}") == format!("{b:?}");
        prop_assert!(same(&Moments::merged(&states), &Moments::merged(&rotated)));
        if let [a, b, ..] = states[..] {
            let (mut ab, mut ba) = (a, b);
            ab.merge(&b);
            ba.merge(&a);
            prop_assert!(same(&ab, &ba), "{:?} {:?}", ab, ba);
        }
    }

    #[test]
    fn no_figure_is_ever_not_a_number(xs in prop::collection::vec(any::<f64>(), 0..200)) {
        let m = moments_of(&xs);
        prop_assert_eq!(m.count() + m.rejected(), xs.len() as u64);
        let figures = [m.min(), m.max(), m.mean(), m.variance(), m.skewness(), m.excess_kurtosis()];
        prop_assert!(figures.iter().flatten().all(|x| x.is_finite()), "{:?}", figures);
        let mut window = CountWindow::new(50);
        window.extend_from_slice(&xs);
        let s = window.summary(&[0.5, f64::NAN]);
        let figures = [s.min, s.max, s.mean, s.std_dev, s.skewness, s.excess_kurtosis, s.quantiles[0].1];
        prop_assert!(figures.iter().flatten().all(|x| x.is_finite()), "{:?}", figures);
        prop_assert_eq!(s.quantiles[1].1, None);
        let mut psquare = PSquare::default();
        psquare.extend_from_slice(&xs);
        prop_assert!(psquare.estimates().filter_map(|(_, e)| e).all(f64::is_finite));
    }

    #[test]
    fn psquare_stays_within_the_extremes(xs in prop::collection::vec(-1e12..1e12f64, 1..400)) {
        let mut psquare = PSquare::default();
        psquare.extend_from_slice(&xs);
        let m = moments_of(&xs);
        for (_, estimate) in psquare.estimates() {
            prop_assert!(estimate >= m.min() && estimate <= m.max());
        }
    }

    #[test]
    fn histogram_merge_is_the_concatenation(
        a in prop::collection::vec(latency(), 0..100),
        b in prop::collection::vec(latency(), 0..100),
    ) {
        let mut merged = histogram_of(&a);
        merged.merge(&histogram_of(&b));
        prop_assert_eq!(merged, histogram_of(&[a, b].concat()));
    }

    #[test]
    fn histogram_quantiles_bound_the_order_statistic_from_above(
        mut ns in prop::collection::vec(0u64..1 << 40, 1..300),
        q in 0.0..=1.0f64,
    ) {
        let histogram = histogram_of(&ns);
        ns.sort_unstable();
        let rank = ((q * ns.len() as f64).ceil() as usize).clamp(1, ns.len());
        // A product that rounding lifted over an integer may name the rank below.
        let low = if q * ns.len() as f64 - (rank as f64 - 1.0) < 1e-9 { rank.max(2) - 1 } else { rank };
        let value = histogram.quantile(q).unwrap();
        let bound = |x: u64| x as f64 * (1.0 + LatencyHistogram::RELATIVE_ERROR);
        prop_assert!(value >= ns[low - 1] && value as f64 <= bound(ns[rank - 1]));
        prop_assert_eq!(histogram.quantile(1.0), ns.last().copied());
    }

    #[test]
    fn count_above_agrees_with_the_threshold_counter_below_2048(
        ns in prop::collection::vec(0u64..4096, 0..200),
        threshold in 0u64..2048,
    ) {
        let mut counter = ThresholdCounter::new(&[threshold]);
        counter.record_slice(&ns);
        prop_assert_eq!(counter.above(threshold), Some(histogram_of(&ns).count_above(threshold)));
    }

    #[test]
    fn a_count_window_is_its_latest_samples(
        xs in prop::collection::vec(-1e6..1e6f64, 0..200),
        n in 1usize..60,
        cut in 0usize..200,
    ) {
        let mut window = CountWindow::new(n);
        let (slice, single) = xs.split_at(cut.min(xs.len()));
        window.extend_from_slice(slice);
        single.iter().for_each(|&x| window.push(x));
        let mut latest = xs[xs.len().saturating_sub(n)..].to_vec();
        prop_assert!(window.iter().eq(latest.iter().copied()));
        latest.sort_unstable_by(f64::total_cmp);
        let want = moments_of(&latest);
        let got = window.summary(&[0.0, 1.0]);
        prop_assert_eq!(got.count, latest.len() as u64);
        prop_assert_eq!((got.mean, got.std_dev), (want.mean(), want.std_dev()));
        prop_assert_eq!((got.skewness, got.excess_kurtosis), (want.skewness(), want.excess_kurtosis()));
        prop_assert_eq!((got.quantiles[0].1, got.quantiles[1].1), (want.min(), want.max()));
    }

    #[test]
    fn quantile_intervals_hold_the_quantile_of_the_samples(
        ns in prop::collection::vec(0u64..1_000_000, 10..300),
        p in 0.01..0.99f64,
    ) {
        let histogram = histogram_of(&ns);
        if let Some((low, high)) = quantile_interval(&histogram, ns.len() as f64, p, 0.9) {
            let quantile = histogram.quantile(p).unwrap();
            prop_assert!(low <= quantile && quantile <= high);
        }
        if let Some((low, high)) = quantile_ranks(ns.len() as u64, p, 0.9) {
            prop_assert!(1 <= low && low < high && high <= ns.len() as u64);
        }
    }

    #[test]
    fn clopper_pearson_holds_the_observed_share(n in 1u64..100_000, share in 0.0..=1.0f64) {
        let k = (share * n as f64) as u64;
        let (low, high) = clopper_pearson(k, n, 0.95).unwrap();
        let observed = k as f64 / n as f64;
        prop_assert!(0.0 <= low && low <= observed && observed <= high && high <= 1.0);
    }

    #[test]
    fn any_text_is_a_target_or_an_error(text in "\\PC{0,20}") {
        if let Ok(target) = text.parse::<PrecisionTarget>() {
            prop_assert_eq!(target.to_string().parse::<PrecisionTarget>().ok(), Some(target));
        }
    }
}
