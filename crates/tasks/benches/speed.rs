// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! CPU time of a check: `cargo bench -p punctual-tasks`. Lines for machines: `tasks.NAME=NS`.
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "periods below a second"
)]

mod random_sets;

use std::hint::black_box;

use punctual_model::CpuSet;
use punctual_model::tasks::{SetVerdict, TaskSet};
use punctual_stats::RandomSource;
use punctual_tasks::{Limits, check};
use rustix::time::{ClockId, clock_gettime};

fn main() {
    // `cargo test --benches` runs this too; it has nothing to test.
    if std::env::args().any(|arg| arg == "--test") {
        return;
    }
    let mut random = RandomSource::new(1);
    let machine: CpuSet = [0].into_iter().collect();
    let limits = Limits::usual(1);
    let of_100: Vec<TaskSet> = (0..21)
        .map(|_| random_sets::set(&mut random, 100, 0.9))
        .collect();
    let mut times: Vec<u64> = of_100
        .iter()
        .map(|set| {
            let start = cpu_time();
            black_box(check(set, Vec::new(), &machine, &limits));
            cpu_time() - start
        })
        .collect();
    times.sort_unstable();
    println!("tasks.check_100_median_ns={}", times[10]);
    println!("tasks.check_100_longest_ns={}", times[20]);
    let of_20: Vec<TaskSet> = (0..10_000)
        .map(|_| {
            let total = 0.5 + 0.5 * random.uniform();
            random_sets::set(&mut random, 20, total)
        })
        .collect();
    let start = cpu_time();
    let shown = of_20
        .iter()
        .filter(|set| check(set, Vec::new(), &machine, &limits).verdict == SetVerdict::Shown)
        .count();
    println!("tasks.check_10000_of_20_ns={}", cpu_time() - start);
    println!("{shown} of 10 000 sets of 20 are shown to meet all deadlines");
}

/// What this thread used of its CPU: other work on the machine does not count.
fn cpu_time() -> u64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
