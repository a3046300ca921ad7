// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What a run was asked and did not do.

mod common;

use punctual_model::{Misses, Nanos};
use punctual_verdict::gate::unmet;

#[test]
fn a_missed_deadline_is_named_with_its_counts() {
    let mut run = common::run();
    let misses = |limit, count| Misses {
        deadline_ns: Nanos::from_micros(limit),
        count,
        overruns: 0,
        effective: None,
    };
    run.series.clear();
    run.total.misses = vec![misses(1, 7), misses(1_000, 0)];
    let samples = run.total.count;
    let said: Vec<String> = unmet(&run).collect();
    assert_eq!(
        said,
        [format!("deadline 1 µs: 7 of {samples} wake-ups later")]
    );
}
