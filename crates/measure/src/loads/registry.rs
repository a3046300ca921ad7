// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Every load, and how the command line says them: it, its help, the limits and the loads at work read the rest from here.
//!
//! ```text
//! LIST = LOAD { "," LOAD }
//! LOAD = NAME [ ":" SIZE ] { "@" KEY "=" VALUE }
//! ```
//!
//! No character of it means anything to a shell. A comma separates loads unless a digit follows:
//! then it goes on with a list of CPUs. The size of some loads is free text, see [`words`].

use std::str::FromStr;

use super::kind::LoadKind;
use super::parse::{Given, ParseLoadError};
use super::settings::Settings;
use super::spec::LoadSpec;
use super::{compute, disk, foreign, own, ping, printk, sched, tmpfs, words};

/// Every load, in the order in which the help shows them.
pub(super) const KINDS: &[&LoadKind] = &[
    &compute::CPU,
    &compute::MEMORY,
    &own::FORK,
    &disk::KIND,
    &own::LINPACK,
    &ping::KIND,
    &printk::KIND,
    &sched::KIND,
    &tmpfs::KIND,
    &foreign::STRESS_NG,
    &foreign::CMD,
];

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
    let words::Words {
        name,
        size,
        mut given,
    } = words::split(text)?;
    let settings = Settings::take(&mut given)?;
    let mut own = Given(given);
    let kind = KINDS.iter().find(|kind| kind.name == name);
    let kind = kind.ok_or_else(|| format!("not a load; use {}", names()))?;
    let load = (kind.parse)(size, &mut own)?;
    match own.0.first() {
        None => Ok(LoadSpec {
            kind,
            load,
            settings,
        }),
        Some((key, _)) => {
            let of_all = Settings::KEYS.join(", ");
            let keys = match kind.keys {
                "" => of_all,
                own => format!("{own}, {of_all}"),
            };
            Err(format!("`{name}` has no setting `{key}`; it has {keys}"))
        }
    }
}

/// The names of all loads, for people who have mistyped one.
fn names() -> String {
    let mut names: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
    let last = names.pop().unwrap_or_default();
    format!(
        "{} or {last}, or one of the presets bridgers, kernel, raju and vasyukov",
        names.join(", ")
    )
}

/// Returns the lines that say in the help what each load is.
pub fn help() -> String {
    let lines = KINDS.iter().flat_map(|kind| {
        let usages = std::iter::once(kind.usage).chain(std::iter::repeat(""));
        usages.zip(wrapped(&kind.help.join(" ")))
    });
    lines
        .map(|(usage, line)| format!("  {usage:16} {line}\n"))
        .collect()
}

/// Breaks a text into lines that have room behind the usages of a terminal of 80 columns.
fn wrapped(text: &str) -> Vec<String> {
    const MOST: usize = 61;
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.len() + 1 + word.len() <= MOST => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_load_is_described_once() {
        for (place, kind) in KINDS.iter().enumerate() {
            assert!(
                kind.usage.starts_with(kind.name) && !kind.help.is_empty() && !kind.unit.is_empty()
            );
            let others = KINDS.iter().skip(place + 1);
            assert!(others.clone().all(|other| other.name != kind.name));
        }
        assert!(help().lines().all(|line| line.len() <= 80));
    }

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
            "ping:2@rate=50@between=namespaces",
            "printk",
            "printk:7@level=6@intensity=3%",
            "sched",
            "sched:3@policy=o:1",
            "tmpfs",
            "tmpfs:1M",
            "fork",
            "fork:2@policy=i",
            "linpack",
            "linpack:3@order=500@policy=o:1",
            "io",
            "io:read@engine=io_uring@block=4K@depth=1@jobs=2@size=1G@dir=/var/tmp@buffered=yes@policy=o:1",
            "stress-ng:--cpu 2 --vm-bytes 1,5%@cpus=0",
            "cmd:make -j4, again",
            "cmd:ssh me@host 'a=b@c'@cpus=0@policy=o:5",
            "cmd:echo x@nice=3@",
            "cmd:echo x@nice=3@@cpus=1",
            "cmd:echo x@@",
            "cmd:wget ftp://a:b@c/d",
        ] {
            assert_eq!(text.parse::<LoadSpec>().unwrap().to_string(), text);
        }
        let load: LoadSpec = "memory:64M".parse().unwrap();
        assert_eq!(load.memory(1), 64 << 20);
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
            ("ping@from=127.0.0.1", "it has to, rate, between, cpus"),
            ("ping@between=hosts", "between: must be namespaces"),
            (
                "ping@to=127.0.0.1@between=namespaces",
                "to and between exclude each other",
            ),
            ("cpu@", "not a setting"),
            ("cpu@fast", "`@fast` is not a setting"),
            ("cpu@speed=3", "has no setting `speed`; it has cpus, policy"),
            ("cpu@cpus=", "names no CPU"),
            ("cpu@cpus=x", "not a CPU number"),
            ("cpu@policy=d:1ms:2ms", "f:PRIO"),
            ("cpu@policy=f:0", "1 to 99"),
            ("cpu@policy=f:99", "at most 98"),
            ("linpack:0", "threads must be from 1 to 4096"),
            ("linpack@order=1", "equations must be from 2 to 1000000"),
            ("linpack@size=3", "it has order, cpus"),
            ("io:trim", "which I/O pattern? `trim` is not one of"),
            (
                "io@engine=sync",
                "engine: `sync` is not one of: libaio, io_uring",
            ),
            ("io@block=511", "block: must be from 512 to 64M"),
            ("io@block=1x", "block: `1x` is not a size"),
            ("io@block=8K@size=4K", "larger than the file"),
            ("io@depth=0", "depth: must be from 1 to 65536"),
            ("io@jobs=x", "jobs: must be from 1 to 4096"),
            ("io@buffered=1", "must be yes or no"),
            ("io@rate=1", "it has engine, block"),
            ("stress-ng", "which arguments?"),
            ("stress-ng: ", "which arguments?"),
            ("cmd", "which command?"),
            ("cmd: ", "which command?"),
            ("cmd:ls@policy=x", "not a policy"),
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
