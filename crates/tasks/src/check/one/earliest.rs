// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The tasks of one CPU that run earliest deadline first, above all others.

use punctual_model::Nanos;
use punctual_model::tasks::{AppliedTest, TaskVerdict, TasksCheck};

use super::super::deadline::too_short;
use super::super::{due_late, interrupts, slack};
use super::OneCpu;
use crate::demand::{Demand, edf};
use crate::edf_response::{self, Due};
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

    /// A resource that one of these tasks shares with another. Who waits for it is woken up for it, which the kernel takes for the
    /// beginning of a job: it may give a new deadline, and throttle the next job for that.
    pub(super) fn shared_by_deadline(&self) -> Option<&str> {
        let shared = self.sections.shared(|task| task < self.deadline)?;
        Some(&self.set.resources.get(shared)?.name)
    }

    pub(super) fn edf(&self, works: &[Work], effort: &mut Effort) -> Demand {
        let above = interrupts(&self.set.overheads);
        edf(&works[..self.deadline], &above, effort)
    }

    pub(super) fn judge_deadline(
        &self,
        works: &[Work],
        check: &mut TasksCheck,
        effort: &mut Effort,
    ) {
        let counted = self.counted();
        let found = self.edf(works, effort);
        let above = interrupts(&self.set.overheads);
        for place in 0..self.deadline {
            let bound = &mut check.tasks[self.members[place]];
            let own = &works[place];
            // Where deadlines count from wake-ups only a response that is found shows that one is met.
            let shown = found == Demand::Met && counted == Due::FromReleases;
            let set = &works[..self.deadline];
            let response = edf_response::response(set, place, &above, counted, effort);
            bound.exact = counted == Due::FromReleases;
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
            passed: if late { None } else { passed },
            exact: true,
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
            too_short(task, &self.set.overheads, factor).is_some()
        };
        if (0..self.deadline).any(over) {
            return Some(false);
        }
        if self.counted() == Due::FromWakeUps {
            let mut all = 0..self.deadline;
            return all.try_fold(true, |met, place| {
                Some(met && self.meets_late(place, works, effort)?)
            });
        }
        match self.edf(works, effort) {
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
        effort: &mut Effort,
    ) -> Option<bool> {
        let above = interrupts(&self.set.overheads);
        let set = &works[..self.deadline];
        match edf_response::response(set, place, &above, Due::FromWakeUps, effort) {
            Bound::At { response, .. } => Some(response <= works[place].deadline),
            Bound::Overload => Some(false),
            Bound::Unknown => None,
        }
    }
}
