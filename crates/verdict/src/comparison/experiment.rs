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

mod looks;

use std::collections::BTreeMap;
use std::slice;

use punctual_model::{
    AliasedEffect, Better, ComparisonScale, EXPERIMENT_RESULTS_FORMAT, ExperimentCell,
    ExperimentFactor, ExperimentResults, FactorEffect, Finding, Interval, LevelChange, LookRule,
    MeasurementResults, ParetoCell, ParetoValue, StudySkipped,
};
use punctual_stats::design::{
    Contrast, ContrastResult, Factor, contrasts, estimate, joint_p, pareto,
};
use punctual_stats::holm;
use punctual_stats::runs::Options;

use super::{
    Blocks, CompareError, ComparisonRequest, GroupInput, Metric, Table, blocks, direction, metric,
    unit_and_better,
};
pub use looks::is_resolved;
use looks::{bound, hold_effects, looks};

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
    /// Those of them that are done: a block in progress is not, though it has runs.
    pub blocks_done: u32,
    /// The factors, with the levels that cells have, in the order of the file.
    pub factors: Vec<ExperimentFactor>,
    /// The cells.
    pub cells: Vec<ExperimentCell>,
    /// What a fraction cannot tell apart.
    pub aliases: Vec<String>,
    /// What was left out, and why.
    pub skipped: Vec<StudySkipped>,
    /// When it was looked at, where it was.
    pub rule: Option<LookRule>,
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
        let known = |metric: &Metric| runs().any(|run| run.value(metric).is_some());
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
    let looked = design
        .rule
        .map(|rule| looks(design, rule, &measurements, asked, design.blocks_done));
    let (sequential, share) = looked.transpose()?.unzip();
    let made = blocks_made(&measurements);
    let all_blocks = design.finished.is_some() && design.blocks_done >= design.blocks_planned;
    let mut results: Vec<MeasurementResults> = Vec::new();
    let missing = in_no_run(&measurements, &asked.metrics);
    let measurements: Vec<(Vec<Metric>, MeasurementInput)> = measurements
        .into_iter()
        .map(|measurement| (measurement.metrics(&asked.metrics), measurement))
        .collect();
    let with_figures = measurements
        .iter()
        .filter(|(metrics, _)| !metrics.is_empty())
        .count();
    if with_figures == 0 {
        return Err(CompareError::NoFigure {
            asked: asked.metrics.iter().map(ToString::to_string).collect(),
        });
    }
    let options = Options {
        share: share.flatten(),
        ..share_of_level(&asked.options, with_figures)
    };
    for (metrics, measurement) in measurements {
        let asked_of = ComparisonRequest {
            metrics,
            options: options.clone(),
            ..asked.clone()
        };
        if asked_of.metrics.is_empty() {
            results.push(without_figures(measurement, asked, &asked_of)?);
            continue;
        }
        let mut effects = effects(design, &measurement.groups, &asked_of)?;
        let comparison = super::compare(measurement.groups, &asked_of)?;
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
    let mut with_figures = results
        .iter_mut()
        .filter(|of| !of.comparison.results.is_empty());
    if let (Some(first), false) = (with_figures.next(), missing.is_empty()) {
        first.comparison.remarks.push(in_no(&missing));
    }
    if let Some(sequential) = &sequential {
        for result in &mut results {
            bound(&mut result.comparison, &result.measurement, sequential);
            if !all_blocks {
                hold_effects(result, design.blocks_planned);
            }
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
        missing,
        sequential,
        aliases: design.aliases.clone(),
        skipped: design.skipped.clone(),
    })
}

/// A measurement of which no run has a figure: what is required of its cells is judged all the same.
fn without_figures(
    measurement: MeasurementInput,
    asked: &ComparisonRequest,
    asked_of: &ComparisonRequest,
) -> Result<MeasurementResults, CompareError> {
    let mut comparison = super::without_figures(measurement.groups, asked_of)?;
    let all: Vec<String> = asked.metrics.iter().map(ToString::to_string).collect();
    comparison.remarks.push(in_no(&all));
    Ok(MeasurementResults {
        comparison,
        measurement: measurement.name,
        effects: Vec::new(),
    })
}

/// The remark that no run has these figures.
fn in_no(figures: &[String]) -> Finding {
    Finding::observed(
        "missing",
        format!(
            "no run has {}, which the experiment compares by",
            figures.join(", ")
        ),
    )
}

/// The blocks that have runs, in order.
fn blocks_made(measurements: &[MeasurementInput]) -> Vec<u32> {
    let groups = measurements.iter().flat_map(|of| &of.groups);
    let runs = groups.flat_map(|group| &group.runs);
    let mut made: Vec<u32> = runs.filter_map(block_of).collect();
    made.sort_unstable();
    made.dedup();
    made
}

/// The figures of those asked for that no run of any measurement has.
fn in_no_run(measurements: &[MeasurementInput], asked: &[Metric]) -> Vec<String> {
    let nowhere = |metric: &&Metric| {
        let mut of = measurements.iter();
        of.all(|measurement| measurement.metrics(slice::from_ref(*metric)).is_empty())
    };
    let missing = asked.iter().filter(nowhere);
    missing.map(ToString::to_string).collect()
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
    let changes =
        |of: &[(usize, usize)]| -> Vec<LevelChange> { of.iter().filter_map(change).collect() };
    let aliased = |(of, factor): &(Vec<(usize, usize)>, f64)| {
        let mut of = changes(of);
        if let Some(first) = of.first_mut().filter(|_| *factor < 0.0) {
            std::mem::swap(&mut first.level, &mut first.from);
        }
        AliasedEffect {
            of,
            power: factor.abs(),
        }
    };
    FactorEffect {
        figure: String::new(),
        unit: String::new(),
        better: Better::Neither,
        of: changes(&contrast.of),
        aliased: contrast.aliased.iter().map(aliased).collect(),
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
