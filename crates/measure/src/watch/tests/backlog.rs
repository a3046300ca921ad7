// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Cycles that wait for those before them, and where the loop was in each.

use super::*;
use crate::watch::cycle::Cause;
use crate::watch::stacks::{At, Site};

const WRITE: i64 = 1;
const CLOCK_GETTIME: i64 = 228;

/// The loop writes, and is at a known place as it does and as it waits for the reader. It goes on `waits` after its release, looks at the
/// clock, which no stack is taken of, and has done its work 100 µs later.
fn write(trace: &mut Trace, release: u64, waits: u64) -> u64 {
    trace.expire(release + US);
    trace.run(release + 3 * US, 0);
    let (call, args) = (WRITE, [5, 0, 0]);
    let entered = release + 10 * US;
    trace.at(entered, What::Enter { call, args });
    let site = Site::in_program(7);
    for (time, at) in [(entered + 100, At::Call(WRITE)), (entered + US, At::Wait)] {
        trace.at(time, What::Stack { at, site });
    }
    trace.switch(entered + US, SLEEPS, IDLE, NICE_0, "swapper/0");
    let name = trace.replay.names.keep(b"loop");
    let waking = What::Waking {
        tid: LOOP,
        prio: FIFO_80,
        name,
        cpu: 0,
    };
    let at = release + waits;
    trace.on_cpu(1, at, OTHER, waking);
    trace.switch(at + US, 0, LOOP, FIFO_80, "loop");
    trace.at(at + 2 * US, What::Exit { anew: false });
    let (call, args) = (CLOCK_GETTIME, [3, 0, 0]);
    trace.at(at + 4 * US, What::Enter { call, args });
    trace.at(at + 50 * US, What::Exit { anew: false });
    at + 100 * US
}

#[test]
fn a_whole_backlog_is_the_fault_of_what_began_it() {
    let mut trace = Trace::new();
    // Each of them works for 100 µs of its millisecond: what earlier ones did is longer than the period for most of them.
    with_strike(&mut trace, NOBODY, |trace, release| {
        write(trace, release, 40_000 * US)
    });
    let thread = trace.watched();
    let (_, what, saved) = first(&thread);
    assert!(what.contains("write"), "{what}");
    assert!(thread.late.count > 40, "{:#?}", thread.late);
    assert_eq!(saved, thread.late.count, "{:#?}", thread.culprits);
    let others = thread.culprits.iter().skip(1);
    assert_eq!(others.map(|of| of.saved).max().unwrap_or(0), 0);
}

#[test]
fn a_place_is_that_of_its_own_call_and_counted_in_its_own_cycle() {
    let mut trace = Trace::new();
    with_strike(&mut trace, NOBODY, |trace, release| {
        write(trace, release, 40_000 * US)
    });
    let watcher = trace.watcher(&["loop"], Matters::OfThePeriod);
    let (.., tally) = watcher.shown().next().unwrap();
    let longs = tally.longer_than(PERIOD);
    assert!(longs.len() > 40);
    let sites: Vec<_> = longs.iter().flat_map(|long| &long.sites).collect();
    let calls = |of: i64| {
        sites
            .iter()
            .filter(move |(cause, ..)| matches!(cause, Cause::Call { call, .. } if *call == of))
    };
    assert_eq!(calls(CLOCK_GETTIME).count(), 0, "{sites:?}");
    let writes: u32 = calls(WRITE).map(|(.., count)| *count).sum();
    assert_eq!(writes, 1, "{sites:?}");
}
