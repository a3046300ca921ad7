// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The machine that QEMU makes of a kernel: its arguments, and nothing that is left to a default.

use std::fmt;

use punctual_model::Bytes;

use super::architecture::Architecture;

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

/// Kernel arguments of every guest, after the console that is the first serial port: an end at once after a panic,
/// the same addresses each time, and no tests of the kernel's own ciphers, which go on for minutes of virtual time after
/// the first process has started (crypto/testmgr.c; a kernel that has none ignores it).
const APPEND: &str = "quiet panic=-1 nokaslr cryptomgr.notests";

/// The same for x86-64 that is emulated in real time: a host that is busy keeps the guest from ten ticks within the time
/// that the kernel gives them, and it ends with "IO-APIC + timer doesn't work!" (arch/x86/kernel/apic/io_apic.c). Under KVM it
/// leaves this test out by itself.
const APPEND_TCG: &str = "no_timer_check";

/// The processor of an arm64 guest that is emulated: that of Raspberry Pi 3, and without extensions that QEMU computes in
/// thousands of its own instructions, such as signed pointers.
const ARM64_CPU: &str = "cortex-a53";

/// A guest that is to be.
#[derive(Clone, Debug)]
pub struct Design {
    /// The processors that the kernel is for.
    pub architecture: Architecture,
    /// What runs its instructions.
    pub machine: Machine,
    /// Number of CPUs. One in virtual time.
    pub cpus: u32,
    /// Memory.
    pub memory: Bytes,
    /// Nodes that CPUs and memory are divided among. It is topology alone: memory of all of them is equally far.
    pub nodes: u32,
    /// What all random numbers of the machine come from.
    pub seed: u64,
    /// Kernel arguments after those of every guest.
    pub append: Vec<String>,
}

impl Design {
    /// Memory of a guest when nothing is said.
    pub const MEMORY: Bytes = Bytes::new(512 << 20);

    /// Begins with one CPU and [`Design::MEMORY`].
    pub const fn of(architecture: Architecture, machine: Machine, seed: u64) -> Self {
        Self {
            architecture,
            machine,
            cpus: 1,
            memory: Self::MEMORY,
            nodes: 1,
            seed,
            append: Vec::new(),
        }
    }

    /// Returns the kernel's arguments.
    pub fn command_line(&self) -> String {
        let more = self.append.iter().flat_map(|text| [" ", text.as_str()]);
        let console = self.architecture.facts().console;
        let of_machine: &[&str] = match (self.architecture, self.machine) {
            (Architecture::X86_64, Machine::Tcg) => &[" ", APPEND_TCG],
            _ => &[],
        };
        ["console=", console, " ", APPEND]
            .into_iter()
            .chain(of_machine.iter().copied())
            .chain(more)
            .collect()
    }

    /// Returns QEMU's arguments. Files are named as QEMU opens them.
    pub fn arguments(&self, files: &Files<'_>) -> Vec<String> {
        let megabytes = (self.memory.get() >> 20).to_string();
        let mut arguments: Vec<String> = Vec::new();
        let mut add = |words: &[&str]| arguments.extend(words.iter().map(ToString::to_string));
        add(&["-no-user-config", "-nodefaults", "-no-reboot"]);
        add(&["-display", "none", "-monitor", "none"]);
        let arm64 = self.architecture == Architecture::Arm64;
        let emulated = if arm64 { ARM64_CPU } else { "max" };
        match (arm64, self.machine) {
            (false, _) => add(&["-M", "pc"]),
            (true, Machine::Kvm) => add(&["-M", "virt,gic-version=host"]),
            (true, _) => add(&["-M", "virt,gic-version=3"]),
        }
        match self.machine {
            Machine::Kvm => add(&["-accel", "kvm", "-cpu", "host"]),
            Machine::Tcg => add(&["-accel", "tcg,thread=multi", "-cpu", emulated]),
            Machine::Virtual => {
                add(&["-accel", "tcg,thread=single", "-cpu", emulated]);
                add(&["-icount", &format!("shift={SHIFT},sleep=off,{TURNS}")]);
                add(&["-rtc", &format!("clock=vm,base={CLOCK_BASE}")]);
            }
        }
        add(&["-seed", &self.seed.to_string()]);
        add(&["-smp", &self.cpus.to_string(), "-m", &megabytes]);
        for words in self.node_arguments() {
            add(&[words.0, &words.1]);
        }
        add(&["-serial", &format!("file:{}", files.console)]);
        let results = format!("file:{}", files.results);
        match self.architecture {
            Architecture::X86_64 => add(&["-serial", &results]),
            Architecture::Arm64 => {
                let results = format!("file,id=results,path={}", files.results);
                add(&[
                    "-chardev",
                    &results,
                    "-device",
                    "pci-serial,chardev=results",
                ]);
            }
        }
        add(&["-kernel", files.kernel, "-initrd", files.initramfs]);
        add(&["-append", &self.command_line()]);
        arguments
    }
}

impl Design {
    /// The nodes, where there are several: each has its share of the memory, in whole megabytes, and of the CPUs; where there
    /// are fewer CPUs than nodes, the last nodes have memory alone.
    fn node_arguments(&self) -> Vec<(&'static str, String)> {
        if self.nodes < 2 {
            return Vec::new();
        }
        let megabytes = self.memory.get() >> 20;
        let share = |whole: u64, node: u32| whole * u64::from(node) / u64::from(self.nodes);
        let mut words = Vec::new();
        for node in 0..self.nodes {
            let size = share(megabytes, node + 1) - share(megabytes, node);
            words.push((
                "-object",
                format!("memory-backend-ram,id=node{node},size={size}M"),
            ));
            // CPU n is of node n * nodes / cpus; with fewer CPUs than nodes, of node n.
            let of = |cpu: &u32| match self.cpus < self.nodes {
                true => *cpu == node,
                false => cpu * self.nodes / self.cpus == node,
            };
            let cpus = (0..self.cpus).filter(of).map(|cpu| format!(",cpus={cpu}"));
            let cpus: String = cpus.collect();
            words.push((
                "-numa",
                format!("node,nodeid={node},memdev=node{node}{cpus}"),
            ));
        }
        words
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
        let mut design = Design::of(Architecture::X86_64, Machine::Virtual, 7);
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
    fn nodes_share_memory_and_cpus() {
        let mut design = Design::of(Architecture::X86_64, Machine::Tcg, 1);
        let line = |design: &Design| design.arguments(&FILES).join(" ");
        assert!(!line(&design).contains("numa"));
        design.cpus = 3;
        design.nodes = 2;
        let two = line(&design);
        for part in [
            "-object memory-backend-ram,id=node0,size=256M -numa node,nodeid=0,memdev=node0,cpus=0,cpus=1 ",
            "-object memory-backend-ram,id=node1,size=256M -numa node,nodeid=1,memdev=node1,cpus=2 ",
        ] {
            assert!(two.contains(part), "{part}: {two}");
        }
        // One CPU: the other nodes have memory alone, and no megabyte is lost.
        design.cpus = 1;
        design.nodes = 3;
        let three = line(&design);
        for part in [
            "size=170M -numa node,nodeid=0,memdev=node0,cpus=0 ",
            "size=171M -numa node,nodeid=1,memdev=node1 ",
            "size=171M -numa node,nodeid=2,memdev=node2 ",
        ] {
            assert!(three.contains(part), "{part}: {three}");
        }
    }

    #[test]
    fn other_machines_run_by_the_hosts_clock() {
        for architecture in Architecture::ALL {
            for machine in [Machine::Kvm, Machine::Tcg] {
                let design = Design::of(architecture, machine, 1);
                let line = design.arguments(&FILES).join(" ");
                assert!(!line.contains("icount") && !line.contains("-rtc"), "{line}");
                let emulated = architecture == Architecture::X86_64 && machine == Machine::Tcg;
                assert_eq!(line.contains(" no_timer_check"), emulated, "{line}");
            }
        }
    }

    #[test]
    fn a_guest_for_arm64_has_its_second_serial_port_on_a_card() {
        let design = Design::of(Architecture::Arm64, Machine::Virtual, 7);
        let line = design.arguments(&FILES).join(" ");
        for part in [
            "-M virt,gic-version=3 -accel tcg,thread=single -cpu cortex-a53 -icount shift=3",
            "-serial file:C -chardev file,id=results,path=R -device pci-serial,chardev=results",
            "-append console=ttyAMA0 quiet panic=-1 nokaslr",
        ] {
            assert!(line.contains(part), "{part}: {line}");
        }
        assert!(!line.contains("ttyS0") && !line.contains("-M pc"), "{line}");
    }
}
