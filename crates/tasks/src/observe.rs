// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What a watched program's run says of a task set: the longest times that were observed. They are no worst cases.

use std::collections::BTreeSet;

use punctual_model::tasks::{Overheads, PriorityOrder, Task, TaskPolicy, TaskSet};
use punctual_model::watch::WatchedThread;
use punctual_model::{CpuSet, Nanos, RunRecord};

use crate::file::Observed;

/// The longest time that a thread spent in a phase of a cycle.
fn longest(thread: &WatchedThread, phase: &str) -> Nanos {
    let found = thread.phases.iter().find(|of| of.phase == phase);
    Nanos::new(found.map_or(0, |of| of.max_ns))
}

/// The longest execution time of a cycle, with the interrupts that came meanwhile.
fn execution(thread: &WatchedThread) -> Nanos {
    longest(thread, "running") + longest(thread, "interrupted")
}

/// The names of the threads, each once: a second `worker` is `worker-2`, or the next that no thread has.
fn names(threads: &[WatchedThread]) -> Vec<String> {
    let plain = |thread: &WatchedThread| {
        let plain: String = thread.name.chars().filter(|c| !c.is_control()).collect();
        match plain.is_empty() {
            true => "thread".to_owned(),
            false => plain,
        }
    };
    let plain: Vec<String> = threads.iter().map(plain).collect();
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
    let threads = &run.watched.as_ref()?.threads;
    let times = names(threads).into_iter().zip(threads);
    Some(
        times
            .map(|(name, thread)| (name, execution(thread)))
            .collect(),
    )
}

/// What wake-ups and interrupts cost in a run, at most: jitter for each task of a set that is checked with it.
pub fn overheads(run: &RunRecord) -> Option<Overheads> {
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
    let mut left_out = Vec::new();
    for (name, thread) in names(&watched.threads).into_iter().zip(&watched.threads) {
        let running = execution(thread);
        let Some(period) = thread
            .period_ns
            .filter(|p| !p.is_zero() && !running.is_zero())
        else {
            left_out.push(name);
            continue;
        };
        remarks.push(format!(
            "{name}: {} cycles; {} releases passed while it was busy.",
            thread.cycles, thread.missed_releases
        ));
        let deadline = match thread.late.rule.as_str() {
            "deadline" => Nanos::new(thread.late.limit_ns),
            _ => period,
        };
        tasks.push(Task {
            policy: policy(&thread.policy, running),
            cpus: cpus(thread),
            name,
            period_ns: period,
            deadline_ns: deadline,
            execution_ns: running,
            observed_in: Some(run.id.clone()),
            offset_ns: Nanos::ZERO,
            jitter_ns: Nanos::ZERO,
            sections: Vec::new(),
        });
    }
    if tasks.is_empty() {
        return Err(format!(
            "no thread that run {} watched had a period",
            run.id
        ));
    }
    if !left_out.is_empty() {
        remarks.push(format!(
            "Left out, because they had no period: {}.",
            left_out.join(", ")
        ));
    }
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
    };
    Ok((set, remarks))
}

/// The policy in the words of the record: `real-time 80`, `f:80`, `deadline`, `nice 0`.
fn policy(text: &str, running: Nanos) -> TaskPolicy {
    let known = text.parse::<punctual_model::Policy>().ok();
    let priority = text.strip_prefix("real-time ").and_then(|p| p.parse().ok());
    match (known, priority) {
        (Some(punctual_model::Policy::Fifo { priority }), _) => TaskPolicy::Fifo {
            priority: Some(priority),
        },
        (Some(punctual_model::Policy::RoundRobin { priority }), _) => TaskPolicy::Rr {
            priority: Some(priority),
        },
        (None, Some(priority)) if (1..=99).contains(&priority) => TaskPolicy::Fifo {
            priority: Some(priority),
        },
        _ if text.starts_with("deadline") || text.starts_with("d:") => TaskPolicy::Deadline {
            runtime_ns: running,
        },
        _ => TaskPolicy::Other,
    }
}

/// The one CPU that it was on in its longest cycles; any where it moved.
fn cpus(thread: &WatchedThread) -> CpuSet {
    let pieces = thread.worst.iter().flat_map(|cycle| &cycle.pieces);
    let seen: CpuSet = pieces.map(|piece| piece.cpu).collect();
    match thread.migrations == 0 && seen.len() == 1 {
        true => seen,
        false => CpuSet::default(),
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
        let of = |all: [&str; 4]| names(&all.map(thread));
        let expected = ["worker", "worker-3", "worker-2", "worker-4"];
        assert_eq!(of(["worker", "worker", "worker-2", "worker"]), expected);
        let expected = ["a", "thread", "thread-2", "a-2"];
        assert_eq!(of(["a", "", "\n", "a"]), expected);
    }
}
