// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Facts about a machine and its kernel.

use serde::{Deserialize, Serialize};

use crate::cpu::CpuSet;
use crate::tune::TuningInEffect;

/// What is known of the machine that a run was done on. Unknown is null.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct HostFacts {
    /// Name of the machine.
    pub hostname: Option<String>,
    /// Kernel release, such as `6.12.9-rt8`.
    pub kernel_release: Option<String>,
    /// Kernel version line, such as `#1 SMP PREEMPT_DYNAMIC ...`.
    pub kernel_version: Option<String>,
    /// Hardware name, such as `x86_64`.
    pub architecture: Option<String>,
    /// Preemption model, with where it was read.
    pub preemption: Option<String>,
    /// Whether the kernel is built with `PREEMPT_RT`.
    pub preempt_rt: Option<bool>,
    /// The processor's own name; of several kinds of CPU, how many there are of each.
    pub cpu_model: Option<String>,
    /// The board, as its device tree calls it. Absent where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub board: Option<String>,
    /// CPUs by their capacity, the slowest first. Absent where the kernel does not tell them apart.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cpu_capacities: Vec<CpuCapacity>,
    /// Online CPUs.
    pub cpus_online: CpuSet,
    /// CPUs isolated from the scheduler (`isolcpus`).
    pub cpus_isolated: CpuSet,
    /// CPUs without a tick when they run one task (`nohz_full`).
    pub cpus_nohz_full: CpuSet,
    /// Whether CPUs share cores. Null where the kernel does not say.
    pub smt_active: Option<bool>,
    /// Online NUMA nodes.
    pub numa_nodes: Option<u32>,
    /// Memory, in bytes.
    pub memory_bytes: Option<u64>,
    /// The hypervisor, if the machine is virtual: `kvm`, or `yes` where its name is not known.
    pub hypervisor: Option<String>,
    /// The clock source in use.
    pub clocksource: Option<String>,
    /// Frequency governors in use, `name` or `name (CPUs)`; empty without cpufreq.
    pub cpufreq_governors: Vec<String>,
    /// The cpuidle driver and governor, such as `intel_idle/menu`.
    pub cpuidle: Option<String>,
    /// Share of each period that real-time threads may use, in microseconds; -1: all.
    pub sched_rt_runtime_us: Option<i64>,
    /// The period of that share, in microseconds.
    pub sched_rt_period_us: Option<i64>,
    /// Kernel command line.
    pub cmdline: Option<String>,
    /// What `punctual tune` had changed at that time. Absent where nothing was, and where it is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tuning: Option<TuningInEffect>,
    /// Why it is unknown what `punctual tune` had changed. Absent where it is known, and in runs of older programs,
    /// which did not tell the two apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tuning_unknown: Option<String>,
}

/// CPUs that the kernel calls equally fast.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct CpuCapacity {
    /// Their capacity; that of the fastest CPU is 1024.
    pub capacity: u32,
    /// The CPUs.
    pub cpus: CpuSet,
}

impl HostFacts {
    /// Names the capacities of `cpus`, where these differ: `485 (CPUs 0-3), 1024 (CPUs 4-5)`.
    pub fn unequal(&self, cpus: &CpuSet) -> Option<String> {
        let kinds = self.cpu_capacities.iter();
        let kinds = kinds.map(|kind| (kind.capacity, kind.cpus.common(cpus)));
        let kinds: Vec<_> = kinds.filter(|(_, cpus)| !cpus.is_empty()).collect();
        let name = |(capacity, cpus): &(u32, CpuSet)| {
            let plural = if cpus.len() == 1 { "" } else { "s" };
            format!("{capacity} (CPU{plural} {cpus})")
        };
        (kinds.len() > 1).then(|| kinds.iter().map(name).collect::<Vec<_>>().join(", "))
    }

    /// Returns the number of online CPUs.
    pub fn cpu_count(&self) -> usize {
        self.cpus_online.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_of_different_capacity_are_named_and_equal_ones_are_not() {
        let of = |capacity, cpus: &str| CpuCapacity {
            capacity,
            cpus: cpus.parse().unwrap(),
        };
        let host = HostFacts {
            cpu_capacities: vec![of(485, "0-3"), of(1024, "4-5")],
            ..HostFacts::default()
        };
        let unequal = |cpus: &str| host.unequal(&cpus.parse().unwrap());
        assert_eq!(
            unequal("0-5").as_deref(),
            Some("485 (CPUs 0-3), 1024 (CPUs 4-5)")
        );
        assert_eq!(unequal("3,5").as_deref(), Some("485 (CPU 3), 1024 (CPU 5)"));
        assert_eq!(unequal("4-5"), None);
        assert_eq!(HostFacts::default().unequal(&"0-1".parse().unwrap()), None);
    }
}
