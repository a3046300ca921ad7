// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Runs and their samples in formats that other programs read.
//!
//! Samples are streamed: memory does not grow with their number. An error leaves a part in the
//! output; the caller writes to a name that it throws away then.

mod cases;
mod csv;
mod figures;
mod json;
mod junit;
#[cfg(feature = "parquet")]
mod parquet;
mod perfetto;
mod tap;

pub use self::cases::{Case, Outcome, cases};
pub use self::csv::{
    Counted, csv_buckets, csv_contexts, csv_distributions, csv_histogram, csv_samples, csv_summary,
};
pub use self::figures::csv_figures;
pub use self::json::{json_run, json_samples};
pub use self::junit::{junit, junit_of_latency_test};
#[cfg(feature = "parquet")]
pub use self::parquet::parquet_samples;
pub use self::perfetto::perfetto;
pub use self::tap::tap;

use std::error::Error as StdError;
use std::io;

use punctual_model::{RunRecord, SampleTimes};

/// Which columns of the samples are known. The others are empty, null, or left out of Parquet.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Columns {
    /// The CPU of the wake-up.
    pub cpu: bool,
    /// The time of the wake-up.
    pub time: bool,
    /// Whether times are instruction counts of a guest in virtual time: a column more, or metadata, says so.
    pub counted: bool,
}

impl Columns {
    /// Every column, as in a run that this program measured.
    pub const ALL: Self = Self {
        cpu: true,
        time: true,
        counted: false,
    };

    /// Returns what is known of the samples of a run.
    pub fn of(run: &RunRecord) -> Self {
        match &run.origin {
            None => Self {
                counted: run.is_virtual(),
                ..Self::ALL
            },
            Some(origin) => Self {
                cpu: false,
                time: origin.sample_times == Some(SampleTimes::Clock),
                counted: run.is_virtual(),
            },
        }
    }
}

/// Samples could not be exported. `E` is what the source of the samples says.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError<E: StdError + 'static> {
    /// The samples cannot be read to their end.
    #[error(transparent)]
    Samples(E),
    /// The output cannot be written.
    #[error("write the exported samples")]
    Write(#[from] io::Error),
    /// The output cannot be written as Parquet.
    #[cfg(feature = "parquet")]
    #[error("write the exported samples as Parquet")]
    Parquet(#[from] ::parquet::errors::ParquetError),
}
