// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What a load is, as the command line says it.
//!
//! ```text
//! LIST = LOAD { "," LOAD }
//! LOAD = NAME [ ":" SIZE ] { "@" KEY "=" VALUE }
//! ```
//!
//! No character of it means anything to a shell. A comma separates loads unless a digit follows:
//! then it goes on with a list of CPUs.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use super::ping::{self, Ping};
use super::printk::Printk;
use super::sched;
use super::settings::Settings;

/// Memory that each thread of the memory load works on by default: past any cache of its core.
const DEFAULT_MEMORY: u64 = 32 << 20;

/// What each thread of the tmpfs load writes before it truncates.
const DEFAULT_FILE: u64 = 4 << 20;

/// A load, its size, and how it runs.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LoadSpec {
    /// What it does.
    pub kind: LoadKind,
    /// How it runs.
    pub settings: Settings,
}

/// What a load does, and how large it is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum LoadKind {
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
    /// Floods of ICMP echo requests.
    Ping(Ping),
    /// Lines for the kernel's log and the consoles.
    Printk(Printk),
    /// Groups of threads that send each other messages through sockets.
    Sched {
        /// Number of groups.
        groups: Option<u32>,
    },
    /// A thread a CPU that writes a file in memory and truncates it.
    Tmpfs {
        /// Size of each thread's file, in bytes.
        size: u64,
    },
}

impl LoadSpec {
    /// Returns the name without size and settings.
    pub const fn name(&self) -> &'static str {
        match self.kind {
            LoadKind::Cpu { .. } => "cpu",
            LoadKind::Memory { .. } => "memory",
            LoadKind::Ping(_) => "ping",
            LoadKind::Printk(_) => "printk",
            LoadKind::Sched { .. } => "sched",
            LoadKind::Tmpfs { .. } => "tmpfs",
        }
    }

    /// Returns what the work is counted in.
    pub const fn unit(&self) -> &'static str {
        match self.kind {
            LoadKind::Cpu { .. } => "additions",
            LoadKind::Memory { .. } => "accesses",
            LoadKind::Ping(_) => "replies",
            LoadKind::Printk(_) => "lines",
            LoadKind::Sched { .. } => "messages",
            LoadKind::Tmpfs { .. } => "bytes",
        }
    }

    /// Whether it may write to the consoles, which only who asks for it should have.
    pub const fn reaches_consoles(&self) -> bool {
        matches!(self.kind, LoadKind::Printk(_))
    }

    /// Returns the number of its threads where the program may use `cpus` CPUs.
    pub(super) fn threads(&self, cpus: u32) -> u32 {
        let cpus = self.settings.cpu_count(cpus);
        match self.kind {
            LoadKind::Cpu { threads } => threads.unwrap_or(cpus),
            LoadKind::Ping(ping) => 2 * ping.floods,
            LoadKind::Printk(_) => 1,
            LoadKind::Sched { groups } => groups.unwrap_or(cpus).saturating_mul(2 * sched::GROUP),
            LoadKind::Memory { .. } | LoadKind::Tmpfs { .. } => cpus,
        }
    }

    /// Returns the memory that it takes where the program may use `cpus` CPUs, in bytes.
    pub(super) fn memory(&self, cpus: u32) -> u64 {
        match self.kind {
            LoadKind::Cpu { .. }
            | LoadKind::Ping(_)
            | LoadKind::Printk(_)
            | LoadKind::Sched { .. } => 0,
            LoadKind::Memory { block } | LoadKind::Tmpfs { size: block } => {
                block.saturating_mul(self.threads(cpus).into())
            }
        }
    }
}

impl From<LoadKind> for LoadSpec {
    fn from(kind: LoadKind) -> Self {
        Self {
            kind,
            settings: Settings::default(),
        }
    }
}

impl fmt::Display for LoadSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match &self.kind {
            LoadKind::Cpu { threads: None } => {}
            LoadKind::Cpu { threads: Some(n) } => write!(f, ":{n}")?,
            LoadKind::Memory { block } if *block == DEFAULT_MEMORY => {}
            LoadKind::Memory { block } => write!(f, ":{}", Size(*block))?,
            LoadKind::Ping(ping) => ping.fmt(f)?,
            LoadKind::Printk(printk) => printk.fmt(f)?,
            LoadKind::Sched { groups: None } => {}
            LoadKind::Sched { groups: Some(n) } => write!(f, ":{n}")?,
            LoadKind::Tmpfs { size } if *size == DEFAULT_FILE => {}
            LoadKind::Tmpfs { size } => write!(f, ":{}", Size(*size))?,
        }
        self.settings.fmt(f)
    }
}

impl FromStr for LoadSpec {
    type Err = ParseLoadError;

    fn from_str(s: &str) -> Result<Self, Self::Err> {
        parse(s).map_err(|reason| ParseLoadError {
            load: s.to_owned(),
            reason,
        })
    }
}

fn parse(text: &str) -> Result<LoadSpec, String> {
    let mut parts = text.split('@');
    let head = parts.next().unwrap_or_default();
    let mut given = Vec::new();
    for part in parts {
        given.push(part.split_once('=').ok_or_else(|| {
            format!("`@{part}` is no setting; use @KEY=VALUE, such as @intensity=50%")
        })?);
    }
    let (name, size) = match head.split_once(':') {
        Some((name, size)) => (name, Some(size)),
        None => (head, None),
    };
    let settings = Settings::take(&mut given)?;
    let mut own = Given(given);
    let kind = match name {
        "cpu" => LoadKind::Cpu {
            threads: size.map(|n| count(n, 1..=4_096, "threads")).transpose()?,
        },
        "memory" => LoadKind::Memory {
            block: size.map_or(Ok(DEFAULT_MEMORY), bytes)?,
        },
        "ping" => LoadKind::Ping(Ping {
            floods: size.map_or(Ok(1), |n| count(n, 1..=64, "floods"))?,
            to: own.take("to").map(ping::address).transpose()?,
            rate: own.take("rate").map(ping::rate).transpose()?,
        }),
        "printk" => LoadKind::Printk(Printk::parse(size, own.take("level"))?),
        "sched" => LoadKind::Sched {
            groups: size.map(|n| count(n, 1..=100, "groups")).transpose()?,
        },
        "tmpfs" => LoadKind::Tmpfs {
            size: size.map_or(Ok(DEFAULT_FILE), bytes)?,
        },
        _ => return Err("not a load; use cpu, memory, ping, printk, sched or tmpfs".to_owned()),
    };
    if let Some((key, _)) = own.0.first() {
        let keys = Settings::KEYS.join(", ");
        return Err(match name {
            "ping" => format!("`ping` has no setting `{key}`; it has to, rate, {keys}"),
            "printk" => format!("`printk` has no setting `{key}`; it has level, {keys}"),
            _ => format!("`{name}` has no setting `{key}`; it has {keys}"),
        });
    }
    Ok(LoadSpec { kind, settings })
}

/// Settings that were given and not taken yet.
struct Given<'a>(Vec<(&'a str, &'a str)>);

impl<'a> Given<'a> {
    fn take(&mut self, wanted: &str) -> Option<&'a str> {
        let at = self.0.iter().position(|(key, _)| *key == wanted)?;
        Some(self.0.remove(at).1)
    }
}

fn count(text: &str, range: RangeInclusive<u32>, what: &str) -> Result<u32, String> {
    let digits = text.bytes().all(|b| b.is_ascii_digit());
    let number = text.parse().ok();
    number
        .filter(|n| digits && range.contains(n))
        .ok_or_else(|| {
            let (low, high) = (range.start(), range.end());
            format!("the number of {what} must be from {low} to {high}")
        })
}

fn bytes(text: &str) -> Result<u64, String> {
    size(text)
        .filter(|n| (4_096..=1 << 40).contains(n))
        .ok_or_else(|| "the size must be from 4K to 1T, such as 64M".to_owned())
}

fn size(text: &str) -> Option<u64> {
    let (digits, shift) = match text.char_indices().next_back()? {
        (at, 'K' | 'k') => (&text[..at], 10),
        (at, 'M' | 'm') => (&text[..at], 20),
        (at, 'G' | 'g') => (&text[..at], 30),
        (at, 'T' | 't') => (&text[..at], 40),
        _ => (text, 0),
    };
    digits
        .parse::<u64>()
        .ok()
        .filter(|_| digits.bytes().all(|b| b.is_ascii_digit()))?
        .checked_mul(1 << shift)
}

/// A number of bytes in the largest unit that it is whole in.
struct Size(u64);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(40, "T"), (30, "G"), (20, "M"), (10, "K")];
        let whole = |(shift, _): &&(u32, &str)| self.0.is_multiple_of(1 << shift);
        match units.iter().find(whole) {
            Some((shift, unit)) => write!(f, "{}{unit}", self.0 >> shift),
            None => write!(f, "{}", self.0),
        }
    }
}

/// A load was rejected.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("`{load}`: {reason}")]
pub struct ParseLoadError {
    pub(super) load: String,
    pub(super) reason: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_round_trip() {
        for text in [
            "cpu",
            "cpu:4",
            "memory",
            "memory:64K",
            "memory:5000",
            "cpu@cpus=0-1,3",
            "cpu:2@policy=f:5",
            "memory:64M@cpus=1@policy=o:5@intensity=50%",
            "cpu@policy=i",
            "ping",
            "ping:4@to=127.0.0.7@rate=50@cpus=1",
            "printk",
            "printk:7@level=6@intensity=3%",
            "sched",
            "sched:3@policy=o:1",
            "tmpfs",
            "tmpfs:1M",
        ] {
            assert_eq!(text.parse::<LoadSpec>().unwrap().to_string(), text);
        }
        let block = 64 << 20;
        let load: LoadSpec = "memory:64M".parse().unwrap();
        assert_eq!(load, LoadKind::Memory { block }.into());
    }

    #[test]
    fn settings_may_be_said_in_other_ways() {
        for (text, said) in [
            ("cpu@nice=5", "cpu@policy=o:5"),
            ("cpu@intensity=7", "cpu@intensity=7%"),
            ("cpu@intensity=100%", "cpu"),
            ("memory:32M", "memory"),
        ] {
            assert_eq!(text.parse::<LoadSpec>().unwrap().to_string(), said);
        }
    }

    #[test]
    fn bad_loads_name_the_reason() {
        for (text, part) in [
            ("disk", "not a load; use cpu"),
            ("", "not a load"),
            ("cpu:0", "1 to 4096"),
            ("cpu:+2", "1 to 4096"),
            ("cpu:x", "1 to 4096"),
            ("memory:1", "4K to 1T"),
            ("memory:9999T", "4K to 1T"),
            ("memory:-1M", "4K to 1T"),
            ("memory:é", "4K to 1T"),
            ("sched:101", "groups must be from 1 to 100"),
            ("tmpfs:2K", "4K to 1T"),
            ("ping:0", "floods must be from 1 to 64"),
            ("ping@to=localhost", "an IPv4 address"),
            ("ping@to=::1", "an IPv4 address"),
            ("ping@rate=0", "1 to 1000000"),
            ("ping@rate=5@rate=6", "no setting `rate`"),
            ("printk:0", "from 1 to 1000"),
            ("printk:1001", "from 1 to 1000"),
            ("printk@level=8", "from 0 (emergency)"),
            ("cpu@level=3", "no setting `level`"),
            ("ping@from=127.0.0.1", "it has to, rate, cpus"),
            ("cpu@", "no setting"),
            ("cpu@fast", "`@fast` is no setting"),
            ("cpu@speed=3", "has no setting `speed`; it has cpus, policy"),
            ("cpu@cpus=", "names no CPU"),
            ("cpu@cpus=x", "not a CPU number"),
            ("cpu@policy=d:1ms:2ms", "f:PRIO"),
            ("cpu@policy=f:0", "1 to 99"),
            ("cpu@nice=20", "-20 to 19"),
            ("cpu@nice=3@policy=b", "one setting"),
            ("cpu@intensity=0", "1% to 100%"),
            ("cpu@intensity=101%", "1% to 100%"),
        ] {
            let err = text.parse::<LoadSpec>().unwrap_err().to_string();
            assert!(err.starts_with(&format!("`{text}`: ")), "{err}");
            assert!(err.contains(part), "{err}");
        }
    }
}
