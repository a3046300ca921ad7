// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What the kernel says to `SCHED_DEADLINE` tasks, and what that promises.

use punctual_model::tasks::{
    Admission, Overheads, Task, TaskPolicy, TaskSet, TaskVerdict, TasksCheck,
};
use punctual_model::{CpuSet, Nanos};

use super::global::UNSHOWN;
use super::{cpus, due_late, grown, interrupts};
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
    // It is about runtimes and deadlines as the kernel has them, which count from wake-ups, and about whole CPUs.
    let members: Vec<usize> = (0..set.tasks.len()).collect();
    let kept = set.overheads.interrupts.is_empty()
        && !due_late(set, &members)
        && all
            .iter()
            .all(|(task, _)| too_short(task, &set.overheads, growth::ONE).is_none())
        // Whoever holds what it needs, or makes it wait, takes time that is not its runtime.
        && all
            .iter()
            .all(|(task, _)| task.sections.is_empty() && task.waits_ns.is_none());
    let late = tardiness(&works, limits.cpus).filter(|_| admitted && kept);
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

/// Whether the kernel takes those of these tasks in an exclusive cpuset of one CPU, with runtimes that are long enough.
pub(super) fn serves_one<'a>(
    tasks: impl Iterator<Item = &'a Task>,
    overheads: &Overheads,
    limits: &Limits,
) -> bool {
    let all: Vec<(&Task, Parameters)> = tasks
        .filter_map(|task| Some((task, parameters(task)?)))
        .collect();
    let served = |(task, of): &(&Task, Parameters)| {
        of.refused(limits).is_none() && too_short(task, overheads, growth::ONE).is_none()
    };
    let asked = all.iter().map(|(_, of)| ratio(of.runtime, of.period));
    let asked = asked.fold(0, u64::saturating_add);
    all.is_empty() || all.iter().all(served) && admits(&limits.of(1), asked)
}

/// What a job uses of its runtime at most, with an execution time that grew: interrupts while it runs and switches count too.
fn used(task: &Task, overheads: &Overheads, factor: u64) -> u64 {
    let interrupts = interrupts(overheads);
    let each = interrupts
        .iter()
        .map(|of| of.demand(task.deadline_ns.get()));
    each.fold(grown(task, overheads, factor).cost, u64::saturating_add)
}

/// Why a runtime is too short for a job, with an execution time and a runtime that grew.
///
/// A job that ends with its runtime used up is throttled at its end. The kernel then begins the next period without a job
/// (`dl_task_timer`). Where the deadline is the period that does not matter: a job that comes later has a new runtime and a new
/// deadline. Where it is shorter, that job has a share of the runtime, as of the time that is left until the deadline of the
/// period (`update_dl_revised_wakeup`), and the rest in the next period.
pub(super) fn too_short(task: &Task, overheads: &Overheads, factor: u64) -> Option<String> {
    let of = parameters(task)?;
    let runtime = growth::grown(of.runtime, factor);
    let used = used(task, overheads, factor);
    if runtime < growth::grown(task.execution_ns.get(), factor) {
        Some("its runtime is shorter than its execution time: the kernel throttles it".to_owned())
    } else if runtime < used {
        Some(format!(
            "a job may use {used} ns of its runtime of {runtime} ns, with two switches and the interrupts until its \
             deadline: the kernel may throttle it"
        ))
    } else {
        (runtime == used && of.deadline < of.period).then(|| {
            format!(
                "a job may use up its runtime of {}, and its deadline is shorter than its period: the kernel may then \
                 throttle the next job; a longer `runtime` avoids that",
                Nanos::new(runtime)
            )
        })
    }
}

/// Takes verdicts back that the kernel's budgets contradict: of who may use up its runtime, and of all on its CPUs, because the
/// rest of its job comes at another time.
pub(super) fn throttled(set: &TaskSet, check: &mut TasksCheck) {
    let refused = check.admission.as_ref().is_some_and(|of| !of.admitted);
    let of_task = |task: &Task| too_short(task, &set.overheads, growth::ONE);
    let short: Vec<Option<String>> = set.tasks.iter().map(of_task).collect();
    let cpus: Vec<CpuSet> = check.tasks.iter().map(|of| of.cpus.clone()).collect();
    for (at, bound) in check.tasks.iter_mut().enumerate() {
        let disturbs =
            |other: &usize| short[*other].is_some() && !cpus[*other].common(&cpus[at]).is_empty();
        let undecided = bound.why.as_deref() == Some(UNSHOWN);
        let met = bound.verdict == TaskVerdict::Met;
        let why = if let Some(why) = short[at].as_ref().filter(|_| met || undecided) {
            why.clone()
        } else if !met {
            continue;
        } else if let Some(other) = (0..short.len()).find(disturbs) {
            format!(
                "{} may use up its runtime and go on later, which these analyses do not cover",
                set.tasks[other].name
            )
        } else if refused && parameters(&set.tasks[at]).is_some() {
            "the kernel refuses SCHED_DEADLINE to this set".to_owned()
        } else {
            continue;
        };
        bound.verdict = TaskVerdict::NotShown;
        bound.why = Some(why);
    }
}
