// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What this number of runs could have shown, and how many would show a given effect.
//!
//! The smallest detectable effect is (t₁₋α/₂ + t_power) times the standard error (Bloom, *Evaluation
//! Review* 19, 1995): an effect of that size is found with the wanted probability. To show that
//! there is no effect beyond ±m takes (t₁₋α + t_(1+power)/₂) standard errors to be at most m, if there
//! is really none (Phillips, *Journal of Pharmacokinetics and Biopharmaceutics* 18, 1990); no effect
//! beyond m on one side alone, (t₁₋α + t_power) standard errors.
//!
//! The deviation between few runs is itself a guess, and half of the time too small: who plans with it
//! finds the effect less often than promised. So its one-sided upper confidence bound is taken, s √(ν/χ²)
//! with the χ² that is exceeded with the probability [`ASSURANCE`] (Browne, *Statistics in Medicine* 14,
//! 1995). A plan takes it twice: for the runs there are, and for those there will be. Otherwise the plan
//! would be followed and the answer still be "too few runs".

use super::question::Layout;
use crate::student::{chi_squared, student_t};

/// Nobody makes more runs.
const MOST_RUNS: u64 = 1_000_000;

/// The confidence that the deviation between runs is not larger than the one that is planned with.
const ASSURANCE: f64 = 0.75;

/// Runs that were made, from which others are planned.
#[derive(Clone, Copy, Debug)]
pub struct Pilot<'a> {
    /// Variances of the two groups; of the differences of blocks, one alone.
    pub variances: &'a [f64],
    /// The degrees of freedom that they have together; infinity if they are known.
    pub freedom: f64,
}

/// The effect that a test at `alpha` finds with probability `power`, in the unit of `error`, which was
/// estimated with `freedom` degrees of freedom.
///
/// ```
/// use punctual_stats::runs::detectable;
///
/// // Twelve runs a side, 5 % deviation: √(2/12) · 0.05, with 22 degrees of freedom.
/// let Some(effect) = detectable(0.0204, 22.0, 0.05, 0.8) else { return };
/// assert!((effect - 0.0676).abs() < 1e-3);
/// ```
pub fn detectable(error: f64, freedom: f64, alpha: f64, power: f64) -> Option<f64> {
    let tails = student_t(freedom, 1.0 - alpha / 2.0)? + student_t(freedom, power)?;
    Some(tails * error * larger(freedom)?.sqrt())
}

/// The margin that can be shown not to be exceeded, where there is no effect. As [`detectable`].
pub(crate) fn provable(error: f64, freedom: f64, alpha: f64, power: f64) -> Option<f64> {
    let half = f64::midpoint(1.0, power);
    let tails = student_t(freedom, 1.0 - alpha)? + student_t(freedom, half)?;
    Some(tails * error * larger(freedom)?.sqrt())
}

/// The margin that can be shown not to be exceeded in one direction. As [`detectable`].
pub(crate) fn provable_one_sided(error: f64, freedom: f64, alpha: f64, power: f64) -> Option<f64> {
    let tails = student_t(freedom, 1.0 - alpha)? + student_t(freedom, power)?;
    Some(tails * error * larger(freedom)?.sqrt())
}

/// The upper confidence bound of a variance with `freedom` degrees of freedom, over its estimate.
fn larger(freedom: f64) -> Option<f64> {
    if freedom.is_infinite() {
        return Some(1.0);
    }
    Some(freedom / chi_squared(freedom, 1.0 - ASSURANCE)?)
}

/// The runs on each side, or the blocks, that find `effect` at `alpha` with probability `power`,
/// where runs vary as those of the pilot. `None` where they do not vary or more than a million are
/// needed.
pub fn runs_to_detect(pilot: Pilot<'_>, effect: f64, alpha: f64, power: f64) -> Option<u64> {
    fewest(pilot, alpha, |error, freedom| {
        detectable(error, freedom, alpha, power).is_some_and(|least| least <= effect)
    })
}

/// The runs on each side, or the blocks, that show that there is no effect beyond `margin`, if there
/// is really none. As [`runs_to_detect`].
pub fn runs_to_show_equivalence(
    pilot: Pilot<'_>,
    margin: f64,
    alpha: f64,
    power: f64,
) -> Option<u64> {
    fewest(pilot, alpha, |error, freedom| {
        provable(error, freedom, alpha, power).is_some_and(|least| least <= margin)
    })
}

/// The runs on each side, or the blocks, that show that there is no effect beyond `margin` in one
/// direction, if there is really none. As [`runs_to_detect`].
pub fn runs_to_show_not_worse(
    pilot: Pilot<'_>,
    margin: f64,
    alpha: f64,
    power: f64,
) -> Option<u64> {
    fewest(pilot, alpha, |error, freedom| {
        provable_one_sided(error, freedom, alpha, power).is_some_and(|least| least <= margin)
    })
}

/// The fewest runs a side, or blocks, with which a permutation test can reject at `alpha` at all.
pub(crate) fn runs_for_level(blocks: bool, alpha: f64) -> u64 {
    // The two-sided p-value of complete separation, 2/C(2n, n) or 2/2^n, from n = 1.
    let mut smallest = 1.0;
    let mut n = 1_u64;
    while smallest > alpha && n < 64 {
        let next = n as f64 + 1.0;
        smallest *= if blocks {
            0.5
        } else {
            next / (2.0 * (2.0 * next - 1.0))
        };
        n += 1;
    }
    n
}

pub(crate) fn variances(layout: &Layout) -> Option<Vec<f64>> {
    use super::question::{differences, moments};
    match layout {
        Layout::Groups(a, b) => [a, b].iter().map(|xs| moments(xs).variance()).collect(),
        Layout::Pairs(pairs) => Some(vec![moments(&differences(pairs)).variance()?]),
    }
}

/// The smallest n with which a test at `alpha` can reject and `enough` holds, for the standard error and
/// its degrees of freedom; more runs are never worse.
fn fewest(pilot: Pilot<'_>, alpha: f64, enough: impl Fn(f64, f64) -> bool) -> Option<u64> {
    let sum: f64 = pilot.variances.iter().sum();
    if !crate::num::positive(sum) {
        return None;
    }
    let least = runs_for_level(pilot.variances.len() == 1, alpha);
    let squares: f64 = pilot.variances.iter().map(|v| v * v).sum();
    let variance = sum * larger(pilot.freedom)?;
    let holds = |n: u64| {
        let n = n as f64;
        enough((variance / n).sqrt(), (n - 1.0) * sum * sum / squares)
    };
    let (mut low, mut high) = (least.max(2), least.max(2));
    while !holds(high) {
        if high >= MOST_RUNS {
            return None;
        }
        (low, high) = (high, high.saturating_mul(2));
    }
    while high - low > 1 {
        let middle = u64::midpoint(low, high);
        if holds(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    Some(if holds(low) { low } else { high })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(variances: &[f64]) -> Pilot<'_> {
        Pilot {
            variances,
            freedom: f64::INFINITY,
        }
    }

    #[test]
    fn the_runs_needed_are_the_fewest_that_find_the_effect() {
        let n = runs_to_detect(known(&[0.0025, 0.0025]), 0.06, 0.05, 0.8).unwrap();
        let error = |n: u64| (0.005 / n as f64).sqrt();
        let least = |n: u64| detectable(error(n), 2.0 * (n as f64 - 1.0), 0.05, 0.8).unwrap();
        assert!(least(n) <= 0.06 && least(n - 1) > 0.06, "{n}");
        // The textbook, with normal quantiles: 2 (1.96 + 0.84)² (0.05/0.06)² = 10.9, and a quarter for
        // the deviation.
        assert!((13..=16).contains(&n), "{n}");
    }

    #[test]
    fn a_deviation_that_is_a_guess_takes_more_runs() {
        let needed = |freedom| {
            let variances = [0.01, 0.01];
            let pilot = Pilot {
                variances: &variances,
                freedom,
            };
            runs_to_detect(pilot, 0.1, 0.05, 0.8).unwrap()
        };
        // χ² of 6 degrees of freedom is below 3.45 once in four times: 6/3.45 = 1.74.
        let (guessed, sure) = (needed(6.0), needed(f64::INFINITY));
        let ratio = guessed as f64 / sure as f64;
        assert!((1.6..1.8).contains(&ratio), "{guessed} and {sure}");
        assert!(needed(100.0) < guessed && needed(100.0) >= sure);
    }

    #[test]
    fn a_permutation_test_needs_four_runs_a_side_or_six_blocks() {
        assert_eq!(runs_for_level(false, 0.05), 4);
        assert_eq!(runs_for_level(false, 0.01), 5);
        assert_eq!(runs_for_level(true, 0.05), 6);
        assert_eq!(runs_for_level(true, 0.5), 2);
        // However large the effect.
        let tiny = known(&[1e-12, 1e-12]);
        assert_eq!(runs_to_detect(tiny, 1.0, 0.05, 0.8), Some(4));
    }

    #[test]
    fn equivalence_takes_more_runs_than_a_difference_of_that_size() {
        let pilot = known(&[0.01, 0.01]);
        let found = runs_to_detect(pilot, 0.05, 0.05, 0.8).unwrap();
        let shown = runs_to_show_equivalence(pilot, 0.05, 0.05, 0.8).unwrap();
        assert!(shown > found && shown < 2 * found, "{found} {shown}");
    }

    #[test]
    fn no_spread_or_no_effect_has_no_number() {
        for (variances, effect) in [
            ([0.0, 0.0], 0.1),
            ([1.0, 1.0], 1e-9),
            ([f64::NAN, 1.0], 0.1),
        ] {
            assert_eq!(runs_to_detect(known(&variances), effect, 0.05, 0.8), None);
        }
    }
}
