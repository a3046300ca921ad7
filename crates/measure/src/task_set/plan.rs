// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What the threads of a set are, before they are: policies, CPUs, resources, the parts of a job.

use punctual_model::tasks::{CriticalSection, Protocol, Task, TaskPolicy, TaskSet, TasksCheck};
use punctual_model::{CpuId, CpuSet, Nanos, Policy};
use punctual_sys::SysRoot;
use punctual_sys::mutex::{Protocol as Raw, ProtocolMutex};

use super::jobs::Step;
use crate::budget::Budgets;
use crate::crew::Post;
use crate::duty::Duty;
use crate::error::MeasureError;

/// The most tasks that are run: each is a thread with its stack and rings.
pub const MOST_TASKS: usize = 100;

/// What all CPUs together may be asked for where nothing throttles real-time threads.
const SAFE_SHARE: f64 = 0.95;

pub(super) fn fail(set: &TaskSet, reason: impl Into<String>) -> MeasureError {
    MeasureError::Spec {
        option: format!("set {}", set.name),
        reason: reason.into(),
    }
}

/// Returns the policy of a task's thread.
pub(super) fn policy(task: &Task) -> Option<Policy> {
    Some(match task.policy {
        TaskPolicy::Fifo { priority } => Policy::Fifo {
            priority: priority?,
        },
        TaskPolicy::Rr { priority } => Policy::RoundRobin {
            priority: priority?,
        },
        TaskPolicy::Deadline { runtime_ns } => Policy::Deadline {
            runtime: runtime_ns,
            period: task.period_ns,
        },
        TaskPolicy::Ext { .. } => Policy::Ext,
        TaskPolicy::Other => Policy::Other { nice: 0 },
    })
}

/// Returns the deadline that the kernel is to be given, where it is not the end of the period.
pub(super) fn shorter_deadline(task: &Task) -> Option<Nanos> {
    let is_deadline = matches!(task.policy, TaskPolicy::Deadline { .. });
    (is_deadline && task.deadline_ns < task.period_ns).then_some(task.deadline_ns)
}

/// Returns where and how each task runs.
///
/// # Errors
///
/// [`MeasureError::Spec`] where a task has no priority, or there are too many.
pub(super) fn posts(check: &TasksCheck) -> Result<Vec<Post>, MeasureError> {
    let set = &check.set;
    if set.tasks.is_empty() || set.tasks.len() > MOST_TASKS {
        let count = set.tasks.len();
        return Err(fail(
            set,
            format!("{count} tasks: must be 1 to {MOST_TASKS} to be run"),
        ));
    }
    let each = set.tasks.iter().zip(&check.tasks);
    each.map(|(task, bound)| {
        let policy = policy(task).ok_or_else(|| {
            let reason = format!("task {}: no priority is left for it", task.name);
            fail(set, reason)
        })?;
        // The kernel has 15 bytes for it. `--explain` knows our threads by their begin.
        let mut name = format!("tasks/{}", task.name.replace('\0', ""));
        while name.len() > 15 {
            name.pop();
        }
        Ok(Post {
            name,
            policy,
            cpus: bound.cpus.clone(),
        })
    })
    .collect()
}

/// Refuses an analysis that does not belong to its set: a guest gets both as text, which has been through other hands.
fn is_whole(check: &TasksCheck) -> Result<(), MeasureError> {
    let set = &check.set;
    if set.tasks.len() != check.tasks.len() {
        let reason = format!(
            "{} tasks, and an analysis of {}",
            set.tasks.len(),
            check.tasks.len()
        );
        return Err(fail(set, reason));
    }
    let mut each = set.tasks.iter();
    match each.find(|task| task.period_ns.is_zero() || task.execution_ns.is_zero()) {
        None => Ok(()),
        Some(task) => {
            let reason = format!("task {}: its period or execution time is 0", task.name);
            Err(fail(set, reason))
        }
    }
}

/// Refuses a set that the machine would not run as it says, before anything starts.
///
/// # Errors
///
/// [`MeasureError::Spec`] where the set is at fault, [`MeasureError::Unsupported`] where the machine is.
pub(super) fn refuse(
    check: &TasksCheck,
    sys: &SysRoot,
    machine: &CpuSet,
) -> Result<(), MeasureError> {
    let set = &check.set;
    is_whole(check)?;
    let budgets = Budgets::read(sys);
    one_scheduler(check)?;
    let real_time = |task: &&Task| is_real_time(task);
    let Some(first) = set.tasks.iter().find(real_time) else {
        return Ok(());
    };
    let closed = |runtime_us: i64| runtime_us == 0;
    let of_groups = budgets.groups.iter().find(|(_, b)| closed(b.runtime_us));
    let fixed = set.tasks.iter().any(|task| task.policy.is_throttled());
    let file = match of_groups {
        Some((dir, _)) if fixed => Some(format!("{dir}/cpu.rt_runtime_us")),
        _ => budgets
            .system
            .filter(|b| closed(b.runtime_us))
            .map(|_| "/proc/sys/kernel/sched_rt_runtime_us".to_owned()),
    };
    if let Some(file) = file {
        return Err(MeasureError::Unsupported {
            what: format!(
                "run task {}: real-time threads get no CPU time here, {file} is 0",
                first.name
            ),
            hint: Some(format!("allow them some: echo 950000 > {file}")),
        });
    }
    if let Some(admission) = check.admission.as_ref().filter(|a| !a.admitted) {
        let why = match admission.refused.as_slice() {
            [] => "together they ask for more than it has left".to_owned(),
            reasons => reasons.join("; "),
        };
        return Err(MeasureError::Unsupported {
            what: format!("the kernel admits not all SCHED_DEADLINE tasks of the set: {why}"),
            hint: Some(
                "`punctual tasks check` computes the admission without running anything".to_owned(),
            ),
        });
    }
    if !budgets.leave_something() && leaves_nothing(check, machine) {
        return Err(fail(
            set,
            format!(
                "its real-time tasks would use all the time of CPUs {machine}, and nothing else would run, or \
                 next to nothing, with these limits: {}",
                budgets.describe()
            ),
        ));
    }
    Ok(())
}

/// Whether nothing ordinary runs while it does. A BPF scheduler that starves others is taken away by the kernel.
fn is_real_time(task: &Task) -> bool {
    task.policy != TaskPolicy::Other && task.policy.ext().is_none()
}

/// Refuses a set that a BPF scheduler of ours would not have as a whole, each task on a CPU of its own choice.
fn one_scheduler(check: &TasksCheck) -> Result<(), MeasureError> {
    let set = &check.set;
    let Some(scheduler) = set.tasks.iter().find_map(|task| task.policy.ext()) else {
        return Ok(());
    };
    for (task, bound) in set.tasks.iter().zip(&check.tasks) {
        let reason = if task.policy.ext() != Some(scheduler) {
            "a BPF scheduler has all tasks of a set or none"
        } else if bound.cpus.len() != 1 {
            "a BPF scheduler of ours keeps each task on one CPU: name it, or run all on one with --cpus 0"
        } else {
            continue;
        };
        return Err(fail(set, format!("task {}: {reason}", task.name)));
    }
    Ok(())
}

/// Whether real-time tasks take nearly all of the time of every CPU.
fn leaves_nothing(check: &TasksCheck, machine: &CpuSet) -> bool {
    let real_time = |at: usize| is_real_time(&check.set.tasks[at]);
    let share = |at: usize| {
        let task = &check.set.tasks[at];
        task.execution_ns.as_secs_f64() / task.period_ns.as_secs_f64()
    };
    let all = 0..check.tasks.len();
    let (pinned, free): (Vec<usize>, Vec<usize>) = all
        .filter(|at| real_time(*at))
        .partition(|at| check.tasks[*at].cpus.len() == 1);
    let on = |cpu: CpuId| -> f64 {
        let of = pinned
            .iter()
            .filter(|at| check.tasks[**at].cpus.contains(cpu));
        of.map(|at| share(*at)).sum::<f64>().min(1.0)
    };
    let used: f64 =
        machine.iter().map(on).sum::<f64>() + free.iter().map(|at| share(*at)).sum::<f64>();
    #[expect(clippy::cast_precision_loss, reason = "a number of CPUs")]
    let there = machine.len() as f64;
    used >= SAFE_SHARE * there
}

/// Makes the set's resources.
///
/// # Errors
///
/// [`MeasureError::Spec`] for a ceiling that a task without fixed priority would take, [`MeasureError::Unsupported`] where
/// the C library has no such mutex.
pub(super) fn locks(set: &TaskSet) -> Result<Vec<ProtocolMutex>, MeasureError> {
    let make = |resource: &punctual_model::tasks::Resource| {
        let users = set
            .tasks
            .iter()
            .filter(|t| takes(&t.sections, &resource.name));
        let raw = match resource.protocol {
            Protocol::None => Raw::None,
            Protocol::Inheritance => Raw::Inherit,
            Protocol::Ceiling => {
                let mut ceiling = 1;
                for task in users {
                    let Some(priority) = task.policy.priority() else {
                        return Err(fail(
                            set,
                            format!(
                                "task {} takes {} with protocol ceiling, which needs a fixed priority: use fifo or rr, or \
                                 the protocol inheritance",
                                task.name, resource.name
                            ),
                        ));
                    };
                    ceiling = ceiling.max(priority);
                }
                Raw::Protect { ceiling }
            }
        };
        ProtocolMutex::new(raw).map_err(|err| MeasureError::Unsupported {
            what: format!(
                "this machine has no mutexes with protocol {}, as resource {} is to have: {err}",
                resource.protocol.name(),
                resource.name
            ),
            hint: None,
        })
    };
    set.resources.iter().map(make).collect()
}

fn takes(sections: &[CriticalSection], resource: &str) -> bool {
    let one = |s: &CriticalSection| s.resource == resource || takes(&s.sections, resource);
    sections.iter().any(one)
}

/// Returns the parts of a task's jobs: half of what lies outside of sections, the sections, the rest. `additions` says how
/// many take a time, `share` the part of each time that is worked.
pub(super) fn steps(
    set: &TaskSet,
    task: &Task,
    share: Duty,
    additions: &impl Fn(Nanos) -> u64,
) -> Box<[Step]> {
    let work = |span: Nanos| Step::Work(additions(share.part_of(span)));
    let inside = sum(&task.sections);
    let outside = task.execution_ns - inside;
    let half = Nanos::new(outside.get() / 2);
    let mut steps = vec![work(half)];
    push(set, &task.sections, &work, &mut steps);
    steps.push(work(outside - half));
    steps.retain(|step| *step != Step::Work(0));
    steps.into()
}

fn push(
    set: &TaskSet,
    sections: &[CriticalSection],
    work: &impl Fn(Nanos) -> Step,
    steps: &mut Vec<Step>,
) {
    for section in sections {
        let place = set
            .resources
            .iter()
            .position(|r| r.name == section.resource);
        // The file's reader refuses resources that there are not.
        let Some(resource) = place else { continue };
        steps.push(Step::Lock(resource));
        steps.push(work(section.length_ns - sum(&section.sections)));
        push(set, &section.sections, work, steps);
        steps.push(Step::Unlock(resource));
    }
}

fn sum(sections: &[CriticalSection]) -> Nanos {
    let lengths = sections.iter().map(|s| s.length_ns);
    lengths.fold(Nanos::ZERO, |all, length| all + length)
}
