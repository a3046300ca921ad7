// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What to measure: the specification of one run.

use serde::{Deserialize, Serialize};

use crate::choices;
use crate::cpu::CpuSet;
use crate::policy::Policy;
use crate::units::Nanos;

/// Everything that decides how a run is done. Recorded with the run.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct RunSpec {
    /// Number of measuring threads.
    pub threads: u32,
    /// CPUs that they may run on.
    pub cpus: CpuSet,
    /// How they are bound to those CPUs.
    pub pin: Pin,
    /// Scheduling policy of the first thread.
    pub priority: Policy,
    /// Whether each further thread has a priority lower by one.
    pub priority_spread: bool,
    /// Time between the deadlines of the first thread.
    pub interval_ns: Nanos,
    /// Added to the interval of each further thread.
    pub distance_ns: Nanos,
    /// Longest time to measure, without the warm-up. Missing: no limit.
    pub duration_ns: Option<Nanos>,
    /// Samples to take a thread. Missing: no limit.
    pub samples: Option<u64>,
    /// Time at the start whose samples are not recorded, but counted.
    pub warm_up_ns: Nanos,
    /// What the threads sleep with.
    pub timer: TimerKind,
    /// The clock of the deadlines and of the time stamps.
    pub clock: Clock,
    /// Value held in `/dev/cpu_dma_latency`. Missing: the file is left alone.
    pub dma_latency_ns: Option<Nanos>,
    /// Whether the process's memory is locked while it measures.
    pub mlock: bool,
    /// CPUs of the recorder and of everything else that is not a measuring thread.
    pub housekeeping: CpuSet,
    /// Whether every sample is stored.
    pub raw: bool,
    /// Precision at which the run may stop before its duration, such as `p99:2%`.
    #[serde(default)]
    pub until: Vec<String>,
    /// A sample above this ends the run.
    pub on_threshold_ns: Option<Nanos>,
    /// Deadlines whose misses are counted exactly.
    #[serde(default)]
    pub deadlines_ns: Vec<Nanos>,
    /// Loads to run during the measurement, as given: `cpu:2`, `memory`.
    #[serde(default)]
    pub loads: Vec<String>,
}

impl RunSpec {
    /// Returns the policy of thread `index`, counted from 0.
    #[must_use]
    pub fn policy_of(&self, index: u32) -> Policy {
        if self.priority_spread {
            self.priority.lowered_by(index)
        } else {
            self.priority
        }
    }

    /// Returns the interval of thread `index`, counted from 0.
    #[must_use]
    pub fn interval_of(&self, index: u32) -> Nanos {
        self.interval_ns + self.distance_ns.times(index.into())
    }

    /// Returns the CPU that thread `index` is pinned to, if each thread has one.
    #[must_use]
    pub fn cpu_of(&self, index: u32) -> Option<u32> {
        let count = self.cpus.len();
        (self.pin == Pin::Each && count > 0)
            .then(|| self.cpus.iter().nth(index as usize % count))
            .flatten()
    }
}

/// How measuring threads are bound to CPUs.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Pin {
    /// Each thread to one CPU of the set, round robin.
    Each,
    /// All threads to the whole set.
    Set,
    /// Not at all: the affinity that the process was started with.
    None,
}

/// What a measuring thread sleeps with.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TimerKind {
    /// `clock_nanosleep(2)` to an absolute deadline.
    Nanosleep,
    /// `clock_nanosleep(2)` for a span; the sample is measured minus requested time.
    Relative,
    /// One-shot `timerfd_settime(2)` to an absolute deadline, then `read(2)`.
    Timerfd,
    /// One-shot POSIX timer to an absolute deadline, its signal taken by `sigwaitinfo(2)`.
    Posix,
    /// An `io_uring` timeout to an absolute deadline.
    Uring,
    /// `futex(2)` wait that nobody wakes, with an absolute deadline.
    Futex,
}

/// A clock of the kernel.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Clock {
    /// `CLOCK_MONOTONIC`.
    Monotonic,
    /// `CLOCK_REALTIME`; steps when the time is set.
    Realtime,
    /// `CLOCK_TAI`.
    Tai,
    /// `CLOCK_BOOTTIME`; goes on while the machine is suspended.
    Boottime,
}

choices!(Pin { Each => "each", Set => "set", None => "none" });
choices!(TimerKind {
    Nanosleep => "nanosleep",
    Relative => "relative",
    Timerfd => "timerfd",
    Posix => "posix",
    Uring => "uring",
    Futex => "futex",
});
choices!(Clock {
    Monotonic => "monotonic",
    Realtime => "realtime",
    Tai => "tai",
    Boottime => "boottime",
});

impl TimerKind {
    /// Whether the kernel lets this timer use `clock`.
    pub const fn supports(self, clock: Clock) -> bool {
        match self {
            Self::Nanosleep | Self::Relative | Self::Posix => true,
            // timerfd_create(2) and io_uring_enter(2) take no CLOCK_TAI.
            Self::Timerfd | Self::Uring => !matches!(clock, Clock::Tai),
            // FUTEX_WAIT_BITSET knows FUTEX_CLOCK_REALTIME or the monotonic clock (futex(2)).
            Self::Futex => matches!(clock, Clock::Monotonic | Clock::Realtime),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for kind in TimerKind::ALL {
            assert_eq!(kind.name().parse::<TimerKind>().unwrap(), *kind);
        }
        let err = "sundial".parse::<TimerKind>().unwrap_err().to_string();
        assert!(
            err.starts_with("`sundial` is not one of: nanosleep,"),
            "{err}"
        );
    }
}
