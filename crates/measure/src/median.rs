// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The median of a few observations that may have outliers.

use punctual_model::{Better, Figure, Interval};
use punctual_stats::quantile_ranks;

use crate::figures::CONFIDENCE;

/// Returns the median of `values`, whose order is not kept, with its distribution-free interval.
pub(crate) fn median_figure(name: &str, unit: &str, better: Better, values: &mut [f64]) -> Figure {
    values.sort_by(f64::total_cmp);
    let sorted = &*values;
    let n = sorted.len();
    let value = (n > 0).then(|| f64::midpoint(sorted[(n - 1) / 2], sorted[n / 2]));
    let rank = |rank: u64| {
        usize::try_from(rank - 1)
            .ok()
            .and_then(|i| sorted.get(i).copied())
    };
    let interval = quantile_ranks(n as u64, 0.5, CONFIDENCE).and_then(|(low, high)| {
        Some(Interval {
            low: rank(low)?,
            high: rank(high)?,
            confidence: CONFIDENCE,
        })
    });
    Figure {
        name: name.to_owned(),
        unit: unit.to_owned(),
        better,
        value,
        count: n as u64,
        interval,
        min: sorted.first().copied(),
        max: sorted.last().copied(),
        ..Figure::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_that_of_the_order_statistics() {
        // Six observations are the fewest whose extremes hold the median with 95 %.
        let of = |values: &mut [f64]| median_figure("x", "ns", Better::Lower, values);
        let six = of(&mut [6.0, 1.0, 2.0, 900.0, 4.0, 3.0]);
        assert_eq!((six.value, six.count), (Some(3.5), 6));
        let interval = six.interval.unwrap();
        assert_eq!((interval.low, interval.high), (1.0, 900.0));
        assert_eq!(of(&mut [1.0, 2.0, 3.0, 4.0, 5.0]).interval, None);
        assert_eq!(of(&mut []).value, None);
    }
}
