// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What a check costs, in steps: they are the same on every machine, however busy it is. One takes some 5 ns of an optimised
//! program, as `cargo bench -p punctual-tasks` counts it in CPU time.
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "periods below a second"
)]

#[path = "../../benches/random_sets/mod.rs"]
mod random_sets;

use punctual_stats::RandomSource;

use super::*;

fn steps(set: &TaskSet) -> u64 {
    let cpu: CpuSet = [0].into_iter().collect();
    counted(set, Vec::new(), &cpu, &Limits::usual(1)).1
}

#[test]
fn a_check_of_100_tasks_takes_fewer_steps_than_fit_into_10_ms() {
    let mut random = RandomSource::new(1);
    let most = (0..21).map(|_| steps(&random_sets::set(&mut random, 100, 0.9)));
    let most = most.max().unwrap();
    assert!(most > 1_000, "{most}: nothing was counted");
    assert!(most < 10_000_000 / 5, "{most} steps");
}

#[test]
fn checks_of_10000_sets_of_20_take_fewer_steps_than_fit_into_5_s() {
    let mut random = RandomSource::new(2);
    let sets = 300;
    let sum: u64 = (0..sets)
        .map(|_| {
            let total = 0.5 + 0.5 * random.uniform();
            steps(&random_sets::set(&mut random, 20, total))
        })
        .sum();
    let each = sum / sets;
    assert!(each > 100, "{each}: nothing was counted");
    assert!(each < 5_000_000_000 / 10_000 / 5, "{each} steps each");
}
