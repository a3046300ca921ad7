// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Every analysis that applies to a set, and one verdict.

mod budget;
mod deadline;
mod global;
mod one;
mod words;

use punctual_model::tasks::{
    AppliedTest, Overheads, Partition, PartitionMethod, PartitionedCpu, SetVerdict,
    TASKS_CHECK_FORMAT, Task, TaskBound, TaskPolicy, TaskSet, TaskVerdict, TasksCheck,
};
use punctual_model::{CpuId, CpuSet, Ordered as _};

use self::global::Together;
use self::one::OneCpu;
use crate::admission::Limits;
use crate::bounds::utilisation;
use crate::edf_response::Due;
use crate::growth;
use crate::several::{Fit, assign};
use crate::work::{Effort, Load, Work, load};

/// Why a task has no bound where the effort ran out.
const TOO_LONG: &str = "the analysis needs more steps than it may take";

/// A task as analysis sees it: with two switches a job, and wake-ups as jitter.
pub(crate) fn work(task: &Task, overheads: &Overheads) -> Work {
    grown(task, overheads, growth::ONE)
}

/// The same with an execution time that grew; overheads did not.
fn grown(task: &Task, overheads: &Overheads, factor: u64) -> Work {
    let switches = overheads.switch_ns.get().saturating_mul(2);
    Work {
        cost: growth::grown(task.execution_ns.get(), factor).saturating_add(switches),
        period: task.period_ns.get(),
        deadline: task.deadline_ns.get(),
        jitter: task
            .jitter_ns
            .get()
            .saturating_add(overheads.wake_up_ns.get()),
        early: 0,
    }
}

/// The same as the kernel serves a `SCHED_DEADLINE` task. A job that comes before the period of a late one is over uses what that
/// left of its runtime, and then waits for a period of its own, which is two switches more. It leaves more itself then, so that
/// job after job may use more, but never longer than the one before was late. Any job may leave some: the execution time is that
/// of the longest.
pub(crate) fn served(task: &Task, overheads: &Overheads, factor: u64) -> Work {
    let work = grown(task, overheads, factor);
    if !matches!(task.policy, TaskPolicy::Deadline { .. }) || work.jitter == 0 {
        return work;
    }
    let switches = overheads.switch_ns.get().saturating_mul(2);
    Work {
        cost: work.cost.saturating_add(switches),
        early: work.cost.min(work.jitter),
        ..work
    }
}

/// Whether the kernel counts deadlines from wake-ups that may come later than releases are due.
fn due_late(set: &TaskSet, members: &[usize]) -> bool {
    members.iter().any(|at| {
        let task = &set.tasks[*at];
        let late = !task.jitter_ns.is_zero() || !set.overheads.wake_up_ns.is_zero();
        late && matches!(task.policy, TaskPolicy::Deadline { .. })
    })
}

/// The interrupts of a CPU as work that goes before all tasks.
pub(crate) fn interrupts(overheads: &Overheads) -> Vec<Work> {
    let loads = overheads.interrupts.iter();
    loads
        .map(|load| {
            Work::new(
                load.takes_ns.get(),
                load.every_ns.get(),
                load.every_ns.get(),
            )
        })
        .collect()
}

/// Compares the load of the tasks on `cpus` with the capacity of those CPUs.
fn by_utilisation(of: String, works: &[Work], cpus: u32) -> (Load, AppliedTest) {
    let total = load(works, cpus.into());
    let test = AppliedTest {
        name: "utilisation".to_owned(),
        of,
        value: Some(utilisation(works)),
        limit: Some(f64::from(cpus)),
        passed: match total {
            Load::Below | Load::Equal => Some(true),
            Load::Above => Some(false),
            Load::Unclear => None,
        },
        exact: true,
        note: None,
        source: "Liu and Layland 1973".to_owned(),
    };
    (total, test)
}

/// What a group of tasks that share CPUs answers.
trait Group {
    /// Judges it.
    fn judge(&self, check: &mut TasksCheck, effort: &mut Effort) -> bool;
    /// The number of questions that decide whether its deadlines are met.
    fn questions(&self) -> usize;
    /// Answers one with all execution times grown.
    fn ask(&self, question: usize, factor: u64, effort: &mut Effort) -> Option<bool>;
    /// The task that a question fails for, with that factor.
    fn fails(&self, question: usize, factor: u64, effort: &mut Effort) -> usize;
}

/// Analyses a set on a machine with these CPUs, or in an exclusive cpuset of them, whose kernel has these limits: the number of CPUs
/// in them does not matter.
pub fn check(
    set: &TaskSet,
    not_understood: Vec<String>,
    machine: &CpuSet,
    limits: &Limits,
) -> TasksCheck {
    counted(set, not_understood, machine, limits).0
}

/// The same, with the steps that it took: what a check costs, on whatever machine.
fn counted(
    set: &TaskSet,
    not_understood: Vec<String>,
    machine: &CpuSet,
    limits: &Limits,
) -> (TasksCheck, u64) {
    let limits = &limits.of(u32::try_from(machine.len()).unwrap_or(u32::MAX));
    let mut check = TasksCheck {
        format: TASKS_CHECK_FORMAT.to_owned(),
        verdict: SetVerdict::NotShown,
        tasks: set
            .tasks
            .iter()
            .map(|task| unknown(task, machine))
            .collect(),
        tests: Vec::new(),
        growth: None,
        breaks_first: None,
        optimal_order: None,
        order: set.order,
        partitions: Vec::new(),
        admission: deadline::admission(set, machine, limits),
        assumptions: words::assumptions(set, machine, limits),
        not_understood,
        set: set.clone(),
    };
    let mut effort = Effort::usual();
    let groups = groups(set, machine);
    let mut shown_missed = false;
    for group in &groups {
        shown_missed |= group.judge(&mut check, &mut effort);
    }
    take_back(set, machine, limits, &mut check);
    if let Some(order) = check.optimal_order.take() {
        // What takes verdicts back does so under any priorities.
        let mut kept = check.clone();
        for bound in &mut kept.tasks {
            bound.verdict = TaskVerdict::Met;
        }
        take_back(set, machine, limits, &mut kept);
        let lost = |of: &TaskBound| of.verdict != TaskVerdict::Met && order.contains(&of.name);
        check.optimal_order = (!kept.tasks.iter().any(lost)).then_some(order);
    }
    let mut assigning = Effort::usual();
    check.partitions = partitions(set, machine, limits, &mut assigning);
    global::compare_with_partitions(&mut check);
    let verdicts = || check.tasks.iter().map(|task| task.verdict);
    check.verdict = if shown_missed || verdicts().any(|v| v == TaskVerdict::Missed) {
        SetVerdict::Missed
    } else if verdicts().all(|v| v == TaskVerdict::Met) {
        SetVerdict::Shown
    } else {
        SetVerdict::NotShown
    };
    let mut growing = Effort::usual();
    if check.verdict == SetVerdict::Shown {
        grow(set, machine, limits, &groups, &mut check, &mut growing);
    }
    (check, effort.spent() + assigning.spent() + growing.spent())
}

/// Takes verdicts back that the set itself contradicts.
fn take_back(set: &TaskSet, machine: &CpuSet, limits: &Limits, check: &mut TasksCheck) {
    deadline::throttled(set, check);
    budget::throttled(set, machine, limits, check);
    budget::waiting(machine, check);
}

/// Finds by which factor all execution times may grow, and with them the runtimes of `SCHED_DEADLINE` tasks.
fn grow(
    set: &TaskSet,
    machine: &CpuSet,
    limits: &Limits,
    groups: &[Box<dyn Group + '_>],
    check: &mut TasksCheck,
    effort: &mut Effort,
) {
    let questions: Vec<(usize, usize)> = groups
        .iter()
        .enumerate()
        .flat_map(|(group, of)| (0..of.questions()).map(move |question| (group, question)))
        .collect();
    let mut unanswered = false;
    let (factor, first) = growth::largest(questions.len() + 1, |at, factor| {
        // The last question is whether throttling starts or the kernel refuses the set, which is nobody's deadline.
        let Some((group, question)) = questions.get(at).copied() else {
            let leaves = budget::leaves(set, machine, limits, factor);
            return Some(leaves && deadline::takes(set, limits, factor));
        };
        let answer = groups[group].ask(question, factor, effort);
        unanswered |= answer.is_none();
        answer
    });
    if unanswered {
        return;
    }
    check.growth = Some(punctual_stats::float(factor) / punctual_stats::float(growth::ONE));
    check.breaks_first = first.and_then(|at| {
        let (group, question) = *questions.get(at)?;
        let task = groups[group].fails(question, factor + 1, effort);
        Some(set.tasks[task].name.clone())
    });
}

fn unknown(task: &Task, machine: &CpuSet) -> TaskBound {
    TaskBound {
        name: task.name.clone(),
        cpus: cpus(task, machine),
        verdict: TaskVerdict::NotShown,
        response_ns: None,
        exact: false,
        slack_ns: None,
        utilisation: punctual_stats::float(task.execution_ns.get())
            / punctual_stats::float(task.period_ns.get()),
        blocking_ns: punctual_model::Nanos::ZERO,
        interference: Vec::new(),
        why: None,
    }
}

/// The CPUs of a task: those that it names, or all.
fn cpus(task: &Task, machine: &CpuSet) -> CpuSet {
    match task.cpus.is_empty() {
        true => machine.clone(),
        false => task.cpus.clone(),
    }
}

/// The tasks that share CPUs, directly or through others.
fn groups<'a>(set: &'a TaskSet, machine: &CpuSet) -> Vec<Box<dyn Group + 'a>> {
    let mut groups: Vec<(CpuSet, Vec<usize>)> = Vec::new();
    for (number, task) in set.tasks.iter().enumerate() {
        let mut cpus = cpus(task, machine);
        let mut members = vec![number];
        groups.retain_mut(|(other, theirs)| {
            let apart = other.common(&cpus).is_empty();
            if !apart {
                cpus = cpus.iter().chain(other.iter()).collect();
                members.append(theirs);
            }
            apart
        });
        members.sort_unstable();
        groups.push((cpus, members));
    }
    let whole = groups.len() == 1;
    let each = groups
        .into_iter()
        .map(|(cpus, members)| -> Box<dyn Group + 'a> {
            let shared = (!whole).then(|| shared_outside(set, &members)).flatten();
            match (cpus.len(), cpus.iter().next()) {
                (1, Some(cpu)) => Box::new(OneCpu::new(set, cpu, members, shared)),
                _ => Box::new(Together::new(set, &cpus, machine, members)),
            }
        });
    each.collect()
}

/// A resource that tasks outside of `members` take too.
fn shared_outside(set: &TaskSet, members: &[usize]) -> Option<String> {
    let inside = words::resources_of(set, |task| members.contains(&task));
    let outside = words::resources_of(set, |task| !members.contains(&task));
    inside
        .into_iter()
        .find(|name| outside.contains(name))
        .map(str::to_owned)
}

/// Assignments of the tasks that may run on several CPUs to one each, all others being where they are.
/// Each CPU keeps what real-time throttling and admission leave of it.
fn partitions(
    set: &TaskSet,
    machine: &CpuSet,
    limits: &Limits,
    effort: &mut Effort,
) -> Vec<Partition> {
    let all: CpuSet = set
        .tasks
        .iter()
        .flat_map(|t| cpus(t, machine).iter().collect::<Vec<_>>())
        .collect();
    let free = set.tasks.iter().any(|task| cpus(task, machine).len() > 1);
    if !free {
        return Vec::new();
    }
    let fixed = set.tasks.iter().all(|task| task.policy.is_fixed());
    let edf = set.tasks.iter().all(|task| task.policy.is_earliest_first());
    let covered = |task: &Task| task.sections.is_empty() && task.waits_ns.is_none();
    if !fixed && !edf || !set.tasks.iter().all(covered) {
        return Vec::new();
    }
    let mut order: Vec<usize> = (0..set.tasks.len()).collect();
    order.order_by_key(|at| (std::cmp::Reverse(set.tasks[*at].policy.priority()), *at));
    let works: Vec<Work> = order
        .iter()
        .map(|at| served(&set.tasks[*at], &set.overheads, growth::ONE))
        .collect();
    let numbers: Vec<CpuId> = all.iter().collect();
    let above = interrupts(&set.overheads);
    let may = |task: usize, cpu: usize, there: &[usize]| {
        let with = || there.iter().chain([&task]).map(|at| &set.tasks[order[*at]]);
        cpus(&set.tasks[order[task]], machine).contains(numbers[cpu])
            && budget::leaves_one(with(), &set.overheads, numbers[cpu], limits)
            && deadline::serves_one(with(), &set.overheads, limits)
    };
    let level = |at: &usize| set.tasks[*at].policy.priority().unwrap_or(0);
    let levels: Vec<u8> = order.iter().map(level).collect();
    let fit = match (fixed, due_late(set, &order)) {
        (true, _) => Fit::Fixed(&levels),
        (false, true) => Fit::Edf(Due::FromWakeUps),
        (false, false) => Fit::Edf(Due::FromReleases),
    };
    let methods = [
        PartitionMethod::FirstFitDecreasing,
        PartitionMethod::WorstFitDecreasing,
    ];
    let each = methods.into_iter().map(|method| {
        let worst = method == PartitionMethod::WorstFitDecreasing;
        let assigned = assign(&works, numbers.len(), &above, fit, worst, may, effort);
        let name = |at: &usize| set.tasks[order[*at]].name.clone();
        let of_cpu = assigned
            .cpus
            .iter()
            .zip(&numbers)
            .map(|(tasks, cpu)| PartitionedCpu {
                cpu: *cpu,
                tasks: tasks.iter().map(name).collect(),
                utilisation: utilisation(&tasks.iter().map(|at| works[*at]).collect::<Vec<_>>()),
            });
        Partition {
            method,
            passed: assigned.left_over.is_empty(),
            cpus: of_cpu.collect(),
            left_over: assigned.left_over.iter().map(name).collect(),
        }
    });
    each.collect()
}

/// Deadline minus bound.
fn slack(deadline: u64, response: u64) -> i64 {
    let signed = |time| i64::try_from(time).unwrap_or(i64::MAX);
    signed(deadline) - signed(response)
}

#[cfg(test)]
#[path = "check/cost.rs"]
mod cost;
