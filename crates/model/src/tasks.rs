// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Sets of periodic tasks, and what analysis shows of their deadlines.

mod check;
mod run;

use serde::{Deserialize, Serialize};

pub use self::check::{
    Admission, AppliedTest, Interference, Partition, PartitionMethod, PartitionedCpu, SetVerdict,
    TASKS_CHECK_FORMAT, TaskBound, TaskVerdict, TasksCheck,
};
pub use self::run::{
    Assumption, Broke, BrokeCount, CriticalSlice, JobAboveBound, TaskSeen, TasksPlan, TasksRun,
    WindowJob, WorstWindow,
};
use crate::choices;
use crate::cpu::CpuSet;
use crate::units::Nanos;

/// The name and major version of the format of a task set.
pub const TASKS_FORMAT: &str = "punctual.tasks/1";

/// A set of tasks, checked: names are unique, resources exist, critical sections fit.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct TaskSet {
    /// Its name.
    pub name: String,
    /// How priorities were given to tasks that name none.
    pub order: PriorityOrder,
    /// The tasks.
    pub tasks: Vec<Task>,
    /// What they share.
    pub resources: Vec<Resource>,
    /// What the system takes for itself.
    pub overheads: Overheads,
    /// What the set rests on beyond its numbers, in sentences without a full stop: such as what a run that it was made of did not
    /// see. Absent where there is nothing, and in older records.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assumes: Vec<String>,
}

/// A task: it is released again and again, and each release is a job.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Task {
    /// Its name.
    pub name: String,
    /// Shortest time between two releases.
    pub period_ns: Nanos,
    /// Time from a release until the job must be done.
    pub deadline_ns: Nanos,
    /// Longest execution time of a job, critical sections included.
    pub execution_ns: Nanos,
    /// The run in which that time was the longest observed. Null: the file claims it to be the longest.
    pub observed_in: Option<String>,
    /// Time of the first release.
    pub offset_ns: Nanos,
    /// How much later than its time a release may come.
    pub jitter_ns: Nanos,
    /// Longest time that a job waits before its end, for something that is no resource of the set: then no analysis holds for its
    /// CPUs. Absent where no job does, and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits_ns: Option<Nanos>,
    /// How it is scheduled.
    pub policy: TaskPolicy,
    /// The CPUs that it may run on; empty: any.
    pub cpus: CpuSet,
    /// Its critical sections, one after the other in each job.
    pub sections: Vec<CriticalSection>,
}

/// How a task is scheduled.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", tag = "class")]
pub enum TaskPolicy {
    /// `SCHED_FIFO`.
    Fifo {
        /// From 1 to 99. Null: not enough priorities were left.
        priority: Option<u8>,
    },
    /// `SCHED_RR`.
    Rr {
        /// From 1 to 99.
        priority: Option<u8>,
    },
    /// `SCHED_DEADLINE`.
    Deadline {
        /// Time that the kernel guarantees in each period.
        runtime_ns: Nanos,
    },
    /// `SCHED_EXT`, under a BPF scheduler of ours.
    Ext {
        /// Which.
        scheduler: ExtScheduler,
        /// What it has to be compared with a fixed priority, from 1 to 99: its place in the order of periods. Null where the
        /// scheduler has no such order, or not enough priorities were left.
        priority: Option<u8>,
    },
    /// `SCHED_OTHER`: nothing is promised.
    Other,
}

/// A BPF scheduler of ours.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ExtScheduler {
    /// The job that is due first goes first.
    EarliestDeadlineFirst,
    /// The shorter the period, the sooner.
    RateMonotonic,
}

choices!(ExtScheduler {
    EarliestDeadlineFirst => "earliest-deadline-first",
    RateMonotonic => "rate-monotonic",
});

impl TaskPolicy {
    /// Returns its fixed priority.
    pub const fn priority(self) -> Option<u8> {
        match self {
            Self::Fifo { priority } | Self::Rr { priority } | Self::Ext { priority, .. } => {
                priority
            }
            Self::Deadline { .. } | Self::Other => None,
        }
    }

    /// Whether it has a fixed priority.
    pub const fn is_fixed(self) -> bool {
        self.is_throttled() || matches!(self.ext(), Some(ExtScheduler::RateMonotonic))
    }

    /// Whether the job that is due first goes first.
    pub const fn is_earliest_first(self) -> bool {
        matches!(self, Self::Deadline { .. })
            || matches!(self.ext(), Some(ExtScheduler::EarliestDeadlineFirst))
    }

    /// Whether the kernel's real-time throttling holds it back.
    pub const fn is_throttled(self) -> bool {
        matches!(self, Self::Fifo { .. } | Self::Rr { .. })
    }

    /// Returns the BPF scheduler that it is under.
    pub const fn ext(self) -> Option<ExtScheduler> {
        match self {
            Self::Ext { scheduler, .. } => Some(scheduler),
            _ => None,
        }
    }
}

/// A critical section, and those inside it.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct CriticalSection {
    /// The resource that it holds.
    pub resource: String,
    /// Its length, those inside it included.
    pub length_ns: Nanos,
    /// Sections inside it.
    pub sections: Vec<Self>,
}

/// Something that one task at a time may hold.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Resource {
    /// Its name.
    pub name: String,
    /// What is done against priority inversion.
    pub protocol: Protocol,
}

/// What is done against priority inversion.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// Nothing.
    None,
    /// Who holds it gets the priority of who waits.
    #[default]
    Inheritance,
    /// Who holds it has the highest priority of all who may take it.
    Ceiling,
}

choices!(Protocol { None => "none", Inheritance => "inheritance", Ceiling => "ceiling" });

/// How priorities are given to tasks that name none.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum PriorityOrder {
    /// The shorter the period, the higher.
    #[default]
    RateMonotonic,
    /// The shorter the deadline, the higher.
    DeadlineMonotonic,
    /// As Audsley's algorithm finds it.
    Optimal,
}

choices!(PriorityOrder {
    RateMonotonic => "rate-monotonic",
    DeadlineMonotonic => "deadline-monotonic",
    Optimal => "optimal",
});

/// What the system takes for itself.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Overheads {
    /// Longest time from the release to the moment at which the job could run: jitter of each task.
    pub wake_up_ns: Nanos,
    /// Longest switch between threads; a job costs two.
    pub switch_ns: Nanos,
    /// Interrupts of each CPU: how long, and how often at most.
    pub interrupts: Vec<InterruptLoad>,
    /// The run in which they were observed.
    pub observed_in: Option<String>,
}

/// Interrupts that come at most so often.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct InterruptLoad {
    /// How long one takes.
    pub takes_ns: Nanos,
    /// Shortest time between two.
    pub every_ns: Nanos,
}
