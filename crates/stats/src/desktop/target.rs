// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! How precise a figure shall be, as text: `p99:2%`, `mean:0.005us`, `p99.9:5%@99%`.
//!
//! ```text
//! target     = statistic ":" half-width [ "@" confidence "%" ]
//! statistic  = "mean" | "p" percent
//! half-width = number "%" | number ("ns" | "us" | "µs" | "ms" | "s")
//! ```
//!
//! The half-width is what follows ± in the result; in percent it is relative to the figure.

use std::fmt;
use std::str::FromStr;

use crate::text::{number, percent, quantile, share, time_ns};

/// A figure of the distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Statistic {
    /// The arithmetic mean.
    Mean,
    /// The quantile of this share, 0 to 1.
    Quantile(f64),
}

/// Half the width that a confidence interval may have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum HalfWidth {
    /// A share of the figure, such as 0.02 for 2 %.
    Relative(f64),
    /// Nanoseconds.
    Absolute(f64),
}

/// A figure, the half-width of its interval, and the confidence of that.
///
/// ```
/// use punctual_stats::{HalfWidth, PrecisionTarget, Statistic};
///
/// # fn main() -> Result<(), punctual_stats::ParseTargetError> {
/// // Two decimals of a microsecond, with the 95 % confidence that is the default.
/// let target: PrecisionTarget = "mean:0.005us".parse()?;
/// assert_eq!(target.statistic, Statistic::Mean);
/// assert_eq!(target.width, HalfWidth::Absolute(5.0));
/// assert_eq!(target.to_string(), "mean:5ns");
/// assert_eq!("p99.9:5%@99%".parse::<PrecisionTarget>()?.confidence, 0.99);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PrecisionTarget {
    /// The figure.
    pub statistic: Statistic,
    /// Half the width that its interval may have.
    pub width: HalfWidth,
    /// The confidence of the interval, 0 to 1.
    pub confidence: f64,
}

impl PrecisionTarget {
    /// The confidence of a target that names none.
    pub const DEFAULT_CONFIDENCE: f64 = 0.95;
}

/// The reason that a precision target was rejected; each names the part.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseTargetError {
    /// There is no colon between the statistic and the width.
    #[error("precision target `{target}` has no `:`; write it as `p99:2%` or `mean:0.005us`")]
    NoWidth {
        /// The whole target.
        target: String,
    },
    /// The statistic is neither the mean nor a percentile.
    #[error(
        "statistic `{part}` is neither `mean` nor a percentile between p0 and p100, such as `p99.9`"
    )]
    Statistic {
        /// The rejected part.
        part: String,
    },
    /// The half-width is not a positive number with a unit.
    #[error("half-width `{part}` is not a positive number with `%`, `ns`, `us`, `ms` or `s`")]
    Width {
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

impl FromStr for PrecisionTarget {
    type Err = ParseTargetError;

    fn from_str(target: &str) -> Result<Self, Self::Err> {
        let no_width = || ParseTargetError::NoWidth {
            target: target.to_owned(),
        };
        let (statistic, rest) = target.trim().split_once(':').ok_or_else(no_width)?;
        let (width, confidence) = match rest.split_once('@') {
            Some((width, confidence)) => (width, parse_confidence(confidence)?),
            None => (rest, Self::DEFAULT_CONFIDENCE),
        };
        Ok(Self {
            statistic: parse_statistic(statistic)?,
            width: parse_width(width)?,
            confidence,
        })
    }
}

impl fmt::Display for PrecisionTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.statistic, self.width)?;
        if self.confidence != Self::DEFAULT_CONFIDENCE {
            write!(f, "@{}%", percent(self.confidence))?;
        }
        Ok(())
    }
}

impl fmt::Display for Statistic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mean => f.write_str("mean"),
            Self::Quantile(q) => write!(f, "p{}", percent(*q)),
        }
    }
}

impl fmt::Display for HalfWidth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Relative(share) => write!(f, "{}%", percent(*share)),
            Self::Absolute(ns) => write!(f, "{ns}ns"),
        }
    }
}

fn parse_statistic(part: &str) -> Result<Statistic, ParseTargetError> {
    if part == "mean" {
        return Ok(Statistic::Mean);
    }
    quantile(part)
        .map(Statistic::Quantile)
        .ok_or_else(|| ParseTargetError::Statistic {
            part: part.to_owned(),
        })
}

fn parse_width(part: &str) -> Result<HalfWidth, ParseTargetError> {
    let relative = || {
        let percent = number(part.strip_suffix('%')?)?;
        Some(HalfWidth::Relative(percent / 100.0))
    };
    let absolute = || time_ns(part).map(HalfWidth::Absolute);
    relative()
        .or_else(absolute)
        .filter(|width| {
            let (HalfWidth::Relative(x) | HalfWidth::Absolute(x)) = *width;
            x > 0.0 && x.is_finite()
        })
        .ok_or_else(|| ParseTargetError::Width {
            part: part.to_owned(),
        })
}

fn parse_confidence(part: &str) -> Result<f64, ParseTargetError> {
    share(part).ok_or_else(|| ParseTargetError::Confidence {
        part: part.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(s: &str) -> Result<PrecisionTarget, ParseTargetError> {
        s.parse()
    }

    #[test]
    fn targets_round_trip_through_text() {
        for s in [
            "p99:2%",
            "p99.9:5%@99%",
            "mean:5ns",
            "mean:1%",
            "p57:0.57%@99.9%",
            "p99.9999:1ns",
        ] {
            let target = parse(s).unwrap();
            assert_eq!(target.to_string(), s);
            assert_eq!(parse(&target.to_string()).unwrap(), target);
        }
    }

    #[test]
    fn units_of_time_are_nanoseconds_inside() {
        for (s, ns) in [
            ("mean:5us", 5e3),
            ("mean:5µs", 5e3),
            ("mean:2ms", 2e6),
            ("p50:1s", 1e9),
        ] {
            assert_eq!(parse(s).unwrap().width, HalfWidth::Absolute(ns));
        }
    }

    #[test]
    fn a_bad_part_is_named() {
        for (s, part) in [
            ("p99", "p99"),
            ("median:2%", "median"),
            ("p100:2%", "p100"),
            ("p0:2%", "p0"),
            ("pnan:2%", "pnan"),
            ("p99:2", "2"),
            ("p99:-2%", "-2%"),
            ("p99:0%", "0%"),
            ("p99:inf%", "inf%"),
            ("p99:%", "%"),
            ("p99:ns", "ns"),
            ("p99:2%@95", "95"),
            ("p99:2%@100%", "100%"),
            ("", ""),
        ] {
            let message = parse(s).unwrap_err().to_string();
            assert!(message.contains(&format!("`{part}`")), "{s}: {message}");
        }
    }
}
