// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Quantiles in constant memory: P-square.

use punctual_stats::{Markers, PSquare};

use crate::handle::{self, PUNCTUAL_INVALID, PUNCTUAL_OK, Words, fits};

/// State of a set of quantiles after Jain and Chlamtac (1985). Its words are nobody's business.
#[derive(Debug)]
#[repr(C)]
pub struct PunctualQuantiles {
    words: [u64; 12],
}

/// State of one quantile.
#[derive(Debug)]
#[repr(C)]
pub struct PunctualMarkers {
    words: [f64; 9],
}

// SAFETY: the assertion below; the kind is used once.
unsafe impl Words for PunctualQuantiles {
    type State = PSquare<&'static mut [Markers]>;
    const KIND: u64 = u64::from_be_bytes(*b"pPSquare");
}

const _: () = assert!(fits::<PunctualQuantiles>());
// A caller's array of the one is an array of the other.
const _: () = assert!(
    size_of::<PunctualMarkers>() == size_of::<Markers>()
        && align_of::<PunctualMarkers>() >= align_of::<Markers>()
);

/// Begins anew with the `count` quantiles in `shares`, each above 0 and below 1. `markers` has as many places, which belong
/// to `quantiles` from now on.
///
/// # Safety
///
/// `quantiles` is null, or valid for writes; `markers` and `shares` are null, or point to `count` initialised values.
/// Nothing else uses `markers` as long as `quantiles` is used.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn punctual_quantiles_init(
    quantiles: *mut PunctualQuantiles,
    markers: *mut PunctualMarkers,
    shares: *const f64,
    count: usize,
) -> i32 {
    // SAFETY: as the caller says; of the same size and alignment, and all bits are a value of both.
    let markers = unsafe { handle::slice(markers.cast::<Markers>(), count) };
    // SAFETY: as the caller says; it is only read.
    let shares = unsafe { handle::slice(shares.cast_mut(), count) };
    let (Some(markers), Some(shares)) = (markers, shares) else {
        return PUNCTUAL_INVALID;
    };
    match PSquare::within(markers, shares) {
        // SAFETY: as the caller says.
        Ok(state) => unsafe { handle::init(quantiles, state) },
        Err(_) => PUNCTUAL_INVALID,
    }
}

/// Adds a sample. It takes about the same time whatever came before, and no memory.
///
/// # Safety
///
/// `quantiles` is null, or initialised and not in use elsewhere.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn punctual_quantiles_push(
    quantiles: *mut PunctualQuantiles,
    sample: f64,
) -> i32 {
    // SAFETY: as the caller says.
    let Some(state) = (unsafe { handle::state(quantiles) }) else {
        return PUNCTUAL_INVALID;
    };
    state.push(sample);
    PUNCTUAL_OK
}

/// Returns the estimate of the quantile at `index` of the set; not a number before the first sample, or where there is none.
/// How good it is depends on the samples: docs/methods/samples.md of Punctual says how much. A far tail is a histogram's.
///
/// # Safety
///
/// `quantiles` is null, or initialised and not in use elsewhere.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn punctual_quantiles_estimate(
    quantiles: *mut PunctualQuantiles,
    index: usize,
) -> f64 {
    // SAFETY: as the caller says.
    let state = unsafe { handle::state(quantiles) };
    state
        .and_then(|state| state.estimate(index))
        .unwrap_or(f64::NAN)
}
