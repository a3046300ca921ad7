// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Ordinary work, to see what a knob costs: fresh memory is filled and added up, over and over, by a
//! thread on each CPU. Frequency, memory, page faults and huge pages all are in it.

use std::hint::black_box;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use punctual_model::CpuSet;
use punctual_sys::sched;

/// Numbers in a piece of memory: 16 MiB, more than a core's caches.
const NUMBERS: usize = 2 << 20;

/// Returns the bytes that all threads together get through in a second. None if a thread could not run on
/// its CPU, or if `stop` ended the work early.
pub fn rate(cpus: &CpuSet, span: Duration, stop: &AtomicBool) -> Option<f64> {
    let cpus: Vec<u32> = cpus.iter().collect();
    let start = Barrier::new(cpus.len());
    let rates: Option<Vec<f64>> = thread::scope(|scope| {
        let threads: Vec<_> = cpus
            .iter()
            .map(|cpu| {
                let start = &start;
                scope.spawn(move || {
                    let bound = sched::set_affinity(&[*cpu].into_iter().collect());
                    start.wait();
                    bound.ok().and_then(|()| one(span, stop))
                })
            })
            .collect();
        let rates = threads
            .into_iter()
            .map(|thread| thread.join().ok().flatten());
        rates.collect()
    });
    Some(rates?.iter().sum())
}

fn one(span: Duration, stop: &AtomicBool) -> Option<f64> {
    let started = Instant::now();
    let mut pieces = 0_u32;
    while started.elapsed() < span {
        if stop.load(Ordering::Relaxed) {
            return None;
        }
        let numbers = vec![black_box(u64::from(pieces) + 1); NUMBERS];
        black_box(numbers.iter().copied().fold(0, u64::wrapping_add));
        pieces += 1;
    }
    let bytes = f64::from(pieces) * 8.0 * f64::from(u32::try_from(NUMBERS).unwrap_or(u32::MAX));
    Some(bytes / started.elapsed().as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_counted_and_a_cpu_that_is_not_there_is_told() {
        let first: CpuSet = sched::affinity().unwrap().iter().take(1).collect();
        let stop = AtomicBool::new(false);
        assert!(rate(&first, Duration::from_millis(20), &stop).unwrap() > 0.0);
        let missing = [1_023].into_iter().collect();
        assert_eq!(rate(&missing, Duration::ZERO, &stop), None);
        stop.store(true, Ordering::Relaxed);
        assert_eq!(rate(&first, Duration::from_secs(86_400), &stop), None);
    }
}
