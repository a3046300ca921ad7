// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Figures in the unit of a table, and the reasons for those that are missing.

use std::collections::BTreeSet;

use punctual_model::{Interval, Policy};
use punctual_verdict::number::compact;
pub(crate) use punctual_verdict::number::{
    difference, digits, lasting, percent, range, share, span, tiny,
};

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

    /// Chooses the decimals for means or estimates.
    pub(crate) fn up_to_all(figures: impl Iterator<Item = f64>) -> Self {
        let decimals = if figures.fold(0.0, f64::max) < 1e5 {
            3
        } else {
            1
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

    /// Writes `low .. high`.
    pub(crate) fn interval(self, interval: &Interval) -> String {
        format!("{} .. {}", self.of(interval.low), self.of(interval.high))
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

    /// Writes the footnote.
    pub(crate) fn note(&self) -> String {
        let line = self.reasons();
        line.map_or_else(String::new, |line| super::layout::wrapped(" ", 4, &line))
    }
}

/// Writes a policy as short as it can be read back: `d:500us:1ms` for `d:500000ns:1000000ns`.
pub(crate) fn policy(text: &str) -> String {
    match text.parse() {
        Ok(Policy::Deadline { runtime, period }) => {
            format!("d:{}:{}", compact(runtime), compact(period))
        }
        _ => super::layout::clean(text).into_owned(),
    }
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
    fn a_policy_is_as_short_as_it_is_typed() {
        assert_eq!(policy("d:500000ns:1000000ns"), "d:500us:1ms");
        assert_eq!(policy("f:80"), "f:80");
    }
}
