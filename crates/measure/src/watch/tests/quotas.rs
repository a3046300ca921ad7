// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Ordinary threads that a quota of their group keeps from running.

use super::*;

/// An ordinary loop loses the CPU in its work to a reader, and has it again at the end of the strike. The reader has it until
/// `left`, and then nobody, or somebody else once more. Where `renewed` says so a timer renews a quota then.
fn ordinary(left: u64, again: Option<u64>, renewed: Option<u64>) -> WatchedThread {
    kept_waiting(quotas(), left, again, renewed)
}

/// A trace on a machine whose kernel renews quotas.
fn quotas() -> Trace {
    Trace::with(Some(Arc::new(|address| {
        let name = match address {
            7 => "hrtimer_wakeup",
            8 => "sched_cfs_period_timer",
            _ => return None,
        };
        Some(name.to_owned())
    })))
}

const fn renewal(now: u64) -> What {
    What::TimerEntry {
        timer: 0xf08,
        function: 8,
        now,
    }
}

fn kept_waiting(
    mut trace: Trace,
    left: u64,
    again: Option<u64>,
    renewed: Option<u64>,
) -> WatchedThread {
    trace.prio = NICE_0;
    with_strike(&mut trace, NOBODY, |trace, release| {
        trace.expire(release + US);
        trace.run(release + 3 * US, 0);
        trace.switch(release + 50 * US, READY, OTHER, NICE_0, "reader");
        if left < 1_500 {
            trace.switch(release + left * US, SLEEPS, IDLE, NICE_0, "swapper/0");
        }
        if let Some(again) = again {
            trace.switch(release + again * US, 0, OTHER, NICE_0, "reader");
        }
        if let Some(at) = renewed.map(|at| release + at * US) {
            trace.at(at, renewal(at));
            trace.at(at + US, What::TimerExit);
        }
        trace.switch(release + 1_500 * US, READY, LOOP, NICE_0, "loop");
        release + 1_550 * US
    });
    trace.events.sort_by_key(|event| event.time);
    trace.watched()
}

#[test]
fn whoever_runs_while_a_quota_is_used_up_keeps_nobody_from_running() {
    for left in [60, 700, 1_480] {
        let thread = ordinary(left, None, None);
        assert_eq!(first(&thread).0, "throttling", "{:#?}", thread.culprits);
        assert_eq!(first(&thread).2, 1);
        assert!(thread.culprits.iter().all(|of| of.kind != "task"));
    }
    // It lasts until the quota is renewed; from then on the loop competes like all others.
    for (renewed, most) in [
        (None, "task"),
        (Some(600), "task"),
        (Some(1_400), "throttling"),
    ] {
        let thread = ordinary(60, Some(300), renewed);
        let longest = thread.culprits.iter().max_by_key(|of| of.total_ns).unwrap();
        assert_eq!(longest.kind, most, "{renewed:?}: {:#?}", thread.culprits);
    }
    // The CPU was never idle, and the loop waits until the quota is renewed, and no longer.
    let thread = ordinary(1_500, None, Some(1_450));
    assert_eq!((first(&thread).0, first(&thread).2), ("throttling", 1));
    // Where neither is so, nothing says that the reader had it by no right.
    let thread = ordinary(1_500, None, None);
    assert_eq!(first(&thread), ("task", "reader (nice 0)", 1));
}

#[test]
fn where_quotas_are_renewed_all_the_time_a_renewal_says_nothing() {
    let mut trace = quotas();
    // Another group's, on another CPU.
    for cycle in 1..100 {
        let at = cycle * PERIOD + 450 * US;
        trace.on_cpu(1, at, IDLE, renewal(at));
        trace.on_cpu(1, at + US, IDLE, What::TimerExit);
    }
    let thread = kept_waiting(trace, 1_500, None, None);
    assert_eq!(first(&thread), ("task", "reader (nice 0)", 1));
}
