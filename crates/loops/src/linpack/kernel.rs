// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Loops over columns, in the widest vectors that this processor has.
//!
//! Each is compiled for every instruction set that `pulp` knows and picked when it runs.

use pulp::{Arch, Simd, WithSimd};
use punctual_sys::dense::{View, ViewMut};

/// The most columns that [`subtract_columns`] takes at once.
pub(super) const MOST_COLUMNS: usize = 8;

/// Columns that are factorised one by one, and rows that are solved for by the inverse.
pub(super) const LEAF: usize = 16;

/// Computes `to -= sum of factors[k] * columns[k]` and returns the largest magnitude of what it wrote.
///
/// It takes at most [`MOST_COLUMNS`] columns; further ones are left out.
pub(super) fn subtract_columns(to: &mut [f64], columns: &[&[f64]], factors: &[f64]) -> f64 {
    /// Copies into arrays whose length the compiler knows.
    fn fixed<const K: usize>(to: &mut [f64], columns: &[&[f64]], factors: &[f64]) -> f64 {
        let empty: &[f64] = &[];
        let columns: [&[f64]; K] =
            std::array::from_fn(|k| columns.get(k).copied().unwrap_or(empty));
        let factors: [f64; K] = std::array::from_fn(|k| factors.get(k).copied().unwrap_or(0.0));
        Arch::new().dispatch(Subtract {
            to,
            columns,
            factors,
        })
    }
    match columns.len() {
        0 => fixed::<0>(to, columns, factors),
        1 => fixed::<1>(to, columns, factors),
        2 => fixed::<2>(to, columns, factors),
        3 => fixed::<3>(to, columns, factors),
        4 => fixed::<4>(to, columns, factors),
        5 => fixed::<5>(to, columns, factors),
        6 => fixed::<6>(to, columns, factors),
        7 => fixed::<7>(to, columns, factors),
        _ => fixed::<MOST_COLUMNS>(to, columns, factors),
    }
}

struct Subtract<'a, const K: usize> {
    to: &'a mut [f64],
    columns: [&'a [f64]; K],
    factors: [f64; K],
}

impl<const K: usize> WithSimd for Subtract<'_, K> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f64 {
        let Self {
            to,
            columns,
            factors,
        } = self;
        let len = columns.iter().fold(to.len(), |len, c| len.min(c.len()));
        let (to, _) = to.split_at_mut(len);
        let minus = factors.map(|factor| simd.splat_f64s(-factor));
        let (to, to_rest) = S::as_mut_simd_f64s(to);
        let parts = columns.map(|column| S::as_simd_f64s(&column[..len]));
        let mut largest = simd.splat_f64s(0.0);
        for (i, to) in to.iter_mut().enumerate() {
            let mut sum = *to;
            for k in 0..K {
                sum = mul_add(simd, minus[k], parts[k].0[i], sum);
            }
            *to = sum;
            largest = simd.max_f64s(largest, simd.abs_f64s(sum));
        }
        let mut largest = simd.reduce_max_f64s(largest);
        for (i, to) in to_rest.iter_mut().enumerate() {
            for k in 0..K {
                *to -= factors[k] * parts[k].1[i];
            }
            largest = largest.max(to.abs());
        }
        largest
    }
}

/// Returns the place of the first element whose magnitude is `largest`.
pub(super) fn find_magnitude(column: &[f64], largest: f64) -> Option<usize> {
    /// Elements in which to look closer once one of them is it.
    const PART: usize = 64;

    struct Find<'a>(&'a [f64], f64);

    impl WithSimd for Find<'_> {
        type Output = Option<usize>;

        #[inline(always)]
        #[expect(clippy::float_cmp, reason = "the value was taken from the column")]
        fn with_simd<S: Simd>(self, _: S) -> Option<usize> {
            let Self(column, largest) = self;
            for (part, values) in column.chunks(PART).enumerate() {
                let hits = values.iter().filter(|v| v.abs() == largest).count();
                if hits > 0 {
                    let place = values.iter().position(|v| v.abs() == largest)?;
                    return Some(part * PART + place);
                }
            }
            None
        }
    }

    Arch::new().dispatch(Find(column, largest))
}

/// Multiplies each element of `column` by `factor`.
pub(super) fn scale(column: &mut [f64], factor: f64) {
    struct Scale<'a>(&'a mut [f64], f64);

    impl WithSimd for Scale<'_> {
        type Output = ();

        #[inline(always)]
        fn with_simd<S: Simd>(self, _: S) {
            let Self(column, factor) = self;
            for value in column {
                *value *= factor;
            }
        }
    }

    Arch::new().dispatch(Scale(column, factor));
}

/// Adds `factor * column` to `sums`, and `|column|` to `magnitudes`.
pub(super) fn accumulate(sums: &mut [f64], magnitudes: &mut [f64], column: &[f64], factor: f64) {
    struct Accumulate<'a>(&'a mut [f64], &'a mut [f64], &'a [f64], f64);

    impl WithSimd for Accumulate<'_> {
        type Output = ();

        #[inline(always)]
        fn with_simd<S: Simd>(self, _: S) {
            let Self(sums, magnitudes, column, factor) = self;
            for ((sum, magnitude), value) in sums.iter_mut().zip(magnitudes).zip(column) {
                *sum += factor * value;
                *magnitude += value.abs();
            }
        }
    }

    Arch::new().dispatch(Accumulate(sums, magnitudes, column, factor));
}

/// The inverse of a unit lower triangle of at most [`LEAF`] rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Leaf {
    rows: usize,
    /// By columns. What is outside of the triangle is that of the identity.
    columns: [[f64; LEAF]; LEAF],
}

impl Leaf {
    /// Inverts the unit lower triangle of the first rows of `factors`, at most [`LEAF`] columns.
    pub(super) fn invert(factors: View<'_>) -> Self {
        let rows = factors.cols().min(LEAF);
        let mut columns = [[0.0; LEAF]; LEAF];
        for (col, inverse) in columns.iter_mut().enumerate() {
            inverse[col] = 1.0;
            for k in col..rows {
                let value = inverse[k];
                let lower = &factors.col(k)[k + 1..rows];
                for (to, lower) in inverse[k + 1..rows].iter_mut().zip(lower) {
                    *to -= lower * value;
                }
            }
        }
        Self { rows, columns }
    }

    /// Multiplies `right`, which has as many rows as the triangle, by the inverse.
    pub(super) fn apply(&self, right: &mut ViewMut<'_>) {
        struct Apply<'a, 'b>(&'a Leaf, &'a mut ViewMut<'b>);

        impl WithSimd for Apply<'_, '_> {
            type Output = ();

            #[inline(always)]
            fn with_simd<S: Simd>(self, _: S) {
                let Self(leaf, right) = self;
                for col in 0..right.cols() {
                    let x = &mut right.col_mut(col)[..leaf.rows];
                    let mut product = [0.0; LEAF];
                    if let Ok(x) = <&mut [f64; LEAF]>::try_from(&mut *x) {
                        for (column, value) in leaf.columns.iter().zip(&*x) {
                            add_multiple::<S>(&mut product, column, *value);
                        }
                        *x = product;
                    } else {
                        for (column, value) in leaf.columns.iter().zip(&*x) {
                            add_multiple::<S>(&mut product, column, *value);
                        }
                        x.copy_from_slice(&product[..leaf.rows]);
                    }
                }
            }
        }

        Arch::new().dispatch(Apply(self, right));
    }
}

#[inline(always)]
fn add_multiple<S: Simd>(to: &mut [f64; LEAF], column: &[f64; LEAF], factor: f64) {
    for (to, value) in to.iter_mut().zip(column) {
        if S::F64_LANES == 1 {
            *to += value * factor;
        } else {
            *to = value.mul_add(factor, *to);
        }
    }
}

/// Fused where the processor has it; the library's own fused operation would be a call a number.
#[inline(always)]
fn mul_add<S: Simd>(simd: S, a: S::f64s, b: S::f64s, c: S::f64s) -> S::f64s {
    if S::F64_LANES == 1 {
        simd.add_f64s(simd.mul_f64s(a, b), c)
    } else {
        simd.mul_add_f64s(a, b, c)
    }
}

/// The peak of arithmetic: operations on registers alone.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct FmaLoop {
    /// Operations in a row on each register.
    pub rounds: u32,
}

/// What [`FmaLoop`] did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FmaWork {
    /// Floating-point operations: two for each multiply-add of each number.
    pub operations: u64,
    /// Numbers in a vector.
    pub lanes: usize,
    /// A value that depends on all of them, so that none can be left out.
    pub witness: f64,
}

impl FmaLoop {
    /// Runs it.
    pub fn run(self) -> FmaWork {
        Arch::new().dispatch(self)
    }
}

impl WithSimd for FmaLoop {
    type Output = FmaWork;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> FmaWork {
        match S::F64_LANES {
            // SSE2 or nothing: the compiler makes vectors of 2 from 16 numbers on their own.
            1 => chains::<S, 16>(simd, self.rounds),
            // 16 registers in all (AVX2): 12 chains, a factor and an addend.
            4 => chains::<S, 12>(simd, self.rounds),
            // 32 registers (NEON, AVX-512): enough for four units with a latency of four cycles.
            _ => chains::<S, 20>(simd, self.rounds),
        }
    }
}

/// Runs `N` chains of multiply-adds that do not wait for each other.
#[inline(always)]
fn chains<S: Simd, const N: usize>(simd: S, rounds: u32) -> FmaWork {
    // Unknown to the compiler, and with a fixed point at 1, so that nothing overflows or gets slow.
    let factor = simd.splat_f64s(std::hint::black_box(0.999));
    let addend = simd.splat_f64s(std::hint::black_box(0.001));
    let mut chains = [simd.splat_f64s(std::hint::black_box(0.5)); N];
    for _ in 0..rounds {
        for chain in &mut chains {
            *chain = mul_add(simd, *chain, factor, addend);
        }
    }
    let mut sum = simd.splat_f64s(0.0);
    for chain in chains {
        sum = simd.add_f64s(sum, chain);
    }
    FmaWork {
        operations: u64::from(rounds) * (2 * N * S::F64_LANES) as u64,
        lanes: S::F64_LANES,
        witness: simd.reduce_sum_f64s(sum),
    }
}

/// Returns the name of the instructions that the loops use here.
pub fn instructions() -> &'static str {
    struct Lanes;

    impl WithSimd for Lanes {
        type Output = usize;

        #[inline(always)]
        fn with_simd<S: Simd>(self, _: S) -> usize {
            S::F64_LANES
        }
    }

    match Arch::new().dispatch(Lanes) {
        8 => "avx512",
        4 => "avx2",
        2 => "neon",
        _ => "scalar",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_subtracted_and_the_largest_is_told() {
        for columns in 0..=MOST_COLUMNS {
            // Not a multiple of any vector.
            let len = 37;
            let column = |k: usize| -> Vec<f64> {
                (0..len)
                    .map(|i| ((i * 7 + k * 3) % 11) as f64 - 5.0)
                    .collect()
            };
            let data: Vec<_> = (1..=columns).map(column).collect();
            let refs: Vec<&[f64]> = data.iter().map(Vec::as_slice).collect();
            let factors: Vec<f64> = (0..columns).map(|k| k as f64 - 2.0).collect();
            let mut to = column(99);
            let mut expected = to.clone();
            for (column, factor) in data.iter().zip(&factors) {
                for (to, value) in expected.iter_mut().zip(column) {
                    *to -= factor * value;
                }
            }
            let largest = subtract_columns(&mut to, &refs, &factors);
            assert_eq!(to, expected, "{columns}");
            let wanted = expected.iter().fold(0.0_f64, |max, v| max.max(v.abs()));
            assert_eq!(largest, wanted);
            let place = find_magnitude(&to, largest).unwrap();
            assert_eq!(to[place].abs(), largest);
            assert!(to[..place].iter().all(|v| v.abs() < largest));
        }
    }

    #[test]
    fn a_magnitude_that_is_not_there_is_not_found() {
        assert_eq!(find_magnitude(&[1.0, 2.0], 3.0), None);
        assert_eq!(find_magnitude(&[f64::NAN], f64::NAN), None);
        assert_eq!(find_magnitude(&[], 0.0), None);
    }

    #[test]
    fn the_loop_does_what_it_counts() {
        let work = FmaLoop { rounds: 10_000 }.run();
        // Each number of each chain has come to the fixed point, 1.
        let numbers = (work.operations / 20_000) as f64;
        assert!((work.witness - numbers).abs() < 1e-3 * numbers, "{work:?}");
        assert_ne!(instructions(), "");
    }
}
