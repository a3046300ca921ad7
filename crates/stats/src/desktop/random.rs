// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A seeded source of random numbers: the same seed gives the same result on every machine.
//!
//! The generator is xoshiro256++ (Blackman and Vigna, *ACM Transactions on Mathematical Software*
//! 47, 2021).

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use crate::num::index;

/// A reproducible source of random numbers.
#[derive(Clone, Debug)]
pub struct RandomSource(Xoshiro256PlusPlus);

impl RandomSource {
    /// Creates the source of this seed.
    pub fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in (0, 1].
    pub fn uniform(&mut self) -> f64 {
        ((self.bits() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    /// Uniform over 0 to n - 1; 0 for n = 0.
    ///
    /// Lemire, *ACM Transactions on Modeling and Computer Simulation* 29, 2019: a multiplication,
    /// and a rejection that takes away the bias.
    pub fn below(&mut self, n: usize) -> usize {
        let n = n as u64;
        if n == 0 {
            return 0;
        }
        loop {
            let product = u128::from(self.bits()) * u128::from(n);
            let (high, low) = split(product);
            if low >= n.wrapping_neg() % n {
                return index(high);
            }
        }
    }

    /// Standard normal (Box and Muller, *Annals of Mathematical Statistics* 29, 1958).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// Puts a random choice of `count` elements first, in random order; all orders are alike.
    pub fn shuffle_first<T>(&mut self, items: &mut [T], count: usize) {
        for i in 0..count.min(items.len()) {
            let other = i + self.below(items.len() - i);
            items.swap(i, other);
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "the halves of a 128-bit product"
)]
const fn split(product: u128) -> (u64, u64) {
    ((product >> 64) as u64, product as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_below_n_comes_as_often_as_any_other() {
        let mut source = RandomSource::new(5);
        let mut counts = [0u32; 7];
        for _ in 0..70_000 {
            counts[source.below(7)] += 1;
        }
        // Five standard deviations of a binomial of 10 000.
        assert!(
            counts.iter().all(|&n| n.abs_diff(10_000) < 465),
            "{counts:?}"
        );
        assert_eq!((source.below(1), source.below(0)), (0, 0));
    }

    #[test]
    fn a_shuffle_puts_every_pair_first_equally_often() {
        let mut source = RandomSource::new(6);
        let mut counts = std::collections::BTreeMap::new();
        for _ in 0..60_000 {
            let mut items = [0, 1, 2, 3];
            source.shuffle_first(&mut items, 2);
            items[..2].sort_unstable();
            *counts.entry((items[0], items[1])).or_insert(0u32) += 1;
        }
        assert_eq!(counts.len(), 6);
        assert!(
            counts.values().all(|n| n.abs_diff(10_000) < 465),
            "{counts:?}"
        );
    }

    #[test]
    fn normal_numbers_have_their_variance() {
        let mut source = RandomSource::new(7);
        let squares: f64 = (0..40_000).map(|_| source.normal().powi(2)).sum();
        assert!((squares / 40_000.0 - 1.0).abs() < 0.03);
    }

    #[test]
    fn the_same_seed_gives_the_same_numbers() {
        let draw = |seed| {
            let mut source = RandomSource::new(seed);
            (source.bits(), source.below(1000), source.normal())
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }
}
