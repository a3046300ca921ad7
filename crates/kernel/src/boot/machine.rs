// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The machine that QEMU makes of a kernel: its arguments, and nothing that is left to a default.

use std::fmt;

use punctual_model::Bytes;

/// What runs a guest's instructions.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Machine {
    /// The processor itself, by KVM.
    Kvm,
    /// QEMU's translator, against the host's clock. Its latencies are those of an emulator.
    Tcg,
    /// QEMU's translator with a clock that counts instructions: `-icount`.
    Virtual,
}

impl Machine {
    /// Returns the machine in words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kvm => "kvm",
            Self::Tcg => "tcg",
            Self::Virtual => "virtual-time",
        }
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What an instruction takes in virtual time is 2 to this power, in nanoseconds: 8 ns. With 0 to 2
/// the guest's clocks are not settled when it begins to measure.
pub const SHIFT: u32 = 3;

/// What makes QEMU's threads take turns.
///
/// The main thread runs timers, and moves the clock on while the CPU sleeps, in parallel with the CPU's thread: at which
/// instruction one of them hears of the other is up to the host. Woken often enough, QEMU 7.2 gives another result in
/// most boots. To record a run for a replay it lets only one of the two run at a time; the record itself is not wanted.
const TURNS: &str = "rr=record,rrfile=/dev/null";

/// The time of the guest's clock at its start.
pub const CLOCK_BASE: &str = "2026-01-01T00:00:00";

/// Kernel arguments of every guest: the log to the first serial port, an end at once after a panic,
/// the same addresses each time, and no tests of the kernel's own ciphers, which go on for minutes of virtual time after
/// the first process has started (crypto/testmgr.c; a kernel that has none ignores it).
pub const APPEND: &str = "console=ttyS0 quiet panic=-1 nokaslr cryptomgr.notests";

/// A guest that is to be.
#[derive(Clone, Debug)]
pub struct Design {
    /// What runs its instructions.
    pub machine: Machine,
    /// Number of CPUs. One in virtual time.
    pub cpus: u32,
    /// Memory.
    pub memory: Bytes,
    /// What all random numbers of the machine come from.
    pub seed: u64,
    /// Kernel arguments after [`APPEND`].
    pub append: Vec<String>,
}

impl Design {
    /// Memory of a guest when nothing is said.
    pub const MEMORY: Bytes = Bytes::new(512 << 20);

    /// Begins with one CPU and [`Design::MEMORY`].
    pub const fn of(machine: Machine, seed: u64) -> Self {
        Self {
            machine,
            cpus: 1,
            memory: Self::MEMORY,
            seed,
            append: Vec::new(),
        }
    }

    /// Returns the kernel's arguments.
    pub fn command_line(&self) -> String {
        let more = self.append.iter().flat_map(|text| [" ", text.as_str()]);
        std::iter::once(APPEND).chain(more).collect()
    }

    /// Returns QEMU's arguments. Files are named as QEMU opens them.
    pub fn arguments(&self, files: &Files<'_>) -> Vec<String> {
        let megabytes = (self.memory.get() >> 20).to_string();
        let mut arguments: Vec<String> = Vec::new();
        let mut add = |words: &[&str]| arguments.extend(words.iter().map(ToString::to_string));
        add(&["-no-user-config", "-nodefaults", "-no-reboot"]);
        add(&["-display", "none", "-monitor", "none", "-M", "pc"]);
        match self.machine {
            Machine::Kvm => add(&["-accel", "kvm", "-cpu", "host"]),
            Machine::Tcg => add(&["-accel", "tcg,thread=multi", "-cpu", "max"]),
            Machine::Virtual => {
                add(&["-accel", "tcg,thread=single", "-cpu", "max"]);
                add(&["-icount", &format!("shift={SHIFT},sleep=off,{TURNS}")]);
                add(&["-rtc", &format!("clock=vm,base={CLOCK_BASE}")]);
            }
        }
        add(&["-seed", &self.seed.to_string()]);
        add(&["-smp", &self.cpus.to_string(), "-m", &megabytes]);
        add(&["-serial", &format!("file:{}", files.console)]);
        add(&["-serial", &format!("file:{}", files.results)]);
        add(&["-kernel", files.kernel, "-initrd", files.initramfs]);
        add(&["-append", &self.command_line()]);
        arguments
    }
}

/// The files of a guest, as QEMU opens them.
#[derive(Clone, Copy, Debug)]
pub struct Files<'a> {
    /// The kernel's image.
    pub kernel: &'a str,
    /// The initial RAM file system.
    pub initramfs: &'a str,
    /// Takes what the kernel logs.
    pub console: &'a str,
    /// Takes what the agent sends.
    pub results: &'a str,
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILES: Files<'static> = Files {
        kernel: "K",
        initramfs: "I",
        console: "C",
        results: "R",
    };

    #[test]
    fn virtual_time_leaves_nothing_to_chance() {
        let mut design = Design::of(Machine::Virtual, 7);
        design.append.push("preempt=full".to_owned());
        let line = design.arguments(&FILES).join(" ");
        for part in [
            "-accel tcg,thread=single",
            "-icount shift=3,sleep=off,rr=record,rrfile=/dev/null",
            "-rtc clock=vm,base=2026-01-01T00:00:00",
            "-seed 7",
            "-smp 1 -m 512",
            "-serial file:C -serial file:R",
            "nokaslr cryptomgr.notests preempt=full",
        ] {
            assert!(line.contains(part), "{part}: {line}");
        }
    }

    #[test]
    fn other_machines_run_by_the_hosts_clock() {
        for machine in [Machine::Kvm, Machine::Tcg] {
            let line = Design::of(machine, 1).arguments(&FILES).join(" ");
            assert!(!line.contains("icount") && !line.contains("-rtc"), "{line}");
        }
    }
}
