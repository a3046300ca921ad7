// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The tasks of one CPU that run earliest deadline first, above all others.

use punctual_model::Nanos;
use punctual_model::tasks::{AppliedTest, TaskPolicy, TaskVerdict, TasksCheck};

use super::super::deadline::used;
use super::super::{due_late, interrupts, slack, words};
use super::{OneCpu, note_open};
use crate::demand::{BlockingStep, Demand, edf};
use crate::edf_response::{self, Due};
use crate::growth;
use crate::response::Bound;
use crate::work::{Effort, Work};

impl OneCpu<'_> {
    /// From when the deadlines of these count.
    pub(super) fn counted(&self) -> Due {
        match due_late(self.set, &self.members) {
            true => Due::FromWakeUps,
            false => Due::FromReleases,
        }
    }

    /// Blocking of the `SCHED_DEADLINE` tasks, by the length of intervals.
    fn steps(&self, works: &[Work], factor: u64) -> Vec<BlockingStep> {
        if self.sections.is_empty() {
            return Vec::new();
        }
        let tasks = &works[..self.deadline];
        let ends = tasks
            .iter()
            .flat_map(|w| [w.deadline, w.deadline.saturating_sub(w.jitter)]);
        let mut starts: Vec<u64> = ends.chain([0]).collect();
        starts.sort_unstable();
        starts.dedup();
        let blocking = |from: u64| {
            self.sections.blocking(
                |task| {
                    task < self.deadline
                        && works[task].deadline - works[task].jitter.min(works[task].deadline)
                            <= from
                },
                |task| task >= self.deadline || works[task].deadline > from,
                |length| growth::grown(length, factor),
            )
        };
        let steps = starts.into_iter();
        steps
            .map(|from| BlockingStep {
                from,
                blocking: blocking(from),
            })
            .collect()
    }

    /// Whether a job that is served early, and then waits for a period of its own, may keep what others take meanwhile.
    pub(super) fn may_be_throttled_in_a_section(&self, works: &[Work]) -> bool {
        if self.sections.is_empty() {
            return false;
        }
        let each = self.members.iter();
        let takes: Vec<_> = each
            .map(|own| words::resources_of(self.set, |task| task == *own))
            .collect();
        let mut early = (0..self.deadline).filter(|place| works[*place].early > 0);
        early.any(|place| {
            let mut others = takes.iter().enumerate();
            others.any(|(other, of)| other != place && !takes[place].is_disjoint(of))
        })
    }

    /// Whether the `SCHED_DEADLINE` tasks share something unprotected.
    fn deadline_is_open(&self) -> bool {
        let users = |resource: &str| {
            let holds =
                |at: &&usize| words::resources_of(self.set, |task| task == **at).contains(resource);
            let all = self.members.iter().filter(holds).count();
            let urgent = self.members[..self.deadline].iter().filter(holds).count();
            urgent > 0 && all > 1
        };
        let open = |r: &&punctual_model::tasks::Resource| {
            r.protocol == punctual_model::tasks::Protocol::None
        };
        self.deadline > 0
            && self
                .set
                .resources
                .iter()
                .filter(open)
                .any(|r| users(&r.name))
    }

    pub(super) fn edf(&self, works: &[Work], factor: u64, effort: &mut Effort) -> Demand {
        let steps = self.steps(works, factor);
        edf(
            &works[..self.deadline],
            &interrupts(&self.set.overheads),
            &steps,
            effort,
        )
    }

    pub(super) fn judge_deadline(
        &self,
        works: &[Work],
        check: &mut TasksCheck,
        effort: &mut Effort,
    ) {
        let counted = self.counted();
        let found = self.edf(works, growth::ONE, effort);
        let steps = self.steps(works, growth::ONE);
        let blocking = steps.iter().map(|step| step.blocking).max().unwrap_or(0);
        let open = self.deadline_is_open();
        let above = interrupts(&self.set.overheads);
        for place in 0..self.deadline {
            let bound = &mut check.tasks[self.members[place]];
            let own = &works[place];
            bound.blocking_ns = Nanos::new(blocking);
            if open {
                let busy = self.busy(self.floor(place), works, growth::ONE, effort);
                note_open(bound, own, busy);
                continue;
            }
            // Where deadlines count from wake-ups only a response that is found shows that one is met.
            let shown = found == Demand::Met && counted == Due::FromReleases;
            let set = &works[..self.deadline];
            let response = edf_response::response(set, place, &above, counted, blocking, effort);
            bound.exact = blocking == 0 && counted == Due::FromReleases;
            bound.response_ns = match (response.response(), shown) {
                (Some(response), true) => Some(response.min(own.deadline)),
                (Some(response), false) => Some(response),
                (None, true) => {
                    bound.exact = false;
                    Some(own.deadline)
                }
                (None, false) => None,
            }
            .map(Nanos::new);
            bound.slack_ns = bound.response_ns.map(|r| slack(own.deadline, r.get()));
            let late = bound.response_ns.is_some_and(|r| r.get() > own.deadline);
            bound.verdict = match shown {
                true => TaskVerdict::Met,
                _ if late && bound.exact => TaskVerdict::Missed,
                _ if !late && bound.response_ns.is_some() => TaskVerdict::Met,
                _ => TaskVerdict::NotShown,
            };
            if found == Demand::Overload {
                bound.why = Some(format!(
                    "the SCHED_DEADLINE tasks ask for more than all of {}",
                    self.of()
                ));
            }
        }
        let late = counted == Due::FromWakeUps;
        let (value, limit, passed) = match found {
            Demand::Met => (None, None, Some(true)),
            Demand::Exceeded { interval, demand } => (
                Some(punctual_stats::float(demand)),
                Some(punctual_stats::float(interval)),
                Some(false),
            ),
            Demand::Overload => (None, None, Some(false)),
            Demand::Unknown => (None, None, None),
        };
        check.tests.push(AppliedTest {
            name: "processor demand of SCHED_DEADLINE, in ns".to_owned(),
            of: self.of(),
            value,
            limit,
            passed: if open || late { None } else { passed },
            exact: blocking == 0,
            note: late.then(|| {
                "the kernel counts deadlines from wake-ups, which may be late: response times decide"
                    .to_owned()
            }),
            source: "Baruah, Rosier and Howell 1990; Zhang and Burns 2009 (QPA)".to_owned(),
        });
    }

    pub(super) fn ask_deadline(
        &self,
        works: &[Work],
        factor: u64,
        effort: &mut Effort,
    ) -> Option<bool> {
        let over = |place: usize| {
            let task = &self.set.tasks[self.members[place]];
            // The kernel lets no job have more than its runtime.
            matches!(task.policy, TaskPolicy::Deadline { runtime_ns }
                if used(task, &self.set.overheads, factor) > growth::grown(runtime_ns.get(), factor))
        };
        if (0..self.deadline).any(over) {
            return Some(false);
        }
        if self.deadline_is_open() {
            return Some((0..self.deadline).all(|place| {
                let end = self.busy(self.floor(place), works, factor, effort);
                end.is_some_and(|end| end + works[place].jitter <= works[place].deadline)
            }));
        }
        if self.counted() == Due::FromWakeUps {
            let mut all = 0..self.deadline;
            return all.try_fold(true, |met, place| {
                Some(met && self.meets_late(place, works, factor, effort)?)
            });
        }
        match self.edf(works, factor, effort) {
            Demand::Met => Some(true),
            Demand::Exceeded { .. } | Demand::Overload => Some(false),
            Demand::Unknown => None,
        }
    }

    /// Whether the `SCHED_DEADLINE` task at `place` meets its deadline where deadlines count from wake-ups.
    pub(super) fn meets_late(
        &self,
        place: usize,
        works: &[Work],
        factor: u64,
        effort: &mut Effort,
    ) -> Option<bool> {
        let steps = self.steps(works, factor);
        let blocking = steps.iter().map(|step| step.blocking).max().unwrap_or(0);
        let above = interrupts(&self.set.overheads);
        let set = &works[..self.deadline];
        match edf_response::response(set, place, &above, Due::FromWakeUps, blocking, effort) {
            Bound::At { response, .. } => Some(response <= works[place].deadline),
            Bound::Overload => Some(false),
            Bound::Unknown => None,
        }
    }
}
