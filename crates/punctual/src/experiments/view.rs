// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What an experiment says while it goes on: a line a run, on standard error, and on a terminal the
//! run that goes on.

use std::collections::BTreeMap;
use std::sync::Arc;

use punctual_lab::engine::{Follower, Standing};
use punctual_lab::file::Experiment;
use punctual_lab::plan::{Plan, Slot};
use punctual_lab::state::{Attempt, RunEnd, State};
use punctual_model::{Better, Event, Figure, Progress};
use punctual_stats::float;
use punctual_store::Store;

use super::plan::clock;
use super::results;
use crate::metrics::Metrics;
use crate::output::remark;
use crate::view::{Feed, Overall};

/// Who learns of each run while it goes on.
#[derive(Clone, Debug)]
pub(super) struct Watchers {
    pub(super) screen: Option<Feed>,
    pub(super) metrics: Option<Arc<Metrics>>,
}

impl Watchers {
    /// Whether there is one.
    pub(super) const fn are_any(&self) -> bool {
        self.screen.is_some() || self.metrics.is_some()
    }

    /// Passes on what a run says.
    pub(super) fn event(&self, event: Event) {
        if let Some(metrics) = &self.metrics {
            metrics.event(&event);
        }
        if let Some(screen) = &self.screen {
            screen.event(event);
        }
    }
}

/// Tells how it goes.
#[derive(Debug)]
pub(super) struct Teller<'a> {
    store: &'a Store,
    experiment: &'a Experiment,
    plan: Plan,
    quiet: bool,
    several: bool,
    watchers: Watchers,
    /// The largest latency of each cell and measurement up to now, and of how many runs: what guests in virtual time
    /// show, which tell nothing while they run.
    largest: BTreeMap<BTreeMap<String, String>, (u64, u64)>,
}

impl<'a> Teller<'a> {
    /// Tells of `plan`, or nothing.
    pub(super) fn new(
        store: &'a Store,
        experiment: &'a Experiment,
        plan: Plan,
        quiet: bool,
        watchers: Watchers,
    ) -> Self {
        Self {
            store,
            experiment,
            plan,
            quiet,
            several: experiment.measurements.len() > 1,
            watchers,
            largest: BTreeMap::new(),
        }
    }

    /// Shows what a guest in virtual time has come to, which no other sees before it ends.
    fn reached(&mut self, attempt: &Attempt) {
        let Some(screen) = &self.watchers.screen else {
            return;
        };
        let Ok(run) = self.store.entry(attempt.run).run else {
            return;
        };
        let record = run.record();
        let Some(max) = record.total.max_ns.filter(|_| record.is_virtual()) else {
            return;
        };
        let mut labels = self.plan.tags(attempt.slot);
        for apart in ["experiment", "block"] {
            labels.remove(apart);
        }
        let (largest, runs) = self.largest.entry(labels).or_default();
        *largest = max.max(*largest);
        *runs += 1;
        let figure = |(labels, (largest, runs)): (&BTreeMap<_, _>, &(u64, u64))| Figure {
            name: "largest latency".to_owned(),
            labels: labels.clone(),
            unit: "µs of virtual time".to_owned(),
            better: Better::Lower,
            value: Some(float(*largest) / 1e3),
            count: *runs,
            ..Figure::default()
        };
        screen.event(Event::Progress(Progress {
            figures: self.largest.iter().map(figure).collect(),
            ..Progress::default()
        }));
    }

    /// Says a line where it is seen.
    fn say(&self, text: &str) {
        match &self.watchers.screen {
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
        if let Some(metrics) = &self.watchers.metrics {
            let of = self.experiment.measurements.get(slot.measurement as usize);
            let instrument = of.map_or("", |of| of.instrument.as_str());
            metrics.next(instrument, &self.plan.name, (standing.done, standing.runs));
        }
        if let Some(screen) = &self.watchers.screen {
            screen.overall(Overall {
                done: standing.done,
                all: standing.runs,
                of: "runs",
                left: standing.left.map(|left| clock(left.as_secs_f64())),
                now: self.name(slot),
            });
        }
    }

    fn end(&mut self, attempt: &Attempt, standing: &Standing) {
        self.reached(attempt);
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

    fn is_resolved(&mut self, state: &State, blocks: u32) -> bool {
        let resolved = results::is_resolved(self.store, self.experiment, state, blocks);
        match resolved {
            Ok(resolved) => {
                if !self.quiet {
                    self.say(&format!(
                        "Looked after {} blocks: {}",
                        blocks,
                        if resolved {
                            "all comparisons are decided"
                        } else {
                            "it goes on"
                        }
                    ));
                }
                resolved
            }
            // To go on is the safe side: nothing is claimed, and no block is lost.
            Err(err) => {
                self.say(&format!(
                    "Looked after {} blocks without a result: {}",
                    blocks,
                    err.in_one_line()
                ));
                false
            }
        }
    }
}
