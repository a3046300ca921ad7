// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Waits that come back at once, that signals interrupt, that never end, or that were before it was known what a cycle is.

use punctual_sys::calls;

use crate::watch::stacks::{At, Site};
use crate::watch::thread::Waited;
use crate::watch::wait::Wait;

use super::*;

/// Returns the number of a system call.
pub(super) fn number(wanted: &str) -> i64 {
    (0..1_000)
        .find(|call| calls::name(*call) == Some(wanted))
        .unwrap()
}

/// Names the functions of the timers of a sleep, of a descriptor and of an interval.
pub(super) fn with_timers() -> Trace {
    Trace::with(Some(Arc::new(|address| match address {
        7 => Some("hrtimer_wakeup".to_owned()),
        8 => Some("timerfd_tmrproc".to_owned()),
        9 => Some("it_real_fn".to_owned()),
        _ => None,
    })))
}

const TIMER: u64 = 0xf1;

/// The descriptor's timer is set again.
pub(super) fn set_descriptor(trace: &mut Trace, time: u64, release: u64) {
    let (soft, hard) = (release, release);
    let (timer, function) = (TIMER, 8);
    trace.at(
        time,
        What::TimerStart {
            timer,
            function,
            soft,
            hard,
        },
    );
}

pub(super) fn descriptor_expires(trace: &mut Trace, time: u64) {
    let name = trace.replay.names.keep(b"timer interrupt");
    trace.at(time, What::VectorEntry { name });
    let (timer, function, now) = (TIMER, 8, time + 100);
    trace.at(
        time + 100,
        What::TimerEntry {
            timer,
            function,
            now,
        },
    );
    trace.at(time + 300, What::TimerExit);
    trace.at(time + 400, What::VectorExit);
}

#[test]
fn a_wait_that_comes_back_at_once_ends_a_cycle_from_the_first_one_on() {
    let (poll, read) = (number("epoll_wait"), number("read"));
    let mut trace = with_timers();
    trace.switch(1, SLEEPS, LOOP, FIFO_80, "loop");
    let (mut at, mut late) = (100 * US, 0);
    set_descriptor(&mut trace, at, PERIOD);
    at += US;
    for cycle in 1..=60_u64 {
        let release = cycle * PERIOD;
        let args = [4, 0, 0];
        trace.at(at, What::Enter { call: poll, args });
        if at < release {
            trace.switch(at + 20, SLEEPS, IDLE, NICE_0, "swapper/0");
            descriptor_expires(&mut trace, release + US);
            trace.wake(release + US + 500, LOOP, FIFO_80, "loop");
            trace.run(release + 3 * US, READY);
            at = release + 4 * US;
        } else {
            trace.at(at + 200, What::Exit { anew: false });
            at += 300;
        }
        let args = [3, 0, 0];
        trace.at(at, What::Enter { call: read, args });
        set_descriptor(&mut trace, at + 100, release + PERIOD);
        trace.at(at + 200, What::Exit { anew: false });
        let work = match cycle % 10 {
            9 => 1_640 * US,
            _ => 40 * US,
        };
        // The next release comes while it works.
        if at + work > release + PERIOD {
            descriptor_expires(&mut trace, release + PERIOD + US);
        }
        at += work;
        late += u64::from(at - release > PERIOD);
    }
    trace.at(
        at,
        What::Enter {
            call: poll,
            args: [4, 0, 0],
        },
    );
    trace.switch(at + 20, SLEEPS, IDLE, NICE_0, "swapper/0");
    descriptor_expires(&mut trace, 61 * PERIOD);
    trace.wake(61 * PERIOD + 500, LOOP, FIFO_80, "loop");
    trace.run(61 * PERIOD + 3 * US, READY);
    let thread = trace.watched();
    assert_eq!((thread.cycles, thread.timed_releases), (60, 60));
    assert_eq!((thread.late.count, late), (6, 6));
    assert_eq!(thread.missed_releases, 0);
    assert_eq!(thread.period_ns.unwrap().get(), PERIOD);
    assert_eq!(first(&thread), ("itself", "its own work", 6));
    let longest = |phase: &str| {
        let found = thread.phases.iter().find(|p| p.phase == phase);
        found.unwrap().max_ns
    };
    assert!(longest("timer") < 10 * US, "{:#?}", thread.phases);
}

/// Sets the interval timer of the loop.
fn set_interval(trace: &mut Trace, time: u64) {
    let (timer, function) = (0xf2, 9);
    let (soft, hard) = (time + 10, time + 10);
    trace.at(
        time,
        What::TimerStart {
            timer,
            function,
            soft,
            hard,
        },
    );
}

/// The loop sleeps until `release`; a signal comes at `time`, whose handler takes `work`, and the program sleeps on.
fn interrupted(trace: &mut Trace, release: u64, time: u64, work: u64) -> u64 {
    // That of an interval timer of the loop's own.
    let (timer, function, now) = (0xf2, 9, time - 400);
    trace.at(
        now,
        What::TimerEntry {
            timer,
            function,
            now,
        },
    );
    trace.wake(time - 200, LOOP, FIFO_80, "loop");
    trace.at(time - 100, What::TimerExit);
    trace.switch(time + US, 0, LOOP, FIFO_80, "loop");
    trace.at(time + 2 * US, What::Exit { anew: true });
    let back = time + 2 * US + work;
    let (call, args) = (number("rt_sigreturn"), [0; 3]);
    trace.at(back, What::Enter { call, args });
    trace.at(back + 100, What::Exit { anew: false });
    trace.sleep(back + US, release, NOBODY);
    release.max(back + 2 * US)
}

#[test]
fn a_sleep_that_a_signal_interrupts_and_that_goes_on_is_one_wait() {
    let mut trace = with_timers();
    trace.on = LOOP;
    set_interval(&mut trace, 0);
    trace.on = IDLE;
    with_strike(&mut trace, NOBODY, |trace, release| {
        let at = interrupted(trace, release, release - 700 * US, 50 * US);
        normal(trace, at, NOBODY)
    });
    let thread = trace.watched();
    assert_eq!((thread.cycles, thread.timed_releases), (99, 99));
    assert!(thread.worst[0].response_ns <= 101 * US);
    // The handler is at work when the release comes: the cycle begins then all the same.
    let mut trace = Trace::new();
    with_strike(&mut trace, NOBODY, |trace, release| {
        let at = interrupted(trace, release, release - 200 * US, 600 * US);
        normal(trace, at, NOBODY)
    });
    let thread = trace.watched();
    assert_eq!(thread.cycles, 99);
    let longest = &thread.worst[0];
    assert_eq!(longest.response_ns, 504 * US);
    assert_eq!(thread.late.rule, "p99");
}

#[test]
fn calls_of_the_function_that_ends_a_cycle_outlast_a_signal_and_the_last_of_many_counts() {
    let mut trace = Trace::new();
    let thread = trace.replay.threads.get_mut(&LOOP).unwrap();
    let sleep = Wait::of(number("clock_nanosleep"), [1, 1, 0]);
    let write = Wait::of(number("write"), [1, 0, 0]);
    for time in 10..80 {
        thread.probes(time);
    }
    thread.enters(100, sleep);
    thread.sets_timer(101, 5_000);
    // The handler of the signal writes, and the loop goes on with its sleep.
    thread.is_interrupted(200);
    thread.enters(250, write);
    thread.leaves(260);
    thread.enters(300, sleep);
    thread.sets_timer(301, 5_000);
    thread.leaves(5_010);
    let over: Vec<Waited> = thread.over(true).collect();
    let Some((wait, calls)) = over.split_last() else {
        panic!("no wait")
    };
    assert_eq!((wait.entered, wait.left), (79, 5_010));
    assert!(!wait.is_no_wait() && calls.iter().all(Waited::is_passed));
    assert_eq!((calls.len(), calls[0].entered), (63, 10));
}

#[test]
fn a_sleep_for_another_time_after_a_signal_is_another_wait() {
    let mut trace = Trace::new();
    with_strike(&mut trace, NOBODY, |trace, release| {
        // The signal is what the loop had waited for: it works, and sleeps until the next release.
        let at = interrupted(trace, release + 300 * US, release - 500 * US, 50 * US);
        normal(trace, at, NOBODY)
    });
    let thread = trace.watched();
    assert_eq!(thread.cycles, 100);
}

#[test]
fn a_thread_that_waits_a_few_times_and_is_silent_then_is_settled_while_its_past_is_known() {
    for waits in [3, 20, 60] {
        let mut trace = Trace::new();
        trace.switch(1, SLEEPS, LOOP, FIFO_80, "loop");
        let mut at = PERIOD - 100 * US;
        for cycle in 1..=waits {
            trace.sleep(at, cycle * PERIOD, NOBODY);
            at = normal(&mut trace, cycle * PERIOD, NOBODY);
        }
        let (call, args) = (FUTEX, [0xbeef, 0, 0]);
        trace.at(at, What::Enter { call, args });
        trace.switch(at + 10, SLEEPS, OTHER, NICE_0, "other");
        for n in 1..60 {
            trace.switch(at + n * 100_000 * US, READY, OTHER, NICE_0, "other");
        }
        // It may be woken in the end, or not.
        if waits == 20 {
            trace.wake(at + 6_000_000 * US, LOOP, FIFO_80, "loop");
            trace.run(at + 6_000_003 * US, READY);
        }
        trace.at(at + 6_000_010 * US, What::Exited { tid: LOOP });
        let thread = trace.watched();
        // Of few waits it is not known which of them ends a cycle: the long one does too. Else it is within the last, which has no end.
        assert_eq!(thread.cycles, waits, "{waits}");
        assert_eq!(thread.open_ns.is_some(), waits > 50, "{waits}");
    }
}

#[test]
fn what_a_thread_does_before_a_silence_is_no_cycle_of_its_loop() {
    let mut trace = Trace::new();
    trace.switch(1, SLEEPS, LOOP, FIFO_80, "loop");
    let mut at = PERIOD;
    for n in 0..4_u64 {
        let (call, args) = (FUTEX, [0xbeef + n, 0, 0]);
        trace.at(at, What::Enter { call, args });
        trace.switch(at + 10, SLEEPS, OTHER, NICE_0, "other");
        trace.wake(at + 50 * US, LOOP, FIFO_80, "loop");
        trace.run(at + 60 * US, READY);
        at += 100 * US;
    }
    trace.sleep(at, 4_000 * PERIOD, (OTHER, NICE_0, "other"));
    for n in 1..30 {
        trace.switch(at + n * 100_000 * US, READY, OTHER, NICE_0, "other");
    }
    at = normal(&mut trace, 4_000 * PERIOD, (OTHER, NICE_0, "other"));
    for cycle in 4_001..4_120_u64 {
        trace.sleep(at, cycle * PERIOD, NOBODY);
        at = normal(&mut trace, cycle * PERIOD, NOBODY);
    }
    let thread = trace.watched();
    assert_eq!(thread.period_ns.unwrap().get(), PERIOD);
    assert_eq!(thread.late.rule, "p99");
    assert!(thread.cycles >= 117, "{}", thread.cycles);
}

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

/// A loop of sixty cycles that then does what `halts` says, while others go on for long.
fn halted(halts: impl Fn(&mut Trace, u64)) -> WatchedThread {
    let mut trace = Trace::new();
    trace.switch(1, SLEEPS, LOOP, FIFO_80, "loop");
    let mut at = PERIOD - 100 * US;
    for cycle in 1..=60 {
        trace.sleep(at, cycle * PERIOD, NOBODY);
        at = normal(&mut trace, cycle * PERIOD, NOBODY);
    }
    halts(&mut trace, at);
    let at = trace.events.last().map_or(at, |last| last.time.max(at));
    for n in 1..4 {
        trace.switch(at + n * 1_000_000 * US, READY, OTHER, NICE_0, "other");
    }
    trace.watched()
}

#[test]
fn a_cycle_that_never_ends_is_late() {
    let lock = halted(|trace, at| {
        let (call, args) = (FUTEX, [0xbeef, 0, 0]);
        trace.at(at, What::Enter { call, args });
        trace.switch(at + 10, SLEEPS, OTHER, NICE_0, "other");
    });
    assert_eq!((lock.cycles, lock.late.count), (60, 1));
    assert_eq!(first(&lock), ("call", "its system call futex", 1));
    assert_eq!(lock.open_ns.unwrap().get(), lock.worst[0].response_ns);
    // Stopped in its sleep, it misses its release.
    let stopped = halted(|trace, at| {
        let release = 61 * PERIOD;
        trace.sleep(at, release, NOBODY);
        trace.wake(at + 50 * US, LOOP, FIFO_80, "loop");
        trace.switch(at + 51 * US, 0, LOOP, FIFO_80, "loop");
        trace.at(at + 52 * US, What::Exit { anew: true });
        trace.switch(at + 53 * US, STOPPED, OTHER, NICE_0, "other");
    });
    assert_eq!((stopped.cycles, stopped.late.count), (61, 1));
    assert_eq!(first(&stopped).0, "stopped");
    // Who sleeps until a time that has not come is in time.
    let sleeps = halted(|trace, at| {
        trace.sleep(at, 900_000 * PERIOD, (OTHER, NICE_0, "other"));
    });
    assert_eq!((sleeps.cycles, sleeps.open_ns), (60, None));
    assert_eq!(sleeps.late.rule, "p99");
    // Who ends after its last cycle, without another wait, is in time.
    let ended = halted(|trace, at| {
        trace.at(at, What::Exited { tid: LOOP });
        trace.switch(at + 10, SLEEPS, OTHER, NICE_0, "other");
    });
    assert_eq!((ended.cycles, ended.open_ns), (59, None));
}

#[test]
fn a_cycle_that_lasts_until_its_program_ends_is_late() {
    const HUNG: u64 = 3_000_000 * US;
    // As it is killed, the thread has the CPU once more.
    let killed = |trace: &mut Trace, since: u64| {
        for n in 1..6 {
            trace.switch(since + n * HUNG / 6, READY, OTHER, NICE_0, "other");
        }
        let at = since + HUNG;
        trace.wake(at, LOOP, FIFO_80, "loop");
        trace.switch(at + US, READY, LOOP, FIFO_80, "loop");
        trace.at(at + 2 * US, What::Exit { anew: true });
        trace.at(at + 3 * US, What::Exited { tid: LOOP });
        trace.switch(at + 4 * US, SLEEPS, OTHER, NICE_0, "other");
    };
    let lock = halted(|trace, at| {
        let (call, args) = (FUTEX, [0xbeef, 0, 0]);
        trace.at(at, What::Enter { call, args });
        trace.switch(at + 10, SLEEPS, OTHER, NICE_0, "other");
        killed(trace, at);
    });
    assert_eq!((lock.cycles, lock.late.count), (60, 1));
    // Not the time until the run ended.
    assert_eq!(lock.open_ns.unwrap().get(), HUNG + 103 * US);
    let stopped = halted(|trace, at| {
        trace.sleep(at, 61 * PERIOD, NOBODY);
        trace.wake(at + 50 * US, LOOP, FIFO_80, "loop");
        trace.switch(at + 51 * US, 0, LOOP, FIFO_80, "loop");
        trace.at(at + 52 * US, What::Exit { anew: true });
        trace.switch(at + 53 * US, STOPPED, OTHER, NICE_0, "other");
        killed(trace, at);
    });
    assert_eq!((stopped.cycles, stopped.late.count), (61, 1));
    // What a thread does after its last cycle, before it leaves by itself, is no cycle.
    let left = halted(|trace, at| {
        for n in 1..6 {
            trace.switch(at + n * HUNG / 6, READY, OTHER, NICE_0, "other");
            trace.switch(at + n * HUNG / 6 + US, READY, LOOP, FIFO_80, "loop");
        }
        let call = number("exit_group");
        let args = [0, 0, 0];
        trace.at(at + HUNG, What::Enter { call, args });
        trace.at(at + HUNG + US, What::Exited { tid: LOOP });
        trace.switch(at + HUNG + 2 * US, SLEEPS, OTHER, NICE_0, "other");
    });
    assert_eq!((left.cycles, left.open_ns), (59, None));
    // Killed while it waits by right, it is in time, however long ago its last release was.
    let sleeps = halted(|trace, at| {
        trace.sleep(at, 900_000 * PERIOD, (OTHER, NICE_0, "other"));
        killed(trace, at);
    });
    assert_eq!((sleeps.cycles, sleeps.open_ns), (60, None));
}

#[test]
fn a_wait_that_is_begun_anew_when_its_time_is_over_is_for_whoever_ends_it() {
    let mut trace = Trace::new();
    with_strike(&mut trace, NOBODY, |trace, release| {
        trace.on_cpu(1, release - US, OTHER, What::WorkEnd);
        trace.expire(release + US);
        trace.run(release + 3 * US, 0);
        // The two words of a condition variable, by turns, each until its time is over.
        for n in 0..5 {
            let at = release + (10 + n * 300) * US;
            // FUTEX_WAIT_BITSET, private.
            let args = [0x1028 + n % 2 * 4, 0x89, 0];
            trace.at(at, What::Enter { call: FUTEX, args });
            trace.switch(at + US, SLEEPS, IDLE, NICE_0, "swapper/0");
            let over = at + 290 * US;
            if n < 4 {
                let name = trace.replay.names.keep(b"timer interrupt");
                trace.at(over, What::VectorEntry { name });
                let (timer, function, now) = (0xf7, 7, over);
                let expires = What::TimerEntry {
                    timer,
                    function,
                    now,
                };
                trace.at(over + 100, expires);
                trace.wake(over + 200, LOOP, FIFO_80, "loop");
                trace.at(over + 300, What::TimerExit);
                trace.at(over + 400, What::VectorExit);
            } else {
                let name = trace.replay.names.keep(b"loop");
                let (tid, prio) = (LOOP, FIFO_80);
                let cpu = 0;
                let waking = What::Waking {
                    tid,
                    prio,
                    name,
                    cpu,
                };
                trace.on_cpu(1, over, OTHER, waking);
            }
            trace.run(over + 2 * US, 0);
        }
        release + 1_600 * US
    });
    let thread = trace.watched();
    let (kind, _, saved) = first(&thread);
    assert_eq!((kind, saved), ("lock", 1), "{:#?}", thread.culprits);
    assert_eq!(thread.culprits[0].tid, Some(OTHER));
    assert!(thread.culprits.iter().all(|of| of.kind != "call"));
    assert!(thread.culprits[0].worst_ns > 1_400 * US);
}

#[test]
fn stacks_that_go_on_to_be_recorded_prolong_no_cycle() {
    let mut trace = Trace::new();
    trace.switch(1, SLEEPS, LOOP, FIFO_80, "loop");
    let mut at = PERIOD - 100 * US;
    for cycle in 1..=60 {
        trace.sleep(at, cycle * PERIOD, NOBODY);
        at = normal(&mut trace, cycle * PERIOD, NOBODY);
    }
    for n in 1..100 {
        let (place, site) = (At::Wait, Site::default());
        trace.at(at + n * PERIOD, What::Stack { at: place, site });
    }
    assert_eq!(trace.watched().open_ns, None);
}
