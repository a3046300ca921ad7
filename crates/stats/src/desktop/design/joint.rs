// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Whether a factor does anything at all, asked once of all its levels.
//!
//! Many comparisons with one level divide the probability of an error between them: of six blocks no
//! single one of ten corrected comparisons can reach 5 %. One question for all of them can. In each block
//! the values are dealt anew to the levels, which changes nothing if the levels are alike; the statistic
//! is that of a two-way layout, the squares of the levels' means after each block's own mean is taken
//! away (Friedman's idea with values in place of ranks: *Journal of the American Statistical Association*
//! 32, 1937; the test by permutation: Pitman, *Biometrika* 29, 1938). p = (1 + hits)/(1 + draws).
//!
//! It says that levels differ, not which: for that are the comparisons.

use crate::random::RandomSource;

/// Two statistics closer than this share of theirs are the same: sums in another order.
const SAME: f64 = 1e-9;

/// Returns the p-value of "the levels are alike", of one row a block with one value a level.
///
/// Blocks in which a level has no value, or one that is not finite, are left out. `None` for fewer than
/// two blocks or three levels: two levels are a comparison.
pub fn joint_p(blocks: &[Vec<Option<f64>>], draws: u32, seed: u64) -> Option<f64> {
    let whole = |block: &Vec<Option<f64>>| -> Option<Vec<f64>> {
        let values: Vec<f64> = block.iter().copied().collect::<Option<_>>()?;
        values.iter().all(|x| x.is_finite()).then_some(values)
    };
    let mut rows: Vec<Vec<f64>> = blocks.iter().filter_map(whole).collect();
    let levels = rows.first()?.len();
    if rows.len() < 2 || levels < 3 || rows.iter().any(|row| row.len() != levels) {
        return None;
    }
    for row in &mut rows {
        let mean = row.iter().sum::<f64>() / row.len() as f64;
        for value in row {
            *value -= mean;
        }
    }
    let observed = between(&rows, levels);
    let mut source = RandomSource::new(seed);
    let mut hits = 0_u32;
    for _ in 0..draws {
        for row in &mut rows {
            deal(row, &mut source);
        }
        if between(&rows, levels) >= observed - SAME * observed.abs() {
            hits += 1;
        }
    }
    Some((1.0 + f64::from(hits)) / (1.0 + f64::from(draws)))
}

/// The squares of the levels' sums: what is left inside of them follows, since the blocks' squares stay.
fn between(rows: &[Vec<f64>], levels: usize) -> f64 {
    let sum = |level: usize| -> f64 { rows.iter().filter_map(|row| row.get(level)).sum() };
    (0..levels).map(|level| sum(level).powi(2)).sum()
}

/// Fisher and Yates's shuffle.
fn deal(row: &mut [f64], source: &mut RandomSource) {
    for last in (1..row.len()).rev() {
        row.swap(last, source.below(last + 1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWS: u32 = 999;

    fn blocks(seed: u64, blocks: usize, levels: usize, shift: f64) -> Vec<Vec<Option<f64>>> {
        let mut source = RandomSource::new(seed);
        let mut value = |level: usize, drift: f64| {
            let moved = if level == 1 { shift } else { 0.0 };
            Some(drift + moved + source.normal())
        };
        // Blocks drift by far more than levels differ.
        (0..blocks)
            .map(|block| {
                (0..levels)
                    .map(|level| value(level, 50.0 * block as f64))
                    .collect()
            })
            .collect()
    }

    #[test]
    fn levels_that_are_alike_are_told_apart_as_often_as_the_level_says() {
        let found = |seed| joint_p(&blocks(seed, 6, 11, 0.0), DRAWS, seed).unwrap() <= 0.05;
        let found = (0..400).filter(|seed| found(*seed)).count();
        // 20 expected; 4 standard deviations.
        assert!((3..=38).contains(&found), "{found} of 400");
    }

    #[test]
    fn one_level_of_eleven_is_found_with_six_blocks_where_ten_corrected_tests_could_not() {
        let found = |seed| joint_p(&blocks(seed, 6, 11, 3.0), DRAWS, seed).unwrap() <= 0.05;
        let found = (0..100).filter(|seed| found(*seed)).count();
        assert!(found >= 90, "{found} of 100");
        assert!(joint_p(&blocks(1, 6, 11, 20.0), DRAWS, 1).unwrap() < 0.005);
    }

    #[test]
    fn too_little_is_no_answer_and_a_block_with_a_gap_is_left_out() {
        assert_eq!(joint_p(&[], DRAWS, 1), None);
        assert_eq!(joint_p(&blocks(1, 1, 5, 0.0), DRAWS, 1), None);
        assert_eq!(joint_p(&blocks(1, 5, 2, 0.0), DRAWS, 1), None);
        let mut gap = blocks(1, 2, 5, 0.0);
        gap[0][2] = None;
        assert_eq!(joint_p(&gap, DRAWS, 1), None);
        // Nothing varies: every arrangement is as extreme.
        let same = vec![vec![Some(1.0); 4]; 3];
        assert_eq!(joint_p(&same, DRAWS, 1), Some(1.0));
    }
}
