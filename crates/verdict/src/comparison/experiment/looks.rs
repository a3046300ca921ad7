// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The looks at an experiment that goes on, and what they leave of its verdicts.

use std::collections::BTreeMap;

use punctual_model::{
    Better, ComparedFigure, Comparison, ComparisonScale, ComparisonVerdict, Finding, LookRule,
    MeasurementResults, SequentialComparison, SequentialState, WithheldReason,
};
use punctual_stats::sequential::{Looks, Spending};

use super::super::{CompareError, ComparisonRequest, Metric, answer, compare, remarks};
use super::{Design, MeasurementInput};

/// The remark that effects over several cells have no verdict yet.
const EFFECTS: &str = "effects";

/// At the first of many looks next to nothing is spent, and no number of runs has quantiles for that.
const LEAST_SHARE: f64 = 1e-9;

/// One comparison of an experiment: measurement, figure, cell.
type Key = (String, String, String);

/// Whether all comparisons are decided after `blocks` blocks, by the looks up to then.
///
/// # Errors
///
/// As [`experiment`](super::experiment).
pub fn is_resolved(
    design: &Design,
    rule: LookRule,
    measurements: &[MeasurementInput],
    asked: &ComparisonRequest,
    blocks: u32,
) -> Result<bool, CompareError> {
    let early: Vec<MeasurementInput> = measurements.iter().map(|m| m.before(blocks)).collect();
    let (state, _) = looks(design, rule, &early, asked, blocks)?;
    let found = |comparison: &SequentialComparison| comparison.found_after.is_some();
    Ok(!state.comparisons.is_empty() && state.comparisons.iter().all(found))
}

/// Takes the looks, from the first on, that the blocks allow of which all runs are `made`. Also returns the part of the
/// level that the latest of them spends, or the first where none is taken yet.
pub(super) fn looks(
    design: &Design,
    rule: LookRule,
    measurements: &[MeasurementInput],
    asked: &ComparisonRequest,
    made: u32,
) -> Result<(SequentialState, Option<f64>), CompareError> {
    // The comparisons are those of the whole, known from the first look on.
    let metrics: Vec<Vec<Metric>> = measurements
        .iter()
        .map(|m| m.metrics(&asked.metrics))
        .collect();
    let keys: Vec<Key> = measurements
        .iter()
        .zip(&metrics)
        .flat_map(|(measurement, metrics)| {
            metrics.iter().flat_map(|metric| {
                design.cells.iter().skip(1).map(|cell| {
                    (
                        measurement.name.clone(),
                        metric.to_string(),
                        cell.name.clone(),
                    )
                })
            })
        })
        .collect();
    let mut state = SequentialState {
        alpha: rule.alpha,
        spending: "obrien_fleming".to_owned(),
        looks: Vec::new(),
        comparisons: Vec::new(),
    };
    let planned = design.blocks_planned;
    let Ok(mut looks) = Looks::new(rule.alpha, Spending::OBrienFleming, planned, keys.len()) else {
        return Ok((state, None));
    };
    let mut at: Vec<u32> = (rule.first..=planned)
        .step_by(rule.every.max(1) as usize)
        .collect();
    // All that is left of the level is spent after the last block.
    if at.last() != Some(&planned) {
        at.push(planned);
    }
    for blocks in at.iter().copied().filter(|blocks| *blocks <= made) {
        let p = p_values(measurements, &metrics, asked, blocks, &keys)?;
        if looks.look(blocks, &p).is_err() {
            continue;
        }
        state.looks.push(u64::from(blocks));
        if looks.found().iter().all(Option::is_some) {
            break;
        }
    }
    let is_known = match at.first().filter(|_| state.looks.is_empty()) {
        // Nothing can be found by it.
        Some(first) => looks.look(*first, &vec![None; keys.len()]).is_ok(),
        None => true,
    };
    // By the step of Holm's procedure at which it is least.
    let part = |open: usize| looks.level(open) * open as f64 / rule.alpha;
    let share = (1..=keys.len()).map(part).reduce(f64::min);
    let share = share.filter(|_| is_known);
    state.comparisons = keys
        .into_iter()
        .zip(looks.found())
        .map(
            |((measurement, figure, cell), found)| SequentialComparison {
                measurement,
                figure,
                cell,
                found_after: found.map(u64::from),
            },
        )
        .collect();
    Ok((state, share.map(|share| share.max(LEAST_SHARE))))
}

/// The p-value of each comparison, by the runs of the first `blocks` blocks.
fn p_values(
    measurements: &[MeasurementInput],
    metrics: &[Vec<Metric>],
    asked: &ComparisonRequest,
    blocks: u32,
    keys: &[Key],
) -> Result<Vec<Option<f64>>, CompareError> {
    let mut known: BTreeMap<Key, f64> = BTreeMap::new();
    for (measurement, metrics) in measurements.iter().zip(metrics) {
        let early = measurement.before(blocks);
        let asked = ComparisonRequest {
            metrics: metrics.clone(),
            requirements: Vec::new(),
            ..asked.clone()
        };
        match compare(early.groups, &asked) {
            Ok(comparison) => known.extend(comparison.results.into_iter().filter_map(|result| {
                // Runs that give no grounds for a verdict decide nothing. Zeros are a reason where nothing is found alone.
                let reason = result.withheld.as_ref().map(|withheld| withheld.reason);
                if reason.is_some_and(|reason| reason != WithheldReason::Zeros) {
                    return None;
                }
                let key = (
                    measurement.name.clone(),
                    result.figure,
                    result.candidate.group,
                );
                Some((key, result.p?))
            })),
            Err(err) if err.is_for_want_of_figures() => {}
            Err(err) => return Err(err),
        }
    }
    Ok(keys.iter().map(|key| known.get(key).copied()).collect())
}

/// Takes back verdicts that no look found: the level was spent on looking.
pub(super) fn bound(comparison: &mut Comparison, measurement: &str, state: &SequentialState) {
    // They speak of p-values that were not the rule here.
    let other = [remarks::CORRECTION, remarks::LOOK];
    comparison
        .remarks
        .retain(|remark| !other.contains(&remark.id.as_ref()));
    for result in &mut comparison.results {
        // The number of blocks was fixed beforehand.
        result.more_runs = None;
        let of = |known: &&SequentialComparison| {
            known.measurement == measurement
                && known.figure == result.figure
                && known.cell == result.candidate.group
        };
        let found = state.comparisons.iter().find(of);
        let found = found.is_some_and(|known| known.found_after.is_some());
        let effect = matches!(
            result.verdict,
            ComparisonVerdict::Better | ComparisonVerdict::Worse | ComparisonVerdict::Different
        );
        // What a look found rests on p-values; runs that give no grounds for a verdict give none here.
        if result.withheld.is_some() {
            continue;
        }
        if effect && !found {
            result.verdict = ComparisonVerdict::TooFewRuns;
        } else if found && !effect {
            result.verdict = direction_of(result);
        }
    }
    comparison.answers = answer::answers(comparison);
}

/// Takes back main effects and interactions before all `planned` blocks are done: no look has a level for them, so they
/// are judged once, at the end that was fixed beforehand.
pub(super) fn hold_effects(result: &mut MeasurementResults, planned: u32) {
    if result.effects.is_empty() {
        return;
    }
    for effect in &mut result.effects {
        effect.found = false;
    }
    result.comparison.remarks.push(Finding::observed(
        EFFECTS,
        format!(
            "the looks are at the comparisons of cells alone: main effects and interactions are found only after all \
             {planned} planned blocks"
        ),
    ));
}

/// The verdict that an effect in the direction of the estimate is.
fn direction_of(result: &ComparedFigure) -> ComparisonVerdict {
    // What was tested is the ratio on the logarithmic scale, and the difference on the linear one.
    let rises = match result.scale {
        ComparisonScale::Log => result.ratio.is_some_and(|ratio| ratio.estimate > 1.0),
        ComparisonScale::Linear => result.difference.is_some_and(|apart| apart.estimate > 0.0),
    };
    match (result.better, rises) {
        (Better::Neither, _) => ComparisonVerdict::Different,
        (Better::Lower, true) | (Better::Higher, false) => ComparisonVerdict::Worse,
        _ => ComparisonVerdict::Better,
    }
}
