// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The tasks of one CPU: those of `SCHED_DEADLINE` first, then fixed priorities, then the rest, which has no guarantee.

mod earliest;

use punctual_model::tasks::{
    AppliedTest, Interference, TaskBound, TaskPolicy, TaskSet, TaskVerdict, TasksCheck,
};
use punctual_model::{CpuId, Nanos, Ordered as _};

use super::{Group, TOO_LONG, by_utilisation, interrupts, served, slack, work};
use crate::audsley::{Order, order};
use crate::blocking::Sections;
use crate::bounds::{ROUNDING, hyperbolic, liu_layland, utilisation};
use crate::demand::{Demand, edf};
use crate::edf_response::Due;
use crate::growth;
use crate::response::{Bound, interference, meets, response};
use crate::work::{Effort, Load, Work, busy_period};

/// The level of `SCHED_DEADLINE`, above all priorities.
const DEADLINE: u64 = 1_000;

/// The tasks of one CPU.
#[derive(Debug)]
pub(super) struct OneCpu<'a> {
    set: &'a TaskSet,
    cpu: CpuId,
    /// Numbers in the set, the most urgent first.
    members: Vec<usize>,
    /// The same order.
    levels: Vec<u64>,
    /// Numbers of tasks are places in `members`.
    sections: Sections,
    /// How many of them are `SCHED_DEADLINE`, and how many have a priority too.
    deadline: usize,
    promised: usize,
    /// A resource that tasks of other CPUs take too.
    shared: Option<String>,
}

impl<'a> OneCpu<'a> {
    pub(super) fn new(
        set: &'a TaskSet,
        cpu: CpuId,
        mut members: Vec<usize>,
        shared: Option<String>,
    ) -> Self {
        let level = |at: &usize| match set.tasks[*at].policy {
            policy if policy.is_earliest_first() => DEADLINE,
            TaskPolicy::Other => 0,
            policy => u64::from(policy.priority().unwrap_or(1)),
        };
        members.order_by_key(|at| (std::cmp::Reverse(level(at)), *at));
        let levels: Vec<u64> = members.iter().map(level).collect();
        let tasks: Vec<_> = members.iter().map(|at| &set.tasks[*at]).collect();
        Self {
            sections: Sections::of(&tasks, &set.resources),
            deadline: levels.iter().filter(|level| **level == DEADLINE).count(),
            promised: levels.iter().filter(|level| **level > 0).count(),
            set,
            cpu,
            members,
            levels,
            shared,
        }
    }

    /// Its tasks with execution times that grew, and what is served of `SCHED_DEADLINE` tasks in a period.
    fn works(&self, factor: u64) -> Vec<Work> {
        let each = self.members.iter();
        each.map(|at| served(&self.set.tasks[*at], &self.set.overheads, factor))
            .collect()
    }

    /// What goes before the task at `place`: interrupts, then tasks, by their places.
    fn above(&self, place: usize, works: &[Work]) -> (Vec<Work>, Vec<usize>) {
        let level = self.levels[place];
        let urgent = |at: &usize| *at != place && self.levels[*at] >= level;
        let places: Vec<usize> = (0..works.len()).filter(urgent).collect();
        let mut above = interrupts(&self.set.overheads);
        above.extend(places.iter().map(|at| works[*at]));
        (above, places)
    }

    fn blocking(&self, place: usize, factor: u64) -> u64 {
        let level = self.levels[place];
        self.sections.blocking(
            |task| self.levels[task] >= level,
            |task| self.levels[task] < level,
            |length| growth::grown(length, factor),
        )
    }

    /// The lowest level that can delay the task at `place` through unprotected resources.
    fn floor(&self, place: usize) -> u64 {
        self.sections.floor(self.levels[place], &self.levels)
    }

    /// The end of the longest interval in which tasks of at least this level keep the CPU busy.
    fn busy(&self, floor: u64, works: &[Work], factor: u64, effort: &mut Effort) -> Option<u64> {
        let mut all = interrupts(&self.set.overheads);
        let urgent = works
            .iter()
            .zip(&self.levels)
            .filter(|(_, level)| **level >= floor);
        all.extend(urgent.map(|(work, _)| *work));
        let blocking = self.sections.blocking(
            |task| self.levels[task] >= floor,
            |task| self.levels[task] < floor,
            |length| growth::grown(length, factor),
        );
        busy_period(&all, blocking, effort)
    }

    fn of(&self) -> String {
        format!("CPU {}", self.cpu)
    }

    fn judge_fixed(
        &self,
        place: usize,
        works: &[Work],
        bound: &mut TaskBound,
        effort: &mut Effort,
    ) {
        let own = &works[place];
        let (above, places) = self.above(place, works);
        let blocking = self.blocking(place, growth::ONE);
        bound.blocking_ns = Nanos::new(blocking);
        let floor = self.floor(place);
        if floor < self.levels[place] {
            let busy = self.busy(floor, works, growth::ONE, effort);
            note_open(bound, own, busy);
            return;
        }
        let tied = places
            .iter()
            .any(|at| self.levels[*at] == self.levels[place]);
        // Within a section that delays a higher task it is not preempted, and may end sooner than the bound.
        let defers = self.sections.defers(place, &self.levels);
        let sure = blocking == 0 && !tied && !defers && self.deadline == 0;
        match response(own, &above, blocking, effort) {
            Bound::At {
                response,
                window,
                job,
            } => {
                bound.exact = sure;
                bound.response_ns = Some(Nanos::new(response));
                bound.slack_ns = Some(slack(own.deadline, response));
                bound.verdict = match (response <= own.deadline, sure) {
                    (true, _) => TaskVerdict::Met,
                    (false, true) => TaskVerdict::Missed,
                    (false, false) => TaskVerdict::NotShown,
                };
                bound.interference = self.delays(&above, &places, window, own, job);
            }
            Bound::Overload => {
                bound.verdict = if sure {
                    TaskVerdict::Missed
                } else {
                    TaskVerdict::NotShown
                };
                let all: Vec<Work> = above.iter().chain([own]).copied().collect();
                bound.why = Some(format!(
                    "{} is asked for {:.1} % by it and what goes before it: its responses grow without bound",
                    self.of(),
                    utilisation(&all) * 100.0
                ));
            }
            Bound::Unknown => {
                bound.why = Some(format!("{TOO_LONG}: the busy interval is too long"))
            }
        }
    }

    fn delays(
        &self,
        above: &[Work],
        places: &[usize],
        window: u64,
        own: &Work,
        job: u64,
    ) -> Vec<Interference> {
        let by = |at: usize| match at.checked_sub(above.len() - places.len()) {
            None => "interrupts".to_owned(),
            Some(at) => self.set.tasks[self.members[places[at]]].name.clone(),
        };
        let each = interference(above, window).into_iter().enumerate();
        let mut all: Vec<Interference> = each
            .map(|(at, (jobs, total))| Interference {
                by: by(at),
                jobs: Some(jobs),
                total_ns: Nanos::new(total),
            })
            .collect();
        if job > 0 {
            all.push(Interference {
                by: "its own earlier jobs".to_owned(),
                jobs: Some(job),
                total_ns: Nanos::new(job.saturating_mul(own.cost)),
            });
        }
        all.order_by_key(|of| std::cmp::Reverse(of.total_ns));
        all
    }

    /// The tests that look at the whole CPU.
    fn sufficient(&self, check: &mut TasksCheck, effort: &mut Effort) -> bool {
        let each = self.members.iter();
        let works: Vec<Work> = each
            .map(|at| work(&self.set.tasks[*at], &self.set.overheads))
            .collect();
        let promised = &works[..self.promised];
        let mut all = interrupts(&self.set.overheads);
        all.extend(promised);
        let (total, test) = by_utilisation(self.of(), &all, 1);
        check.tests.push(test);
        let source = |text: &str| text.to_owned();
        let fixed = &works[self.deadline..self.promised];
        if fixed.is_empty() {
            return total == Load::Above;
        }
        let why_not = self.why_no_bound(fixed);
        let apply = why_not.is_none();
        let bound = liu_layland(all.len());
        check.tests.push(AppliedTest {
            name: "Liu and Layland's bound".to_owned(),
            of: self.of(),
            value: Some(utilisation(&all)),
            limit: Some(bound),
            passed: apply.then(|| utilisation(&all) <= bound - ROUNDING),
            exact: false,
            note: why_not.map(str::to_owned),
            source: source("Liu and Layland 1973"),
        });
        check.tests.push(AppliedTest {
            name: "hyperbolic bound".to_owned(),
            of: self.of(),
            value: Some(hyperbolic(&all)),
            limit: Some(2.0),
            passed: apply.then(|| hyperbolic(&all) <= 2.0 - ROUNDING),
            exact: false,
            note: why_not.map(str::to_owned),
            source: source("Bini, Buttazzo and Buttazzo 2003"),
        });
        let members = &self.members[self.deadline..self.promised];
        let verdicts = || members.iter().map(|at| check.tasks[*at].verdict);
        let passed = if verdicts().all(|v| v == TaskVerdict::Met) {
            Some(true)
        } else {
            Some(false).filter(|_| verdicts().all(|v| v != TaskVerdict::NotShown))
        };
        check.tests.push(AppliedTest {
            name: "response times".to_owned(),
            of: self.of(),
            value: None,
            limit: None,
            passed,
            // A task that misses its deadline does so for certain, also where its responses have no bound.
            exact: passed == Some(false) || members.iter().all(|at| check.tasks[*at].exact),
            note: None,
            source: source("Joseph and Pandya 1986; Tindell, Burns and Wellings 1994"),
        });
        if self.deadline == 0 && self.sections.is_empty() {
            let found = edf(fixed, &interrupts(&self.set.overheads), effort);
            check.tests.push(AppliedTest {
                name: "processor demand, were it earliest deadline first".to_owned(),
                of: self.of(),
                value: None,
                limit: None,
                passed: match found {
                    Demand::Met => Some(true),
                    Demand::Exceeded { .. } | Demand::Overload => Some(false),
                    Demand::Unknown => None,
                },
                exact: true,
                note: Some("no part of the verdict".to_owned()),
                source: source("Baruah, Rosier and Howell 1990; Zhang and Burns 2009 (QPA)"),
            });
        }
        total == Load::Above
    }

    /// Why the bounds on the utilisation do not apply.
    fn why_no_bound(&self, fixed: &[Work]) -> Option<&'static str> {
        let levels = &self.levels[self.deadline..self.promised];
        let pairs = fixed.iter().zip(levels);
        let ordered = pairs
            .clone()
            .zip(pairs.skip(1))
            .all(|((a, high), (b, low))| a.period < b.period && high > low || a.period == b.period);
        if self.deadline > 0 {
            Some("SCHED_DEADLINE tasks go first")
        } else if !ordered {
            Some("priorities are not rate-monotonic")
        } else if fixed.iter().any(|w| w.deadline < w.period) {
            Some("a deadline is shorter than its period")
        } else if fixed.iter().any(|w| w.jitter > 0) {
            Some("releases have jitter")
        } else if !self.sections.is_empty() {
            Some("tasks share resources")
        } else if self
            .set
            .overheads
            .interrupts
            .iter()
            .any(|i| fixed.first().is_some_and(|w| w.period < i.every_ns.get()))
        {
            Some("interrupts are rarer than a task that they go before")
        } else {
            None
        }
    }

    fn optimal(&self, works: &[Work], effort: &mut Effort) -> Option<Vec<String>> {
        let open = |r: &punctual_model::tasks::Resource| {
            r.protocol == punctual_model::tasks::Protocol::None
        };
        if !self.sections.is_empty() && self.set.resources.iter().any(open) {
            return None;
        }
        let mut first = interrupts(&self.set.overheads);
        first.extend(&works[..self.deadline]);
        let fixed = &self.members[self.deadline..self.promised];
        // Numbers of the order are places after those of `SCHED_DEADLINE`, which share no resources here.
        let blocking = |own: usize, above: &[usize]| {
            let upper = |task: usize| match task.checked_sub(self.deadline) {
                Some(task) => task == own || above.contains(&task),
                None => true,
            };
            self.sections
                .blocking(upper, |task| !upper(task), |length| length)
        };
        match order(
            &works[self.deadline..self.promised],
            &first,
            blocking,
            effort,
        ) {
            Order::Found(found) => {
                let names = found
                    .into_iter()
                    .map(|at| self.set.tasks[fixed[at]].name.clone());
                Some(names.collect())
            }
            Order::None(_) | Order::Unknown => None,
        }
    }
}

/// Notes the bound of a task that an unprotected resource leaves.
fn note_open(bound: &mut TaskBound, own: &Work, busy: Option<u64>) {
    let response = busy.map(|end| end.saturating_add(own.jitter));
    bound.exact = false;
    bound.response_ns = response.map(Nanos::new);
    bound.slack_ns = response.map(|r| slack(own.deadline, r));
    bound.verdict = match response {
        Some(r) if r <= own.deadline => TaskVerdict::Met,
        _ => TaskVerdict::NotShown,
    };
    bound.why = Some(
        "a resource without protocol lets tasks of lower priority delay it as long as the CPU is busy with them"
            .to_owned(),
    );
}

impl Group for OneCpu<'_> {
    fn judge(&self, check: &mut TasksCheck, effort: &mut Effort) -> bool {
        if let Some(resource) = &self.shared {
            for at in &self.members {
                check.tasks[*at].why = Some(format!(
                    "{resource} is shared with tasks of other CPUs, which these analyses do not cover"
                ));
            }
            return false;
        }
        if let Some(resource) = self.shared_by_deadline() {
            for at in &self.members {
                check.tasks[*at].why = Some(format!(
                    "{resource} is shared with a SCHED_DEADLINE task: who holds it may keep a late deadline, and the \
                     kernel may throttle who waited; these analyses do not cover that"
                ));
            }
            return self.sufficient(check, effort);
        }
        let works = self.works(growth::ONE);
        if self.deadline > 0 {
            self.judge_deadline(&works, check, effort);
        }
        for place in self.deadline..self.promised {
            self.judge_fixed(place, &works, &mut check.tasks[self.members[place]], effort);
        }
        for at in &self.members[self.promised..] {
            check.tasks[*at].why = Some("SCHED_OTHER promises no response time".to_owned());
        }
        let overload = self.sufficient(check, effort);
        let not_met = |at: &usize| check.tasks[*at].verdict != TaskVerdict::Met;
        let (reserved, rest) = self.members.split_at(self.deadline);
        if rest[..self.promised - self.deadline].iter().any(not_met)
            && !reserved.iter().any(not_met)
            && check.optimal_order.is_none()
        {
            check.optimal_order = self.optimal(&works, effort);
        }
        overload
    }

    fn questions(&self) -> usize {
        usize::from(self.deadline > 0) + self.promised - self.deadline
    }

    fn ask(&self, question: usize, factor: u64, effort: &mut Effort) -> Option<bool> {
        let works = self.works(factor);
        let place = match (self.deadline, question) {
            (0, question) => question,
            (_, 0) => return self.ask_deadline(&works, factor, effort),
            (deadline, question) => deadline + question - 1,
        };
        let floor = self.floor(place);
        if floor < self.levels[place] {
            let end = self.busy(floor, &works, factor, effort);
            return Some(end.is_some_and(|end| end + works[place].jitter <= works[place].deadline));
        }
        let (above, _) = self.above(place, &works);
        meets(&works[place], &above, self.blocking(place, factor), effort)
    }

    fn fails(&self, question: usize, factor: u64, effort: &mut Effort) -> usize {
        if self.deadline == 0 || question > 0 {
            let place = match self.deadline {
                0 => question,
                deadline => deadline + question - 1,
            };
            return self.members[place];
        }
        let works = self.works(factor);
        if self.counted() == Due::FromWakeUps {
            let late = |place: &usize| self.meets_late(*place, &works, effort) != Some(true);
            let first = (0..self.deadline).find(late);
            return self.members[first.unwrap_or(0)];
        }
        let at = match self.edf(&works, effort) {
            Demand::Exceeded { interval, .. } => works[..self.deadline].iter().position(|w| {
                let after = (interval + w.jitter).checked_sub(w.deadline);
                after.is_some_and(|after| after.is_multiple_of(w.period))
            }),
            _ => None,
        };
        self.members[at.unwrap_or(0)]
    }
}
