// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What an experiment says while it goes on: a line a run, on standard error, and on a terminal the
//! run that goes on.

use punctual_lab::engine::{Follower, Look, Standing};
use punctual_lab::file::Experiment;
use punctual_lab::plan::{Plan, Slot};
use punctual_lab::state::{Attempt, RunEnd, State};
use punctual_store::Store;

use super::plan::clock;
use super::results;
use crate::output::remark;
use crate::view::{Feed, Overall};

/// Tells how it goes.
#[derive(Debug)]
pub(super) struct Teller<'a> {
    store: &'a Store,
    experiment: &'a Experiment,
    plan: Plan,
    quiet: bool,
    several: bool,
    screen: Option<Feed>,
}

impl<'a> Teller<'a> {
    /// Tells of `plan`, or nothing.
    pub(super) fn new(
        store: &'a Store,
        experiment: &'a Experiment,
        plan: Plan,
        quiet: bool,
        screen: Option<Feed>,
    ) -> Self {
        Self {
            store,
            experiment,
            plan,
            quiet,
            several: experiment.measurements.len() > 1,
            screen,
        }
    }

    /// Says a line where it is seen.
    fn say(&self, text: &str) {
        match &self.screen {
            Some(screen) => screen.note(text.to_owned()),
            None => remark(text),
        }
    }

    /// Names what runs in a slot.
    fn name(&self, slot: Slot) -> String {
        let measurement = self.plan.measurements.get(slot.measurement as usize);
        let measurement = measurement.filter(|_| self.several);
        format!(
            "block {}{}  {}{}",
            slot.block,
            if self.plan.is_warm_up(slot.block) {
                " (warm-up)"
            } else {
                ""
            },
            self.plan.cell_name(slot.cell),
            measurement.map(|m| format!(", {m}")).unwrap_or_default(),
        )
    }
}

impl Follower for Teller<'_> {
    fn begin(&mut self, slot: Slot, standing: &Standing) {
        if let Some(screen) = &self.screen {
            screen.overall(Overall {
                done: standing.done,
                runs: standing.runs,
                left: standing.left.map(|left| clock(left.as_secs_f64())),
                now: self.name(slot),
            });
        }
    }

    fn end(&mut self, attempt: &Attempt, standing: &Standing) {
        if self.quiet {
            return;
        }
        let slot = attempt.slot;
        let end = match attempt.end {
            Some(RunEnd::Valid) => "valid",
            Some(RunEnd::Invalid) => "INVALID",
            Some(RunEnd::Failed) => "FAILED",
            Some(RunEnd::Interrupted) | None => "interrupted",
        };
        let left = standing.left.map(|left| clock(left.as_secs_f64()));
        let detail = attempt.detail.as_ref().map(|d| format!(" ({d})"));
        self.say(&format!(
            "{:>4} of {}  {}: {end} after {:.1} s{}, {} left",
            standing.done,
            standing.runs,
            self.name(slot),
            attempt.seconds,
            detail.unwrap_or_default(),
            left.unwrap_or_else(|| "unknown".to_owned()),
        ));
    }

    fn is_resolved(&mut self, state: &State, look: Look) -> bool {
        let resolved = results::is_resolved(self.store, self.experiment, state, look.blocks);
        match resolved {
            Ok(resolved) => {
                if !self.quiet {
                    self.say(&format!(
                        "Looked after {} blocks: {}",
                        look.blocks,
                        if resolved {
                            "every comparison is decided"
                        } else {
                            "it goes on"
                        }
                    ));
                }
                resolved
            }
            // To go on is the safe side: nothing is claimed, and no block is lost.
            Err(err) => {
                let why = err.cause().map(|cause| format!(": {cause}"));
                self.say(&format!(
                    "Looked after {} blocks, in vain: {}{}",
                    look.blocks,
                    err.what(),
                    why.unwrap_or_default()
                ));
                false
            }
        }
    }
}
