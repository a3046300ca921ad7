// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Latencies in nanoseconds, in log-linear buckets.

use punctual_stats::LatencyHistogram;

use crate::handle::{self, PUNCTUAL_INVALID, PUNCTUAL_OK, Words, fits};

/// Buckets up to 2047 ns, one for each nanosecond.
pub const PUNCTUAL_BUCKETS_2US: usize = 2048;
/// Buckets up to 1 048 575 ns, about 1 ms: 88 KiB.
pub const PUNCTUAL_BUCKETS_1MS: usize = 2048 + 9 * 1024;
/// Buckets up to 1 073 741 823 ns, about 1 s: 168 KiB.
pub const PUNCTUAL_BUCKETS_1S: usize = 2048 + 19 * 1024;

/// State of a histogram of latencies. Its words are nobody's business.
#[derive(Debug)]
#[repr(C)]
pub struct PunctualHistogram {
    words: [u64; 8],
}

// SAFETY: the assertion below; the kind is used once.
unsafe impl Words for PunctualHistogram {
    type State = LatencyHistogram<&'static mut [u64]>;
    const KIND: u64 = u64::from_be_bytes(*b"pLatency");
}

const _: () = assert!(fits::<PunctualHistogram>());

/// What a histogram says of all its values.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct PunctualExtent {
    /// Values.
    pub count: u64,
    /// Of these, values above `highest_ns`: they are counted in the last bucket.
    pub clamped: u64,
    /// The highest value that has a bucket, in ns.
    pub highest_ns: u64,
    /// The smallest value in ns, exact; 0 without values.
    pub min_ns: u64,
    /// The largest value in ns, exact; 0 without values.
    pub max_ns: u64,
}

/// Begins anew with `length` buckets at `counts`, which belong to `histogram` from now on and are set to 0: as many as
/// `PUNCTUAL_BUCKETS_1MS`, for example. A value that is read from a bucket is off by less than 1/1024 of itself.
///
/// # Safety
///
/// `histogram` is null, or valid for writes; `counts` is null, or points to `length` initialised values that nothing else
/// uses as long as `histogram` is used.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn punctual_histogram_init(
    histogram: *mut PunctualHistogram,
    counts: *mut u64,
    length: usize,
) -> i32 {
    if length == 0 {
        return PUNCTUAL_INVALID;
    }
    // SAFETY: as the caller says.
    let Some(counts) = (unsafe { handle::slice(counts, length) }) else {
        return PUNCTUAL_INVALID;
    };
    // SAFETY: as the caller says.
    unsafe { handle::init(histogram, LatencyHistogram::within(counts)) }
}

/// Records a latency of `ns` nanoseconds.
///
/// # Safety
///
/// `histogram` is null, or initialised and not in use elsewhere.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn punctual_histogram_record(
    histogram: *mut PunctualHistogram,
    ns: u64,
) -> i32 {
    // SAFETY: as the caller says.
    let Some(state) = (unsafe { handle::state(histogram) }) else {
        return PUNCTUAL_INVALID;
    };
    state.record(ns);
    PUNCTUAL_OK
}

/// Writes to `ns` the `q` quantile, 0 to 1, of what was recorded: never below the exact one, and above it by less than
/// 1/1024.
///
/// # Safety
///
/// `histogram` is null, or initialised and not in use elsewhere; `ns` is null, or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn punctual_histogram_quantile(
    histogram: *mut PunctualHistogram,
    q: f64,
    ns: *mut u64,
) -> i32 {
    // SAFETY: as the caller says.
    let state = unsafe { handle::state(histogram) };
    match state.and_then(|state| state.quantile(q)) {
        // SAFETY: as the caller says.
        Some(found) => unsafe { handle::answer(ns, found) },
        None => PUNCTUAL_INVALID,
    }
}

/// Writes to `count` how many values are above `ns`: exact up to 2047 ns; beyond that, without those in its bucket.
///
/// # Safety
///
/// `histogram` is null, or initialised and not in use elsewhere; `count` is null, or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn punctual_histogram_count_above(
    histogram: *mut PunctualHistogram,
    ns: u64,
    count: *mut u64,
) -> i32 {
    // SAFETY: as the caller says.
    let Some(state) = (unsafe { handle::state(histogram) }) else {
        return PUNCTUAL_INVALID;
    };
    // SAFETY: as the caller says.
    unsafe { handle::answer(count, state.count_above(ns)) }
}

/// Writes to `extent` how many values there are, and between which ends.
///
/// # Safety
///
/// `histogram` is null, or initialised and not in use elsewhere; `extent` is null, or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn punctual_histogram_extent(
    histogram: *mut PunctualHistogram,
    extent: *mut PunctualExtent,
) -> i32 {
    // SAFETY: as the caller says.
    let Some(state) = (unsafe { handle::state(histogram) }) else {
        return PUNCTUAL_INVALID;
    };
    let found = PunctualExtent {
        count: state.count(),
        clamped: state.clamped(),
        highest_ns: state.highest(),
        min_ns: state.min().unwrap_or(0),
        max_ns: state.max().unwrap_or(0),
    };
    // SAFETY: as the caller says.
    unsafe { handle::answer(extent, found) }
}
