// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What each statistic costs a sample: `cargo bench -p punctual-stats`.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "latencies are small and positive"
)]

use std::hint::black_box;
use std::time::Instant;

use punctual_stats::{
    Accumulator, BatchMeans, CountWindow, Exceedances, Keep, LatencyHistogram, Moments, PSquare,
    ThresholdCounter,
};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

const SAMPLES: usize = 1 << 20;
const PART: usize = 1 << 16;
const SLICE: usize = 256;
const REPEATS: usize = 11;
const DEADLINES: [u64; 3] = [50_000, 100_000, 1_000_000];

fn main() {
    // `cargo test --benches` runs this too; it has nothing to test.
    if std::env::args().any(|arg| arg == "--test") {
        return;
    }
    let ns = latencies();
    let floats: Vec<f64> = ns.iter().map(|&x| x as f64).collect();

    let mut moments = Moments::new();
    let mut psquare = PSquare::default();
    let mut histogram = LatencyHistogram::default();
    let mut window = CountWindow::new(1000);
    let mut batches = BatchMeans::new();
    let mut thresholds = ThresholdCounter::new(&DEADLINES);
    let mut exceedances = Accumulator::QUANTILES.map(|(_, p)| Exceedances::of_quantile(p));
    let mut shipped = Accumulator::default();
    let mut with_deadlines = Accumulator::new(&Keep {
        thresholds_ns: DEADLINES.to_vec(),
        ..Keep::default()
    });
    let mut with_psquare = Accumulator::new(&Keep {
        psquare: true,
        ..Keep::default()
    });

    println!("{:<28} {:>10}", "statistic", "ns/sample");
    report("moments", &floats, |xs| moments.extend_from_slice(xs));
    report("batch_means_and_moments", &floats, |xs| {
        batches.extend_from_slice(xs)
    });
    report("histogram", &ns, |xs| histogram.record_slice(xs));
    report("exceedances_7", &ns, |xs| {
        for of in &mut exceedances {
            of.extend(xs, &histogram);
        }
    });
    report("count_window", &floats, |xs| window.extend_from_slice(xs));
    report("thresholds_3", &ns, |xs| thresholds.record_slice(xs));
    report("psquare_4", &floats, |xs| psquare.extend_from_slice(xs));
    report("accumulator_3_deadlines", &ns, |xs| {
        with_deadlines.record_slice(xs)
    });
    report("accumulator_psquare", &ns, |xs| {
        with_psquare.record_slice(xs)
    });
    // What the budget is about: all that every run keeps of a sample.
    let total = report("accumulator", &ns, |xs| shipped.record_slice(xs));

    // One sample a call, as a caller without a ring would feed them.
    let mut one = Moments::new();
    report("moments_push", &floats, |xs| {
        xs.iter().for_each(|&x| one.push(x))
    });
    let mut one_psquare = PSquare::default();
    report("psquare_4_push", &floats, |xs| {
        xs.iter().for_each(|&x| one_psquare.push(x))
    });
    report("count_window_push", &floats, |xs| {
        xs.iter().for_each(|&x| window.push(x))
    });
    report("histogram_record", &ns, |xs| {
        xs.iter().for_each(|&x| histogram.record(x))
    });

    println!("stats.total_ns_per_sample={total:.1}");
    black_box((moments, one, psquare, one_psquare, histogram, thresholds));
}

/// Prints the median cost a sample of `feed`, over parts of all samples in slices. A part takes about a
/// millisecond, so that most are undisturbed on a machine that does other work too.
fn report<T>(name: &str, samples: &[T], mut feed: impl FnMut(&[T])) -> f64 {
    let mut costs = Vec::new();
    for _ in 0..REPEATS {
        for part in samples.chunks(PART) {
            let start = Instant::now();
            for slice in part.chunks(SLICE) {
                feed(black_box(slice));
            }
            costs.push(start.elapsed().as_nanos() as f64 / part.len() as f64);
        }
    }
    costs.sort_unstable_by(f64::total_cmp);
    let median = costs[costs.len() / 2];
    println!("{name:<28} {median:>10.2}");
    println!("stats.{name}_ns_per_sample={median:.2}");
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
