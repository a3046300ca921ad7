// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What a verdict assumes, in sentences.

use std::collections::BTreeSet;

use punctual_model::CpuSet;
use punctual_model::tasks::{CriticalSection, Overheads, Task, TaskPolicy, TaskSet};

use super::budget::counted;
use crate::admission::Limits;
use punctual_model::Gathered as _;

/// What the verdict assumes.
pub(super) fn assumptions(set: &TaskSet, machine: &CpuSet, limits: &Limits) -> Vec<String> {
    let mut all = Vec::new();
    let observed = set
        .tasks
        .iter()
        .filter_map(|task| task.observed_in.as_deref());
    let runs: BTreeSet<&str> = observed.into_set();
    let count = set
        .tasks
        .iter()
        .filter(|task| task.observed_in.is_some())
        .count();
    if count > 0 {
        let runs: Vec<&str> = runs.into_iter().collect();
        all.push(format!(
            "No job executes longer than the longest that was observed: {count} of {} execution times are maxima \
             observed in run {}, which are no worst cases",
            set.tasks.len(),
            runs.join(", ")
        ));
    } else {
        all.push("No job executes longer than the file says".to_owned());
    }
    all.push(
        "No release comes earlier than a period after the one before, or later than its jitter"
            .to_owned(),
    );
    let overheads = &set.overheads;
    if *overheads == Overheads::default() {
        all.push("The system takes no time for itself: the file has no [overheads]".to_owned());
    } else if let Some(run) = &overheads.observed_in {
        // Runs observe neither of the others.
        let others = match overheads.switch_ns.is_zero() && overheads.interrupts.is_empty() {
            true => "Switches and interrupts take no time: [overheads] has none",
            false => "No switch or interrupt takes longer than [overheads] says",
        };
        all.push(format!(
            "No wake-up takes longer than the longest observed in run {run}"
        ));
        all.push(others.to_owned());
    } else {
        all.push("No wake-up, switch or interrupt takes longer than [overheads] says".to_owned());
    }
    all.push("Nothing else runs at these priorities or above on these CPUs".to_owned());
    let deadline = |task: &Task| matches!(task.policy, TaskPolicy::Deadline { .. });
    if set.tasks.iter().any(deadline) {
        let name = if machine.len() == 1 { "CPU" } else { "CPUs" };
        all.push(format!(
            "SCHED_DEADLINE tasks have {name} {machine}, which is all of the machine or an exclusive cpuset"
        ));
    }
    let fixed = set.tasks.iter().any(|task| task.policy.is_throttled());
    if fixed && let Some(runtime) = limits.runtime_us {
        all.push(format!(
            "Real-time throttling never starts: {} stay below {runtime} of each {} µs",
            counted(set.tasks.iter().any(deadline), overheads),
            limits.period_us
        ));
    }
    if set
        .tasks
        .iter()
        .any(|task| matches!(task.policy, TaskPolicy::Rr { .. }))
    {
        all.push(
            "Tasks of one priority delay each other: the slices of round robin are not modelled"
                .to_owned(),
        );
    }
    if set.tasks.iter().any(|task| !task.offset_ns.is_zero()) {
        all.push("Offsets are not used: the bounds hold for any".to_owned());
    }
    all.extend_from_slice(&set.assumes);
    all
}

/// The names of the resources that tasks take.
pub(super) fn resources_of(set: &TaskSet, of: impl Fn(usize) -> bool) -> BTreeSet<&str> {
    fn add<'a>(sections: &'a [CriticalSection], into: &mut BTreeSet<&'a str>) {
        for section in sections {
            into.insert(&section.resource);
            add(&section.sections, into);
        }
    }
    let mut all = BTreeSet::new();
    for (number, task) in set.tasks.iter().enumerate() {
        if of(number) {
            add(&task.sections, &mut all);
        }
    }
    all
}
