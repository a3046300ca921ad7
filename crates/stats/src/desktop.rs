// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What takes a heap or an operating system: all but the statistics that run online.

pub mod accumulator;
pub mod batch;
pub(crate) mod binomial;
pub mod dependence;
pub mod design;
pub mod exceed;
pub mod fleet;
pub mod hdr_log;
pub mod history;
pub(crate) mod holm;
pub(crate) mod payload;
pub(crate) mod poisson;
pub mod precision;
pub(crate) mod pvalue;
pub(crate) mod random;
pub mod requirement;
pub mod runs;
pub mod sequential;
pub(crate) mod shape;
pub mod stop;
pub(crate) mod student;
pub mod tail;
pub mod target;
pub mod text;
pub mod worth;

pub use accumulator::{Above, Accumulator, Keep};
pub use batch::{BatchMeans, autocorrelation_time};
pub use dependence::{Dependence, Exceedances};
pub use exceed::ThresholdCounter;
pub use hdr_log::{
    HistogramLog, HlogLimits, ReadHistogramError, TaggedHistogram, ThreadHistogram,
    WriteHistogramError, read_hlog, read_hlog_within, write_hlog,
};
pub use holm::holm;
pub use poisson::poisson_interval;
pub use precision::{
    Interval, clopper_pearson, dependent_mean_interval, dependent_quantile_interval,
    exceedance_upper_bound, mean_interval, quantile_interval, quantile_ranks, samples_for_bound,
    samples_for_quantile,
};
pub use pvalue::PValue;
pub use random::RandomSource;
pub use stop::{StopRule, TargetState};
pub use target::{HalfWidth, ParseTargetError, PrecisionTarget, Statistic};
pub use worth::Worth;
