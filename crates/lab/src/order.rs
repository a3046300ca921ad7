// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The order of the runs: each block is a random permutation of all cells, from a recorded seed.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};

/// Returns the numbers below `cells` in the order in which block `block` visits them.
///
/// The same seed and block give the same order on every machine: xoshiro256++ (Blackman and Vigna
/// 2021), seeded with the block's own number, and the shuffle of Fisher and Yates in Durstenfeld's
/// form (Knuth, TAOCP volume 2, 3.4.2, algorithm P) with rejection, so that no order is favoured.
pub fn of_block(seed: u64, block: u32, cells: u32) -> Vec<u32> {
    // The multiplier of Steele and Vigna's generators keeps neighbouring blocks far apart.
    let own = seed ^ u64::from(block + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(own);
    let mut order: Vec<u32> = (0..cells).collect();
    for last in (1..cells).rev() {
        let other = below(&mut random, u64::from(last) + 1);
        let (last, other) = (last as usize, usize::try_from(other).unwrap_or(0));
        order.swap(last, other);
    }
    order
}

/// Returns the seed of an experiment whose file names none: a number of its text, so that what a plan shows is what is
/// run. Short, so that it can be typed again.
pub fn seed_of(text: &str) -> u64 {
    // FNV-1a, 64 bits (Fowler, Noll, Vo). Its high bits depend on all of the text.
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    (hash ^ (hash >> 32)) % 1_000_000
}

/// Returns a number below `n`, each as likely as the others.
fn below(random: &mut Xoshiro256PlusPlus, n: u64) -> u64 {
    // What is left over when 2^64 is divided by n would favour the small numbers.
    let limit = u64::MAX - (u64::MAX % n + 1) % n;
    loop {
        let drawn = random.next_u64();
        if drawn <= limit {
            return drawn % n;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn a_block_is_a_permutation_and_always_the_same() {
        for block in 0..20 {
            let mut order = of_block(7, block, 9);
            assert_eq!(order, of_block(7, block, 9));
            order.sort_unstable();
            assert_eq!(order, (0..9).collect::<Vec<_>>());
        }
        assert_ne!(of_block(7, 0, 9), of_block(7, 1, 9));
        assert_ne!(of_block(7, 0, 9), of_block(8, 0, 9));
    }

    #[test]
    fn every_order_of_three_is_as_likely() {
        let mut seen = BTreeMap::<Vec<u32>, u32>::new();
        for block in 0..6_000 {
            *seen.entry(of_block(1, block, 3)).or_default() += 1;
        }
        assert_eq!(seen.len(), 6);
        // Standard deviation 29: five of them.
        assert!(seen.values().all(|n| n.abs_diff(1_000) < 145), "{seen:?}");
    }

    #[test]
    fn a_text_has_one_seed_and_another_text_another() {
        assert_eq!(seed_of("a"), seed_of("a"));
        let seeds: std::collections::BTreeSet<u64> = (0..100)
            .map(|n| seed_of(&format!("name = \"x{n}\"")))
            .collect();
        // Of a million, two of a hundred are the same in 0.5 % of such sets, and these are not one.
        assert_eq!(seeds.len(), 100);
    }

    #[test]
    fn the_order_is_part_of_the_format() {
        assert_eq!(of_block(42, 0, 6), of_block(42, 0, 6));
        assert_eq!(of_block(42, 0, 1), [0]);
        assert_eq!(of_block(42, 0, 0), [0_u32; 0]);
    }
}
