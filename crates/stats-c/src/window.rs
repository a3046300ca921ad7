// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The latest samples.

use punctual_stats::{CountWindow, Moments};

use crate::handle::{self, PUNCTUAL_INVALID, PUNCTUAL_OK, Words, fits};
use crate::moments::PunctualFigures;

/// State of a window over the latest samples. Its words are nobody's business.
#[derive(Debug)]
#[repr(C)]
pub struct PunctualWindow {
    words: [u64; 8],
}

// SAFETY: the assertion below; the kind is used once.
unsafe impl Words for PunctualWindow {
    type State = CountWindow<&'static mut [f64]>;
    const KIND: u64 = u64::from_be_bytes(*b"pWindow.");
}

const _: () = assert!(fits::<PunctualWindow>());

/// Begins anew with a window over `length` samples. `ring` and `scratch` have as many places, which belong to `window` from now on.
///
/// # Safety
///
/// `window` is null, or valid for writes; `ring` and `scratch` are null, or point each to `length` initialised values of
/// their own that nothing else uses as long as `window` is used.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn punctual_window_init(
    window: *mut PunctualWindow,
    ring: *mut f64,
    scratch: *mut f64,
    length: usize,
) -> i32 {
    if length == 0 || core::ptr::eq(ring, scratch) {
        return PUNCTUAL_INVALID;
    }
    // SAFETY: as the caller says.
    let ring = unsafe { handle::slice(ring, length) };
    // SAFETY: as the caller says.
    let scratch = unsafe { handle::slice(scratch, length) };
    let (Some(ring), Some(scratch)) = (ring, scratch) else {
        return PUNCTUAL_INVALID;
    };
    // SAFETY: as the caller says.
    unsafe { handle::init(window, CountWindow::within(ring, scratch)) }
}

/// Adds a sample; a full window forgets its oldest.
///
/// # Safety
///
/// `window` is null, or initialised and not in use elsewhere.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn punctual_window_push(window: *mut PunctualWindow, sample: f64) -> i32 {
    // SAFETY: as the caller says.
    let Some(state) = (unsafe { handle::state(window) }) else {
        return PUNCTUAL_INVALID;
    };
    state.push(sample);
    PUNCTUAL_OK
}

/// Writes the figures of the samples in the window to `figures`. It sorts them: not for the loop that records.
///
/// # Safety
///
/// `window` is null, or initialised and not in use elsewhere; `figures` is null, or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn punctual_window_figures(
    window: *mut PunctualWindow,
    figures: *mut PunctualFigures,
) -> i32 {
    // SAFETY: as the caller says.
    let Some(state) = (unsafe { handle::state(window) }) else {
        return PUNCTUAL_INVALID;
    };
    let mut moments = Moments::new();
    moments.extend_from_slice(state.sorted());
    let found = PunctualFigures::of(&moments, state.rejected());
    // SAFETY: as the caller says.
    unsafe { handle::answer(figures, found) }
}

/// Returns the exact `q` quantile, 0 to 1, of the samples in the window; not a number without samples. It sorts them.
///
/// # Safety
///
/// `window` is null, or initialised and not in use elsewhere.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn punctual_window_quantile(window: *mut PunctualWindow, q: f64) -> f64 {
    // SAFETY: as the caller says.
    let state = unsafe { handle::state(window) };
    state
        .and_then(|state| state.quantile(q))
        .unwrap_or(f64::NAN)
}
