// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Threads whose late cycles are known, from made-up traces: what the machine that runs the tests does has no part in it.

use std::sync::Arc;

use punctual_model::watch::WatchedThread;
use punctual_stats::Keep;

use super::cycle::IdleExits;
use super::event::{Event, What};
use super::replay::Replay;
use super::who::Tid;
use super::{Matters, Taken, Target, Watch, Watcher};

const LOOP: Tid = 100;
const OTHER: Tid = 200;
const HOLDER: Tid = 300;
const IDLE: Tid = 0;
const FIFO_80: i16 = 19;
const FIFO_90: i16 = 9;
const FIFO_10: i16 = 89;
const NICE_0: i16 = 120;

const US: u64 = 1_000;
const PERIOD: u64 = 1_000 * US;

/// States of a thread that the kernel says when it loses the CPU.
const READY: u32 = 0;
const SLEEPS: u32 = 1;
const STOPPED: u32 = 4;

const SLEEP: i64 = 230;
const FUTEX: i64 = 202;

/// A made-up trace of one CPU, and who has it.
struct Trace {
    replay: Replay,
    events: Vec<Event>,
    on: Tid,
    /// What the timer's clock shows beyond the trace's.
    clock_off: u64,
}

impl Trace {
    fn new() -> Self {
        let symbols = Arc::new(|address| (address == 7).then(|| "hrtimer_wakeup".to_owned()));
        let mut replay = Replay::new(1, true, 10, symbols);
        replay.watch(LOOP, LOOP, b"loop");
        Self {
            replay,
            events: Vec::new(),
            on: IDLE,
            clock_off: 0,
        }
    }

    fn at(&mut self, time: u64, what: What) {
        self.events.push(Event {
            time,
            cpu: 0,
            pid: self.on,
            what,
        });
    }

    /// The same on another CPU, which `pid` has.
    fn on_cpu(&mut self, cpu: u32, time: u64, pid: Tid, what: What) {
        self.events.push(Event {
            time,
            cpu,
            pid,
            what,
        });
    }

    fn switch(&mut self, time: u64, state: u32, next: Tid, prio: i16, name: &str) {
        let next_name = self.replay.names.keep(name.as_bytes());
        self.at(
            time,
            What::Switch {
                prev_state: state,
                next,
                next_prio: prio,
                next_name,
            },
        );
        self.on = next;
    }

    fn wake(&mut self, time: u64, tid: Tid, prio: i16, name: &str) {
        let name = self.replay.names.keep(name.as_bytes());
        self.at(
            time,
            What::Waking {
                tid,
                prio,
                name,
                cpu: 0,
            },
        );
    }

    /// The loop goes to sleep until `release`, and `next` gets the CPU.
    fn sleep(&mut self, time: u64, release: u64, next: (Tid, i16, &str)) {
        let args = [1, 1, 0];
        self.at(time, What::Enter { call: SLEEP, args });
        let off = self.clock_off;
        self.at(
            time + 10,
            What::TimerStart {
                timer: 0xf00,
                function: 7,
                soft: release + off,
                hard: release + off,
            },
        );
        self.switch(time + 20, SLEEPS, next.0, next.1, next.2);
    }

    /// The timer's interrupt comes and makes the loop runnable.
    fn expire(&mut self, time: u64) {
        let name = self.replay.names.keep(b"timer interrupt");
        self.at(time, What::VectorEntry { name });
        let now = time + self.clock_off;
        self.at(
            time + 100,
            What::TimerEntry {
                timer: 0xf00,
                function: 7,
                now,
            },
        );
        self.wake(time + 200, LOOP, FIFO_80, "loop");
        self.at(time + 300, What::TimerExit);
        self.at(time + 400, What::VectorExit);
    }

    /// The loop has the CPU and is back from its sleep.
    fn run(&mut self, time: u64, state: u32) {
        self.switch(time, state, LOOP, FIFO_80, "loop");
        self.at(time + 100, What::Exit);
    }

    /// Has the threads of these names watched, or all where there is none.
    fn watcher(self, threads: &[&str], matters: Matters) -> Watcher {
        let watch = Watch {
            target: Target::Process(1),
            deadline: None,
            cycle_at: None,
            threads: threads.iter().map(|&name| name.to_owned()).collect(),
            output_to_stderr: false,
            keep_cycles: true,
            matters,
            stacks: Taken::None,
            buffer_kib: None,
        };
        let exits = IdleExits::from([(1, 2 * US)]);
        let mut watcher = Watcher::new(watch, exits, self.replay, Keep::default(), 0);
        watcher.take_in(&self.events);
        watcher.settle_all();
        watcher
    }

    /// Has the loop watched, and returns what was seen of it.
    fn watched(self) -> WatchedThread {
        let watcher = self.watcher(&["loop"], Matters::OfThePeriod);
        let (n, thread, tally) = watcher.shown().next().unwrap();
        assert_eq!(
            tally.unclear,
            0,
            "{:#?}",
            watcher.watched_thread(n, thread, tally).worst[0]
        );
        watcher.watched_thread(n, thread, tally)
    }
}

const NOBODY: (Tid, i16, &str) = (IDLE, NICE_0, "swapper/0");

/// A hundred cycles of 100 µs, the 50th of which `strike` makes late: it is given its release and returns when its work is
/// done.
fn with_strike(trace: &mut Trace, idle: (Tid, i16, &str), strike: impl Fn(&mut Trace, u64) -> u64) {
    trace.switch(1, SLEEPS, LOOP, FIFO_80, "loop");
    let mut at = PERIOD - 100 * US;
    for cycle in 1..=100_u64 {
        let release = cycle * PERIOD;
        trace.sleep(at, release, idle);
        at = match cycle {
            50 => strike(trace, release),
            _ => normal(trace, release.max(at + 100), idle),
        };
    }
    trace.sleep(at, 200 * PERIOD, idle);
}

fn normal(trace: &mut Trace, release: u64, idle: (Tid, i16, &str)) -> u64 {
    trace.expire(release + US);
    trace.run(release + 3 * US, if idle.0 == IDLE { 0 } else { READY });
    release + 100 * US
}

fn first(thread: &WatchedThread) -> (&str, &str, u64) {
    let first = thread
        .culprits
        .first()
        .unwrap_or_else(|| panic!("{:#?}", thread.worst[0]));
    (&first.kind, &first.what, first.saved)
}

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
        trace.at(release + 1_602 * US, What::Exit);
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

#[test]
fn what_a_kernel_worker_does_is_its_name() {
    let mut trace = Trace::new();
    let symbols = |address| match address {
        7 => Some("hrtimer_wakeup".to_owned()),
        8 => Some("flush_to_ldisc".to_owned()),
        _ => None,
    };
    trace.replay = Replay::new(1, true, 10, Arc::new(symbols));
    trace.replay.watch(LOOP, LOOP, b"loop");
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
        trace.at(release + 1_502 * US, What::Exit);
        trace.wake(release + 1_520 * US, LOOP, FIFO_80, "loop");
        trace.switch(release + 1_521 * US, READY, LOOP, FIFO_80, "loop");
        trace.at(release + 1_522 * US, What::Exit);
        release + 1_600 * US
    });
    let thread = trace.watched();
    let (kind, what, saved) = first(&thread);
    assert_eq!((kind, saved), ("lock", 1), "{:#?}", thread.culprits);
    assert!(what.starts_with("last ("), "{what}");
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
