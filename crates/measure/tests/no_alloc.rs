// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Fails when a hot loop allocates. Each test has a thread, and so a counter, of its own.
#![expect(unsafe_code, reason = "a global allocator is unsafe to implement")]
#![expect(clippy::unwrap_used, reason = "test helpers")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use punctual_measure::crew::Post;
use punctual_measure::cyclic::{self, Counts, Cycle, Shared, WakeBy};
use punctual_measure::deadline::{Iterations, Stalls};
use punctual_measure::noise::{self, Scale, Ticker, Turns, Window};
use punctual_measure::release::{self, Release};
use punctual_measure::stream::{Stream, Tap};
use punctual_measure::task_set::{Jobs, Step};
use punctual_model::{Clock, Nanos, Policy};
use punctual_stats::Keep;
use punctual_sys::clock;
use punctual_sys::mutex::{Protocol, ProtocolMutex};
use punctual_sys::timer::{Futex, Nanosleep, Posix, Relative, Sleeper, Timerfd, Uring};

thread_local! {
    // `const` and no destructor: reaching it never allocates.
    static CALLS: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: every call is forwarded unchanged to `System`, which upholds the contract.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        CALLS.set(CALLS.get() + 1);
        // SAFETY: the caller upholds `alloc`'s contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        CALLS.set(CALLS.get() + 1);
        // SAFETY: the caller upholds `dealloc`'s contract.
        unsafe { System.dealloc(ptr, layout) }
    }
}

#[global_allocator]
static ALLOC: Counting = Counting;

fn allocations<S: Sleeper>(sleeper: &mut S, asked: WakeBy) -> u64 {
    let origin = clock::monotonic();
    let cycle = Cycle {
        clock: Clock::Monotonic,
        origin,
        interval: Nanos::from_micros(100),
        record_from: origin + Nanos::from_millis(1),
        end: Nanos::MAX,
        samples: 1_000,
        // Hit soon on any machine, so that this path runs too; far more samples follow than taken.
        threshold: Nanos::new(1),
        after_threshold: u32::MAX,
        pinned_to: None,
        asked,
    };
    // Smaller than the samples, so that the full ring is met too.
    let (mut ring, _out) = rtrb::RingBuffer::new(500);
    let (shared, counts) = (Shared::default(), Counts::default());
    let before = CALLS.get();
    cyclic::run(&cycle, sleeper, &mut ring, &shared, &counts).unwrap();
    let calls = CALLS.get() - before;
    assert_eq!(counts.taken.load(Ordering::Relaxed), 1_000);
    assert_eq!(counts.lost.load(Ordering::Relaxed), 500);
    assert!(shared.threshold_was_hit());
    calls
}

#[test]
fn the_measuring_loop_does_not_allocate_with_any_timer() {
    let clock = Clock::Monotonic;
    let (deadline, span) = (WakeBy::Deadline, WakeBy::Span);
    let calls = [
        (
            "nanosleep",
            allocations(&mut Nanosleep::new(clock), deadline),
        ),
        (
            "relative",
            allocations(&mut Relative::new(clock, Nanos::from_micros(100)), span),
        ),
        (
            "timerfd",
            allocations(&mut Timerfd::new(clock).unwrap(), deadline),
        ),
        (
            "posix",
            allocations(&mut Posix::new(clock).unwrap(), deadline),
        ),
        (
            "futex",
            allocations(&mut Futex::new(clock).unwrap(), deadline),
        ),
    ];
    for (name, calls) in calls {
        assert_eq!(calls, 0, "the loop allocated with {name}");
    }
    // Kernels may have io_uring switched off; where it is there, it must hold too.
    if let Ok(mut uring) = Uring::new(clock) {
        assert_eq!(allocations(&mut uring, deadline), 0, "with uring");
    }
    the_counter_counts();
}

fn the_counter_counts() {
    let before = CALLS.get();
    drop(std::hint::black_box(Box::new(1_u8)));
    assert!(CALLS.get() > before);
}

/// A ring that takes a sample about every `interval`, and what becomes of them.
fn tap(interval: Nanos) -> (Tap, Stream) {
    let post = Post::on("hot", Policy::Other { nice: 0 }, 0);
    Stream::pair(0, &post, interval, &Keep::default())
}

/// Repeats what may have had no time at all, where the machine stalled for as long as it should have taken.
fn until_it_worked(mut what: impl FnMut() -> u64) {
    assert!((0..1_000).any(|_| what() > 0), "it never works");
}

#[test]
fn the_release_loop_does_not_allocate() {
    until_it_worked(release_without_allocating);
    the_counter_counts();
}

fn release_without_allocating() -> u64 {
    let interval = Nanos::from_micros(200);
    let (mut tap, mut stream) = tap(interval);
    let origin = clock::monotonic();
    let cycles = release::Cycles {
        release: Release {
            interval,
            spin: Nanos::from_micros(50),
        },
        origin,
        end: origin + Nanos::from_millis(50),
        cpu: 0,
        stop: Arc::default(),
    };
    let before = CALLS.get();
    let counted = cycles.run(&mut tap);
    assert_eq!(CALLS.get() - before, 0, "the release loop allocated");
    stream.drain(|_| ());
    assert_eq!(stream.tally().moments().count(), counted.cycles);
    counted.cycles
}

#[test]
fn the_deadline_loop_does_not_allocate_with_or_without_pauses() {
    let some = Nanos::from_micros(200);
    // The last ones are stalls, each: more than 2 ms on any machine.
    for (period, additions) in [(None, 10_000), (Some(some), 10_000), (None, 20_000_000)] {
        until_it_worked(|| {
            let (mut tap, mut stream) = tap(some);
            let iterations = Iterations {
                additions,
                period,
                origin: clock::monotonic(),
                duration: Nanos::from_millis(50),
                pinned_to: None,
                stop: Arc::default(),
            };
            // Iterations of 1 ms are asked for their CPU time.
            let mut stalls = Stalls::of(Nanos::from_millis(1));
            let before = CALLS.get();
            let worked = iterations.run(&mut tap, &mut stalls);
            assert_eq!(CALLS.get() - before, 0, "the loop allocated, {period:?}");
            stream.drain(|_| ());
            let taken = stream.tally().moments().count() + stream.lost();
            assert_eq!(taken, worked.iterations);
            worked.iterations
        });
    }
    the_counter_counts();
}

#[test]
fn the_loop_of_a_task_does_not_allocate() {
    until_it_worked(|| {
        let period = Nanos::from_micros(500);
        let (mut tap, mut stream) = tap(period);
        // Smaller than the jobs, so that the full log is met too.
        let (mut log, _taken) = rtrb::RingBuffer::new(10);
        let locks = [ProtocolMutex::new(Protocol::None).unwrap()];
        let jobs = Jobs {
            steps: [
                Step::Work(100),
                Step::Lock(0),
                Step::Work(100),
                Step::Unlock(0),
            ]
            .into(),
            locks: locks.into(),
            offset: Nanos::ZERO,
            period,
            origin: Arc::new(clock::monotonic().get().into()),
            duration: Nanos::from_millis(50),
            pinned_to: None,
            stop: Arc::default(),
            seat: None,
        };
        let before = CALLS.get();
        let counted = jobs.run(&mut tap, &mut log);
        assert_eq!(CALLS.get() - before, 0, "the loop of a task allocated");
        stream.drain(|_| ());
        assert_eq!(stream.tally().moments().count(), counted.jobs);
        assert_eq!(counted.lost, counted.jobs.saturating_sub(10));
        counted.jobs
    });
    the_counter_counts();
}

fn watches_without_allocating<T: Ticker + Copy>(ticker: T, scale: Scale, window: Option<Window>) {
    until_it_worked(|| gaps_without_allocating(ticker, scale, window));
}

fn gaps_without_allocating<T: Ticker>(ticker: T, scale: Scale, window: Option<Window>) -> u64 {
    let (mut tap, mut stream) = tap(Nanos::from_millis(1));
    let turns = Turns {
        ticker,
        scale,
        // Short, so that gaps are stored on any machine, and the full ring is met too.
        threshold: Nanos::new(1),
        window,
        origin: clock::monotonic(),
        duration: Nanos::from_millis(30),
        cpu: 0,
        stop: Arc::default(),
        begun: Arc::default(),
    };
    let before = CALLS.get();
    let watched = turns.run(&mut tap);
    assert_eq!(CALLS.get() - before, 0, "the loop allocated, {window:?}");
    stream.drain(|_| ());
    let taken = stream.tally().moments().count();
    assert_eq!(taken + stream.lost(), watched.gaps);
    watched.gaps
}

#[test]
fn the_noise_loop_does_not_allocate_with_either_counter() {
    let window = Window {
        runtime: Nanos::from_millis(2),
        period: Nanos::from_millis(5),
    };
    for window in [None, Some(window)] {
        watches_without_allocating(noise::Clock, Scale::NANOS, window);
        if cfg!(target_arch = "x86_64") {
            watches_without_allocating(noise::Tsc, Scale::of(2e9), window);
        }
    }
    the_counter_counts();
}
