// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

#![doc = include_str!("../README.md")]
#![cfg_attr(not(feature = "std"), no_std)]
#![forbid(unsafe_code)]

#[cfg(feature = "std")]
pub mod accumulator;
#[cfg(feature = "std")]
mod base64;
#[cfg(feature = "std")]
pub mod batch;
#[cfg(feature = "std")]
mod binomial;
#[cfg(feature = "std")]
pub mod dependence;
#[cfg(feature = "std")]
pub mod design;
#[cfg(feature = "std")]
pub mod exceed;
#[cfg(feature = "std")]
pub mod fleet;
#[cfg(feature = "std")]
pub mod hdr_log;
mod histogram;
#[cfg(feature = "std")]
pub mod history;
#[cfg(feature = "std")]
mod holm;
pub mod moments;
mod num;
#[cfg(feature = "std")]
mod payload;
#[cfg(feature = "std")]
mod poisson;
#[cfg(feature = "std")]
pub mod precision;
pub mod psquare;
#[cfg(feature = "std")]
mod pvalue;
#[cfg(feature = "std")]
mod random;
#[cfg(feature = "std")]
pub mod requirement;
#[cfg(feature = "std")]
pub mod runs;
#[cfg(feature = "std")]
pub mod sequential;
#[cfg(feature = "std")]
pub mod stop;
mod storage;
#[cfg(feature = "std")]
mod student;
#[cfg(feature = "std")]
pub mod tail;
#[cfg(feature = "std")]
pub mod target;
#[cfg(test)]
mod testing;
#[cfg(feature = "std")]
pub mod text;
mod view;
pub mod window;
#[cfg(feature = "std")]
pub mod worth;

#[cfg(feature = "std")]
pub use accumulator::{Above, Accumulator, Keep};
#[cfg(feature = "std")]
pub use batch::{BatchMeans, autocorrelation_time};
#[cfg(feature = "std")]
pub use dependence::{Dependence, Exceedances};
#[cfg(feature = "std")]
pub use exceed::{ThresholdCounter, ThresholdMismatch};
#[cfg(feature = "std")]
pub use hdr_log::{
    HistogramLog, HlogLimits, ReadHistogramError, TaggedHistogram, ThreadHistogram,
    WriteHistogramError, read_hlog, read_hlog_within, write_hlog,
};
pub use histogram::LatencyHistogram;
#[cfg(feature = "std")]
pub use holm::holm;
pub use moments::Moments;
pub use num::float;
#[cfg(feature = "std")]
pub use poisson::poisson_interval;
#[cfg(feature = "std")]
pub use precision::{
    Interval, clopper_pearson, dependent_mean_interval, dependent_quantile_interval,
    exceedance_upper_bound, mean_interval, quantile_interval, quantile_ranks, rule_of_three,
    samples_for_bound, samples_for_quantile,
};
pub use psquare::{HEAVY_TAIL_RANK_TOLERANCE, Markers, PSquare, QuantileSetError, RANK_TOLERANCE};
#[cfg(feature = "std")]
pub use pvalue::PValue;
#[cfg(feature = "std")]
pub use random::RandomSource;
#[cfg(feature = "std")]
pub use stop::{StopRule, TargetState};
#[cfg(feature = "std")]
pub use target::{HalfWidth, ParseTargetError, PrecisionTarget, Statistic};
#[cfg(feature = "std")]
pub use view::View;
pub use view::{Bucket, CdfPoint, PdfPoint};
pub use window::CountWindow;
#[cfg(feature = "std")]
pub use window::{TimeWindow, WindowSummary};
#[cfg(feature = "std")]
pub use worth::Worth;
