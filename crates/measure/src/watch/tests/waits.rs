// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Waits that come back at once, that signals interrupt, that never end, or that were before it was known what a cycle is.

use super::*;

#[test]
fn a_release_from_before_the_thread_was_created_is_accounted_for() {
    let mut trace = Trace::new();
    trace.replay.threads.clear();
    trace.replay.watch_children_of(OTHER);
    let born = 5 * PERIOD + 500 * US;
    trace.switch(1, SLEEPS, OTHER, FIFO_90, "main");
    let (child, same_process) = (LOOP, true);
    trace.at(
        born,
        What::Forked {
            child,
            same_process,
        },
    );
    trace.wake(born + 20 * US, LOOP, FIFO_80, "loop");
    trace.switch(born + 25 * US, SLEEPS, LOOP, FIFO_80, "loop");
    let mut at = born + 30 * US;
    for cycle in 1..=100_u64 {
        let release = cycle * PERIOD;
        trace.sleep(at, release, NOBODY);
        let asked = release.max(at + 100);
        at = normal(&mut trace, asked, NOBODY);
    }
    trace.sleep(at, 200 * PERIOD, NOBODY);
    let thread = trace.watched();
    assert_eq!(thread.cycles, 99);
    let kinds: Vec<&str> = thread.culprits.iter().map(|c| c.kind.as_str()).collect();
    assert_eq!(
        kinds.first(),
        Some(&"not-created"),
        "{:#?}",
        thread.culprits
    );
    assert!(!kinds.contains(&"unknown"), "{kinds:?}");
}
