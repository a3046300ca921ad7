// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub mod accumulator;
mod base64;
pub mod batch;
mod binomial;
pub mod dependence;
pub mod design;
pub mod exceed;
pub mod hdr_log;
mod histogram;
mod holm;
pub mod moments;
mod num;
mod payload;
mod poisson;
pub mod precision;
pub mod psquare;
mod pvalue;
mod random;
pub mod requirement;
pub mod runs;
pub mod sequential;
pub mod stop;
mod student;
pub mod tail;
pub mod target;
#[cfg(test)]
mod testing;
pub mod text;
mod view;
pub mod window;
pub mod worth;

pub use accumulator::{Above, Accumulator, Keep};
pub use batch::{BatchMeans, autocorrelation_time};
pub use dependence::{Dependence, Exceedances};
pub use exceed::{ThresholdCounter, ThresholdMismatch};
pub use hdr_log::{
    HistogramLog, HlogLimits, ReadHistogramError, TaggedHistogram, ThreadHistogram,
    WriteHistogramError, read_hlog, read_hlog_within, write_hlog,
};
pub use histogram::LatencyHistogram;
pub use holm::holm;
pub use moments::Moments;
pub use num::float;
pub use poisson::poisson_interval;
pub use precision::{
    Interval, clopper_pearson, dependent_mean_interval, dependent_quantile_interval,
    exceedance_upper_bound, mean_interval, quantile_interval, quantile_ranks, rule_of_three,
    samples_for_bound, samples_for_quantile,
};
pub use psquare::{HEAVY_TAIL_RANK_TOLERANCE, PSquare, QuantileSetError, RANK_TOLERANCE};
pub use pvalue::PValue;
pub use random::RandomSource;
pub use stop::{StopRule, TargetState};
pub use target::{HalfWidth, ParseTargetError, PrecisionTarget, Statistic};
pub use view::{Bucket, CdfPoint, PdfPoint, View};
pub use window::{CountWindow, TimeWindow, WindowSummary};
pub use worth::Worth;
