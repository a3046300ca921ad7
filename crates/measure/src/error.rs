// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Why a measurement could not be made.

use std::io;

use punctual_model::{Clock, CpuSet, Policy, TimerKind};
use punctual_sys::PathError;
use punctual_sys::tracefs::TracefsError;

/// A measurement could not start or go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MeasureError {
    /// The specification cannot be carried out on this machine.
    #[error("{option}: {reason}")]
    Spec {
        /// The option as the user wrote it, such as `--cpus 99`.
        option: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A thread could not be started.
    #[error("start a measuring thread")]
    Spawn(#[source] io::Error),
    /// The scheduling policy was refused.
    #[error("run with {} ({policy})", policy.kernel_name())]
    Policy {
        /// The policy.
        policy: Policy,
        /// What the kernel said.
        source: io::Error,
    },
    /// The scheduling policy of a task of a set was refused.
    #[error("run task {task} with {} ({policy})", policy.kernel_name())]
    TaskPolicy {
        /// Name of the task.
        task: String,
        /// The policy.
        policy: Policy,
        /// What the kernel said.
        source: io::Error,
    },
    /// The affinity was refused.
    #[error("bind a thread to CPUs {cpus}")]
    Affinity {
        /// The CPUs.
        cpus: CpuSet,
        /// What the kernel said.
        source: io::Error,
    },
    /// Policy or affinity could not be read back.
    #[error("read back a thread's policy and affinity")]
    ReadBack {
        /// What the kernel said.
        source: io::Error,
    },
    /// The timer is unavailable.
    #[error("set up timer {timer} on clock {clock}")]
    Timer {
        /// The timer.
        timer: TimerKind,
        /// The clock.
        clock: Clock,
        /// What the kernel said.
        source: io::Error,
    },
    /// The sleep failed in the middle of the run.
    #[error("sleep in thread {thread}")]
    Sleep {
        /// Number of the thread, from 0.
        thread: u32,
        /// What the kernel said.
        source: io::Error,
    },
    /// One thread could not wake another, or wait for it, in the middle of the run.
    #[error("wake or wait in thread {thread}")]
    Wake {
        /// Name of the thread.
        thread: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// Memory could not be locked.
    #[error("lock the memory")]
    Lock(#[source] io::Error),
    /// The bound on idle states was refused.
    #[error("hold the bound on idle latency")]
    DmaLatency(#[source] PathError),
    /// There is not enough memory to measure with.
    #[error("allocate the memory for the measurement")]
    Memory(#[source] io::Error),
    /// This machine cannot measure what is asked.
    #[error("{what}")]
    Unsupported {
        /// What is missing, and what it is needed for.
        what: String,
        /// What to do about it.
        hint: Option<String>,
    },
    /// A program that measures for us failed.
    #[error("{program}: {reason}")]
    Program {
        /// The program.
        program: String,
        /// How it ended, with the last that it said.
        reason: String,
    },
    /// A load could not be started.
    #[error("start load `{load}`")]
    Load {
        /// The load as given.
        load: String,
        /// What went wrong.
        source: io::Error,
    },
    /// The kernel's tracing is unavailable.
    #[error("trace the kernel")]
    Tracing(#[from] TracefsError),
    /// The kernel lacks what was asked for by name.
    #[error("this kernel lacks {what}")]
    Lacks {
        /// What it lacks, with the option that it would be built with.
        what: &'static str,
    },
    /// Somebody else has what there is only one of.
    #[error("{what}")]
    Busy {
        /// What, and who has it.
        what: String,
    },
    /// The trace could not be read to its end.
    #[error("read the kernel's trace")]
    Trace(#[source] io::Error),
    /// Who listens to the run could not take what it said.
    #[error("record the run")]
    Sink(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A measuring thread panicked: a defect of this program.
    #[error("thread {thread} ended because of a bug in this program")]
    Defect {
        /// Number of the thread, from 0.
        thread: u32,
    },
}

impl MeasureError {
    /// Whether a privilege is missing.
    pub fn is_denied(&self) -> bool {
        match self {
            Self::Policy { source, .. }
            | Self::TaskPolicy { source, .. }
            | Self::Lock(source)
            | Self::Timer { source, .. } => {
                source.kind() == io::ErrorKind::PermissionDenied
                    // mlockall(2) says ENOMEM when the limit, and not the privilege, is there.
                    || (matches!(self, Self::Lock(_))
                        && source.kind() == io::ErrorKind::OutOfMemory)
            }
            Self::DmaLatency(source) => source.is_permission(),
            Self::Tracing(source) => source.is_denied(),
            _ => false,
        }
    }

    /// Whether the specification, and not the machine, is at fault.
    pub fn is_usage(&self) -> bool {
        match self {
            Self::Spec { .. } => true,
            Self::Load { source, .. } => source.kind() == io::ErrorKind::InvalidInput,
            _ => false,
        }
    }

    /// Whether this machine or kernel cannot do what was asked.
    pub fn is_unsupported(&self) -> bool {
        match self {
            // A process that has no descriptor left could have the timer otherwise.
            Self::Timer { source, .. } => !is_shortage(source),
            Self::Policy { .. }
            | Self::TaskPolicy { .. }
            | Self::Lock(_)
            | Self::DmaLatency(_)
            | Self::Tracing(_)
            | Self::Lacks { .. }
            | Self::Unsupported { .. } => true,
            Self::Affinity { source, .. } => source.kind() == io::ErrorKind::InvalidInput,
            Self::Load { source, .. } => source.kind() == io::ErrorKind::Unsupported,
            _ => false,
        }
    }
}

/// Whether a resource has run out: `EMFILE`, `ENFILE`, `EAGAIN`, `ENOMEM`.
fn is_shortage(err: &io::Error) -> bool {
    const EMFILE: i32 = 24;
    const ENFILE: i32 = 23;
    matches!(err.raw_os_error(), Some(EMFILE | ENFILE))
        || matches!(
            err.kind(),
            io::ErrorKind::WouldBlock | io::ErrorKind::OutOfMemory
        )
}
