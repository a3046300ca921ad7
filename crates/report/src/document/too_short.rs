// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Why figures have no interval, and how long to measure for one.

use std::collections::BTreeMap;

use punctual_model::{Nanos, Ordered as _, Series, TooShort};

use crate::number::span;
use crate::order::in_order;

/// What the intervals of one figure lack, over all series that lack one.
#[derive(Clone, Copy, Debug, Default)]
struct Need {
    /// Samples are not independent.
    dependent: bool,
    /// Time over which they depend on each other, in s.
    correlation_s: f64,
    /// Time to measure, in s.
    measure_s: f64,
    /// Samples, where a record does not say how long it took.
    samples: u64,
}

/// Says why figures of `series` have no interval and how long a run must be at least, in one or two
/// sentences; none where every figure has one, and for records that do not tell. `duration` is that of the run, and `of` chooses figures.
pub(crate) fn too_short<'a>(
    duration: Option<Nanos>,
    series: impl Iterator<Item = &'a Series>,
    of: impl Fn(&str) -> bool,
) -> Option<String> {
    let mut needs: BTreeMap<String, Need> = BTreeMap::new();
    for series in series {
        for (name, short) in &series.too_short {
            if of(name) {
                needs
                    .entry(name.clone())
                    .or_default()
                    .add(duration, series, short);
            }
        }
    }
    let mut names = in_order(needs.keys());
    // What is not a quantile comes first.
    names.order_by_key(|name| name.starts_with('p'));
    let sentence = |dependent: bool| {
        let of: Vec<(&str, &Need)> = names
            .iter()
            .filter_map(|name| Some((name.as_str(), needs.get(*name)?)))
            .filter(|(_, need)| need.dependent == dependent)
            .collect();
        let times: Vec<String> = of
            .iter()
            .map(|(name, need)| format!("{} for {name}", need.length()))
            .collect();
        let correlation = of
            .iter()
            .map(|(_, need)| need.correlation_s)
            .fold(0.0, f64::max);
        let why = match (dependent, correlation > 0.0) {
            (true, true) => format!(
                "No interval: samples depend on each other for {}.",
                seconds(correlation)
            ),
            (true, false) => "No interval: samples depend on each other.".to_owned(),
            (false, _) => "No interval: too few samples.".to_owned(),
        };
        (!times.is_empty()).then(|| format!("{why} Measure for at least {}.", times.join(", ")))
    };
    let sentences: Vec<String> = [true, false].into_iter().filter_map(sentence).collect();
    (!sentences.is_empty()).then(|| sentences.join(" "))
}

impl Need {
    fn add(&mut self, duration: Option<Nanos>, series: &Series, short: &TooShort) {
        // A rate that is hardly above that of independent samples is the noise of its estimate.
        self.dependent |= short.correlation_samples >= 1.5;
        self.samples = self.samples.max(short.needed_samples);
        let Some(duration) = duration.filter(|_| series.count > 0) else {
            return;
        };
        let each = duration.as_secs_f64() / punctual_stats::float(series.count);
        self.correlation_s = self.correlation_s.max(short.correlation_samples * each);
        let measure = punctual_stats::float(short.needed_samples) * each;
        self.measure_s = self.measure_s.max(measure);
    }

    fn length(&self) -> String {
        match self.measure_s > 0.0 {
            true => seconds(self.measure_s),
            false => format!("{} samples", self.samples),
        }
    }
}

/// A time with two digits, rounded up.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "whole ns, which saturate"
)]
fn seconds(s: f64) -> String {
    let ns = s * 1e9;
    let digit = 10_f64.powf(ns.max(1.0).log10().floor() - 1.0).max(1.0);
    span(Nanos::new(((ns / digit).ceil() * digit) as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(short: &[(&str, f64, u64)]) -> Series {
        let short = short.iter().map(|(name, correlation, needed)| {
            let short = TooShort {
                correlation_samples: *correlation,
                needed_samples: *needed,
            };
            ((*name).to_owned(), short)
        });
        Series {
            count: 10_000,
            too_short: short.collect(),
            ..Series::default()
        }
    }

    fn note(series: &Series, of: fn(&str) -> bool) -> Option<String> {
        too_short(Some(Nanos::from_secs(10)), [series].into_iter(), of)
    }

    #[test]
    fn the_note_says_how_long_samples_depend_and_how_long_to_measure() {
        let series = series(&[
            ("p99", 199.3, 74_100),
            ("mean", 199.3, 19_930),
            ("p5", 120.0, 12_000),
        ]);
        assert_eq!(
            note(&series, |_| true).unwrap(),
            "No interval: samples depend on each other for 200 ms. Measure for at least 20 s for mean, \
             12 s for p5, 75 s for p99."
        );
        assert_eq!(note(&series, |name| name == "p50"), None);
    }

    #[test]
    fn too_few_independent_samples_are_no_dependence() {
        let series = series(&[("p99.9", 1.1, 12_345)]);
        assert_eq!(
            note(&series, |_| true).unwrap(),
            "No interval: too few samples. Measure for at least 13 s for p99.9."
        );
        assert_eq!(
            too_short(None, [&series].into_iter(), |_| true).unwrap(),
            "No interval: too few samples. Measure for at least 12345 samples for p99.9."
        );
    }
}
