// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What analysis shows of a task set.

use serde::{Deserialize, Serialize};

use super::{PriorityOrder, TaskSet};
use crate::choices;
use crate::cpu::CpuSet;
use crate::units::Nanos;

/// The name and major version of the format that this program writes.
pub const TASKS_CHECK_FORMAT: &str = "punctual.tasks-check/1";

/// What analysis shows of a task set. Nothing in it was seen in a measurement, but for execution times and overheads
/// that say so.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct TasksCheck {
    /// `punctual.tasks-check/1`.
    pub format: String,
    /// The set as it was analysed.
    pub set: TaskSet,
    /// Whether all deadlines are met.
    pub verdict: SetVerdict,
    /// One entry a task, in the order of the set.
    pub tasks: Vec<TaskBound>,
    /// The tests that were applied, with their figures.
    pub tests: Vec<AppliedTest>,
    /// The largest factor by which all execution times may grow with every deadline still shown to be met. Null where it
    /// is not shown as it is, or the factor could not be found.
    pub growth: Option<f64>,
    /// The task that is not shown to meet its deadline beyond that factor. Null where real-time throttling starts or the
    /// kernel refuses the set first, or the factor is a thousand, beyond which nobody looked.
    pub breaks_first: Option<String>,
    /// Fixed priorities that meet every deadline, the highest first, where the ones given do not. Null where there are
    /// none, or they are not needed.
    pub optimal_order: Option<Vec<String>>,
    /// How priorities were given to tasks that name none.
    pub order: PriorityOrder,
    /// Assignments of tasks to CPUs, each task on one. Empty for a set of one CPU.
    pub partitions: Vec<Partition>,
    /// What the kernel says to the `SCHED_DEADLINE` tasks. Null where there are none.
    pub admission: Option<Admission>,
    /// What the verdict assumes.
    pub assumptions: Vec<String>,
    /// What the file says and the analysis does not use.
    pub not_understood: Vec<String>,
}

/// Whether the deadlines of a set are met, by analysis.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SetVerdict {
    /// Shown: all are.
    Shown,
    /// Shown: some are not in the worst case.
    Missed,
    /// Neither was shown.
    NotShown,
}

/// Whether the deadline of a task is met, by analysis.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TaskVerdict {
    /// Shown: always.
    Met,
    /// Shown: not in the worst case.
    Missed,
    /// Neither was shown.
    NotShown,
}

/// What analysis shows of one task.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct TaskBound {
    /// Its name.
    pub name: String,
    /// The CPUs that it may run on.
    pub cpus: CpuSet,
    /// Whether its deadline is met.
    pub verdict: TaskVerdict,
    /// No response is longer. Null where no bound was found.
    pub response_ns: Option<Nanos>,
    /// Whether some response is as long as the bound in the worst case.
    pub exact: bool,
    /// Deadline minus bound; negative where the bound is later.
    pub slack_ns: Option<i64>,
    /// Its share of a CPU.
    pub utilisation: f64,
    /// Longest time that tasks of lower priority keep it from running, by resources that they hold.
    pub blocking_ns: Nanos,
    /// Who delays it within the bound, by how much, the one that costs most first.
    pub interference: Vec<Interference>,
    /// Why there is no bound, or no verdict.
    pub why: Option<String>,
}

/// Who delays a task, by how much.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Interference {
    /// Name of the task, or what else it is.
    pub by: String,
    /// Its jobs, where it is a task.
    pub jobs: Option<u64>,
    /// The delay.
    pub total_ns: Nanos,
}

/// A test that was applied.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct AppliedTest {
    /// Its name.
    pub name: String,
    /// Whose tasks: `CPU 0`, `CPUs 0-1`.
    pub of: String,
    /// The figure that it compares. Null where it is not one figure.
    pub value: Option<f64>,
    /// What the figure must not exceed.
    pub limit: Option<f64>,
    /// Whether it passed. Null: it could not be applied.
    pub passed: Option<bool>,
    /// Whether a failure shows that a deadline is missed.
    pub exact: bool,
    /// What else has to be known.
    pub note: Option<String>,
    /// Where it is from.
    pub source: String,
}

/// How tasks are assigned to CPUs.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum PartitionMethod {
    /// To the first CPU on which it fits, the largest utilisation first.
    FirstFitDecreasing,
    /// To the CPU with the most room on which it fits, the largest utilisation first.
    WorstFitDecreasing,
}

choices!(PartitionMethod {
    FirstFitDecreasing => "first-fit decreasing",
    WorstFitDecreasing => "worst-fit decreasing",
});

/// An assignment of tasks to CPUs.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Partition {
    /// How it was made.
    pub method: PartitionMethod,
    /// Whether every deadline is shown to be met with it.
    pub passed: bool,
    /// The CPUs.
    pub cpus: Vec<PartitionedCpu>,
    /// Tasks that fit on no CPU.
    pub left_over: Vec<String>,
}

/// The tasks of one CPU.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct PartitionedCpu {
    /// The CPU.
    pub cpu: u32,
    /// Its tasks.
    pub tasks: Vec<String>,
    /// How much of it they use.
    pub utilisation: f64,
}

/// What the kernel says to the `SCHED_DEADLINE` tasks of a set.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Admission {
    /// Whether it accepts them all, none other being there.
    pub admitted: bool,
    /// CPUs of the root domain.
    pub cpus: u32,
    /// Bandwidth that they ask for, as the kernel rounds it: 2^20 is one CPU.
    pub asked: u64,
    /// Bandwidth that the kernel keeps for its servers of ordinary threads.
    pub servers: u64,
    /// Bandwidth that there is. Null: the test is off (`sched_rt_runtime_us` is -1).
    pub limit: Option<u64>,
    /// Why single tasks are refused.
    pub refused: Vec<String>,
    /// Largest tardiness of a job under global earliest deadline first. Null where nothing is promised.
    pub tardiness_ns: Option<Nanos>,
    /// What admission promises here, in sentences.
    pub promises: Vec<String>,
}
