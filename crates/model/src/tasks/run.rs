// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What was seen when a task set ran, next to what analysis had shown of it.

use serde::{Deserialize, Serialize};

use super::TasksCheck;
use crate::choices;
use crate::units::Nanos;

/// A set, and what analysis shows of it before it runs.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct TasksPlan {
    /// What analysis shows, with the set.
    pub check: TasksCheck,
    /// The schedule from the critical instant on.
    #[serde(default)]
    pub critical: Vec<CriticalSlice>,
}

/// A stretch of time in which a job has a CPU, in the schedule that begins with the release of everything: of execution times and
/// overheads as the set says them, without blocking.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct CriticalSlice {
    /// Number of the task in the set.
    pub task: usize,
    /// Number of the job.
    pub job: u64,
    /// The CPU.
    pub cpu: u32,
    /// Begin, from the release of everything on.
    pub from_ns: Nanos,
    /// End.
    pub to_ns: Nanos,
}

/// A task set that ran. `check` is analysis and nothing else, as `critical` is; all other fields were seen in the run and nowhere else.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct TasksRun {
    /// What analysis had shown before, with the set.
    pub check: TasksCheck,
    /// By analysis, the schedule from the critical instant on. Empty where there is none for the set.
    #[serde(default)]
    pub critical: Vec<CriticalSlice>,
    /// Part of its execution time that each job was to work, above 0 and at most 1.
    pub work: f64,
    /// What was seen of each task, in the order of the set.
    pub tasks: Vec<TaskSeen>,
    /// The response that came nearest to its bound, or went furthest beyond it, with the jobs around it. Null where no job
    /// ended.
    #[serde(default)]
    pub window: Option<WorstWindow>,
}

impl TasksRun {
    /// Returns the jobs that missed their deadlines.
    pub fn missed(&self) -> u64 {
        self.tasks.iter().map(|task| task.missed).sum()
    }

    /// Returns the jobs that ended.
    pub fn jobs(&self) -> u64 {
        self.tasks.iter().map(|task| task.jobs).sum()
    }

    /// Returns the jobs whose response was longer than the bound of their task.
    pub fn above_bound(&self) -> u64 {
        self.tasks.iter().map(|task| task.above_bound).sum()
    }
}

/// What was seen of a task.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct TaskSeen {
    /// Its name.
    pub name: String,
    /// Jobs that ended.
    pub jobs: u64,
    /// Jobs that missed their deadline, those that never began because the run ended before them included.
    pub missed: u64,
    /// Jobs that were still going on at the next release of their task.
    pub overruns: u64,
    /// Releases within the run whose jobs never began, because earlier jobs took until its end.
    pub unfinished: u64,
    /// Longest time from a release to the end of its job. Null where no job ended.
    pub longest_response_ns: Option<Nanos>,
    /// Longest execution time of a job by the CPU clock of its thread, from the end of the job before: going to sleep and
    /// waking up included.
    pub longest_execution_ns: Option<Nanos>,
    /// The latest begin of a job after its release, less the time in which jobs of the set that go first had the CPU.
    pub latest_release_ns: Option<Nanos>,
    /// Times that its thread was preempted.
    pub preemptions: u64,
    /// Jobs whose response was longer than the bound by analysis. 0 where there is no bound.
    pub above_bound: u64,
    /// Those of them that were looked at for the assumption that broke: the first 1000 of each task, and each that was
    /// longer than all before.
    pub examined: u64,
    /// Of those, by the assumption that broke by most.
    pub broke: Vec<BrokeCount>,
    /// The one with the longest response.
    pub worst: Option<JobAboveBound>,
}

/// What analysis takes for granted, and a run can contradict.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Assumption {
    /// No job executes longer than the set says.
    Execution,
    /// No job begins later after its release than its jitter and the overhead of a wake-up say.
    Release,
    /// Nothing that is not of the set runs at these priorities or above.
    SomebodyElse,
    /// The kernel never throttles.
    Throttling,
    /// Overheads are not longer than the set says: no single one of the others broke, all together did.
    Overheads,
}

choices!(Assumption {
    Execution => "execution",
    Release => "release",
    SomebodyElse => "somebody_else",
    Throttling => "throttling",
    Overheads => "overheads",
});

/// How often an assumption broke.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct BrokeCount {
    /// The assumption.
    pub assumption: Assumption,
    /// Jobs.
    pub jobs: u64,
    /// The most by which it was exceeded.
    pub most_ns: Nanos,
}

/// By how much an assumption broke in one job.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Broke {
    /// The assumption.
    pub assumption: Assumption,
    /// The task that broke it, where it is one of the set.
    pub task: Option<String>,
    /// Time beyond what the set says.
    pub excess_ns: Nanos,
}

/// A job whose response was longer than the bound, with the evidence of the run itself.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct JobAboveBound {
    /// Number of the job, from 0.
    pub job: u64,
    /// When it was released, since the start of the run.
    pub release_ns: Nanos,
    /// From its release to its end.
    pub response_ns: Nanos,
    /// What it executed itself, by the CPU clock of its thread.
    pub execution_ns: Nanos,
    /// What earlier jobs of the task, and tasks that go first, executed meanwhile.
    pub others_ns: Nanos,
    /// From the release to its begin, less what of that others of the set executed.
    pub late_ns: Nanos,
    /// From its begin to its end, less its own execution and that of others of the set: nobody of the set had the CPU.
    pub off_cpu_ns: Nanos,
    /// The assumptions that broke, the one that broke by most first.
    pub broke: Vec<Broke>,
}

/// The worst response of a run, with the jobs that ran within it.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct WorstWindow {
    /// Number of the task in the set.
    pub task: usize,
    /// When its job was released, since the start of the run.
    pub from_ns: Nanos,
    /// When it ended.
    pub to_ns: Nanos,
    /// The jobs, by their begin; the job itself included. The first 500.
    pub jobs: Vec<WindowJob>,
}

/// A job within that window.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct WindowJob {
    /// Number of the task in the set.
    pub task: usize,
    /// Number of the job.
    pub job: u64,
    /// When it was released, since the start of the run.
    pub release_ns: Nanos,
    /// When it began.
    pub begin_ns: Nanos,
    /// When it ended.
    pub end_ns: Nanos,
    /// What it executed.
    pub execution_ns: Nanos,
}
