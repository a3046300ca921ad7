// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Who is named for late cycles.

use punctual_sys::SysRoot;

use super::*;
use crate::watch::culprits::{culprits, late};
use crate::watch::cycle::{Cause, Cycle, Phase, Piece};
use crate::watch::source::idle_exits;
use crate::watch::stacks::{At, Site};
use crate::watch::tally::Tally;
use crate::watch::who::Who;

#[test]
fn a_loop_that_nobody_disturbs_has_no_culprit() {
    let mut trace = Trace::new();
    with_strike(&mut trace, NOBODY, |trace, release| {
        normal(trace, release, NOBODY)
    });
    let thread = trace.watched();
    assert_eq!((thread.cycles, thread.timed_releases), (99, 99));
    assert_eq!(thread.period_ns.unwrap().get(), PERIOD);
    assert!(thread.culprits.is_empty(), "{:#?}", thread.culprits);
    assert_eq!(thread.late.rule, "p99");
    let mean = |phase: &str| {
        thread
            .phases
            .iter()
            .find(|p| p.phase == phase)
            .unwrap()
            .mean_ns
    };
    // The interrupt takes 1 µs, 0.2 µs more make it runnable, 1.8 µs more let it run, and it goes to sleep at 100 µs.
    assert_eq!(
        (mean("timer"), mean("wake-up"), mean("running")),
        (1_200.0, 1_800.0, 97_000.0)
    );
}

#[test]
fn whoever_has_the_cpu_by_right_is_the_culprit() {
    let mut trace = Trace::new();
    with_strike(&mut trace, NOBODY, |trace, release| {
        trace.wake(release - 10 * US, OTHER, FIFO_90, "hog");
        trace.switch(release - 9 * US, 0, OTHER, FIFO_90, "hog");
        trace.expire(release + US);
        trace.run(release + 1_500 * US, SLEEPS);
        release + 1_600 * US
    });
    let thread = trace.watched();
    assert_eq!(first(&thread), ("task", "hog (real-time 90)", 1));
    assert_eq!(thread.late.count, 1);
    assert_eq!(thread.culprits[0].worst_ns, 1_500 * US - 1_400);
}

#[test]
fn a_lower_thread_that_was_there_before_could_not_be_preempted() {
    let mut trace = Trace::new();
    let low = (OTHER, NICE_0, "writer");
    with_strike(&mut trace, low, |trace, release| {
        trace.expire(release + US);
        trace.run(release + 1_200 * US, READY);
        release + 1_300 * US
    });
    let thread = trace.watched();
    assert_eq!(
        first(&thread),
        (
            "unpreemptible",
            "writer (nice 0), which the kernel could not preempt",
            1
        )
    );
}

#[test]
fn a_lower_real_time_thread_has_the_cpu_by_no_right() {
    let mut trace = Trace::new();
    let low = (OTHER, FIFO_10, "writer");
    with_strike(&mut trace, low, |trace, release| {
        trace.expire(release + US);
        trace.run(release + 1_200 * US, READY);
        release + 1_300 * US
    });
    let thread = trace.watched();
    assert_eq!(
        first(&thread),
        (
            "unpreemptible",
            "writer (real-time 10), which the kernel could not preempt",
            1
        )
    );
}

#[test]
fn a_lower_thread_has_the_cpu_by_the_right_of_whoever_waits_for_its_lock() {
    let mut trace = Trace::new();
    let low = (OTHER, FIFO_10, "writer");
    with_strike(&mut trace, low, |trace, release| {
        let name = trace.replay.names.keep(b"writer");
        let inherits = |prio| What::Inherits {
            tid: OTHER,
            prio,
            name,
        };
        // A thread of priority 90 begins to wait on another CPU, and gets the lock before the writer loses this one.
        trace.on_cpu(1, release - 10 * US, HOLDER, inherits(FIFO_90));
        trace.expire(release + US);
        trace.at(release + 1_200 * US, inherits(FIFO_10));
        trace.run(release + 1_210 * US, READY);
        release + 1_300 * US
    });
    let thread = trace.watched();
    assert_eq!(first(&thread), ("task", "writer (real-time 90)", 1));
    let lower = "writer (real-time 10), which the kernel could not preempt";
    let lower = thread.culprits.iter().find(|culprit| culprit.what == lower);
    assert!(lower.is_none_or(|culprit| culprit.saved == 0), "{lower:#?}");
}

#[test]
fn a_thread_that_became_a_real_time_one_while_it_ran_is_kept_from_running_too() {
    let mut trace = Trace::new();
    with_strike(&mut trace, NOBODY, |trace, release| {
        trace.switch(release - 40 * US, SLEEPS, OTHER, NICE_0, "hog");
        // `sched_setscheduler` of its own; then the server of ordinary threads takes the CPU from it.
        trace.on_prio = FIFO_10;
        trace.switch(release - 20 * US, READY, HOLDER, NICE_0, "writer");
        trace.expire(release + US);
        trace.run(release + 1_200 * US, READY);
        release + 1_300 * US
    });
    let thread = trace.watched();
    let (kind, _, saved) = first(&thread);
    assert_eq!((kind, saved), ("throttling", 1), "{:#?}", thread.culprits);
}

#[test]
fn a_lower_thread_that_is_chosen_in_its_place_is_the_schedulers_doing() {
    let mut trace = Trace::new();
    with_strike(&mut trace, NOBODY, |trace, release| {
        trace.expire(release + US);
        trace.run(release + 3 * US, 0);
        // In the middle of its work the budget of real-time threads is spent.
        trace.switch(release + 50 * US, READY, OTHER, NICE_0, "writer");
        trace.switch(release + 1_500 * US, READY, LOOP, FIFO_80, "loop");
        release + 1_550 * US
    });
    let thread = trace.watched();
    let (kind, _, saved) = first(&thread);
    assert_eq!((kind, saved), ("throttling", 1));
}

#[test]
fn a_late_interrupt_of_an_idle_cpu_comes_from_outside() {
    let mut trace = Trace::new();
    with_strike(&mut trace, NOBODY, |trace, release| {
        trace.expire(release + 1_100 * US);
        trace.run(release + 1_103 * US, 0);
        release + 1_200 * US
    });
    let thread = trace.watched();
    assert_eq!(first(&thread).0, "outside");
    let mut trace = Trace::new();
    let low = (OTHER, NICE_0, "writer");
    with_strike(&mut trace, low, |trace, release| {
        trace.expire(release + 1_100 * US);
        trace.run(release + 1_103 * US, READY);
        release + 1_200 * US
    });
    // While another has the CPU nobody can tell: it may have had interrupts off.
    let thread = trace.watched();
    assert_eq!(
        first(&thread),
        (
            "masked",
            "writer (nice 0) with interrupts off, or a late interrupt",
            1
        )
    );
}

#[test]
fn who_keeps_the_holder_of_a_lock_from_running_is_the_culprit() {
    let mut trace = Trace::new();
    with_strike(&mut trace, NOBODY, |trace, release| {
        // The holder has the lock, and is preempted by one between it and the loop.
        trace.switch(release - 500 * US, 0, HOLDER, FIFO_10, "holder");
        trace.switch(release - 400 * US, READY, OTHER, 49, "middle");
        trace.expire(release + US);
        trace.run(release + 3 * US, READY);
        trace.at(
            release + 10 * US,
            What::Enter {
                call: FUTEX,
                args: [0xbeef, 0, 0],
            },
        );
        trace.switch(release + 11 * US, SLEEPS, OTHER, 49, "middle");
        trace.switch(release + 1_500 * US, SLEEPS, HOLDER, FIFO_10, "holder");
        trace.wake(release + 1_600 * US, LOOP, FIFO_80, "loop");
        trace.switch(release + 1_601 * US, READY, LOOP, FIFO_80, "loop");
        trace.at(release + 1_602 * US, What::Exit { anew: false });
        release + 1_700 * US
    });
    let thread = trace.watched();
    let (kind, what, saved) = first(&thread);
    assert_eq!((kind, saved), ("lock-chain", 1));
    assert_eq!(
        what,
        "middle (real-time 50), which kept holder from running, which held a lock"
    );
    let second = &thread.culprits[1];
    assert_eq!((second.kind.as_str(), second.worst_ns), ("lock", 100 * US));
}

#[test]
fn a_place_is_counted_once_however_many_pieces_the_time_is_in() {
    let mut trace = Trace::new();
    with_strike(&mut trace, NOBODY, |trace, release| {
        trace.switch(release - 500 * US, 0, HOLDER, FIFO_10, "holder");
        trace.expire(release + US);
        trace.run(release + 3 * US, READY);
        let (call, args) = (FUTEX, [0xbeef, 0, 0]);
        trace.at(release + 10 * US, What::Enter { call, args });
        let site = Site::in_program(7);
        let at = At::Wait;
        trace.at(release + 11 * US, What::Stack { at, site });
        trace.switch(release + 11 * US, SLEEPS, HOLDER, FIFO_10, "holder");
        // The one between them has the CPU four times.
        for n in 0..4 {
            let at = release + (100 + n * 300) * US;
            trace.switch(at, READY, OTHER, 49, "middle");
            trace.switch(at + 200 * US, SLEEPS, HOLDER, FIFO_10, "holder");
        }
        trace.wake(release + 1_600 * US, LOOP, FIFO_80, "loop");
        trace.switch(release + 1_601 * US, READY, LOOP, FIFO_80, "loop");
        trace.at(release + 1_602 * US, What::Exit { anew: false });
        release + 1_700 * US
    });
    let watcher = trace.watcher(&["loop"], Matters::OfThePeriod);
    let (.., tally) = watcher.shown().next().unwrap();
    let longest = tally.longer_than(PERIOD);
    let counts: Vec<u32> = longest[0].sites.iter().map(|(.., count)| *count).collect();
    assert_eq!(counts, [1, 1, 1], "{:?}", longest[0].sites);
}

#[test]
fn what_the_loop_does_itself_is_its_own_fault() {
    let mut trace = Trace::new();
    with_strike(&mut trace, NOBODY, |trace, release| {
        trace.expire(release + US);
        trace.run(release + 3 * US, 0);
        // Eleven hundred pages, one fault after the other.
        for fault in 0..1_100 {
            trace.at(release + (50 + fault) * US, What::Fault);
        }
        release + 1_200 * US
    });
    let thread = trace.watched();
    assert_eq!(first(&thread), ("page-fault", "page faults of its own", 1));
    assert_eq!(thread.page_faults, 1_100);
    let mut trace = Trace::new();
    with_strike(&mut trace, NOBODY, |trace, release| {
        trace.expire(release + US);
        trace.run(release + 3 * US, 0);
        // Somebody on another CPU sends the signal.
        let name = trace.replay.names.keep(b"debugger");
        trace.on_cpu(
            1,
            release + 40 * US,
            OTHER,
            What::Renamed { tid: OTHER, name },
        );
        let signal = What::Signal {
            signal: 19,
            tid: LOOP,
        };
        trace.on_cpu(1, release + 49 * US, OTHER, signal);
        trace.switch(release + 50 * US, STOPPED, IDLE, NICE_0, "swapper/0");
        trace.wake(release + 1_500 * US, LOOP, FIFO_80, "loop");
        trace.switch(release + 1_501 * US, 0, LOOP, FIFO_80, "loop");
        release + 1_600 * US
    });
    let thread = trace.watched();
    assert_eq!(
        first(&thread),
        (
            "stopped",
            "a signal from debugger (nice 0) that stopped it",
            1
        )
    );
}

#[test]
fn a_cycle_that_waits_for_the_one_before_has_the_same_culprit() {
    let mut trace = Trace::new();
    with_strike(&mut trace, NOBODY, |trace, release| {
        trace.wake(release - 10 * US, OTHER, FIFO_90, "hog");
        trace.switch(release - 9 * US, 0, OTHER, FIFO_90, "hog");
        trace.expire(release + US);
        // Three releases pass.
        trace.run(release + 3_500 * US, SLEEPS);
        release + 3_600 * US
    });
    let thread = trace.watched();
    assert_eq!(first(&thread).1, "hog (real-time 90)");
    assert!(thread.late.count >= 2, "{:#?}", thread.late);
    assert_eq!(thread.culprits[0].saved, thread.late.count);
}

#[test]
fn a_late_start_is_the_fault_of_what_made_the_cycle_before_late() {
    let mut trace = Trace::new();
    with_strike(&mut trace, NOBODY, |trace, release| {
        trace.wake(release - 10 * US, OTHER, FIFO_90, "hog");
        trace.switch(release - 9 * US, 0, OTHER, FIFO_90, "hog");
        trace.expire(release + US);
        // It works for longer than the next release, which finds it at that.
        trace.run(release + 960 * US, SLEEPS);
        release + 1_920 * US
    });
    let thread = trace.watched();
    assert_eq!(thread.late.count, 2);
    assert_eq!(first(&thread), ("task", "hog (real-time 90)", 2));
    assert_eq!(thread.culprits[0].cycles, 2);
    let earlier = thread.culprits.iter().find(|c| c.kind == "earlier-cycle");
    assert_eq!(earlier.map(|c| (c.cycles, c.saved)), Some((1, 0)));
}

#[test]
fn what_a_kernel_worker_does_is_its_name() {
    let mut trace = Trace::with(Some(Arc::new(|address| match address {
        7 => Some("hrtimer_wakeup".to_owned()),
        8 => Some("flush_to_ldisc".to_owned()),
        _ => None,
    })));
    with_strike(&mut trace, NOBODY, |trace, release| {
        trace.switch(release - 9 * US, 0, OTHER, NICE_0, "kworker/0:1");
        trace.at(release - 8 * US, What::WorkStart { function: 8 });
        trace.expire(release + US);
        trace.run(release + 1_500 * US, READY);
        release + 1_600 * US
    });
    let thread = trace.watched();
    let (kind, what, saved) = first(&thread);
    assert_eq!((kind, saved), ("unpreemptible", 1));
    assert!(
        what.starts_with("flush_to_ldisc (kernel worker) (nice 0)"),
        "{what}"
    );
}

#[test]
fn a_thread_that_is_moved_while_it_runs_waits_for_the_move_and_a_stopped_machine_is_told_apart() {
    let strike = |moves: bool| {
        let mut trace = Trace::new();
        // Somebody of a lower priority has the other CPU.
        let name = trace.replay.names.keep(b"mover");
        trace.on_cpu(1, 0, HOLDER, What::Renamed { tid: HOLDER, name });
        with_strike(&mut trace, NOBODY, |trace, release| {
            trace.expire(release + US);
            trace.run(release + 3 * US, 0);
            trace.switch(release + 50 * US, READY, OTHER, 0, "migration/0");
            if moves {
                trace.at(release + 60 * US, What::Migrated { tid: LOOP, to: 1 });
                let next_name = trace.replay.names.keep(b"loop");
                trace.on_cpu(
                    1,
                    release + 1_500 * US,
                    HOLDER,
                    What::Switch {
                        prev_prio: FIFO_10,
                        prev_state: READY,
                        next: LOOP,
                        next_prio: FIFO_80,
                        next_name,
                    },
                );
                // It comes back by itself, at its next wait.
                trace.switch(release + 1_510 * US, SLEEPS, IDLE, NICE_0, "swapper/0");
                let next_name = trace.replay.names.keep(b"mover");
                trace.on_cpu(
                    1,
                    release + 1_520 * US,
                    LOOP,
                    What::Switch {
                        prev_prio: FIFO_80,
                        prev_state: READY,
                        next: HOLDER,
                        next_prio: FIFO_10,
                        next_name,
                    },
                );
                trace.at(release + 1_530 * US, What::Migrated { tid: LOOP, to: 0 });
                trace.switch(release + 1_540 * US, 0, LOOP, FIFO_80, "loop");
            } else {
                trace.switch(release + 1_500 * US, SLEEPS, LOOP, FIFO_80, "loop");
            }
            release + 1_600 * US
        });
        trace
    };
    let moved = strike(true).watcher(&["loop"], Matters::OfThePeriod);
    let (n, thread, tally) = moved.shown().next().unwrap();
    let moved = moved.watched_thread(n, thread, tally);
    assert_eq!(moved.culprits[0].kind, "migration", "{:#?}", moved.culprits);
    assert_eq!(moved.culprits[0].saved, 1);
    let stopped = strike(false).watched();
    let (kind, what, saved) = first(&stopped);
    assert_eq!((kind, saved), ("task", 1));
    assert!(
        what.starts_with("migration/0, the kernel's CPU stopper"),
        "{what}"
    );
}

#[test]
fn a_holder_that_waits_for_the_lock_of_another_is_not_the_last_of_the_chain() {
    const LAST: Tid = 400;
    let mut trace = Trace::new();
    trace.replay.watch(HOLDER, LOOP, b"holder");
    with_strike(&mut trace, NOBODY, |trace, release| {
        // The holder waits for a lock of a third thread, which works on the other CPU.
        trace.switch(release - 500 * US, 0, HOLDER, FIFO_10, "holder");
        let args = [0xfade, 0, 0];
        trace.at(release - 490 * US, What::Enter { call: FUTEX, args });
        trace.switch(release - 480 * US, SLEEPS, IDLE, NICE_0, "swapper/0");
        let next_name = trace.replay.names.keep(b"last");
        let begins = What::Switch {
            prev_prio: NICE_0,
            prev_state: 0,
            next: LAST,
            next_prio: NICE_0,
            next_name,
        };
        trace.on_cpu(1, release - 470 * US, IDLE, begins);
        trace.expire(release + US);
        trace.run(release + 3 * US, 0);
        let args = [0xbeef, 0, 0];
        trace.at(release + 10 * US, What::Enter { call: FUTEX, args });
        trace.switch(release + 11 * US, SLEEPS, IDLE, NICE_0, "swapper/0");
        let name = trace.replay.names.keep(b"holder");
        let waking = What::Waking {
            tid: HOLDER,
            prio: FIFO_10,
            name,
            cpu: 0,
        };
        trace.on_cpu(1, release + 1_500 * US, LAST, waking);
        trace.switch(release + 1_501 * US, 0, HOLDER, FIFO_10, "holder");
        trace.at(release + 1_502 * US, What::Exit { anew: false });
        trace.wake(release + 1_520 * US, LOOP, FIFO_80, "loop");
        trace.switch(release + 1_521 * US, READY, LOOP, FIFO_80, "loop");
        trace.at(release + 1_522 * US, What::Exit { anew: false });
        release + 1_600 * US
    });
    let thread = trace.watched();
    let (kind, what, saved) = first(&thread);
    assert_eq!((kind, saved), ("lock", 1), "{:#?}", thread.culprits);
    assert!(what.starts_with("last ("), "{what}");
}

#[test]
fn a_sleep_that_a_signal_interrupts_and_the_kernel_makes_anew_is_one_wait() {
    let mut trace = Trace::new();
    with_strike(&mut trace, NOBODY, |trace, release| {
        let stop = What::Signal {
            signal: 19,
            tid: LOOP,
        };
        // Stopped while it sleeps, and until long after its release.
        trace.on = OTHER;
        trace.at(release - 500 * US, stop);
        trace.wake(release - 499 * US, LOOP, FIFO_80, "loop");
        trace.switch(release - 498 * US, READY, LOOP, FIFO_80, "loop");
        trace.at(release - 497 * US, What::Exit { anew: true });
        trace.switch(release - 496 * US, STOPPED, IDLE, NICE_0, "swapper/0");
        trace.on = OTHER;
        trace.wake(release + 1_500 * US, LOOP, FIFO_80, "loop");
        trace.switch(release + 1_501 * US, READY, LOOP, FIFO_80, "loop");
        let args = [1, 1, 0];
        trace.at(release + 1_502 * US, What::Enter { call: SLEEP, args });
        let timer = What::TimerStart {
            timer: 0xf00,
            function: 7,
            soft: release,
            hard: release,
        };
        trace.at(release + 1_503 * US, timer);
        trace.expire(release + 1_504 * US);
        trace.at(release + 1_506 * US, What::Exit { anew: false });
        release + 1_600 * US
    });
    let thread = trace.watched();
    assert_eq!((thread.cycles, thread.late.count), (99, 1));
    assert_eq!(first(&thread).0, "stopped", "{:#?}", thread.culprits);
}

#[test]
fn a_cpu_on_which_the_scheduler_keeps_another_real_time_thread_waiting_is_held_back_too() {
    const HOG: Tid = 400;
    let mut trace = Trace::new();
    let hog = (HOG, FIFO_10, "hog");
    with_strike(&mut trace, hog, |trace, release| {
        // The budget is used up while the loop sleeps: an ordinary thread gets the CPU, and the hog does not.
        trace.switch(release - 300 * US, READY, LOOP, FIFO_80, "loop");
        trace.switch(release - 290 * US, SLEEPS, OTHER, NICE_0, "writer");
        trace.expire(release + US);
        trace.run(release + 1_500 * US, READY);
        release + 1_600 * US
    });
    let thread = trace.watched();
    assert_eq!(first(&thread).0, "throttling", "{:#?}", thread.culprits);
}

#[test]
fn more_late_cycles_than_are_kept_have_the_same_culprit() {
    const CYCLES: u64 = 30_000;
    let mut replay = Replay::new(1, true, 10, None);
    let hog = Who::Task {
        tid: 0,
        name: replay.names.keep(b"hog"),
        prio: FIFO_90,
    };
    let mut tally = Tally::new(&Keep::default(), Some(200 * US));
    for number in 0..CYCLES {
        let release = number * PERIOD;
        // Nine cycles in ten are late by what a hog takes of them.
        let taken = if number % 10 == 0 { 0 } else { 400 * US };
        let (ready, end) = (release + taken, release + taken + 50 * US);
        let piece = |from, to, phase, cause| Piece {
            from,
            to,
            cpu: 0,
            phase,
            cause,
        };
        let pieces = [
            piece(release, ready, Phase::Wakeup, Cause::Taken(hog)),
            piece(ready, end, Phase::Running, Cause::Itself),
        ];
        let cycle = Cycle {
            tid: LOOP,
            number,
            release,
            begun: release,
            asked: true,
            end,
            missed: 0,
            events: 2,
            pieces: pieces
                .into_iter()
                .filter(|piece| piece.length() > 0)
                .collect(),
            sites: Vec::new(),
        };
        tally.add(&cycle, &replay, 0);
    }
    let late = late(&tally);
    assert_eq!(
        (late.rule.as_str(), late.count),
        ("deadline", CYCLES / 10 * 9)
    );
    assert!(late.examined < late.count);
    let found = culprits(
        &tally,
        &late,
        Matters::OfThePeriod,
        &replay.names,
        &mut |_| Vec::new(),
    );
    let [first] = found.as_slice() else {
        panic!("{found:#?}");
    };
    assert_eq!(first.what, "hog (real-time 90)");
    assert!(first.in_time_mean_ns < 1.0, "{first:#?}");
    assert_eq!(first.saved, late.examined);
}

#[test]
fn an_idle_state_is_left_as_fast_as_that_of_its_own_cpu() {
    let dir = tempfile::tempdir().unwrap();
    for (cpu, us) in [(0, "100"), (4, "1200")] {
        let path = dir
            .path()
            .join(format!("sys/devices/system/cpu/cpu{cpu}/cpuidle/state1"));
        std::fs::create_dir_all(&path).unwrap();
        std::fs::write(path.join("latency"), format!("{us}\n")).unwrap();
    }
    let exits = idle_exits(&SysRoot::at(dir.path()));
    assert_eq!(
        exits,
        IdleExits::from([((0, 1), 100 * US), ((4, 1), 1_200 * US)])
    );
}
