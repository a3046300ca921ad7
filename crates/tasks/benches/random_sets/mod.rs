// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Random sets of the size that people have, for the cost of a check.

use punctual_model::tasks::{Overheads, PriorityOrder, Task, TaskPolicy, TaskSet};
use punctual_model::{CpuSet, Nanos};
use punctual_stats::RandomSource;

/// Utilisations by UUniFast, periods log-uniform from 1 ms to 1 s, rate-monotonic.
pub(super) fn set(random: &mut RandomSource, n: usize, total: f64) -> TaskSet {
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
                waits_ns: None,
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
        assumes: Vec::new(),
    }
}
