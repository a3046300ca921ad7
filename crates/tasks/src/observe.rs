// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What a watched program's run says of a task set: the longest times that were observed. They are no worst cases.

mod rests;

use std::collections::BTreeSet;

use punctual_model::tasks::{Overheads, PriorityOrder, Task, TaskPolicy, TaskSet};
use punctual_model::watch::{Watched, WatchedThread};
use punctual_model::{CpuSet, Nanos, Policy, RunRecord};

use crate::file::{Observed, ObservedThread};

/// The longest time that a thread spent in a phase of a cycle.
fn longest(thread: &WatchedThread, phase: &str) -> Nanos {
    let found = thread.phases.iter().find(|of| of.phase == phase);
    Nanos::new(found.map_or(0, |of| of.max_ns))
}

/// The longest execution time of a cycle, with the interrupts that came meanwhile.
fn execution(thread: &WatchedThread) -> Nanos {
    longest(thread, "running") + longest(thread, "interrupted")
}

/// The longest time that a cycle waited in its middle: for a lock, a file, a page, another thread.
fn waits(thread: &WatchedThread) -> Option<Nanos> {
    Some(longest(thread, "blocked")).filter(|waited| !waited.is_zero())
}

/// The threads, each once: of one whose cycle changed, what it did for longest.
fn threads(watched: &Watched) -> Vec<&WatchedThread> {
    // From its first release to its last it may have done something else in between.
    let lasted = |of: &WatchedThread| match of.period_ns {
        Some(period) => {
            let releases = of.cycles.saturating_add(of.missed_releases);
            Nanos::new(period.get().saturating_mul(releases))
        }
        None => of.to_ns.unwrap_or_default() - of.from_ns.unwrap_or_default(),
    };
    // What has no period is no task.
    let rank = |of: &WatchedThread| (of.period_ns.is_some(), lasted(of), of.thread);
    let is_part = |thread: &WatchedThread| {
        let others = watched.threads.iter().filter(|of| of.tid == thread.tid);
        thread.from_ns.is_some() && others.map(rank).any(|other| other > rank(thread))
    };
    let threads = watched.threads.iter();
    threads.filter(|thread| !is_part(thread)).collect()
}

/// The names of the threads, each once: a second `worker` is `worker-2`, or the next that no thread has.
fn names(threads: &[&WatchedThread]) -> Vec<String> {
    let plain = |thread: &WatchedThread| {
        let plain: String = thread.name.chars().filter(|c| !c.is_control()).collect();
        match plain.is_empty() {
            true => "thread".to_owned(),
            false => plain,
        }
    };
    let plain: Vec<String> = threads.iter().map(|thread| plain(thread)).collect();
    let mut used: BTreeSet<String> = plain.iter().cloned().collect();
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let each = plain.iter().map(|name| {
        if seen.insert(name) {
            return name.clone();
        }
        let numbered = (2_u32..).map(|count| format!("{name}-{count}"));
        let mut free = numbered.filter(|name| used.insert(name.clone()));
        free.next().unwrap_or_default()
    });
    each.collect()
}

/// The longest execution times of a run's threads, by name; nothing where none were watched.
pub fn execution_times(run: &RunRecord) -> Option<Observed> {
    let threads = threads(run.watched.as_ref()?);
    let times = names(&threads).into_iter().zip(threads);
    let of = |(name, thread): (String, &WatchedThread)| {
        let mut assumes: Vec<String> = rests::of_run(run).into_iter().collect();
        assumes.extend(rests::of_thread(run, &name, thread));
        let execution_ns = execution(thread);
        let observed = ObservedThread {
            execution_ns,
            waits_ns: waits(thread),
            assumes,
        };
        (name, observed)
    };
    Some(times.map(of).collect())
}

/// Gives a set the longest wake-up of a run in place of its own, with what that rests on. Returns whether the run has wake-ups.
pub fn take_overheads(set: &mut TaskSet, run: &RunRecord) -> bool {
    let Some(observed) = overheads(run) else {
        return false;
    };
    let own = std::mem::take(&mut set.overheads);
    set.overheads = Overheads {
        switch_ns: own.switch_ns,
        interrupts: own.interrupts,
        ..observed
    };
    let rests = rests::of_run(run).filter(|rests| !set.assumes.contains(rests));
    set.assumes.extend(rests);
    true
}

/// What wake-ups cost in a run, at most: jitter for each task of a set that is checked with it.
fn overheads(run: &RunRecord) -> Option<Overheads> {
    let wake_up = match (&run.watched, run.instrument.as_str()) {
        (Some(watched), _) => watched
            .threads
            .iter()
            .map(|thread| longest(thread, "timer") + longest(thread, "wake-up"))
            .max()?,
        (None, "wakeup") => Nanos::new(run.total.max_ns?),
        (None, _) => return None,
    };
    Some(Overheads {
        wake_up_ns: wake_up,
        switch_ns: Nanos::ZERO,
        interrupts: Vec::new(),
        observed_in: Some(run.id.clone()),
    })
}

/// Makes a set of the periodic threads of a run, with remarks for its file; why not, where there are none.
///
/// # Errors
///
/// A sentence where the run watched no program, or no thread of it was periodic.
pub fn set_of(run: &RunRecord) -> Result<(TaskSet, Vec<String>), String> {
    let Some(watched) = &run.watched else {
        return Err(format!(
            "run {} is of {}: only `watch` sees what the threads of a program do",
            run.id, run.instrument
        ));
    };
    let mut tasks = Vec::new();
    let mut remarks = vec![
        format!(
            "Made from run {}. Execution times are the longest that were observed there.",
            run.id
        ),
        "They are no worst cases: a longer run, other input or another machine may exceed them."
            .to_owned(),
    ];
    let mut assumes: Vec<String> = rests::of_run(run).into_iter().collect();
    let mut left_out = Vec::new();
    let (mut moving, mut unknown) = (Vec::new(), Vec::new());
    let threads = threads(watched);
    for (name, thread) in names(&threads).into_iter().zip(threads) {
        let running = execution(thread);
        let Some(period) = thread
            .period_ns
            .filter(|p| !p.is_zero() && !running.is_zero())
        else {
            left_out.push(format!("{name} ({})", thread.policy));
            continue;
        };
        remarks.push(rests::cycles(&name, thread));
        assumes.extend(rests::of_thread(run, &name, thread));
        let deadline = match thread.late.rule.as_str() {
            "deadline" => Nanos::new(thread.late.limit_ns),
            _ => period,
        };
        let mut task = Task {
            policy: policy(&thread.policy, running),
            cpus: match affinity(watched, thread) {
                Affinity::One(cpu) => cpu,
                Affinity::Several => {
                    moving.push(name.clone());
                    CpuSet::default()
                }
                Affinity::Unknown => {
                    unknown.push(name.clone());
                    CpuSet::default()
                }
            },
            name,
            period_ns: period,
            deadline_ns: deadline,
            execution_ns: running,
            observed_in: Some(run.id.clone()),
            offset_ns: Nanos::ZERO,
            jitter_ns: Nanos::ZERO,
            waits_ns: waits(thread),
            sections: Vec::new(),
        };
        assumes.extend(reserve(&mut task, run, thread));
        tasks.push(task);
    }
    if tasks.is_empty() {
        return Err(format!(
            "no thread that run {} watched had a period",
            run.id
        ));
    }
    assumes.push(format!(
        "Policies and CPUs of threads did not change in run {}, which read them once",
        run.id
    ));
    if !moving.is_empty() {
        assumes.push(format!(
            "May use all CPUs: {}; in run {} they were not bound to one",
            moving.join(", "),
            run.id
        ));
    }
    if !unknown.is_empty() {
        assumes.push(format!(
            "May use all CPUs: {}; run {} does not know to which they are bound",
            unknown.join(", "),
            run.id
        ));
    }
    assumes.extend(rests::others(watched, left_out));
    remarks.push(
        "Not observed, and to be added by hand: resources that tasks share, jitter of releases that do not come from a timer."
            .to_owned(),
    );
    let set = TaskSet {
        name: run.name.clone().unwrap_or_else(|| "observed".to_owned()),
        order: PriorityOrder::default(),
        tasks,
        resources: Vec::new(),
        overheads: overheads(run).unwrap_or_default(),
        assumes,
    };
    Ok((set, remarks))
}

/// The policy in the words of the record: `real-time 80`, `f:80`, `d:2ms:4ms`, `deadline`, `nice 0`.
fn policy(text: &str, running: Nanos) -> TaskPolicy {
    let fifo = |priority| TaskPolicy::Fifo {
        priority: Some(priority),
    };
    match text.parse() {
        Ok(Policy::Fifo { priority }) => fifo(priority),
        Ok(Policy::RoundRobin { priority }) => TaskPolicy::Rr {
            priority: Some(priority),
        },
        Ok(Policy::Deadline { runtime, .. }) => TaskPolicy::Deadline {
            runtime_ns: runtime,
        },
        Ok(_) => TaskPolicy::Other,
        Err(_) if text.starts_with("deadline") => TaskPolicy::Deadline {
            runtime_ns: running,
        },
        Err(_) => {
            let priority = text.strip_prefix("real-time ").and_then(|p| p.parse().ok());
            let priority = priority.filter(|p| (1..=99).contains(p));
            priority.map_or(TaskPolicy::Other, fifo)
        }
    }
}

/// Gives a `SCHED_DEADLINE` task the period and the deadline that the kernel schedules it by. Returns what that rests on.
fn reserve(task: &mut Task, run: &RunRecord, thread: &WatchedThread) -> Vec<String> {
    let TaskPolicy::Deadline { .. } = task.policy else {
        return Vec::new();
    };
    let Task { name, .. } = &*task;
    let Ok(Policy::Deadline { period, .. }) = thread.policy.parse() else {
        return vec![format!(
            "The kernel has the runtime, deadline and period of {name} that the set has: run {} ended without its \
             SCHED_DEADLINE parameters",
            run.id
        )];
    };
    let mut assumes = vec![match thread.late.rule.as_str() {
        "deadline" => format!(
            "The SCHED_DEADLINE deadline of {name} is its period of {period}, which run {} has, and not the {} that \
             its cycles were judged by",
            run.id,
            Nanos::new(thread.late.limit_ns)
        ),
        _ => format!(
            "The SCHED_DEADLINE deadline of {name} is its period of {period}: run {} does not have it",
            run.id
        ),
    }];
    // Observed periods are means where no timer says them.
    let less = period.get() - period.get() / 100;
    let cycles = less.div_ceil(task.period_ns.get());
    if cycles > 1 {
        assumes.push(format!(
            "No deadline is asked of single cycles of {name}: they come every {}, and {cycles} of them are a job of its \
             SCHED_DEADLINE period",
            task.period_ns
        ));
        task.execution_ns = Nanos::new(task.execution_ns.get().saturating_mul(cycles));
    }
    (task.period_ns, task.deadline_ns) = (period, period);
    assumes
}

/// What a run knows of the CPUs that a thread may use.
enum Affinity {
    One(CpuSet),
    Several,
    Unknown,
}

/// Where a thread ran says nothing: one that may move often stays.
fn affinity(watched: &Watched, thread: &WatchedThread) -> Affinity {
    let habits = watched.habits.iter();
    // What one did is said of one of its parts.
    let parts = watched.threads.iter().filter(|of| of.tid == thread.tid);
    let parts: Vec<u32> = parts.map(|of| of.thread).collect();
    let mut own = habits.filter(|habit| parts.iter().any(|part| habit.threads.contains(part)));
    if own.clone().any(|habit| habit.rule.id == "not-pinned") {
        return Affinity::Several;
    }
    // The record counts the threads that ended before it was read how they are set up, and does not name them.
    let was_read = watched.habits_judged.is_some()
        && (watched.set_up_unjudged == 0 || own.any(|habit| habit.count.is_none()));
    let pieces = thread.worst.iter().flat_map(|cycle| &cycle.pieces);
    let running = pieces.filter(|piece| piece.phase == "running");
    let seen: CpuSet = running.map(|piece| piece.cpu).collect();
    match was_read && seen.len() == 1 {
        true => Affinity::One(seen),
        false => Affinity::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_of_one_name_have_numbers_that_no_other_has() {
        let thread = |name: &str| WatchedThread {
            name: name.to_owned(),
            ..WatchedThread::default()
        };
        let of = |all: [&str; 4]| names(&all.map(thread).each_ref());
        let expected = ["worker", "worker-3", "worker-2", "worker-4"];
        assert_eq!(of(["worker", "worker", "worker-2", "worker"]), expected);
        let expected = ["a", "thread", "thread-2", "a-2"];
        assert_eq!(of(["a", "", "\n", "a"]), expected);
    }

    #[test]
    fn of_a_thread_whose_cycle_changed_the_longest_part_counts() {
        let part = |thread, tid, span: Option<[u64; 2]>| WatchedThread {
            thread,
            tid,
            from_ns: span.map(|[from, _]| Nanos::from_secs(from)),
            to_ns: span.map(|[_, to]| Nanos::from_secs(to)),
            ..WatchedThread::default()
        };
        // It came back to what it did at first.
        let back = WatchedThread {
            period_ns: Some(Nanos::from_millis(10)),
            cycles: 1_000,
            ..part(4, 9, Some([0, 60]))
        };
        let between = WatchedThread {
            period_ns: Some(Nanos::from_millis(1)),
            cycles: 50_000,
            ..part(5, 9, Some([5, 55]))
        };
        let watched = Watched {
            threads: vec![
                part(0, 7, Some([0, 2])),
                part(1, 8, None),
                part(2, 7, Some([2, 60])),
                part(3, 7, Some([60, 61])),
                back,
                between,
            ],
            ..Watched::default()
        };
        let kept: Vec<u32> = threads(&watched).iter().map(|of| of.thread).collect();
        assert_eq!(kept, [1, 2, 5]);
    }
}
