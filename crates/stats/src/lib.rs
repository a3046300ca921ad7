// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

#![doc = include_str!("../README.md")]
#![cfg_attr(not(feature = "std"), no_std)]
#![forbid(unsafe_code)]

#[cfg(feature = "std")]
mod desktop;
mod histogram;
pub mod moments;
mod num;
pub mod psquare;
mod storage;
#[cfg(test)]
mod testing;
pub mod window;

#[cfg(feature = "std")]
pub use desktop::*;
pub use histogram::{Bucket, LatencyHistogram};
pub use moments::Moments;
pub use num::float;
pub use psquare::{HEAVY_TAIL_RANK_TOLERANCE, Markers, PSquare, QuantileSetError, RANK_TOLERANCE};
pub use window::CountWindow;
#[cfg(feature = "std")]
pub use window::WindowSummary;
