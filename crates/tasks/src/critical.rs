// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The schedule that analysis takes for the worst: everything is released at once.

use punctual_model::CpuId;
use punctual_model::Nanos;
use punctual_model::tasks::{CriticalSlice, TasksCheck};

use crate::check::work;
use crate::simulate::{Scheduler, Start, simulate};
use crate::work::Work;
use punctual_model::Ordered as _;

/// The most stretches of a CPU.
const MOST: usize = 500;

/// Schedules the tasks of each CPU from the critical instant to the longest bound: all are released at once, as late as their
/// jitter allows, and execute as long as the set says, overheads included. Without blocking; none for tasks that may use
/// several CPUs, and for CPUs that have both `SCHED_DEADLINE` and other tasks.
pub fn critical_instant(check: &TasksCheck) -> Vec<CriticalSlice> {
    let cpus: Vec<CpuId> = check
        .tasks
        .iter()
        .flat_map(|task| task.cpus.iter())
        .collect::<punctual_model::CpuSet>()
        .iter()
        .collect();
    cpus.into_iter()
        .flat_map(|cpu| of_cpu(check, cpu))
        .collect()
}

fn of_cpu(check: &TasksCheck, cpu: CpuId) -> Vec<CriticalSlice> {
    let on = |at: &usize| check.tasks[*at].cpus.contains(cpu);
    let mut members: Vec<usize> = (0..check.tasks.len()).filter(on).collect();
    let alone = members.iter().all(|at| check.tasks[*at].cpus.len() == 1);
    let policy = |at: &usize| check.set.tasks[*at].policy;
    let edf = members.iter().all(|at| policy(at).is_earliest_first());
    let fixed = members.iter().all(|at| policy(at).is_fixed());
    if !alone || !(edf || fixed) {
        return Vec::new();
    }
    members.order_by_key(|at| (std::cmp::Reverse(policy(at).priority()), *at));
    let works: Vec<Work> = members
        .iter()
        .map(|at| work(&check.set.tasks[*at], &check.set.overheads))
        .collect();
    let starts: Vec<Start> = works
        .iter()
        .map(|work| Start {
            at: 0,
            late: work.jitter,
        })
        .collect();
    let longest = members.iter().map(|at| {
        let bound = check.tasks[*at].response_ns;
        bound.unwrap_or(check.set.tasks[*at].period_ns).get()
    });
    let end = longest.max().unwrap_or(0);
    // What is beyond that many jobs is no picture.
    let shortest = works.iter().map(|work| work.period).min().unwrap_or(1);
    let end = end.min(shortest.saturating_mul(MOST as u64));
    let scheduler = if edf {
        Scheduler::Edf
    } else {
        Scheduler::Fixed
    };
    let slices = simulate(&works, &starts, scheduler, 1, end, end).slices;
    let each = slices.into_iter().take(MOST).map(|slice| CriticalSlice {
        task: members[slice.task],
        job: slice.job,
        cpu,
        from_ns: Nanos::new(slice.from),
        to_ns: Nanos::new(slice.to),
    });
    each.collect()
}
