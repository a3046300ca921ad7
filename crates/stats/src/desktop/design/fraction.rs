// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Two-level fractional factorial designs.
//!
//! With k factors of two levels a full design has 2^k cells. A fraction runs 2^(k-p) of them: k - p
//! basic factors are crossed, and each further factor is set to the product of some of them, its
//! generator (Box and Hunter, *Technometrics* 3, 1961; Montgomery, *Design and Analysis of
//! Experiments*, chapter 8). What is saved is paid for by aliasing: effects whose product with a word
//! of the defining relation is another effect cannot be told from it. The length of the shortest
//! word is the resolution:
//!
//! - III: a main effect may be confounded with interactions of two factors;
//! - IV: main effects are clear of these, but such interactions are confounded with each other;
//! - V: both are clear of each other.
//!
//! Generators are chosen by search: the highest resolution, then the fewest words of that length
//! (minimum aberration, Fries and Hunter, *Technometrics* 22, 1980) among the sets tried: all of
//! them where they are few, else greedily one factor after the other.
//!
//! Factors are bits of a mask, effects are masks, and the product of effects is their exclusive or.

/// The resolution that is asked for.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Resolution {
    /// Main effects are clear of each other.
    Three,
    /// Main effects are clear of interactions of two factors too.
    Four,
}

impl Resolution {
    const fn length(self) -> u32 {
        match self {
            Self::Three => 3,
            Self::Four => 4,
        }
    }
}

/// The reason that there is no such fraction.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FractionError {
    /// Too few or too many factors.
    #[error("a fraction takes 3 to {MOST_FACTORS} factors of two levels, not {factors}")]
    Factors {
        /// Their number.
        factors: usize,
    },
}

/// The most factors of a fraction.
const MOST_FACTORS: usize = 24;

/// Sets of generators that are all tried.
const MOST_SETS: u64 = 20_000;

/// A two-level fractional factorial design.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Fraction {
    basic: usize,
    /// One for each factor after the basic ones: which of them it is the product of.
    generators: Vec<u32>,
    /// The words of the defining relation, shortest first.
    words: Vec<u32>,
}

impl Fraction {
    /// The smallest design of `factors` factors with at least this resolution. It may be the full
    /// design.
    ///
    /// ```
    /// use punctual_stats::design::{Fraction, Resolution};
    ///
    /// # fn main() -> Result<(), punctual_stats::design::FractionError> {
    /// let design = Fraction::new(5, Resolution::Three)?;
    /// assert_eq!(design.cells().len(), 8);
    /// // The effect of A cannot be told from the interactions BD and CE.
    /// assert_eq!(design.aliases(0b1, 2), [0b01010, 0b10100]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`FractionError::Factors`] below 3 or above 24 factors.
    pub fn new(factors: usize, resolution: Resolution) -> Result<Self, FractionError> {
        if !(3..=MOST_FACTORS).contains(&factors) {
            return Err(FractionError::Factors { factors });
        }
        let basic = (2..=factors)
            .find(|basic| room(*basic, resolution) >= factors)
            .unwrap_or(factors);
        let candidates = candidates(basic, resolution);
        let generators = search(factors, basic, &candidates);
        let words = words(basic, &generators);
        Ok(Self {
            basic,
            generators,
            words,
        })
    }

    /// The cells: for each the level of each factor, 0 or 1. The first basic factor changes fastest.
    pub fn cells(&self) -> Vec<Vec<usize>> {
        (0..1_u32 << self.basic)
            .map(|cell| {
                let level = |generator: u32| {
                    // The product of signs: minus is level 0.
                    let minus = (generator & !cell).count_ones() % 2 == 1;
                    usize::from(!minus)
                };
                let basic = (0..self.basic).map(|factor| level(1 << factor));
                basic
                    .chain(self.generators.iter().map(|generator| level(*generator)))
                    .collect()
            })
            .collect()
    }

    /// The length of the shortest word of the defining relation. `None` for a full design.
    pub fn resolution(&self) -> Option<u32> {
        self.words.first().map(|word| word.count_ones())
    }

    /// The words of the defining relation, shortest first: products of factors that are always +1.
    pub fn words(&self) -> &[u32] {
        &self.words
    }

    /// The effects of at most `order` factors that cannot be told from `effect`, fewest factors
    /// first. Masks of factors.
    pub fn aliases(&self, effect: u32, order: u32) -> Vec<u32> {
        let mut aliases: Vec<u32> = self
            .words
            .iter()
            .map(|word| word ^ effect)
            .filter(|alias| alias.count_ones() <= order)
            .collect();
        aliases.sort_by_key(|alias| (alias.count_ones(), *alias));
        aliases
    }
}

/// Factors as letters: `AC` for the first and the third. I is left out, as is the custom.
pub fn letters(effect: u32) -> String {
    (0..32)
        .filter(|factor| effect >> factor & 1 == 1)
        .map(letter)
        .collect()
}

fn letter(factor: usize) -> char {
    const LETTERS: &[u8; 25] = b"ABCDEFGHJKLMNOPQRSTUVWXYZ";
    LETTERS
        .get(factor)
        .map_or('?', |letter| char::from(*letter))
}

/// The factors that fit into 2^basic cells.
fn room(basic: usize, resolution: Resolution) -> usize {
    match resolution {
        Resolution::Three => (1 << basic) - 1,
        // Products of an odd number of basic factors: every word is then even.
        Resolution::Four => 1 << (basic - 1),
    }
}

/// What a further factor may be the product of, fewest factors first.
fn candidates(basic: usize, resolution: Resolution) -> Vec<u32> {
    let least = resolution.length() - 1;
    let mut all: Vec<u32> = (1..1_u32 << basic)
        .filter(|product| product.count_ones() >= least)
        .collect();
    all.sort_by_key(|product| (product.count_ones(), *product));
    all
}

/// The best set of generators: words of the shortest length are to be long, then few.
fn search(factors: usize, basic: usize, candidates: &[u32]) -> Vec<u32> {
    let wanted = factors - basic;
    if sets(candidates.len(), wanted) <= MOST_SETS {
        let mut best: Option<(Vec<u32>, Vec<u32>)> = None;
        let mut chosen = Vec::new();
        each_set(candidates, wanted, &mut chosen, &mut |set| {
            let lengths = lengths_of(factors, words(basic, set).into_iter());
            if best.as_ref().is_none_or(|(least, _)| lengths < *least) {
                best = Some((lengths, set.to_vec()));
            }
        });
        return best.map_or_else(Vec::new, |(_, set)| set);
    }
    // Products of an odd number of factors alone: among themselves they make no odd word.
    let odd = |candidate: &&u32| candidate.count_ones() % 2 == 1;
    let least = candidates.first().map_or(2, |first| first.count_ones());
    let mut set: Vec<u32> = Vec::new();
    let mut products = vec![0];
    for factor in basic..factors {
        let word = |candidate: u32| candidate | 1 << factor;
        let next = candidates
            .iter()
            .filter(|candidate| least == 2 || odd(candidate))
            .filter(|candidate| !set.contains(*candidate))
            .min_by_key(|candidate| {
                let new = products.iter().map(|product| product ^ word(**candidate));
                lengths_of(factors, new)
            });
        let Some(next) = next else { break };
        set.push(*next);
        multiply(&mut products, word(*next));
    }
    set
}

fn sets(n: usize, k: usize) -> u64 {
    (0..k.min(n)).fold(1_u64, |ways, i| {
        ways.saturating_mul((n - i) as u64) / (i as u64 + 1)
    })
}

fn each_set(from: &[u32], count: usize, chosen: &mut Vec<u32>, visit: &mut impl FnMut(&[u32])) {
    if count == 0 {
        visit(chosen);
        return;
    }
    for (at, candidate) in from.iter().enumerate() {
        chosen.push(*candidate);
        each_set(&from[at + 1..], count - 1, chosen, visit);
        chosen.pop();
    }
}

/// The number of words of each length from 1 on: the smaller in this order, the better the design.
fn lengths_of(factors: usize, words: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut lengths = vec![0; factors];
    for word in words {
        let at = (word.count_ones() as usize).wrapping_sub(1);
        if let Some(count) = lengths.get_mut(at) {
            *count += 1;
        }
    }
    lengths
}

/// Adds the products of all with `word`.
fn multiply(products: &mut Vec<u32>, word: u32) {
    products.extend_from_within(..);
    let half = products.len() / 2;
    for product in &mut products[half..] {
        *product ^= word;
    }
}

/// All products of the generators' words, shortest first.
fn words(basic: usize, generators: &[u32]) -> Vec<u32> {
    let mut words: Vec<u32> = vec![0];
    for (at, generator) in generators.iter().enumerate() {
        multiply(&mut words, generator | 1 << (basic + at));
    }
    words.retain(|word| *word != 0);
    words.sort_by_key(|word| (word.count_ones(), *word));
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn design(factors: usize, resolution: Resolution) -> Fraction {
        Fraction::new(factors, resolution).unwrap()
    }

    #[test]
    fn sizes_and_resolutions_are_those_of_the_textbook() {
        // Montgomery, table 8.14: factors, asked, cells, resolution reached.
        for (factors, asked, cells, reached) in [
            (3, Resolution::Three, 4, 3),
            (4, Resolution::Three, 8, 4),
            (4, Resolution::Four, 8, 4),
            (5, Resolution::Three, 8, 3),
            (5, Resolution::Four, 16, 5),
            (6, Resolution::Three, 8, 3),
            (6, Resolution::Four, 16, 4),
            (7, Resolution::Three, 8, 3),
            (7, Resolution::Four, 16, 4),
            (8, Resolution::Three, 16, 4),
            (8, Resolution::Four, 16, 4),
            (9, Resolution::Three, 16, 3),
            (9, Resolution::Four, 32, 4),
            (11, Resolution::Three, 16, 3),
            (15, Resolution::Three, 16, 3),
            (16, Resolution::Four, 32, 4),
        ] {
            let design = design(factors, asked);
            assert_eq!(design.cells().len(), cells, "{factors} {asked:?}");
            assert_eq!(design.resolution(), Some(reached), "{factors} {asked:?}");
        }
        assert_eq!(design(3, Resolution::Four).resolution(), None);
    }

    #[test]
    fn every_pair_of_factors_is_balanced_in_every_design() {
        for factors in (3..=12).chain([16, 17, 18, 24]) {
            for resolution in [Resolution::Three, Resolution::Four] {
                let design = design(factors, resolution);
                let cells = design.cells();
                for a in 0..factors {
                    for b in a + 1..factors {
                        let both = cells.iter().filter(|cell| cell[a] == 1 && cell[b] == 1);
                        assert_eq!(both.count() * 4, cells.len(), "{factors}: {a} {b}");
                    }
                }
                assert!(
                    design
                        .resolution()
                        .is_none_or(|got| got >= resolution.length()),
                    "{factors} {resolution:?}"
                );
            }
        }
    }

    #[test]
    fn aliased_effects_have_the_same_column_and_others_do_not() {
        let design = design(6, Resolution::Four);
        let column = |effect: u32| -> Vec<bool> {
            let cells = design.cells();
            let sign = |cell: &Vec<usize>| {
                let minus = (0..6).filter(|f| effect >> f & 1 == 1 && cell[*f] == 0);
                minus.count() % 2 == 0
            };
            cells.iter().map(sign).collect()
        };
        for effect in (1_u32..64).filter(|effect| effect.count_ones() <= 2) {
            let aliases = design.aliases(effect, 2);
            for other in (1_u32..64).filter(|o| o.count_ones() <= 2 && *o != effect) {
                assert_eq!(
                    column(effect) == column(other),
                    aliases.contains(&other),
                    "{} {}",
                    letters(effect),
                    letters(other)
                );
            }
            // Resolution IV: no main effect among the aliases of main effects and interactions.
            assert!(aliases.iter().all(|alias| alias.count_ones() == 2));
        }
    }

    #[test]
    fn five_factors_in_sixteen_cells_have_the_generator_of_minimum_aberration() {
        let design = design(5, Resolution::Four);
        assert_eq!(letters(design.generators[0]), "ABCD");
        assert_eq!(design.aliases(0b1, 2), []);
        assert_eq!(letters(design.words()[0]), "ABCDE");
    }

    #[test]
    fn too_few_and_too_many_factors_are_refused() {
        for factors in [0, 2, 25] {
            let err = Fraction::new(factors, Resolution::Three).unwrap_err();
            assert!(err.to_string().contains(&factors.to_string()));
        }
    }
}
