// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! From the runs of an experiment to its results.
//!
//! Every cell is compared with the first, inside the blocks ([`compare`](super::compare)); main effects
//! and interactions are contrasts that vary from block to block ([`punctual_stats::design`]). Where an
//! experiment has several measurements a cell, each gets its part of the level (Bonferroni), and Holm's
//! procedure is used inside.
//!
//! An experiment that is looked at while it goes on has a level for each look
//! ([`punctual_stats::sequential`]). The looks are always taken from the first on, from the blocks that
//! there were at the time, so that an experiment which was resumed comes to what it would have come to.

use std::collections::BTreeMap;
use std::slice;

use punctual_model::{
    Better, Comparison, ComparisonScale, ComparisonVerdict, EXPERIMENT_RESULTS_FORMAT,
    ExperimentCell, ExperimentFactor, ExperimentResults, FactorEffect, Finding, Interval,
    LevelChange, MeasurementResults, ParetoCell, ParetoValue, SequentialComparison,
    SequentialState,
};
use punctual_stats::design::{
    Contrast, ContrastResult, Factor, contrasts, estimate, joint_p, pareto,
};
use punctual_stats::holm;
use punctual_stats::runs::Options;
use punctual_stats::sequential::{Looks, Spending};

use super::{
    Blocks, CompareError, ComparisonRequest, GroupInput, Metric, Table, blocks, direction, metric,
    unit_and_better,
};

/// What an experiment is, apart from its runs.
#[derive(Clone, Debug, Default)]
pub struct Design {
    /// Name of the experiment.
    pub name: String,
    /// Seed of the order.
    pub seed: u64,
    /// Why it is over.
    pub finished: Option<String>,
    /// Blocks that were planned, those of the warm-up apart.
    pub blocks_planned: u32,
    /// The factors, the levels in the order of the file.
    pub factors: Vec<ExperimentFactor>,
    /// The cells.
    pub cells: Vec<ExperimentCell>,
    /// What a fraction cannot tell apart.
    pub aliases: Vec<String>,
    /// When it was looked at, where it was.
    pub rule: Option<LookRule>,
}

/// When an experiment is looked at while it goes on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LookRule {
    /// Blocks before the first look.
    pub first: u32,
    /// Blocks between looks.
    pub every: u32,
    /// Probability of a false verdict over all looks.
    pub alpha: f64,
}

/// The runs of one measurement: a group a cell, in the order of the cells. Their tags say the block,
/// from 0 without those of the warm-up.
#[derive(Clone, Debug)]
pub struct MeasurementInput {
    /// Its name.
    pub name: String,
    /// The groups.
    pub groups: Vec<GroupInput>,
}

impl MeasurementInput {
    /// The figures of those asked for that any of its runs has.
    fn metrics(&self, asked: &[Metric]) -> Vec<Metric> {
        let runs = || self.groups.iter().flat_map(|group| &group.runs);
        let expanded = metric::expand(asked, runs().map(|run| &run.record));
        let known = |metric: &Metric| {
            runs().any(|run| metric.value(&run.record, run.histogram.as_ref()).is_some())
        };
        expanded.into_iter().filter(known).collect()
    }

    /// The same, without what was made in block `blocks` and later.
    fn before(&self, blocks: u32) -> Self {
        let early = |run: &&super::RunInput| block_of(run).is_some_and(|block| block < blocks);
        let group = |group: &GroupInput| GroupInput {
            name: group.name.clone(),
            runs: group.runs.iter().filter(early).cloned().collect(),
            refused: Vec::new(),
        };
        Self {
            name: self.name.clone(),
            groups: self.groups.iter().map(group).collect(),
        }
    }
}

fn block_of(run: &super::RunInput) -> Option<u32> {
    run.record.tags.get("block")?.parse().ok()
}

/// Says what the runs of an experiment say.
///
/// # Errors
///
/// As [`compare`](super::compare); [`CompareError::Groups`] for an experiment of one cell.
pub fn experiment(
    design: &Design,
    measurements: Vec<MeasurementInput>,
    asked: &ComparisonRequest,
) -> Result<ExperimentResults, CompareError> {
    let sequential = match design.rule {
        Some(rule) => Some(looks(design, rule, &measurements, asked)?),
        None => None,
    };
    let mut made: Vec<u32> = Vec::new();
    for measurement in &measurements {
        let runs = measurement.groups.iter().flat_map(|group| &group.runs);
        made.extend(runs.filter_map(block_of));
    }
    made.sort_unstable();
    made.dedup();
    let mut results: Vec<MeasurementResults> = Vec::new();
    let nowhere = |metric: &&Metric| {
        let mut of = measurements.iter();
        of.all(|measurement| measurement.metrics(slice::from_ref(*metric)).is_empty())
    };
    let unknown: Vec<String> = asked
        .metrics
        .iter()
        .filter(nowhere)
        .map(ToString::to_string)
        .collect();
    let with_figures: Vec<(Vec<Metric>, MeasurementInput)> = measurements
        .into_iter()
        .map(|measurement| (measurement.metrics(&asked.metrics), measurement))
        .filter(|(metrics, _)| !metrics.is_empty())
        .collect();
    if with_figures.is_empty() {
        return Err(CompareError::NoFigure {
            asked: asked.metrics.iter().map(ToString::to_string).collect(),
        });
    }
    let options = share_of_level(&asked.options, with_figures.len());
    for (metrics, measurement) in with_figures {
        let asked = ComparisonRequest {
            metrics,
            options: options.clone(),
            ..asked.clone()
        };
        let mut effects = effects(design, &measurement.groups, &asked)?;
        let comparison = super::compare(measurement.groups, &asked)?;
        for effect in &mut effects {
            let mut of = comparison
                .results
                .iter()
                .filter(|r| r.figure == effect.figure);
            // Cells that give no grounds for a verdict give none for an effect over them.
            effect.found &= of.all(|result| result.withheld.is_none());
        }
        results.push(MeasurementResults {
            comparison,
            measurement: measurement.name,
            effects,
        });
    }
    if let (Some(first), false) = (results.first_mut(), unknown.is_empty()) {
        first.comparison.remarks.push(Finding::observed(
            "missing",
            format!(
                "no run has {}, which the experiment compares by",
                unknown.join(", ")
            ),
        ));
    }
    if let Some(sequential) = &sequential {
        for result in &mut results {
            bound(&mut result.comparison, &result.measurement, sequential);
        }
    }
    Ok(ExperimentResults {
        format: EXPERIMENT_RESULTS_FORMAT.to_owned(),
        name: design.name.clone(),
        seed: design.seed,
        finished: design.finished.clone(),
        blocks: made.len() as u64,
        blocks_planned: u64::from(design.blocks_planned),
        factors: design.factors.clone(),
        cells: design.cells.clone(),
        pareto: front(design, &results),
        measurements: results,
        sequential,
        aliases: design.aliases.clone(),
    })
}

/// Each of several measurements gets its part of the level.
fn share_of_level(options: &Options, measurements: usize) -> Options {
    Options {
        alpha: options.alpha / measurements.max(1) as f64,
        ..options.clone()
    }
}

/// Main effects and interactions, where there is more than one factor.
fn effects(
    design: &Design,
    groups: &[GroupInput],
    asked: &ComparisonRequest,
) -> Result<Vec<FactorEffect>, CompareError> {
    if design.factors.len() < 2 {
        return Ok(Vec::new());
    }
    let Some(blocks) = blocks(groups) else {
        return Ok(Vec::new());
    };
    let factors: Vec<Factor> = design
        .factors
        .iter()
        .map(|factor| Factor {
            name: factor.name.clone(),
            levels: factor.levels.clone(),
        })
        .collect();
    let place = |(factor, level): (&ExperimentFactor, &String)| {
        factor.levels.iter().position(|known| known == level)
    };
    let cells: Vec<Vec<usize>> = design
        .cells
        .iter()
        .map(|cell| {
            design
                .factors
                .iter()
                .zip(&cell.levels)
                .filter_map(place)
                .collect()
        })
        .collect();
    let contrasts = contrasts(&factors, &cells);
    let table = Table::of(asked.metrics.clone(), groups);
    let mut all = Vec::new();
    for (figure, metric) in table.metrics.iter().enumerate() {
        let (scale, values) = by_block(&table, &blocks, groups.len(), figure);
        for contrast in &contrasts {
            let options = &asked.options;
            let result = estimate(
                contrast,
                &values,
                options.confidence,
                options.draws,
                options.seed,
            )
            .map_err(|source| CompareError::Value {
                figure: metric.to_string(),
                source,
            })?;
            let (unit, better) = unit_and_better(metric, groups);
            all.push(FactorEffect {
                figure: metric.to_string(),
                unit,
                better,
                ..effect(design, contrast, &result, scale, options.confidence)
            });
        }
    }
    let p: Vec<Option<f64>> = all.iter().map(|effect| effect.p).collect();
    for (effect, adjusted) in all.iter_mut().zip(holm(&p)) {
        effect.adjusted_p = adjusted;
        effect.found = adjusted.is_some_and(|p| p <= asked.options.alpha);
    }
    Ok(all)
}

/// Returns the p-value of "all groups are alike" by each figure, where the runs were made in blocks and there
/// are more than two groups.
pub(crate) fn joint(
    groups: &[GroupInput],
    metrics: &[Metric],
    options: &Options,
) -> Vec<(String, f64)> {
    let Some(blocks) = blocks(groups).filter(|_| !groups.iter().any(super::is_virtual)) else {
        return Vec::new();
    };
    let records = groups.iter().flat_map(|group| &group.runs);
    let table = Table::of(
        metric::expand(metrics, records.map(|run| &run.record)),
        groups,
    );
    let draws = u32::try_from(options.draws).unwrap_or(u32::MAX);
    let of = |(figure, metric): (usize, &Metric)| {
        let (_, values) = by_block(&table, &blocks, groups.len(), figure);
        Some((metric.to_string(), joint_p(&values, draws, options.seed)?))
    };
    table.metrics.iter().enumerate().filter_map(of).collect()
}

/// The values of a figure by block and cell, on the scale of all of them: the mean where a cell has
/// several in a block.
fn by_block(
    table: &Table,
    blocks: &Blocks,
    cells: usize,
    figure: usize,
) -> (ComparisonScale, Vec<Vec<Option<f64>>>) {
    let columns: Vec<Vec<Option<f64>>> =
        (0..cells).map(|cell| table.column(cell, figure)).collect();
    let positive = columns.iter().flatten().flatten().all(|x| *x > 0.0);
    let scale = match positive {
        true => ComparisonScale::Log,
        false => ComparisonScale::Linear,
    };
    let mut values: BTreeMap<u64, Vec<Vec<f64>>> = BTreeMap::new();
    for (cell, (column, of_cell)) in columns.iter().zip(blocks).enumerate() {
        for (value, block) in column.iter().zip(of_cell) {
            let Some(value) = value else { continue };
            let row = values
                .entry(*block)
                .or_insert_with(|| vec![Vec::new(); cells]);
            if let Some(cell) = row.get_mut(cell) {
                cell.push(if positive { value.ln() } else { *value });
            }
        }
    }
    let mean = |xs: Vec<f64>| (!xs.is_empty()).then(|| xs.iter().sum::<f64>() / xs.len() as f64);
    let rows = values.into_values();
    let rows = rows
        .map(|row| row.into_iter().map(mean).collect())
        .collect();
    (scale, rows)
}

fn effect(
    design: &Design,
    contrast: &Contrast,
    result: &ContrastResult,
    scale: ComparisonScale,
    confidence: f64,
) -> FactorEffect {
    let back = |x: f64| match scale {
        ComparisonScale::Log => x.exp(),
        ComparisonScale::Linear => x,
    };
    let change = |(factor, level): &(usize, usize)| {
        let factor = design.factors.get(*factor)?;
        Some(LevelChange {
            factor: factor.name.clone(),
            level: factor.levels.get(*level)?.clone(),
            from: factor.levels.first()?.clone(),
        })
    };
    FactorEffect {
        figure: String::new(),
        unit: String::new(),
        better: Better::Neither,
        of: contrast.of.iter().filter_map(change).collect(),
        scale,
        estimate: result.estimate.map(back),
        interval: result.interval.map(|(low, high)| Interval {
            low: back(low),
            high: back(high),
            confidence,
        }),
        p: result.p,
        adjusted_p: None,
        found: false,
        blocks: result.blocks as u64,
        incomplete: result.incomplete as u64,
    }
}

/// The cells to choose from, by all figures that have a good direction.
fn front(design: &Design, results: &[MeasurementResults]) -> Option<Vec<ParetoCell>> {
    let values = |cell: &ExperimentCell| -> Vec<ParetoValue> {
        let of = |result: &MeasurementResults| -> Vec<ParetoValue> {
            let mut seen: Vec<String> = Vec::new();
            let mut values = Vec::new();
            for figure in &result.comparison.results {
                let sides = [&figure.baseline, &figure.candidate];
                let side = sides.into_iter().find(|side| side.group == cell.name);
                let Some(side) = side.filter(|_| !seen.contains(&figure.figure)) else {
                    continue;
                };
                seen.push(figure.figure.clone());
                values.push(ParetoValue {
                    measurement: result.measurement.clone(),
                    figure: figure.figure.clone(),
                    unit: figure.unit.clone(),
                    better: figure.better,
                    estimate: side.estimate,
                });
            }
            values.retain(|value| value.better != Better::Neither);
            values
        };
        results.iter().flat_map(of).collect()
    };
    let cells: Vec<Vec<ParetoValue>> = design.cells.iter().map(values).collect();
    let directions: Vec<_> = cells.first()?.iter().map(|v| direction(v.better)).collect();
    if directions.len() < 2 {
        return None;
    }
    let points: Vec<Vec<Option<f64>>> = cells
        .iter()
        .map(|values| values.iter().map(|value| value.estimate).collect())
        .collect();
    let marks = pareto(&points, &directions);
    let all = design.cells.iter().zip(cells).zip(marks);
    Some(
        all.map(|((cell, values), undominated)| ParetoCell {
            cell: cell.name.clone(),
            values,
            undominated,
        })
        .collect(),
    )
}

/// One comparison of an experiment: measurement, figure, cell.
type Key = (String, String, String);

/// Whether all comparisons are decided after `blocks` blocks, by the looks up to then.
///
/// # Errors
///
/// As [`experiment`].
pub fn is_resolved(
    design: &Design,
    rule: LookRule,
    measurements: &[MeasurementInput],
    asked: &ComparisonRequest,
    blocks: u32,
) -> Result<bool, CompareError> {
    let early: Vec<MeasurementInput> = measurements.iter().map(|m| m.before(blocks)).collect();
    let state = looks(design, rule, &early, asked)?;
    let found = |comparison: &SequentialComparison| comparison.found_after.is_some();
    Ok(!state.comparisons.is_empty() && state.comparisons.iter().all(found))
}

/// Takes the looks, from the first on, that the blocks allow.
fn looks(
    design: &Design,
    rule: LookRule,
    measurements: &[MeasurementInput],
    asked: &ComparisonRequest,
) -> Result<SequentialState, CompareError> {
    let runs = measurements
        .iter()
        .flat_map(|m| &m.groups)
        .flat_map(|g| &g.runs);
    let made = runs.filter_map(block_of).max().map_or(0, |last| last + 1);
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
        return Ok(state);
    };
    let mut at: Vec<u32> = (rule.first..=planned)
        .step_by(rule.every.max(1) as usize)
        .collect();
    // All that is left of the level is spent after the last block.
    if at.last() != Some(&planned) {
        at.push(planned);
    }
    for blocks in at.into_iter().filter(|blocks| *blocks <= made) {
        let p = p_values(measurements, &metrics, asked, blocks, &keys)?;
        if looks.look(blocks, &p).is_err() {
            continue;
        }
        state.looks.push(u64::from(blocks));
        if looks.found().iter().all(Option::is_some) {
            break;
        }
    }
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
    Ok(state)
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
        match super::compare(early.groups, &asked) {
            Ok(comparison) => known.extend(comparison.results.into_iter().filter_map(|result| {
                let key = (
                    measurement.name.clone(),
                    result.figure,
                    result.candidate.group,
                );
                Some((key, result.p?))
            })),
            Err(CompareError::NoFigure { .. }) => {}
            Err(err) => return Err(err),
        }
    }
    Ok(keys.iter().map(|key| known.get(key).copied()).collect())
}

/// Takes back verdicts that no look found: the level was spent on looking.
fn bound(comparison: &mut Comparison, measurement: &str, state: &SequentialState) {
    // They speak of p-values that were not the rule here.
    let other = [super::remarks::CORRECTION, super::remarks::LOOK];
    comparison
        .remarks
        .retain(|remark| !other.contains(&remark.id.as_ref()));
    for result in &mut comparison.results {
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
            result.more_runs = None;
        } else if found && !effect {
            result.verdict = direction_of(result);
            result.more_runs = None;
        }
    }
    comparison.answers = super::answer::answers(comparison);
}

/// The verdict that an effect in the direction of the estimate is.
fn direction_of(result: &punctual_model::ComparedFigure) -> ComparisonVerdict {
    let rises = match (result.ratio, result.difference) {
        (Some(ratio), _) => ratio.estimate > 1.0,
        (None, difference) => difference.is_some_and(|difference| difference.estimate > 0.0),
    };
    match (result.better, rises) {
        (Better::Neither, _) => ComparisonVerdict::Different,
        (Better::Lower, true) | (Better::Higher, false) => ComparisonVerdict::Worse,
        _ => ComparisonVerdict::Better,
    }
}
