// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Facts about a machine and its kernel.

use serde::{Deserialize, Serialize};

use crate::cpu::CpuSet;
use crate::tune::TuningInEffect;

/// What is known of the machine that a run was done on. Unknown is null.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// The processor's own name.
    pub cpu_model: Option<String>,
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
    /// What `punctual tune` had changed at that time. Absent where nothing was, or where that could
    /// not be seen for lack of privilege.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tuning: Option<TuningInEffect>,
}

impl HostFacts {
    /// Returns the number of online CPUs.
    pub fn cpu_count(&self) -> usize {
        self.cpus_online.len()
    }
}
