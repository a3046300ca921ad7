// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Requirements, and whether samples allow to claim that they are met.
//!
//! ```text
//! requirement = "p" percent "<=" time [ "at" confidence ]
//!             | "no sample >" time [ "in" count ] [ "at" confidence ]
//! time        = number ("ns" | "us" | "µs" | "ms" | "s")
//! confidence  = number "%", 95 % if none is named
//! ```
//!
//! Both are claims about the share of samples above the time. `p99.99 <= 50us` says that at most
//! 0.01 % are. `no sample > 100us` says that none was seen, and that fewer than one in `count` is: no
//! number of samples shows that something never happens, so it needs a rate, one in a million if none
//! is named.
//!
//! With k of n samples above, the claim passes if the upper Clopper-Pearson bound of the share
//! (*Biometrika* 26, 1934) is at most the share allowed, fails if the lower bound is above it, and
//! cannot be made from so few samples otherwise. For k = 0 this is the same as the distribution-free
//! bound by the largest order statistic (Wilks, *Annals of Mathematical Statistics* 12, 1941): p^n
//! must be at most 1 - confidence.
//!
//! Samples that depend on each other count as the fewer independent ones that they are worth. Over
//! several runs the share may also vary from run to run; then they are worth what that variation
//! leaves ([`Evidence::pooled`]; Rao and Scott, *Biometrics* 48, 1992).

use std::fmt;
use std::str::FromStr;

use crate::binomial;
use crate::num::{floor_u64, positive};
use crate::precision::{exceedance_upper_bound, samples_for_bound};
use crate::text::{percent, quantile, share, time_ns};

/// A requirement on the samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Requirement {
    /// What may be above the time.
    pub allowed: Allowed,
    /// The time, in ns.
    pub limit_ns: u64,
    /// The confidence of the claim, 0 to 1.
    pub confidence: f64,
}

/// What a requirement allows above its time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Allowed {
    /// All beyond the quantile of this share, 0 to 1.
    BeyondQuantile(f64),
    /// No sample at all, and with the confidence fewer than one in this number.
    OneIn(u64),
}

impl Requirement {
    /// The confidence of a requirement that names none.
    pub const DEFAULT_CONFIDENCE: f64 = 0.95;

    /// The rate of a `no sample` requirement that names none: one in a million.
    pub const DEFAULT_ONE_IN: u64 = 1_000_000;

    /// The share of samples above the time that is allowed.
    pub fn share(&self) -> f64 {
        match self.allowed {
            Allowed::BeyondQuantile(p) => 1.0 - p,
            Allowed::OneIn(count) => 1.0 / count as f64,
        }
    }

    /// What samples allow to be said of it.
    ///
    /// ```
    /// use punctual_stats::requirement::{Evidence, Requirement, Ruling, Wanting};
    ///
    /// # fn main() -> Result<(), punctual_stats::requirement::ParseRequirementError> {
    /// let requirement: Requirement = "p99.99 <= 50us".parse()?;
    /// let of = |samples, above| requirement.rule(&Evidence::independent(samples, above)).ruling;
    /// assert_eq!(of(30_000, 0), Ruling::Pass);
    /// assert_eq!(of(30_000, 20), Ruling::Fail);
    /// // None above, but 10 000 samples cannot speak of one in 10 000.
    /// assert_eq!(of(10_000, 0), Ruling::Unclaimed(Wanting::ToPass(29_956)));
    /// # Ok(())
    /// # }
    /// ```
    pub fn rule(&self, evidence: &Evidence) -> Ruled {
        let n = evidence.samples;
        let effective = evidence.effective.clamp(1.0, (n as f64).max(1.0));
        let m = if n == 0 { 0 } else { floor_u64(effective) };
        let rate = if n == 0 {
            0.0
        } else {
            evidence.above as f64 / n as f64
        };
        // Rounded so that neither claim is easier than it should be.
        let hits = rate * m as f64;
        let (most, least) = (floor_u64(hits.ceil()).min(m), floor_u64(hits));
        let at_most = exceedance_upper_bound(most, m, self.confidence).unwrap_or(1.0);
        let at_least = if least == 0 {
            0.0
        } else {
            binomial::p_of_upper(least, m, 1.0 - self.confidence)
        };
        let share = self.share();
        let seen = matches!(self.allowed, Allowed::OneIn(_)) && evidence.above > 0;
        let ruling = if seen || at_least > share {
            Ruling::Fail
        } else if at_most <= share {
            Ruling::Pass
        } else {
            let stretch = if m == 0 { 1.0 } else { n as f64 / m as f64 };
            Ruling::Unclaimed(self.wanting(rate, stretch))
        };
        Ruled {
            ruling,
            share_at_most: at_most,
            share_at_least: at_least,
            effective: m,
        }
    }

    /// The number of samples that would decide, if they go on as they did.
    fn wanting(&self, rate: f64, stretch: f64) -> Wanting {
        let share = self.share();
        let samples = |m: u64| floor_u64((m as f64 * stretch).ceil());
        if rate == 0.0 {
            return match samples_for_bound(share, self.confidence) {
                Some(m) => Wanting::ToPass(samples(m)),
                None => Wanting::Unknown,
            };
        }
        let passes = |m: u64| {
            let hits = floor_u64((rate * m as f64).ceil()).min(m);
            exceedance_upper_bound(hits, m, self.confidence).is_some_and(|most| most <= share)
        };
        let fails = |m: u64| {
            let hits = floor_u64(rate * m as f64);
            hits > 0 && binomial::p_of_upper(hits, m, 1.0 - self.confidence) > share
        };
        // By the normal limit the distance is 1.6 deviations; the exact tails decide from there.
        let about = 2.7 * rate * (1.0 - rate) / (rate - share).powi(2);
        if !(1.0..MOST_SAMPLES).contains(&(about + 1.0)) {
            return Wanting::Unknown;
        }
        let from = floor_u64(about / 8.0).max(1);
        let found = if rate < share {
            first(from, passes).map(|m| Wanting::ToPass(samples(m)))
        } else {
            first(from, fails).map(|m| Wanting::ToFail(samples(m)))
        };
        found.unwrap_or(Wanting::Unknown)
    }
}

/// Nobody takes more.
const MOST_SAMPLES: f64 = 1e12;

/// About the smallest number for which `decides` holds; counts that are rounded make it jump a little.
fn first(from: u64, decides: impl Fn(u64) -> bool) -> Option<u64> {
    let mut high = from;
    while !decides(high) {
        high = high
            .checked_mul(2)
            .filter(|n| (*n as f64) < 4.0 * MOST_SAMPLES)?;
    }
    let mut low = high / 2;
    while high - low > 1 + high / 1_000 {
        let middle = u64::midpoint(low, high);
        if decides(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    Some(high)
}

/// What was seen of the samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Evidence {
    /// Number of samples.
    pub samples: u64,
    /// Samples above the time.
    pub above: u64,
    /// Number of independent samples that would say as much.
    pub effective: f64,
}

impl Evidence {
    /// Samples that do not depend on each other.
    pub fn independent(samples: u64, above: u64) -> Self {
        Self {
            samples,
            above,
            effective: samples as f64,
        }
    }

    /// The evidence of several runs together.
    ///
    /// Where the share above varies between runs by more than chance, the samples are worth
    /// n r(1 - r) / V of n independent ones: r is the share of all, and V the variance of that ratio
    /// between runs, c/(c - 1) Σ(kᵢ - r nᵢ)²/n for c runs (divided by n once more for that of r).
    pub fn pooled(runs: &[Self]) -> Self {
        let samples: u64 = runs.iter().map(|run| run.samples).sum();
        let above: u64 = runs.iter().map(|run| run.above).sum();
        let inside: f64 = runs.iter().map(|run| run.effective).sum();
        let (n, c) = (samples as f64, runs.len() as f64);
        let rate = above as f64 / n;
        let off: f64 = runs
            .iter()
            .map(|run| (run.above as f64 - rate * run.samples as f64).powi(2))
            .sum();
        let between = c / (c - 1.0) * off / n;
        let worth = n * rate * (1.0 - rate) / between;
        Self {
            samples,
            above,
            effective: if runs.len() > 1 && positive(worth) {
                inside.min(worth)
            } else {
                inside
            },
        }
    }
}

/// What evidence says of a requirement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ruled {
    /// The verdict.
    pub ruling: Ruling,
    /// The upper bound of the share of samples above the time, with the requirement's confidence.
    pub share_at_most: f64,
    /// The lower bound.
    pub share_at_least: f64,
    /// The independent samples that it rests on.
    pub effective: u64,
}

/// Whether a requirement is met.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Ruling {
    /// It is, with the confidence.
    Pass,
    /// It is not: a sample that may not be, or a share that is too large with the confidence.
    Fail,
    /// The samples allow neither claim.
    Unclaimed(Wanting),
}

/// The number of samples that would allow a claim, if they go on as they did.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Wanting {
    /// So many would show that it is met.
    ToPass(u64),
    /// So many would show that it is not.
    ToFail(u64),
    /// No number can be named: the share seen is the share allowed.
    Unknown,
}

/// The reason that a requirement was rejected; each names the part.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseRequirementError {
    /// It has neither form.
    #[error("requirement `{text}` is neither `p99.99 <= 50us` nor `no sample > 100us`")]
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

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Requirement {
        text.parse().unwrap()
    }

    #[test]
    fn requirements_round_trip_through_text() {
        for text in [
            "p99.99 <= 50us",
            "p50 <= 1ms at 99%",
            "p99.9999 <= 1500ns at 99.9%",
            "no sample > 100us",
            "no sample > 2s in 5000 at 90%",
        ] {
            assert_eq!(parse(text).to_string(), text);
            assert_eq!(parse(&parse(text).to_string()), parse(text));
        }
        assert_eq!(
            parse("  no  sample>100 µs at 95 %"),
            parse("no sample > 100us")
        );
    }

    #[test]
    fn a_bad_part_is_named() {
        for (text, part) in [
            ("p99.99 < 50us", "p99.99 < 50us"),
            ("mean <= 50us", "mean <= 50us"),
            ("max <= 50us", "no sample > TIME"),
            ("no samples > 50us", "no samples > 50us"),
            ("p100 <= 50us", "`p100`"),
            ("pnan <= 50us", "`pnan`"),
            ("p99 <= 50", "`50`"),
            ("p99 <= -5us", "`-5us`"),
            ("p99 <= 0us", "`0us`"),
            ("p99 <= 1e3us", "`1e3us`"),
            ("no sample > 5us in 1", "`in 1`"),
            ("no sample > 5us in 1h", "`in 1h`"),
            ("p99 <= 5us at 95", "`95`"),
            ("p99 <= 5us at 100%", "`100%`"),
            ("", "``"),
        ] {
            let message = text.parse::<Requirement>().unwrap_err().to_string();
            assert!(message.contains(part), "{text}: {message}");
        }
    }

    #[test]
    fn no_sample_above_passes_only_after_enough_of_them() {
        let requirement = parse("no sample > 100us");
        let of = |n, k| requirement.rule(&Evidence::independent(n, k)).ruling;
        assert_eq!(of(2_995_731, 0), Ruling::Pass);
        assert_eq!(of(1_000, 0), Ruling::Unclaimed(Wanting::ToPass(2_995_731)));
        assert_eq!(of(0, 0), Ruling::Unclaimed(Wanting::ToPass(2_995_731)));
        // One was seen: the claim is refuted, however rare it was.
        assert_eq!(of(1_000_000_000, 1), Ruling::Fail);
    }

    #[test]
    fn dependent_samples_count_as_fewer_and_more_of_them_are_needed() {
        let requirement = parse("p99.99 <= 50us");
        let ruled = requirement.rule(&Evidence {
            samples: 100_000,
            above: 0,
            effective: 10_000.0,
        });
        assert_eq!(ruled.effective, 10_000);
        assert_eq!(ruled.ruling, Ruling::Unclaimed(Wanting::ToPass(299_560)));
        assert!((ruled.share_at_most - 2.995e-4).abs() < 1e-6);
    }

    #[test]
    fn the_number_that_would_do_does() {
        let requirement = parse("p99 <= 50us");
        // 0.8 % are above, 1 % may be: more samples would show it.
        let few = requirement.rule(&Evidence::independent(1_000, 8)).ruling;
        let Ruling::Unclaimed(Wanting::ToPass(n)) = few else {
            panic!("{few:?}");
        };
        let with = |n: u64, rate: f64| {
            let above = floor_u64((n as f64 * rate).ceil());
            requirement.rule(&Evidence::independent(n, above)).ruling
        };
        assert_eq!(with(n, 0.008), Ruling::Pass, "{n}");
        assert!((5_000..9_000).contains(&n), "{n}");
        // 1.2 % are above: more samples would refute it.
        let few = requirement.rule(&Evidence::independent(1_000, 12)).ruling;
        let Ruling::Unclaimed(Wanting::ToFail(n)) = few else {
            panic!("{few:?}");
        };
        assert_eq!(with(n, 0.012), Ruling::Fail, "{n}");
        let even = requirement.rule(&Evidence::independent(1_000, 10)).ruling;
        assert_eq!(even, Ruling::Unclaimed(Wanting::Unknown));
    }

    #[test]
    fn runs_that_differ_are_worth_less_than_their_samples() {
        let run = |above| Evidence::independent(10_000, above);
        let alike = Evidence::pooled(&[run(98), run(101), run(103), run(99)]);
        assert_eq!((alike.samples, alike.above), (40_000, 401));
        assert_eq!(alike.effective, 40_000.0);
        let apart = Evidence::pooled(&[run(1), run(2), run(390), run(8)]);
        assert!(apart.effective < 1_000.0, "{apart:?}");
        let one = Evidence::pooled(&[run(5)]);
        assert_eq!(one, run(5));
        assert_eq!(Evidence::pooled(&[]).samples, 0);
        assert!(matches!(
            parse("p99 <= 1us").rule(&Evidence::pooled(&[])).ruling,
            Ruling::Unclaimed(Wanting::ToPass(_))
        ));
    }

    #[test]
    fn wrong_claims_are_as_rare_as_the_confidence_says() {
        // The true share is just what is allowed: 5 % may pass, and 5 % may fail, at most.
        let requirement = parse("p99 <= 50us");
        let mut source = crate::Source::new(11);
        let (mut pass, mut fail) = (0, 0);
        for _ in 0..2_000 {
            let above = (0..2_000).filter(|_| source.uniform() <= 0.01).count();
            match requirement
                .rule(&Evidence::independent(2_000, above as u64))
                .ruling
            {
                Ruling::Pass => pass += 1,
                Ruling::Fail => fail += 1,
                Ruling::Unclaimed(_) => {}
            }
        }
        // Three standard errors above 100 of 2000.
        assert!(pass <= 130 && fail <= 130, "{pass} {fail}");
        assert!(pass >= 20 && fail >= 20, "{pass} {fail}");
    }
}
