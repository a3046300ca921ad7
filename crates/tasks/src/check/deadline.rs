// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What the kernel says to `SCHED_DEADLINE` tasks, and what that promises.

use punctual_model::tasks::{
    Admission, Overheads, Task, TaskPolicy, TaskSet, TaskVerdict, TasksCheck,
};
use punctual_model::{CpuSet, Nanos};

use super::{cpus, grown, interrupts};
use crate::admission::{Limits, Parameters, admits, ratio};
use crate::growth;
use crate::several::tardiness;
use crate::work::Work;

fn parameters(task: &Task) -> Option<Parameters> {
    match task.policy {
        TaskPolicy::Deadline { runtime_ns } => Some(Parameters {
            runtime: runtime_ns.get(),
            deadline: task.deadline_ns.get(),
            period: task.period_ns.get(),
        }),
        _ => None,
    }
}

/// What the kernel says; nothing where no task has this policy.
pub(super) fn admission(set: &TaskSet, machine: &CpuSet, limits: &Limits) -> Option<Admission> {
    let all: Vec<(&Task, Parameters)> = set
        .tasks
        .iter()
        .filter_map(|task| Some((task, parameters(task)?)))
        .collect();
    if all.is_empty() {
        return None;
    }
    let each = all.iter().map(|(_, of)| ratio(of.runtime, of.period));
    let asked = each.fold(0, u64::saturating_add);
    let refused = all.iter().filter_map(|(task, of)| {
        let bound = !machine.without(&cpus(task, machine)).is_empty();
        let pinned = bound.then(|| {
            format!(
                "it may not use all of CPUs {machine}, which the kernel asks of SCHED_DEADLINE tasks outside of an \
                 exclusive cpuset; `--cpus` says the CPUs of one"
            )
        });
        let why = of.refused(limits).or(pinned)?;
        Some(format!("{}: {why}", task.name))
    });
    let refused: Vec<String> = refused.collect();
    let admitted = refused.is_empty() && admits(limits, asked);
    let works: Vec<Work> = all
        .iter()
        .map(|(_, of)| Work::new(of.runtime, of.period, of.deadline))
        .collect();
    let late = tardiness(&works, limits.cpus).filter(|_| admitted);
    let mut promises = Vec::new();
    if admitted {
        promises.push(
            "Each task gets its runtime in each period; a job that needs more waits for the next period".to_owned(),
        );
        if works.iter().any(|w| w.deadline < w.period) {
            promises.push(
                "Admission counts runtime / period, not runtime / deadline: where a deadline is shorter than its \
                 period it promises no deadline"
                    .to_owned(),
            );
        }
        promises.push(match (limits.cpus, late) {
            (1, Some(_)) => "On one CPU every deadline is met if no job needs more than its runtime".to_owned(),
            (_, Some(late)) => format!(
                "On {} CPUs no deadline is promised; a job is at most {} late (Devi and Anderson 2008)",
                limits.cpus,
                Nanos::new(late)
            ),
            (_, None) => "How late a job may be is not bounded by admission".to_owned(),
        });
    }
    Some(Admission {
        admitted,
        cpus: limits.cpus,
        asked,
        servers: limits.servers(),
        limit: limits.bandwidth(),
        refused,
        tardiness_ns: late.map(Nanos::new),
        promises,
    })
}

/// Whether the kernel takes the set with runtimes that grew as the execution times did.
pub(super) fn takes(set: &TaskSet, limits: &Limits, factor: u64) -> bool {
    let all: Vec<Parameters> = set.tasks.iter().filter_map(parameters).collect();
    let runtime = |of: &Parameters| growth::grown(of.runtime, factor);
    let asked = all.iter().map(|of| ratio(runtime(of), of.period));
    let asked = asked.fold(0, u64::saturating_add);
    all.is_empty() || all.iter().all(|of| runtime(of) <= of.deadline) && admits(limits, asked)
}

/// Whether the kernel takes those of these tasks in an exclusive cpuset of one CPU.
pub(super) fn admits_one<'a>(tasks: impl Iterator<Item = &'a Task>, limits: &Limits) -> bool {
    let each = tasks.filter_map(parameters);
    let asked: Vec<u64> = each.map(|of| ratio(of.runtime, of.period)).collect();
    asked.is_empty()
        || admits(
            &limits.of(1),
            asked.into_iter().fold(0, u64::saturating_add),
        )
}

/// What a job uses of its runtime at most, with an execution time that grew: interrupts while it runs and switches count too.
pub(super) fn used(task: &Task, overheads: &Overheads, factor: u64) -> u64 {
    let interrupts = interrupts(overheads);
    let each = interrupts
        .iter()
        .map(|of| of.demand(task.deadline_ns.get()));
    each.fold(grown(task, overheads, factor).cost, u64::saturating_add)
}

/// Takes verdicts back that the kernel's budgets contradict.
pub(super) fn throttled(set: &TaskSet, check: &mut TasksCheck) {
    let refused = check.admission.as_ref().is_some_and(|of| !of.admitted);
    for (task, bound) in set.tasks.iter().zip(&mut check.tasks) {
        let Some(of) = parameters(task) else { continue };
        let used = used(task, &set.overheads, growth::ONE);
        let why = if of.runtime < task.execution_ns.get() {
            "its runtime is shorter than its execution time: the kernel throttles it".to_owned()
        } else if of.runtime < used {
            format!(
                "a job may use {used} ns of its runtime of {} ns, with two switches and the interrupts until its \
                 deadline: the kernel may throttle it",
                of.runtime
            )
        } else if refused {
            "the kernel refuses SCHED_DEADLINE to this set".to_owned()
        } else {
            continue;
        };
        if bound.verdict == TaskVerdict::Met {
            bound.verdict = TaskVerdict::NotShown;
            bound.why = Some(why);
        }
    }
}
