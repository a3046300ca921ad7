// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod histogram;
pub mod moments;
mod num;
pub mod psquare;
#[cfg(test)]
mod testing;
mod view;
pub mod window;

pub use histogram::LatencyHistogram;
pub use moments::Moments;
pub use psquare::{PSquare, QuantileSetError};
pub use view::{Bucket, CdfPoint, PdfPoint, View};
pub use window::{CountWindow, TimeWindow, WindowSummary};
