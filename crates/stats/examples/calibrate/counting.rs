// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Counting over many experiments on all processors, and what shares may be.

use std::process::ExitCode;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use punctual_stats::{RandomSource, clopper_pearson};

/// Shares that were out of their bounds.
#[derive(Default)]
pub(crate) struct Bounds {
    checked: u32,
    broken: Vec<String>,
}

impl Bounds {
    /// Notes a share of `hits` in `n` that is not between `low` and `high`, at three standard errors.
    pub(crate) fn check(&mut self, what: &str, hits: u32, n: u32, low: f64, high: f64) {
        self.checked += 1;
        let (share, n) = (f64::from(hits) / f64::from(n), f64::from(n));
        let error = |p: f64| 3.0 * (p * (1.0 - p) / n).sqrt();
        if share < low - error(low) || share > high + error(high) {
            self.broken.push(format!(
                "{what}: {:.2} %, not {:.0} to {:.0} %",
                share * 100.0,
                low * 100.0,
                high * 100.0
            ));
        }
    }

    pub(crate) fn report(&self) -> ExitCode {
        println!(
            "\n{} shares checked, {} out of bounds",
            self.checked,
            self.broken.len()
        );
        for line in &self.broken {
            println!("  {line}");
        }
        if self.broken.is_empty() {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        }
    }
}

/// Does `work` for every experiment on all processors and adds up what it counts.
pub(crate) fn count<const N: usize>(
    experiments: u32,
    work: impl Fn(&mut RandomSource) -> [u32; N] + Sync,
) -> [u32; N] {
    let next = AtomicU32::new(0);
    let threads = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let one = || {
        let mut sum = [0; N];
        loop {
            let experiment = next.fetch_add(1, Ordering::Relaxed);
            if experiment >= experiments {
                return sum;
            }
            let counted = work(&mut RandomSource::new(u64::from(experiment)));
            for (sum, counted) in sum.iter_mut().zip(counted) {
                *sum += counted;
            }
        }
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(one)).collect();
        let mut sum = [0; N];
        for worker in workers {
            let counted = worker.join().unwrap_or([u32::MAX / 2; N]);
            for (sum, counted) in sum.iter_mut().zip(counted) {
                *sum += counted;
            }
        }
        sum
    })
}

pub(crate) fn percent(hits: u32, n: u32) -> String {
    format!("{:.1}", f64::from(hits) / f64::from(n) * 100.0)
}

/// A share in %, with the ends of its 95 % interval.
pub(crate) fn rate(hits: u32, n: u32) -> String {
    let ends = clopper_pearson(hits.into(), n.into(), 0.95).unwrap_or((0.0, 1.0));
    let share = f64::from(hits) / f64::from(n.max(1));
    format!(
        "{:.1} ({:.1}-{:.1})",
        share * 100.0,
        ends.0 * 100.0,
        ends.1 * 100.0
    )
}
