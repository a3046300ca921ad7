// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What is held in memory of a run's files, which may be somebody else's: as much as its record leads one
//! to expect, and a limit that no record raises.

use std::error::Error;

use punctual_stats::{HistogramLog, HlogLimits, read_hlog_within};
use punctual_store::StoredRun;

use crate::recording::HISTOGRAM_LOG;

/// Samples of a run that are held at once: those of four hours at 1 kHz.
pub(crate) const MOST_SAMPLES: u64 = 16 << 20;

/// Reads the histograms of a run, if it has any.
pub(crate) fn histograms(
    run: &StoredRun,
) -> Result<Option<HistogramLog>, Box<dyn Error + Send + Sync>> {
    let Some(log) = run.artifact(HISTOGRAM_LOG)? else {
        return Ok(None);
    };
    let most = HlogLimits::default();
    // One a series, and totals of each kind.
    let expected = run
        .record()
        .series
        .len()
        .saturating_mul(2)
        .saturating_add(64);
    let limits = HlogLimits {
        entries: most.entries.min(expected),
        ..most
    };
    Ok(Some(read_hlog_within(&mut log.as_slice(), limits)?))
}
