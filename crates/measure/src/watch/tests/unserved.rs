// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Releases that pass while a loop is busy and that it never serves.

use super::waits::{descriptor_expires, number, set_descriptor, with_timers};
use super::*;
use crate::watch::cycle::Cycle;
use crate::watch::tally::Tally;

/// A loop of a descriptor's timer of one period, each cycle of which takes `work` µs. Returns what was seen, and the releases that it
/// never served. The timer fires once, and a read sets it forward.
fn served(polls: bool, work: impl Fn(u64) -> u64) -> (WatchedThread, u64) {
    let (poll, read) = (number("epoll_wait"), number("read"));
    let mut trace = with_timers();
    trace.switch(1, SLEEPS, LOOP, FIFO_80, "loop");
    let (mut at, mut next, mut unserved) = (100 * US, PERIOD, 0);
    trace.at(
        at,
        What::Enter {
            call: number("timerfd_settime"),
            args: [3, 0, 0],
        },
    );
    set_descriptor(&mut trace, at + 50, next);
    trace.at(at + 100, What::Exit { anew: false });
    at += US;
    let first = |polls: bool| if polls { (poll, 4) } else { (read, 3) };
    for cycle in 1..=120_u64 {
        let (call, descriptor) = first(polls);
        let args = [descriptor, 0, 0];
        trace.at(at, What::Enter { call, args });
        if at < next {
            trace.switch(at + 20, SLEEPS, IDLE, NICE_0, "swapper/0");
            descriptor_expires(&mut trace, next + US);
            trace.wake(next + US + 500, LOOP, FIFO_80, "loop");
            trace.switch(next + 3 * US, READY, LOOP, FIFO_80, "loop");
            at = next + 3 * US;
        }
        if polls {
            trace.at(at + 100, What::Exit { anew: false });
            let args = [3, 0, 0];
            trace.at(at + 200, What::Enter { call: read, args });
        }
        let forward = at / PERIOD * PERIOD + PERIOD;
        unserved += (forward - next) / PERIOD - 1;
        next = forward;
        set_descriptor(&mut trace, at + 300, next);
        trace.at(at + 400, What::Exit { anew: false });
        at += work(cycle) * US;
        if at > next {
            descriptor_expires(&mut trace, next + US);
        }
    }
    let (call, descriptor) = first(polls);
    let args = [descriptor, 0, 0];
    trace.at(at, What::Enter { call, args });
    trace.switch(at + 20, SLEEPS, IDLE, NICE_0, "swapper/0");
    (trace.watched(), unserved)
}

#[test]
fn expirations_of_a_descriptor_that_nobody_read_are_missed_releases() {
    for polls in [false, true] {
        let long = |cycle: u64| if cycle.is_multiple_of(20) { 6_400 } else { 50 };
        let (thread, unserved) = served(polls, long);
        assert_eq!(unserved, 5 * 5);
        assert_eq!(thread.missed_releases, unserved, "{polls}");
        assert_eq!(thread.period_ns.unwrap().get(), PERIOD);
        // In time, there are none.
        assert_eq!(served(polls, |_| 50).0.missed_releases, 0);
    }
}

/// A loop of a descriptor's timer that is overrun by 1.3 periods in two of its cycles: by its own work, or while it waits for a lock and the
/// next release comes.
fn overrun(waits: bool) -> WatchedThread {
    let (read, futex) = (number("read"), number("futex"));
    let mut trace = with_timers();
    trace.switch(1, SLEEPS, LOOP, FIFO_80, "loop");
    let (mut at, mut release) = (100 * US, PERIOD);
    set_descriptor(&mut trace, at, release);
    at += US;
    for cycle in 1..=500_u64 {
        let args = [3, 0, 0];
        trace.at(at, What::Enter { call: read, args });
        if at < release {
            trace.switch(at + 20, SLEEPS, IDLE, NICE_0, "swapper/0");
            descriptor_expires(&mut trace, release + US);
            trace.wake(release + US + 500, LOOP, FIFO_80, "loop");
            trace.switch(release + 3 * US, READY, LOOP, FIFO_80, "loop");
            at = release + 3 * US;
        }
        release += PERIOD;
        set_descriptor(&mut trace, at + 300, release);
        trace.at(at + 400, What::Exit { anew: false });
        at += 150 * US;
        if !matches!(cycle, 50 | 450) {
            continue;
        }
        let until = at + 1_150 * US;
        if waits {
            let (call, args) = (futex, [0x1000, 128, 0]);
            trace.at(at, What::Enter { call, args });
            trace.switch(at + 20, SLEEPS, HOLDER, NICE_0, "holder");
        }
        descriptor_expires(&mut trace, release + US);
        if waits {
            trace.wake(until - 5 * US, LOOP, FIFO_80, "loop");
            trace.switch(until - 3 * US, READY, LOOP, FIFO_80, "loop");
            trace.at(until - US, What::Exit { anew: false });
        }
        at = until;
    }
    let (call, args) = (read, [3, 0, 0]);
    trace.at(at, What::Enter { call, args });
    trace.switch(at + 20, SLEEPS, IDLE, NICE_0, "swapper/0");
    trace.watched()
}

#[test]
fn a_release_that_comes_while_the_thread_waits_for_a_lock_is_of_the_next_cycle() {
    let (works, waits) = (overrun(false), overrun(true));
    assert_eq!((works.late.count, works.missed_releases), (2, 0));
    assert_eq!((waits.late.count, waits.missed_releases), (2, 0));
    // The cycle after it begins late.
    let late_begin = |thread: &WatchedThread| {
        let of_second = thread
            .worst
            .iter()
            .filter(|cycle| cycle.response_ns < PERIOD);
        of_second.map(|cycle| cycle.response_ns).max().unwrap()
    };
    assert!(late_begin(&works) > 450 * US);
    assert_eq!(late_begin(&works), late_begin(&waits));
    assert_eq!(
        (waits.cycles, waits.timed_releases),
        (works.cycles, works.timed_releases)
    );
}

#[test]
fn the_period_of_a_timer_that_is_mostly_overrun_is_that_of_the_timer() {
    for polls in [false, true] {
        let (thread, unserved) = served(polls, |cycle| [2_600, 2_600, 100][(cycle % 3) as usize]);
        assert_eq!(thread.period_ns.unwrap().get(), PERIOD);
        assert!(unserved > 100, "{unserved}");
        assert_eq!(thread.missed_releases, unserved);
        assert!(thread.late.count >= 78, "{}", thread.late.count);
    }
}

/// A loop that sleeps until times, whose 50th cycle takes 5.3 periods; after it the loop goes on at `next`.
fn sleeps(next: u64) -> WatchedThread {
    let mut trace = Trace::new();
    trace.switch(1, SLEEPS, LOOP, FIFO_80, "loop");
    let (mut at, mut release) = (PERIOD - 100 * US, PERIOD);
    for cycle in 1..=100 {
        trace.sleep(at, release, NOBODY);
        at = normal(&mut trace, release.max(at + 100), NOBODY);
        release += PERIOD;
        if cycle == 50 {
            at += 5_300 * US;
            release = 50 * PERIOD + next;
        }
    }
    trace.sleep(at, release, NOBODY);
    trace.watched()
}

#[test]
fn a_loop_that_leaves_releases_out_misses_them_and_one_that_catches_up_does_not() {
    let left_out = sleeps(6 * PERIOD);
    assert_eq!((left_out.late.count, left_out.missed_releases), (1, 5));
    let catches_up = sleeps(PERIOD);
    assert_eq!(catches_up.missed_releases, 0);
    assert_eq!(catches_up.late.count, 5);
    // What it leaves out by itself, after it was in time, passed while it slept.
    assert_eq!(sleeps(9 * PERIOD).missed_releases, 5);
    // Who begins anew has other releases.
    assert_eq!(sleeps(5 * PERIOD + 640 * US).missed_releases, 0);
}

#[test]
fn releases_that_nobody_served_are_later_than_any_deadline() {
    let thresholds_ns = vec![10 * PERIOD];
    let keep = Keep {
        thresholds_ns,
        ..Keep::default()
    };
    let (mut tally, replay) = (Tally::new(&keep, None), Replay::new(1, true, 10, None));
    for number in 0..100 {
        let release = number * 10 * PERIOD;
        let cycle = Cycle {
            tid: LOOP,
            number,
            release,
            begun: release,
            asked: true,
            end: release + PERIOD,
            missed: if number == 50 { 5 } else { 0 },
            events: 0,
            pieces: Vec::new(),
            sites: Vec::new(),
        };
        tally.add(&cycle, &replay, 0);
    }
    let misses = crate::figures::misses(&tally.responses);
    assert_eq!((misses[0].count, misses[0].overruns), (0, 5));
}
