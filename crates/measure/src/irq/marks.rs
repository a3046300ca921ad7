// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Whether the trace's clock is the clock of the threads.
//!
//! A mark is written into the trace between two readings of the clock. Its time in the trace must lie
//! between them; the narrowest pair bounds how far the clocks can be apart.

use std::io::Write as _;

use punctual_model::{Check, Nanos};
use punctual_sys::clock;
use punctual_sys::tracefs::{Instance, TracefsError};

use crate::error::MeasureError;

/// Marks at a time.
const MARKS: usize = 50;

/// What the marks of a run showed.
#[derive(Clone, Debug, Default)]
pub(super) struct Marks {
    written: u64,
    found: u64,
    /// Of those found, how many lie between their readings.
    between: u64,
    narrowest: Option<Nanos>,
}

impl Marks {
    /// Writes some marks and returns the readings around each.
    pub(super) fn write(instance: &Instance) -> Result<Vec<(Nanos, Nanos)>, MeasureError> {
        let mut marker = instance
            .open_for_writing("trace_marker")
            .map_err(TracefsError::Use)?;
        (0..MARKS)
            .map(|_| {
                let before = clock::monotonic();
                marker.write_all(b"mark").map_err(MeasureError::Trace)?;
                Ok((before, clock::monotonic()))
            })
            .collect()
    }

    /// Takes in the readings around each mark, and the marks' times in the trace, oldest first.
    pub(super) fn add(&mut self, readings: &[(Nanos, Nanos)], times: impl Iterator<Item = u64>) {
        self.written += readings.len() as u64;
        for ((before, after), time) in readings.iter().zip(times) {
            self.found += 1;
            self.between += u64::from((before.get()..=after.get()).contains(&time));
            let width = *after - *before;
            self.narrowest = Some(self.narrowest.map_or(width, |least| least.min(width)));
        }
    }

    /// Judges them.
    pub(super) fn check(&self) -> Check {
        let id = "trace-clock";
        let Some(narrowest) = self.narrowest else {
            return Check::unknown(id, "none of the marks written is in the trace");
        };
        let Self {
            written,
            found,
            between,
            ..
        } = self;
        Check::of(
            id,
            between == written,
            format!(
                "{between} of {written} marks ({found} found) lie between the thread's clock reads \
                 around them; the closest two reads are {narrowest} apart"
            ),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_model::CheckStatus;

    fn marks(times: &[u64]) -> Check {
        let mut marks = Marks::default();
        let readings = [(10, 20), (30, 33), (50, 60)].map(|(a, b)| (Nanos::new(a), Nanos::new(b)));
        marks.add(&readings, times.iter().copied());
        marks.check()
    }

    #[test]
    fn a_mark_outside_of_its_readings_shows_that_the_clocks_differ() {
        assert!(marks(&[12, 30, 60]).passed());
        assert_eq!(marks(&[12, 34, 60]).status, CheckStatus::Fail);
        assert_eq!(marks(&[12, 30]).status, CheckStatus::Fail);
        assert_eq!(marks(&[]).status, CheckStatus::Unknown);
        assert!(marks(&[12, 30, 60]).detail.contains("3 ns apart"));
    }
}
