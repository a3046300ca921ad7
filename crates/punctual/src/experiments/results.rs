// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What the runs of an experiment say, and the looks of a sequential rule.

use std::collections::{BTreeMap, BTreeSet};

use punctual_lab::engine::slot_is_done;
use punctual_lab::file::Experiment;
use punctual_lab::plan::{Plan, Slot};
use punctual_lab::state::{Attempt, RunEnd, Snapshot, State};
use punctual_model::{
    ExperimentCell, ExperimentFactor, ExperimentResults, Gathered as _, RefusedRun,
};
use punctual_stats::requirement::Requirement;
use punctual_stats::runs::{Margin, Options};
use punctual_store::Store;
use punctual_verdict::comparison::experiment::{
    Design, MeasurementInput, experiment, is_resolved as resolved,
};
use punctual_verdict::comparison::{CompareError, ComparisonRequest, GroupInput, Metric};
use punctual_verdict::select::{self, Chosen};

use super::dir_of;
use crate::error::CliError;

/// What is asked of an experiment.
#[derive(Clone, Debug)]
pub(crate) struct Wish {
    /// The figures; those of the file where there are none.
    pub(crate) metrics: Vec<Metric>,
    pub(crate) margin: Option<Margin>,
    /// The smallest change that matters.
    pub(crate) effect: f64,
    /// Level of all tests together, where the file says none.
    pub(crate) level: Option<f64>,
    pub(crate) requirements: Vec<Requirement>,
    pub(crate) allow_invalid: bool,
    /// Whether somebody waits for a verdict: that there is none has a status of its own then.
    pub(crate) is_gate: bool,
}

impl Default for Wish {
    fn default() -> Self {
        Self {
            metrics: Vec::new(),
            margin: None,
            effect: Options::default().effect,
            level: None,
            requirements: Vec::new(),
            allow_invalid: false,
            is_gate: false,
        }
    }
}

/// Computes the results of an experiment that is in the store.
pub(crate) fn of(store: &Store, name: &str, wish: &Wish) -> Result<ExperimentResults, CliError> {
    let snapshot = Snapshot::read(&dir_of(store.home(), name))?;
    let file = super::experiment_of(&snapshot.text, &snapshot.plan)?;
    let design = Design {
        finished: snapshot.finished.clone(),
        blocks_done: blocks_done(&file, &snapshot),
        ..design(&file, &snapshot.plan)
    };
    let asked = asked(&file, wish)?;
    let chosen = Chosen {
        metrics: &asked.metrics,
        requirements: &asked.requirements,
        allow_invalid: wish.allow_invalid,
        ..Chosen::default()
    };
    let measurements = gather(store, &snapshot.plan, &snapshot.attempts, &chosen)?;
    experiment(&design, measurements, &asked).map_err(|err| failed(err, name).of_gate(wish.is_gate))
}

/// Whether an experiment in the store has one cell, so that there is nothing to compare.
pub(crate) fn has_one_cell(store: &Store, name: &str) -> Result<bool, CliError> {
    let snapshot = Snapshot::read(&dir_of(store.home(), name))?;
    Ok(snapshot.plan.cells.len() == 1)
}

fn failed(err: CompareError, name: &str) -> CliError {
    let hint = match &err {
        CompareError::Groups => format!(
            "an experiment with one cell has nothing to compare: `punctual report {name} -o runs.html` shows \
             its runs, and `punctual compare` compares any groups"
        ),
        err if err.is_for_want_of_figures() => format!(
            "`punctual experiment status {name}` shows how its runs ended; --metric selects other figures"
        ),
        _ => return CliError::failed_to("compare the cells").because(err),
    };
    CliError::failed_to("compare the cells")
        .because(err)
        .hint(hint)
}

fn asked(file: &Experiment, wish: &Wish) -> Result<ComparisonRequest, CliError> {
    let rule = file.stop.sequential;
    if rule.is_some() && wish.level.is_some() {
        return Err(CliError::usage(
            "--level: this experiment has interim looks, and its file sets the level",
        )
        .hint("leave it out"));
    }
    let alpha = rule.map(|rule| rule.alpha).or(wish.level).unwrap_or(0.05);
    if rule.is_some() && !wish.metrics.is_empty() {
        return Err(CliError::usage(
            "--metric: this experiment has interim looks at the figures of its file",
        )
        .hint("leave it out; `punctual compare` compares other figures, as one more look"));
    }
    Ok(ComparisonRequest {
        metrics: match wish.metrics.is_empty() {
            true => metrics(file)?,
            false => wish.metrics.clone(),
        },
        options: Options {
            alpha,
            confidence: 1.0 - alpha,
            effect: wish.effect,
            margin: wish.margin,
            ..Options::default()
        },
        requirements: wish.requirements.clone(),
        ..ComparisonRequest::default()
    })
}

fn metrics(file: &Experiment) -> Result<Vec<Metric>, CliError> {
    let metrics = file.metrics.iter().map(|figure| figure.parse());
    metrics
        .collect::<Result<_, _>>()
        .map_err(|err| CliError::usage(format!("{}: compare: {err}", file.name)))
}

/// Whether all comparisons are decided by the runs of the first `blocks` blocks that count.
pub(super) fn is_resolved(
    store: &Store,
    file: &Experiment,
    state: &State,
    blocks: u32,
) -> Result<bool, CliError> {
    let design = design(file, state.plan());
    let Some(rule) = design.rule else {
        return Ok(false);
    };
    let asked = ComparisonRequest {
        metrics: metrics(file)?,
        options: Options {
            alpha: rule.alpha,
            confidence: 1.0 - rule.alpha,
            ..Options::default()
        },
        ..ComparisonRequest::default()
    };
    let chosen = Chosen {
        metrics: &asked.metrics,
        ..Chosen::default()
    };
    let measurements = gather(store, state.plan(), state.attempts(), &chosen)?;
    resolved(&design, rule, &measurements, &asked, blocks)
        .map_err(|err| failed(err, &state.plan().name))
}

/// The blocks that count and of which nothing is left to do. Those before the newest are over, whatever they lack.
fn blocks_done(file: &Experiment, snapshot: &Snapshot) -> u32 {
    let (plan, attempts) = (&snapshot.plan, &snapshot.attempts);
    let newest = attempts.iter().map(|attempt| attempt.slot.block).max();
    let Some(newest) = newest.filter(|block| !plan.is_warm_up(*block)) else {
        return 0;
    };
    let slots = attempts.iter().map(|attempt| attempt.slot);
    let slots: BTreeSet<Slot> = slots.filter(|slot| slot.block == newest).into_set();
    let done = slots
        .iter()
        .filter(|slot| slot_is_done(file, attempts, **slot));
    let over = snapshot.finished.is_some() || done.count() >= plan.block(newest).len();
    plan.counted(newest) + u32::from(over)
}

fn design(file: &Experiment, plan: &Plan) -> Design {
    let factors = file.factors.iter().enumerate().map(|(at, factor)| {
        // Effects are against the first level that was not left out.
        let is_left = |level: &&String| plan.cells.iter().any(|cell| cell.get(at) == Some(*level));
        let levels = factor.levels.iter().map(|level| &level.name);
        ExperimentFactor {
            name: factor.name.clone(),
            levels: levels.filter(is_left).cloned().collect(),
        }
    });
    let cells = (0..)
        .zip(&plan.cells)
        .map(|(number, levels)| ExperimentCell {
            name: plan.cell_name(number),
            levels: levels.clone(),
        });
    Design {
        name: plan.name.clone(),
        seed: plan.seed,
        blocks_planned: plan.blocks,
        factors: factors.collect(),
        cells: cells.collect(),
        aliases: plan.aliases.clone(),
        skipped: plan.skipped.clone(),
        rule: file.stop.sequential,
        ..Design::default()
    }
}

/// Reads the runs of each measurement and cell. Where a run was repeated, the valid one counts.
pub(crate) fn gather(
    store: &Store,
    plan: &Plan,
    attempts: &[Attempt],
    chosen: &Chosen<'_>,
) -> Result<Vec<MeasurementInput>, CliError> {
    let mut measurements = Vec::new();
    for (measurement, name) in (0..).zip(&plan.measurements) {
        let mut groups = Vec::new();
        for (cell, _) in (0..).zip(&plan.cells) {
            let of = |a: &&Attempt| {
                a.slot.cell == cell
                    && a.slot.measurement == measurement
                    && !plan.is_warm_up(a.slot.block)
            };
            let attempts: Vec<&Attempt> = attempts.iter().filter(of).collect();
            let name = plan.cell_name(cell);
            groups.push(group(store, plan, &name, &attempts, chosen)?);
        }
        let runs = groups.iter().flat_map(|group| &group.runs);
        select::of_one_time(runs.map(|run| &run.record))?;
        measurements.push(MeasurementInput {
            name: name.clone(),
            groups,
        });
    }
    Ok(measurements)
}

fn group(
    store: &Store,
    plan: &Plan,
    name: &str,
    attempts: &[&Attempt],
    chosen: &Chosen<'_>,
) -> Result<GroupInput, CliError> {
    let mut sources = Vec::new();
    let mut blocks: BTreeMap<String, u32> = BTreeMap::new();
    let mut refused = Vec::new();
    let slots: BTreeSet<_> = attempts.iter().map(|attempt| attempt.slot).into_set();
    for slot in slots {
        let of = |end| {
            let mut of = attempts.iter().rev();
            of.find(|a| a.slot == slot && a.end == Some(end))
        };
        let Some(attempt) = of(RunEnd::Valid)
            .or_else(|| of(RunEnd::Invalid))
            .or_else(|| of(RunEnd::Failed))
        else {
            continue;
        };
        let id = attempt.run.to_string();
        let refuse = |reason: String, unreadable| RefusedRun {
            id: id.clone(),
            reason,
            started: None,
            unreadable,
        };
        if attempt.end == Some(RunEnd::Failed) {
            let why = attempt.detail.as_deref().unwrap_or("no reason was noted");
            refused.push(refuse(format!("failed: {why}"), false));
            continue;
        }
        match store.entry(attempt.run).run {
            Ok(run) => {
                blocks.insert(id, plan.counted(slot.block));
                sources.push(select::RunSource::Stored(run));
            }
            Err(_) if !store.has(attempt.run) => {
                refused.push(refuse("was removed".to_owned(), false))
            }
            Err(err) => refused.push(refuse(format!("cannot be read: {err}"), true)),
        }
    }
    let mut group = select::group(name, sources.into(), chosen)?;
    for run in &mut group.runs {
        let tags = &mut run.record.tags;
        tags.insert("experiment".to_owned(), plan.name.clone());
        if let Some(block) = blocks.get(&run.record.id) {
            tags.insert("block".to_owned(), block.to_string());
        }
    }
    group.refused.extend(refused);
    Ok(group)
}
