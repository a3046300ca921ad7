// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Requirements on runs.

use punctual_model::{Check, Nanos, RequirementResult, RequirementRuling, RunRecord};
use punctual_stats::requirement::{Evidence, Requirement, Ruling, Wanting};
use punctual_stats::{LatencyHistogram, float};

use super::metric::above;

/// Says what runs together allow to be said of a requirement. Each run comes with the histogram of
/// all its samples, where there is one.
///
/// Misses that the run counted for the deadline of the requirement are exact and include overruns.
/// Else the histogram tells, up to the width of a bucket, which then counts as later.
pub fn require<'a>(
    requirement: &Requirement,
    runs: impl Iterator<Item = (&'a RunRecord, Option<&'a LatencyHistogram>)> + Clone,
) -> RequirementResult {
    let limit = Nanos::new(requirement.limit_ns);
    let evidence: Vec<Option<(Evidence, bool)>> = runs
        .clone()
        .map(|(run, histogram)| evidence(run, histogram, limit))
        .collect();
    let known: Vec<Evidence> = evidence.iter().flatten().map(|known| known.0).collect();
    let pooled = Evidence::pooled(&known);
    let ruled = requirement.rule(&pooled);
    let obstacle = obstacle(runs, &evidence);
    let (ruling, wanting) = match (&obstacle, ruled.ruling) {
        (Some(_), _) => (RequirementRuling::Unclaimed, None),
        (None, Ruling::Pass) => (RequirementRuling::Pass, None),
        (None, Ruling::Fail) => (RequirementRuling::Fail, None),
        (None, Ruling::Unclaimed(wanting)) => (RequirementRuling::Unclaimed, Some(wanting)),
    };
    let any = pooled.samples > 0;
    RequirementResult {
        requirement: requirement.to_string(),
        ruling,
        limit_ns: limit,
        share_allowed: requirement.share(),
        confidence: requirement.confidence,
        runs: evidence.len() as u64,
        samples: pooled.samples,
        above: pooled.above,
        exact: evidence.iter().flatten().all(|known| known.1),
        effective: any.then_some(ruled.effective),
        share_at_most: any.then_some(ruled.share_at_most),
        share_at_least: any.then_some(ruled.share_at_least),
        samples_to_pass: match wanting {
            Some(Wanting::ToPass(n)) => Some(n),
            _ => None,
        },
        samples_to_fail: match wanting {
            Some(Wanting::ToFail(n)) => Some(n),
            _ => None,
        },
        obstacle,
    }
}

/// What a run knows of wake-ups later than `limit`, and whether that is exact.
fn evidence(
    run: &RunRecord,
    histogram: Option<&LatencyHistogram>,
    limit: Nanos,
) -> Option<(Evidence, bool)> {
    let total = &run.total;
    if let Some(counted) = total.misses.iter().find(|m| m.deadline_ns == limit) {
        let samples = total.count + total.overruns.unwrap_or(0);
        let evidence = Evidence {
            samples,
            above: counted.all(),
            effective: counted.effective.unwrap_or_else(|| float(samples)),
        };
        return Some((evidence, true));
    }
    let histogram = histogram?;
    let samples = histogram.count();
    // How the samples above this time depend on each other was not followed; how all do was.
    let worth = total
        .effective_samples
        .filter(|_| total.count > 0)
        .map_or(1.0, |effective| effective / float(total.count));
    let evidence = Evidence {
        samples,
        above: above(histogram, limit),
        effective: float(samples) * worth.min(1.0),
    };
    // Buckets are single nanoseconds up to here.
    Some((evidence, limit.get() < 2_048))
}

/// Why nothing can be claimed, whatever the counts are.
fn obstacle<'a>(
    runs: impl Iterator<Item = (&'a RunRecord, Option<&'a LatencyHistogram>)>,
    evidence: &[Option<(Evidence, bool)>],
) -> Option<String> {
    if evidence.is_empty() {
        return Some("there is no run".to_owned());
    }
    let (mut invalid, mut all) = (0, 0);
    for (run, _) in runs {
        let failed = run.origin.is_none() && !(run.valid && run.checks.iter().all(Check::passed));
        invalid += usize::from(failed);
        all += 1;
    }
    if invalid > 0 {
        return Some(if all == 1 {
            "the run is invalid".to_owned()
        } else {
            format!("{invalid} of {all} runs are invalid")
        });
    }
    let unknown = evidence.iter().filter(|known| known.is_none()).count();
    (unknown > 0).then(|| {
        format!("{unknown} of {all} runs have neither counted this time as a deadline nor kept a histogram")
    })
}
