// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! CPU numbers and the kernel's CPU-list syntax.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A logical CPU number, as in `/sys/devices/system/cpu/cpuN`.
pub type CpuId = u32;

/// CPUs from this number on cannot be put in a `cpu_set_t` (`CPU_SETSIZE`).
pub const CPU_LIMIT: CpuId = 1_024;

/// A set of CPUs, read and written in the kernel's list syntax, such as `0-3,5,8-11`.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(try_from = "String", into = "String")]
#[cfg_attr(feature = "schemas", schemars(with = "String"))]
pub struct CpuSet(BTreeSet<CpuId>);

impl CpuSet {
    /// Iterates over the CPUs in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = CpuId> + '_ {
        self.0.iter().copied()
    }

    /// Returns the number of CPUs in the set.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether the set has no CPU.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the CPU of a set of one.
    pub fn only(&self) -> Option<CpuId> {
        (self.len() == 1).then(|| self.iter().next()).flatten()
    }

    /// Whether `cpu` is in the set.
    pub fn contains(&self, cpu: CpuId) -> bool {
        self.0.contains(&cpu)
    }

    /// Returns the CPUs of `self` that `other` lacks.
    #[must_use]
    pub fn without(&self, other: &Self) -> Self {
        Self(self.0.difference(&other.0).copied().collect())
    }

    /// Returns the CPUs that both sets have.
    #[must_use]
    pub fn common(&self, other: &Self) -> Self {
        Self(self.0.intersection(&other.0).copied().collect())
    }
}

impl FromIterator<CpuId> for CpuSet {
    fn from_iter<T: IntoIterator<Item = CpuId>>(cpus: T) -> Self {
        Self(cpus.into_iter().collect())
    }
}

impl FromStr for CpuSet {
    type Err = ParseCpuSetError;

    fn from_str(s: &str) -> Result<Self, Self::Err> {
        let mut set = BTreeSet::new();
        // An empty list is valid: the kernel prints "\n" for no CPUs.
        for part in s.trim().split(',').filter(|p| !p.is_empty()) {
            let (lo, hi) = part.split_once('-').unwrap_or((part, part));
            let (lo, hi) = (parse_cpu(lo, s)?, parse_cpu(hi, s)?);
            if lo > hi {
                return Err(ParseCpuSetError::Reversed { list: quoted(s) });
            }
            // A list may be somebody else's and say the same CPUs a million times.
            if set.len() < CPU_LIMIT as usize {
                set.extend(lo..=hi);
            }
        }
        Ok(Self(set))
    }
}

impl TryFrom<String> for CpuSet {
    type Error = ParseCpuSetError;

    fn try_from(list: String) -> Result<Self, Self::Error> {
        list.parse()
    }
}

impl From<CpuSet> for String {
    fn from(set: CpuSet) -> Self {
        set.to_string()
    }
}

impl fmt::Display for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut cpus = self.iter().peekable();
        let mut sep = "";
        while let Some(first) = cpus.next() {
            let mut last = first;
            while let Some(next) = cpus.next_if_eq(&last.saturating_add(1)) {
                last = next;
            }
            if first == last {
                write!(f, "{sep}{first}")?;
            } else {
                write!(f, "{sep}{first}-{last}")?;
            }
            sep = ",";
        }
        Ok(())
    }
}

/// The reason that a CPU list was rejected.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseCpuSetError {
    /// A member is not a decimal number.
    #[error("`{part}` in CPU list `{list}` is not a CPU number")]
    NotANumber {
        /// The rejected member.
        part: String,
        /// The whole list.
        list: String,
    },
    /// A member is past what the C library's CPU set holds.
    #[error("CPU {part} in CPU list `{list}` is above the largest supported CPU, 1023")]
    PastLimit {
        /// The rejected member.
        part: String,
        /// The whole list.
        list: String,
    },
    /// A range runs backwards.
    #[error("range in CPU list `{list}` runs backwards")]
    Reversed {
        /// The whole list.
        list: String,
    },
}

/// Characters of a rejected list that an error quotes: what is in a file may be of any length.
const QUOTED: usize = 80;

fn quoted(text: &str) -> String {
    match text.char_indices().nth(QUOTED) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

fn parse_cpu(part: &str, list: &str) -> Result<CpuId, ParseCpuSetError> {
    let number = part;
    let (part, list) = (quoted(part), quoted(list));
    if number.is_empty() || !number.bytes().all(|b| b.is_ascii_digit()) {
        return Err(ParseCpuSetError::NotANumber { part, list });
    }
    match number.parse::<CpuId>() {
        Ok(cpu) if cpu < CPU_LIMIT => Ok(cpu),
        _ => Err(ParseCpuSetError::PastLimit { part, list }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_round_trips() {
        for list in ["", "0", "0-3", "0-3,5,8-11", "1023"] {
            let set: CpuSet = list.parse().unwrap();
            assert_eq!(set.to_string(), list);
        }
    }

    #[test]
    fn an_error_quotes_no_more_than_a_line_of_what_a_file_holds() {
        for list in [
            "x".repeat(5_000),
            format!("9-1,{}", "1,".repeat(5_000)),
            "9".repeat(5_000),
        ] {
            let said = list.parse::<CpuSet>().unwrap_err().to_string();
            assert!(said.len() < 300, "{said}");
        }
    }

    #[test]
    fn bad_lists_name_the_member() {
        for (list, text) in [
            ("0-3,x", "`x` in CPU list `0-3,x` is not a CPU number"),
            ("3-1", "range in CPU list `3-1` runs backwards"),
            ("+1", "`+1` in CPU list `+1` is not a CPU number"),
            ("1-", "`` in CPU list `1-` is not a CPU number"),
        ] {
            assert_eq!(list.parse::<CpuSet>().unwrap_err().to_string(), text);
        }
    }

    #[test]
    fn a_huge_range_is_refused_before_it_takes_memory() {
        let err = "0-4294967295".parse::<CpuSet>().unwrap_err();
        assert!(matches!(err, ParseCpuSetError::PastLimit { .. }));
    }
}
