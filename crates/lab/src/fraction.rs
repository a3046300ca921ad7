// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Fractions of two-level designs, with what they cannot tell apart stated.
//!
//! Some factors are crossed in full; each other factor is the product of several of those (Box, Hunter
//! and Hunter, *Statistics for Experimenters*, 2nd edition, chapter 6). The products make the
//! defining relation; its shortest word is the resolution.

/// The most factors: 2^15 cells are more than anybody measures.
const FACTORS: usize = 15;

/// A fraction of all crossings of factors with two levels each.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Fraction {
    /// One entry a cell: for each factor whether it is at its second level.
    pub(crate) cells: Vec<Vec<bool>>,
    /// The words of the defining relation: bit `n` is factor `n`.
    pub(crate) words: Vec<u32>,
}

/// Returns the smallest fraction of `factors` factors whose shortest word has `resolution` letters
/// or more. `None` for no factor or more than 15.
pub(crate) fn fraction(factors: usize, resolution: u32) -> Option<Fraction> {
    if !(1..=FACTORS).contains(&factors) {
        return None;
    }
    (1..=factors).find_map(|base| {
        // Generators: products of many base factors first, they make long words.
        let mut products: Vec<u32> = (0..1_u32 << base)
            .filter(|p| p.count_ones() + 1 >= resolution)
            .collect();
        products.sort_by_key(|p| (std::cmp::Reverse(p.count_ones()), *p));
        let mut chosen = Vec::new();
        let mut words = Vec::new();
        choose(
            factors,
            base,
            resolution,
            &products,
            &mut chosen,
            &mut words,
        )
        .then(|| build(base, &chosen, words))
    })
}

/// Picks a product for each factor that is not of the base, going back where one does not fit.
fn choose(
    factors: usize,
    base: usize,
    resolution: u32,
    products: &[u32],
    chosen: &mut Vec<u32>,
    words: &mut Vec<u32>,
) -> bool {
    if base + chosen.len() == factors {
        return true;
    }
    let own = 1_u32 << (base + chosen.len());
    for (at, product) in products.iter().enumerate() {
        let word = product | own;
        let before = words.len();
        let longer: Vec<u32> = words.iter().map(|w| w ^ word).collect();
        if longer.iter().any(|w| w.count_ones() < resolution) {
            continue;
        }
        words.push(word);
        words.extend(longer);
        chosen.push(*product);
        let rest = products.get(at + 1..).unwrap_or_default();
        if choose(factors, base, resolution, rest, chosen, words) {
            return true;
        }
        chosen.pop();
        words.truncate(before);
    }
    false
}

fn build(base: usize, chosen: &[u32], mut words: Vec<u32>) -> Fraction {
    let cells = (0..1_u32 << base)
        .map(|cell| {
            let crossed = (0..base).map(|n| cell >> n & 1 == 1);
            // With levels -1 and 1 the product of an even number of factors is 1 where all are low.
            let product = |p: &u32| {
                let low = p.count_ones() - (cell & p).count_ones();
                low.is_multiple_of(2)
            };
            crossed.chain(chosen.iter().map(product)).collect()
        })
        .collect();
    words.sort_by_key(|w| (w.count_ones(), *w));
    Fraction { cells, words }
}

impl Fraction {
    /// Says for each main effect and two-factor interaction which others of them cannot be told from
    /// it. What is aliased with longer interactions alone is not listed.
    pub(crate) fn aliases(&self, names: &[String]) -> Vec<String> {
        let say = |effect: u32| {
            let letters = (0..).zip(names).filter(|(n, _)| effect >> n & 1 == 1);
            let letters: Vec<&str> = letters.map(|(_, name): (u32, _)| name.as_str()).collect();
            letters.join(" x ")
        };
        let ones = (0..names.len()).map(|a| 1_u32 << a);
        let twos =
            (0..names.len()).flat_map(|a| (a + 1..names.len()).map(move |b| 1 << a | 1 << b));
        let mut told = Vec::new();
        let mut lines = Vec::new();
        for effect in ones.chain(twos) {
            if told.contains(&effect) {
                continue;
            }
            let others: Vec<u32> = self
                .words
                .iter()
                .map(|word| word ^ effect)
                .filter(|other| other.count_ones() <= 2 && *other != 0)
                .collect();
            if !others.is_empty() {
                let all: Vec<String> = [effect].iter().chain(&others).map(|e| say(*e)).collect();
                lines.push(all.join(" = "));
                told.extend(others);
            }
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn textbook_fractions() {
        // 2^(3-1) III, 2^(4-1) IV, 2^(5-2) III, 2^(7-4) III, 2^(8-4) IV, 2^(15-11) III.
        for (factors, resolution, cells) in [
            (3, 3, 4),
            (4, 4, 8),
            (5, 3, 8),
            (7, 3, 8),
            (8, 4, 16),
            (15, 3, 16),
            (1, 3, 2),
            (2, 3, 4),
        ] {
            let found = fraction(factors, resolution).unwrap();
            assert_eq!(found.cells.len(), cells, "{factors} at {resolution}");
            assert!(found.words.iter().all(|w| w.count_ones() >= resolution));
        }
        assert_eq!(fraction(0, 3), None);
        assert_eq!(fraction(16, 3), None);
    }

    #[test]
    fn columns_are_balanced_and_orthogonal() {
        for (factors, resolution) in [(6, 3), (6, 4), (11, 4)] {
            let cells = fraction(factors, resolution).unwrap().cells;
            let sign = |cell: &Vec<bool>, n: usize| if cell[n] { 1_i32 } else { -1 };
            for a in 0..factors {
                assert_eq!(cells.iter().map(|c| sign(c, a)).sum::<i32>(), 0);
                for b in a + 1..factors {
                    let product: i32 = cells.iter().map(|c| sign(c, a) * sign(c, b)).sum();
                    assert_eq!(product, 0, "{a} and {b} of {factors}");
                }
            }
        }
    }

    #[test]
    fn what_cannot_be_told_apart_is_told() {
        let names: Vec<String> = ["a", "b", "c"].map(ToOwned::to_owned).into();
        let lines = fraction(3, 3).unwrap().aliases(&names);
        assert_eq!(lines, ["a = b x c", "b = a x c", "c = a x b"]);
        let names: Vec<String> = ["a", "b", "c", "d"].map(ToOwned::to_owned).into();
        let lines = fraction(4, 4).unwrap().aliases(&names);
        assert_eq!(lines, ["a x b = c x d", "a x c = b x d", "a x d = b x c"]);
    }
}
