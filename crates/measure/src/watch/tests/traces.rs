// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Traces with gaps, pieces, and clocks that are set.

use super::*;

#[test]
fn time_of_a_cpu_of_which_nothing_is_known_is_not_accounted_for() {
    let mut trace = Trace::new();
    with_strike(&mut trace, NOBODY, |trace, release| {
        // The timer expires on a CPU without an event so far.
        let at = release + 1_100 * US;
        let entry = What::TimerEntry {
            timer: 0xf00,
            function: 7,
            now: at,
        };
        trace.on_cpu(1, at, IDLE, entry);
        trace.on_cpu(1, at + 300, IDLE, What::TimerExit);
        trace.wake(at + 400, LOOP, FIFO_80, "loop");
        trace.run(release + 1_103 * US, 0);
        release + 1_200 * US
    });
    let watcher = trace.watcher(&["loop"], Matters::OfThePeriod);
    let (n, thread, tally) = watcher.shown().next().unwrap();
    assert_eq!(tally.unclear, 1);
    let thread = watcher.watched_thread(n, thread, tally);
    assert_eq!(first(&thread), ("unknown", "nothing that was recorded", 1));
    let longest = |phase: &str| {
        let found = thread.phases.iter().find(|p| p.phase == phase);
        found.unwrap().max_ns
    };
    assert_eq!(longest("unaccounted"), 1_100 * US);
    // The next cycle's timer is late too, because the loop set it late.
    assert!(longest("timer") < 1_000 * US, "{:#?}", thread.phases);
}

#[test]
fn a_timer_of_another_clock_and_a_switch_that_was_not_recorded_change_nothing() {
    let mut plain = Trace::new();
    with_strike(&mut plain, NOBODY, |trace, release| {
        normal(trace, release, NOBODY)
    });
    let plain = plain.watched();
    let mut shifted = Trace::new();
    shifted.clock_off = 1_700_000_000_000_000_000;
    with_strike(&mut shifted, NOBODY, |trace, release| {
        normal(trace, release, NOBODY)
    });
    let shifted = shifted.watched();
    // That clock is read as the interrupt begins.
    let off = |of: &WatchedThread| of.worst[0].response_ns;
    assert!(off(&shifted).abs_diff(off(&plain)) <= 100);
    let mut missing = Trace::new();
    with_strike(&mut missing, NOBODY, |trace, release| {
        normal(trace, release, NOBODY)
    });
    // Some kernels do not record switches out of idle.
    missing
        .events
        .retain(|event| event.pid != IDLE || !matches!(event.what, What::Switch { .. }));
    let missing = missing.watched();
    assert_eq!((missing.cycles, missing.culprits.len()), (99, 0));
    assert!(off(&missing).abs_diff(off(&plain)) <= 200);
}

#[test]
fn a_clock_that_is_set_while_the_loop_sleeps_moves_no_release() {
    const HOUR: u64 = 3_600_000_000_000;
    for forward in [true, false] {
        let mut trace = Trace::new();
        trace.clock_off = 1_700_000_000_000_000_000;
        with_strike(&mut trace, NOBODY, |trace, release| {
            // The timer was set by the old clock, and expires by the new one.
            match forward {
                true => trace.clock_off += HOUR,
                false => trace.clock_off -= HOUR,
            }
            normal(trace, release, NOBODY)
        });
        let thread = trace.watched();
        assert_eq!(thread.cycles, 99);
        let longest = thread.worst[0].response_ns;
        assert!(longest <= 100 * US, "{forward}: {longest}");
    }
}

/// Cycles of a loop whose timer comes after those of others in each third interrupt, by the trace's clock or another.
fn behind_others(clock_off: u64) -> WatchedThread {
    let mut trace = Trace::new();
    trace.clock_off = clock_off;
    trace.switch(1, SLEEPS, LOOP, FIFO_80, "loop");
    let mut at = PERIOD - 100 * US;
    for cycle in 1..=300_u64 {
        let release = cycle * PERIOD;
        trace.sleep(at, release, NOBODY);
        at = release + 100 * US;
        if !cycle.is_multiple_of(3) {
            normal(&mut trace, release, NOBODY);
            continue;
        }
        let name = trace.replay.names.keep(b"timer interrupt");
        let entry = |timer, function, clock| What::TimerEntry {
            timer,
            function,
            now: release + US + clock,
        };
        trace.at(release + US, What::VectorEntry { name });
        trace.at(release + US + 50, entry(0xbad, 9, 0));
        trace.at(release + 61 * US, What::TimerExit);
        trace.at(release + 61 * US + 10, entry(0xf00, 7, clock_off));
        trace.wake(release + 61 * US + 100, LOOP, FIFO_80, "loop");
        trace.at(release + 61 * US + 200, What::TimerExit);
        trace.at(release + 61 * US + 300, What::VectorExit);
        trace.run(release + 63 * US, READY);
    }
    trace.sleep(at, 400 * PERIOD, NOBODY);
    trace.watched()
}

#[test]
fn what_an_interrupt_does_for_other_timers_is_in_the_cycle_by_any_clock() {
    let plain = behind_others(0);
    let shifted = behind_others(1_700_000_000_000_000_000);
    let timer = |of: &WatchedThread| {
        let late = of.phases.iter().find(|p| p.phase == "timer");
        late.unwrap().mean_ns
    };
    assert!(timer(&plain) > 20_000.0, "{}", timer(&plain));
    let apart = (timer(&plain) - timer(&shifted)).abs();
    assert!(apart <= 200.0, "{apart}");
    let longest = |of: &WatchedThread| of.worst[0].response_ns;
    assert!(longest(&plain).abs_diff(longest(&shifted)) <= 200);
}

#[test]
fn whoever_keeps_the_soft_interrupts_thread_from_a_timer_had_interrupts_on() {
    let mut trace = Trace::new();
    with_strike(&mut trace, (OTHER, NICE_0, "hog"), |trace, release| {
        // On PREEMPT_RT: the interrupt comes in time, and leaves the timer to ksoftirqd, which comes after the hog.
        let name = trace.replay.names.keep(b"timer interrupt");
        trace.at(release + US, What::VectorEntry { name });
        trace.at(release + 4 * US, What::VectorExit);
        let after = release + 3_204 * US;
        trace.switch(after, READY, HOLDER, NICE_0, "ksoftirqd/0");
        trace.at(after + 8 * US, What::SoftirqEntry { vec: 8 });
        let entry = What::TimerEntry {
            timer: 0xf00,
            function: 7,
            now: after + 9 * US,
        };
        trace.at(after + 9 * US, entry);
        trace.wake(after + 10 * US, LOOP, FIFO_80, "loop");
        trace.at(after + 11 * US, What::TimerExit);
        trace.at(after + 12 * US, What::SoftirqExit);
        trace.run(after + 13 * US, READY);
        after + 100 * US
    });
    let thread = trace.watched();
    let (kind, what, _) = first(&thread);
    assert_eq!((kind, what), ("task", "hog (nice 0)"));
    let masked = thread.culprits.iter().find(|of| of.kind == "masked");
    assert_eq!(masked, None, "{:#?}", thread.worst[0]);
}

/// Whatever the trace says, and however it is damaged, nothing panics and nothing is made of nothing.
#[test]
fn a_trace_in_pieces_is_no_defect() {
    for gap in 2..40 {
        let mut trace = Trace::new();
        with_strike(&mut trace, NOBODY, |trace, release| {
            normal(trace, release, NOBODY)
        });
        let mut n = 0;
        trace.events.retain(|_| {
            n += 1;
            n % gap != 0
        });
        let watcher = trace.watcher(&[], Matters::OfTheMedian);
        for (n, thread, tally) in watcher.shown() {
            let seen = watcher.watched_thread(n, thread, tally);
            for cycle in &seen.worst {
                let sum: u64 = cycle.pieces.iter().map(|p| p.to_ns - p.from_ns).sum();
                assert_eq!(
                    sum + cycle.left_out_ns,
                    cycle.response_ns,
                    "every {gap}th: {cycle:#?}"
                );
            }
        }
    }
}

#[test]
fn a_timer_whose_function_the_kernel_does_not_name_is_what_its_thread_waits_for() {
    let mut trace = Trace::with(None);
    with_strike(&mut trace, NOBODY, |trace, release| {
        // One that the scheduler sets on the loop's time, in no call of its own.
        let timer = What::TimerStart {
            timer: 0xbad,
            function: 9,
            soft: release + 400 * US,
            hard: release + 400 * US,
        };
        let after = normal(trace, release, NOBODY);
        trace.at(release + 50 * US, timer);
        after
    });
    let thread = trace.watched();
    assert_eq!((thread.cycles, thread.timed_releases), (99, 99));
    assert!(thread.culprits.is_empty(), "{:#?}", thread.culprits);
}

#[test]
fn a_thread_that_ended_is_settled_while_its_past_is_known() {
    let mut trace = Trace::new();
    trace.switch(1, SLEEPS, LOOP, FIFO_80, "loop");
    let mut at = PERIOD - 100 * US;
    for cycle in 1..=8_u64 {
        let release = cycle * PERIOD;
        trace.sleep(at, release, NOBODY);
        at = normal(&mut trace, release, NOBODY);
    }
    trace.at(at, What::Exited { tid: LOOP });
    trace.switch(at + 10, SLEEPS, OTHER, NICE_0, "other");
    // Others go on for longer than the past is kept.
    for n in 1..60 {
        trace.switch(at + n * 100_000 * US, READY, OTHER, NICE_0, "other");
    }
    let thread = trace.watched();
    assert_eq!(thread.cycles, 7);
}

#[test]
fn a_name_that_no_thread_has_is_told_with_those_that_there_are() {
    let seen = |threads: &[&str]| {
        let mut trace = Trace::with(None);
        with_strike(&mut trace, NOBODY, |trace, release| {
            normal(trace, release, NOBODY)
        });
        trace.watcher(threads, Matters::OfThePeriod).no_cycle()
    };
    assert_eq!(
        seen(&["nosuch", "other"]),
        "--threads nosuch,other: no thread has this in its name; there were loop"
    );
    assert!(seen(&["loop"]).starts_with("no watched thread"));
}
