// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! How any load runs: where, with which policy, for how much of the time.

use std::fmt;
use std::str::FromStr;

use punctual_model::{CpuSet, Policy};

/// Settings that every load has.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Settings {
    /// CPUs that it may run on. Missing: all that the program may.
    pub cpus: Option<CpuSet>,
    /// Its scheduling policy. Missing: `SCHED_OTHER`, as nice as the program.
    pub policy: Option<Policy>,
    /// For how much of the time it works.
    pub intensity: Intensity,
}

impl Settings {
    /// The names of these settings.
    pub(super) const KEYS: [&'static str; 4] = ["cpus", "policy", "nice", "intensity"];

    /// Takes the settings that every load has out of `given`.
    pub(super) fn take(given: &mut Vec<(&str, &str)>) -> Result<Self, String> {
        let mut settings = Self::default();
        let mut own = Vec::new();
        for (key, value) in given.drain(..) {
            match key {
                "cpus" => settings.cpus = Some(cpus(value)?),
                "policy" | "nice" if settings.policy.is_some() => {
                    return Err("policy and nice are one setting: policy=o:5 is nice=5".to_owned());
                }
                "policy" => settings.policy = Some(policy(value)?),
                "nice" => settings.policy = Some(policy(&format!("o:{value}"))?),
                "intensity" => settings.intensity = value.parse()?,
                _ => own.push((key, value)),
            }
        }
        *given = own;
        Ok(settings)
    }

    /// Returns the number of CPUs that it may use where the program may use `all`.
    pub(super) fn cpu_count(&self, all: u32) -> u32 {
        self.cpus
            .as_ref()
            .map_or(all, |cpus| u32::try_from(cpus.len()).unwrap_or(u32::MAX))
    }

    /// Whether it runs before every ordinary task.
    pub fn is_real_time(&self) -> bool {
        self.policy.is_some_and(Policy::is_real_time)
    }
}

impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(cpus) = &self.cpus {
            write!(f, "@cpus={cpus}")?;
        }
        if let Some(policy) = self.policy {
            write!(f, "@policy={policy}")?;
        }
        if self.intensity != Intensity::FULL {
            write!(f, "@intensity={}", self.intensity)?;
        }
        Ok(())
    }
}

fn cpus(text: &str) -> Result<CpuSet, String> {
    let cpus: CpuSet = text.parse().map_err(|err| format!("cpus: {err}"))?;
    if cpus.is_empty() {
        return Err("cpus: names no CPU; use a list such as 0-1,3".to_owned());
    }
    Ok(cpus)
}

fn policy(text: &str) -> Result<Policy, String> {
    let policy: Policy = text.parse().map_err(|err| format!("policy: {err}"))?;
    if matches!(policy, Policy::Deadline { .. }) {
        // A SCHED_DEADLINE task may neither fork(2) nor be bound to a CPU.
        return Err("policy: a load runs with o, b, i, f:PRIO or r:PRIO".to_owned());
    }
    if matches!(
        policy,
        Policy::Fifo { priority: 99 } | Policy::RoundRobin { priority: 99 }
    ) {
        return Err(
            "policy: the priority must be at most 98, so that the load can be ended".to_owned(),
        );
    }
    Ok(policy)
}

/// Share of the time that a load works, in percent.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Intensity(u8);

impl Intensity {
    /// All the time.
    pub const FULL: Self = Self(100);

    /// Returns the percentage, from 1 to 100.
    pub const fn percent(self) -> u32 {
        self.0 as u32
    }
}

impl Default for Intensity {
    fn default() -> Self {
        Self::FULL
    }
}

impl fmt::Display for Intensity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%", self.0)
    }
}

impl FromStr for Intensity {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, Self::Err> {
        let digits = s.strip_suffix('%').unwrap_or(s);
        match digits.parse::<u8>() {
            Ok(percent @ 1..=100) => Ok(Self(percent)),
            _ => Err("intensity: must be from 1% to 100%".to_owned()),
        }
    }
}

/// Splits off a setting that every load has.
pub(super) fn last_setting(text: &str) -> Option<(&str, (&str, &str))> {
    let (head, last) = text.rsplit_once('@')?;
    let (key, value) = last.split_once('=')?;
    Settings::KEYS
        .contains(&key)
        .then_some((head, (key, value)))
}
