// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Loads: what disturbs a measurement, and proof that it did.
//!
//! Loads run in a process of their own, `punctual load`, so that they share no memory map and no
//! locked memory with the measuring threads, and so that they die with the measurement whatever
//! ends it. That process writes `ready` when every thread of every load has worked, then at once
//! and every [`REPORT_EVERY`] a line `work PLACE UNITS ROUNDS` a load: the place of the load among
//! those asked for, what its threads did together, and how often every one of them has worked since
//! the last such round. A load whose rounds stand still makes the run invalid: one thread that
//! stands still is enough. Where a thread cannot be started or is refused its memory, the process
//! writes `failed REASON` instead, which the measurement tells as its own error.

mod child;
mod track;
mod work;

pub use child::LoadProcess;
pub use work::run;

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// Time between reports.
pub const REPORT_EVERY: Duration = Duration::from_millis(200);

/// Memory that each thread of the memory load works on by default: past any cache of its core.
const DEFAULT_MEMORY: u64 = 32 << 20;

/// A load and its size.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LoadSpec {
    /// Threads that add; one a CPU unless a number is given.
    Cpu {
        /// Number of threads.
        threads: Option<u32>,
    },
    /// A thread a CPU that reads and writes at random places of a block.
    Memory {
        /// Size of each thread's block, in bytes.
        block: u64,
    },
}

impl LoadSpec {
    /// Returns the name without the size.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cpu { .. } => "cpu",
            Self::Memory { .. } => "memory",
        }
    }

    /// Returns what the work is counted in.
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Cpu { .. } => "additions",
            Self::Memory { .. } => "accesses",
        }
    }
}

impl fmt::Display for LoadSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpu { threads: None } => f.pad("cpu"),
            Self::Cpu { threads: Some(n) } => f.pad(&format!("cpu:{n}")),
            Self::Memory { block } if *block == DEFAULT_MEMORY => f.pad("memory"),
            Self::Memory { block } => f.pad(&format!("memory:{block}")),
        }
    }
}

impl FromStr for LoadSpec {
    type Err = ParseLoadError;

    fn from_str(s: &str) -> Result<Self, Self::Err> {
        let (name, size) = match s.split_once(':') {
            Some((name, size)) => (name, Some(size)),
            None => (s, None),
        };
        let fail = |reason| ParseLoadError {
            load: s.to_owned(),
            reason,
        };
        match (name, size) {
            ("cpu", None) => Ok(Self::Cpu { threads: None }),
            ("cpu", Some(n)) => match n.parse::<u32>() {
                Ok(n @ 1..=4_096) => Ok(Self::Cpu { threads: Some(n) }),
                _ => Err(fail("the number of threads must be from 1 to 4096")),
            },
            ("memory", None) => Ok(Self::Memory {
                block: DEFAULT_MEMORY,
            }),
            ("memory", Some(size)) => bytes(size)
                .filter(|block| (4_096..=1 << 40).contains(block))
                .map(|block| Self::Memory { block })
                .ok_or_else(|| fail("the block size must be from 4K to 1T, such as 64M")),
            _ => Err(fail("not a load; use cpu, cpu:N, memory or memory:SIZE")),
        }
    }
}

fn bytes(text: &str) -> Option<u64> {
    let (digits, shift) = match text.chars().next_back()? {
        'K' | 'k' => (&text[..text.len() - 1], 10),
        'M' | 'm' => (&text[..text.len() - 1], 20),
        'G' | 'g' => (&text[..text.len() - 1], 30),
        'T' | 't' => (&text[..text.len() - 1], 40),
        _ => (text, 0),
    };
    digits
        .parse::<u64>()
        .ok()
        .filter(|_| digits.bytes().all(|b| b.is_ascii_digit()))?
        .checked_mul(1 << shift)
}

/// A load was rejected.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("`{load}`: {reason}")]
pub struct ParseLoadError {
    load: String,
    reason: &'static str,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_round_trip() {
        for text in ["cpu", "cpu:4", "memory", "memory:65536"] {
            assert_eq!(text.parse::<LoadSpec>().unwrap().to_string(), text);
        }
        let block = 64 << 20;
        assert_eq!("memory:64M".parse(), Ok(LoadSpec::Memory { block }));
    }

    #[test]
    fn bad_loads_name_the_reason() {
        for text in [
            "disk",
            "cpu:0",
            "cpu:x",
            "memory:1",
            "memory:9999T",
            "memory:-1M",
            "memory:é",
        ] {
            assert!(text.parse::<LoadSpec>().is_err(), "{text}");
        }
    }
}
