// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Carrying an experiment out: block by block, run by run, from wherever it was left.

use std::time::{Duration, Instant};

use punctual_model::Nanos;
use uuid::Uuid;

use crate::error::LabError;
use crate::file::Experiment;
use crate::plan::{Invocation, Plan, Slot, invocation, is_virtual};
use crate::state::{Attempt, RunEnd, State};

/// Failures in a row after which nobody expects the next run to succeed.
const FAILING: u32 = 3;

/// Tries of a run that fails: what cannot start twice does not start.
const FAILED_TRIES: usize = 2;

/// Something that can do one run.
pub trait Runner {
    /// Does a run, which gets the id `run` in the store. Returns how it ended, and why where that is
    /// no success.
    fn run(&mut self, run: Uuid, what: &Invocation) -> (RunEnd, Option<String>);

    /// How many runs may go on at once where none can disturb another: those of guests in virtual time.
    fn lanes(&self) -> usize {
        1
    }

    /// Does several such runs at once. Returns how each ended, in their order.
    fn run_together(&mut self, runs: &[(Uuid, Invocation)]) -> Vec<Outcome> {
        let each = runs.iter().map(|(run, what)| {
            let began = Instant::now();
            let (end, detail) = self.run(*run, what);
            Outcome {
                end,
                detail,
                seconds: began.elapsed().as_secs_f64(),
            }
        });
        each.collect()
    }

    /// Looks for a run that was in flight when the program ended. Returns how it ended if it is
    /// there whole.
    fn find(&mut self, run: Uuid) -> Option<(RunEnd, Option<String>)>;

    /// Does nothing for `span`, or until the end is asked for.
    fn rest(&mut self, span: Nanos);

    /// Whether the end was asked for.
    fn is_stopped(&self) -> bool;
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// How.
    pub end: RunEnd,
    /// Why, where that is no success.
    pub detail: Option<String>,
    /// How long it took.
    pub seconds: f64,
}

/// Who follows an experiment.
pub trait Follower {
    /// A run begins.
    fn begin(&mut self, slot: Slot, standing: &Standing);

    /// A run ended.
    fn end(&mut self, attempt: &Attempt, standing: &Standing);

    /// Looks at the comparisons, where the rule is sequential: whether every one is resolved.
    fn is_resolved(&mut self, state: &State, look: Look) -> bool;
}

/// One look of a sequential rule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    /// Blocks that are done, those of the warm-up apart.
    pub blocks: u32,
    /// The most blocks that there will be.
    pub most: u32,
    /// Number of this look, from 1.
    pub number: u32,
    /// Looks that there will be at most.
    pub looks: u32,
    /// Probability of a false verdict over all looks.
    pub alpha: f64,
}

/// How far an experiment is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Standing {
    /// Runs that are done, repeats apart.
    pub done: u64,
    /// Runs in all.
    pub runs: u64,
    /// Time left, by what the runs took up to now.
    pub left: Option<Duration>,
}

/// Why an experiment ended.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Ending {
    /// All blocks are done.
    Completed,
    /// Every comparison is resolved.
    Resolved,
    /// The next block does not fit into the time left.
    Time,
    /// The end was asked for: it can be resumed.
    Stopped,
}

/// Carries `experiment` out from where `state` is.
///
/// # Errors
///
/// [`LabError::Path`] if the state cannot be written: nothing is run without a note of it.
/// [`LabError::Failing`] if runs fail one after the other.
pub fn carry_out(
    experiment: &Experiment,
    state: &mut State,
    runner: &mut dyn Runner,
    follower: &mut dyn Follower,
) -> Result<Ending, LabError> {
    if state.finished().is_some() {
        return Ok(Ending::Completed);
    }
    find_in_flight(state, runner)?;
    let started = Instant::now();
    let plan = state.plan().clone();
    let lanes = match is_virtual(experiment, &plan) {
        true => runner.lanes().max(1),
        false => 1,
    };
    let per_block = plan.block(0).len();
    let mut next = 0;
    while next < plan.all_blocks() {
        let block = next;
        // Guests in virtual time disturb nobody: as many blocks together as there are lanes for. A rule that looks at
        // results decides after each block whether there is another one.
        let wave = match experiment.stop.sequential {
            None => (lanes / per_block.max(1)).clamp(1, (plan.all_blocks() - block) as usize),
            Some(_) => 1,
        };
        let wave = u32::try_from(wave).unwrap_or(1);
        next += wave;
        if (block..next).all(|block| is_done(experiment, state, &plan, block)) {
            if ends_early(experiment, state, follower, &plan, block)? {
                return Ok(Ending::Resolved);
            }
            continue;
        }
        if runner.is_stopped() {
            return Ok(Ending::Stopped);
        }
        if !fits(experiment, state, &plan, block, started, lanes) {
            state.finish("the time is up")?;
            return Ok(Ending::Time);
        }
        let slots: Vec<Slot> = (block..next).flat_map(|block| plan.block(block)).collect();
        if !all_slots(experiment, state, runner, follower, &slots, lanes)? {
            return Ok(Ending::Stopped);
        }
        if ends_early(experiment, state, follower, &plan, block)? {
            return Ok(Ending::Resolved);
        }
    }
    state.finish("all blocks are done")?;
    Ok(Ending::Completed)
}

/// A run that was in flight is in the store whole, or it never was.
fn find_in_flight(state: &mut State, runner: &mut dyn Runner) -> Result<(), LabError> {
    let open: Vec<Uuid> = state
        .attempts()
        .iter()
        .filter(|a| a.end.is_none())
        .map(|a| a.run)
        .collect();
    for run in open {
        let (end, detail) = runner.find(run).unwrap_or_else(|| {
            let why = "in flight when the program ended; not recorded".to_owned();
            (RunEnd::Interrupted, Some(why))
        });
        state.end(run, end, 0.0, detail)?;
    }
    Ok(())
}

/// Does what is left of some slots, in their order, as many at once as there are lanes. Returns whether to go on.
fn all_slots(
    experiment: &Experiment,
    state: &mut State,
    runner: &mut dyn Runner,
    follower: &mut dyn Follower,
    slots: &[Slot],
    lanes: usize,
) -> Result<bool, LabError> {
    loop {
        let open = slots
            .iter()
            .filter(|slot| !slot_is_done(experiment, state.attempts(), **slot));
        let batch: Vec<Slot> = open.take(lanes).copied().collect();
        if batch.is_empty() {
            return Ok(true);
        }
        if runner.is_stopped() {
            return Ok(false);
        }
        let mut runs = Vec::with_capacity(batch.len());
        for slot in batch {
            let what = invocation_of(experiment, state, slot)?;
            let run = Uuid::now_v7();
            state.begin(slot, run)?;
            follower.begin(slot, &standing(experiment, state, lanes));
            runs.push((run, what));
        }
        let ends = runner.run_together(&runs);
        let mut interrupted = false;
        for ((run, _), ended) in runs.iter().zip(ends) {
            state.end(*run, ended.end, ended.seconds, ended.detail)?;
            let standing = standing(experiment, state, lanes);
            if let Some(attempt) = state.attempts().iter().rfind(|a| a.run == *run) {
                follower.end(attempt, &standing);
            }
            interrupted |= ended.end == RunEnd::Interrupted;
        }
        failing(state)?;
        if interrupted {
            return Ok(false);
        }
        if !experiment.cool_down.is_zero() {
            runner.rest(experiment.cool_down);
        }
    }
}

fn invocation_of(
    experiment: &Experiment,
    state: &State,
    slot: Slot,
) -> Result<Invocation, LabError> {
    let levels = state.plan().cells.get(slot.cell as usize);
    let what = levels.and_then(|levels| invocation(experiment, levels, slot.measurement));
    let mut what = what.ok_or_else(|| LabError::State {
        path: state.dir().to_owned(),
        reason: "the plan does not belong to this experiment file".to_owned(),
    })?;
    what = what.in_block(slot.block);
    what.tags = state.plan().tags(slot);
    Ok(what)
}

/// Fails when the latest runs all failed.
fn failing(state: &State) -> Result<(), LabError> {
    let latest = state.attempts().iter().rev().take(FAILING as usize);
    let failed = latest.filter(|a| a.end == Some(RunEnd::Failed)).count();
    match state.attempts().last() {
        Some(last) if failed == FAILING as usize => Err(LabError::Failing {
            count: FAILING,
            last: last.detail.clone().unwrap_or_default(),
        }),
        _ => Ok(()),
    }
}

/// Whether nothing is left to do for a slot: it has a valid run, or as many others as are tried.
pub fn slot_is_done(experiment: &Experiment, attempts: &[Attempt], slot: Slot) -> bool {
    let of = |end| {
        attempts
            .iter()
            .filter(|a| a.slot == slot && a.end == Some(end))
            .count()
    };
    of(RunEnd::Valid) > 0
        || of(RunEnd::Invalid) > experiment.repeat_invalid as usize
        || of(RunEnd::Failed) >= FAILED_TRIES
}

fn is_done(experiment: &Experiment, state: &State, plan: &Plan, block: u32) -> bool {
    let attempts: Vec<Attempt> = state
        .attempts()
        .iter()
        .filter(|a| a.slot.block == block)
        .cloned()
        .collect();
    let slots = plan.block(block);
    slots
        .iter()
        .all(|slot| slot_is_done(experiment, &attempts, *slot))
}

/// Whether the next block is over before the time is, by what the blocks took up to now.
fn fits(
    experiment: &Experiment,
    state: &State,
    plan: &Plan,
    block: u32,
    started: Instant,
    lanes: usize,
) -> bool {
    let Some(time) = experiment.stop.time else {
        return true;
    };
    let spent: f64 = state.attempts().iter().map(|a| a.seconds).sum();
    let spent = spent / wide(lanes);
    let rests = experiment.cool_down.as_secs_f64() * state.attempts().len() as f64;
    let spent = (spent + rests).max(started.elapsed().as_secs_f64());
    // The first block is begun anyway: nothing is known of its time, and without it there is none.
    let begun = state.attempts().iter().any(|a| a.slot.block == block);
    let blocks = f64::from(block);
    block == 0 || begun || spent + spent / blocks <= time.as_secs_f64() || plan.is_warm_up(block)
}

/// Looks, where the rule says so.
fn ends_early(
    experiment: &Experiment,
    state: &mut State,
    follower: &mut dyn Follower,
    plan: &Plan,
    block: u32,
) -> Result<bool, LabError> {
    let Some(rule) = experiment.stop.sequential else {
        return Ok(false);
    };
    let Some(blocks) = (block + 1).checked_sub(plan.warm_up_blocks) else {
        return Ok(false);
    };
    if blocks < rule.first || !(blocks - rule.first).is_multiple_of(rule.every) {
        return Ok(false);
    }
    let look = Look {
        blocks,
        most: plan.blocks,
        number: (blocks - rule.first) / rule.every + 1,
        looks: (plan.blocks.saturating_sub(rule.first)) / rule.every + 1,
        alpha: rule.alpha,
    };
    // Nothing is gained by stopping after the last block.
    if blocks >= plan.blocks || !follower.is_resolved(state, look) {
        return Ok(false);
    }
    state.finish(&format!(
        "every comparison was resolved after {blocks} blocks"
    ))?;
    Ok(true)
}

#[expect(clippy::cast_precision_loss, reason = "a handful")]
const fn wide(lanes: usize) -> f64 {
    lanes as f64
}

/// Returns the progress of the experiment, with up to `lanes` runs at a time.
fn standing(experiment: &Experiment, state: &State, lanes: usize) -> Standing {
    let plan = state.plan();
    let mut slots: Vec<Slot> = state
        .attempts()
        .iter()
        .filter(|a| matches!(a.end, Some(end) if end != RunEnd::Interrupted))
        .map(|a| a.slot)
        .collect();
    slots.sort_unstable();
    slots.dedup();
    let (done, runs) = (slots.len() as u64, plan.runs());
    let ended = state.attempts().iter().filter(|a| a.seconds > 0.0);
    let (count, sum) = ended.fold((0_u32, 0.0), |(n, sum), a| (n + 1, sum + a.seconds));
    let rest = experiment.cool_down.as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "for display")]
    let left = (count > 0).then(|| {
        let each = sum / f64::from(count) + rest;
        let left = each * runs.saturating_sub(done) as f64 / wide(lanes);
        Duration::try_from_secs_f64(left).unwrap_or(Duration::MAX)
    });
    Standing { done, runs, left }
}
