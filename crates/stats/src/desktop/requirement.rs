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
//! # Bursts
//!
//! Misses come in bursts, so n is not the number of samples but that of independent trials
//! ([`Seen::evidence`]). How long a burst lasts cannot be estimated from a run that saw none. It is
//! assumed ([`Requirement::burst_ns`]), and raised to what the samples show.
//!
//! # Runs
//!
//! A bound from inside runs is about these runs. Over several of them [`Requirement::rule_runs`] also
//! bounds how many further runs would exceed what is allowed: none of c runs did, so at most
//! 1 - 0.05^(1/c) of all do (95 %). That bound takes runs as independent and assumes nothing of bursts.

mod evidence;
mod words;

pub use self::evidence::{Evidence, Seen};
pub use self::words::ParseRequirementError;

use crate::binomial;
use crate::num::floor_u64;
use crate::precision::{exceedance_upper_bound, samples_for_bound};

/// How long a burst of misses is taken to last at most, in ns of run time, where nothing is said: 100 ms.
///
/// That is twice the time for which the kernel holds real-time threads back by default (50 ms of each
/// second, `sched_rt_runtime_us`), and longer than firmware, a migrated guest or a stalled disk
/// usually stop a machine.
pub const DEFAULT_BURST_NS: u64 = 100_000_000;

/// A requirement on the samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Requirement {
    /// What may be above the time.
    pub allowed: Allowed,
    /// The time, in ns.
    pub limit_ns: u64,
    /// The confidence of the claim, 0 to 1.
    pub confidence: f64,
    /// How long a burst of samples above the time is taken to last at most, in ns of run time. It is
    /// no part of the text.
    pub burst_ns: u64,
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

    /// The same requirement, judged under another assumption on bursts.
    #[must_use]
    pub const fn with_burst(self, burst_ns: u64) -> Self {
        Self { burst_ns, ..self }
    }

    /// What the samples of one run allow to be said of it.
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
    /// let Ruling::Unclaimed(Wanting::ToPass(effort)) = of(10_000, 0) else { panic!() };
    /// assert_eq!(effort.samples, 29_956);
    /// # Ok(())
    /// # }
    /// ```
    pub fn rule(&self, evidence: &Evidence) -> Ruled {
        let at_most = evidence.share_at_most(self.confidence);
        let at_least = evidence.share_at_least(self.confidence);
        let share = self.share();
        let seen = matches!(self.allowed, Allowed::OneIn(_)) && evidence.above > 0;
        let ruling = if seen || at_least > share {
            Ruling::Fail
        } else if at_most <= share {
            Ruling::Pass
        } else {
            Ruling::Unclaimed(self.wanting(evidence))
        };
        Ruled {
            ruling,
            share_at_most: at_most,
            share_at_least: at_least,
            effective: evidence.trials(),
            basis: Basis::Time,
            runs: None,
        }
    }

    /// What the samples of several runs together allow to be said of it, and what the runs do.
    ///
    /// Inside the runs their evidence is [pooled](Evidence::pooled). Where no run had a sample above the
    /// time, the bound between runs may be enough by itself: a run whose share is p shows one with a
    /// probability of at least p, so that bound is one of the share over all runs like these.
    pub fn rule_runs(&self, runs: &[Evidence]) -> Ruled {
        let pooled = Evidence::pooled(runs);
        let mut ruled = self.rule(&pooled);
        let over = runs.iter().filter(|run| self.is_over(run)).count() as u64;
        let all = runs.len() as u64;
        if all < 2 {
            return ruled;
        }
        let at_most = exceedance_upper_bound(over, all, self.confidence).unwrap_or(1.0);
        if pooled.above == 0 && at_most <= self.share() {
            ruled.ruling = Ruling::Pass;
            ruled.basis = Basis::Runs;
        }
        ruled.runs = Some(Between {
            runs: all,
            over,
            at_most,
        });
        ruled
    }

    /// Whether a run had more above the time than is allowed: of a `no sample` requirement any sample is, however long the run was.
    fn is_over(&self, run: &Evidence) -> bool {
        match self.allowed {
            Allowed::BeyondQuantile(_) => run.above as f64 > self.share() * run.samples as f64,
            Allowed::OneIn(_) => run.above > 0,
        }
    }

    /// What would decide, if samples go on as they did.
    fn wanting(&self, evidence: &Evidence) -> Wanting {
        let (rate, share) = (evidence.rate(), self.share());
        let effort = |trials: u64| evidence.effort(trials);
        if rate == 0.0 {
            return match samples_for_bound(share, self.confidence) {
                Some(m) => Wanting::ToPass(effort(m)),
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
            first(from, passes).map(|m| Wanting::ToPass(effort(m)))
        } else {
            first(from, fails).map(|m| Wanting::ToFail(effort(m)))
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

/// What evidence says of a requirement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ruled {
    /// The verdict.
    pub ruling: Ruling,
    /// The upper bound of the share of samples above the time, with the requirement's confidence.
    pub share_at_most: f64,
    /// The lower bound.
    pub share_at_least: f64,
    /// The independent trials that both rest on.
    pub effective: u64,
    /// What a pass rests on.
    pub basis: Basis,
    /// What the runs say of further runs. None for one run.
    pub runs: Option<Between>,
}

/// What a pass rests on, and so what it is about.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Basis {
    /// The time that was measured, under an assumption on bursts: it is about these runs.
    Time,
    /// The number of runs: it is about all runs like these.
    Runs,
}

/// What several runs say of further runs like them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Between {
    /// Number of runs.
    pub runs: u64,
    /// Those in which more than allowed was above the time: a larger share, or any sample where none may be.
    pub over: u64,
    /// The upper bound of the share of all such runs that are so, with the requirement's confidence.
    pub at_most: f64,
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

/// What would allow a claim, if samples go on as they did.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Wanting {
    /// So much would show that it is met.
    ToPass(Effort),
    /// So much would show that it is not.
    ToFail(Effort),
    /// Nothing can be named: the share seen is the share allowed.
    Unknown,
}

/// How much has to be measured, all in all.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Effort {
    /// Samples.
    pub samples: u64,
    /// Run time in ns. None where it is not known how long the samples took.
    pub time_ns: Option<u64>,
}

#[cfg(test)]
mod tests;
