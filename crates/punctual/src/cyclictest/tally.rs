// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A thread's figures as cyclictest keeps them: whole microseconds or nanoseconds, rounded down.

use punctual_model::Sample;

/// Units of all figures.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Resolution {
    /// Microseconds.
    Micros,
    /// Nanoseconds: `-N`.
    Nanos,
}

impl Resolution {
    /// Returns `ns` in this unit, rounded down.
    pub(super) const fn of(self, ns: u64) -> u64 {
        match self {
            Self::Micros => ns / 1_000,
            Self::Nanos => ns,
        }
    }

    /// Returns the largest number of nanoseconds that is not above `limit` of this unit.
    pub(super) const fn not_above(self, limit: u64) -> u64 {
        match self {
            Self::Micros => limit.saturating_add(1).saturating_mul(1_000) - 1,
            Self::Nanos => limit,
        }
    }
}

/// One thread's figures.
#[derive(Clone, Debug)]
pub(super) struct Tally {
    pub(super) cycles: u64,
    pub(super) min: u64,
    pub(super) act: u64,
    pub(super) max: u64,
    sum: u128,
    /// Samples by value; empty without a histogram.
    pub(super) rows: Vec<u64>,
    /// Samples that no row takes.
    pub(super) overflows: u64,
    /// Numbers of the first of these, as many as there are rows.
    pub(super) overflow_cycles: Vec<u64>,
}

impl Tally {
    /// Makes figures of nothing, with `rows` rows.
    pub(super) fn new(rows: usize) -> Self {
        Self {
            cycles: 0,
            min: 1_000_000,
            act: 0,
            max: 0,
            sum: 0,
            rows: vec![0; rows],
            overflows: 0,
            overflow_cycles: Vec::new(),
        }
    }

    /// Takes a value.
    pub(super) fn add(&mut self, value: u64) {
        // The first sample counts even above the start value, which is there for display.
        self.min = if self.cycles == 0 {
            value
        } else {
            self.min.min(value)
        };
        self.max = self.max.max(value);
        self.act = value;
        self.sum += u128::from(value);
        if !self.rows.is_empty() {
            let row = usize::try_from(value).ok();
            if let Some(row) = row.and_then(|value| self.rows.get_mut(value)) {
                *row += 1;
            } else {
                if self.overflow_cycles.len() < self.rows.len() {
                    self.overflow_cycles.push(self.cycles);
                }
                self.overflows += 1;
            }
        }
        self.cycles += 1;
    }

    /// Returns the mean, rounded down.
    pub(super) fn avg(&self) -> u64 {
        u64::try_from(self.sum / u128::from(self.cycles.max(1))).unwrap_or(u64::MAX)
    }

    /// Returns the mean.
    #[expect(clippy::cast_precision_loss, reason = "for display")]
    pub(super) fn mean(&self) -> f64 {
        self.sum as f64 / self.cycles.max(1) as f64
    }

    /// Returns the samples in all rows.
    pub(super) fn in_rows(&self) -> u64 {
        self.rows.iter().sum()
    }
}

/// A sample above the trigger of `--spike`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Spike {
    pub(super) thread: u32,
    pub(super) value: u64,
    /// When it was taken, in microseconds of the run's clock.
    pub(super) at_us: u64,
}

/// The spikes of a run: the first ones, and how many there were.
#[derive(Clone, Debug, Default)]
pub(super) struct Spikes {
    pub(super) trigger: u64,
    pub(super) room: usize,
    pub(super) kept: Vec<Spike>,
    pub(super) count: u64,
}

impl Spikes {
    /// Looks at a value of `thread`, whose run began at `origin_ns`.
    pub(super) fn look(&mut self, thread: u32, value: u64, sample: &Sample, origin_ns: u64) {
        if self.trigger == 0 || value <= self.trigger {
            return;
        }
        self.count += 1;
        if self.kept.len() < self.room {
            self.kept.push(Spike {
                thread,
                value,
                at_us: origin_ns.saturating_add(sample.t_ns) / 1_000,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_those_of_whole_microseconds() {
        let mut tally = Tally::new(3);
        for ns in [1_999, 2_000, 5_500, 7_000, 3_000, 9_000] {
            tally.add(Resolution::Micros.of(ns));
        }
        assert_eq!((tally.min, tally.act, tally.max), (1, 9, 9));
        assert_eq!((tally.avg(), tally.cycles), (4, 6));
        assert_eq!(tally.rows, [0, 1, 1]);
        assert_eq!(tally.overflows, 4);
        assert_eq!(tally.overflow_cycles, [2, 3, 4]);
    }

    #[test]
    fn a_first_sample_of_more_than_a_second_is_the_minimum() {
        let mut tally = Tally::new(0);
        tally.add(2_000_000);
        assert_eq!(tally.min, 2_000_000);
    }

    #[test]
    fn a_limit_is_passed_by_whole_units() {
        for resolution in [Resolution::Micros, Resolution::Nanos] {
            let limit = resolution.not_above(5);
            assert_eq!(resolution.of(limit), 5);
            assert_eq!(resolution.of(limit + 1), 6);
        }
    }

    #[test]
    fn spikes_beyond_the_room_are_counted() {
        let mut spikes = Spikes {
            trigger: 10,
            room: 1,
            ..Spikes::default()
        };
        for value in [10, 11, 12] {
            spikes.look(0, value, &Sample::default(), 5_000);
        }
        assert_eq!((spikes.count, spikes.kept.len()), (2, 1));
        assert_eq!(spikes.kept[0].at_us, 5);
    }
}
