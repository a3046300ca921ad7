// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What the documentation calls hot allocates nothing.
#![expect(
    unsafe_code,
    reason = "an allocator cannot be counted without being one"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use punctual_stats::{
    Accumulator, BatchMeans, CountWindow, Keep, LatencyHistogram, Moments, PSquare, StopRule,
    ThresholdCounter,
};

thread_local! {
    static CALLS: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: every call goes to the system allocator unchanged; the counter is a plain cell that
// neither allocates nor unwinds.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        CALLS.set(CALLS.get() + 1);
        // SAFETY: the caller keeps the contract of `alloc`, which is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        CALLS.set(CALLS.get() + 1);
        // SAFETY: `ptr` came from `System.alloc` with this layout.
        unsafe { System.dealloc(ptr, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn calls_during(action: impl FnOnce()) -> u64 {
    let before = CALLS.get();
    action();
    CALLS.get() - before
}

#[test]
fn the_counter_counts() {
    assert_eq!(calls_during(|| drop(std::hint::black_box(vec![1u8]))), 2);
}

#[test]
fn recording_allocates_nothing() {
    let ns: Vec<u64> = (0..5000).map(|i| 2000 + i * 7919 % 4001).collect();
    let xs: Vec<f64> = ns.iter().map(|&x| x as f64).collect();
    let mut moments = Moments::new();
    let mut psquare = PSquare::default();
    let mut histogram = LatencyHistogram::default();
    let mut window = CountWindow::new(100);
    let mut batches = BatchMeans::new();
    let mut thresholds = ThresholdCounter::new(&[3000, 5000]);
    let mut rule = StopRule::new(vec!["p99:2%".parse().unwrap(), "mean:1%".parse().unwrap()]);
    let mut shipped = Accumulator::default();
    let mut all = Accumulator::new(&Keep {
        thresholds_ns: vec![3000, 5000],
        psquare: true,
    });
    let calls = calls_during(|| {
        moments.extend_from_slice(&xs);
        moments.merge(&moments.clone());
        psquare.extend_from_slice(&xs);
        histogram.record_slice(&ns);
        window.extend_from_slice(&xs);
        batches.extend_from_slice(&xs);
        thresholds.record_slice(&ns);
        rule.extend(&ns, &histogram);
        for part in ns.chunks(300) {
            shipped.record_slice(part);
            all.record_slice(part);
            all.record_unsampled(3, |_| 2);
        }
        shipped.take_recent_max();
        for (&n, &x) in ns.iter().zip(&xs) {
            moments.push(x);
            psquare.push(x);
            histogram.record(n);
            window.push(x);
            batches.push(x);
            thresholds.record(n);
        }
    });
    assert_eq!(calls, 0, "a hot function allocated");
}
