// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Threads whose late cycles are known, from made-up traces: what the machine that runs the tests does has no part in it.

mod backlog;
mod changes;
mod culprits;
mod idle;
mod jobs;
mod own;
mod quotas;
mod timerlat;
mod traces;
mod unserved;
mod waits;

use std::sync::Arc;

use punctual_model::watch::WatchedThread;
use punctual_stats::Keep;

use super::cycle::IdleExits;
use super::event::{Event, What};
use super::replay::{Replay, Symbols};
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
    /// Its priority.
    on_prio: i16,
    /// Priority of the loop.
    prio: i16,
    /// What the timer's clock shows beyond the trace's.
    clock_off: u64,
}

impl Trace {
    fn new() -> Self {
        Self::with(Some(Arc::new(|address| {
            (address == 7).then(|| "hrtimer_wakeup".to_owned())
        })))
    }

    /// The same where the kernel names its functions so, or not at all.
    fn with(symbols: Option<Symbols>) -> Self {
        let mut replay = Replay::new(1, true, 10, symbols);
        replay.watch(LOOP, LOOP, b"loop");
        Self {
            replay,
            events: Vec::new(),
            on: IDLE,
            on_prio: NICE_0,
            prio: FIFO_80,
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
                prev_prio: self.on_prio,
                prev_state: state,
                next,
                next_prio: prio,
                next_name,
            },
        );
        (self.on, self.on_prio) = (next, prio);
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
        self.wake(time + 200, LOOP, self.prio, "loop");
        self.at(time + 300, What::TimerExit);
        self.at(time + 400, What::VectorExit);
    }

    /// The loop has the CPU and is back from its sleep.
    fn run(&mut self, time: u64, state: u32) {
        self.switch(time, state, LOOP, self.prio, "loop");
        self.at(time + 100, What::Exit { anew: false });
    }

    /// Has the threads of these names watched, or all where there is none.
    fn watcher(self, threads: &[&str], matters: Matters) -> Watcher {
        self.watcher_at(None, threads, matters)
    }

    /// The same where cycles end at what is named.
    fn watcher_at(self, cycle_at: Option<&str>, threads: &[&str], matters: Matters) -> Watcher {
        let watch = Watch {
            target: Target::Process(1),
            deadline: None,
            period: None,
            cycle_at: cycle_at.map(str::to_owned),
            threads: threads.iter().map(|&name| name.to_owned()).collect(),
            output_to_stderr: false,
            keep_cycles: true,
            matters,
            stacks: Taken::None,
            buffer_kib: None,
        };
        let exits = IdleExits::from([((0, 1), 2 * US)]);
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
    trace.switch(1, SLEEPS, LOOP, trace.prio, "loop");
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
