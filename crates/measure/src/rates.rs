// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Intervals of shares, for events that come in bursts.

use punctual_model::Interval;
use punctual_stats::clopper_pearson;

use crate::figures::CONFIDENCE;

/// Returns the interval of the share that `hits` of `trials` have: Clopper-Pearson's, for as many
/// independent trials as say as much. `effective` is that number; without one the trials are taken
/// as independent. Rounded outward.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts, and parts of counts"
)]
pub(crate) fn share_interval(hits: u64, trials: u64, effective: Option<f64>) -> Option<Interval> {
    if trials == 0 || hits > trials {
        return None;
    }
    let n = trials as f64;
    let effective = effective.unwrap_or(n).clamp(1.0, n);
    let worth = hits as f64 / n * effective;
    let (few, many) = (effective.floor() as u64, effective.ceil() as u64);
    let low = clopper_pearson(worth.floor() as u64, many, CONFIDENCE)?.0;
    let high = clopper_pearson((worth.ceil() as u64).min(few), few, CONFIDENCE)?.1;
    Some(Interval {
        low,
        high,
        confidence: CONFIDENCE,
    })
}

/// Returns `interval` in another unit.
pub(crate) fn scaled(interval: Interval, factor: f64) -> Interval {
    Interval {
        low: interval.low * factor,
        high: interval.high * factor,
        ..interval
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn independent_trials_have_clopper_and_pearsons_interval() {
        let interval = share_interval(3, 10, None).unwrap();
        assert!((interval.low - 0.066_740).abs() < 1e-6);
        assert!((interval.high - 0.652_453).abs() < 1e-6);
        let none = share_interval(0, 1_000, Some(1_000.0)).unwrap();
        assert!(none.low == 0.0 && (none.high - 0.003_682).abs() < 1e-5);
        assert!((share_interval(7, 7, None).unwrap().high - 1.0).abs() < 1e-12);
        assert_eq!(share_interval(0, 0, None), None);
    }

    #[test]
    fn bursts_widen_it() {
        let alone = share_interval(100, 10_000, None).unwrap();
        let bursts = share_interval(100, 10_000, Some(1_000.4)).unwrap();
        assert!(bursts.low < alone.low && alone.high < bursts.high);
        assert!((scaled(alone, 2.0).high - 2.0 * alone.high).abs() < 1e-12);
    }
}
