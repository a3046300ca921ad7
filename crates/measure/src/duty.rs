// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! How much of the time a busy thread works.

use std::fmt;
use std::str::FromStr;

use punctual_model::Nanos;

/// A part of the time, above 0 and at most 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Duty(f64);

impl Duty {
    /// All of the time.
    pub const FULL: Self = Self(1.0);

    /// Three quarters of it.
    pub const THREE_QUARTERS: Self = Self(0.75);

    /// Returns the part.
    pub const fn share(self) -> f64 {
        self.0
    }

    /// Whether it is all of the time.
    pub fn is_full(self) -> bool {
        self.0 >= 1.0
    }

    /// Returns this part of `span`.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "at most the span itself"
    )]
    pub(crate) fn part_of(self, span: Nanos) -> Nanos {
        Nanos::new((span.get() as f64 * self.0).round() as u64)
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
    type Err = ParseDutyError;

    fn from_str(s: &str) -> Result<Self, Self::Err> {
        let number = s.strip_suffix('%').and_then(|n| n.parse::<f64>().ok());
        match number {
            Some(percent) if (0.1..=100.0).contains(&percent) => Ok(Self(percent / 100.0)),
            _ => Err(ParseDutyError { text: s.to_owned() }),
        }
    }
}

/// A part of the time was rejected.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("`{text}`: must be from 0.1% to 100%")]
pub struct ParseDutyError {
    text: String,
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(half.part_of(Nanos::from_millis(10)), Nanos::from_millis(5));
    }

    #[test]
    fn bad_duties_are_refused() {
        for text in ["80", "0%", "101%", "NaN%", "%", "-5%"] {
            text.parse::<Duty>().unwrap_err();
        }
    }
}
