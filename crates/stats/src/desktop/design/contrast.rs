// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Main effects and interactions of a factorial experiment.
//!
//! An effect is a contrast: a sum of cells with weights that add up to nothing (Box, Hunter and
//! Hunter, *Statistics for Experimenters*, chapter 5). The main effect of a level is the mean of its
//! cells minus that of the cells of the factor's first level; the interaction of two levels is the
//! effect of one in the presence of the other minus its effect without. Each block has every cell
//! once and so gives each contrast one value; how these vary from block to block is the error, and
//! all that a block has in common falls out. The interval and the p-value are those of a permutation
//! of the signs of these values ([`Permutations`] of pairs).
//!
//! A block in which a cell of the contrast is missing gives no value for it and is counted.

use std::collections::{BTreeMap, BTreeSet};

use crate::runs::{Direction, Permutations, Question, QuestionError, TestKind};

/// A factor: its name, and the names of its levels, the first of which is what the others are
/// compared with.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Factor {
    /// Its name.
    pub name: String,
    /// The names of its levels.
    pub levels: Vec<String>,
}

/// A sum of cells with weights that add up to nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct Contrast {
    /// What it is the effect of: one factor and its level, or two for an interaction. Places in the
    /// list of factors, and of the factor's levels.
    pub of: Vec<(usize, usize)>,
    /// What else it is the effect of, by these cells: contrasts that are multiples of this one, each with how often it is this one.
    pub aliased: Vec<(Vec<(usize, usize)>, f64)>,
    /// One weight a cell.
    pub weights: Vec<f64>,
}

impl Contrast {
    /// By which factor the other one has the same weights, if it has: whatever the values are, both have the same p-value then.
    fn factor_of(&self, other: &Self) -> Option<f64> {
        let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let (a, b) = (&self.weights, &other.weights);
        let lengths = product(a, a) * product(b, b);
        // Cauchy and Schwarz.
        let same = (lengths - product(a, b).powi(2)).abs() <= 1e-9 * lengths;
        same.then(|| product(a, b) / product(a, a))
    }
}

/// What blocks say of a contrast.
#[derive(Clone, Debug, PartialEq)]
pub struct ContrastResult {
    /// Its mean over the blocks. `None` without a complete block.
    pub estimate: Option<f64>,
    /// The interval of the contrasts that are not rejected. `None` where the blocks are too few.
    pub interval: Option<(f64, f64)>,
    /// Two-sided p-value. `None` below two blocks.
    pub p: Option<f64>,
    /// Which arrangements it rests on.
    pub kind: Option<TestKind>,
    /// Blocks that gave a value.
    pub blocks: usize,
    /// Blocks that did not, because a cell is missing.
    pub incomplete: usize,
}

/// The main effects, then the two-factor interactions, of `cells`: for each cell the level of each
/// factor. Contrasts whose cells are not there are left out, and what these cells cannot tell apart is one contrast:
/// it would be asked several times otherwise, and each question takes its part of the level.
pub fn contrasts(factors: &[Factor], cells: &[Vec<usize>]) -> Vec<Contrast> {
    let mut all: Vec<Contrast> = Vec::new();
    let mut add = |of: &[(usize, usize)]| {
        let Some(new) = difference(cells, of) else {
            return;
        };
        for known in &mut all {
            if let Some(factor) = known.factor_of(&new) {
                known.aliased.push((new.of, factor));
                return;
            }
        }
        all.push(new);
    };
    for (factor, levels) in levels_of(factors) {
        add(&[(factor, levels)]);
    }
    for (first, a) in levels_of(factors) {
        for (second, b) in levels_of(factors).filter(|(second, _)| *second > first) {
            add(&[(first, a), (second, b)]);
        }
    }
    all
}

/// Every level but the first, of every factor.
fn levels_of(factors: &[Factor]) -> impl Iterator<Item = (usize, usize)> {
    factors
        .iter()
        .enumerate()
        .flat_map(|(at, factor)| (1..factor.levels.len()).map(move |level| (at, level)))
}

/// The cells at this level (+) and at the first level (-) of each factor named, the mean of each
/// combination of them with its sign. Where cells are missing, those are taken that have their
/// counterparts in all combinations; where none has, as in a fraction, all.
fn difference(cells: &[Vec<usize>], of: &[(usize, usize)]) -> Option<Contrast> {
    let combination = |cell: &[usize]| -> Option<usize> {
        of.iter()
            .try_fold(0, |code, (factor, level)| match cell.get(*factor) {
                Some(at) if at == level => Some(2 * code + 1),
                Some(0) => Some(2 * code),
                _ => None,
            })
    };
    let others = |cell: &[usize]| -> Vec<usize> {
        let mut rest = cell.to_vec();
        for (factor, _) in of {
            rest[*factor] = 0;
        }
        rest
    };
    let all = 1_usize << of.len();
    let involved: Vec<Option<usize>> = cells.iter().map(|cell| combination(cell)).collect();
    let mut seen: BTreeMap<Vec<usize>, BTreeSet<usize>> = BTreeMap::new();
    for (cell, code) in cells.iter().zip(&involved) {
        if let Some(code) = code {
            seen.entry(others(cell)).or_default().insert(*code);
        }
    }
    let whole = |cell: &[usize]| {
        let codes = seen.get(&others(cell));
        codes.is_some_and(|codes| codes.len() == all)
    };
    let matched = cells
        .iter()
        .zip(&involved)
        .any(|(cell, code)| code.is_some() && whole(cell));
    let used: Vec<Option<usize>> = cells
        .iter()
        .zip(&involved)
        .map(|(cell, code)| code.filter(|_| !matched || whole(cell)))
        .collect();
    let mut counts = vec![0.0; all];
    for code in used.iter().flatten() {
        counts[*code] += 1.0;
    }
    if counts.contains(&0.0) {
        return None;
    }
    let sign = |code: usize| {
        let minus = of.len() - code.count_ones() as usize;
        if minus.is_multiple_of(2) { 1.0 } else { -1.0 }
    };
    let weights = used
        .iter()
        .map(|code| code.map_or(0.0, |code| sign(code) / counts[code]))
        .collect();
    Some(Contrast {
        of: of.to_vec(),
        aliased: Vec::new(),
        weights,
    })
}

/// Estimates a contrast from blocks, each with the value of each cell on the scale of the
/// comparison (logarithms, for ratios).
///
/// # Errors
///
/// [`QuestionError::NotFinite`] for a value that is infinite or not a number.
pub fn estimate(
    contrast: &Contrast,
    blocks: &[Vec<Option<f64>>],
    confidence: f64,
    draws: usize,
    seed: u64,
) -> Result<ContrastResult, QuestionError> {
    let value = |cells: &Vec<Option<f64>>| -> Option<f64> {
        let needed = contrast.weights.iter().enumerate();
        needed
            .filter(|(_, weight)| **weight != 0.0)
            .map(|(at, weight)| Some(weight * cells.get(at).copied().flatten()?))
            .sum()
    };
    let values: Vec<f64> = blocks.iter().filter_map(value).collect();
    if let Some(index) = values.iter().position(|x| !x.is_finite()) {
        return Err(QuestionError::NotFinite {
            group: "contrast",
            index,
        });
    }
    // Against nothing, a contrast is a difference already; one value below 0 keeps logarithms away.
    let (zeros, ids): (Vec<f64>, Vec<u64>) = (0..values.len()).map(|at| (0.0, at as u64)).unzip();
    let question = Question::new(&zeros, &values, Direction::Neither).in_blocks(&ids, &ids);
    let test = Permutations::of(&question, draws, seed)?;
    let mean = || values.iter().sum::<f64>() / values.len() as f64;
    Ok(ContrastResult {
        estimate: (!values.is_empty()).then(mean),
        interval: test.as_ref().and_then(|test| test.interval(confidence)),
        p: test.as_ref().map(|test| test.p(0.0)),
        kind: test.as_ref().map(Permutations::kind),
        blocks: values.len(),
        incomplete: blocks.len() - values.len(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Samples, assert_close};

    fn factor(name: &str, levels: &[&str]) -> Factor {
        Factor {
            name: name.to_owned(),
            levels: levels.iter().map(ToString::to_string).collect(),
        }
    }

    /// Two factors of two levels and one of three, all crossed.
    fn crossed() -> (Vec<Factor>, Vec<Vec<usize>>) {
        let factors = vec![
            factor("load", &["idle", "cpu"]),
            factor("kernel", &["stock", "rt"]),
            factor("governor", &["powersave", "schedutil", "performance"]),
        ];
        let mut cells = Vec::new();
        for load in 0..2 {
            for kernel in 0..2 {
                for governor in 0..3 {
                    cells.push(vec![load, kernel, governor]);
                }
            }
        }
        (factors, cells)
    }

    fn named(contrasts: &[Contrast], of: &[(usize, usize)]) -> Contrast {
        contrasts.iter().find(|c| c.of == of).unwrap().clone()
    }

    #[test]
    fn effects_and_interactions_of_a_known_model_are_recovered() {
        let (factors, cells) = crossed();
        let all = contrasts(&factors, &cells);
        // 1 + 1 + 2 main effects, 1 + 2 + 2 interactions.
        assert_eq!(all.len(), 9);
        // Load +3, rt -1, performance -0.5, and rt takes away 2 of the load's effect.
        let truth = |cell: &Vec<usize>| {
            let at = |factor: usize, level: usize| f64::from(u8::from(cell[factor] == level));
            10.0 + 3.0 * at(0, 1) - at(1, 1) - 0.5 * at(2, 2) - 2.0 * at(0, 1) * at(1, 1)
        };
        let mut samples = Samples::new(1);
        let blocks: Vec<Vec<Option<f64>>> = (0..8)
            .map(|block| {
                let of = |cell| Some(truth(cell) + f64::from(block) + 0.01 * samples.normal());
                cells.iter().map(of).collect()
            })
            .collect();
        let of =
            |of: &[(usize, usize)]| estimate(&named(&all, of), &blocks, 0.95, 9_999, 1).unwrap();
        for (contrast, want) in [
            (&[(0, 1)][..], 2.0),
            (&[(1, 1)], -2.0),
            (&[(2, 2)], -0.5),
            (&[(0, 1), (1, 1)], -2.0),
        ] {
            let got = of(contrast);
            assert!((got.estimate.unwrap() - want).abs() < 0.02, "{got:?}");
            assert!(got.p.unwrap() < 0.01);
            let (low, high) = got.interval.unwrap();
            assert!(low < want && want < high && high - low < 0.1);
        }
        let nothing = of(&[(2, 1)]);
        assert!(nothing.estimate.unwrap().abs() < 0.02);
    }

    #[test]
    fn an_incomplete_block_is_counted_and_serves_where_it_can() {
        let (factors, cells) = crossed();
        let all = contrasts(&factors, &cells);
        let mut blocks = vec![vec![Some(1.0); 12]; 3];
        blocks[1][2] = None; // idle, stock, performance
        let of = |of: &[(usize, usize)]| estimate(&named(&all, of), &blocks, 0.95, 99, 1).unwrap();
        assert_eq!((of(&[(0, 1)]).blocks, of(&[(0, 1)]).incomplete), (2, 1));
        // schedutil against powersave needs no cell of performance.
        assert_eq!((of(&[(2, 1)]).blocks, of(&[(2, 1)]).incomplete), (3, 0));
        blocks[0][0] = Some(f64::NAN);
        assert!(estimate(&all[0], &blocks, 0.95, 99, 1).is_err());
    }

    #[test]
    fn weights_add_up_to_nothing_and_missing_levels_have_no_contrast() {
        let (factors, cells) = crossed();
        for contrast in contrasts(&factors, &cells) {
            assert!(contrast.weights.iter().sum::<f64>().abs() < 1e-12);
        }
        let without: Vec<Vec<usize>> = cells.into_iter().filter(|cell| cell[1] == 0).collect();
        let all = contrasts(&factors, &without);
        assert!(all.iter().all(|c| c.of.iter().all(|(f, _)| *f != 1)));
    }

    #[test]
    fn a_cell_that_is_not_there_takes_its_counterparts_with_it() {
        let (factors, mut cells) = crossed();
        // Under load, stock was never run with performance.
        cells.retain(|cell| cell != &[1, 0, 2]);
        let all = contrasts(&factors, &cells);
        let truth = |cell: &Vec<usize>| Some(7.0 * cell[2] as f64 + cell[0] as f64);
        let block: Vec<Option<f64>> = cells.iter().map(truth).collect();
        let load = named(&all, &[(0, 1)]);
        let got = estimate(&load, &[block], 0.95, 99, 1).unwrap();
        // With all cells the governors would not be balanced, and the load would look better.
        assert_close(got.estimate, 1.0, 1e-12);
        assert_eq!((got.p, got.interval), (None, None));
    }

    #[test]
    fn a_fraction_has_main_effects_without_counterparts() {
        let factors: Vec<Factor> = ["a", "b", "c"]
            .map(|name| factor(name, &["-", "+"]))
            .to_vec();
        let fraction = crate::design::Fraction::new(3, crate::design::Resolution::Three).unwrap();
        let cells = fraction.cells();
        let all = contrasts(&factors, &cells);
        let block: Vec<_> = cells.iter().map(|cell| Some(cell[2] as f64)).collect();
        let blocks = [block.clone(), block];
        let of = |of: &[(usize, usize)]| {
            estimate(&named(&all, of), &blocks, 0.95, 99, 1)
                .unwrap()
                .estimate
        };
        assert_close(of(&[(2, 1)]), 1.0, 1e-12);
        assert_eq!(of(&[(0, 1)]), Some(0.0));
        // C = AB: what looks like the interaction is the main effect, and one question.
        let of: Vec<_> = all
            .iter()
            .map(|c| (c.of.clone(), c.aliased.clone()))
            .collect();
        let alias =
            |a: usize, b: usize, c: usize| (vec![(a, 1)], vec![(vec![(b, 1), (c, 1)], 2.0)]);
        assert_eq!(of, [alias(0, 1, 2), alias(1, 0, 2), alias(2, 0, 1)]);
    }

    #[test]
    fn an_effect_that_goes_the_other_way_is_the_same_question() {
        let two = |name: &str| factor(name, &["no", "yes"]);
        let all = contrasts(&[two("a"), two("b")], &[vec![1, 0], vec![0, 1]]);
        let [one] = all.as_slice() else {
            panic!("{all:#?}");
        };
        assert_eq!(one.of, [(0, 1)]);
        assert_eq!(one.aliased, [(vec![(1, 1)], -1.0)]);
    }

    #[test]
    fn a_fraction_has_as_many_questions_as_contrasts() {
        let two = |n: usize| factor(&format!("f{n}"), &["-", "+"]);
        for (factors, resolution, questions) in [
            (5, crate::design::Resolution::Three, 7),
            (7, crate::design::Resolution::Three, 7),
            (4, crate::design::Resolution::Four, 7),
        ] {
            let fraction = crate::design::Fraction::new(factors, resolution).unwrap();
            let factors: Vec<Factor> = (0..factors).map(two).collect();
            let all = contrasts(&factors, &fraction.cells());
            assert_eq!(all.len(), questions, "{all:#?}");
        }
    }
}
