// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `SCHED_DEADLINE` threads that end each job with `sched_yield`, and what happens to one that uses up its runtime.

use super::waits::number;
use super::*;

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

#[test]
fn a_real_time_thread_that_never_waits_is_said_not_to_be_judged() {
    let polling = |prio: i16, until: u64| {
        let mut trace = Trace::new();
        trace.prio = prio;
        trace.switch(1, SLEEPS, LOOP, prio, "loop");
        // Another interrupts it, which is no wait.
        trace.switch(until / 2, READY, OTHER, FIFO_90, "other");
        trace.switch(until / 2 + US, SLEEPS, LOOP, prio, "loop");
        trace.switch(until, READY, OTHER, FIFO_90, "other");
        let watcher = trace.watcher(&["loop"], Matters::OfThePeriod);
        watcher.polling().map(|finding| finding.detail)
    };
    let said = polling(FIFO_80, 400 * PERIOD).unwrap();
    assert!(said.ends_with("no cycles: loop (real-time 80)"), "{said}");
    assert!(
        polling(DEADLINE, 400 * PERIOD)
            .unwrap()
            .ends_with("loop (deadline)")
    );
    // One that has only begun, and an ordinary one.
    assert_eq!(polling(FIFO_80, 40 * PERIOD), None);
    assert_eq!(polling(NICE_0, 400 * PERIOD), None);
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
