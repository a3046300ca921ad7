// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Every knob by name.
//!
//! sysctls keep their names. Other knobs are named after the part of the kernel that they belong to
//! and the file's own word. Sources: Documentation/admin-guide/{sysctl,pm,mm,cputopology.rst,
//! kernel-parameters.txt}, Documentation/core-api/workqueue.rst, Documentation/ABI in the kernel.

/// Makes the places of a knob whose values have one form, the first that exists counts.
macro_rules! places {
    ($codec:ident, $($path:expr),+ $(,)?) => {
        &[$($crate::knob::place::Place::at($path, punctual_model::Codec::$codec)),+]
    };
}

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
    pub kind: KnobKind,
    /// What planning knows of it besides.
    pub(crate) part: Part,
    /// What the kernel changes with it: of the same instance, or all where there is one of this.
    pub(crate) moves: &'static [&'static str],
    /// Whether it is forgotten while its CPUs are offline.
    pub(crate) forgotten: bool,
}

/// What a knob is to others, for which plans treat it apart.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Part {
    /// Nothing.
    Plain,
    /// It takes a CPU from the machine.
    Cpu,
    /// It takes the siblings of all cores.
    Siblings,
    /// One of the four values of the real-time budget, by its place: the machine's runtime and period, the
    /// root group's. Each depends on the others.
    Budget(usize),
    /// It confines all programs of a control group.
    Group,
    /// It places interrupts: drivers, and `irqbalance`, place them too.
    Interrupts,
    /// It spreads work over CPUs; where it has none, nothing is spread.
    Spread,
    /// The CPUs of a queue, which may be none. Drivers place them too.
    Queue,
    /// The lower of two limits, with the name of the upper one.
    Lower(&'static str),
    /// A share that clears, when written, the limit in bytes of this name.
    Share(&'static str),
    /// Memory that is set aside: the share in % at which programs are in danger, and whether in huge pages.
    Memory { most: u64, huge: bool },
    /// It does not take this value, for this reason.
    Never(&'static str, &'static str),
    /// It protects: what a lower value does.
    Protects(&'static str),
    /// A setting that all instances of what moves it share.
    Shared,
}

/// What a knob is on a machine.
#[derive(Clone, Copy, Debug)]
pub enum KnobKind {
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
            kind: KnobKind::Files(places),
            part: Part::Plain,
            moves: &[],
            forgotten: false,
        }
    }

    /// Makes a knob that is no file.
    const fn made(
        name: &'static str,
        kind: KnobKind,
        reversibility: Reversibility,
        about: &'static str,
        effect: &'static str,
    ) -> Self {
        Self {
            kind,
            reversibility,
            ..Self::exact(name, &[], about, effect)
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

    /// Says what plans know of it.
    const fn part(self, part: Part) -> Self {
        Self { part, ..self }
    }

    /// Says what the kernel changes with it.
    const fn moves(self, moves: &'static [&'static str]) -> Self {
        Self { moves, ..self }
    }

    /// Says that it is forgotten while its CPUs are offline.
    const fn forgotten(self) -> Self {
        Self {
            forgotten: true,
            ..self
        }
    }

    /// Whether it follows `leader`, and not the other way round as well.
    pub(crate) fn follows(&self, leader: &Self) -> bool {
        leader.moves.contains(&self.name) && !self.moves.contains(&leader.name)
    }

    /// Whether the kernel may change the CPUs of threads because of it.
    pub(crate) const fn places_threads(&self) -> bool {
        matches!(self.kind, KnobKind::Partition)
            || matches!(self.part, Part::Group | Part::Cpu | Part::Siblings)
    }

    /// Whether its value depends on other knobs.
    pub(crate) const fn is_budget(&self) -> bool {
        matches!(self.part, Part::Budget(_))
    }

    /// Returns the name of those that can only be set together, or its own.
    pub fn together(&self) -> &'static str {
        if self.is_budget() {
            playing(Part::Budget(0))
        } else {
            self.name
        }
    }

    /// Returns the form of its values.
    pub fn codec(&self) -> Codec {
        match self.kind {
            KnobKind::Files(places) => places.first().map_or(Codec::Word, |place| place.codec),
            KnobKind::ThreadCpus(_) => Codec::List,
            KnobKind::IrqThreadPolicy => Codec::Policy,
            KnobKind::Held(_) => Codec::ResumeLatency,
            KnobKind::Partition => Codec::Word,
        }
    }
}

/// Every knob, in groups.
pub const KNOBS: [&[Knob]; 4] = [cpu::KNOBS, sched::KNOBS, memory::KNOBS, device::KNOBS];

/// Settings that are no knobs, but that the kernel changes because of one.
pub(crate) const KEPT: &[Knob] = kept::KEPT;

/// Returns the name of the knob that plays this part.
pub(crate) fn playing(part: Part) -> &'static str {
    all()
        .find(|knob| knob.part == part)
        .map_or("", |knob| knob.name)
}

/// Returns the name of the knob of the CPUs of these threads.
pub(crate) fn of_threads(which: Threads) -> &'static str {
    all()
        .find(|knob| matches!(knob.kind, KnobKind::ThreadCpus(of) if of == which))
        .map_or("", |knob| knob.name)
}

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
            let known = |name: &&str| find(name).is_some() || KEPT.iter().any(|k| k.name == *name);
            assert!(knob.moves.iter().all(known), "{}", knob.name);
            if let KnobKind::Files(places) = knob.kind {
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
