// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Units. Every span of time in this workspace is a [`Nanos`].

use std::fmt;
use std::ops::{Add, Sub};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A span of time, or a point on some clock, in nanoseconds.
///
/// Serialized as a bare integer; the field that holds one ends in `_ns`. Arithmetic saturates.
#[derive(
    Clone, Copy, Debug, Default, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize,
)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Nanos(u64);

impl Nanos {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// The longest span that can be said.
    pub const MAX: Self = Self(u64::MAX);

    /// Wraps `ns` nanoseconds.
    pub const fn new(ns: u64) -> Self {
        Self(ns)
    }

    /// Wraps `us` microseconds.
    pub const fn from_micros(us: u64) -> Self {
        Self(us.saturating_mul(1_000))
    }

    /// Wraps `ms` milliseconds.
    pub const fn from_millis(ms: u64) -> Self {
        Self(ms.saturating_mul(1_000_000))
    }

    /// Wraps `s` seconds.
    pub const fn from_secs(s: u64) -> Self {
        Self(s.saturating_mul(1_000_000_000))
    }

    /// Returns the number of nanoseconds.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Returns the span in seconds, for display and rates.
    #[expect(clippy::cast_precision_loss, reason = "for display and rates only")]
    pub const fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Returns `self - earlier`, or zero when `earlier` is later.
    pub const fn since(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }

    /// Returns `self * n`.
    pub const fn times(self, n: u64) -> Self {
        Self(self.0.saturating_mul(n))
    }

    /// Whether the span is empty.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
}

impl Add for Nanos {
    type Output = Self;

    fn add(self, rhs: Self) -> Self {
        Self(self.0.saturating_add(rhs.0))
    }
}

impl Sub for Nanos {
    type Output = Self;

    fn sub(self, rhs: Self) -> Self {
        self.since(rhs)
    }
}

impl From<Nanos> for std::time::Duration {
    fn from(span: Nanos) -> Self {
        Self::from_nanos(span.0)
    }
}

impl fmt::Display for Nanos {
    /// Writes the largest unit that keeps at least one whole digit: `850 ns`, `12.3 µs`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        #[expect(clippy::cast_precision_loss, reason = "display only")]
        let ns = self.0 as f64;
        let (value, unit) = match self.0 {
            0..1_000 => return f.pad(&format!("{} ns", self.0)),
            1_000..1_000_000 => (ns / 1e3, "µs"),
            1_000_000..1_000_000_000 => (ns / 1e6, "ms"),
            _ => (ns / 1e9, "s"),
        };
        // Whole values are settings (1 ms), not figures: no decimals there.
        let text = if (value.fract() * 10.0).abs() < f64::EPSILON {
            format!("{value:.0} {unit}")
        } else if unit == "s" {
            format!("{value:.2} {unit}")
        } else {
            format!("{value:.1} {unit}")
        };
        f.pad(&text)
    }
}

/// The units that a duration may be given in, with their length in nanoseconds.
const SPAN_UNITS: [(&str, u64); 9] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("min", 60_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
    ("d", 86_400_000_000_000),
];

impl FromStr for Nanos {
    type Err = ParseNanosError;

    /// Reads a decimal number and its unit, such as `100us`, `1.5ms`, `2s`, `10m`, `8h`.
    fn from_str(s: &str) -> Result<Self, Self::Err> {
        let text = s.trim();
        if text.starts_with('-') {
            return Err(ParseNanosError::Negative { text: s.to_owned() });
        }
        let split = text
            .find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_')
            .unwrap_or(text.len());
        let (number, unit) = text.split_at(split);
        let unit = unit.trim();
        let number = number.replace('_', "");
        if number.is_empty() {
            return Err(ParseNanosError::NotANumber { text: s.to_owned() });
        }
        if unit.is_empty() {
            return match number.parse::<f64>() {
                Ok(0.0) => Ok(Self::ZERO),
                Ok(_) => Err(ParseNanosError::NoUnit { text: s.to_owned() }),
                Err(_) => Err(ParseNanosError::NotANumber { text: s.to_owned() }),
            };
        }
        let Some((_, scale)) = SPAN_UNITS.iter().find(|(name, _)| *name == unit) else {
            return Err(ParseNanosError::UnknownUnit {
                unit: unit.to_owned(),
                text: s.to_owned(),
            });
        };
        decimal(&number, *scale).map_or_else(
            |reason| {
                Err(match reason {
                    DecimalError::Malformed => ParseNanosError::NotANumber { text: s.to_owned() },
                    DecimalError::TooLarge => ParseNanosError::TooLong { text: s.to_owned() },
                    DecimalError::TooFine => ParseNanosError::TooFine { text: s.to_owned() },
                })
            },
            |ns| Ok(Self(ns)),
        )
    }
}

enum DecimalError {
    Malformed,
    TooLarge,
    TooFine,
}

/// Computes `number * scale` exactly, so that `0.1us` is 100 ns and not 99.
fn decimal(number: &str, scale: u64) -> Result<u64, DecimalError> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(fraction) || (whole.is_empty() && fraction.is_empty()) {
        return Err(DecimalError::Malformed);
    }
    let fraction = fraction.trim_end_matches('0');
    // 86_400e9 ns has 10 factors of ten at most beyond this; more digits cannot be whole ns.
    if fraction.len() > 17 {
        return Err(DecimalError::TooFine);
    }
    let whole: u128 = match whole {
        "" => 0,
        digits => digits.parse().map_err(|_| DecimalError::TooLarge)?,
    };
    let parts: u128 = match fraction {
        "" => 0,
        digits => digits.parse().map_err(|_| DecimalError::TooLarge)?,
    };
    let power = 10_u128.pow(u32::try_from(fraction.len()).unwrap_or(0));
    let scaled = parts * u128::from(scale);
    if !scaled.is_multiple_of(power) {
        return Err(DecimalError::TooFine);
    }
    whole
        .checked_mul(u128::from(scale))
        .and_then(|ns| ns.checked_add(scaled / power))
        .and_then(|ns| u64::try_from(ns).ok())
        .ok_or(DecimalError::TooLarge)
}

/// The reason that a duration was rejected.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseNanosError {
    /// There is no number.
    #[error("`{text}` is not a duration; write a number and a unit, such as 100us or 2s")]
    NotANumber {
        /// What was given.
        text: String,
    },
    /// The number has no unit.
    #[error(
        "`{text}` has no unit; append ns, us, ms, s, m, h or d: {text}s are seconds, {text}us microseconds"
    )]
    NoUnit {
        /// What was given.
        text: String,
    },
    /// The unit is not one of ours.
    #[error("`{unit}` in `{text}` is not a unit of time; use ns, us, ms, s, m, h or d")]
    UnknownUnit {
        /// The rejected unit.
        unit: String,
        /// What was given.
        text: String,
    },
    /// A duration is not negative.
    #[error("`{text}` is negative")]
    Negative {
        /// What was given.
        text: String,
    },
    /// More than 584 years.
    #[error("`{text}` is longer than 584 years")]
    TooLong {
        /// What was given.
        text: String,
    },
    /// Not a whole number of nanoseconds.
    #[error("`{text}` is not a whole number of nanoseconds")]
    TooFine {
        /// What was given.
        text: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn display_picks_the_largest_whole_unit() {
        assert_eq!(Nanos::new(850).to_string(), "850 ns");
        assert_eq!(Nanos::new(12_340).to_string(), "12.3 µs");
        assert_eq!(Nanos::new(4_000_000).to_string(), "4 ms");
        assert_eq!(Nanos::from_secs(61).to_string(), "61 s");
    }

    #[test]
    fn durations_are_read_exactly() {
        for (text, ns) in [
            ("0", 0),
            ("100us", 100_000),
            ("0.1us", 100),
            ("1.5 ms", 1_500_000),
            ("2s", 2_000_000_000),
            ("10m", 600_000_000_000),
            ("1_000us", 1_000_000),
        ] {
            assert_eq!(text.parse::<Nanos>().unwrap().get(), ns, "{text}");
        }
    }

    #[test]
    fn bad_durations_name_the_reason() {
        for (text, part) in [
            ("-1s", "negative"),
            ("100", "no unit"),
            ("1parsec", "`parsec`"),
            ("", "not a duration"),
            ("1.2.3s", "not a duration"),
            ("0.5ns", "whole number"),
            ("99999999999999999999s", "584 years"),
            ("us", "not a duration"),
        ] {
            let err = text.parse::<Nanos>().unwrap_err().to_string();
            assert!(err.contains(part), "{text}: {err}");
        }
    }
}
