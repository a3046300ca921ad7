// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Several questions at once: p-values adjusted after Holm.
//!
//! Who asks twenty questions at 5 % gets one wrong "yes" on average. Holm (*Scandinavian Journal of
//! Statistics* 6, 1979) keeps the probability of any wrong "yes" at the level, whatever the
//! dependence between the questions is: the smallest p-value is multiplied by their number m, the
//! next by m - 1, and so on, none below the one before.

/// The p-values adjusted for their number, in the order given. `None` is a question without a test
/// and does not count.
///
/// ```
/// use punctual_stats::holm;
///
/// let adjusted = holm(&[Some(0.01), None, Some(0.04), Some(0.03)]);
/// assert_eq!(adjusted, [Some(0.03), None, Some(0.06), Some(0.06)]);
/// ```
pub fn holm(p: &[Option<f64>]) -> Vec<Option<f64>> {
    let mut order: Vec<(usize, f64)> = p
        .iter()
        .enumerate()
        .filter_map(|(at, p)| Some((at, (*p)?)))
        .collect();
    order.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut adjusted = vec![None; p.len()];
    let (mut factor, mut floor) = (order.len() as f64, 0.0_f64);
    for (at, p) in order {
        floor = floor.max(p * factor).min(1.0);
        adjusted[at] = Some(floor);
        factor -= 1.0;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adjusted_values_agree_with_the_textbook() {
        // Dalgaard's p.adjust(c(0.01, 0.02, 0.03, 0.04, 0.05), "holm").
        let adjusted = holm(&[Some(0.05), Some(0.04), Some(0.03), Some(0.02), Some(0.01)]);
        let want = [0.09, 0.09, 0.09, 0.08, 0.05];
        for (got, want) in adjusted.into_iter().zip(want) {
            assert!((got.unwrap() - want).abs() < 1e-12, "{got:?} {want}");
        }
    }

    #[test]
    fn one_question_is_left_alone_and_none_exceeds_one() {
        assert_eq!(holm(&[Some(0.2)]), [Some(0.2)]);
        assert_eq!(holm(&[]), []);
        assert_eq!(holm(&[None]), [None]);
        assert_eq!(holm(&[Some(0.7), Some(0.9)]), [Some(1.0), Some(1.0)]);
    }
}
