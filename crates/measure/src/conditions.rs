// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What must not change under a measurement: a snapshot before, one after.

use std::collections::BTreeMap;

use punctual_model::{Clock, CpuSet, Gathered as _, Nanos};
use punctual_sys::sched_ext::Status;
use punctual_sys::{SysRoot, clock};

use crate::budget::{Budget, Budgets};
use crate::quota::{self, Quota};

const CPU: &str = "/sys/devices/system/cpu";

/// The settings and counters of a machine at one moment.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Conditions {
    /// Online CPUs, as the kernel lists them.
    pub cpus_online: Option<String>,
    /// Governor and frequency limits by CPU: `performance 800000..3500000 kHz`.
    pub frequency: BTreeMap<u32, String>,
    /// The clock source in use.
    pub clocksource: Option<String>,
    /// Time that the machine was suspended since boot.
    pub suspended: Nanos,
    /// Real-time throttling: the limit that is met first.
    pub rt_bandwidth: Option<Budget>,
    /// Quotas of CPU time of this process's cgroups, and how often they were used up; none where that is not known.
    pub quotas: Option<Vec<Quota>>,
    /// CPU time by CPU, in clock ticks.
    pub ticks: BTreeMap<u32, Ticks>,
    /// BPF schedulers, where the kernel takes them.
    pub sched_ext: Option<Status>,
    /// Locked memory of this process, in KiB.
    pub locked_kib: Option<u64>,
}

/// CPU time of one CPU since boot, in clock ticks.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Ticks {
    /// All of it.
    pub total: u64,
    /// What the hypervisor gave to others while this CPU had work.
    pub steal: u64,
    /// What nothing ran in, waiting for a disk included.
    pub idle: u64,
}

impl Conditions {
    /// Reads them for `cpus`.
    pub(crate) fn read(sys: &SysRoot, cpus: &CpuSet) -> Self {
        Self {
            cpus_online: sys.read(&format!("{CPU}/online")).ok(),
            frequency: cpus
                .iter()
                .filter_map(|cpu| Some((cpu, frequency(sys, cpu)?)))
                .into_map(),
            clocksource: sys
                .read("/sys/devices/system/clocksource/clocksource0/current_clocksource")
                .ok(),
            suspended: clock::read(Clock::Boottime) - clock::monotonic(),
            rt_bandwidth: Budgets::read(sys).judged(),
            quotas: quota::read(sys),
            ticks: ticks(&sys.read("/proc/stat").unwrap_or_default(), cpus),
            sched_ext: Status::read(sys),
            locked_kib: locked_kib(sys),
        }
    }
}

/// Reads the locked memory of this process, in KiB.
pub(crate) fn locked_kib(sys: &SysRoot) -> Option<u64> {
    let status = sys.read("/proc/self/status").ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmLck:"))?;
    line.split_whitespace().next()?.parse().ok()
}

fn frequency(sys: &SysRoot, cpu: u32) -> Option<String> {
    let read = |name: &str| sys.read(&format!("{CPU}/cpu{cpu}/cpufreq/{name}")).ok();
    let governor = read("scaling_governor")?;
    let limit = |name: &str| read(name).unwrap_or_else(|| "?".to_owned());
    Some(format!(
        "{governor} {}..{} kHz",
        limit("scaling_min_freq"),
        limit("scaling_max_freq")
    ))
}

/// Parses the `cpuN` lines of `/proc/stat` (proc(5)).
pub(crate) fn ticks(stat: &str, cpus: &CpuSet) -> BTreeMap<u32, Ticks> {
    stat.lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            let cpu: u32 = words.next()?.strip_prefix("cpu")?.parse().ok()?;
            let fields: Vec<u64> = words.map_while(|w| w.parse().ok()).collect();
            // user nice system idle iowait irq softirq steal guest guest_nice; the guest times
            // are already in user and nice.
            let ticks = Ticks {
                total: fields.iter().take(8).sum(),
                steal: fields.get(7).copied().unwrap_or(0),
                idle: fields.iter().skip(3).take(2).sum(),
            };
            cpus.contains(cpu).then_some((cpu, ticks))
        })
        .into_map()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_read_by_cpu() {
        let stat = "cpu  10 0 0 0 0 0 0 9 0 0\ncpu0 1 2 3 4 5 6 7 8 9 10\ncpu1 1 1 1 1\nintr 5\n";
        let cpus: CpuSet = "0-1".parse().unwrap();
        let read = ticks(stat, &cpus);
        assert_eq!(
            read[&0],
            Ticks {
                total: 36,
                steal: 8,
                idle: 9,
            }
        );
        assert_eq!((read[&1].total, read[&1].steal), (4, 0));
        assert_eq!(ticks(stat, &"1".parse().unwrap()).len(), 1);
    }

    #[test]
    fn frequency_settings_are_read_from_a_tree() {
        let dir = tempfile::tempdir().unwrap();
        let cpufreq = dir.path().join("sys/devices/system/cpu/cpu0/cpufreq");
        std::fs::create_dir_all(&cpufreq).unwrap();
        std::fs::write(cpufreq.join("scaling_governor"), "powersave\n").unwrap();
        std::fs::write(cpufreq.join("scaling_min_freq"), "800000\n").unwrap();
        let sys = SysRoot::at(dir.path());
        let conditions = Conditions::read(&sys, &"0-1".parse().unwrap());
        assert_eq!(conditions.frequency[&0], "powersave 800000..? kHz");
        assert_eq!(conditions.frequency.len(), 1);
    }
}
