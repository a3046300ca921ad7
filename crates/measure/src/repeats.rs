// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Figures of a few repeated observations.
//!
//! The interval of the mean is Student's: with few observations, which one run then gives, it is wide, and
//! with one there is none.

use punctual_model::{Better, Figure, Interval};
use punctual_stats::{Moments, mean_interval};

use crate::figures::CONFIDENCE;

/// Returns the mean of `values` with its interval, extremes and deviation.
pub(crate) fn figure(name: &str, unit: &str, better: Better, values: &[f64]) -> Figure {
    let mut moments = Moments::new();
    moments.extend_from_slice(values);
    #[expect(clippy::cast_precision_loss, reason = "a handful")]
    let interval = mean_interval(&moments, values.len() as f64, CONFIDENCE);
    Figure {
        name: name.to_owned(),
        unit: unit.to_owned(),
        better,
        value: moments.mean(),
        count: moments.count(),
        interval: interval.map(|interval| Interval {
            // No time and no rate is below 0.
            low: interval.low.max(0.0),
            high: interval.high,
            confidence: CONFIDENCE,
        }),
        stddev: moments.std_dev(),
        min: moments.min(),
        max: moments.max(),
        ..Figure::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_has_an_interval_from_two_observations_on() {
        let one = figure("x", "ns", Better::Lower, &[3.0]);
        assert_eq!((one.value, one.count, one.interval), (Some(3.0), 1, None));
        assert_eq!(one.stddev, None);
        let five = figure("x", "ns", Better::Lower, &[1.0, 2.0, 3.0, 4.0, 5.0]);
        let interval = five.interval.unwrap();
        // 3 ± 2.776 * 1.5811 / sqrt(5), from the tables.
        assert!((interval.low - 1.0368).abs() < 1e-4, "{interval:?}");
        assert!((interval.high - 4.9632).abs() < 1e-4, "{interval:?}");
        assert_eq!((five.min, five.max), (Some(1.0), Some(5.0)));
        assert!((five.stddev.unwrap() - 1.5811).abs() < 1e-4);
    }

    #[test]
    fn an_interval_holds_no_value_below_0() {
        let interval = |values| {
            figure("x", "GFLOPS", Better::Higher, values)
                .interval
                .unwrap()
        };
        let wide = interval(&[1.0, 1.5, 9.0]);
        assert_eq!(wide.low, 0.0);
        // 3.8333 ± 4.3027 * 4.4814 / sqrt(3): the other end stays where it is.
        assert!((wide.high - 14.966).abs() < 1e-3, "{wide:?}");
    }

    #[test]
    fn nothing_observed_is_no_value() {
        let none = figure("x", "ns", Better::Lower, &[]);
        assert_eq!((none.value, none.count), (None, 0));
    }
}
