// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A loop that is runnable while its CPU is idle.

use super::*;

const DEEP: What = What::Idle { state: Some(0) };
const LEFT: What = What::Idle { state: None };

/// Another CPU wakes the loop, which waits in a call. The call from there comes to its idle CPU `told` later, and the loop has that
/// `after` the call. Where `again`, the CPU goes back to its idle state in between.
fn woken_from_afar(told: u64, after: u64, again: bool) -> WatchedThread {
    let mut trace = Trace::new();
    with_strike(&mut trace, NOBODY, |trace, release| {
        trace.expire(release + US);
        trace.run(release + 3 * US, 0);
        let args = [5, 0, 0];
        trace.at(release + 10 * US, What::Enter { call: 0, args });
        trace.switch(release + 11 * US, SLEEPS, IDLE, NICE_0, "swapper/0");
        trace.at(release + 12 * US, DEEP);
        let name = trace.replay.names.keep(b"loop");
        let waking = What::Waking {
            tid: LOOP,
            prio: FIFO_80,
            name,
            cpu: 0,
        };
        trace.on_cpu(1, release + 100 * US, OTHER, waking);
        let at = release + 100 * US + told;
        let name = trace.replay.names.keep(b"call from another CPU");
        trace.at(at, What::VectorEntry { name });
        trace.at(at + US, What::VectorExit);
        trace.at(at + 2 * US, LEFT);
        if again {
            trace.at(at + 3 * US, DEEP);
            trace.at(at + after - US, LEFT);
        }
        trace.switch(at + after, 0, LOOP, FIFO_80, "loop");
        trace.at(at + after + US, What::Exit { anew: false });
        at + after + 100 * US
    });
    trace.watched()
}

#[test]
fn a_late_call_from_another_cpu_is_nothing_that_the_scheduler_did() {
    let thread = woken_from_afar(1_200 * US, 15 * US, false);
    assert_eq!(first(&thread).0, "outside", "{:#?}", thread.culprits);
    let held = thread.culprits.iter().find(|of| of.kind == "throttling");
    assert_eq!(held, None);
}

#[test]
fn a_cpu_that_goes_back_to_idle_may_not_run_the_loop() {
    let thread = woken_from_afar(5 * US, 1_200 * US, true);
    assert_eq!(first(&thread).0, "throttling", "{:#?}", thread.culprits);
}

#[test]
fn a_thread_from_which_an_idle_cpu_or_a_lower_thread_takes_over_was_held_back() {
    // Of SCHED_DEADLINE, when its budget is used up.
    const DEADLINE: i16 = -1;
    for (next, prio, name) in [NOBODY, (OTHER, NICE_0, "writer")] {
        let mut trace = Trace::new();
        trace.prio = DEADLINE;
        with_strike(&mut trace, NOBODY, |trace, release| {
            trace.expire(release + US);
            trace.run(release + 3 * US, 0);
            trace.switch(release + 50 * US, READY, next, prio, name);
            trace.switch(release + 1_500 * US, READY, LOOP, DEADLINE, "loop");
            release + 1_550 * US
        });
        let thread = trace.watched();
        let (kind, _, saved) = first(&thread);
        assert_eq!((kind, saved), ("throttling", 1), "{:#?}", thread.culprits);
    }
}
