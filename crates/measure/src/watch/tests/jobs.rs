// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `SCHED_DEADLINE` threads that end each job with `sched_yield`, and what happens to one that uses up its runtime.

use punctual_model::Nanos;

use super::waits::number;
use super::*;
use crate::watch::thread::Program;

const DEADLINE: i16 = -1;

/// The timer of the loop's next job, and that of the CPU's fair server, which has the same function.
const JOBS: u64 = 0xd1;
const SERVER: u64 = 0xd2;

/// A trace of a `SCHED_DEADLINE` loop, where the kernel names its functions or does not.
fn with_jobs(named: bool) -> Trace {
    let names = |address: u64| (address == 10).then(|| "dl_task_timer".to_owned());
    let mut trace = Trace::with(named.then(|| Arc::new(names) as Symbols));
    trace.prio = DEADLINE;
    trace
}

fn set(trace: &mut Trace, time: u64, timer: u64, at: u64) {
    let (function, soft, hard) = (10, at, at);
    let start = What::TimerStart {
        timer,
        function,
        soft,
        hard,
    };
    trace.at(time, start);
}

/// A timer's interrupt comes. No event says of a thread that it is made runnable by that.
fn expires(trace: &mut Trace, time: u64, timer: u64) {
    let name = trace.replay.names.keep(b"timer interrupt");
    trace.at(time, What::VectorEntry { name });
    let (function, now) = (10, time + 100);
    let entry = What::TimerEntry {
        timer,
        function,
        now,
    };
    trace.at(time + 100, entry);
    trace.at(time + 300, What::TimerExit);
    trace.at(time + 400, What::VectorExit);
}

/// The loop ends its job, of which the next one has its runtime at `release`.
fn ends_job(trace: &mut Trace, time: u64, release: u64, server: bool) {
    let (call, args) = (number("sched_yield"), [time, 7, 7]);
    trace.at(time, What::Enter { call, args });
    set(trace, time + 10, JOBS, release);
    if server {
        set(trace, time + 15, SERVER, time + 50 * US);
    }
    trace.switch(time + 20, READY, OTHER, NICE_0, "other");
    if server {
        expires(trace, time + 50 * US, SERVER);
    }
}

/// A hundred jobs of 100 µs, the last of which does not end; the 50th uses up its runtime, and `taker` has the CPU until the next.
fn jobs(named: bool, taker: (Tid, i16, &str)) -> WatchedThread {
    let mut trace = with_jobs(named);
    trace.switch(1, SLEEPS, LOOP, DEADLINE, "loop");
    let mut at = PERIOD - 200 * US;
    let mut release = PERIOD;
    for job in 1..=100_u64 {
        ends_job(&mut trace, at, release, named);
        expires(&mut trace, release + US, JOBS);
        trace.run(release + 3 * US, READY);
        at = release + 100 * US;
        release += PERIOD;
        if job == 50 {
            // The tick finds it out, and sets the timer.
            let name = trace.replay.names.keep(b"timer interrupt");
            trace.at(at, What::VectorEntry { name });
            set(&mut trace, at + 10, JOBS, release);
            trace.at(at + 20, What::VectorExit);
            trace.switch(at + 30, READY, taker.0, taker.1, taker.2);
            expires(&mut trace, release + US, JOBS);
            trace.switch(release + 3 * US, READY, LOOP, DEADLINE, "loop");
            at = release + 100 * US;
            release += PERIOD;
        }
    }
    ends_job(&mut trace, at, 300 * PERIOD, false);
    trace.watched()
}

#[test]
fn a_job_that_ends_with_a_yield_is_a_cycle_from_its_release_on() {
    for named in [true, false] {
        let thread = jobs(named, (OTHER, NICE_0, "other"));
        assert_eq!((thread.cycles, thread.timed_releases), (99, 99));
        assert_eq!(thread.period_ns.unwrap().get(), PERIOD);
        assert_eq!((thread.late.count, thread.missed_releases), (1, 1));
        assert_eq!(thread.cycle_at.as_deref().unwrap(), "sched_yield");
        let longest = |phase: &str| {
            let of = thread.phases.iter().find(|p| p.phase == phase);
            of.unwrap().max_ns
        };
        // The interrupt that gives it its runtime, and the way from there to the CPU.
        assert!(longest("timer") < 2 * US, "{}", longest("timer"));
        assert!(longest("wake-up") < 3 * US, "{}", longest("wake-up"));
    }
}

#[test]
fn who_uses_up_the_runtime_is_held_back_by_nobody_else() {
    let takers = [(OTHER, NICE_0, "other"), (HOLDER, FIFO_80, "fifo"), NOBODY];
    for taker in takers {
        let thread = jobs(true, taker);
        let said = "its own SCHED_DEADLINE runtime, which it had used up";
        assert_eq!(first(&thread), ("throttling", said, 1), "{taker:?}");
    }
}

/// A thread that waits `waits` times, and computes from then `until` another takes the CPU.
fn computes(prio: i16, waits: u64, until: u64) -> Option<String> {
    let mut trace = Trace::new();
    trace.prio = prio;
    trace.switch(1, SLEEPS, LOOP, prio, "loop");
    let mut at = PERIOD - 50 * US;
    for wait in 1..=waits {
        // At irregular times.
        trace.sleep(at, PERIOD * wait + wait * wait * 7 * US, NOBODY);
        at = normal(&mut trace, PERIOD * wait + wait * wait * 7 * US, NOBODY);
    }
    // Another goes before it, which is no wait.
    trace.switch(at + US, READY, OTHER, FIFO_90, "other");
    trace.switch(at + 2 * US, SLEEPS, LOOP, prio, "loop");
    trace.switch(at + until, READY, OTHER, FIFO_90, "other");
    let watcher = trace.watcher(&["loop"], Matters::OfThePeriod);
    watcher.computes_on().map(|check| check.detail)
}

#[test]
fn a_real_time_thread_that_computes_without_a_wait_is_not_judged_and_fails_a_check() {
    for waits in [0, 3, 5] {
        let said = computes(FIFO_80, waits, 400 * PERIOD).unwrap();
        assert!(
            said.starts_with("not judged: loop (real-time 80) "),
            "{said}"
        );
    }
    let said = computes(DEADLINE, 0, 400 * PERIOD).unwrap();
    assert!(said.contains("loop (deadline)"), "{said}");
    // One that has only begun, and an ordinary one.
    for waits in [0, 3, 5] {
        assert_eq!(computes(FIFO_80, waits, 40 * PERIOD), None);
        assert_eq!(computes(NICE_0, waits, 400 * PERIOD), None);
    }
}

#[test]
fn a_real_time_thread_that_no_event_tells_of_is_known_by_its_cpu_time() {
    // The CPU is its own, so that nothing happens there.
    let mut trace = Trace::new();
    trace.replay.threads.get_mut(&LOOP).unwrap().prio = FIFO_80;
    trace.wake(PERIOD, OTHER, NICE_0, "other");
    let mut watcher = trace.watcher(&["loop"], Matters::OfThePeriod);
    assert!(watcher.computes_on().is_none());
    watcher.computed.insert(LOOP, Nanos::from_millis(400));
    assert!(watcher.computes_on().is_some());
}

#[test]
fn system_calls_of_another_table_are_not_taken_for_what_they_are_in_ours() {
    let mut trace = Trace::new();
    trace.replay.threads.get_mut(&LOOP).unwrap().program = Program::Of32Bits;
    with_strike(&mut trace, NOBODY, |trace, release| {
        normal(trace, release, NOBODY)
    });
    let thread = trace.watched();
    assert_eq!(thread.calls, [("the kernel".to_owned(), 101)]);
    assert_eq!(thread.cycles, 99);
    assert_eq!(thread.cycle_at.as_deref(), Some("any wait"));
}

#[test]
fn threads_that_end_without_a_cycle_make_room_for_those_that_come() {
    let mut trace = Trace::new();
    // A thread of the program that starts others, one after the other, and at last one that stays.
    trace.switch(1, SLEEPS, LOOP, NICE_0, "loop");
    for n in 0..50 {
        let (child, at) = (1_000 + i32::try_from(n % 20).unwrap(), (n + 1) * PERIOD);
        let same_process = false;
        let forked = What::Forked {
            child,
            same_process,
        };
        trace.at(at, forked);
        trace.at(at + US, What::Exited { tid: child });
    }
    let same_process = true;
    for child in 2_000..2_004 {
        let forked = What::Forked {
            child,
            same_process,
        };
        trace.at(60 * PERIOD, forked);
    }
    let watcher = trace.watcher(&[], Matters::OfThePeriod);
    assert_eq!(watcher.replay.unwatched, 0);
    assert!(watcher.all_watched().is_none());
    // All of them are told, ten of which are kept.
    assert_eq!(
        watcher.replay.threads.len() as u64 + watcher.replay.forgotten,
        55
    );
    // Those that stay are more than may be watched.
    let mut trace = Trace::new();
    trace.switch(1, SLEEPS, LOOP, NICE_0, "loop");
    for child in 2_000..2_012 {
        let forked = What::Forked {
            child,
            same_process,
        };
        trace.at(60 * PERIOD, forked);
    }
    let watcher = trace.watcher(&[], Matters::OfThePeriod);
    assert_eq!(watcher.replay.unwatched, 3);
    assert!(
        watcher
            .all_watched()
            .unwrap()
            .detail
            .starts_with("3 threads")
    );
}

#[test]
fn a_job_whose_time_has_come_when_the_one_before_ends_is_released_there() {
    let mut trace = with_jobs(true);
    trace.switch(1, SLEEPS, LOOP, DEADLINE, "loop");
    let mut at = PERIOD - 200 * US;
    let mut release = PERIOD;
    for job in 1..=100_u64 {
        if at < release {
            ends_job(&mut trace, at, release, true);
            expires(&mut trace, release + US, JOBS);
            trace.run(release + 3 * US, READY);
            at = release + 100 * US;
        } else {
            // The kernel sets no timer, and another thread with a deadline goes before.
            let (call, args) = (number("sched_yield"), [7, 7, 7]);
            trace.at(at, What::Enter { call, args });
            trace.switch(at + 20, READY, HOLDER, DEADLINE, "first");
            trace.switch(at + 300 * US, SLEEPS, LOOP, DEADLINE, "loop");
            trace.at(at + 301 * US, What::Exit { anew: false });
            at += 400 * US;
        }
        // Time that others took of it: it has runtime left.
        at += if job == 50 { 1_200 * US } else { 0 };
        release += PERIOD;
    }
    ends_job(&mut trace, at, 300 * PERIOD, false);
    let thread = trace.watched();
    assert_eq!((thread.cycles, thread.missed_releases), (99, 0));
    // What the other took is in the cycle.
    let waited = thread.phases.iter().find(|p| p.phase == "preempted");
    assert!(waited.unwrap().max_ns > 250 * US, "{:#?}", thread.phases);
}

#[test]
fn the_next_job_is_there_where_the_thread_was_wherever_its_timer_expires() {
    let mut trace = with_jobs(true);
    trace.switch(1, SLEEPS, LOOP, DEADLINE, "loop");
    trace.on_cpu(1, 2, IDLE, What::Idle { state: Some(1) });
    let mut at = PERIOD - 200 * US;
    for job in 1..=100_u64 {
        let release = job * PERIOD;
        ends_job(&mut trace, at, release, false);
        let (timer, function, now) = (JOBS, 10, release + 100);
        let entry = What::TimerEntry {
            timer,
            function,
            now,
        };
        trace.on_cpu(1, release + 100, IDLE, entry);
        trace.on_cpu(1, release + 300, IDLE, What::TimerExit);
        let late = if job == 50 { 1_500 * US } else { 3 * US };
        trace.run(release + late, READY);
        at = release + late + 50 * US;
        if job == 50 {
            break;
        }
    }
    ends_job(&mut trace, at, 300 * PERIOD, false);
    let thread = trace.watched();
    let cycle = &thread.worst[0];
    let waits = cycle.pieces.iter().find(|piece| piece.phase == "wake-up");
    let waits = waits.unwrap_or_else(|| panic!("{cycle:#?}"));
    assert_eq!(
        (waits.cpu, waits.cause.contains("other")),
        (0, true),
        "{cycle:#?}"
    );
}

#[test]
fn a_wake_up_after_the_deadline_waits_for_the_next_period() {
    let mut trace = Trace::new();
    trace.prio = DEADLINE;
    with_strike(&mut trace, (OTHER, NICE_0, "other"), |trace, release| {
        trace.expire(release + US);
        // The scheduler looks, and chooses others.
        trace.switch(release + 5 * US, SLEEPS, HOLDER, FIFO_80, "fifo");
        trace.run(release + 1_500 * US, READY);
        release + 1_600 * US
    });
    let thread = trace.watched();
    let (kind, what, _) = first(&thread);
    assert_eq!(kind, "throttling");
    assert!(
        what.contains("until its next SCHED_DEADLINE period"),
        "{what}"
    );
}

#[test]
fn an_ordinary_thread_that_yields_goes_on_with_its_cycle() {
    let mut trace = Trace::new();
    trace.switch(1, SLEEPS, LOOP, FIFO_80, "loop");
    let mut at = PERIOD - 100 * US;
    for cycle in 1..=100_u64 {
        let release = cycle * PERIOD;
        trace.sleep(at, release, NOBODY);
        at = normal(&mut trace, release, NOBODY);
        let (call, args) = (number("sched_yield"), [at, 0, 0]);
        trace.at(at, What::Enter { call, args });
        trace.switch(at + 20, READY, OTHER, FIFO_80, "other");
        trace.switch(at + 40 * US, READY, LOOP, FIFO_80, "loop");
        trace.at(at + 41 * US, What::Exit { anew: false });
        at += 50 * US;
    }
    trace.sleep(at, 200 * PERIOD, NOBODY);
    let thread = trace.watched();
    assert_eq!(thread.cycles, 99);
    assert_eq!(
        thread.cycle_at.as_deref().unwrap(),
        "clock_nanosleep (absolute)"
    );
}
