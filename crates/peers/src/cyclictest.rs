// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! cyclictest of rt-tests: text, log, histogram and JSON.
//!
//! A value is the whole part of the latency in µs, or in ns with `-N`. The mean that the text
//! states is cut to a whole number once more.

pub(crate) mod hist;
pub(crate) mod json;
pub(crate) mod log;
pub(crate) mod text;

use punctual_model::Nanos;

/// What the unit is taken for where the file does not state it.
pub(crate) const ASSUMED_US: &str =
    "the file does not state its unit; µs was taken for it, which is wrong after cyclictest -N";

/// How the line begins that a run prints once, first.
pub(crate) const DMA_LINE: &str = "# /dev/cpu_dma_latency set to ";

/// Reads `Thread 0 Interval: 1500`.
pub(crate) fn interval_line(line: &str) -> Option<(u32, Nanos)> {
    let (thread, interval) = line.strip_prefix("Thread ")?.split_once(" Interval: ")?;
    let us: u64 = interval.trim().parse().ok()?;
    Some((
        thread.trim().parse().ok()?,
        Nanos::new(us.checked_mul(1_000)?),
    ))
}

/// Whether a line says something about the run and no figure.
pub(crate) fn is_remark(line: &str) -> bool {
    line.is_empty()
        || line.starts_with('#')
        || ["WARN:", "INFO:", "Max CPUs = ", "Online CPUs = "]
            .iter()
            .any(|start| line.starts_with(start))
}
