// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Where a knob's files are: a path with placeholders, filled in from what the machine has.

use punctual_model::{Codec, CpuSet, Ordered as _};
use punctual_sys::SysRoot;

/// A path, in which `{...}` stands for what there may be several of:
///
/// | placeholder | matches |
/// |---|---|
/// | `{cpu}` | `cpuN` |
/// | `{policy}` | `policyN`, CPUs that change their frequency together |
/// | `{state}` | `stateN`, an idle state |
/// | `{irq}` | a number |
/// | `{disk}` | a block device that is no loop device, RAM disk or compressed memory |
/// | `{net}` | a network interface that is not `lo` |
/// | `{rx}`, `{tx}` | a receive or transmit queue |
/// | `{group}`, `{queue}`, `{die}` | any directory |
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// The path.
    pub path: &'static str,
    /// The form of the values at this place.
    pub codec: Codec,
    /// A neighbouring file that lists the words it takes.
    pub choices: Option<&'static str>,
    /// Neighbouring files with the least and the greatest number it takes.
    pub bounds: Option<(&'static str, &'static str)>,
}

impl Place {
    /// Makes a place whose file says all there is to know.
    pub(crate) const fn at(path: &'static str, codec: Codec) -> Self {
        Self {
            path,
            codec,
            choices: None,
            bounds: None,
        }
    }

    /// Adds the file that lists the words, a name in the same directory.
    pub(crate) const fn offering(self, name: &'static str) -> Self {
        Self {
            choices: Some(name),
            ..self
        }
    }

    /// Adds the files with the least and the greatest number, names in the same directory.
    pub(crate) const fn between(self, least: &'static str, greatest: &'static str) -> Self {
        Self {
            bounds: Some((least, greatest)),
            ..self
        }
    }

    /// Lists the files that there are.
    pub(crate) fn files(&self, sys: &SysRoot) -> Vec<Found> {
        let mut found = vec![Found::default()];
        for part in self.path.split('/').filter(|part| !part.is_empty()) {
            found = match part.strip_prefix('{').and_then(|p| p.strip_suffix('}')) {
                None => found.into_iter().map(|f| f.join(part)).collect(),
                Some(kind) => found.iter().flat_map(|f| f.fill(sys, kind)).collect(),
            };
        }
        found.retain(|f| sys.exists(&f.path));
        found
    }
}

/// A file that a place stands for.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Found {
    /// Its path.
    pub(crate) path: String,
    /// What the placeholders stand for, the CPU by its number alone.
    pub(crate) parts: Vec<String>,
    /// The CPUs that it concerns, if it does not concern all.
    pub(crate) cpus: Option<CpuSet>,
}

impl Found {
    /// Returns the name of this one among several.
    pub(crate) fn instance(&self) -> Option<String> {
        (!self.parts.is_empty()).then(|| self.parts.join("/"))
    }

    fn join(mut self, name: &str) -> Self {
        self.path.push('/');
        self.path.push_str(name);
        self
    }

    fn fill(&self, sys: &SysRoot, kind: &str) -> Vec<Self> {
        // A directory that cannot be listed has nothing for us.
        let names = sys.names(&self.path).unwrap_or_default();
        let mut found: Vec<(Option<u32>, Self)> = names
            .iter()
            .filter(|name| matches(kind, name))
            .map(|name| {
                let number = number_in(name);
                let mut one = self.clone().join(name);
                let cpu = number.filter(|_| kind == "cpu");
                one.parts
                    .push(cpu.map_or_else(|| name.clone(), |cpu| cpu.to_string()));
                one.cpus = match (kind, number) {
                    ("cpu", Some(cpu)) => Some([cpu].into_iter().collect()),
                    ("policy", _) => sys
                        .read(&format!("{}/affected_cpus", one.path))
                        .ok()
                        .map(|text| cpus_of(&text)),
                    _ => one.cpus,
                };
                (number, one)
            })
            .collect();
        // cpu2 comes before cpu10.
        found.order_by_key(|(number, _)| *number);
        found.into_iter().map(|(_, one)| one).collect()
    }
}

/// Reads numbers with blanks between them, as `affected_cpus` has them.
fn cpus_of(text: &str) -> CpuSet {
    text.split_whitespace()
        .filter_map(|cpu| cpu.parse().ok())
        .collect()
}

fn number_in(name: &str) -> Option<u32> {
    let digits = name.trim_start_matches(|c: char| !c.is_ascii_digit());
    digits.parse().ok()
}

fn matches(kind: &str, name: &str) -> bool {
    let numbered = |prefix: &str| {
        name.strip_prefix(prefix)
            .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()))
    };
    match kind {
        "cpu" | "policy" | "state" => numbered(kind),
        "irq" => numbered(""),
        "disk" => !["loop", "ram", "zram"]
            .iter()
            .any(|prefix| name.starts_with(prefix)),
        "net" => name != "lo",
        // Where version 1 is mounted there is no group of version 2.
        "group" => name != "cpuset",
        "rx" => name.starts_with("rx-"),
        "tx" => name.starts_with("tx-"),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[&str]) -> (tempfile::TempDir, SysRoot) {
        let files: Vec<_> = files.iter().map(|file| (*file, "0 1")).collect();
        crate::testing::machine(&files)
    }

    #[test]
    fn instances_come_in_the_order_of_their_numbers() {
        let (_dir, sys) = tree(&["sys/cpu10/online", "sys/cpu2/online", "sys/cpufreq/online"]);
        let place = Place::at("/sys/{cpu}/online", Codec::Flag);
        let files = place.files(&sys);
        let instances: Vec<_> = files.iter().filter_map(Found::instance).collect();
        assert_eq!(instances, ["2", "10"]);
        assert_eq!(files[1].cpus, Some([10].into_iter().collect()));
    }

    #[test]
    fn a_placeholder_within_another_keeps_both_and_the_cpu() {
        let (_dir, sys) = tree(&["cpu3/idle/state0/disable", "cpu3/idle/driver/disable"]);
        let files = Place::at("/{cpu}/idle/{state}/disable", Codec::Flag).files(&sys);
        assert_eq!(files.len(), 1);
        assert_eq!(files[0].instance().unwrap(), "3/state0");
        assert_eq!(files[0].cpus, Some([3].into_iter().collect()));
    }

    #[test]
    fn a_policy_concerns_the_cpus_that_it_says() {
        let (_dir, sys) = tree(&["policy0/affected_cpus", "policy0/governor"]);
        let files = Place::at("/{policy}/governor", Codec::Word).files(&sys);
        assert_eq!(files[0].cpus, Some([0, 1].into_iter().collect()));
        assert_eq!(files[0].instance().unwrap(), "policy0");
    }

    #[test]
    fn a_missing_file_is_no_place() {
        let (_dir, sys) = tree(&["block/vda/x", "block/loop0/queue"]);
        assert!(
            Place::at("/block/{disk}/queue", Codec::Word)
                .files(&sys)
                .is_empty()
        );
        assert_eq!(
            Place::at("/block/loop0/queue", Codec::Word)
                .files(&sys)
                .len(),
            1
        );
        assert!(
            Place::at("/none/{irq}/x", Codec::Word)
                .files(&sys)
                .is_empty()
        );
    }
}
