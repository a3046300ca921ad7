// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Requirements as text: the grammar is in the parent module.

use std::fmt;
use std::str::FromStr;

use super::{Allowed, DEFAULT_BURST_NS, Requirement};
use crate::num::floor_u64;
use crate::text::{percent, quantile, share, time_ns};

/// The reason that a requirement was rejected; each names the part.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseRequirementError {
    /// It has neither form.
    #[error(
        "requirement `{text}` is neither a percentile with `<=`, such as `p99.99 <= 50us`, nor `no sample >` a time, \
         such as `no sample > 100us`"
    )]
    Form {
        /// The whole text.
        text: String,
    },
    /// A maximum cannot be required.
    #[error(
        "requirement `{text}`: no number of samples bounds a maximum; ask for `no sample > TIME`"
    )]
    Maximum {
        /// The whole text.
        text: String,
    },
    /// The quantile is not between 0 and 100.
    #[error("quantile `{part}` is not a percentile between p0 and p100, such as `p99.99`")]
    Quantile {
        /// The rejected part.
        part: String,
    },
    /// The time is not a positive number with a unit.
    #[error("time `{part}` is not a positive number with `ns`, `us`, `ms` or `s`")]
    Time {
        /// The rejected part.
        part: String,
    },
    /// The count is not a whole number above 1.
    #[error("`in {part}` is not a whole number of samples above 1, such as `in 1000000`")]
    Count {
        /// The rejected part.
        part: String,
    },
    /// The confidence is not a percentage between 0 and 100.
    #[error("confidence `{part}` is not a percentage between 0% and 100%, such as `95%`")]
    Confidence {
        /// The rejected part.
        part: String,
    },
}

impl FromStr for Requirement {
    type Err = ParseRequirementError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let form = || ParseRequirementError::Form {
            text: text.trim().to_owned(),
        };
        let (claim, confidence) = match text.rsplit_once(" at ") {
            Some((claim, confidence)) => (claim, parse_confidence(confidence.trim())?),
            None => (text, Self::DEFAULT_CONFIDENCE),
        };
        let (allowed, time) = if let Some((figure, time)) = claim.split_once("<=") {
            let figure = figure.trim();
            if figure == "max" {
                return Err(ParseRequirementError::Maximum {
                    text: text.trim().to_owned(),
                });
            }
            if !figure.starts_with('p') {
                return Err(form());
            }
            (Allowed::BeyondQuantile(parse_quantile(figure)?), time)
        } else {
            let (words, rest) = claim.split_once('>').ok_or_else(form)?;
            if !words.split_whitespace().eq(["no", "sample"]) {
                return Err(form());
            }
            match rest.split_once(" in ") {
                Some((time, count)) => (Allowed::OneIn(parse_count(count.trim())?), time),
                None => (Allowed::OneIn(Self::DEFAULT_ONE_IN), rest),
            }
        };
        Ok(Self {
            allowed,
            limit_ns: parse_time(time.trim())?,
            confidence,
            burst_ns: DEFAULT_BURST_NS,
        })
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = time_text(self.limit_ns);
        match self.allowed {
            Allowed::BeyondQuantile(p) => write!(f, "p{} <= {time}", percent(p))?,
            Allowed::OneIn(Self::DEFAULT_ONE_IN) => write!(f, "no sample > {time}")?,
            Allowed::OneIn(count) => write!(f, "no sample > {time} in {count}")?,
        }
        if self.confidence != Self::DEFAULT_CONFIDENCE {
            write!(f, " at {}%", percent(self.confidence))?;
        }
        Ok(())
    }
}

/// The time in the largest unit that has no fraction.
fn time_text(ns: u64) -> String {
    let units = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000)];
    units
        .iter()
        .find(|(_, scale)| ns.is_multiple_of(*scale))
        .map_or_else(
            || format!("{ns}ns"),
            |(unit, scale)| format!("{}{unit}", ns / scale),
        )
}

fn parse_quantile(part: &str) -> Result<f64, ParseRequirementError> {
    quantile(part).ok_or_else(|| ParseRequirementError::Quantile {
        part: part.to_owned(),
    })
}

fn parse_time(part: &str) -> Result<u64, ParseRequirementError> {
    time_ns(part)
        .map(f64::round)
        .filter(|ns| *ns >= 1.0 && *ns < 1e18)
        .map(floor_u64)
        .ok_or_else(|| ParseRequirementError::Time {
            part: part.to_owned(),
        })
}

fn parse_count(part: &str) -> Result<u64, ParseRequirementError> {
    part.parse()
        .ok()
        .filter(|count| *count > 1)
        .ok_or_else(|| ParseRequirementError::Count {
            part: part.to_owned(),
        })
}

fn parse_confidence(part: &str) -> Result<f64, ParseRequirementError> {
    share(part).ok_or_else(|| ParseRequirementError::Confidence {
        part: part.to_owned(),
    })
}
