// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Every knob by name.
//!
//! sysctls keep their names. Other knobs are named after the part of the kernel that they belong to
//! and the file's own word. Sources: Documentation/admin-guide/{sysctl,pm,mm,cputopology.rst,
//! kernel-parameters.txt}, Documentation/core-api/workqueue.rst, Documentation/ABI in the kernel.

mod cpu;
mod device;
mod kept;
mod memory;
mod sched;

use punctual_model::{Codec, Reversibility};

use super::place::Place;

/// One setting, or one of a kind.
#[derive(Clone, Copy, Debug)]
pub struct Knob {
    /// Its name.
    pub name: &'static str,
    /// What it decides.
    pub about: &'static str,
    /// What else a change does, or costs.
    pub effect: &'static str,
    /// How completely a change can be taken back.
    pub reversibility: Reversibility,
    /// What it is on a machine.
    pub kind: Kind,
}

/// What a knob is on a machine.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// Files. Where there is none at the first place, the next one counts.
    Files(&'static [Place]),
    /// The CPUs of threads.
    ThreadCpus(Threads),
    /// The scheduling policy of the threads that serve interrupts.
    IrqThreadPolicy,
    /// A bound that a process holds.
    Held(&'static str),
    /// A control group of CPUs that are left alone.
    Partition,
}

/// Which threads.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Threads {
    /// Those of programs.
    Programs,
    /// The kernel's own.
    Kernel,
}

impl Knob {
    /// Makes a knob whose old value brings the old state back.
    const fn exact(
        name: &'static str,
        places: &'static [Place],
        about: &'static str,
        effect: &'static str,
    ) -> Self {
        Self {
            name,
            about,
            effect,
            reversibility: Reversibility::Exact,
            kind: Kind::Files(places),
        }
    }

    /// Makes a knob of which only the value comes back.
    const fn value(
        name: &'static str,
        places: &'static [Place],
        about: &'static str,
        effect: &'static str,
    ) -> Self {
        Self {
            reversibility: Reversibility::Value,
            ..Self::exact(name, places, about, effect)
        }
    }

    /// Makes a setting that is no knob, but moves with one.
    const fn kept(name: &'static str, places: &'static [Place]) -> Self {
        Self::exact(
            name,
            places,
            "moves with another setting",
            "is put back with it",
        )
    }

    /// Returns the form of its values.
    pub fn codec(&self) -> Codec {
        match self.kind {
            Kind::Files(places) => places.first().map_or(Codec::Word, |place| place.codec),
            Kind::ThreadCpus(_) => Codec::List,
            Kind::IrqThreadPolicy => Codec::Policy,
            Kind::Held(_) => Codec::ResumeLatency,
            Kind::Partition => Codec::Word,
        }
    }
}

/// Every knob, in groups.
pub const KNOBS: [&[Knob]; 4] = [cpu::KNOBS, sched::KNOBS, memory::KNOBS, device::KNOBS];

/// Settings that are no knobs, but that the kernel changes because of one.
pub(crate) const KEPT: &[Knob] = kept::KEPT;

/// Knobs whose values depend on each other: the machine's real-time budget and the root group's.
pub(crate) const BANDWIDTH: [&str; 4] = [
    "kernel.sched_rt_runtime_us",
    "kernel.sched_rt_period_us",
    "cgroup.rt_runtime_us",
    "cgroup.rt_period_us",
];

/// Returns the knob of that name.
pub fn find(name: &str) -> Option<&'static Knob> {
    all().find(|knob| knob.name == name)
}

/// Lists all knobs.
pub(crate) fn all() -> impl Iterator<Item = &'static Knob> {
    KNOBS.iter().copied().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_can_be_typed() {
        let mut names: Vec<_> = all().map(|knob| knob.name).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        let typeable = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._".contains(c);
        assert!(
            names.iter().all(|name| name.chars().all(typeable)),
            "{names:?}"
        );
        assert!(count >= 70, "{count}");
    }

    #[test]
    fn every_knob_says_what_it_does_and_what_it_costs() {
        for knob in all() {
            for text in [knob.about, knob.effect] {
                assert!(
                    !text.is_empty() && !text.ends_with('.'),
                    "{}: {text}",
                    knob.name
                );
            }
            if let Kind::Files(places) = knob.kind {
                assert!(!places.is_empty(), "{}", knob.name);
                let absolute = |place: &Place| {
                    ["/proc/", "/sys/"]
                        .iter()
                        .any(|r| place.path.starts_with(r))
                };
                assert!(places.iter().all(absolute), "{}", knob.name);
            }
        }
    }
}
