// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Count, extremes and the first four moments.

use punctual_stats::Moments;

use crate::handle::{self, PUNCTUAL_INVALID, PUNCTUAL_OK, Words, fits};

/// State of count, extremes, mean, standard deviation, skewness and kurtosis of a stream. Its words are nobody's business.
#[derive(Debug)]
#[repr(C)]
pub struct PunctualMoments {
    words: [u64; 10],
}

// SAFETY: the assertion below; the kind is used once.
unsafe impl Words for PunctualMoments {
    type State = Moments;
    const KIND: u64 = u64::from_be_bytes(*b"pMoments");
}

const _: () = assert!(fits::<PunctualMoments>());

/// Figures of samples. What the samples do not define is not a number.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct PunctualFigures {
    /// Samples.
    pub count: u64,
    /// Values that were refused because they were infinite or not a number.
    pub rejected: u64,
    /// The smallest sample.
    pub min: f64,
    /// The largest sample.
    pub max: f64,
    /// The arithmetic mean.
    pub mean: f64,
    /// The standard deviation with divisor n - 1.
    pub std_dev: f64,
    /// The biased skewness g1.
    pub skewness: f64,
    /// The biased excess kurtosis g2.
    pub excess_kurtosis: f64,
}

impl PunctualFigures {
    pub(crate) fn of(moments: &Moments, rejected: u64) -> Self {
        let figure = |figure: Option<f64>| figure.unwrap_or(f64::NAN);
        Self {
            count: moments.count(),
            rejected,
            min: figure(moments.min()),
            max: figure(moments.max()),
            mean: figure(moments.mean()),
            std_dev: figure(moments.std_dev()),
            skewness: figure(moments.skewness()),
            excess_kurtosis: figure(moments.excess_kurtosis()),
        }
    }
}

/// Begins anew, without samples.
///
/// # Safety
///
/// `moments` is null, or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn punctual_moments_init(moments: *mut PunctualMoments) -> i32 {
    // SAFETY: as the caller says.
    unsafe { handle::init(moments, Moments::new()) }
}

/// Adds a sample. It takes the same time whatever came before, and no memory.
///
/// # Safety
///
/// `moments` is null, or initialised and not in use elsewhere.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn punctual_moments_push(moments: *mut PunctualMoments, sample: f64) -> i32 {
    // SAFETY: as the caller says.
    let Some(state) = (unsafe { handle::state(moments) }) else {
        return PUNCTUAL_INVALID;
    };
    state.push(sample);
    PUNCTUAL_OK
}

/// Adds the samples of `other`, such as those of another thread.
///
/// # Safety
///
/// Both are null, or initialised and not in use elsewhere; they are not the same.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn punctual_moments_merge(
    moments: *mut PunctualMoments,
    other: *mut PunctualMoments,
) -> i32 {
    if core::ptr::eq(moments, other) {
        return PUNCTUAL_INVALID;
    }
    // SAFETY: as the caller says.
    let Some(state) = (unsafe { handle::state(moments) }) else {
        return PUNCTUAL_INVALID;
    };
    // SAFETY: as the caller says, and another one than the first.
    let Some(other) = (unsafe { handle::state(other) }) else {
        return PUNCTUAL_INVALID;
    };
    state.merge(other);
    PUNCTUAL_OK
}

/// Writes the figures of all samples so far to `figures`.
///
/// # Safety
///
/// `moments` is null, or initialised and not in use elsewhere; `figures` is null, or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn punctual_moments_figures(
    moments: *mut PunctualMoments,
    figures: *mut PunctualFigures,
) -> i32 {
    // SAFETY: as the caller says.
    let Some(state) = (unsafe { handle::state(moments) }) else {
        return PUNCTUAL_INVALID;
    };
    let found = PunctualFigures::of(state, state.rejected());
    // SAFETY: as the caller says.
    unsafe { handle::answer(figures, found) }
}
