// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Priorities for tasks that name none.

use punctual_model::tasks::{PriorityOrder, TaskPolicy, TaskSet};

use crate::audsley::{Order, order};
use crate::blocking::Sections;
use crate::check::{interrupts, served};
use crate::growth;
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
        ordered = optimal(set, &ordered);
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

/// An order that meets all deadlines of tasks that share CPUs; `ordered` where there is none. Tasks of different CPUs do not
/// matter to each other, so their orders are joined as they are.
fn optimal(set: &TaskSet, ordered: &[usize]) -> Vec<usize> {
    let cpus = |at: &usize| &set.tasks[*at].cpus;
    // A task that names no CPUs may use all.
    let meet = |a: &usize, b: &usize| {
        cpus(a).is_empty() || cpus(b).is_empty() || !cpus(a).common(cpus(b)).is_empty()
    };
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for at in ordered {
        let (with, apart): (Vec<_>, Vec<_>) = groups
            .into_iter()
            .partition(|group| group.iter().any(|other| meet(at, other)));
        groups = apart;
        groups.push(with.into_iter().flatten().chain([*at]).collect());
    }
    let rest: Vec<usize> = (0..set.tasks.len())
        .filter(|at| !ordered.contains(at))
        .collect();
    let each = groups.into_iter().flat_map(|members| {
        let own = ordered.iter().copied().filter(|at| members.contains(at));
        let group: Vec<usize> = own.collect();
        let others = rest.iter().filter(|at| group.iter().any(|of| meet(at, of)));
        let others: Vec<usize> = others.copied().collect();
        of_group(set, &group, &others).unwrap_or(group)
    });
    each.collect()
}

/// An order of `group` that meets all of its deadlines, with `others` on its CPUs: they go first unless they are ordinary.
fn of_group(set: &TaskSet, group: &[usize], others: &[usize]) -> Option<Vec<usize>> {
    let work = |at: &usize| served(&set.tasks[*at], &set.overheads, growth::ONE);
    let goes_first = |at: &&usize| set.tasks[**at].policy != TaskPolicy::Other;
    let mut first = interrupts(&set.overheads);
    first.extend(others.iter().filter(goes_first).map(work));
    let works: Vec<Work> = group.iter().map(work).collect();
    let all: Vec<usize> = group.iter().chain(others).copied().collect();
    let tasks: Vec<_> = all.iter().map(|at| &set.tasks[*at]).collect();
    let sections = Sections::of(&tasks, &set.resources);
    let blocking = |own: usize, above: &[usize]| {
        let upper = |task: usize| match task < group.len() {
            true => task == own || above.contains(&task),
            false => goes_first(&&all[task]),
        };
        sections.blocking(upper, |task| !upper(task), |length| length)
    };
    match order(&works, &first, blocking, &mut Effort::usual()) {
        Order::Found(found) => Some(found.into_iter().map(|at| group[at]).collect()),
        Order::None(_) | Order::Unknown => None,
    }
}
