// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Views of dense matrices, and their product.
//!
//! A matrix lies by columns: element (i, j) at `j * stride + i`. [`ViewMut`] can be split into parts that
//! share no element, which slices cannot express of a rectangle, so that a factorisation that works on
//! several parts at once needs no `unsafe` of its own. The product is that of the `gemm` crate, which picks
//! the kernel for this processor when it runs.

use std::marker::PhantomData;
use std::sync::Arc;

use gemm_f64::gemm::f64::get_gemm_fn;

use crate::pages::Pages;

/// A matrix that is read.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    data: *const f64,
    rows: usize,
    cols: usize,
    stride: usize,
    lifetime: PhantomData<&'a [f64]>,
}

/// A matrix that is written.
#[derive(Debug)]
pub struct ViewMut<'a> {
    data: *mut f64,
    rows: usize,
    cols: usize,
    stride: usize,
    lifetime: PhantomData<&'a mut [f64]>,
}

// SAFETY: a view is a shared borrow of plain numbers.
unsafe impl Send for View<'_> {}
// SAFETY: as above.
unsafe impl Sync for View<'_> {}
// SAFETY: a mutable view is the only borrow of its elements, which are plain numbers.
unsafe impl Send for ViewMut<'_> {}
// SAFETY: through a shared reference its elements can only be read.
unsafe impl Sync for ViewMut<'_> {}

/// Whether a matrix of this shape lies within `len` elements.
fn fits(len: usize, rows: usize, cols: usize, stride: usize) -> bool {
    let last = cols.saturating_sub(1).checked_mul(stride);
    let end = last.and_then(|last| last.checked_add(rows));
    stride >= rows && end.is_some_and(|end| end <= len) && isize::try_from(stride).is_ok()
}

impl<'a> View<'a> {
    /// Views `data` as a matrix; `None` where it does not lie within `data`, or columns overlap.
    pub fn new(data: &'a [f64], rows: usize, cols: usize, stride: usize) -> Option<Self> {
        fits(data.len(), rows, cols, stride).then_some(Self {
            data: data.as_ptr(),
            rows,
            cols,
            stride,
            lifetime: PhantomData,
        })
    }

    /// Returns the number of rows.
    pub const fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the number of columns.
    pub const fn cols(&self) -> usize {
        self.cols
    }

    /// Returns column `col`.
    ///
    /// # Panics
    ///
    /// If there is no such column.
    pub fn col(&self, col: usize) -> &'a [f64] {
        assert!(col < self.cols, "column {col} of {}", self.cols);
        let first = self.data.wrapping_add(col * self.stride);
        // SAFETY: the column lies within what `new` or a split has checked, borrowed for `'a`.
        unsafe { std::slice::from_raw_parts(first, self.rows) }
    }

    /// Returns the part from (`row`, `col`) on, of `rows` and `cols`.
    ///
    /// # Panics
    ///
    /// If it is not within this matrix.
    #[must_use]
    pub fn part(&self, row: usize, col: usize, rows: usize, cols: usize) -> Self {
        assert!(row <= self.rows && rows <= self.rows - row, "rows");
        assert!(col <= self.cols && cols <= self.cols - col, "columns");
        Self {
            data: self.data.wrapping_add(col * self.stride + row),
            rows,
            cols,
            ..*self
        }
    }
}

impl<'a> ViewMut<'a> {
    /// Views `data` as a matrix; `None` where it does not lie within `data`, or columns overlap.
    pub fn new(data: &'a mut [f64], rows: usize, cols: usize, stride: usize) -> Option<Self> {
        fits(data.len(), rows, cols, stride).then_some(Self {
            data: data.as_mut_ptr(),
            rows,
            cols,
            stride,
            lifetime: PhantomData,
        })
    }

    /// Returns the number of rows.
    pub const fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the number of columns.
    pub const fn cols(&self) -> usize {
        self.cols
    }

    /// Lends the matrix for a shorter time.
    pub const fn reborrow(&mut self) -> ViewMut<'_> {
        ViewMut {
            lifetime: PhantomData,
            ..*self
        }
    }

    /// Views it for reading.
    pub const fn as_view(&self) -> View<'_> {
        View {
            data: self.data,
            rows: self.rows,
            cols: self.cols,
            stride: self.stride,
            lifetime: PhantomData,
        }
    }

    /// Gives up writing: from now on it can be read by many.
    pub const fn freeze(self) -> View<'a> {
        View {
            data: self.data,
            rows: self.rows,
            cols: self.cols,
            stride: self.stride,
            lifetime: PhantomData,
        }
    }

    /// Returns column `col`.
    ///
    /// # Panics
    ///
    /// If there is no such column.
    pub fn col(&self, col: usize) -> &[f64] {
        self.as_view().col(col)
    }

    /// Returns column `col`.
    ///
    /// # Panics
    ///
    /// If there is no such column.
    pub fn col_mut(&mut self, col: usize) -> &mut [f64] {
        assert!(col < self.cols, "column {col} of {}", self.cols);
        let first = self.data.wrapping_add(col * self.stride);
        // SAFETY: the column lies within what `new` or a split has checked; the result borrows `self`
        // mutably, so nothing else reaches the column meanwhile.
        unsafe { std::slice::from_raw_parts_mut(first, self.rows) }
    }

    /// Splits before row `row` into the rows above and the rest.
    ///
    /// # Panics
    ///
    /// If there are fewer rows.
    pub fn split_rows(self, row: usize) -> (Self, Self) {
        assert!(row <= self.rows, "row {row} of {}", self.rows);
        let below = Self {
            data: self.data.wrapping_add(row),
            rows: self.rows - row,
            ..self
        };
        (Self { rows: row, ..self }, below)
    }

    /// Splits before column `col` into the columns to its left and the rest.
    ///
    /// # Panics
    ///
    /// If there are fewer columns.
    pub fn split_cols(self, col: usize) -> (Self, Self) {
        assert!(col <= self.cols, "column {col} of {}", self.cols);
        let right = Self {
            data: self.data.wrapping_add(col * self.stride),
            cols: self.cols - col,
            ..self
        };
        (Self { cols: col, ..self }, right)
    }
}

/// A matrix that owns its memory, together with the other parts of the same one.
///
/// As [`ViewMut`] for threads that outlive the function that splits: each part can go its own way.
#[derive(Debug)]
pub struct Tile {
    /// Nothing goes through it while there are tiles: it keeps the memory alive.
    memory: Arc<Pages<f64>>,
    data: *mut f64,
    rows: usize,
    cols: usize,
    stride: usize,
}

// SAFETY: a tile is the only way to its elements, which are plain numbers; the memory it shares with other
// tiles is only kept by it.
unsafe impl Send for Tile {}
// SAFETY: through a shared reference its elements can only be read.
unsafe impl Sync for Tile {}

impl Tile {
    /// Makes a matrix of `memory`; `None` where it does not lie within it, or columns overlap.
    pub fn new(mut memory: Pages<f64>, rows: usize, cols: usize, stride: usize) -> Option<Self> {
        let data = memory.as_mut_ptr();
        fits(memory.len(), rows, cols, stride).then(|| Self {
            memory: Arc::new(memory),
            data,
            rows,
            cols,
            stride,
        })
    }

    /// Returns the number of columns.
    pub const fn cols(&self) -> usize {
        self.cols
    }

    /// Splits before column `col` into the columns to its left and the rest.
    ///
    /// # Panics
    ///
    /// If there are fewer columns.
    pub fn split_cols(self, col: usize) -> (Self, Self) {
        assert!(col <= self.cols, "column {col} of {}", self.cols);
        let right = Self {
            memory: Arc::clone(&self.memory),
            data: self.data.wrapping_add(col * self.stride),
            cols: self.cols - col,
            ..self
        };
        (Self { cols: col, ..self }, right)
    }

    /// Views it for reading.
    pub const fn view(&self) -> View<'_> {
        View {
            data: self.data,
            rows: self.rows,
            cols: self.cols,
            stride: self.stride,
            lifetime: PhantomData,
        }
    }

    /// Views it for writing.
    pub const fn view_mut(&mut self) -> ViewMut<'_> {
        ViewMut {
            data: self.data,
            rows: self.rows,
            cols: self.cols,
            stride: self.stride,
            lifetime: PhantomData,
        }
    }

    /// Returns the memory, if this is the last tile of it.
    pub fn into_memory(self) -> Option<Pages<f64>> {
        Arc::into_inner(self.memory)
    }
}

/// Whether the product can run on this processor.
///
/// The `gemm` crate chooses by one feature and its kernel then needs others that came with it in all but a
/// few processors: without them it would end the program.
pub fn product_is_supported() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::is_x86_feature_detected as has;
        // x86-64-v3 and -v4 of the psABI, table 3.1, as far as the kernels use them.
        let v3 = has!("avx2") && has!("bmi1") && has!("bmi2") && has!("fma") && has!("lzcnt");
        let parts = has!("avx512bw") && has!("avx512cd") && has!("avx512dq") && has!("avx512vl");
        if has!("avx512f") {
            return v3 && parts;
        }
        !has!("fma") || v3
    }
    #[cfg(not(target_arch = "x86_64"))]
    true
}

/// Computes `c -= a * b`, on the calling thread.
///
/// # Panics
///
/// If the shapes do not match.
pub fn subtract_product(c: &mut ViewMut<'_>, a: View<'_>, b: View<'_>) {
    multiply(c, a, b, -1.0, true);
}

/// Computes `c = a * b`, on the calling thread.
///
/// # Panics
///
/// If the shapes do not match.
pub fn set_product(c: &mut ViewMut<'_>, a: View<'_>, b: View<'_>) {
    multiply(c, a, b, 1.0, false);
}

fn multiply(c: &mut ViewMut<'_>, a: View<'_>, b: View<'_>, factor: f64, add: bool) {
    assert!(
        a.rows == c.rows && b.cols == c.cols && a.cols == b.rows,
        "shapes of a product: {}x{} of {}x{} and {}x{}",
        c.rows,
        c.cols,
        a.rows,
        a.cols,
        b.rows,
        b.cols
    );
    let gemm = get_gemm_fn();
    // SAFETY: each matrix lies within memory that its view borrows, with rows one apart and columns a
    // stride apart, and strides fit an isize by `fits`. `c` is borrowed mutably, so neither `a` nor `b`
    // shares an element with it. Nothing is read of `c` unless `add`, but it is initialised anyway.
    unsafe {
        gemm(
            c.rows,
            c.cols,
            a.cols,
            c.data,
            c.stride.cast_signed(),
            1,
            add,
            a.data,
            a.stride.cast_signed(),
            1,
            b.data,
            b.stride.cast_signed(),
            1,
            1.0,
            factor,
            false,
            false,
            false,
            gemm_common::Parallelism::None,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::HugePages;

    #[test]
    fn a_view_outside_its_data_is_refused() {
        let data = [0.0; 10];
        assert!(View::new(&data, 2, 5, 2).is_some());
        assert!(View::new(&data, 2, 4, 3).is_none());
        assert!(View::new(&data, 1, 4, 3).is_some());
        assert!(View::new(&data, 3, 2, 2).is_none(), "columns would overlap");
        assert!(View::new(&data, 1, usize::MAX, 3).is_none());
    }

    #[test]
    fn the_parts_of_a_split_are_apart_and_where_they_were() {
        let mut data: Vec<f64> = (0..20_u32).map(f64::from).collect();
        let whole = ViewMut::new(&mut data, 4, 4, 5).unwrap();
        let (mut left, right) = whole.split_cols(1);
        let (top, mut bottom) = right.split_rows(3);
        left.col_mut(0)[2] = -1.0;
        bottom.col_mut(2)[0] = -2.0;
        assert_eq!(top.col(2), [15.0, 16.0, 17.0]);
        assert_eq!((bottom.rows(), bottom.cols()), (1, 3));
        assert_eq!((data[2], data[18]), (-1.0, -2.0));
    }

    #[test]
    fn the_product_is_that_of_the_definition() {
        // Odd shapes, so that every tail of the kernel is used.
        for (m, n, k) in [(1, 1, 1), (7, 3, 5), (67, 70, 129), (130, 33, 2)] {
            let number = |seed: usize| move |i: usize| ((i * 37 + seed) % 19) as f64 - 9.0;
            let a: Vec<f64> = (0..m * k).map(number(1)).collect();
            let b: Vec<f64> = (0..k * n).map(number(2)).collect();
            let mut c: Vec<f64> = (0..m * n).map(number(3)).collect();
            let mut expected = c.clone();
            for j in 0..n {
                for i in 0..m {
                    let sum: f64 = (0..k).map(|l| a[l * m + i] * b[j * k + l]).sum();
                    expected[j * m + i] -= sum;
                }
            }
            let view = |data, rows, cols| View::new(data, rows, cols, rows).unwrap();
            let (a, b) = (view(&a, m, k), view(&b, k, n));
            subtract_product(&mut ViewMut::new(&mut c, m, n, m).unwrap(), a, b);
            // Whole numbers: exact in any order.
            assert_eq!(c, expected, "{m} {n} {k}");
            set_product(&mut ViewMut::new(&mut c, m, n, m).unwrap(), a, b);
            let sum: f64 = (0..k).map(|l| a.col(l)[0] * b.col(0)[l]).sum();
            assert_eq!(c[0], sum, "{m} {n} {k}");
        }
    }

    #[test]
    fn tiles_are_apart_and_the_last_returns_the_memory() {
        let memory = Pages::map(4 * 6, HugePages::Leave).unwrap();
        let tile = Tile::new(memory, 3, 6, 4).unwrap();
        let (mut left, right) = tile.split_cols(2);
        let writer = std::thread::spawn(move || {
            let mut right = right;
            right.view_mut().col_mut(3).fill(2.0);
            assert!(right.into_memory().is_none());
        });
        left.view_mut().col_mut(1).fill(1.0);
        assert_eq!(left.view().col(1), [1.0; 3]);
        writer.join().unwrap();
        let memory = left.into_memory().unwrap();
        assert_eq!(memory[4..8], [1.0, 1.0, 1.0, 0.0]);
        assert_eq!(memory[20..], [2.0, 2.0, 2.0, 0.0]);
    }

    #[test]
    #[should_panic(expected = "shapes of a product")]
    fn shapes_that_do_not_match_are_a_defect() {
        let data = [0.0; 4];
        let mut out = [0.0; 4];
        let view = View::new(&data, 2, 2, 2).unwrap();
        let mut c = ViewMut::new(&mut out, 1, 2, 1).unwrap();
        subtract_product(&mut c, view, view);
    }
}
