// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What each statistic costs a sample: `cargo bench -p punctual-stats`.

use std::hint::black_box;
use std::time::Instant;

use punctual_stats::{CountWindow, LatencyHistogram, Moments, PSquare, TimeWindow};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

const SAMPLES: usize = 1 << 20;
const SLICE: usize = 256;
const REPEATS: usize = 11;

fn main() {
    // `cargo test --benches` runs this too; it has nothing to test.
    if std::env::args().any(|arg| arg == "--test") {
        return;
    }
    let ns = latencies();
    let floats: Vec<f64> = ns.iter().map(|&x| x as f64).collect();
    let timed: Vec<(u64, f64)> = (0u64..)
        .map(|i| i * 1_000_000)
        .zip(floats.iter().copied())
        .collect();

    let mut moments = Moments::new();
    report("moments", &floats, |xs| moments.extend_from_slice(xs));
    let mut one = Moments::new();
    report("moments_push", &floats, |xs| {
        xs.iter().for_each(|&x| one.push(x))
    });
    for p in PSquare::DEFAULT {
        let mut psquare = PSquare::new(&[p]).unwrap_or_else(|_| unreachable!());
        report(&format!("psquare_p{}", p * 100.0), &floats, |xs| {
            psquare.extend_from_slice(xs)
        });
    }
    let mut psquare = PSquare::new(&PSquare::DEFAULT).unwrap_or_else(|_| unreachable!());
    report("psquare_4", &floats, |xs| psquare.extend_from_slice(xs));
    let mut histogram = LatencyHistogram::default();
    report("histogram", &ns, |xs| histogram.record_slice(xs));
    let mut window = CountWindow::new(4096);
    report("count_window", &floats, |xs| window.extend_from_slice(xs));
    let mut window_push = CountWindow::new(4096);
    report("count_window_push", &floats, |xs| {
        xs.iter().for_each(|&x| window_push.push(x))
    });
    let mut window = TimeWindow::new(1_000_000_000, 4096);
    report("time_window", &timed, |xs| window.extend_from_slice(xs));
    black_box((moments, one, psquare, histogram));
}

/// Prints the median cost a sample of `feed`, over repeats through all samples in slices.
fn report<T>(name: &str, samples: &[T], mut feed: impl FnMut(&[T])) -> f64 {
    let mut costs = [0.0; REPEATS];
    for cost in &mut costs {
        let start = Instant::now();
        for slice in samples.chunks(SLICE) {
            feed(black_box(slice));
        }
        *cost = start.elapsed().as_nanos() as f64 / samples.len() as f64;
    }
    costs.sort_unstable_by(f64::total_cmp);
    let median = costs[REPEATS / 2];
    println!("{name:24} {median:8.2} ns/sample");
    median
}

/// Wake-up latencies as a machine shows them: a lognormal body and one outlier in a thousand.
fn latencies() -> Vec<u64> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut uniform = || ((rng.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64;
    (0..SAMPLES)
        .map(|_| {
            let radius = (-2.0 * uniform().ln()).sqrt();
            let normal = radius * (std::f64::consts::TAU * uniform()).cos();
            let body = (7.6 + 0.35 * normal).exp();
            let outlier = if uniform() < 1e-3 {
                50_000.0 * uniform()
            } else {
                0.0
            };
            (body + outlier).round() as u64
        })
        .collect()
}
