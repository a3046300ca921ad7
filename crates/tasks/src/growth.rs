// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! By which factor all execution times may grow, and what breaks first: bisection over the exact tests, in parts per million.

/// A factor in parts per million.
pub(crate) const ONE: u64 = 1_000_000;

/// The largest factor that is looked for: a thousand times.
pub(crate) const MOST: u64 = 1_000 * ONE;

/// A time that grew by a factor, rounded up; times stay above 0.
pub(crate) fn grown(time: u64, factor: u64) -> u64 {
    let product = u128::from(time) * u128::from(factor);
    u64::try_from(product.div_ceil(u128::from(ONE))).unwrap_or(u64::MAX)
}

/// The largest factor with which every question of `count` says yes, and the question that says no beyond it.
///
/// `ask(question, factor)` must not turn from no to yes as the factor grows; nothing means that it could not be answered, which
/// counts as no. All must say yes for a factor of one. Nothing breaks first where the factor is [`MOST`].
pub(crate) fn largest(
    count: usize,
    mut ask: impl FnMut(usize, u64) -> Option<bool>,
) -> (u64, Option<usize>) {
    let mut yes = |question, factor| ask(question, factor) == Some(true);
    let (mut best, mut first) = (MOST, None);
    // The last question is mostly the hardest: the others then need one answer each.
    for question in (0..count).rev() {
        if yes(question, best) {
            continue;
        }
        let (mut low, mut high) = (ONE, best);
        // Factors near one are the likely ones.
        let mut probe = 2 * ONE;
        while probe < high && yes(question, probe) {
            low = probe;
            probe = probe.saturating_mul(2);
        }
        high = high.min(probe);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            match yes(question, middle) {
                true => low = middle,
                false => high = middle,
            }
        }
        (best, first) = (low, Some(question));
    }
    (best, first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_limit_wins_and_names_its_question() {
        let limits = [3_000_000, 1_250_000, 1_750_000];
        let found = largest(3, |at, factor| Some(factor <= limits[at]));
        assert_eq!(found, (1_250_000, Some(1)));
        assert_eq!(largest(2, |_, _| Some(true)), (MOST, None));
        assert_eq!(
            largest(1, |_, factor| (factor <= ONE).then_some(true)),
            (ONE, Some(0))
        );
    }

    #[test]
    fn times_grow_upwards() {
        assert_eq!(grown(3, 1_500_000), 5);
        assert_eq!(grown(1, ONE), 1);
        assert_eq!(grown(u64::MAX, MOST), u64::MAX);
    }
}
