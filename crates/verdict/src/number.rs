// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Numbers, shares and times as they are written in sentences and tables.

use punctual_model::{Effect, Interval, Nanos, Policy};

use crate::words::clean;

/// Writes the confidence of an interval: `95 %`.
pub fn percent(share: f64) -> String {
    let text = format!("{:.2}", share * 100.0);
    let text = text.trim_end_matches('0').trim_end_matches('.');
    format!("{text} %")
}

/// Writes the share that `count` is of `of`, so that few are not shown as none, nor most as all.
pub fn share(count: u64, of: u64) -> Option<String> {
    #[expect(clippy::cast_precision_loss, reason = "display only")]
    let percents = (of > 0).then(|| count as f64 / of as f64 * 100.0)?;
    Some(match count {
        0 => "0 %".to_owned(),
        _ if count >= of => "100 %".to_owned(),
        _ if percents > 99.99 => "> 99.99 %".to_owned(),
        _ if percents >= 0.01 => percent(percents / 100.0),
        // Two digits, wherever they begin: 20 decimals hold one of 2^64.
        _ => {
            let zeros = (1..20).find(|n| percents * 10_f64.powi(*n) >= 1.0);
            let decimals = usize::try_from(zeros.unwrap_or(20)).unwrap_or(20) + 1;
            let text = format!("{percents:.decimals$}");
            format!("{} %", text.trim_end_matches('0'))
        }
    })
}

/// Writes a share with two digits, wherever they begin.
pub fn tiny(share: f64) -> String {
    let percents = share * 100.0;
    let decimals = (0..14)
        .find(|n| percents * 10_f64.powi(*n) >= 10.0)
        .unwrap_or(14);
    let text = format!("{percents:.*}", usize::try_from(decimals).unwrap_or(0));
    let text = match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => &text,
    };
    format!("{text} %")
}

/// Writes a setting: `1.5 ms`, `1001 µs`, never rounded.
pub fn span(span: Nanos) -> String {
    let ns = span.get();
    let (scale, unit) = match ns {
        0 => return "0 ns".to_owned(),
        1_000_000_000.. => (1_000_000_000_u64, "s"),
        1_000_000.. => (1_000_000, "ms"),
        1_000.. => (1_000, "µs"),
        _ => (1, "ns"),
    };
    let digits = scale.ilog10() as usize;
    let fraction = format!("{:0digits$}", ns % scale);
    match fraction.trim_end_matches('0') {
        "" => format!("{} {unit}", ns / scale),
        fraction => format!("{}.{fraction} {unit}", ns / scale),
    }
}

/// Writes a setting as it is typed: `100us`.
pub fn compact(setting: Nanos) -> String {
    span(setting).replace(' ', "").replace('µ', "u")
}

/// Writes a policy as short as it can be read back: `d:500us:1ms` for `d:500000ns:1000000ns`.
pub fn policy(text: &str) -> String {
    match text.parse() {
        Ok(Policy::Deadline { runtime, period }) => {
            format!("d:{}:{}", compact(runtime), compact(period))
        }
        _ => clean(text).into_owned(),
    }
}

/// Writes how long something takes, rounded up to two digits: `30 s`, `50 min`, `28 h`, `3.5 days`.
pub fn lasting(time: Nanos) -> String {
    two_digits(time, f64::ceil)
}

/// Writes how long something took: as [`lasting`], rounded down, so that no more is claimed than there was.
pub fn lasted(time: Nanos) -> String {
    two_digits(time, f64::floor)
}

fn two_digits(time: Nanos, whole: impl Fn(f64) -> f64) -> String {
    const UNITS: [(f64, &str); 6] = [
        (86_400e9, "days"),
        (3_600e9, "h"),
        (60e9, "min"),
        (1e9, "s"),
        (1e6, "ms"),
        (1e3, "µs"),
    ];
    #[expect(clippy::cast_precision_loss, reason = "two digits of it are shown")]
    let ns = time.get() as f64;
    // What fits twice into a unit is said in it: 90 s, 110 min, 40 h.
    let fits = |unit: &&(f64, &str)| ns > 2.0 * unit.0 || (unit.0 <= 1e9 && ns >= unit.0);
    let (scale, unit) = UNITS.iter().find(fits).copied().unwrap_or((1.0, "ns"));
    let value = ns / scale;
    let decimals = usize::from(value < 10.0);
    let tens = [1.0, 10.0][decimals];
    let number = bounded(value * tens, 1e-6, whole) / tens;
    let text = format!("{number:.decimals$}");
    format!("{} {unit}", text.trim_end_matches(".0"))
}

/// Four digits, wherever they begin.
pub fn digits(x: f64) -> String {
    // Plus 0 makes 0 of -0, which the sum of nothing is.
    let x = x + 0.0;
    let decimals = decimals(x);
    format!("{x:.decimals$}")
}

/// An upper bound: as [`digits`], never below it.
pub fn digits_up(x: f64) -> String {
    digits_to(x, f64::ceil)
}

/// A lower bound: as [`digits`], never above it.
pub fn digits_down(x: f64) -> String {
    digits_to(x, f64::floor)
}

fn digits_to(x: f64, whole: impl Fn(f64) -> f64) -> String {
    let decimals = decimals(x);
    let scale = 10_f64.powi(i32::try_from(decimals).unwrap_or(0));
    // The error of a product is far below a millionth here.
    let number = bounded(x * scale, 1e-9, whole) / scale;
    format!("{number:.decimals$}")
}

/// Rounds one way, except what the error of a division or a product took over a whole number.
fn bounded(x: f64, error: f64, whole: impl Fn(f64) -> f64) -> f64 {
    let nearest = x.round();
    // Plus 0 makes 0 of -0.
    match (x - nearest).abs() <= error {
        true => nearest + 0.0,
        false => whole(x) + 0.0,
    }
}

fn decimals(x: f64) -> usize {
    let size = x.abs();
    let decimals = (0..9)
        .find(|n| size * 10_f64.powi(*n) >= 1_000.0)
        .unwrap_or(if size == 0.0 { 0 } else { 9 });
    usize::try_from(decimals).unwrap_or(0)
}

/// A difference and its ends with the decimals of the largest of them: digits of an end that happens to lie near zero
/// say no more.
pub fn difference(effect: &Effect, scale: f64) -> (String, Option<String>) {
    let ends = effect
        .interval
        .map(|ends| [ends.low / scale, ends.high / scale]);
    let estimate = effect.estimate / scale;
    let sizes = ends.iter().flatten().map(|end| end.abs());
    let decimals = decimals(sizes.fold(estimate.abs(), f64::max));
    let shown = |x: f64| {
        let text = format!("{x:.decimals$}");
        // What is nothing in these digits has no sign.
        match text.trim_start_matches(['-', '0', '.']).is_empty() {
            true => text.trim_start_matches('-').to_owned(),
            false => text,
        }
    };
    let sign = if estimate > 0.0 { "+" } else { "" };
    let between = |[low, high]: [f64; 2]| format!("{} .. {}", shown(low), shown(high));
    (format!("{sign}{}", shown(estimate)), ends.map(between))
}

/// A unit as it is shown, and by what values are divided for it.
pub fn unit(unit: &str) -> (&str, f64) {
    match unit {
        "ns" => ("µs", 1e3),
        "1" => ("", 1.0),
        other => (other, 1.0),
    }
}

/// Writes an interval. Runs that all have 0 of something do not show that there is none: `0 .. 0` would say so.
pub fn range(interval: &Interval, scale: f64) -> String {
    if interval.low == 0.0 && interval.high == 0.0 {
        return "none seen".to_owned();
    }
    format!(
        "{} .. {}",
        digits(interval.low / scale),
        digits(interval.high / scale)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_is_as_short_as_it_is_typed() {
        assert_eq!(policy("d:500000ns:1000000ns"), "d:500us:1ms");
        assert_eq!(policy("f:80"), "f:80");
    }

    #[test]
    fn nothing_has_no_sign() {
        assert_eq!(digits(-0.0), "0");
    }

    #[test]
    fn an_interval_of_nothing_is_no_interval() {
        let ends = |low, high| Interval {
            low,
            high,
            confidence: 0.95,
        };
        assert_eq!(range(&ends(0.0, 0.0), 1.0), "none seen");
        assert!(range(&ends(0.0, 1.0), 1.0).starts_with("0 .. 1"));
    }

    #[test]
    fn a_bound_is_rounded_away_from_what_it_bounds() {
        for (us, up, down) in [
            (1_234.4, "1235", "1234"),
            (13_592.249, "13593", "13592"),
            (6_407.751, "6408", "6407"),
            (4_234.2, "4235", "4234"),
            (2.2, "2.200", "2.200"),
            (0.57, "0.5700", "0.5700"),
            (123.456, "123.5", "123.4"),
            (-1.5, "-1.500", "-1.500"),
            (0.0, "0", "0"),
        ] {
            assert_eq!(
                (digits_up(us).as_str(), digits_down(us).as_str()),
                (up, down)
            );
        }
        // Whole nanoseconds are whole: no error of a product is rounded away from.
        for ns in 1_000..10_000_u32 {
            let us = f64::from(ns) / 1e3;
            assert_eq!((digits_up(us), digits_down(us)), (digits(us), digits(us)));
        }
    }

    #[test]
    fn a_time_that_something_took_is_never_said_to_be_longer() {
        for (ns, text) in [
            (14_410_000_000_000, "4 h"),
            (122_000_000_000, "2 min"),
            (30_000_000_000, "30 s"),
            (29_910_000_000, "29 s"),
            (0, "0 ns"),
        ] {
            assert_eq!(lasted(Nanos::new(ns)), text);
        }
    }

    #[test]
    fn a_time_that_something_takes_is_never_said_to_be_shorter() {
        for (ns, text) in [
            (30_000_000_000, "30 s"),
            (29_910_000_000, "30 s"),
            (5_910_000_000, "6 s"),
            (5_810_000_000, "5.9 s"),
            (90_000_000_000, "90 s"),
            (2_995_700_000_000, "50 min"),
            (299_573_200_000_000, "3.5 days"),
            (100_000_000_000_000, "28 h"),
            (720_000_000_000_000, "8.4 days"),
            (100_000_000, "100 ms"),
            (1_500, "1.5 µs"),
            (0, "0 ns"),
        ] {
            assert_eq!(lasting(Nanos::new(ns)), text);
        }
    }

    #[test]
    fn settings_are_not_rounded() {
        for (ns, text) in [
            (0, "0 ns"),
            (999, "999 ns"),
            (1_500_000, "1.5 ms"),
            (1_001_000, "1.001 ms"),
            (60_000_000_000, "60 s"),
            (1_000_000_001, "1.000000001 s"),
        ] {
            assert_eq!(span(Nanos::new(ns)), text);
        }
    }

    #[test]
    fn few_are_not_none_and_most_are_not_all() {
        for (count, of, text) in [
            (0, 10, "0 %"),
            (10, 10, "100 %"),
            (1, 3, "33.33 %"),
            (999_999, 1_000_000, "> 99.99 %"),
            (3, 100_000, "0.003 %"),
            (123, 10_000_000, "0.0012 %"),
            (1, 100_000_000, "0.000001 %"),
        ] {
            assert_eq!(share(count, of).as_deref(), Some(text));
        }
        assert_eq!(share(0, 0), None);
        assert!(share(1, u64::MAX).is_some_and(|text| text.contains('5')));
    }

    #[test]
    fn shares_have_no_empty_decimals() {
        assert_eq!(percent(0.95), "95 %");
        assert_eq!(percent(0.999), "99.9 %");
        assert_eq!(percent(0.0), "0 %");
        assert_eq!(percent(1.0), "100 %");
    }

    #[test]
    fn a_difference_has_the_decimals_of_its_largest_end_and_nothing_has_no_sign() {
        let effect = |estimate, low, high| Effect {
            estimate,
            interval: Some(Interval {
                low,
                high,
                confidence: 0.95,
            }),
        };
        let shown = |estimate, low, high| {
            let (estimate, ends) = difference(&effect(estimate, low, high), 1.0);
            (estimate, ends.unwrap_or_default())
        };
        let of = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(
            shown(-0.6654, -1.332, 0.000_026),
            of("-0.665", "-1.332 .. 0.000")
        );
        assert_eq!(
            shown(0.4329, -0.000_01, 0.9163),
            of("+0.4329", "0.0000 .. 0.9163")
        );
        assert_eq!(shown(0.0, 0.0, 0.0), of("0", "0 .. 0"));
    }
}
