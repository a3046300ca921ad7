// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What a comparison is to a gate: whether it fails, and whether it could be judged.

use punctual_model::{Better, ComparedFigure, Comparison, ComparisonVerdict};
use punctual_stats::runs::Margin;
use punctual_verdict::comparison::earlier::EARLIER_UNREADABLE;

use crate::cli::{FailOn, Percent};
use crate::error::CliError;
use crate::exit::Exit;

/// The margin that was asked for.
pub(crate) fn margin(equivalence: Option<Percent>, not_worse: Option<Percent>) -> Option<Margin> {
    let same = equivalence.map(|share| Margin::Same(share.0));
    same.or_else(|| not_worse.map(|share| Margin::NotWorse(share.0)))
}

/// Refuses to fail on the answer to a question that was not asked.
pub(crate) fn check(
    fail_on: &[FailOn],
    equivalence: Option<Percent>,
    not_worse: Option<Percent>,
) -> Result<(), CliError> {
    if fail_on.contains(&FailOn::NotEquivalent) && equivalence.is_none() {
        return Err(CliError::usage(
            "--fail-on not-equivalent: needs --equivalence, the margin within which groups are the same",
        ));
    }
    if fail_on.contains(&FailOn::MayBeWorse) && not_worse.is_none() {
        return Err(CliError::usage(
            "--fail-on may-be-worse: needs --not-worse, the change to exclude",
        ));
    }
    Ok(())
}

/// A requirement that is not shown has failed: a gate must not open for lack of samples. Nor must it for lack
/// of runs: what could not be judged has a status of its own.
pub(crate) fn exit(comparison: &Comparison, fail_on: &[FailOn]) -> Exit {
    let failed = |fail_on: &FailOn| {
        comparison.results.iter().any(|result| match fail_on {
            FailOn::Worse => result.verdict == ComparisonVerdict::Worse,
            FailOn::Different => matches!(
                result.verdict,
                ComparisonVerdict::Better | ComparisonVerdict::Worse | ComparisonVerdict::Different
            ),
            FailOn::NotEquivalent => result.verdict != ComparisonVerdict::Equivalent,
            FailOn::MayBeWorse => {
                result.better != Better::Neither
                    && !matches!(
                        result.verdict,
                        ComparisonVerdict::Better | ComparisonVerdict::NotWorse
                    )
            }
            FailOn::TooFewRuns => result.verdict == ComparisonVerdict::TooFewRuns,
        })
    };
    let unmet = comparison.requirements.iter().any(|of| !of.result.is_met());
    let is_gate = !fail_on.is_empty() || !comparison.requirements.is_empty();
    let mut judged = fail_on.iter();
    let judged = judged.all(|fail_on| is_judged(comparison, *fail_on))
        && !(is_gate && lacks_unreadable(comparison));
    Exit::of_gate(unmet || fail_on.iter().any(failed), judged)
}

/// Whether a run that cannot be read belongs to what was compared, or may.
fn lacks_unreadable(comparison: &Comparison) -> bool {
    let mut refused = comparison.groups.iter().flat_map(|group| &group.refused);
    let mut remarks = comparison.remarks.iter();
    refused.any(|run| run.unreadable) || remarks.any(|remark| remark.id == EARLIER_UNREADABLE)
}

/// Whether every figure that a gate looks at has a verdict, and there is one.
fn is_judged(comparison: &Comparison, fail_on: FailOn) -> bool {
    let of_interest = |result: &&ComparedFigure| match fail_on {
        // What has no bad direction cannot get worse.
        FailOn::Worse | FailOn::MayBeWorse => result.better != Better::Neither,
        FailOn::Different | FailOn::NotEquivalent | FailOn::TooFewRuns => true,
    };
    let mut looked_at = comparison.results.iter().filter(of_interest).peekable();
    looked_at.peek().is_some()
        && looked_at.all(|result| result.verdict != ComparisonVerdict::TooFewRuns)
}
