// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Blocked right-looking LU factorisation with partial pivoting, by as many threads as come.
//!
//! The matrix is cut into strips of columns, and from the left panels of some columns are factorised.
//! What can be done next follows from two counts: how many panels there are, and how many of them each strip
//! has taken in. A thread takes the next panel if it is ready, since everything waits for it, else the strip
//! that is furthest behind. So the next panel is made while the others still take in the last one, and no
//! thread ever waits for all.
//!
//! The right-hand side is a strip of its own, which makes the forward substitution part of the factorisation.
//! Rows are swapped only to the right of a panel: those to its left are not read again.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};

use punctual_sys::dense::{Tile, View};
use punctual_sys::pages::Pages;

use super::kernel::{MOST_COLUMNS, subtract_columns};
use super::panel::{self, Factored, Moves};
use super::system::System;

/// Columns of a panel, at most: what a product needs to be as fast as it gets.
const WIDEST: usize = 256;

/// Columns of a panel, at least.
const NARROWEST: usize = 32;

/// Panels in a strip, at most: the wider, the less often the product rearranges a panel for itself.
const STRIP: usize = 4;

/// Why there is no solution.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Unsolved {
    /// The matrix is singular, or has numbers that are none.
    Singular,
    /// The end was asked for.
    Stopped,
}

/// What a factorisation tells others while it goes on, and what they tell it.
#[derive(Clone, Copy, Debug)]
pub struct Meter<'a> {
    /// Set by others: ends the work after the task at hand.
    pub stop: &'a AtomicBool,
    /// Floating-point operations done.
    pub operations: &'a AtomicU64,
}

/// A system of equations on the way to its solution.
#[derive(Debug)]
pub struct Factorisation {
    system: System,
    threads: usize,
    /// Columns of a panel.
    width: usize,
    board: Mutex<Board>,
    changed: Condvar,
    /// The next strip to be filled.
    unfilled: AtomicUsize,
    /// The panels that are done, in order.
    panels: Vec<OnceLock<Panel>>,
    /// Whether a thread has taken on to solve for the unknowns.
    taken: AtomicBool,
    solution: OnceLock<Result<Vec<f64>, Unsolved>>,
}

/// What is to be done.
#[derive(Debug)]
struct Board {
    /// From left to right. The last one is the right-hand side.
    strips: Vec<Strip>,
    /// Panels that are done.
    factored: usize,
    /// Panels that there are.
    panels: usize,
    /// Columns of a panel.
    width: usize,
    failed: Option<Unsolved>,
}

/// Columns that are no panel yet.
#[derive(Debug)]
struct Strip {
    /// The column of the matrix that it starts at.
    first: usize,
    /// How many panels it has taken in.
    applied: usize,
    /// Missing while a thread works on it.
    tile: Option<Tile>,
}

impl Strip {
    const fn new(first: usize, tile: Tile) -> Self {
        Self {
            first,
            applied: 0,
            tile: Some(tile),
        }
    }
}

/// Columns that are factorised; from here on they are only read.
#[derive(Debug)]
struct Panel {
    /// All rows of the matrix.
    tile: Tile,
    /// The row of the matrix that the panel's diagonal starts at.
    first: usize,
    /// What else there is to know of it, counted from that row.
    factored: Factored,
    moves: Moves,
}

/// What one thread does next.
enum Task {
    Factor(usize, Tile),
    TakeIn(usize, Tile, usize),
}

impl Factorisation {
    /// Lays `system` out in `memory` for `threads` threads; `None` where it is too small. Nothing is filled yet.
    pub fn new(memory: Pages<f64>, system: System, threads: usize) -> Option<Self> {
        let width = panel_width(system.order, threads);
        let panels = system.order.div_ceil(width);
        let mut strips = Vec::new();
        let mut rest = system.lay_out(memory)?;
        let mut first = 0;
        while first < system.order {
            let cols = (STRIP * width).min(system.order - first);
            let (tile, right) = rest.split_cols(cols);
            strips.push(Strip::new(first, tile));
            rest = right;
            first += cols;
        }
        strips.push(Strip::new(first, rest));
        Some(Self {
            system,
            threads,
            width,
            board: Mutex::new(Board {
                strips,
                factored: 0,
                panels,
                width,
                failed: None,
            }),
            changed: Condvar::new(),
            unfilled: AtomicUsize::new(0),
            panels: (0..panels).map(|_| OnceLock::new()).collect(),
            taken: AtomicBool::new(false),
            solution: OnceLock::new(),
        })
    }

    /// Writes the equations. Called by each thread of the team, before any of them works.
    ///
    /// Each strip is filled, and so first touched, by one thread: its memory comes from that thread's node.
    pub fn fill(&self, meter: Meter<'_>) {
        loop {
            let at = self.unfilled.fetch_add(1, Ordering::Relaxed);
            let taken = |strip: &mut Strip| Some((strip.first, strip.tile.take()?));
            let Some((first, mut tile)) = self.lock().strips.get_mut(at).and_then(taken) else {
                return;
            };
            let mut view = tile.view_mut();
            for col in 0..view.cols() {
                if meter.stop.load(Ordering::Relaxed) {
                    break;
                }
                self.system.fill_column(first + col, view.col_mut(col));
            }
            if let Some(strip) = self.lock().strips.get_mut(at) {
                strip.tile = Some(tile);
            }
        }
    }

    /// Works until all is done, or cannot be. Called by each thread of the team.
    pub fn work(&self, meter: Meter<'_>) {
        let _alarm = Alarm(self);
        while let Some(task) = self.next_task(meter) {
            let done = match task {
                Task::Factor(first, tile) => self.factor(first, tile),
                Task::TakeIn(first, tile, applied) => self.take_in(first, tile, applied),
            };
            meter.operations.fetch_add(done, Ordering::Relaxed);
        }
    }

    /// Works, and has the thread that finds all done first solve for the unknowns. Called by each thread of the
    /// team.
    pub fn solve_together(&self, meter: Meter<'_>) {
        self.work(meter);
        if !self.taken.swap(true, Ordering::Relaxed) {
            let solution = self.solve(meter);
            // Only this thread ever gets here.
            drop(self.solution.set(solution));
        }
    }

    /// Returns what [`Factorisation::solve_together`] found, once it has returned in each thread.
    pub fn solution(&self) -> Result<Vec<f64>, Unsolved> {
        self.solution
            .get()
            .cloned()
            .unwrap_or(Err(Unsolved::Stopped))
    }

    /// Returns the solution, once [`Factorisation::work`] has returned in this thread.
    pub fn solve(&self, meter: Meter<'_>) -> Result<Vec<f64>, Unsolved> {
        let board = self.lock();
        if let Some(failed) = board.failed {
            return Err(failed);
        }
        let right = board.strips.last().and_then(|strip| strip.tile.as_ref());
        let mut x = right.map_or_else(Vec::new, |tile| tile.view().col(0).to_vec());
        for panel in self.panels.iter().rev() {
            let panel = panel.get().ok_or(Unsolved::Stopped)?;
            solve_upper(panel.tile.view(), panel.first, &mut x);
        }
        let done = (x.len() as u64).pow(2);
        meter.operations.fetch_add(done, Ordering::Relaxed);
        Ok(x)
    }

    /// Gives the memory back. What it holds is the factors, or what was made of them.
    pub fn into_memory(self) -> Option<Pages<f64>> {
        let board = self
            .board
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let strips = board.strips.into_iter().filter_map(|strip| strip.tile);
        let panels = self.panels.into_iter().filter_map(OnceLock::into_inner);
        let tiles = panels.map(|panel| panel.tile).chain(strips);
        tiles.fold(None, |_, tile| tile.into_memory())
    }

    fn lock(&self) -> MutexGuard<'_, Board> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next_task(&self, meter: Meter<'_>) -> Option<Task> {
        let mut board = self.lock();
        loop {
            if meter.stop.load(Ordering::Relaxed) && board.failed.is_none() {
                board.failed = Some(Unsolved::Stopped);
                self.changed.notify_all();
            }
            if board.failed.is_some() || board.is_done() {
                return None;
            }
            if let Some(task) = board.take(self.threads) {
                return Some(task);
            }
            board = self
                .changed
                .wait(board)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Factorises a panel; returns the operations done.
    fn factor(&self, first: usize, mut tile: Tile) -> u64 {
        let (_, mut below) = tile.view_mut().split_rows(first);
        let (rows, cols) = (below.rows() as u64, below.cols() as u64);
        let result = panel::factor(&mut below);
        let failed = result.is_err();
        if let (Ok(factored), Some(slot)) = (result, self.panels.get(first / self.width)) {
            let panel = Panel {
                tile,
                first,
                moves: factored.moves(),
                factored,
            };
            // Only one thread ever gets this panel, so it is not set yet.
            drop(slot.set(panel));
        }
        let mut board = self.lock();
        if failed {
            board.failed = Some(Unsolved::Singular);
        } else {
            board.factored += 1;
        }
        drop(board);
        self.changed.notify_all();
        rows * cols * cols - cols * cols * cols / 3
    }

    /// Brings a strip up to date with one more panel; returns the operations done.
    fn take_in(&self, first: usize, mut tile: Tile, applied: usize) -> u64 {
        let panel = self.panels.get(applied).and_then(OnceLock::get);
        let done = panel.map_or(0, |panel| panel.bring_up_to_date(&mut tile));
        let mut board = self.lock();
        let strip = board.strips.iter_mut().find(|strip| strip.first == first);
        if let Some(strip) = strip {
            strip.tile = Some(tile);
            strip.applied += 1;
        }
        drop(board);
        self.changed.notify_all();
        done
    }
}

/// Sends the other threads home if this one panics: it has taken a part of the matrix with it.
struct Alarm<'a>(&'a Factorisation);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.lock().failed = Some(Unsolved::Stopped);
            self.0.changed.notify_all();
        }
    }
}

impl Board {
    /// Whether the right-hand side has taken in every panel.
    fn is_done(&self) -> bool {
        let right = self.strips.last();
        right.is_some_and(|strip| strip.tile.is_some() && strip.applied == self.panels)
    }

    /// Takes the most urgent task that can be done now.
    fn take(&mut self, threads: usize) -> Option<Task> {
        let next = self.factored;
        let first = next * self.width;
        // The next panel first, then whatever is furthest behind.
        let ready = |strip: &Strip| {
            let panel = strip.first == first && next < self.panels && strip.applied == next;
            strip.tile.is_some() && (panel || strip.applied < next)
        };
        let urgent = |(_, strip): &(usize, &Strip)| (strip.first != first, strip.applied);
        let strips = self.strips.iter().enumerate();
        let (at, _) = strips.filter(|(_, s)| ready(s)).min_by_key(urgent)?;
        let is_panel = self.strips.get(at)?.first == first && next < self.panels;
        let width = if is_panel {
            self.width
        } else {
            self.strip_width(threads)
        };
        self.narrow(at, width);
        let strip = self.strips.get_mut(at)?;
        let tile = strip.tile.take()?;
        if strip.applied < next {
            return Some(Task::TakeIn(strip.first, tile, strip.applied));
        }
        self.strips.remove(at);
        Some(Task::Factor(first, tile))
    }

    /// Returns how wide a strip should be: wide, but with several left for each thread.
    fn strip_width(&self, threads: usize) -> usize {
        let left = self.panels - self.factored.min(self.panels);
        self.width * (left / (2 * threads.max(1))).clamp(1, STRIP)
    }

    /// Cuts what is beyond `width` off the strip at `at`.
    fn narrow(&mut self, at: usize, width: usize) {
        let Some(strip) = self.strips.get_mut(at) else {
            return;
        };
        let Some(tile) = strip.tile.take_if(|tile| tile.cols() > width) else {
            return;
        };
        let (left, right) = tile.split_cols(width);
        strip.tile = Some(left);
        let rest = Strip {
            first: strip.first + width,
            applied: strip.applied,
            tile: Some(right),
        };
        self.strips.insert(at + 1, rest);
    }
}

/// Chooses the columns of a panel: few enough that all threads find work while one makes the next.
fn panel_width(order: usize, threads: usize) -> usize {
    let wanted = order / (5 * threads.max(1));
    wanted.next_multiple_of(NARROWEST).clamp(NARROWEST, WIDEST)
}

impl Panel {
    /// Brings a strip up to date; returns the operations done.
    fn bring_up_to_date(&self, strip: &mut Tile) -> u64 {
        let factors = self.tile.view();
        let (rows, width) = (factors.rows() - self.first, factors.cols());
        let factors = factors.part(self.first, 0, rows, width);
        let (_, mut below) = strip.view_mut().split_rows(self.first);
        self.factored.take_in(factors, &self.moves, &mut below);
        let (rows, width, cols) = (rows as u64, width as u64, strip.cols() as u64);
        2 * (rows - width) * width * cols + width * width * cols
    }
}

/// Solves for the unknowns of one panel and takes them out of the equations above it.
fn solve_upper(panel: View<'_>, first: usize, x: &mut [f64]) {
    let width = panel.cols();
    for col in (0..width).rev() {
        let column = panel.col(col);
        let row = first + col;
        x[row] /= column[row];
        let value = x[row];
        for (x, u) in x[first..row].iter_mut().zip(&column[first..row]) {
            *x -= u * value;
        }
    }
    let (above, solved) = x.split_at_mut(first);
    let columns: Vec<&[f64]> = (0..width).map(|col| &panel.col(col)[..first]).collect();
    let parts = columns.chunks(MOST_COLUMNS);
    for (columns, values) in parts.zip(solved[..width].chunks(MOST_COLUMNS)) {
        subtract_columns(above, columns, values);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linpack::system::RESIDUAL_LIMIT;
    use punctual_sys::pages::HugePages;

    /// What a [`Meter`] refers to.
    #[derive(Default)]
    struct Dials {
        stop: AtomicBool,
        operations: AtomicU64,
    }

    impl Dials {
        const fn meter(&self) -> Meter<'_> {
            Meter {
                stop: &self.stop,
                operations: &self.operations,
            }
        }
    }

    fn prepare(order: usize, threads: usize) -> Factorisation {
        let system = System { order, seed: 5 };
        let memory = Pages::map(system.numbers().unwrap(), HugePages::Leave).unwrap();
        Factorisation::new(memory, system, threads).unwrap()
    }

    /// Fills, lets `change` have the element in a row and a column, and solves.
    fn solve(
        order: usize,
        threads: usize,
        meter: Meter<'_>,
        change: impl Fn(&mut Board),
    ) -> Result<Vec<f64>, Unsolved> {
        let factorisation = prepare(order, threads);
        let team = |work: &(dyn Fn() + Sync)| {
            std::thread::scope(|scope| {
                for _ in 0..threads {
                    scope.spawn(work);
                }
            });
        };
        team(&|| factorisation.fill(meter));
        change(&mut factorisation.lock());
        team(&|| factorisation.work(meter));
        let solution = factorisation.solve(meter);
        assert!(factorisation.into_memory().is_some(), "a tile was lost");
        solution
    }

    fn residual(order: usize, x: &[f64]) -> f64 {
        System { order, seed: 5 }.scaled_residual(x)
    }

    #[test]
    fn systems_of_any_order_are_solved_by_any_number_of_threads() {
        for (order, threads) in [(1, 1), (5, 2), (31, 3), (64, 1), (150, 2), (333, 4)] {
            let x = solve(order, threads, Dials::default().meter(), |_| ()).unwrap();
            let residual = residual(order, &x);
            assert!(residual < RESIDUAL_LIMIT, "{order} {threads}: {residual}");
        }
    }

    #[test]
    fn the_solution_does_not_depend_on_the_number_of_threads() {
        // Panels of one width, whatever the number of threads: the same operations in the same order.
        assert_eq!(panel_width(97, 1), panel_width(97, 3));
        let one = solve(97, 1, Dials::default().meter(), |_| ()).unwrap();
        let three = solve(97, 3, Dials::default().meter(), |_| ()).unwrap();
        assert_eq!(one, three);
    }

    #[test]
    fn operations_are_counted_as_hpl_counts_them() {
        let dials = Dials::default();
        solve(300, 2, dials.meter(), |_| ()).unwrap();
        #[expect(clippy::cast_precision_loss, reason = "a count far below 2^53")]
        let counted = dials.operations.load(Ordering::Relaxed) as f64;
        let system = System {
            order: 300,
            seed: 5,
        };
        let ratio = counted / system.operations();
        assert!((ratio - 1.0).abs() < 0.01, "{ratio}");
    }

    /// Solves with one thread; `spoil` gets its hands on each panel when it is made.
    fn residual_with(order: usize, spoil: impl Fn(&mut Panel)) -> f64 {
        let dials = Dials::default();
        let meter = dials.meter();
        let mut factorisation = prepare(order, 1);
        factorisation.fill(meter);
        while let Some(task) = factorisation.next_task(meter) {
            match task {
                Task::Factor(first, tile) => {
                    factorisation.factor(first, tile);
                    let at = first / factorisation.width;
                    spoil(factorisation.panels[at].get_mut().unwrap());
                }
                Task::TakeIn(first, tile, applied) => {
                    factorisation.take_in(first, tile, applied);
                }
            }
        }
        residual(order, &factorisation.solve(meter).unwrap())
    }

    #[test]
    fn a_wrong_factorisation_fails_the_residual_check() {
        assert!(residual_with(200, |_| ()) < RESIDUAL_LIMIT);
        // Rows are not exchanged to the right of the second panel.
        let forget = |panel: &mut Panel| {
            if panel.first == 64 {
                panel.moves = Moves::default();
            }
        };
        assert!(residual_with(200, forget) > RESIDUAL_LIMIT);
        // One element of one factor is off by a millionth.
        let nudge = |panel: &mut Panel| {
            if panel.first == 64 {
                panel.tile.view_mut().col_mut(3)[150] += 1e-6;
            }
        };
        assert!(residual_with(200, nudge) > RESIDUAL_LIMIT);
    }

    #[test]
    fn a_solution_that_is_no_number_fails_the_residual_check() {
        let mut x = solve(20, 1, Dials::default().meter(), |_| ()).unwrap();
        x[7] = f64::NAN;
        assert!(residual(20, &x).is_nan());
    }

    #[test]
    fn a_singular_matrix_is_told_by_every_thread() {
        let erase = |board: &mut Board| {
            let tile = board.strips[0].tile.as_mut().unwrap();
            tile.view_mut().col_mut(60).fill(0.0);
        };
        let result = solve(100, 3, Dials::default().meter(), erase);
        assert_eq!(result, Err(Unsolved::Singular));
    }

    #[test]
    fn a_thread_that_panics_sends_the_others_home() {
        let factorisation = prepare(100, 2);
        let dials = Dials::default();
        factorisation.fill(dials.meter());
        std::thread::scope(|scope| {
            let other = scope.spawn(|| {
                let _alarm = Alarm(&factorisation);
                // With a part of the matrix, so that nobody else can finish.
                let _task = factorisation.next_task(dials.meter());
                panic!("as asked");
            });
            assert!(other.join().is_err());
            factorisation.work(dials.meter());
        });
        assert_eq!(factorisation.solve(dials.meter()), Err(Unsolved::Stopped));
    }

    #[test]
    fn a_wish_to_stop_ends_every_thread() {
        let dials = Dials::default();
        dials.stop.store(true, Ordering::Relaxed);
        let result = solve(100, 3, dials.meter(), |_| ());
        assert_eq!(result, Err(Unsolved::Stopped));
    }
}
