// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Reads [`HostFacts`] from a [`SysRoot`]. What cannot be read stays unknown.

use std::collections::BTreeMap;
use std::convert::Infallible;

use punctual_model::{CpuCapacity, CpuSet, HostFacts};
use punctual_sys::{SysRoot, proc};

use crate::preemption::{self, Preemption};
use crate::processor;
use crate::virtualization::{self, Virtual};

const CPU: &str = "/sys/devices/system/cpu";

/// The board's name, of machines that have a device tree.
const BOARD: &str = "/sys/firmware/devicetree/base/model";

/// Reads the facts of the machine behind `sys`. Never fails: a missing file is a missing fact.
pub fn inspect(sys: &SysRoot) -> HostFacts {
    let text = |path: &str| sys.read(path).ok().filter(|t| !t.trim().is_empty());
    let cpus = |name: &str| {
        sys.fact::<CpuSet>(&format!("{CPU}/{name}"))
            .unwrap_or_default()
    };
    let kernel_version = text("/proc/sys/kernel/version");
    let cmdline = text("/proc/cmdline");
    let kernel_release = text("/proc/sys/kernel/osrelease");
    let Preemption { model, rt } = preemption::read(
        sys,
        kernel_release.as_deref(),
        kernel_version.as_deref(),
        cmdline.as_deref(),
    );
    let online = cpus("online");
    HostFacts {
        hostname: text("/proc/sys/kernel/hostname"),
        kernel_release,
        kernel_version,
        architecture: text("/proc/sys/kernel/arch").or_else(|| {
            // The file is new in 6.1; a live program knows what it was built for.
            sys.is_live().then(|| std::env::consts::ARCH.to_owned())
        }),
        preemption: model,
        preempt_rt: rt,
        cpu_model: text(virtualization::CPUINFO).and_then(|cpuinfo| processor::model(&cpuinfo)),
        board: text(BOARD).map(|name| name.trim_end_matches('\0').to_owned()),
        cpu_capacities: capacities(sys, &online),
        cpus_isolated: cpus("isolated"),
        cpus_nohz_full: cpus("nohz_full"),
        smt_active: sys
            .fact::<u8>(&format!("{CPU}/smt/active"))
            .map(|active| active == 1),
        numa_nodes: numa_nodes(sys),
        memory_bytes: memory_bytes(sys),
        hypervisor: hypervisor(sys),
        clocksource: text("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        cpufreq_governors: governors(sys, &online),
        cpuidle: cpuidle(sys),
        sched_rt_runtime_us: sys.fact("/proc/sys/kernel/sched_rt_runtime_us"),
        sched_rt_period_us: sys.fact("/proc/sys/kernel/sched_rt_period_us"),
        cpus_online: online,
        cmdline,
        tuning: None,
        tuning_unknown: None,
    }
}

/// Groups the CPUs by the capacity that the kernel gives them, the slowest first.
fn capacities(sys: &SysRoot, online: &CpuSet) -> Vec<CpuCapacity> {
    let mut by_capacity: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for cpu in online.iter() {
        if let Some(capacity) = sys.fact::<u32>(&format!("{CPU}/cpu{cpu}/cpu_capacity")) {
            by_capacity.entry(capacity).or_default().push(cpu);
        }
    }
    let kinds = by_capacity.into_iter();
    let kinds = kinds.map(|(capacity, cpus)| CpuCapacity {
        capacity,
        cpus: cpus.into_iter().collect(),
    });
    kinds.collect()
}

fn hypervisor(sys: &SysRoot) -> Option<String> {
    let read = |path: &str| Ok::<_, Infallible>(sys.read(path).ok());
    match virtualization::look(read) {
        Ok(Virtual::Yes { name, .. }) => Some(name),
        Ok(Virtual::No | Virtual::Unknown) => None,
    }
}

fn numa_nodes(sys: &SysRoot) -> Option<u32> {
    let nodes: CpuSet = sys.fact("/sys/devices/system/node/online")?;
    u32::try_from(nodes.len()).ok()
}

fn memory_bytes(sys: &SysRoot) -> Option<u64> {
    let text = sys.read("/proc/meminfo").ok()?;
    proc::kib(&text, "MemTotal:")?.checked_mul(1_024)
}

/// Lists the governors in use, with their CPUs when there is more than one.
fn governors(sys: &SysRoot, online: &CpuSet) -> Vec<String> {
    let mut by_name: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    for cpu in online.iter() {
        if let Ok(name) = sys.read(&format!("{CPU}/cpu{cpu}/cpufreq/scaling_governor")) {
            by_name.entry(name).or_default().push(cpu);
        }
    }
    if by_name.len() == 1 {
        return by_name.into_keys().collect();
    }
    by_name
        .into_iter()
        .map(|(name, cpus)| format!("{name} ({})", cpus.into_iter().collect::<CpuSet>()))
        .collect()
}

fn cpuidle(sys: &SysRoot) -> Option<String> {
    let driver = sys.read(&format!("{CPU}/cpuidle/current_driver")).ok()?;
    // Older kernels have the governor only under the name that ends in _ro.
    let governor = sys
        .read(&format!("{CPU}/cpuidle/current_governor"))
        .or_else(|_| sys.read(&format!("{CPU}/cpuidle/current_governor_ro")))
        .ok()?;
    Some(format!("{driver}/{governor}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use tempfile::TempDir;

    fn machine(files: &[(&str, &str)]) -> (TempDir, SysRoot) {
        let dir = TempDir::new().unwrap();
        for (path, text) in files {
            let full = dir.path().join(path);
            fs::create_dir_all(full.parent().unwrap()).unwrap();
            fs::write(full, text).unwrap();
        }
        let sys = SysRoot::at(dir.path());
        (dir, sys)
    }

    #[test]
    fn a_bare_metal_board_is_read() {
        let (_dir, sys) = machine(&[
            ("proc/sys/kernel/osrelease", "6.12.9-rt8\n"),
            (
                "proc/sys/kernel/version",
                "#1 SMP PREEMPT_RT Thu Jan 9 12:00:00 UTC 2025\n",
            ),
            ("proc/cmdline", "isolcpus=2,3 nohz_full=2,3\n"),
            (
                "proc/cpuinfo",
                "processor : 0\nmodel name\t: Cortex-A72\nflags : fpu\n",
            ),
            ("proc/meminfo", "MemTotal:        4046572 kB\n"),
            ("sys/devices/system/cpu/online", "0-3\n"),
            ("sys/devices/system/cpu/isolated", "2-3\n"),
            (
                "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
                "schedutil\n",
            ),
            (
                "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor",
                "schedutil\n",
            ),
            (
                "sys/devices/system/cpu/cpu2/cpufreq/scaling_governor",
                "performance\n",
            ),
            ("proc/sys/kernel/sched_rt_runtime_us", "-1\n"),
        ]);
        let facts = inspect(&sys);
        assert_eq!(facts.preempt_rt, Some(true));
        assert_eq!(facts.cpus_isolated.to_string(), "2-3");
        assert_eq!(facts.cpu_model.as_deref(), Some("Cortex-A72"));
        assert_eq!(
            facts.cpufreq_governors,
            ["performance (2)", "schedutil (0-1)"]
        );
        assert_eq!(facts.memory_bytes, Some(4_046_572 * 1_024));
        assert_eq!(facts.sched_rt_runtime_us, Some(-1));
        assert_eq!(facts.hypervisor, None);
        assert_eq!(facts.smt_active, None);
    }

    #[test]
    fn a_kvm_guest_is_told() {
        let (_dir, sys) = machine(&[
            (
                "proc/cpuinfo",
                "model name : Xeon\nflags : fpu hypervisor\n",
            ),
            (
                "sys/devices/system/clocksource/clocksource0/available_clocksource",
                "tsc kvm-clock\n",
            ),
        ]);
        assert_eq!(inspect(&sys).hypervisor.as_deref(), Some("kvm"));
    }

    #[test]
    fn an_arm_guest_is_told_by_its_firmware() {
        let (_dir, sys) = machine(&[
            ("proc/cpuinfo", "CPU implementer : 0x41\nCPU part : 0xd0c\n"),
            ("sys/class/dmi/id/sys_vendor", "Amazon EC2\n"),
            ("sys/class/dmi/id/product_name", "t4g.large\n"),
        ]);
        assert_eq!(inspect(&sys).hypervisor.as_deref(), Some("amazon"));
    }

    #[test]
    fn a_board_with_two_kinds_of_cpus_is_read() {
        let cpu = |part: &str| format!("CPU implementer : 0x41\nCPU part : {part}\n\n");
        let cpuinfo = cpu("0xd03") + &cpu("0xd08");
        let capacity = |cpu: u32| format!("sys/devices/system/cpu/cpu{cpu}/cpu_capacity");
        let (slow, fast) = (capacity(0), capacity(1));
        let (_dir, sys) = machine(&[
            ("proc/cpuinfo", cpuinfo.as_str()),
            ("sys/devices/system/cpu/online", "0-1\n"),
            ("sys/firmware/devicetree/base/model", "Radxa ROCK Pi 4B\0"),
            (slow.as_str(), "485\n"),
            (fast.as_str(), "1024\n"),
        ]);
        let facts = inspect(&sys);
        assert_eq!(facts.board.as_deref(), Some("Radxa ROCK Pi 4B"));
        assert_eq!(
            facts.cpu_model.as_deref(),
            Some("1 x Cortex-A53, 1 x Cortex-A72")
        );
        let unequal = facts.unequal(&facts.cpus_online);
        assert_eq!(unequal.as_deref(), Some("485 (CPU 0), 1024 (CPU 1)"));
    }

    #[test]
    fn an_empty_tree_gives_no_facts_and_no_panic() {
        let (_dir, sys) = machine(&[]);
        assert_eq!(inspect(&sys), HostFacts::default());
    }
}
