// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The system of equations that is solved, and whether it was solved.
//!
//! Every element follows from its place and a seed, so that the matrix, which the factorisation overwrites, can
//! be made again to check the solution without a copy. Elements are uniform in [-0.5, 0.5), as those of HPL.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use punctual_sys::dense::Tile;
use punctual_sys::pages::Pages;

use super::kernel;

/// HPL's limit of the scaled residual.
pub const RESIDUAL_LIMIT: f64 = 16.0;

/// The relative machine precision as HPL takes it, 2^-53.
const EPSILON: f64 = f64::EPSILON / 2.0;

/// A square matrix of random numbers and a right-hand side.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct System {
    /// Number of equations.
    pub order: usize,
    /// What its elements follow from.
    pub seed: u64,
}

impl System {
    /// Writes column `col` of the matrix; that after the last is the right-hand side.
    pub fn fill_column(self, col: usize, column: &mut [f64]) {
        let start = self.seed.wrapping_add((col as u64) << 32);
        for (row, value) in (0_u64..).zip(column) {
            *value = uniform(start.wrapping_add(row));
        }
    }

    /// Returns the distance of columns in memory: whole cache lines, and no power of two, which would put a row's
    /// elements into the same few places of the caches.
    pub const fn stride(self) -> usize {
        let whole = self.order.next_multiple_of(8);
        if whole.is_multiple_of(64) {
            whole + 8
        } else {
            whole
        }
    }

    /// Returns how many numbers the matrix takes, with its right-hand side; `None` where that cannot be said.
    pub fn numbers(self) -> Option<usize> {
        let columns = self.order.checked_add(1)?;
        self.stride().checked_mul(columns)
    }

    /// Makes a matrix with room for the right-hand side in `memory`, which has [`System::numbers`].
    pub fn lay_out(self, memory: Pages<f64>) -> Option<Tile> {
        Tile::new(memory, self.order, self.order + 1, self.stride())
    }

    /// Returns the part of the check of solution `x` that `columns` make; parts are added up.
    pub fn check(self, x: &[f64], columns: Range<usize>, stop: &AtomicBool) -> Residual {
        let mut part = Residual {
            products: vec![0.0; self.order],
            magnitudes: vec![0.0; self.order],
        };
        let mut column = vec![0.0; self.order];
        for (col, value) in x.iter().enumerate().take(columns.end).skip(columns.start) {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            self.fill_column(col, &mut column);
            kernel::accumulate(&mut part.products, &mut part.magnitudes, &column, *value);
        }
        part
    }

    /// Returns HPL's count of operations for the solution of the system: 2/3 n^3 + 3/2 n^2.
    #[expect(clippy::cast_precision_loss, reason = "orders are far below 2^53")]
    pub fn operations(self) -> f64 {
        let order = self.order as f64;
        order * order * (2.0 / 3.0 * order + 1.5)
    }
}

/// What is left of the equations with a solution put in, in the making.
#[derive(Clone, Debug, PartialEq)]
pub struct Residual {
    /// The matrix times the solution.
    products: Vec<f64>,
    /// The sum of the magnitudes of each row of the matrix.
    magnitudes: Vec<f64>,
}

impl Residual {
    /// Adds what other columns make.
    pub fn add(&mut self, other: &Self) {
        let sum = |to: &mut [f64], of: &[f64]| {
            for (to, of) in to.iter_mut().zip(of) {
                *to += of;
            }
        };
        sum(&mut self.products, &other.products);
        sum(&mut self.magnitudes, &other.magnitudes);
    }

    /// Returns HPL's scaled residual of the solution `x`:
    /// `|Ax - b| / (eps * (|A| * |x| + |b|) * n)` in the maximum norm (HPL 2.3, `HPL_pdtest`). It is no number
    /// where one element of the solution is none.
    pub fn scaled(&self, system: System, x: &[f64]) -> f64 {
        let mut right = vec![0.0; system.order];
        system.fill_column(system.order, &mut right);
        let rest = self.products.iter().zip(&right).map(|(ax, b)| ax - b);
        let residual = largest(rest);
        let a = largest(self.magnitudes.iter().copied());
        let (b, x) = (largest(right), largest(x.iter().copied()));
        #[expect(clippy::cast_precision_loss, reason = "orders are far below 2^53")]
        let order = system.order as f64;
        residual / (EPSILON * (a * x + b) * order)
    }
}

/// Returns the largest magnitude, and no number if one of them is none.
fn largest(values: impl IntoIterator<Item = f64>) -> f64 {
    let larger = |max: f64, value: f64| {
        if value.is_nan() || max.is_nan() {
            f64::NAN
        } else {
            max.max(value.abs())
        }
    };
    values.into_iter().fold(0.0, larger)
}

/// Returns a number in [-0.5, 0.5) for `place`: `SplitMix64` (Steele, Lea, Flood, OOPSLA 2014).
#[inline]
fn uniform(place: u64) -> f64 {
    let mut z = place.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^= z >> 31;
    // 52 bits below a fixed exponent make a number in [1, 2).
    f64::from_bits((z >> 12) | 0x3ff0_0000_0000_0000) - 1.5
}

#[cfg(test)]
mod tests {
    use super::*;

    impl System {
        /// Checks all columns at once.
        pub(in crate::linpack) fn scaled_residual(self, x: &[f64]) -> f64 {
            let stop = AtomicBool::new(false);
            self.check(x, 0..self.order, &stop).scaled(self, x)
        }
    }

    #[test]
    fn elements_are_spread_evenly_and_follow_from_their_place() {
        let system = System {
            order: 1_000,
            seed: 1,
        };
        let mut column = vec![0.0; 1_000];
        system.fill_column(3, &mut column);
        assert!(column.iter().all(|v| (-0.5..0.5).contains(v)));
        let mean = column.iter().sum::<f64>() / 1_000.0;
        // Five standard errors of a uniform distribution.
        assert!(
            mean.abs() < 5.0 * (1.0_f64 / 12.0 / 1_000.0).sqrt(),
            "{mean}"
        );
        let mut again = vec![0.0; 500];
        system.fill_column(3, &mut again);
        assert_eq!(again, column[..500]);
        system.fill_column(4, &mut again);
        assert_ne!(again, column[..500]);
    }

    #[test]
    fn the_parts_of_a_check_add_up() {
        let system = System { order: 50, seed: 1 };
        let x: Vec<f64> = (0..50).map(f64::from).collect();
        let stop = AtomicBool::new(false);
        let mut sum = system.check(&x, 0..20, &stop);
        sum.add(&system.check(&x, 20..50, &stop));
        let ratio = sum.scaled(system, &x) / system.scaled_residual(&x);
        assert!((ratio - 1.0).abs() < 1e-9, "{ratio}");
    }

    #[test]
    fn operations_are_those_of_hpl() {
        let system = System {
            order: 1_000,
            seed: 1,
        };
        let wanted = 2.0 / 3.0 * 1e9 + 1.5e6;
        assert!((system.operations() / wanted - 1.0).abs() < 1e-12);
    }
}
