// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Priorities for tasks that name none.

use punctual_model::tasks::{PriorityOrder, TaskPolicy, TaskSet};

use crate::audsley::{Order, order};
use crate::blocking::Sections;
use crate::check::work;
use crate::work::{Effort, Work};
use punctual_model::Ordered as _;

/// The priority of the first task that names none, where no task names one: below those that kernel threads have.
const FIRST: u8 = 80;

/// Gives priorities to `unordered`, one below the other, below every priority that the file names. Tasks for which none is left
/// share the lowest.
pub(crate) fn give(set: &mut TaskSet, unordered: &[usize]) {
    let named = set.tasks.iter().filter_map(|task| task.policy.priority());
    let mut next = named
        .min()
        .map_or(FIRST, |lowest| lowest.saturating_sub(1).max(1));
    let mut ordered = unordered.to_vec();
    let key = |at: &usize| match set.order {
        PriorityOrder::RateMonotonic => (set.tasks[*at].period_ns, *at),
        PriorityOrder::DeadlineMonotonic | PriorityOrder::Optimal => {
            (set.tasks[*at].deadline_ns - set.tasks[*at].jitter_ns, *at)
        }
    };
    ordered.order_by_key(key);
    if set.order == PriorityOrder::Optimal {
        ordered = optimal(set, ordered);
    }
    for at in ordered {
        if let TaskPolicy::Fifo { priority }
        | TaskPolicy::Rr { priority }
        | TaskPolicy::Ext { priority, .. } = &mut set.tasks[at].policy
        {
            *priority = Some(next);
            next = next.saturating_sub(1).max(1);
        }
    }
}

/// An order that meets all deadlines on each CPU for itself; `ordered` where there is none. Tasks of different CPUs do not
/// matter to each other, so their orders are joined as they are.
fn optimal(set: &TaskSet, ordered: Vec<usize>) -> Vec<usize> {
    let mut cpus: Vec<_> = ordered.iter().map(|at| &set.tasks[*at].cpus).collect();
    cpus.dedup();
    let mut all = Vec::new();
    let mut seen: Vec<&punctual_model::CpuSet> = Vec::new();
    for of in cpus {
        if seen.contains(&of) {
            continue;
        }
        seen.push(of);
        let group: Vec<usize> = ordered
            .iter()
            .copied()
            .filter(|at| set.tasks[*at].cpus == *of)
            .collect();
        let works: Vec<Work> = group
            .iter()
            .map(|at| work(&set.tasks[*at], &set.overheads))
            .collect();
        let tasks: Vec<_> = group.iter().map(|at| &set.tasks[*at]).collect();
        let sections = Sections::of(&tasks, &set.resources);
        let blocking = |own: usize, above: &[usize]| {
            let upper = |task: usize| task == own || above.contains(&task);
            sections.blocking(upper, |task| !upper(task), |length| length)
        };
        match order(&works, blocking, &mut Effort::usual()) {
            Order::Found(found) => all.extend(found.into_iter().map(|at| group[at])),
            Order::None(_) | Order::Unknown => all.extend(group),
        }
    }
    all
}
