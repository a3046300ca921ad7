// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Blocks with and without tracing, taken in turn in one run: what tracing itself costs.
//!
//! The blocks come in pairs, and every second pair in the other order, so that a drift of the machine
//! raises both sides alike. The cost is the median over the pairs of the difference between the
//! block's median latencies, with the distribution-free interval of a median.

use punctual_model::{Better, Figure, Nanos};

use crate::error::MeasureError;
use crate::median::median_figure;

/// Blocks that a run is divided into.
const BLOCKS: u64 = 40;
const SHORTEST: Nanos = Nanos::from_millis(50);
const LONGEST: Nanos = Nanos::from_secs(1);
/// Deadlines of a thread in a block, at least.
const DEADLINES: u64 = 50;
/// Pairs of blocks, at least.
const PAIRS: u64 = 2;

/// How a run is divided.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Blocks {
    /// Length of a block.
    pub(super) length: Nanos,
    pairs: u64,
}

impl Blocks {
    /// Divides `duration` for threads that wake up every `interval`.
    pub(super) fn plan(duration: Nanos, interval: Nanos) -> Result<Self, MeasureError> {
        let length = Nanos::new(duration.get() / BLOCKS)
            .max(SHORTEST)
            .min(LONGEST)
            .max(interval.times(DEADLINES));
        let pairs = duration.get() / length.get() / 2;
        if pairs < PAIRS {
            let least = length.times(2 * PAIRS);
            return Err(MeasureError::Spec {
                option: format!("--duration {duration}"),
                reason: format!(
                    "too short: blocks of {DEADLINES} deadlines and at least {SHORTEST} with and \
                     without tracing need {least}"
                ),
            });
        }
        Ok(Self { length, pairs })
    }

    /// Returns whether each block is traced, in order.
    pub(super) fn order(self) -> impl Iterator<Item = bool> {
        (0..self.pairs).flat_map(|pair| {
            let first = pair % 2 == 1;
            [first, !first]
        })
    }
}

/// The medians of the blocks.
#[derive(Clone, Debug, Default)]
pub(super) struct Cost {
    medians: Vec<(bool, u64)>,
}

impl Cost {
    /// Adds a block with its latencies in ns, whose order is not kept.
    pub(super) fn add(&mut self, traced: bool, latencies: &mut [u64]) {
        let middle = latencies.len() / 2;
        let median = match latencies.is_empty() {
            // A block without a sample leaves its pair without one.
            true => u64::MAX,
            false => *latencies.select_nth_unstable(middle).1,
        };
        self.medians.push((traced, median));
    }

    /// Returns the cost in ns.
    pub(super) fn figure(&self) -> Figure {
        let mut differences: Vec<f64> = self
            .medians
            .chunks_exact(2)
            .filter_map(|pair| {
                let of = |traced| pair.iter().find(|(t, _)| *t == traced).map(|(_, ns)| *ns);
                let (on, off) = (of(true)?, of(false)?);
                (on != u64::MAX && off != u64::MAX).then(|| on.cast_signed() - off.cast_signed())
            })
            .map(|ns| {
                #[expect(clippy::cast_precision_loss, reason = "exact below 104 days")]
                {
                    ns as f64
                }
            })
            .collect();
        median_figure("tracing_cost", "ns", Better::Lower, &mut differences)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_alternate_and_their_order_turns() {
        let blocks = Blocks::plan(Nanos::from_secs(10), Nanos::from_millis(1)).unwrap();
        assert_eq!(blocks.length, Nanos::from_millis(250));
        let order: Vec<bool> = blocks.order().collect();
        assert_eq!(order.len(), 40);
        assert_eq!(order[..4], [false, true, true, false]);
        assert_eq!(order.iter().filter(|traced| **traced).count(), 20);
    }

    #[test]
    fn long_runs_have_short_blocks_and_too_short_runs_are_refused() {
        let hour = Blocks::plan(Nanos::from_secs(3_600), Nanos::from_millis(1)).unwrap();
        assert_eq!(hour.length, Nanos::from_secs(1));
        let err = Blocks::plan(Nanos::from_millis(199), Nanos::from_millis(1)).unwrap_err();
        assert!(err.is_usage(), "{err}");
        assert!(Blocks::plan(Nanos::from_millis(200), Nanos::from_millis(1)).is_ok());
    }

    #[test]
    fn the_cost_is_that_of_pairs_and_a_drift_is_not_taken_for_it() {
        let mut cost = Cost::default();
        let plan = Blocks::plan(Nanos::from_secs(10), Nanos::from_millis(1)).unwrap();
        for (n, traced) in plan.order().enumerate() {
            // The machine gets 100 ns slower with each block; tracing costs 1500.
            let base = 20_000 + n as u64 * 100 + if traced { 1_500 } else { 0 };
            cost.add(traced, &mut [base - 500, base + 9_000_000, base]);
        }
        let figure = cost.figure();
        assert_eq!((figure.value, figure.count), (Some(1_500.0), 20));
        let interval = figure.interval.unwrap();
        assert!(interval.low <= 1_500.0 && interval.high >= 1_500.0);
        assert!(interval.high - interval.low <= 200.0);
    }

    #[test]
    fn few_pairs_have_no_interval_and_empty_blocks_no_pair() {
        let mut cost = Cost::default();
        cost.add(false, &mut [5]);
        cost.add(true, &mut [8]);
        cost.add(true, &mut [9]);
        cost.add(false, &mut []);
        let figure = cost.figure();
        assert_eq!((figure.value, figure.count), (Some(3.0), 1));
        assert_eq!(figure.interval, None);
    }
}
