// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What `deadline` is asked for, in the words of the command line.

use std::fmt;
use std::str::FromStr;

use punctual_model::{Nanos, Pin};

/// What to measure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Deadline {
    /// Number of threads.
    pub threads: u32,
    /// How they are bound to the CPUs of the set-up.
    pub pin: Pin,
    /// Length of an iteration.
    pub work: Work,
    /// When an iteration is late.
    pub due: Due,
    /// Part of the time that is worked.
    pub duty: Duty,
}

/// How long an iteration is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Work {
    /// So many additions.
    Additions(u64),
    /// As many additions as take this long when nothing disturbs.
    Time(Nanos),
}

/// When an iteration is late.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Due {
    /// After this many times what an undisturbed iteration takes.
    Auto(f64),
    /// After this time.
    Time(Nanos),
}

impl Due {
    /// The factor of `auto` alone.
    const FACTOR: f64 = 1.05;

    /// The largest factor. A deadline further away is better said as a time.
    const LARGEST: f64 = 1_000.0;

    /// Returns the deadline for iterations that take `undisturbed`.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a factor of at most a thousand; beyond the range it saturates"
    )]
    pub(crate) fn after(self, undisturbed: Nanos) -> Nanos {
        match self {
            Self::Time(time) => time,
            Self::Auto(factor) => Nanos::new((undisturbed.get() as f64 * factor).round() as u64),
        }
    }
}

impl fmt::Display for Due {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto(factor) => f.pad(&format!("auto:{factor}")),
            Self::Time(time) => time.fmt(f),
        }
    }
}

impl FromStr for Due {
    type Err = ParseOptionError;

    fn from_str(s: &str) -> Result<Self, Self::Err> {
        let fail = |reason: String| ParseOptionError {
            text: s.to_owned(),
            reason,
        };
        if s == "auto" {
            return Ok(Self::Auto(Self::FACTOR));
        }
        if let Some(factor) = s.strip_prefix("auto:") {
            return match factor.parse::<f64>() {
                Ok(factor) if factor > 1.0 && factor <= Self::LARGEST => Ok(Self::Auto(factor)),
                _ => Err(fail(format!(
                    "the factor must be above 1 and at most {}, such as auto:1.05",
                    Self::LARGEST
                ))),
            };
        }
        match s.parse::<Nanos>() {
            Ok(time) if !time.is_zero() => Ok(Self::Time(time)),
            Ok(_) => Err(fail("must be at least 1ns".to_owned())),
            Err(err) => Err(fail(format!("neither auto:FACTOR nor a time: {err}"))),
        }
    }
}

/// A part of the time, above 0 and at most 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Duty(f64);

impl Duty {
    /// All of the time.
    pub const FULL: Self = Self(1.0);

    /// Returns the part.
    pub const fn share(self) -> f64 {
        self.0
    }

    /// Whether it is all of the time.
    pub fn is_full(self) -> bool {
        self.0 >= 1.0
    }

    /// Returns the period in which `work` is this part.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "at most a thousand times the work; beyond the range it saturates"
    )]
    pub(crate) fn period_of(self, work: Nanos) -> Nanos {
        Nanos::new((work.get() as f64 / self.0).round() as u64)
    }
}

impl fmt::Display for Duty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not 28.999999999999996.
        let percent = (self.0 * 1e8).round() / 1e6;
        f.pad(&format!("{percent}%"))
    }
}

impl FromStr for Duty {
    type Err = ParseOptionError;

    fn from_str(s: &str) -> Result<Self, Self::Err> {
        let number = s.strip_suffix('%').and_then(|n| n.parse::<f64>().ok());
        match number {
            Some(percent) if (0.1..=100.0).contains(&percent) => Ok(Self(percent / 100.0)),
            _ => Err(ParseOptionError {
                text: s.to_owned(),
                reason: "must be from 0.1% to 100%".to_owned(),
            }),
        }
    }
}

/// An option was rejected.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("`{text}`: {reason}")]
pub struct ParseOptionError {
    text: String,
    reason: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deadlines_round_trip() {
        for (text, due) in [
            ("auto:1.05", Due::Auto(1.05)),
            ("auto:2", Due::Auto(2.0)),
            ("2 s", Due::Time(Nanos::from_secs(2))),
        ] {
            assert_eq!(text.parse::<Due>(), Ok(due));
            assert_eq!(due.to_string(), text);
        }
        assert_eq!("auto".parse(), Ok(Due::Auto(1.05)));
        let ten = Nanos::from_millis(10);
        assert_eq!(Due::Auto(1.05).after(ten), Nanos::from_micros(10_500));
        assert_eq!(Due::Time(ten).after(Nanos::from_secs(1)), ten);
    }

    #[test]
    fn duties_round_trip() {
        for text in ["100%", "80%", "0.5%", "29%", "94.7%"] {
            assert_eq!(text.parse::<Duty>().unwrap().to_string(), text);
        }
        assert!("100%".parse::<Duty>().unwrap().is_full());
        let half: Duty = "50%".parse().unwrap();
        assert_eq!(
            half.period_of(Nanos::from_millis(10)),
            Nanos::from_millis(20)
        );
    }

    #[test]
    fn bad_options_name_the_reason() {
        for (text, part) in [
            ("auto:1", "above 1"),
            ("auto:NaN", "above 1"),
            ("auto:1e9", "at most 1000"),
            ("0", "at least 1ns"),
            ("soon", "neither auto:FACTOR nor a time"),
            ("-1ms", "neither"),
        ] {
            let err = text.parse::<Due>().unwrap_err().to_string();
            assert!(err.contains(part), "{text}: {err}");
        }
        for text in ["80", "0%", "101%", "NaN%", "%", "-5%"] {
            text.parse::<Duty>().unwrap_err();
        }
    }
}
