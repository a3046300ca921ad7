// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Scheduling policies, in rtla's syntax.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::units::{Nanos, ParseNanosError};

/// A scheduling policy and its parameters.
///
/// Written as rtla does: `f:80`, `r:10`, `o`, `o:-5` (nice), `b`, `i`, `d:500us:1ms`, and `e` for `SCHED_EXT`. Read are also the kernel's
/// names, `fifo:80` or `SCHED_FIFO:80`, and a bare priority as cyclictest's `-p 80`, which is FIFO.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(try_from = "String", into = "String")]
#[cfg_attr(feature = "schemas", schemars(with = "String"))]
pub enum Policy {
    /// `SCHED_OTHER`.
    Other {
        /// Niceness, from -20 to 19.
        nice: i8,
    },
    /// `SCHED_BATCH`.
    Batch,
    /// `SCHED_IDLE`.
    Idle,
    /// `SCHED_FIFO`.
    Fifo {
        /// Priority, from 1 to 99.
        priority: u8,
    },
    /// `SCHED_RR`.
    RoundRobin {
        /// Priority, from 1 to 99.
        priority: u8,
    },
    /// `SCHED_DEADLINE`, with the deadline at the end of the period.
    Deadline {
        /// Guaranteed time in each period.
        runtime: Nanos,
        /// Time between activations.
        period: Nanos,
    },
    /// `SCHED_EXT`: as the BPF scheduler says that is loaded.
    Ext,
}

impl Policy {
    /// Whether the kernel runs this policy before every ordinary thread.
    pub const fn is_real_time(self) -> bool {
        matches!(
            self,
            Self::Fifo { .. } | Self::RoundRobin { .. } | Self::Deadline { .. }
        )
    }

    /// Returns the policy with its fixed priority lowered by `steps`, but not below 1.
    ///
    /// Policies without a fixed priority are returned as they are.
    #[must_use]
    pub fn lowered_by(self, steps: u32) -> Self {
        let lower = |p: u8| u8::try_from(u32::from(p).saturating_sub(steps).max(1)).unwrap_or(1);
        match self {
            Self::Fifo { priority } => Self::Fifo {
                priority: lower(priority),
            },
            Self::RoundRobin { priority } => Self::RoundRobin {
                priority: lower(priority),
            },
            other => other,
        }
    }

    /// Returns the kernel's name for the policy.
    pub const fn kernel_name(self) -> &'static str {
        match self {
            Self::Other { .. } => "SCHED_OTHER",
            Self::Batch => "SCHED_BATCH",
            Self::Idle => "SCHED_IDLE",
            Self::Fifo { .. } => "SCHED_FIFO",
            Self::RoundRobin { .. } => "SCHED_RR",
            Self::Deadline { .. } => "SCHED_DEADLINE",
            Self::Ext => "SCHED_EXT",
        }
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Other { nice: 0 } => f.pad("o"),
            Self::Other { nice } => f.pad(&format!("o:{nice}")),
            Self::Batch => f.pad("b"),
            Self::Idle => f.pad("i"),
            Self::Ext => f.pad("e"),
            Self::Fifo { priority } => f.pad(&format!("f:{priority}")),
            Self::RoundRobin { priority } => f.pad(&format!("r:{priority}")),
            Self::Deadline { runtime, period } => {
                f.pad(&format!("d:{}ns:{}ns", runtime.get(), period.get()))
            }
        }
    }
}

impl FromStr for Policy {
    type Err = ParsePolicyError;

    fn from_str(s: &str) -> Result<Self, Self::Err> {
        let fail = |reason: PolicyFault| ParsePolicyError {
            text: s.to_owned(),
            reason,
        };
        let mut parts = s.trim().split(':');
        let kind = parts.next().unwrap_or_default();
        let rest: Vec<&str> = parts.collect();
        if rest.is_empty() && !kind.is_empty() && kind.bytes().all(|b| b.is_ascii_digit()) {
            return priority(kind)
                .map(|priority| Self::Fifo { priority })
                .ok_or_else(|| fail(PolicyFault::Priority));
        }
        let kind = kind.to_ascii_lowercase();
        match (letter(&kind), rest.as_slice()) {
            ("o", []) => Ok(Self::Other { nice: 0 }),
            ("o", [nice]) => match nice.parse::<i8>() {
                Ok(nice @ -20..=19) => Ok(Self::Other { nice }),
                _ => Err(fail(PolicyFault::Nice)),
            },
            ("b", []) => Ok(Self::Batch),
            ("i", []) => Ok(Self::Idle),
            ("e", []) => Ok(Self::Ext),
            ("f", [p]) => priority(p)
                .map(|priority| Self::Fifo { priority })
                .ok_or_else(|| fail(PolicyFault::Priority)),
            ("r", [p]) => priority(p)
                .map(|priority| Self::RoundRobin { priority })
                .ok_or_else(|| fail(PolicyFault::Priority)),
            ("d", [runtime, period]) => {
                let span = |text: &str| {
                    text.parse::<Nanos>()
                        .map_err(|err| fail(PolicyFault::Span(err)))
                };
                let (runtime, period) = (span(runtime)?, span(period)?);
                // The kernel's own lower bound on the runtime is 1024 ns (sched(7)).
                if runtime.get() < 1_024 || runtime > period {
                    return Err(fail(PolicyFault::Deadline));
                }
                Ok(Self::Deadline { runtime, period })
            }
            ("f" | "r" | "d" | "b" | "i" | "e", _) => Err(fail(PolicyFault::Shape)),
            _ => Err(fail(PolicyFault::Unknown)),
        }
    }
}

/// Returns rtla's letter for a policy that is named as the kernel does.
fn letter(kind: &str) -> &str {
    match kind.strip_prefix("sched_").unwrap_or(kind) {
        "other" | "normal" => "o",
        "batch" => "b",
        "idle" => "i",
        "ext" => "e",
        "fifo" => "f",
        "rr" => "r",
        "deadline" => "d",
        other => other,
    }
}

fn priority(text: &str) -> Option<u8> {
    text.parse::<u8>().ok().filter(|p| (1..=99).contains(p))
}

impl TryFrom<String> for Policy {
    type Error = ParsePolicyError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Policy> for String {
    fn from(policy: Policy) -> Self {
        policy.to_string()
    }
}

/// A policy was rejected.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("`{text}`: {reason}")]
pub struct ParsePolicyError {
    text: String,
    reason: PolicyFault,
}

/// What is wrong with a policy.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyFault {
    /// The letter is not one of ours.
    #[error(
        "not a policy; use f:PRIO (FIFO), r:PRIO (round robin), o[:NICE], b, i, e (SCHED_EXT) or d:RUNTIME:PERIOD"
    )]
    Unknown,
    /// Too many or too few parts.
    #[error(
        "wrong number of parts; use f:PRIO (FIFO), r:PRIO (round robin), o[:NICE], b, i, e (SCHED_EXT) or d:RUNTIME:PERIOD"
    )]
    Shape,
    /// The priority is out of range.
    #[error("the priority must be a number from 1 to 99")]
    Priority,
    /// The niceness is out of range.
    #[error("the niceness must be a number from -20 to 19")]
    Nice,
    /// Runtime and period do not fit together.
    #[error("the runtime must be at least 1024 ns and not longer than the period")]
    Deadline,
    /// Runtime or period is not a duration.
    #[error(transparent)]
    Span(ParseNanosError),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_round_trip() {
        for text in ["o", "o:-5", "b", "i", "f:80", "r:1", "d:500000ns:1000000ns"] {
            assert_eq!(text.parse::<Policy>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_bare_priority_and_the_kernels_names_are_understood() {
        for (text, same) in [
            ("80", "f:80"),
            ("fifo:80", "f:80"),
            ("FIFO:1", "f:1"),
            ("SCHED_RR:7", "r:7"),
            ("rr:7", "r:7"),
            ("other", "o"),
            ("normal", "o"),
            ("other:-5", "o:-5"),
            ("batch", "b"),
            ("idle", "i"),
            ("deadline:1ms:2ms", "d:1000000ns:2000000ns"),
        ] {
            assert_eq!(text.parse::<Policy>().unwrap().to_string(), same, "{text}");
        }
    }

    #[test]
    fn bad_policies_name_the_reason() {
        for (text, part) in [
            ("f:100", "1 to 99"),
            ("f:0", "1 to 99"),
            ("0", "1 to 99"),
            ("100", "1 to 99"),
            ("fifo", "wrong number of parts"),
            ("fifo:high", "1 to 99"),
            ("f", "wrong number of parts"),
            ("x:1", "not a policy"),
            ("", "not a policy"),
            ("o:20", "-20 to 19"),
            ("d:2ms:1ms", "not longer"),
            ("d:1:2", "no unit"),
        ] {
            let err = text.parse::<Policy>().unwrap_err().to_string();
            assert!(err.contains(part), "{text}: {err}");
        }
    }

    #[test]
    fn spread_stops_at_one() {
        let fifo = Policy::Fifo { priority: 3 };
        assert_eq!(fifo.lowered_by(1), Policy::Fifo { priority: 2 });
        assert_eq!(fifo.lowered_by(9), Policy::Fifo { priority: 1 });
    }
}
