// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What is measured, once: the peak, a product, a system solved.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use punctual_model::{Bytes, Nanos, Progress};
use punctual_sys::clock;
use punctual_sys::dense::{Tile, View, set_product};
use punctual_sys::pages::{HugePages, Pages};

use crate::crew::{Post, ThreadReport};
use crate::error::MeasureError;
use crate::frame::Frame;
use crate::pool::Pool;
use punctual_loops::linpack::{Factorisation, FmaLoop, Meter, Residual, System, Unsolved};

/// How long the peak is measured each time, on every thread.
const PEAK_TIME: Nanos = Nanos::from_millis(50);

/// Rounds of the peak's loop between two looks at the clock.
const PEAK_ROUNDS: u32 = 20_000;

/// A system that was solved, once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Solved {
    /// Number of equations.
    pub(super) order: usize,
    /// Time from the first operation to the solution, in seconds.
    pub(super) seconds: f64,
    /// HPL's scaled residual.
    pub(super) residual: f64,
}

impl Solved {
    /// Returns HPL's rate in GFLOPS: 10^9 operations a second.
    pub(super) fn gflops(&self) -> f64 {
        let system = System {
            order: self.order,
            seed: 0,
        };
        system.operations() / self.seconds / 1e9
    }
}

/// Threads, and memory for the largest system.
#[derive(Debug)]
pub(super) struct Bench {
    pool: Pool,
    threads: usize,
    memory: Option<Pages<f64>>,
    seed: u64,
}

impl Bench {
    /// Starts a thread a CPU of the frame's set-up.
    pub(super) fn new(frame: &Frame<'_>) -> Result<Self, MeasureError> {
        let setup = frame.setup();
        let post = |(number, cpu): (usize, u32)| {
            Post::on(format!("linpack/{number}"), setup.priority, cpu)
        };
        let posts: Vec<Post> = setup.cpus.iter().enumerate().map(post).collect();
        Ok(Self {
            threads: posts.len(),
            pool: Pool::assemble(posts)?,
            memory: None,
            seed: 1,
        })
    }

    /// Takes memory for systems of up to `largest` equations.
    pub(super) fn reserve(&mut self, largest: usize) -> Result<(), MeasureError> {
        let system = System {
            order: largest,
            seed: 0,
        };
        let numbers = system
            .numbers()
            .ok_or_else(|| std::io::Error::from(std::io::ErrorKind::OutOfMemory));
        let memory = numbers.and_then(|numbers| Pages::map(numbers, HugePages::Ask));
        self.memory = Some(memory.map_err(MeasureError::Memory)?);
        Ok(())
    }

    /// Returns the number of threads.
    pub(super) const fn threads(&self) -> usize {
        self.threads
    }

    /// Measures the peak in GFLOPS: multiply-adds on registers, on all threads at once.
    pub(super) fn peak(
        &self,
        frame: &mut Frame<'_>,
        progress: impl FnMut() -> Progress,
    ) -> Result<f64, MeasureError> {
        let rates = Arc::<Mutex<f64>>::default();
        let sum = Arc::clone(&rates);
        self.pool.run(frame, progress, move |_| {
            let begun = clock::monotonic();
            let mut operations = 0;
            let mut took = Nanos::ZERO;
            while took < PEAK_TIME {
                let fma = FmaLoop {
                    rounds: PEAK_ROUNDS,
                };
                operations += std::hint::black_box(fma.run()).operations;
                took = clock::monotonic() - begun;
            }
            #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
            let rate = operations as f64 / took.as_secs_f64() / 1e9;
            *sum.lock().unwrap_or_else(PoisonError::into_inner) += rate;
        })?;
        let peak = *rates.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(peak)
    }

    /// Solves a system and checks the solution; `None` where the end was asked for before.
    pub(super) fn solve(
        &mut self,
        frame: &mut Frame<'_>,
        order: usize,
        mut progress: impl FnMut() -> Progress,
    ) -> Result<Option<Solved>, MeasureError> {
        let defect = MeasureError::Defect { thread: 0 };
        let seed = self.seed;
        self.seed += 1;
        let system = System { order, seed };
        let factorisation = self
            .memory
            .take()
            .and_then(|memory| Factorisation::new(memory, system, self.threads));
        let Some(factorisation) = factorisation.map(Arc::new) else {
            return Err(defect);
        };
        let stop = frame.stop_flag();
        let job = |work: fn(&Factorisation, Meter<'_>)| {
            let (factorisation, stop) = (Arc::clone(&factorisation), Arc::clone(&stop));
            move |_| {
                let operations = AtomicU64::new(0);
                let meter = Meter {
                    stop: &stop,
                    operations: &operations,
                };
                work(&factorisation, meter);
            }
        };
        self.pool
            .run(frame, &mut progress, job(Factorisation::fill))?;
        let took = self
            .pool
            .run(frame, &mut progress, job(Factorisation::solve_together))?;
        let solution = factorisation.solution();
        let factorisation = Arc::into_inner(factorisation);
        self.memory = factorisation.and_then(Factorisation::into_memory);
        let x = match solution {
            // A matrix of random numbers is as good as never singular, and if so it is not solved.
            Ok(x) => Arc::new(x),
            Err(Unsolved::Singular) => {
                return Ok(Some(Solved {
                    order,
                    seconds: took.as_secs_f64(),
                    residual: f64::INFINITY,
                }));
            }
            Err(Unsolved::Stopped) if stop.load(Ordering::Relaxed) => return Ok(None),
            Err(Unsolved::Stopped) => return Err(defect),
        };
        let residual = self.check(frame, system, &x, &stop, progress)?;
        if stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        Ok(Some(Solved {
            order,
            seconds: took.as_secs_f64(),
            residual,
        }))
    }

    fn check(
        &self,
        frame: &mut Frame<'_>,
        system: System,
        x: &Arc<Vec<f64>>,
        stop: &Arc<AtomicBool>,
        progress: impl FnMut() -> Progress,
    ) -> Result<f64, MeasureError> {
        let sum = Arc::<Mutex<Option<Residual>>>::default();
        let (total, solution, stop) = (Arc::clone(&sum), Arc::clone(x), Arc::clone(stop));
        let share = system.order.div_ceil(self.threads);
        self.pool.run(frame, progress, move |number| {
            let columns = number * share..(number + 1) * share;
            let part = system.check(&solution, columns, &stop);
            let mut total = total.lock().unwrap_or_else(PoisonError::into_inner);
            match total.as_mut() {
                Some(total) => total.add(&part),
                None => *total = Some(part),
            }
        })?;
        let sum = sum.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(sum.as_ref().map_or(f64::NAN, |sum| sum.scaled(system, x)))
    }

    /// Sends the threads home.
    pub(super) fn finish(self) -> Result<Vec<ThreadReport>, MeasureError> {
        self.pool.finish()
    }
}

/// A product of two square matrices, as the `gemm` crate does it, by all threads: each makes some columns.
#[derive(Debug)]
pub(super) struct Product {
    order: usize,
    factors: Arc<[Pages<f64>; 2]>,
    parts: Arc<Vec<Mutex<Tile>>>,
}

impl Product {
    /// Returns the memory that matrices of `order` rows take.
    pub(super) fn memory_of(order: usize) -> Bytes {
        super::memory_of(order).times(3)
    }

    /// Takes memory for matrices of `order` rows, and fills it.
    pub(super) fn new(
        bench: &Bench,
        frame: &mut Frame<'_>,
        order: usize,
    ) -> Result<Self, MeasureError> {
        let system = System { order, seed: 0 };
        let map = || {
            let numbers = system.numbers().unwrap_or(usize::MAX);
            Pages::map(numbers, HugePages::Ask).map_err(MeasureError::Memory)
        };
        let mut factors = [map()?, map()?];
        for (factor, seed) in factors.iter_mut().zip(1..) {
            let filler = System { order, seed };
            for (col, column) in factor.chunks_exact_mut(system.stride()).enumerate() {
                filler.fill_column(col, &mut column[..order]);
                frame.look_before(Progress::default);
            }
        }
        let mut rest = system
            .lay_out(map()?)
            .ok_or(MeasureError::Defect { thread: 0 })?;
        let mut parts = Vec::new();
        for left in (1..=bench.threads).rev() {
            let cols = (rest.cols().saturating_sub(1)).div_ceil(left);
            let (part, right) = rest.split_cols(cols);
            parts.push(Mutex::new(part));
            rest = right;
        }
        Ok(Self {
            order,
            factors: Arc::new(factors),
            parts: Arc::new(parts),
        })
    }

    /// Multiplies once; returns GFLOPS, of 2 n^3 operations.
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
    pub(super) fn measure(
        &self,
        bench: &Bench,
        frame: &mut Frame<'_>,
        progress: impl FnMut() -> Progress,
    ) -> Result<f64, MeasureError> {
        let (order, factors, parts) = (
            self.order,
            Arc::clone(&self.factors),
            Arc::clone(&self.parts),
        );
        let stride = System { order, seed: 0 }.stride();
        let offsets: Vec<usize> = parts
            .iter()
            .scan(0, |at, part| {
                let first = *at;
                *at += part.lock().unwrap_or_else(PoisonError::into_inner).cols();
                Some(first)
            })
            .collect();
        let took = bench.pool.run(frame, progress, move |number| {
            let [a, b] = &*factors;
            let part = parts.get(number).zip(offsets.get(number));
            let views = View::new(a, order, order, stride).zip(View::new(b, order, order, stride));
            if let (Some((part, first)), Some((a, b))) = (part, views) {
                let mut part = part.lock().unwrap_or_else(PoisonError::into_inner);
                let cols = part.cols();
                set_product(&mut part.view_mut(), a, b.part(0, *first, order, cols));
            }
        })?;
        Ok(2.0 * (order as f64).powi(3) / took.as_secs_f64() / 1e9)
    }
}
