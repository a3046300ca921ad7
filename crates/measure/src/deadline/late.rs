// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Which iterations of a thread were late, and by how much.

use punctual_model::{Misses, Nanos, Sample};
use punctual_stats::{Accumulator, Exceedances, Keep};

use super::calibrate::Calibrated;
use crate::stream::BLOCK;

/// Kept up while the thread measures.
#[derive(Debug)]
pub(crate) struct Late {
    /// By how much the late ones were late.
    lateness: Accumulator,
    indicator: Option<Exceedances>,
    /// Late iterations.
    count: u64,
    /// Releases that passed while the thread was at work: those were never served.
    skipped: u64,
}

impl Late {
    /// Takes the memory, for what is kept of other series too.
    pub(crate) fn new(keep: &Keep) -> Self {
        Self {
            lateness: Accumulator::new(keep),
            indicator: None,
            count: 0,
            skipped: 0,
        }
    }

    /// Takes responses in, oldest first.
    pub(crate) fn take(&mut self, block: &[Sample], calibrated: &Calibrated) {
        let deadline = calibrated.deadline.get();
        let indicator = self
            .indicator
            .get_or_insert_with(|| Exceedances::of_threshold(deadline));
        // What is above a fixed threshold needs no histogram.
        let unused = self.lateness.histogram();
        let mut late = [0_u64; BLOCK];
        let mut count = 0;
        for sample in block {
            indicator.extend(&[sample.latency_ns], unused);
            indicator.extend_unsampled(true, sample.skipped.into());
            self.skipped += u64::from(sample.skipped);
            if let (true, Some(late)) = (sample.latency_ns > deadline, late.get_mut(count)) {
                *late = sample.latency_ns - deadline;
                count += 1;
            }
        }
        self.lateness.record_slice(&late[..count]);
        self.count += count as u64;
    }

    /// Returns the figures of the lateness of those that were late.
    pub(crate) const fn lateness(&self) -> &Accumulator {
        &self.lateness
    }

    /// Returns how many missed `deadline`.
    pub(crate) fn misses(&self, deadline: Nanos) -> Misses {
        Misses {
            deadline_ns: deadline,
            count: self.count,
            overruns: self.skipped,
            effective: self
                .indicator
                .as_ref()
                .and_then(Exceedances::effective_samples)
                .filter(|_| self.count + self.skipped > 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_skipped_is_missed() {
        let calibrated = Calibrated {
            undisturbed: Nanos::from_millis(10),
            deadline: Nanos::from_micros(10_500),
            ..Calibrated::default()
        };
        let sample = |ms: u64, skipped| Sample {
            t_ns: ms * 1_000_000,
            latency_ns: ms * 1_000_000,
            cpu: 0,
            skipped,
        };
        let mut late = Late::new(&Keep::default());
        late.take(&[sample(10, 0), sample(11, 0), sample(60, 4)], &calibrated);
        let misses = late.misses(calibrated.deadline);
        assert_eq!((misses.count, misses.overruns, misses.all()), (2, 4, 6));
        assert_eq!(late.lateness().histogram().min(), Some(500_000));
    }
}
