// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Figures in the unit of a table, the reasons for those that are missing, and what samples are called: the words of documents,
//! whoever writes them.

use std::collections::BTreeSet;

use punctual_model::{Instrument, Interval, RunRecord};
pub(crate) use punctual_verdict::number::{
    difference, digits, digits_down, digits_up, lasted, lasting, percent, policy, range, share,
    span, tiny, unit,
};
pub(crate) use punctual_verdict::words::clean;

/// Writes nanoseconds as microseconds with a fixed number of decimals.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Micros {
    decimals: usize,
}

impl Micros {
    /// Chooses the decimals for a column: whole nanoseconds while its figures are small, tenths of
    /// a microsecond where the error of a quantile is larger than that anyway.
    pub(crate) fn up_to(largest_ns: Option<u64>) -> Self {
        let decimals = match largest_ns {
            Some(100_000..) => 1,
            _ => 3,
        };
        Self { decimals }
    }

    /// Writes whole nanoseconds.
    pub(crate) fn whole(self, ns: u64) -> String {
        #[expect(clippy::cast_precision_loss, reason = "display only")]
        self.of(ns as f64)
    }

    /// Writes a mean or an estimate.
    pub(crate) fn of(self, ns: f64) -> String {
        format!("{:.*}", self.decimals, ns / 1e3)
    }
}

/// The ends of an interval, where there is one.
pub(crate) fn range_ends(interval: Option<&Interval>, scale: f64) -> [Option<String>; 2] {
    let ends = interval.map(|interval| range(interval, scale));
    match ends.as_deref().map(|ends| ends.split_once(" .. ")) {
        Some(Some((low, high))) => [Some(low.to_owned()), Some(high.to_owned())],
        _ => [ends, None],
    }
}

/// Writes a number with three significant digits and a decimal prefix: `6.02 G`.
pub fn scaled(number: f64) -> String {
    let (value, prefix) = match number.abs() {
        n if n >= 999.5e6 => (number / 1e9, " G"),
        n if n >= 999.5e3 => (number / 1e6, " M"),
        n if n >= 999.5 => (number / 1e3, " k"),
        _ => (number, ""),
    };
    let decimals = match value.abs() {
        v if v.fract() == 0.0 && prefix.is_empty() => 0,
        v if v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        _ => 2,
    };
    format!("{value:.decimals$}{prefix}")
}

/// The reasons for the figures that a text shows as `-`.
#[derive(Debug, Default)]
pub(crate) struct Missing(BTreeSet<&'static str>);

impl Missing {
    /// Returns the text of a figure, or `-` and remembers why.
    pub(crate) fn or(&mut self, figure: Option<String>, reason: &'static str) -> String {
        figure.unwrap_or_else(|| {
            self.0.insert(reason);
            "-".to_owned()
        })
    }

    /// Returns the reasons in a line; none where nothing is missing.
    pub(crate) fn reasons(&self) -> Option<String> {
        let reasons: Vec<_> = self.0.iter().copied().collect();
        (!reasons.is_empty()).then(|| format!("-: {}", reasons.join("; ")))
    }
}

/// What the samples of a run have a deadline or are: `Wake-ups`.
pub(crate) fn events_of(run: &RunRecord) -> &'static str {
    Instrument::samples_of(&run.instrument).events
}

/// What a sample of a run is: `Latency`.
pub(crate) fn quantity_of(run: &RunRecord) -> String {
    Instrument::samples_of(&run.instrument).title.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_follow_the_largest_figure() {
        assert_eq!(Micros::up_to(Some(99_999)).whole(1_234), "1.234");
        assert_eq!(Micros::up_to(Some(100_000)).whole(1_250), "1.2");
        assert_eq!(Micros::up_to(None).whole(0), "0.000");
    }

    #[test]
    fn numbers_keep_three_digits() {
        for (number, text) in [
            (0.0, "0"),
            (7.0, "7"),
            (7.5, "7.50"),
            (123.4, "123"),
            (999.4, "999"),
            (999.6, "1.00 k"),
            (12_345.0, "12.3 k"),
            (6_020_000_000.0, "6.02 G"),
            (6.02e12, "6020 G"),
        ] {
            assert_eq!(scaled(number), text);
        }
    }
}
