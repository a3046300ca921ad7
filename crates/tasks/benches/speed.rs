// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! How long a check takes: `cargo bench -p punctual-tasks`.
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "periods below a second"
)]

use std::hint::black_box;
use std::time::Instant;

use punctual_model::tasks::{Overheads, PriorityOrder, SetVerdict, Task, TaskPolicy, TaskSet};
use punctual_model::{CpuSet, Nanos};
use punctual_stats::RandomSource;
use punctual_tasks::{Limits, check};

fn main() {
    // `cargo test --benches` runs this too; it has nothing to test.
    if std::env::args().any(|arg| arg == "--test") {
        return;
    }
    let mut random = RandomSource::new(1);
    let machine: CpuSet = [0].into_iter().collect();
    let limits = Limits::usual(1);
    let of_100: Vec<TaskSet> = (0..21).map(|_| set(&mut random, 100, 0.9)).collect();
    let mut times: Vec<f64> = of_100
        .iter()
        .map(|set| {
            let start = Instant::now();
            black_box(check(set, Vec::new(), &machine, &limits));
            start.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    times.sort_by(f64::total_cmp);
    println!(
        "100 tasks: {:.2} ms (median of 21, longest {:.2} ms)",
        times[10], times[20]
    );
    let of_20: Vec<TaskSet> = (0..10_000)
        .map(|_| {
            let total = 0.5 + 0.5 * random.uniform();
            set(&mut random, 20, total)
        })
        .collect();
    let start = Instant::now();
    let shown = of_20
        .iter()
        .filter(|set| check(set, Vec::new(), &machine, &limits).verdict == SetVerdict::Shown)
        .count();
    println!(
        "10 000 sets of 20: {:.2} s, {shown} shown to meet all deadlines",
        start.elapsed().as_secs_f64()
    );
}

/// Utilisations by UUniFast, periods log-uniform from 1 ms to 1 s, rate-monotonic.
fn set(random: &mut RandomSource, n: usize, total: f64) -> TaskSet {
    let mut left = total;
    let mut tasks: Vec<Task> = (0..n)
        .map(|number| {
            let rest = (n - 1 - number) as f64;
            let next = match rest > 0.0 {
                true => left * random.uniform().powf(1.0 / rest),
                false => 0.0,
            };
            let share = left - next;
            left = next;
            let period = (1e6 * (1e3_f64.ln() * random.uniform()).exp()) as u64;
            Task {
                name: format!("task {number}"),
                period_ns: Nanos::new(period),
                deadline_ns: Nanos::new(period),
                execution_ns: Nanos::new(((share * period as f64) as u64).max(1)),
                observed_in: None,
                offset_ns: Nanos::ZERO,
                jitter_ns: Nanos::ZERO,
                policy: TaskPolicy::Other,
                cpus: CpuSet::default(),
                sections: Vec::new(),
            }
        })
        .collect();
    tasks.sort_by_key(|task| task.period_ns);
    for (number, task) in tasks.iter_mut().enumerate() {
        let priority = 99_u8.saturating_sub(number as u8).max(1);
        task.policy = TaskPolicy::Fifo {
            priority: Some(priority),
        };
    }
    TaskSet {
        name: "bench".to_owned(),
        order: PriorityOrder::RateMonotonic,
        tasks,
        resources: Vec::new(),
        overheads: Overheads::default(),
    }
}
