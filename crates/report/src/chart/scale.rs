// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Where values lie on a drawn axis, which of them have a tick, and how figures are written.

use super::{Axis, Scale};

/// An axis with its ends and its length in the drawing.
#[derive(Clone, Debug)]
pub struct Placed {
    low: f64,
    high: f64,
    log: bool,
    /// Drawn place of the low end.
    from: f64,
    /// Drawn place of the high end.
    to: f64,
}

/// A tick.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    /// Where.
    pub at: f64,
    /// Its text; without one it is a line alone.
    pub text: String,
}

impl Placed {
    /// Places an axis that has to show `values` between two places of the drawing.
    pub fn new(axis: &Axis, values: impl Iterator<Item = f64>, from: f64, to: f64) -> Self {
        let log = axis.scale == Scale::Log;
        let (low, high) = match (&axis.scale, axis.range) {
            (Scale::Names(names), _) => (-0.5, names.len().max(1) as f64 - 0.5),
            (_, Some(range)) => range,
            (scale, None) => fit(values, *scale == Scale::Log),
        };
        Self {
            low,
            high,
            log,
            from,
            to,
        }
    }

    /// Returns the drawn place of a value; `None` for what has none.
    pub fn place(&self, value: f64) -> Option<f64> {
        let (value, low, high) = match self.log {
            true if value <= 0.0 => return None,
            true => (value.ln(), self.low.ln(), self.high.ln()),
            false => (value, self.low, self.high),
        };
        let share = (value - low) / (high - low);
        share
            .is_finite()
            .then_some(self.from + (self.to - self.from) * share)
    }

    /// Returns the drawn place of the low end: where 0 is on a logarithmic axis.
    pub fn floor(&self) -> f64 {
        self.from
    }

    /// Returns the ticks of an axis with room for about `most` texts.
    pub fn ticks(&self, axis: &Axis, most: usize) -> Vec<Tick> {
        match &axis.scale {
            Scale::Names(names) => (0_u32..)
                .zip(names)
                .map(|(n, name)| Tick {
                    at: f64::from(n),
                    text: name.clone(),
                })
                .collect(),
            Scale::Log => log_ticks(self.low, self.high, most),
            Scale::Linear => linear_ticks(self.low, self.high, most),
        }
    }
}

/// The range that values need. A logarithmic one ends at a value's own decade's 1, 2 or 5.
fn fit(values: impl Iterator<Item = f64>, log: bool) -> (f64, f64) {
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for value in values.filter(|v| v.is_finite() && (!log || *v > 0.0)) {
        low = low.min(value);
        high = high.max(value);
    }
    if low > high {
        return if log { (1.0, 10.0) } else { (0.0, 1.0) };
    }
    if log {
        return (low / 1.15, high * 1.25);
    }
    // Values that differ by rounding alone are one.
    let is_one = high - low <= 1e-9 * high.abs();
    let high = if is_one { low } else { high };
    // From 0 unless the values are far from it, as those of a difference or of an axis of time.
    let low = if low > 0.0 && (low < 0.7 * high || is_one) {
        0.0
    } else {
        low
    };
    let gap = (high - low) * 0.06;
    let gap = if gap > 0.0 {
        gap
    } else {
        high.abs().max(1.0) * 0.1
    };
    let low = if low == 0.0 { low } else { low - gap };
    (low, high + gap)
}

fn linear_ticks(low: f64, high: f64, most: usize) -> Vec<Tick> {
    let rough = (high - low) / most.max(2) as f64;
    if !(rough.is_finite() && rough > 0.0) {
        return Vec::new();
    }
    let size = 10_f64.powf(rough.log10().floor());
    let steps = [0.2, 0.5, 1.0, 2.0, 5.0, 10.0].map(|n| n * size);
    let fitting = steps.iter().position(|step| *step >= rough * 0.999);
    let upto = fitting.map_or(steps.len(), |at| at + 1);
    // One text alone says nothing of how far apart places are.
    let two = |step: &&f64| (high / **step).floor() > (low / **step).ceil();
    let step = steps.iter().take(upto).rev().find(two);
    let step = step.copied().unwrap_or(size);
    let mut ticks = Vec::new();
    let mut number = (low / step).ceil();
    while number * step <= high && ticks.len() < 100 {
        let at = number * step;
        ticks.push(Tick {
            at,
            text: figure(at, step),
        });
        number += 1.0;
    }
    ticks
}

/// A logarithmic axis that is shorter has evenly spaced ticks: there may be no round figure in it.
const LEAST_DECADES: f64 = 0.35;

fn log_ticks(low: f64, high: f64, most: usize) -> Vec<Tick> {
    let decades = (high / low).log10();
    if !(decades.is_finite() && decades > 0.0) {
        return Vec::new();
    }
    if decades < LEAST_DECADES {
        return linear_ticks(low, high, most);
    }
    // Where there is room, 2 and 5 have a text too.
    let written: &[u32] = match most as f64 / decades {
        room if room >= 9.0 => &[1, 2, 3, 4, 5, 6, 7, 8, 9],
        room if room >= 3.0 => &[1, 2, 5],
        _ => sparse(low, high, most),
    };
    let every = (decades / most.max(1) as f64).ceil().max(1.0);
    let mut ticks = Vec::new();
    let mut exponent = low.log10().floor();
    while exponent <= high.log10() && ticks.len() < 400 {
        for n in 1..10_u32 {
            let at = f64::from(n) * 10_f64.powf(exponent);
            if at < low || at > high {
                continue;
            }
            let text = written.contains(&n) && (exponent / every).fract() == 0.0;
            ticks.push(Tick {
                at,
                text: if text { figure(at, at) } else { String::new() },
            });
        }
        exponent += 1.0;
    }
    match ticks.iter().filter(|tick| !tick.text.is_empty()).count() {
        0 | 1 => linear_ticks(low, high, most),
        _ => ticks,
    }
}

/// The digits of an axis with little room: two texts at least, so that one can tell how far apart they are.
fn sparse(low: f64, high: f64, most: usize) -> &'static [u32] {
    let within = |at: f64| (low..=high).contains(&at);
    let texts = |digits: &[u32]| -> usize {
        let mut texts = 0;
        let mut exponent = low.log10().floor();
        while exponent <= high.log10() && texts < 100 {
            let at = |n: &&u32| within(f64::from(**n) * 10_f64.powf(exponent));
            texts += digits.iter().filter(at).count();
            exponent += 1.0;
        }
        texts
    };
    let decades: &[u32] = &[1];
    if texts(decades) > 1 {
        return decades;
    }
    let finer: [&[u32]; 2] = [&[1, 3], &[1, 2, 5]];
    let fits = |digits: &&&[u32]| (2..=most + 2).contains(&texts(digits));
    finer.iter().find(fits).copied().unwrap_or(decades)
}

/// Writes how many there are: `1 sample`, `19 924 samples`.
pub(crate) fn counted(count: u64, of: &str) -> String {
    match count {
        1 => format!("1 {of}"),
        n => format!("{} {of}s", grouped(n)),
    }
}

/// Writes how many stretches there are.
pub(crate) fn counted_stretches(count: usize) -> String {
    match count {
        1 => "1 stretch".to_owned(),
        n => format!("{n} stretches"),
    }
}

/// Writes a figure of an axis whose figures differ by `step`.
pub fn figure(value: f64, step: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let size = value.abs();
    if !(1e-4..1e6).contains(&size) {
        let digits = digits(size.log10().floor() - step.abs().log10().floor());
        let text = format!("{value:.digits$e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let digits = match digits.contains('.') {
            true => digits.trim_end_matches('0').trim_end_matches('.'),
            false => digits,
        };
        return format!("{digits}e{exponent}");
    }
    let decimals = digits(-step.abs().log10().floor());
    let text = format!("{value:.decimals$}");
    match text.split_once('.') {
        Some((_, fraction)) if fraction.bytes().all(|b| b == b'0') => {
            text.split('.').next().unwrap_or("0").to_owned()
        }
        _ => text,
    }
}

/// A number of digits behind the point.
fn digits(number: f64) -> usize {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "0 to 15"
    )]
    let digits = number.clamp(0.0, 15.0) as usize;
    digits
}

/// Writes a count with thin spaces between thousands.
pub fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) && digits.len() > 4 {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(axis: &Axis, values: &[f64], most: usize) -> Vec<String> {
        let placed = Placed::new(axis, values.iter().copied(), 0.0, 100.0);
        let ticks = placed.ticks(axis, most);
        let texts = ticks.into_iter().map(|t| t.text);
        texts.filter(|t| !t.is_empty()).collect()
    }

    #[test]
    fn values_that_differ_by_rounding_alone_are_shown_from_0() {
        let (low, high) = fit([9.877, 9.877 + 2e-15].into_iter(), false);
        assert_eq!(low, 0.0);
        assert!(high > 10.0 && high < 11.0, "{high}");
        // Below 0 there is no such end.
        let (low, high) = fit([-5.0, -5.0].into_iter(), false);
        assert_eq!((low, high), (-5.5, -4.5));
    }

    #[test]
    fn ticks_are_round_and_few() {
        let linear = Axis::linear("");
        assert_eq!(texts(&linear, &[0.0, 10.0], 5), ["0", "5", "10"]);
        assert_eq!(texts(&linear, &[0.0, 0.3], 3), ["0", "0.2"]);
        let log = Axis::log("");
        assert_eq!(texts(&log, &[1.0, 1000.0], 5), ["1", "10", "100", "1000"]);
        assert_eq!(texts(&log, &[1e-6, 1.0], 3).last().unwrap(), "1");
        for (low, high) in [(0.0, 0.0), (5.0, 5.0), (-3.0, 1e9), (1e-12, 1e15)] {
            for axis in [&linear, &log] {
                assert!(texts(axis, &[low, high], 6).len() < 14, "{low} {high}");
            }
        }
    }

    #[test]
    fn each_axis_has_two_texts_and_no_text_twice() {
        let ratios = [
            1.0 + 1e-6,
            1.001,
            1.04,
            1.3,
            1.66,
            1.83,
            2.3,
            3.2,
            8.7,
            45.0,
            1e4,
            1e9,
        ];
        let starts = [
            1e-5, 1.04, 7.3, 10.6, 999.0, 98_765.4, 990_000.0, 1.23e7, 9.9e11,
        ];
        for low in starts {
            for ratio in ratios {
                for most in 2..10 {
                    for ticks in [linear_ticks, log_ticks] {
                        let ticks = ticks(low, low * ratio, most);
                        let texts = ticks.iter().map(|tick| &*tick.text);
                        let texts: Vec<&str> = texts.filter(|text| !text.is_empty()).collect();
                        let apart = std::collections::BTreeSet::from_iter(&texts);
                        let what = format!("{low} {ratio} {most}: {texts:?}");
                        assert!(texts.len() > 1 && apart.len() == texts.len(), "{what}");
                    }
                }
            }
        }
        let narrow = linear_ticks(1.2301e7, 1.2309e7, 4);
        assert_eq!(narrow[0].text, "1.2302e7");
    }

    #[test]
    fn a_value_of_nothing_has_no_place_on_a_logarithmic_axis() {
        let axis = Axis::log("");
        let placed = Placed::new(&axis, [1.0, 10.0].into_iter(), 0.0, 100.0);
        assert_eq!(placed.place(0.0), None);
        assert!(placed.place(3.0).is_some_and(|at| at > 0.0 && at < 100.0));
    }

    #[test]
    fn counts_have_their_thousands_apart() {
        assert_eq!(grouped(1234), "1234");
        assert_eq!(grouped(19_924), "19\u{202f}924");
        assert_eq!(grouped(0), "0");
    }
}
