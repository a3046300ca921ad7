// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Tasks that may run on several CPUs.

use punctual_model::tasks::{AppliedTest, Task, TaskPolicy, TaskSet, TaskVerdict, TasksCheck};
use punctual_model::{CpuSet, Nanos, Ordered as _};

use super::{Group, TOO_LONG, by_utilisation, cpus, due_late, grown, interrupts, served, slack};
use crate::bounds::{ROUNDING, utilisation};
use crate::growth;
use crate::several::{Global, densities, global, rm_us};
use crate::work::{Effort, Load, Work};

/// Why a task that may run on several CPUs has no bound.
pub(super) const UNSHOWN: &str = "no test for several CPUs shows it";

/// Why a task of a BPF scheduler has none.
const UNNAMED: &str = "the BPF scheduler keeps each task on one CPU, and the set does not say which: name it with `cpus`";

/// Says of tasks without a bound what assigning each to one CPU gives.
pub(super) fn compare_with_partitions(check: &mut TasksCheck) {
    let deadline = |task: &Task| matches!(task.policy, TaskPolicy::Deadline { .. });
    let kernel = check.set.tasks.iter().any(deadline);
    let more = match check.partitions.as_slice() {
        [] => return,
        all if kernel && all.iter().any(|partition| partition.passed) => {
            "each task assigned to one CPU, as in the table, which must be an exclusive cpuset then, the set passes"
        }
        all if all.iter().any(|partition| partition.passed) => {
            "each task assigned to one CPU, as in the table, the set passes"
        }
        _ => "neither assignment of each task to one CPU passes",
    };
    for why in check.tasks.iter_mut().filter_map(|task| task.why.as_mut()) {
        if why == UNSHOWN || why == UNNAMED {
            *why = format!("{why}; {more}");
        }
    }
}

/// Tasks that may run on several CPUs.
#[derive(Debug)]
pub(super) struct Together<'a> {
    set: &'a TaskSet,
    of: String,
    cpus: u32,
    /// Numbers in the set, the most urgent first.
    members: Vec<usize>,
    policy: Global,
    /// Why no analysis applies.
    why_not: Option<&'static str>,
}

impl<'a> Together<'a> {
    pub(super) fn new(
        set: &'a TaskSet,
        all: &CpuSet,
        machine: &CpuSet,
        mut members: Vec<usize>,
    ) -> Self {
        members.order_by_key(|at| (std::cmp::Reverse(set.tasks[*at].policy.priority()), *at));
        let tasks = || members.iter().map(|at| &set.tasks[*at]);
        let edf = tasks().all(|task| task.policy.is_earliest_first());
        let fixed = tasks().all(|task| task.policy.is_fixed());
        let mut levels: Vec<_> = tasks().map(|task| task.policy.priority()).collect();
        levels.dedup();
        let why_not = if tasks().any(|task| task.policy.ext().is_some()) {
            Some(UNNAMED)
        } else if tasks().any(|task| cpus(task, machine) != *all) {
            Some("the CPUs of tasks overlap without being the same, which no analysis here covers")
        } else if tasks().any(|task| !task.sections.is_empty()) {
            Some("tasks that share resources on several CPUs are not covered by these analyses")
        } else if tasks().all(|task| task.policy == TaskPolicy::Other) {
            Some("SCHED_OTHER promises no response time")
        } else if !edf && !fixed {
            Some("tasks of several policies on several CPUs are not covered by these analyses")
        } else if fixed && levels.len() < members.len() {
            Some("tasks of one priority on several CPUs are not covered by these analyses")
        } else {
            None
        };
        Self {
            set,
            of: format!("CPUs {all}"),
            cpus: u32::try_from(all.len()).unwrap_or(u32::MAX),
            members,
            policy: if edf { Global::Edf } else { Global::Fixed },
            why_not,
        }
    }

    fn works(&self, factor: u64) -> Vec<Work> {
        let each = self.members.iter();
        each.map(|at| grown(&self.set.tasks[*at], &self.set.overheads, factor))
            .collect()
    }

    fn served(&self, factor: u64) -> Vec<Work> {
        let each = self.members.iter();
        each.map(|at| served(&self.set.tasks[*at], &self.set.overheads, factor))
            .collect()
    }

    /// A job that is longer than its deadline is late on any number of CPUs.
    fn hopeless(&self, works: &[Work], check: &mut TasksCheck) {
        for (at, work) in self.members.iter().zip(works) {
            if work.cost.saturating_add(work.jitter) > work.deadline {
                let task = &mut check.tasks[*at];
                task.verdict = TaskVerdict::Missed;
                task.why = Some(
                    "a job is longer than its deadline, with its jitter and switches, even if nothing delays it"
                        .to_owned(),
                );
            }
        }
    }

    /// Bounds by response times, and whether the sum of densities or utilisations shows every deadline to be met.
    fn bounds(&self, works: &[Work], effort: &mut Effort) -> (Vec<Option<u64>>, bool) {
        let above = interrupts(&self.set.overheads);
        let bounds = global(works, &above, self.cpus, self.policy, effort);
        (bounds, self.sum(works).passed == Some(true))
    }

    /// The test that compares a sum with a limit.
    fn sum(&self, works: &[Work]) -> Sum {
        let (value, limit, note) = match self.policy {
            Global::Edf => {
                let (sum, limit) = densities(works, self.cpus);
                (sum, limit, self.why_not_dense().map(str::to_owned))
            }
            Global::Fixed => {
                let (limit, heavy) = rm_us(self.cpus);
                (utilisation(works), limit, self.why_not_rate(works, heavy))
            }
        };
        let passed = note.is_none().then_some(value <= limit - ROUNDING);
        Sum {
            value,
            limit,
            passed,
            note,
        }
    }

    /// Why the test of densities does not apply.
    fn why_not_dense(&self) -> Option<&'static str> {
        if !self.set.overheads.interrupts.is_empty() {
            Some("there are interrupts")
        } else if due_late(self.set, &self.members) {
            Some("the kernel counts deadlines from wake-ups, which may be late")
        } else {
            None
        }
    }

    /// Why the test of utilisations does not apply.
    fn why_not_rate(&self, works: &[Work], heavy: f64) -> Option<String> {
        let light = works.iter().all(|w| w.utilisation() <= heavy);
        let mut pairs = works.windows(2);
        let rate = pairs.all(|pair| pair[0].period <= pair[1].period);
        let plain = |w: &Work| w.deadline >= w.period && w.jitter == 0;
        if !light {
            Some(format!("a task uses more than {heavy:.3}"))
        } else if !rate {
            Some("priorities are not rate-monotonic".to_owned())
        } else if !works.iter().all(plain) {
            Some("a deadline is shorter than its period, or releases have jitter".to_owned())
        } else if !self.set.overheads.interrupts.is_empty() {
            Some("there are interrupts".to_owned())
        } else {
            None
        }
    }
}

/// What a sum of densities or utilisations says.
struct Sum {
    value: f64,
    limit: f64,
    passed: Option<bool>,
    note: Option<String>,
}

impl Group for Together<'_> {
    fn judge(&self, check: &mut TasksCheck, effort: &mut Effort) -> bool {
        let works = self.works(growth::ONE);
        let (total, test) = by_utilisation(self.of.clone(), &works, self.cpus);
        check.tests.push(test);
        if let Some(why) = self.why_not {
            for at in &self.members {
                check.tasks[*at].why = Some(why.to_owned());
            }
            self.hopeless(&works, check);
            return total == Load::Above;
        }
        let served = self.served(growth::ONE);
        let (bounds, by_sum) = self.bounds(&served, effort);
        let unknown = effort.is_over() && bounds.contains(&None);
        for (place, at) in self.members.iter().enumerate() {
            let task = &mut check.tasks[*at];
            let deadline = works[place].deadline;
            match bounds[place] {
                Some(bound) => {
                    task.response_ns = Some(Nanos::new(bound));
                    task.slack_ns = Some(slack(deadline, bound));
                    task.verdict = TaskVerdict::Met;
                }
                None if by_sum => {
                    // Under fixed priorities the sum shows that each job ends within its period.
                    let bound = match self.policy {
                        Global::Edf => deadline,
                        Global::Fixed => deadline.min(works[place].period),
                    };
                    task.response_ns = Some(Nanos::new(bound));
                    task.slack_ns = Some(slack(deadline, bound));
                    task.verdict = TaskVerdict::Met;
                }
                None => {
                    task.why = Some(if unknown { TOO_LONG } else { UNSHOWN }.to_owned());
                }
            }
        }
        self.hopeless(&works, check);
        check.tests.push(AppliedTest {
            name: "global response times".to_owned(),
            of: self.of.clone(),
            value: None,
            limit: None,
            passed: (!unknown).then(|| bounds.iter().all(Option::is_some)),
            exact: false,
            note: None,
            source: "Bertogna and Cirinei 2007".to_owned(),
        });
        let (name, source) = match self.policy {
            Global::Edf => ("density", "Goossens, Funk and Baruah 2003"),
            Global::Fixed => ("utilisation of RM-US", "Andersson, Baruah and Jonsson 2001"),
        };
        let Sum {
            value,
            limit,
            passed,
            note,
        } = self.sum(&served);
        check.tests.push(AppliedTest {
            name: name.to_owned(),
            of: self.of.clone(),
            value: Some(value),
            limit: Some(limit),
            passed,
            exact: false,
            note,
            source: source.to_owned(),
        });
        total == Load::Above
    }

    fn questions(&self) -> usize {
        1
    }

    fn ask(&self, _: usize, factor: u64, effort: &mut Effort) -> Option<bool> {
        let (bounds, by_sum) = self.bounds(&self.served(factor), effort);
        let shown = by_sum || bounds.iter().all(Option::is_some);
        (shown || !effort.is_over()).then_some(shown)
    }

    fn fails(&self, _: usize, factor: u64, effort: &mut Effort) -> usize {
        let (bounds, _) = self.bounds(&self.served(factor), effort);
        let failing = bounds.iter().position(Option::is_none).unwrap_or(0);
        self.members[failing]
    }
}
