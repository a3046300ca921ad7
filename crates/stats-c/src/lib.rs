// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Punctual's online statistics for programs in C, on a microcontroller too: moments, P-square, a histogram of latencies, a
//! moving window.
//!
//! The caller gives all memory; nothing allocates, locks or calls the system. A state is used by one thread at a time. The
//! functions are those of `punctual-stats`, so their figures are those of the desktop to the last bit. `include/punctual_stats.h`
//! is made of this file; docs/guide/small-systems.md shows how it is used.
#![no_std]
#![allow(
    unsafe_code,
    reason = "pointers of C: each function checks what can be checked, and its documentation says the rest"
)]

#[cfg(any(test, panic = "unwind"))]
extern crate std;

mod handle;
mod histogram;
mod moments;
mod quantiles;
mod window;

pub use handle::{PUNCTUAL_INVALID, PUNCTUAL_OK};
pub use histogram::{
    PUNCTUAL_BUCKETS_1MS, PUNCTUAL_BUCKETS_1S, PUNCTUAL_BUCKETS_2US, PunctualExtent,
    PunctualHistogram, punctual_histogram_count_above, punctual_histogram_extent,
    punctual_histogram_init, punctual_histogram_quantile, punctual_histogram_record,
};
pub use moments::{
    PunctualFigures, PunctualMoments, punctual_moments_figures, punctual_moments_init,
    punctual_moments_merge, punctual_moments_push,
};
pub use quantiles::{
    PunctualMarkers, PunctualQuantiles, punctual_quantiles_estimate, punctual_quantiles_init,
    punctual_quantiles_push,
};
pub use window::{
    PunctualWindow, punctual_window_figures, punctual_window_init, punctual_window_push,
    punctual_window_quantile,
};

/// There is no operating system to tell, and nothing here is known to panic.
#[cfg(all(not(test), panic = "abort"))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {
        core::hint::spin_loop();
    }
}
