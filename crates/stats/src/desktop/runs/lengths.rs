// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Whether runs of unequal length can be compared by a figure.
//!
//! The quantile of a sample lies off that of its population, the more the fewer samples lie beyond,
//! and to one side: p99.9 of 1000 samples is a typical maximum. The largest sample grows, and the
//! smallest shrinks, for ever. Between runs of one length both cancel. Between 1000 and 20 000 samples
//! of one and the same machine they make an "effect" in half of all comparisons (docs/methods/runs.md).

/// How a figure depends on the number of samples of its run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reach {
    /// Not at all, on average: a mean, a share, a rate.
    Free,
    /// The quantile of this share, 0 to 1.
    Quantile(f64),
    /// It grows or shrinks with them: an extreme, or a deviation, which these carry.
    Extreme,
}

/// The reason that runs of unequal length cannot be compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LengthFault {
    /// Too few samples are expected beyond the quantile in the shortest run.
    FewBeyond {
        /// How many are.
        expected: f64,
        /// Samples with which they would be enough.
        samples: u64,
    },
    /// The figure changes with the number of samples.
    Grows,
}

/// Samples that must be expected beyond a quantile in the shortest run. 20 were enough if they were
/// independent; in bursts of five they make an effect in 6.6 % of comparisons, where it says 5 %.
pub const LEAST_BEYOND: f64 = 40.0;

/// Lengths whose ratio is at most this count as one.
const ALIKE: f64 = 1.1;

/// Says whether runs of `shortest` to `longest` samples can be compared by such a figure.
///
/// ```
/// use punctual_stats::runs::{LengthFault, Reach, length_fault};
///
/// assert_eq!(length_fault(Reach::Quantile(0.99), 20_000, 400_000), None);
/// assert!(length_fault(Reach::Quantile(0.999), 1_000, 20_000).is_some());
/// assert_eq!(length_fault(Reach::Extreme, 1_000, 20_000), Some(LengthFault::Grows));
/// // Of one length, both groups are off by as much.
/// assert_eq!(length_fault(Reach::Quantile(0.999), 1_000, 1_050), None);
/// ```
pub fn length_fault(reach: Reach, shortest: u64, longest: u64) -> Option<LengthFault> {
    let (short, long) = (shortest as f64, longest as f64);
    if long <= ALIKE * short {
        return None;
    }
    match reach {
        Reach::Free => None,
        Reach::Extreme => Some(LengthFault::Grows),
        Reach::Quantile(q) => {
            // Whichever side has fewer: p1 is as rare as p99.
            let share = q.min(1.0 - q);
            let expected = short * share;
            // 40 000 (1 - 0.999) is 40 less a rounding.
            (expected < LEAST_BEYOND * (1.0 - 1e-9)).then(|| LengthFault::FewBeyond {
                expected,
                samples: crate::num::floor_u64((LEAST_BEYOND / share * (1.0 - 1e-9)).ceil()),
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forty_samples_beyond_are_enough_and_thirty_nine_are_not() {
        for q in [0.999, 0.001] {
            assert_eq!(length_fault(Reach::Quantile(q), 40_000, 100_000), None);
            let fault = length_fault(Reach::Quantile(q), 39_000, 100_000);
            let Some(LengthFault::FewBeyond { expected, samples }) = fault else {
                panic!("{fault:?}");
            };
            assert!((expected - 39.0).abs() < 1e-9 && samples.abs_diff(40_000) <= 1);
        }
        assert_eq!(length_fault(Reach::Free, 1, 1_000_000), None);
        assert_eq!(length_fault(Reach::Extreme, 1_000, 1_100), None);
    }
}
