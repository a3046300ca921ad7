// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Fails when a thread of `irq`, `ipc` or `pi` allocates while it measures. One test in the file: the
//! counter is of all threads but the test's own.
//!
//! Threads allocate when they start and end, so a short run is compared with a long one: what they
//! allocate must not grow with the messages.
#![expect(unsafe_code, reason = "a global allocator is unsafe to implement")]
#![expect(clippy::unwrap_used, reason = "test helpers")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use punctual_measure::frame::{self, Control, Found, Frame};
use punctual_measure::ipc::{self, Ipc, Placement, Way};
use punctual_measure::irq::{self, Irq, IrqMethod};
use punctual_measure::pi::{self, Pi, Protocol};
use punctual_measure::{MeasureError, Sink, SinkError};
use punctual_model::{Event, Nanos, Policy, Sample, Setup};
use punctual_sys::{SysRoot, sched};

thread_local! {
    // `const` and no destructor: reaching it never allocates.
    static IS_TEST: Cell<bool> = const { Cell::new(false) };
}

static CALLS: AtomicU64 = AtomicU64::new(0);

fn count() {
    if !IS_TEST.get() {
        CALLS.fetch_add(1, Ordering::Relaxed);
    }
}

struct Counting;

// SAFETY: every call is forwarded unchanged to `System`, which upholds the contract.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller upholds `alloc`'s contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        count();
        // SAFETY: the caller upholds `dealloc`'s contract.
        unsafe { System.dealloc(ptr, layout) }
    }
}

#[global_allocator]
static ALLOC: Counting = Counting;

struct Deaf;

impl Sink for Deaf {
    fn event(&mut self, _: &Event) -> Result<(), SinkError> {
        Ok(())
    }
    fn samples(&mut self, _: u32, _: &[Sample]) -> Result<(), SinkError> {
        Ok(())
    }
}

/// Runs an instrument, and returns its samples and what its threads allocated and freed.
fn calls(
    priority: Policy,
    duration: Nanos,
    instrument: impl FnOnce(&mut Frame<'_>) -> Result<Found, MeasureError>,
) -> Result<(u64, u64), MeasureError> {
    let cpus = sched::affinity().unwrap();
    let setup = Setup {
        cpus: cpus.iter().take(1).collect(),
        priority,
        duration_ns: Some(duration),
        dma_latency_ns: None,
        mlock: false,
        housekeeping: cpus,
        loads: Vec::new(),
        options: BTreeMap::new(),
    };
    let control = Control {
        id: "test".to_owned(),
        stop: Arc::default(),
        insist_on_mlock: false,
        insist_on_dma_latency: false,
        progress_every: Nanos::from_secs(1),
        psquare: false,
    };
    let before = CALLS.load(Ordering::Relaxed);
    let sys = SysRoot::live();
    let outcome = frame::run(&sys, &setup, &control, None, &mut Deaf, instrument)?;
    let all = outcome.found.series.iter().filter(|s| s.thread.is_some());
    let samples = all.map(|s| s.count).sum();
    Ok((samples, CALLS.load(Ordering::Relaxed) - before))
}

/// Requires that a run ten times as long allocates no more.
fn does_not_grow(
    name: &str,
    priority: Policy,
    short: Nanos,
    instrument: impl Fn(&mut Frame<'_>) -> Result<Found, MeasureError>,
) {
    let measure = |duration| calls(priority, duration, &instrument);
    let (few, at_rest) = match measure(short) {
        Ok(counts) => counts,
        Err(err) => {
            // Tracing and real-time policies take a privilege; CI has it, and other tests insist.
            eprintln!("skipped: {name}: {err}");
            return;
        }
    };
    // A machine that is used by others too may need longer to show more.
    let spans = [10, 40, 160, 640].map(|times| short.times(times));
    let enough = |counts: &(u64, u64)| counts.0 > few + 20;
    let shown = spans.into_iter().map(|span| measure(span).unwrap());
    let shown = shown.into_iter().find(enough);
    let (many, all) = shown.unwrap_or_else(|| panic!("{name}: {few} samples, and never more"));
    // Threads that start at the same moment may make room for the same message both.
    assert!(
        all < at_rest + 20,
        "{name}: {at_rest} calls for {few} samples, {all} for {many}"
    );
}

#[test]
fn no_thread_of_these_instruments_allocates_while_it_measures() {
    IS_TEST.set(true);
    let ordinary = Policy::Other { nice: 0 };
    let fifo = Policy::Fifo { priority: 20 };
    let cpu = sched::affinity().unwrap().iter().next().unwrap();
    for way in Way::ALL {
        let ipc = Ipc {
            ways: vec![*way],
            insist: false,
            placements: vec![Placement::Same],
            sender: cpu,
            receiver: cpu,
            interval: Nanos::from_millis(1),
        };
        does_not_grow(way.name(), ordinary, Nanos::from_millis(50), |frame| {
            ipc::run(&ipc, frame)
        });
    }
    let pi = Pi {
        protocols: Protocol::ALL.to_vec(),
        insist: false,
        interval: Nanos::from_millis(10),
        // A quarter of it after the first thread the second one must come, though woken from an idle state.
        hold: Nanos::from_millis(2),
        spin: Nanos::from_millis(2),
    };
    does_not_grow("pi", fifo, Nanos::from_millis(200), |frame| {
        pi::run(&pi, frame)
    });
    let irq = Irq {
        interval: Nanos::from_millis(1),
        source: IrqMethod::Events,
        explain: false,
    };
    does_not_grow("irq", ordinary, Nanos::from_millis(200), |frame| {
        irq::run(irq, frame)
    });
    // The counter itself works.
    let before = CALLS.load(Ordering::Relaxed);
    let boxes = || {
        let sum = |sum: u32, n: u8| sum + u32::from(*std::hint::black_box(Box::new(n)));
        (0..100).fold(0, sum)
    };
    assert_eq!(std::thread::spawn(boxes).join().unwrap(), 4_950);
    assert!(CALLS.load(Ordering::Relaxed) - before >= 200);
}
