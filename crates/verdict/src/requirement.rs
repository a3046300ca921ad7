// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Requirements on runs.

use punctual_model::{Nanos, RequirementBasis, RequirementResult, RequirementRuling, RunRecord};
use punctual_stats::LatencyHistogram;
use punctual_stats::requirement::{Basis, Effort, Evidence, Requirement, Ruling, Wanting};

use crate::bursts::{self, SeenOf, above};

/// The samples of a run that requirements are about.
#[derive(Clone, Debug)]
pub struct Required {
    /// All of them.
    pub histogram: LatencyHistogram,
    /// How many independent ones those above a limit were seen to be worth, where every sample is stored in order.
    pub worth: Vec<(Nanos, f64)>,
}

impl From<LatencyHistogram> for Required {
    fn from(histogram: LatencyHistogram) -> Self {
        Self {
            histogram,
            worth: Vec::new(),
        }
    }
}

/// Says what runs together allow to be said of a requirement. Each run comes with all its samples, where
/// their histogram is kept.
///
/// Misses that the run counted for the deadline of the requirement are exact and include overruns.
/// Else the histogram tells, up to the width of a bucket, which then counts as later.
pub fn require<'a>(
    requirement: &Requirement,
    runs: impl Iterator<Item = (&'a RunRecord, Option<&'a Required>)> + Clone,
) -> RequirementResult {
    let limit = Nanos::new(requirement.limit_ns);
    let found: Vec<Option<(SeenOf, bool)>> = runs
        .clone()
        .map(|(run, required)| seen(run, required, limit))
        .collect();
    let known = || found.iter().flatten().map(|(of, _)| of);
    let evidence: Vec<Evidence> = known()
        .map(|of| of.seen.evidence(requirement.burst_ns))
        .collect();
    let pooled = Evidence::pooled(&evidence);
    let ruled = requirement.rule_runs(&evidence);
    let obstacle = obstacle(runs, &found);
    let (ruling, wanting) = match (&obstacle, ruled.ruling) {
        (Some(_), _) => (RequirementRuling::Unclaimed, None),
        (None, Ruling::Pass) => (RequirementRuling::Pass, None),
        (None, Ruling::Fail) => (RequirementRuling::Fail, None),
        (None, Ruling::Unclaimed(wanting)) => (RequirementRuling::Unclaimed, Some(wanting)),
    };
    let any = pooled.samples > 0;
    let effort = |of: fn(Wanting) -> Option<Effort>| wanting.and_then(of);
    let pass = effort(|wanting| match wanting {
        Wanting::ToPass(effort) => Some(effort),
        _ => None,
    });
    let fail = effort(|wanting| match wanting {
        Wanting::ToFail(effort) => Some(effort),
        _ => None,
    });
    let time = |effort: Option<Effort>| effort.and_then(|e| e.time_ns).map(Nanos::new);
    let dependence = known().map(|of| of.seen.dependence_ns).fold(0.0, f64::max);
    RequirementResult {
        requirement: requirement.to_string(),
        ruling,
        limit_ns: limit,
        share_allowed: requirement.share(),
        confidence: requirement.confidence,
        runs: found.len() as u64,
        samples: pooled.samples,
        above: pooled.above,
        exact: found.iter().flatten().all(|known| known.1),
        effective: any.then_some(ruled.effective),
        share_at_most: any.then_some(ruled.share_at_most),
        share_at_least: any.then_some(ruled.share_at_least),
        samples_to_pass: pass.map(|effort| effort.samples),
        samples_to_fail: fail.map(|effort| effort.samples),
        time_to_pass_ns: time(pass),
        time_to_fail_ns: time(fail),
        run_time_ns: (pooled.time_ns > 0.0).then(|| nanos(pooled.time_ns)),
        burst_ns: Some(Nanos::new(requirement.burst_ns)),
        dependence_ns: Some(nanos(dependence)).filter(|seen| seen.get() > requirement.burst_ns),
        assumed: known().find_map(|of| of.assumed.clone()),
        rests_on: (ruling == RequirementRuling::Pass).then_some(match ruled.basis {
            Basis::Time => RequirementBasis::Time,
            Basis::Runs => RequirementBasis::Runs,
        }),
        runs_over: any.then_some(ruled.runs).flatten().map(|runs| runs.over),
        runs_over_at_most: any.then_some(ruled.runs).flatten().map(|runs| runs.at_most),
        obstacle,
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a time above 0, which saturates"
)]
const fn nanos(ns: f64) -> Nanos {
    Nanos::new(ns as u64)
}

/// What a run saw of wake-ups later than `limit`, and whether that is exact.
fn seen(run: &RunRecord, required: Option<&Required>, limit: Nanos) -> Option<(SeenOf, bool)> {
    let total = &run.total;
    if let Some(counted) = total.misses.iter().find(|m| m.deadline_ns == limit) {
        let samples = total.count.saturating_add(total.overruns.unwrap_or(0));
        return Some((bursts::seen(run, Some(limit), counted.all(), samples), true));
    }
    let Required { histogram, worth } = required?;
    let later = above(run, histogram, limit)?;
    // Releases that passed without a sample may all be later than this: else a long stall would look as harmless as a short one. Those of
    // wake-ups were served with the sample before them, which is the later one.
    let untraced = run.untraced().filter(|_| histogram.count() > total.count);
    let (mut passed, mut max) = (total.overruns.unwrap_or(0), total.max_ns);
    for half in untraced {
        passed = passed.saturating_add(half.overruns.unwrap_or(0));
        max = max.max(half.max_ns);
    }
    let is_served = matches!(run.instrument.as_str(), "wakeup" | "irq")
        && max.is_some_and(|max| limit.get() >= max);
    let unserved = if is_served { 0 } else { passed };
    let samples = histogram.count().saturating_add(passed);
    let mut of = bursts::seen(run, None, later.saturating_add(unserved), samples);
    // How the samples above this time depend on each other was not followed while they were measured; how those of the
    // tail do was. Samples that are stored tell both.
    let worth = worth.iter().filter(|(of, _)| *of == limit);
    for (_, worth) in worth {
        of.seen.dependence_ns = of.seen.dependence_ns.max(of.seen.time_ns / worth);
    }
    // Buckets are single nanoseconds up to here.
    Some((of, limit.get() < 2_048))
}

/// Why nothing can be claimed, whatever the counts are.
fn obstacle<'a>(
    runs: impl Iterator<Item = (&'a RunRecord, Option<&'a Required>)>,
    found: &[Option<(SeenOf, bool)>],
) -> Option<String> {
    if found.is_empty() {
        return Some("there is no run".to_owned());
    }
    let (mut invalid, mut all) = (0, 0);
    let mut open = 0;
    for ((run, required), known) in runs.zip(found) {
        invalid += usize::from(run.is_invalid());
        open += usize::from(known.is_none() && required.is_some());
        all += 1;
    }
    if invalid > 0 {
        return Some(if all == 1 {
            "the run is invalid".to_owned()
        } else {
            format!("{invalid} of {all} runs are invalid")
        });
    }
    if open > 0 {
        let of_all = match all {
            1 => String::new(),
            _ => format!("{open} of {all}: "),
        };
        return Some(format!(
            "{of_all}the file does not say whether the samples above all of its rows are later"
        ));
    }
    let unknown = found.iter().filter(|known| known.is_none()).count();
    (unknown > 0).then(|| {
        format!(
            "{unknown} of {all} runs neither counted misses of this deadline nor kept a histogram"
        )
    })
}
