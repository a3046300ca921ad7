// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What `deadline` is asked for, in the words of the command line.

use std::fmt;
use std::str::FromStr;

use punctual_model::{Nanos, Pin};

use crate::duty::Duty;

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
    /// Time between releases, where it was given.
    pub interval: Option<Nanos>,
    /// Part of the time that is worked, where no interval was given.
    pub duty: Duty,
}

impl Deadline {
    /// Whether the thread sleeps between iterations.
    pub fn rests(&self) -> bool {
        self.interval.is_some() || !self.duty.is_full()
    }

    /// Returns the time between releases as far as it follows from what was asked for: with a duty it is that
    /// of the length of an iteration that was given, whatever the calibration finds.
    pub fn asked_interval(&self) -> Option<Nanos> {
        match (self.interval, self.work) {
            (Some(interval), _) => Some(interval),
            (None, Work::Time(time)) if self.rests() => Some(self.duty.period_of(time)),
            _ => None,
        }
    }

    /// Returns the time between releases of iterations that take `undisturbed`. None: each is released by the
    /// end of the one before.
    pub(crate) fn interval_of(&self, undisturbed: Nanos) -> Option<Nanos> {
        let of_calibrated = || self.rests().then(|| self.duty.period_of(undisturbed));
        self.asked_interval().or_else(of_calibrated)
    }
}

/// How long an iteration is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Work {
    /// This number of additions.
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
    type Err = ParseDueError;

    fn from_str(s: &str) -> Result<Self, Self::Err> {
        let fail = |reason: String| ParseDueError {
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

/// A deadline was rejected.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("`{text}`: {reason}")]
pub struct ParseDueError {
    text: String,
    reason: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_the_one_asked_for_whatever_the_calibration_finds() {
        let ms = Nanos::from_millis;
        let asked = |work, interval, duty: &str| Deadline {
            threads: 1,
            pin: Pin::Each,
            work,
            due: Due::Auto(1.05),
            interval,
            duty: duty.parse().unwrap(),
        };
        let slow = Nanos::from_micros(1_600);
        let eighty = asked(Work::Time(Nanos::from_micros(800)), None, "80%");
        assert_eq!(eighty.interval_of(slow), Some(ms(1)));
        let given = asked(Work::Time(ms(1)), Some(ms(3)), "100%");
        assert_eq!(given.interval_of(slow), Some(ms(3)));
        assert!(given.rests());
        // Only a number of additions has no length before it is calibrated.
        let counted = asked(Work::Additions(5), None, "80%");
        assert_eq!(counted.asked_interval(), None);
        assert_eq!(counted.interval_of(slow), Some(ms(2)));
        let full = asked(Work::Time(ms(1)), None, "100%");
        assert_eq!(full.interval_of(slow), None);
        assert!(!full.rests());
    }

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
    fn bad_deadlines_name_the_reason() {
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
    }
}
