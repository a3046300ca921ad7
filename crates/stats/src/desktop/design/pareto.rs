// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What cannot be improved in one respect without being worse in another.

use crate::runs::Direction;

/// Marks the points that no other point dominates: none is at least as good in every figure and
/// better in one. `None` is a figure that a point does not have; such a point is not marked, and
/// dominates nothing. A figure that is good in neither direction does not count.
///
/// Estimates are taken as they are. Two points that cannot be told apart may both be in the list, or
/// one of them by chance.
///
/// ```
/// use punctual_stats::design::pareto;
/// use punctual_stats::runs::Direction::{HigherIsBetter, LowerIsBetter};
///
/// // Latency in µs, throughput in MB/s.
/// let points = [
///     vec![Some(20.0), Some(90.0)],
///     vec![Some(50.0), Some(110.0)],
///     vec![Some(60.0), Some(100.0)],
/// ];
/// assert_eq!(pareto(&points, &[LowerIsBetter, HigherIsBetter]), [true, true, false]);
/// ```
pub fn pareto(points: &[Vec<Option<f64>>], directions: &[Direction]) -> Vec<bool> {
    // Less is better in each of them.
    let costs: Vec<Option<Vec<f64>>> = points
        .iter()
        .map(|point| {
            let figures = point.iter().zip(directions);
            figures
                .filter_map(|(figure, direction)| match direction {
                    Direction::LowerIsBetter => Some(*figure),
                    Direction::HigherIsBetter => Some(figure.map(|x| -x)),
                    Direction::Neither => None,
                })
                .collect()
        })
        .collect();
    let dominates = |a: &[f64], b: &[f64]| {
        a.iter().zip(b).all(|(a, b)| a <= b) && a.iter().zip(b).any(|(a, b)| a < b)
    };
    costs
        .iter()
        .map(|cost| {
            let Some(cost) = cost else { return false };
            !costs.iter().flatten().any(|other| dominates(other, cost))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use Direction::{HigherIsBetter, LowerIsBetter, Neither};

    #[test]
    fn equal_points_do_not_dominate_each_other() {
        let points = [vec![Some(1.0)], vec![Some(1.0)], vec![Some(2.0)]];
        assert_eq!(pareto(&points, &[LowerIsBetter]), [true, true, false]);
        assert_eq!(pareto(&points, &[HigherIsBetter]), [false, false, true]);
        assert_eq!(pareto(&points, &[Neither]), [true, true, true]);
    }

    #[test]
    fn a_point_without_a_figure_is_not_in_the_list() {
        let points = [vec![Some(1.0), None], vec![Some(2.0), Some(3.0)]];
        let directions = [LowerIsBetter, LowerIsBetter];
        assert_eq!(pareto(&points, &directions), [false, true]);
        assert_eq!(pareto(&[], &directions), []);
    }
}
