// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Sets under BPF schedulers are analysed as the policies that the schedulers have.
#![expect(clippy::unwrap_used, reason = "test helpers")]

use punctual_model::tasks::{SetVerdict, TasksCheck};
use punctual_tasks::example::EXAMPLES;
use punctual_tasks::{Limits, TaskSetError, check, file};

fn checked(example: &str, scale: f64) -> TasksCheck {
    let (_, text) = EXAMPLES.iter().find(|(name, _)| *name == example).unwrap();
    let draft = file::parse(example, text).unwrap();
    let (mut set, unused) = draft
        .resolve::<TaskSetError>(|_| unreachable!("no run is named"))
        .unwrap();
    for task in &mut set.tasks {
        let ns = task.execution_ns.as_secs_f64() * scale * 1e9;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "some ms"
        )]
        let ns = ns as u64;
        task.execution_ns = punctual_model::Nanos::new(ns);
    }
    check(&set, unused, &(0..1).collect(), &Limits::usual(1))
}

#[test]
fn rate_monotonic_has_the_bounds_of_fixed_priorities() {
    let bounds = |of: &TasksCheck| {
        let tasks = of.tasks.iter();
        tasks
            .map(|task| (task.response_ns, task.verdict))
            .collect::<Vec<_>>()
    };
    for scale in [0.7, 0.77, 0.8, 0.9] {
        let (fifo, ext) = (
            checked("rate-monotonic", scale),
            checked("ext-rate-monotonic", scale),
        );
        assert_eq!(bounds(&fifo), bounds(&ext), "{scale}");
        assert_eq!(fifo.verdict, ext.verdict, "{scale}");
    }
    // Real-time throttling holds back SCHED_FIFO, and nothing of sched_ext.
    let throttling = |of: &TasksCheck| of.assumptions.iter().any(|a| a.contains("throttling"));
    assert!(throttling(&checked("rate-monotonic", 0.7)));
    assert!(!throttling(&checked("ext-rate-monotonic", 0.7)));
}

#[test]
fn earliest_deadline_first_has_no_admission_and_no_budget() {
    for (scale, verdict) in [
        (0.9, SetVerdict::Shown),
        (0.99, SetVerdict::Shown),
        (1.02, SetVerdict::Missed),
    ] {
        let ext = checked("ext-earliest-deadline-first", scale);
        assert_eq!(ext.verdict, verdict, "{scale}");
        assert_eq!(ext.admission, None);
    }
}
