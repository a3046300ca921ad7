// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The instruments of `measure`. Each is a file here with its options and what they mean; its folder is in
//! `punctual-measure`; what is said of it by name stands in the table of [`punctual_model::Instrument`].

mod deadline;
mod io;
mod ipc;
mod irq;
mod linpack;
mod memory;
mod noise;
mod pi;
mod release;
mod request;
mod tasks;
mod wakeup;
mod watch;

use std::path::Path;

use clap::Subcommand;
#[cfg(feature = "workbench")]
use punctual_measure::{linpack::Engine, loads::LoadList};
use punctual_model::CpuSet;
#[cfg(feature = "workbench")]
use punctual_model::Policy;

#[cfg(feature = "workbench")]
pub(crate) use self::request::finish;
#[cfg(feature = "workbench")]
pub(crate) use self::watch::WatchArgs;
use crate::cli::{CommonArgs, MetricsArgs};
use crate::error::CliError;
use crate::exit::Exit;
#[cfg(feature = "workbench")]
use crate::guests;

/// Makes the subcommands of `measure`: of each instrument the help text, and the module with its options and `run`.
macro_rules! instruments {
    ($($(#[doc = $about:literal])* $name:ident = $module:ident::$args:ident,)*) => {
        /// What makes samples
        #[derive(Debug, Subcommand)]
        pub enum Instrument {
            $($(#[doc = $about])* $name(Box<$module::$args>),)*
        }

        impl Instrument {
            /// The names of all of them.
            #[cfg(feature = "workbench")]
            pub(crate) const NAMES: &[&str] = &[$(stringify!($module),)*];

            /// Returns its name.
            pub(crate) const fn name(&self) -> &'static str {
                match self {
                    $(Self::$name(_) => stringify!($module),)*
                }
            }

            /// Measures with it in this machine as it is.
            pub(crate) fn measure(&self, home: Option<&Path>) -> Result<Exit, CliError> {
                match self {
                    $(Self::$name(args) => $module::run(home, args),)*
                }
            }

            const fn common(&self) -> &CommonArgs {
                match self {
                    $(Self::$name(args) => &args.common,)*
                }
            }

            const fn common_mut(&mut self) -> &mut CommonArgs {
                match self {
                    $(Self::$name(args) => &mut args.common,)*
                }
            }
        }
    };
}

instruments! {
    /// Measure how late threads that sleep until a deadline wake up
    Wakeup = wakeup::WakeupArgs,
    /// Measure timer interrupt latency and thread latency separately: the phases of each wake-up
    Irq = irq::IrqArgs,
    /// Measure how long it takes to wake another thread: futex, pipe, eventfd, message queue, ...
    Ipc = ipc::IpcArgs,
    /// Show priority inversion: how long a high-priority thread waits for a lock, with and without a protocol
    Pi = pi::PiArgs,
    /// Measure how exactly a thread can start a cycle by sleeping, then spinning, and what that costs
    Release = release::ReleaseArgs,
    /// Measure how fast systems of linear equations are solved: GFLOPS against their size
    Linpack = linpack::LinpackArgs,
    /// Measure memory bandwidth and latency for every pair of CPU node and memory node
    Memory = memory::MemoryArgs,
    /// Measure storage with fio: throughput, completion latency, and how much repeats vary
    Io = io::IoArgs,
    /// Measure which iterations of a computing real-time thread miss their deadline, and what took the time
    Deadline = deadline::DeadlineArgs,
    /// Run a task set: response times, missed deadlines, and which assumption broke where a bound did not hold
    Tasks = tasks::TasksArgs,
    /// Watch a program's own threads, unchanged: where the time of each cycle goes, and who made late ones late
    Watch = watch::WatchArgs,
    /// Measure the gaps that a busy loop sees on a CPU, and the kernel's counts of interrupts and switches
    Noise = noise::NoiseArgs,
}

impl Instrument {
    /// Returns the CPUs that were named to be measured.
    pub(crate) const fn cpus(&self) -> Option<&CpuSet> {
        self.common().cpus.as_ref()
    }

    /// Returns where metrics of the run that goes on are wanted.
    pub(crate) const fn metrics(&self) -> &MetricsArgs {
        &self.common().metrics
    }

    /// Returns the policy that its threads get, where it is not a file that says so.
    #[cfg(feature = "workbench")]
    pub(crate) const fn policy(&self) -> Option<Policy> {
        match self {
            Self::Tasks(_) => None,
            _ => Some(self.common().priority),
        }
    }

    /// Whether it records the kernel's events, which root may.
    #[cfg(feature = "workbench")]
    pub(crate) const fn traces(&self) -> bool {
        matches!(self, Self::Irq(_) | Self::Watch(_)) || self.common().explain
    }

    /// Returns how it watches a program, where it does.
    #[cfg(feature = "workbench")]
    pub(crate) const fn watches(&self) -> Option<&WatchArgs> {
        match self {
            Self::Watch(args) => Some(args),
            _ => None,
        }
    }

    /// Returns what a guest with this number of CPUs gets in addition to the options: what they refer to is here.
    #[cfg(feature = "workbench")]
    pub(crate) fn for_guest(
        &self,
        home: Option<&Path>,
        cpus: u32,
    ) -> Result<Vec<String>, CliError> {
        match self {
            Self::Tasks(args) => tasks::for_guest(home, args, cpus),
            _ => Ok(Vec::new()),
        }
    }

    /// Refuses, before anything boots, what takes programs of this machine: a guest has none.
    #[cfg(feature = "workbench")]
    pub(crate) fn check_for_guest(&self) -> Result<(), CliError> {
        let needs = match self {
            Self::Io(_) => Some("io".to_owned()),
            Self::Linpack(args) if args.engine != Engine::Own => {
                Some(format!("--engine {}", args.engine))
            }
            _ => None,
        };
        match needs {
            Some(what) => Err(guests::without_programs(&what)),
            None => guests::check_loads(&LoadList::join(&self.common().loads.load)),
        }
    }

    /// Whether the instrument of this name has an option for how long it measures.
    #[cfg(feature = "workbench")]
    pub(crate) fn has_duration(name: &str) -> bool {
        Self::has(name, |argument| argument.get_long() == Some("duration"))
    }

    /// Whether the instrument of this name measures something of the user's own, a program or a file, which has to be named.
    #[cfg(feature = "workbench")]
    pub(crate) fn has_subject(name: &str) -> bool {
        Self::has(name, clap::Arg::is_positional)
    }

    #[cfg(feature = "workbench")]
    fn has(name: &str, what: impl Fn(&clap::Arg) -> bool) -> bool {
        let command = Self::augment_subcommands(clap::Command::new("measure"));
        let mut arguments = command
            .find_subcommand(name)
            .into_iter()
            .flat_map(clap::Command::get_arguments);
        arguments.any(what)
    }

    /// Measures `cpus` where none were named.
    pub(crate) fn or_on(&mut self, cpus: &CpuSet) {
        self.common_mut().cpus.get_or_insert_with(|| cpus.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(feature = "workbench")]
    #[test]
    fn rates_are_measured_until_the_work_is_done() {
        for &name in Instrument::NAMES {
            let makes = punctual_model::Instrument::of(name).map(|of| of.makes);
            let rates = makes == Some(punctual_model::Makes::Rates);
            assert_eq!(Instrument::has_duration(name), !rates, "{name}");
        }
    }

    #[test]
    fn the_help_of_each_says_what_its_own_defaults_are() {
        let command = Instrument::augment_subcommands(clap::Command::new("measure"));
        let help = |name: &str, option: &str| {
            let of = command.find_subcommand(name).unwrap();
            let arg = of.get_arguments().find(|arg| arg.get_id() == option);
            arg.unwrap().get_help().unwrap().to_string()
        };
        for (name, option, default) in [
            ("pi", "cpus", "the first online and allowed"),
            ("noise", "cpus", "all online and allowed but the first"),
            ("wakeup", "cpus", "all online and allowed"),
            ("tasks", "cpus", "all online and allowed"),
            ("wakeup", "dma_latency", "0us"),
            ("wakeup", "mlock", "on"),
            ("watch", "dma_latency", "off"),
            ("watch", "mlock", "off"),
            ("irq", "dma_latency", "0us, off with --irq"),
            ("irq", "mlock", "on, off with --irq"),
            ("memory", "mlock", "off"),
        ] {
            let help = help(name, option);
            assert!(
                help.ends_with(&format!("[default: {default}]")),
                "{name}: {help}"
            );
            assert_eq!(help.matches("[default").count(), 1, "{name}: {help}");
        }
    }

    #[test]
    fn what_can_be_measured_with_is_described() {
        let command = Instrument::augment_subcommands(clap::Command::new("measure"));
        for of in command.get_subcommands() {
            let described = punctual_model::Instrument::of(of.get_name());
            assert!(described.is_some(), "{}", of.get_name());
        }
    }
}
