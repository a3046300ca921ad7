// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What a function does with arguments that are wrong, as far as it can know.
#![allow(
    unsafe_code,
    clippy::multiple_unsafe_ops_per_block,
    reason = "the functions are those that C calls"
)]

use std::mem::zeroed;
use std::ptr::{null, null_mut};

use punctual_stats_c::*;

#[test]
fn null_and_memory_that_was_never_initialised_are_refused() {
    // SAFETY: null, and memory of the right type whose bytes are zero, are what each function allows.
    unsafe {
        let mut moments: PunctualMoments = zeroed();
        assert_eq!(punctual_moments_push(null_mut(), 1.0), PUNCTUAL_INVALID);
        assert_eq!(
            punctual_moments_push(&raw mut moments, 1.0),
            PUNCTUAL_INVALID
        );
        assert_eq!(punctual_moments_init(null_mut()), PUNCTUAL_INVALID);
        let mut quantiles: PunctualQuantiles = zeroed();
        assert_eq!(
            punctual_quantiles_push(&raw mut quantiles, 1.0),
            PUNCTUAL_INVALID
        );
        assert!(punctual_quantiles_estimate(&raw mut quantiles, 0).is_nan());
        let mut window: PunctualWindow = zeroed();
        assert_eq!(punctual_window_push(&raw mut window, 1.0), PUNCTUAL_INVALID);
        assert!(punctual_window_quantile(&raw mut window, 0.5).is_nan());
        let mut histogram: PunctualHistogram = zeroed();
        let mut ns = 7;
        assert_eq!(
            punctual_histogram_record(&raw mut histogram, 1),
            PUNCTUAL_INVALID
        );
        assert_eq!(
            punctual_histogram_quantile(&raw mut histogram, 0.5, &raw mut ns),
            PUNCTUAL_INVALID
        );
        assert_eq!(ns, 7, "nothing is written");
    }
}

#[test]
fn a_state_of_another_kind_is_refused() {
    // SAFETY: words of the one are as many as the other's first word needs, and that is all that is read.
    unsafe {
        let mut moments: PunctualMoments = zeroed();
        assert_eq!(punctual_moments_init(&raw mut moments), PUNCTUAL_OK);
        let window = (&raw mut moments).cast::<PunctualWindow>();
        assert_eq!(punctual_window_push(window, 1.0), PUNCTUAL_INVALID);
    }
}

#[test]
fn numbers_out_of_range_are_refused() {
    // SAFETY: all memory is ours and initialised; null is allowed.
    unsafe {
        let mut quantiles: PunctualQuantiles = zeroed();
        let mut markers: [PunctualMarkers; 2] = zeroed();
        for shares in [[0.5, 1.0], [0.0, 0.5], [f64::NAN, 0.5]] {
            let begun = punctual_quantiles_init(
                &raw mut quantiles,
                markers.as_mut_ptr(),
                shares.as_ptr(),
                2,
            );
            assert_eq!(begun, PUNCTUAL_INVALID, "{shares:?}");
        }
        let markers = markers.as_mut_ptr();
        let begun = punctual_quantiles_init(&raw mut quantiles, markers, null(), 2);
        assert_eq!(begun, PUNCTUAL_INVALID);
        let begun =
            punctual_quantiles_init(&raw mut quantiles, markers, [0.5].as_ptr(), usize::MAX);
        assert_eq!(begun, PUNCTUAL_INVALID, "more than memory has");

        let mut window: PunctualWindow = zeroed();
        let (mut ring, mut scratch) = ([0.0; 3], [0.0; 3]);
        let places = (ring.as_mut_ptr(), scratch.as_mut_ptr());
        assert_eq!(
            punctual_window_init(&raw mut window, places.0, places.1, 0),
            PUNCTUAL_INVALID
        );
        assert_eq!(
            punctual_window_init(&raw mut window, places.0, places.0, 3),
            PUNCTUAL_INVALID
        );
        assert_eq!(
            punctual_window_init(&raw mut window, places.0, places.1, 3),
            PUNCTUAL_OK
        );
        assert!(
            punctual_window_quantile(&raw mut window, 0.5).is_nan(),
            "no sample"
        );
        assert_eq!(punctual_window_push(&raw mut window, f64::NAN), PUNCTUAL_OK);
        let mut figures: PunctualFigures = zeroed();
        assert_eq!(
            punctual_window_figures(&raw mut window, &raw mut figures),
            PUNCTUAL_OK
        );
        assert_eq!((figures.count, figures.rejected), (0, 1));
        assert!(figures.mean.is_nan());
        assert_eq!(
            punctual_window_figures(&raw mut window, null_mut()),
            PUNCTUAL_INVALID
        );

        let mut histogram: PunctualHistogram = zeroed();
        let mut counts = [5_u64; 10];
        assert_eq!(
            punctual_histogram_init(&raw mut histogram, counts.as_mut_ptr(), 0),
            PUNCTUAL_INVALID
        );
        assert_eq!(
            punctual_histogram_init(&raw mut histogram, counts.as_mut_ptr(), 10),
            PUNCTUAL_OK
        );
        let mut ns = 0;
        for q in [-0.1, 1.1, f64::NAN, 0.5] {
            let found = punctual_histogram_quantile(&raw mut histogram, q, &raw mut ns);
            assert_eq!(found, PUNCTUAL_INVALID, "{q}, and no value");
        }
        assert_eq!(
            punctual_histogram_record(&raw mut histogram, 12),
            PUNCTUAL_OK
        );
        let mut extent: PunctualExtent = zeroed();
        assert_eq!(
            punctual_histogram_extent(&raw mut histogram, &raw mut extent),
            PUNCTUAL_OK
        );
        assert_eq!((extent.count, extent.clamped), (1, 1));
        assert_eq!((extent.highest_ns, extent.max_ns), (9, 12));

        let mut moments: PunctualMoments = zeroed();
        assert_eq!(punctual_moments_init(&raw mut moments), PUNCTUAL_OK);
        let same = &raw mut moments;
        assert_eq!(punctual_moments_merge(same, same), PUNCTUAL_INVALID);
    }
}
