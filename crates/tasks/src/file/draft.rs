// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A task set as read, before runs are looked up.

use std::collections::BTreeMap;

use punctual_model::Nanos;
use punctual_model::tasks::{TaskPolicy, TaskSet};

use crate::error::TaskSetError;
use crate::priorities;

/// A set as its file has it: what refers to runs is not looked up yet.
#[derive(Clone, Debug, PartialEq)]
pub struct Draft {
    /// The set; times to be looked up are 0.
    pub set: TaskSet,
    /// What the file says and the analysis does not use.
    pub not_understood: Vec<String>,
    /// Runs to look times up in, by the number of the task.
    pub wanted: Vec<(usize, String)>,
    /// The tasks that name no priority.
    pub(crate) unordered: Vec<usize>,
}

/// What a run says of the threads of a program, by their names.
pub type Observed = BTreeMap<String, ObservedThread>;

/// What a run says of one of them.
#[derive(Clone, Debug, PartialEq)]
pub struct ObservedThread {
    /// The longest execution time of a cycle.
    pub execution_ns: Nanos,
    /// The longest time that it waited within a cycle.
    pub waits_ns: Option<Nanos>,
    /// What a set that uses it rests on, in sentences without a full stop.
    pub assumes: Vec<String>,
}

impl Draft {
    /// Looks up what was observed, and gives priorities to tasks that name none.
    ///
    /// # Errors
    ///
    /// [`TaskSetError::Observed`] where a run has no such thread; `look_up` tells the longest execution times by name, and the
    /// identity of the run.
    pub fn resolve<E: From<TaskSetError>>(
        self,
        look_up: impl FnMut(&str) -> Result<(String, Observed), E>,
    ) -> Result<(TaskSet, Vec<String>), E> {
        self.resolve_as(look_up, |_| Ok(()))
    }

    /// The same of a set that `change` makes another one, before priorities are given: which order works depends on all times.
    ///
    /// # Errors
    ///
    /// The same, and what `change` returns.
    pub fn resolve_as<E: From<TaskSetError>>(
        mut self,
        mut look_up: impl FnMut(&str) -> Result<(String, Observed), E>,
        change: impl FnOnce(&mut TaskSet) -> Result<(), E>,
    ) -> Result<(TaskSet, Vec<String>), E> {
        for (number, run) in &self.wanted {
            let (id, observed) = look_up(run)?;
            let Some(task) = self.set.tasks.get_mut(*number) else {
                continue;
            };
            let fail = |reason: String| TaskSetError::Observed {
                task: task.name.clone(),
                reason,
            };
            let Some(thread) = observed.get(&task.name) else {
                let known: Vec<&str> = observed.keys().map(String::as_str).collect();
                return Err(fail(format!(
                    "run {id} watched no thread of this name; it has {}",
                    known.join(", ")
                ))
                .into());
            };
            let longest = thread.execution_ns;
            if longest.is_zero() {
                return Err(fail(format!("run {id} saw no execution time of it")).into());
            }
            for sentence in &thread.assumes {
                // Threads of one run share what is true of the run.
                if !self.set.assumes.contains(sentence) {
                    self.set.assumes.push(sentence.clone());
                }
            }
            task.execution_ns = longest;
            task.waits_ns = task.waits_ns.max(thread.waits_ns);
            task.observed_in = Some(id);
            if let TaskPolicy::Deadline { runtime_ns } = &mut task.policy
                && runtime_ns.is_zero()
            {
                *runtime_ns = longest;
            }
        }
        change(&mut self.set)?;
        priorities::give(&mut self.set, &self.unordered);
        Ok((self.set, self.not_understood))
    }
}
