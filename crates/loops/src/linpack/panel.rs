// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Factorisation of one panel: a few columns, all rows from the diagonal on.
//!
//! It is recursive (Toledo, "Locality of reference in LU decomposition with partial pivoting", SIAM J. Matrix
//! Anal. Appl. 18, 1997): the left half, then the right half brought up to date by one product, then the right
//! half. So most of a panel's work is matrix products too.

use std::collections::BTreeMap;

use punctual_sys::dense::{View, ViewMut, subtract_product};

use super::kernel::{self, LEAF, Leaf, MOST_COLUMNS};

/// A column has no pivot: the matrix is singular, or has numbers that are none.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct NoPivot;

/// What else there is to know of a factorised panel.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Factored {
    /// Row `k` was swapped with row `pivots[k]`, in order; counted from the panel's first row.
    pub(super) pivots: Vec<usize>,
    /// The inverse of each square of [`LEAF`] columns on the diagonal of the lower factor.
    leaves: Vec<Leaf>,
}

/// Factorises `panel` in place: unit lower trapezoid below the diagonal, upper triangle above it.
///
/// The panel must have at least as many rows as columns.
pub(super) fn factor(panel: &mut ViewMut<'_>) -> Result<Factored, NoPivot> {
    let mut factored = Factored {
        pivots: Vec::with_capacity(panel.cols()),
        leaves: Vec::with_capacity(panel.cols().div_ceil(LEAF)),
    };
    factor_part(panel, &mut factored)?;
    Ok(factored)
}

/// Appends what there is to know of `panel` to `factored`, its pivots counted from its own first row.
fn factor_part(panel: &mut ViewMut<'_>, factored: &mut Factored) -> Result<(), NoPivot> {
    let cols = panel.cols();
    if cols <= LEAF {
        return factor_leaf(panel, factored);
    }
    let half = split(cols);
    let (pivots, leaves) = (factored.pivots.len(), factored.leaves.len());
    let (mut left, mut right) = panel.reborrow().split_cols(half);
    factor_part(&mut left, factored)?;
    swap_rows(&mut right, &factored.pivots[pivots..]);
    let (left_top, mut left_bottom) = left.split_rows(half);
    let (mut right_top, mut right_bottom) = right.split_rows(half);
    let lower = left_top.as_view();
    solve_unit_lower(lower, &factored.leaves[leaves..], &mut right_top);
    subtract_product(
        &mut right_bottom,
        left_bottom.as_view(),
        right_top.as_view(),
    );
    factor_part(&mut right_bottom, factored)?;
    let right_pivots = &mut factored.pivots[pivots + half..];
    swap_rows(&mut left_bottom, right_pivots);
    for pivot in right_pivots {
        *pivot += half;
    }
    Ok(())
}

/// Halves `n`, at a whole number of leaves.
const fn split(n: usize) -> usize {
    (n / 2).next_multiple_of(LEAF)
}

/// As [`factor_part`], column by column; each is brought up to date when its turn comes.
fn factor_leaf(panel: &mut ViewMut<'_>, factored: &mut Factored) -> Result<(), NoPivot> {
    for col in 0..panel.cols() {
        let (left, mut right) = panel.reborrow().split_cols(col);
        let left = left.freeze();
        let column = right.col_mut(0);
        // The rows of the upper triangle first: each needs the one above it.
        let mut factors = [0.0; LEAF];
        for row in 0..col {
            let sum: f64 = (0..row).map(|k| left.col(k)[row] * factors[k]).sum();
            factors[row] = column[row] - sum;
            column[row] = factors[row];
        }
        let below = left.part(col, 0, left.rows() - col, col);
        let column = &mut column[col..];
        let mut largest = kernel::subtract_columns(column, &[], &[]);
        for first in (0..col).step_by(MOST_COLUMNS) {
            let mut columns: [&[f64]; MOST_COLUMNS] = [&[]; MOST_COLUMNS];
            let taken = MOST_COLUMNS.min(col - first);
            for (k, slot) in columns.iter_mut().take(taken).enumerate() {
                *slot = below.col(first + k);
            }
            let factors = &factors[first..first + taken];
            largest = kernel::subtract_columns(column, &columns[..taken], factors);
        }
        let place = kernel::find_magnitude(column, largest).ok_or(NoPivot)?;
        let value = column[place];
        if value == 0.0 || !value.is_finite() {
            return Err(NoPivot);
        }
        factored.pivots.push(col + place);
        for other in 0..panel.cols() {
            panel.col_mut(other).swap(col, col + place);
        }
        // The reciprocal of the smallest numbers overflows. The residual would tell.
        kernel::scale(&mut panel.col_mut(col)[col + 1..], 1.0 / value);
    }
    factored.leaves.push(Leaf::invert(panel.as_view()));
    Ok(())
}

/// Swaps row `k` with row `pivots[k]`, in order.
fn swap_rows(of: &mut ViewMut<'_>, pivots: &[usize]) {
    for col in 0..of.cols() {
        let column = of.col_mut(col);
        for (row, pivot) in pivots.iter().enumerate() {
            column.swap(row, *pivot);
        }
    }
}

/// Solves `lower * x = right` in place, where `lower` has ones on its diagonal; what is above it is not read.
fn solve_unit_lower(lower: View<'_>, leaves: &[Leaf], right: &mut ViewMut<'_>) {
    let rows = lower.rows();
    if rows <= LEAF {
        if let Some(leaf) = leaves.first() {
            leaf.apply(right);
        }
        return;
    }
    let half = split(rows);
    let (upper_leaves, lower_leaves) = leaves.split_at((half / LEAF).min(leaves.len()));
    let (mut top, mut bottom) = right.reborrow().split_rows(half);
    solve_unit_lower(lower.part(0, 0, half, half), upper_leaves, &mut top);
    let below = lower.part(half, 0, rows - half, half);
    subtract_product(&mut bottom, below, top.as_view());
    let rest = lower.part(half, half, rows - half, rows - half);
    solve_unit_lower(rest, lower_leaves, &mut bottom);
}

/// The rows that change places, each with where it comes from; all at once, unlike swaps.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Moves {
    to: Vec<usize>,
    from: Vec<usize>,
}

impl Factored {
    /// Returns where each row comes from after all swaps.
    pub(super) fn moves(&self) -> Moves {
        let mut places = BTreeMap::new();
        for (row, pivot) in self.pivots.iter().enumerate() {
            let (a, b) = (
                places.get(&row).copied().unwrap_or(row),
                places.get(pivot).copied().unwrap_or(*pivot),
            );
            places.insert(row, b);
            places.insert(*pivot, a);
        }
        let moved = places.into_iter().filter(|(to, from)| to != from);
        let (to, from) = moved.unzip();
        Moves { to, from }
    }

    /// Brings columns to the right up to date with this panel, `factors`; both start at its first row.
    pub(super) fn take_in(&self, factors: View<'_>, moves: &Moves, right: &mut ViewMut<'_>) {
        moves.apply(right);
        let width = factors.cols();
        let (mut top, mut bottom) = right.reborrow().split_rows(width);
        solve_unit_lower(factors.part(0, 0, width, width), &self.leaves, &mut top);
        let lower = factors.part(width, 0, factors.rows() - width, width);
        subtract_product(&mut bottom, lower, top.as_view());
    }
}

impl Moves {
    /// Moves the rows of `of`, column after column, so that each column is in the cache; all reads of a column
    /// come before its writes, so that they need not wait for each other.
    fn apply(&self, of: &mut ViewMut<'_>) {
        let mut taken = vec![0.0; self.from.len()];
        for col in 0..of.cols() {
            let column = of.col_mut(col);
            for (taken, from) in taken.iter_mut().zip(&self.from) {
                *taken = column[*from];
            }
            for (taken, to) in taken.iter().zip(&self.to) {
                column[*to] = *taken;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moves_do_what_the_swaps_in_order_do() {
        let pivots = vec![3, 1, 3, 9, 8, 5, 9];
        let factored = Factored {
            pivots: pivots.clone(),
            leaves: Vec::new(),
        };
        let mut swapped: Vec<f64> = (0..20_u32).map(f64::from).collect();
        let mut moved = swapped.clone();
        swap_rows(&mut ViewMut::new(&mut swapped, 10, 2, 10).unwrap(), &pivots);
        let mut view = ViewMut::new(&mut moved, 10, 2, 10).unwrap();
        factored.moves().apply(&mut view);
        assert_eq!(moved, swapped);
    }

    /// Multiplies the factors of `panel` and undoes the swaps.
    fn product(panel: View<'_>, pivots: &[usize]) -> Vec<f64> {
        let (rows, cols) = (panel.rows(), panel.cols());
        let mut data = vec![0.0; rows * cols];
        for col in 0..cols {
            for row in 0..rows {
                let lower = |k: usize| if k == row { 1.0 } else { panel.col(k)[row] };
                let terms = (0..=row.min(col)).map(|k| lower(k) * panel.col(col)[k]);
                data[col * rows + row] = terms.sum();
            }
            for (row, pivot) in pivots.iter().enumerate().rev() {
                data.swap(col * rows + row, col * rows + pivot);
            }
        }
        data
    }

    #[test]
    fn the_factors_of_a_panel_make_the_panel() {
        // Below, at and above a leaf, a half, and with odd rests.
        for (rows, cols) in [(1, 1), (40, 7), (16, 16), (50, 17), (90, 40), (131, 131)] {
            let number = |i: usize| ((i * 7_919 + 13) % 1_009) as f64 / 1_009.0 - 0.5;
            let data: Vec<f64> = (0..rows * cols).map(number).collect();
            let mut factors = data.clone();
            let mut panel = ViewMut::new(&mut factors, rows, cols, rows).unwrap();
            let factored = factor(&mut panel).unwrap();
            for col in 0..cols {
                let lower = &panel.col(col)[col + 1..];
                assert!(
                    lower.iter().all(|l| l.abs() <= 1.0),
                    "not the largest pivot"
                );
            }
            let made = product(panel.as_view(), &factored.pivots);
            for (made, given) in made.iter().zip(&data) {
                assert!((made - given).abs() < 1e-12, "{rows}x{cols}");
            }
        }
    }

    #[test]
    fn a_panel_without_a_pivot_is_told() {
        let mut zero = vec![0.0; 100];
        let mut panel = ViewMut::new(&mut zero, 20, 5, 20).unwrap();
        assert_eq!(factor(&mut panel), Err(NoPivot));
        // Powers of two, so that the second column becomes exactly zero.
        let column = (0..20).map(|row| f64::from(1 << row));
        let mut twice: Vec<f64> = column.clone().chain(column).collect();
        let mut panel = ViewMut::new(&mut twice, 20, 2, 20).unwrap();
        assert_eq!(factor(&mut panel), Err(NoPivot));
    }
}
