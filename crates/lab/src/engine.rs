// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Carrying an experiment out: block by block, run by run, from wherever it was left.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use punctual_model::Nanos;
use punctual_sys::random;
use uuid::Uuid;

use crate::error::LabError;
use crate::file::Experiment;
use crate::plan::{Invocation, Plan, Slot, invocation, is_virtual};
use crate::state::{Attempt, RunEnd, State};

/// Failures in a row after which nobody expects the next run to succeed.
const FAILING: u32 = 3;

/// Tries of a run that fails: what cannot start twice does not start.
const FAILED_TRIES: usize = 2;

/// How a run ended, and why where that is no success.
pub type Ended = (RunEnd, Option<String>);

/// Something that can do runs.
pub trait Runner: Sync {
    /// Does runs, one after the other, each of which gets its id in the store. Returns how each ended.
    fn run(&self, runs: &[(Uuid, Invocation)]) -> Vec<Ended>;

    /// How many may go on at once where none can disturb another: those of guests in virtual time.
    fn lanes(&self) -> usize {
        1
    }

    /// Whether it boots a machine for all measurements of a cell, which would be the same again if it were booted
    /// again: they are done together and tried once, and that they fail says nothing of other machines.
    fn boots(&self) -> bool {
        false
    }

    /// Looks for a run that was in flight when the program ended. Returns how it ended if it is
    /// there whole.
    fn find(&self, run: Uuid) -> Option<Ended>;

    /// Does nothing for `span`, or until the end is asked for.
    fn rest(&self, span: Nanos);

    /// Whether the end was asked for.
    fn is_stopped(&self) -> bool;
}

/// Who follows an experiment.
pub trait Follower {
    /// A run begins.
    fn begin(&mut self, slot: Slot, standing: &Standing);

    /// A run ended.
    fn end(&mut self, attempt: &Attempt, standing: &Standing);

    /// Looks at the comparisons after `blocks`, without those of the warm-up, where the rule is sequential: whether
    /// every one is resolved.
    fn is_resolved(&mut self, state: &State, blocks: u32) -> bool;
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
    runner: &dyn Runner,
    follower: &mut dyn Follower,
) -> Result<Ending, LabError> {
    if state.finished().is_some() {
        return Ok(Ending::Completed);
    }
    let plan = state.plan().clone();
    let lanes = match is_virtual(experiment, &plan) {
        true => runner.lanes().max(1),
        false => 1,
    };
    let mut engine = Engine {
        experiment,
        earlier: state.attempts().len(),
        state,
        runner,
        follower,
        plan,
        lanes,
        current: 0,
        started: Instant::now(),
    };
    engine.find_in_flight()?;
    engine.find_current();
    engine.all_blocks()
}

/// Runs with their ids, in the order of their slots.
type Work = Vec<(Uuid, Invocation)>;

struct Engine<'a> {
    experiment: &'a Experiment,
    state: &'a mut State,
    runner: &'a dyn Runner,
    follower: &'a mut dyn Follower,
    plan: Plan,
    lanes: usize,
    /// How many tries there were when this carrying out began.
    earlier: usize,
    /// The block from which failures of earlier carryings out are tried again.
    current: u32,
    started: Instant,
}

impl Engine<'_> {
    /// A run that was in flight is in the store whole, or it never was.
    fn find_in_flight(&mut self) -> Result<(), LabError> {
        let open = self.state.attempts().iter().filter(|a| a.end.is_none());
        let open: Vec<Uuid> = open.map(|a| a.run).collect();
        for run in open {
            let (end, detail) = self.runner.find(run).unwrap_or_else(|| {
                let why = "in flight when the program ended; not recorded".to_owned();
                (RunEnd::Interrupted, Some(why))
            });
            self.state.end(run, end, 0.0, detail)?;
        }
        Ok(())
    }

    /// Finds the block in which the last run was recorded. What failed there and since then is tried again, as the cause may
    /// be gone. The blocks before are over: a run of now does not belong to runs of then, unless nothing drifts.
    fn find_current(&mut self) {
        if is_virtual(self.experiment, &self.plan) {
            return;
        }
        let recorded = |a: &&Attempt| matches!(a.end, Some(RunEnd::Valid | RunEnd::Invalid));
        let last = self.state.attempts().iter().rfind(recorded);
        self.current = last.map_or(0, |a| a.slot.block);
    }

    /// The tries that count: all but the failures that this carrying out does again. A machine that is booted for its cell
    /// would fail again.
    fn counted(&self) -> impl DoubleEndedIterator<Item = &Attempt> {
        let boots = self.runner.boots();
        let is_open = move |(at, a): &(usize, &Attempt)| {
            !boots
                && *at < self.earlier
                && a.end == Some(RunEnd::Failed)
                && a.slot.block >= self.current
        };
        let all = self.state.attempts().iter().enumerate();
        all.filter(move |tried| !is_open(tried)).map(|(_, a)| a)
    }

    fn all_blocks(&mut self) -> Result<Ending, LabError> {
        let all = self.plan.all_blocks();
        let mut next = 0;
        while next < all {
            let block = next;
            next += self.together().clamp(1, all - block);
            let slots: Vec<Slot> = (block..next).flat_map(|b| self.plan.block(b)).collect();
            if self.next(&slots).is_some() {
                if self.runner.is_stopped() {
                    return Ok(Ending::Stopped);
                }
                if !self.fits(block) {
                    self.state.finish("the time is up")?;
                    return Ok(Ending::Time);
                }
                if !self.all_of(&slots)? {
                    return Ok(Ending::Stopped);
                }
            }
            if self.ends_early(block)? {
                return Ok(Ending::Resolved);
            }
        }
        self.state.finish("all blocks are done")?;
        Ok(Ending::Completed)
    }

    /// How many blocks are begun without a look between them. What disturbs nobody runs at the same time as far as
    /// there are lanes; a rule that looks at results, or at the time, decides after each block whether there is another.
    fn together(&self) -> u32 {
        let stop = &self.experiment.stop;
        let cells = self.plan.cells.len().max(1);
        let blocks = match (self.lanes, stop.sequential, stop.time) {
            (1, ..) | (_, Some(_), _) => 1,
            (lanes, None, Some(_)) => lanes / cells,
            (_, None, None) => return u32::MAX,
        };
        u32::try_from(blocks).unwrap_or(u32::MAX)
    }

    /// Does what is left of some slots, in their order, as many at once as there are lanes. Returns whether to go on.
    fn all_of(&mut self, slots: &[Slot]) -> Result<bool, LabError> {
        let runner = self.runner;
        thread::scope(|scope| {
            let (send, ended) = mpsc::channel();
            let (mut going, mut stopped) = (0, false);
            loop {
                stopped |= runner.is_stopped();
                while going < self.lanes
                    && !stopped
                    && let Some(next) = self.next(slots)
                {
                    let work = self.begin(next)?;
                    going += 1;
                    let send = send.clone();
                    // Alone on this thread: what panics ends the experiment, as it did before there was a run.
                    if self.lanes == 1 {
                        drop(send.send(timed(runner, work)));
                        break;
                    }
                    scope.spawn(move || {
                        let lost = work.clone();
                        let done = catch_unwind(AssertUnwindSafe(|| timed(runner, work)));
                        drop(send.send(done.unwrap_or_else(|_| panicked(lost))));
                    });
                }
                if going == 0 {
                    return Ok(self.next(slots).is_none());
                }
                let Ok((work, ends, seconds)) = ended.recv() else {
                    return Ok(false);
                };
                going -= 1;
                for ((run, _), (end, detail)) in work.iter().zip(ends) {
                    stopped |= end == RunEnd::Interrupted;
                    self.end(*run, end, seconds, detail)?;
                }
                if !self.runner.boots() {
                    self.failing()?;
                }
                if !stopped && !self.experiment.cool_down.is_zero() {
                    runner.rest(self.experiment.cool_down);
                }
            }
        })
    }

    /// The first that is not done and that nobody is at: a slot, or all of a cell where a machine is booted for it.
    fn next<'s>(&self, slots: &'s [Slot]) -> Option<&'s [Slot]> {
        let boots = self.runner.boots();
        let place = |slot: &Slot| (slot.block, slot.position);
        let mut pieces = slots.chunk_by(|a, b| boots && place(a) == place(b));
        let blocks = slots.first()?.block..=slots.last()?.block;
        let attempts: Vec<&Attempt> = self
            .counted()
            .filter(|a| blocks.contains(&a.slot.block))
            .collect();
        pieces.find(|piece| {
            let of = attempts.iter().filter(|a| piece.contains(&a.slot));
            let of: Vec<&Attempt> = of.copied().collect();
            let done = |slot: &Slot| match boots {
                true => of
                    .iter()
                    .any(|a| a.slot == *slot && a.end != Some(RunEnd::Interrupted)),
                false => is_done(self.experiment, &of, *slot),
            };
            !of.iter().any(|a| a.end.is_none()) && !piece.iter().all(done)
        })
    }

    fn begin(&mut self, slots: &[Slot]) -> Result<Work, LabError> {
        let mut work = Vec::with_capacity(slots.len());
        for slot in slots {
            let what = self.invocation_of(*slot)?;
            let run = random::id().map_err(LabError::Id)?;
            self.state.begin(*slot, run)?;
            let standing = self.standing();
            self.follower.begin(*slot, &standing);
            work.push((run, what));
        }
        Ok(work)
    }

    fn end(
        &mut self,
        run: Uuid,
        end: RunEnd,
        seconds: f64,
        detail: Option<String>,
    ) -> Result<(), LabError> {
        self.state.end(run, end, seconds, detail)?;
        let standing = self.standing();
        if let Some(attempt) = self.state.attempts().iter().rfind(|a| a.run == run) {
            self.follower.end(attempt, &standing);
        }
        Ok(())
    }

    fn invocation_of(&self, slot: Slot) -> Result<Invocation, LabError> {
        let levels = self.plan.cells.get(slot.cell as usize);
        let what = levels.and_then(|levels| invocation(self.experiment, levels, slot.measurement));
        let what = what.ok_or_else(|| LabError::State {
            path: self.state.dir().to_owned(),
            reason: "the plan does not belong to this experiment file".to_owned(),
        })?;
        Ok(Invocation {
            tags: self.plan.tags(slot),
            ..what.in_block(slot.block)
        })
    }

    /// Fails when the latest runs that have ended all failed, of those that were begun since it goes on.
    fn failing(&self) -> Result<(), LabError> {
        let begun = self.state.attempts().iter().skip(self.earlier);
        let ended = begun.filter(|a| a.end.is_some());
        let latest: Vec<&Attempt> = ended.rev().take(FAILING as usize).collect();
        let failed = latest.iter().filter(|a| a.end == Some(RunEnd::Failed));
        match latest.first() {
            Some(last) if failed.count() == FAILING as usize => Err(LabError::Failing {
                count: FAILING,
                last: last.detail.clone().unwrap_or_default(),
            }),
            _ => Ok(()),
        }
    }

    /// Whether the next block is over before the time is, by what the blocks took up to now.
    fn fits(&self, block: u32) -> bool {
        let Some(time) = self.experiment.stop.time else {
            return true;
        };
        let attempts = self.state.attempts();
        let spent: f64 = attempts.iter().map(|a| a.seconds).sum();
        let rests = self.experiment.cool_down.as_secs_f64() * attempts.len() as f64;
        let spent = (spent / self.wide() + rests).max(self.started.elapsed().as_secs_f64());
        // The first block is begun anyway: nothing is known of its time, and without it there is none.
        let begun = attempts.iter().any(|a| a.slot.block == block);
        let needed = spent + spent / f64::from(block);
        block == 0 || begun || needed <= time.as_secs_f64() || self.plan.is_warm_up(block)
    }

    /// Looks, where the rule says so.
    fn ends_early(&mut self, block: u32) -> Result<bool, LabError> {
        let Some(rule) = self.experiment.stop.sequential else {
            return Ok(false);
        };
        let Some(blocks) = (block + 1).checked_sub(self.plan.warm_up_blocks) else {
            return Ok(false);
        };
        if blocks < rule.first || !(blocks - rule.first).is_multiple_of(rule.every) {
            return Ok(false);
        }
        // Nothing is gained by stopping after the last block.
        if blocks >= self.plan.blocks || !self.follower.is_resolved(self.state, blocks) {
            return Ok(false);
        }
        self.state.finish(&format!(
            "every comparison was resolved after {blocks} blocks"
        ))?;
        Ok(true)
    }

    #[expect(clippy::cast_precision_loss, reason = "a handful")]
    const fn wide(&self) -> f64 {
        self.lanes as f64
    }

    /// Returns the progress of the experiment.
    fn standing(&self) -> Standing {
        let attempts = self.state.attempts();
        let ended = self
            .counted()
            .filter(|a| matches!(a.end, Some(end) if end != RunEnd::Interrupted));
        let mut slots: Vec<Slot> = ended.map(|a| a.slot).collect();
        slots.sort_unstable();
        slots.dedup();
        let (done, runs) = (slots.len() as u64, self.plan.runs());
        let ended = attempts.iter().filter(|a| a.seconds > 0.0);
        let (count, sum) = ended.fold((0_u32, 0.0), |(n, sum), a| (n + 1, sum + a.seconds));
        let rest = self.experiment.cool_down.as_secs_f64();
        #[expect(clippy::cast_precision_loss, reason = "for display")]
        let left = (count > 0).then(|| {
            let each = sum / f64::from(count) + rest;
            let left = each * runs.saturating_sub(done) as f64 / self.wide();
            Duration::try_from_secs_f64(left).unwrap_or(Duration::MAX)
        });
        Standing { done, runs, left }
    }
}

/// Does runs, and says how long each of them took.
fn timed(runner: &dyn Runner, work: Work) -> (Work, Vec<Ended>, f64) {
    let began = Instant::now();
    let ends = runner.run(&work);
    let seconds = began.elapsed().as_secs_f64() / work.len().max(1) as f64;
    (work, ends, seconds)
}

/// Says that nobody knows how runs ended.
fn panicked(work: Work) -> (Work, Vec<Ended>, f64) {
    let why = "the thread that watched it panicked".to_owned();
    let ends = vec![(RunEnd::Failed, Some(why)); work.len()];
    (work, ends, 0.0)
}

/// Whether nothing is left to do for a slot: it has a valid run, or as many others as are tried.
pub fn slot_is_done(experiment: &Experiment, attempts: &[Attempt], slot: Slot) -> bool {
    is_done(experiment, &attempts.iter().collect::<Vec<_>>(), slot)
}

fn is_done(experiment: &Experiment, attempts: &[&Attempt], slot: Slot) -> bool {
    let of = |end| {
        let of = |a: &&&Attempt| a.slot == slot && a.end == Some(end);
        attempts.iter().filter(of).count()
    };
    of(RunEnd::Valid) > 0
        || of(RunEnd::Invalid) > experiment.repeat_invalid as usize
        || of(RunEnd::Failed) >= FAILED_TRIES
}
