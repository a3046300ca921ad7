// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A guest in words: `guest:KERNEL[,OPTION...]`.
//!
//! Options are `virtual-time`, `machine=kvm` or `tcg`, `append=ARGUMENTS` (can be repeated),
//! `model=MODEL`, `cpus=N`, `memory=SIZE` with K, M or G, `nodes=N` (of CPUs and memory), `seed=N` and
//! `time-limit=TIME`. A comma in a value is written
//! twice.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use punctual_model::{Bytes, Nanos, split_options};
use thiserror::Error;

use crate::boot::{Architecture, Design, Image, Machine};
use crate::guest::Model;

const PREFIX: &str = "guest:";

/// Memory that a guest has at least: a kernel and this program.
const LEAST_MEMORY: Bytes = Bytes::new(64 << 20);

/// How long a guest may take when nothing is said.
const TIME_LIMIT: Nanos = Nanos::from_secs(600);

/// Nodes that a guest has at most: that many servers have.
const MOST_NODES: u32 = 8;

/// CPUs that a guest has at most.
const MOST_CPUS: u32 = 64;

/// Why words are no guest.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[error("{0}")]
pub struct ParseTargetError(String);

/// A kernel to be booted, and how.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct GuestTarget {
    /// The kernel's image.
    pub kernel: PathBuf,
    /// KVM or emulation. Missing: KVM, where it works.
    pub machine: Option<Machine>,
    /// Further kernel arguments.
    pub append: Vec<String>,
    /// The model that it must be found to run.
    pub model: Option<Model>,
    /// CPUs.
    pub cpus: u32,
    /// Memory.
    pub memory: Bytes,
    /// Nodes that CPUs and memory are divided among.
    pub nodes: u32,
    /// Seed of the guest's random numbers.
    pub seed: u64,
    /// How long it may take, by the host's clock.
    pub time_limit: Nanos,
}

impl GuestTarget {
    /// Begins with one CPU, the usual memory and seed 1.
    pub fn of(kernel: impl Into<PathBuf>) -> Self {
        Self {
            kernel: kernel.into(),
            machine: None,
            append: Vec::new(),
            model: None,
            cpus: 1,
            memory: Design::MEMORY,
            nodes: 1,
            seed: 1,
            time_limit: TIME_LIMIT,
        }
    }

    /// Returns the model that must be found: as asked for, or else as a `preempt=` asks.
    pub fn asked_model(&self) -> Option<Model> {
        self.model
            .or_else(|| Model::asked_by(self.append.iter().map(String::as_str)))
    }

    /// Returns the design of it on `machine`, for what the image is for.
    pub fn design(&self, architecture: Architecture, machine: Machine) -> Design {
        Design {
            architecture,
            machine,
            cpus: self.cpus,
            memory: self.memory,
            nodes: self.nodes,
            seed: self.seed,
            append: self.append.clone(),
        }
    }

    /// Refuses what cannot be.
    ///
    /// # Errors
    ///
    /// Fails with more than one CPU in virtual time, with no CPU or too many of them, with too
    /// little memory, and with a `preempt=` that there is not.
    pub fn check(&self) -> Result<(), ParseTargetError> {
        let fail = |text: String| Err(ParseTargetError(text));
        if !(1..=MOST_CPUS).contains(&self.cpus) {
            return fail(format!("cpus={}: must be from 1 to {MOST_CPUS}", self.cpus));
        }
        if self.machine == Some(Machine::Virtual) && self.cpus != 1 {
            return fail(format!(
                "cpus={}: virtual time supports one CPU; several would take turns of 10 ms, which would show as \
                 latency",
                self.cpus
            ));
        }
        if self.memory < LEAST_MEMORY {
            return fail("memory: must be at least 64M".to_owned());
        }
        if !(1..=MOST_NODES).contains(&self.nodes) {
            return fail(format!(
                "nodes={}: must be from 1 to {MOST_NODES}",
                self.nodes
            ));
        }
        if self.memory.get() < u64::from(self.nodes) * LEAST_MEMORY.get() {
            return fail(format!(
                "nodes={}: must have at least 64M of memory each; add memory=SIZE",
                self.nodes
            ));
        }
        if let Err(err) = Model::check(self.append.iter().map(String::as_str)) {
            return fail(format!("preempt=: {err}"));
        }
        if self.kernel.to_string_lossy().contains(',') {
            return fail(
                "the kernel's path must not have commas, which QEMU takes for options".to_owned(),
            );
        }
        Ok(())
    }

    /// Refuses what `image`, its kernel, does not boot with.
    ///
    /// # Errors
    ///
    /// Fails where it takes fewer arguments or more memory, with both sizes.
    pub fn fits(&self, image: &Image) -> Result<(), ParseTargetError> {
        if let Some(least) = image.least_memory.filter(|least| *least > self.memory) {
            return Err(ParseTargetError(format!(
                "memory: {} is too little for this kernel: {} takes {}M to start, and more to run",
                self.memory,
                self.kernel.display(),
                least.get().div_ceil(1 << 20)
            )));
        }
        let machine = self.machine.unwrap_or(Machine::Kvm);
        let design = self.design(image.architecture, machine);
        let length = design.command_line().len();
        match image.most_arguments {
            Some(most) if length > most => Err(ParseTargetError(format!(
                "the kernel's command line is too long: {length} bytes, and {} takes {most}",
                self.kernel.display()
            ))),
            _ => Ok(()),
        }
    }

    /// Returns the words that it is read from: kernel, machine, arguments, model, time limit.
    pub fn words(&self) -> String {
        let sign = |text: &str| text.replace(',', ",,");
        let machine = self.machine.map(|machine| match machine {
            Machine::Virtual => ",virtual-time".to_owned(),
            Machine::Kvm => ",machine=kvm".to_owned(),
            Machine::Tcg => ",machine=tcg".to_owned(),
        });
        let append = self
            .append
            .iter()
            .map(|text| format!(",append={}", sign(text)));
        let model = self.model.map(|model| format!(",model={model}"));
        let kernel = sign(&self.kernel.display().to_string());
        let options: String = machine.into_iter().chain(append).chain(model).collect();
        format!(
            "{PREFIX}{kernel}{options},time-limit={}ns",
            self.time_limit.get()
        )
    }

    fn set(&mut self, option: &str) -> Result<(), String> {
        let (key, value) = option.split_once('=').unwrap_or((option, ""));
        let number = || format!("{option}: must be a number");
        match key {
            "virtual-time" if value.is_empty() => self.machine = Some(Machine::Virtual),
            "machine" => {
                self.machine = Some(match value {
                    "kvm" => Machine::Kvm,
                    "tcg" => Machine::Tcg,
                    _ => return Err(format!("{option}: must be kvm or tcg")),
                });
            }
            "append" if !value.is_empty() => self.append.push(value.to_owned()),
            "model" => self.model = Some(value.parse().map_err(|err| format!("{option}: {err}"))?),
            "nodes" => self.nodes = value.parse().map_err(|_| number())?,
            "cpus" => self.cpus = value.parse().map_err(|_| number())?,
            "seed" => self.seed = value.parse().map_err(|_| number())?,
            "time-limit" => {
                self.time_limit = value.parse().map_err(|err| format!("{option}: {err}"))?;
            }
            "memory" => {
                self.memory = value.parse().map_err(|err| format!("{option}: {err}"))?;
            }
            _ => {
                return Err(format!(
                    "`{option}` is not an option of a guest; use virtual-time, machine=, append=, model=, cpus=, \
                     memory=, nodes=, seed=, time-limit="
                ));
            }
        }
        Ok(())
    }
}

impl FromStr for GuestTarget {
    type Err = ParseTargetError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let fail = |text: String| ParseTargetError(text);
        let rest = text.strip_prefix(PREFIX).ok_or_else(|| {
            fail(format!(
                "`{text}` is not a target; use guest:KERNEL[,OPTION...]"
            ))
        })?;
        let mut pieces = split_options(rest).into_iter();
        let kernel = pieces.next().filter(|kernel| !kernel.is_empty());
        let kernel = kernel.ok_or_else(|| fail("guest: names no kernel image".to_owned()))?;
        let mut target = Self::of(kernel);
        for piece in pieces {
            target.set(&piece).map_err(fail)?;
        }
        target.check()?;
        Ok(target)
    }
}

impl fmt::Display for GuestTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", self.kernel.display())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_is_read() {
        let text = "guest:/boot/vmlinuz,virtual-time,append=preempt=full,append=isolcpus=1,,2,seed=9,memory=1G";
        let target: GuestTarget = text.parse().unwrap();
        assert_eq!(target.kernel, PathBuf::from("/boot/vmlinuz"));
        assert_eq!(target.machine, Some(Machine::Virtual));
        assert_eq!(target.append, ["preempt=full", "isolcpus=1,2"]);
        assert_eq!((target.seed, target.memory.get()), (9, 1 << 30));
        assert_eq!(target.asked_model(), Some(Model::Full));
        let design = target.design(Architecture::X86_64, Machine::Virtual);
        assert!(design.command_line().ends_with("preempt=full isolcpus=1,2"));
    }

    #[test]
    fn arguments_that_the_kernel_does_not_take_are_refused_with_both_lengths() {
        let taking = |most_arguments| Image {
            most_arguments,
            ..Image::default()
        };
        let mut target = GuestTarget::of("K");
        let own = target.design(Architecture::X86_64, Machine::Kvm);
        let own = own.command_line().len();
        target.append.push("x".repeat(2_047 - own - 1));
        target.fits(&taking(Some(2_047))).unwrap();
        target.append.push(String::new());
        let err = target.fits(&taking(Some(2_047))).unwrap_err().to_string();
        assert!(err.contains("2048 bytes, and K takes 2047"), "{err}");
        target.fits(&taking(None)).unwrap();
    }

    #[test]
    fn memory_in_which_the_kernel_does_not_start_is_refused() {
        let image = Image {
            least_memory: Some(Bytes::new((80 << 20) - 1)),
            ..Image::default()
        };
        let mut target = GuestTarget::of("K");
        target.fits(&image).unwrap();
        target.memory = Bytes::new(64 << 20);
        let err = target.fits(&image).unwrap_err().to_string();
        assert!(
            err.contains("64M is too little for this kernel: K takes 80M"),
            "{err}"
        );
    }

    #[test]
    fn bad_guests_are_refused_with_the_reason() {
        for (text, part) in [
            ("/boot/vmlinuz", "guest:KERNEL"),
            ("guest:", "names no kernel"),
            ("guest:K,vitual-time", "`vitual-time` is not an option"),
            ("guest:K,virtual-time,cpus=2", "one CPU"),
            ("guest:K,cpus=0", "from 1 to 64"),
            ("guest:K,cpus=two", "must be a number"),
            ("guest:K,memory=1M", "at least 64M"),
            ("guest:K,nodes=0", "from 1 to 8"),
            ("guest:K,nodes=9", "from 1 to 8"),
            ("guest:K,nodes=4,memory=128M", "at least 64M of memory each"),
            ("guest:K,memory=99999999999999G", "is not a size"),
            ("guest:K,model=soft", "not a preemption model"),
            ("guest:K,append=preempt=soft", "not a preemption model"),
            ("guest:K,machine=virtual", "kvm or tcg"),
            ("guest:a,,b", "commas"),
            ("guest:K,append=", "not an option"),
        ] {
            let err = text.parse::<GuestTarget>().unwrap_err().to_string();
            assert!(err.contains(part), "{text}: {err}");
        }
    }
}
