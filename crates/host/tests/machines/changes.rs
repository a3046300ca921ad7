// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! One file of a machine changes, and with it what one rule says.

use punctual_model::RuleOutcome;

use super::common::archive;
use super::{judged, verdict};

/// What a rule says once a file of a machine is another: machine, CPUs, files, rule, outcome.
pub(crate) const CHANGES: &[(&str, Option<&str>, &str, &str, RuleOutcome)] = {
    use RuleOutcome::{Fine, Found, NotApplicable, Unknown};
    &[
        (
            "kvm-guest",
            None,
            "/proc/sys/kernel/printk: 1\t4\t1\t7",
            "serial-console",
            Fine,
        ),
        (
            "kvm-guest",
            None,
            "/proc/cpuinfo: flags : fpu hypervisor bus_lock_detect",
            "split-lock",
            NotApplicable,
        ),
        (
            "kvm-guest",
            None,
            "/proc/cpuinfo: flags : fpu hypervisor split_lock_detect",
            "split-lock",
            Found,
        ),
        (
            "kvm-guest",
            None,
            "/sys/bus/pci/devices/0000:00:01.0/class: 0x010000",
            "pcie-aspm",
            NotApplicable,
        ),
        (
            "kvm-guest",
            None,
            "/sys/bus/pci/devices/0000:00:01.0/class: 0x010000\n/sys/bus/pci/devices/0000:00:01.0/current_link_speed: 8.0 GT/s PCIe",
            "pcie-aspm",
            Found,
        ),
        (
            "kvm-guest",
            None,
            "/dev/cpu_dma_latency: 0\n/sys/devices/system/cpu/cpu{0-1}/cpuidle/state0/latency! not there",
            "idle-halt-guest",
            Found,
        ),
        (
            "kvm-guest",
            None,
            "/dev/cpu_dma_latency! not there\n/proc/misc: 124 cpu_dma_latency",
            "idle-bound-closed",
            Unknown,
        ),
        (
            "kvm-guest",
            None,
            "/dev/cpu_dma_latency! not there\n/proc/misc: 235 autofs",
            "idle-bound-closed",
            NotApplicable,
        ),
        (
            "kvm-guest",
            None,
            "/sys/fs/cgroup/cpu/cpu.cfs_quota_us! not read: cgroups are not mounted",
            "group-quota",
            Unknown,
        ),
        (
            "kvm-guest",
            None,
            "/proc/cmdline: preempt=full",
            "preempt-model",
            Fine,
        ),
        (
            "kvm-guest",
            None,
            "/proc/cmdline: preempt=lazy",
            "preempt-model",
            Fine,
        ),
        (
            "kvm-guest",
            None,
            "/proc/cmdline: preempt=none -- preempt=full",
            "preempt-model",
            Found,
        ),
        (
            "kvm-guest",
            None,
            "/proc/cmdline: preempt=full preempt=voluntary",
            "preempt-model",
            Found,
        ),
        (
            "kvm-guest",
            None,
            "/sys/kernel/debug/sched/preempt: none voluntary (full) lazy",
            "preempt-model",
            Fine,
        ),
        (
            "kvm-guest",
            None,
            "/proc/config.gz! permission denied",
            "preempt-model",
            Unknown,
        ),
        (
            "kvm-guest",
            None,
            "/proc/config.gz! permission denied",
            "lockdep",
            Unknown,
        ),
        (
            "kvm-guest",
            None,
            "/proc/sys/kernel/version: #1 SMP PREEMPT_RT x",
            "preempt-rt",
            Fine,
        ),
        (
            "kvm-guest",
            None,
            "/sys/kernel/realtime: 1",
            "preempt-rt",
            Fine,
        ),
        (
            "kvm-guest",
            None,
            "/proc/cmdline: threadirqs",
            "threaded-irqs",
            Fine,
        ),
        (
            "kvm-guest",
            None,
            "/proc/cmdline: highres=off",
            "high-res-timers",
            Found,
        ),
        (
            "kvm-guest",
            None,
            "/dev/cpu_dma_latency: 0",
            "idle-halt-guest",
            Fine,
        ),
        (
            "kvm-guest",
            None,
            "/proc/cmdline: idle=poll",
            "idle-halt-guest",
            Fine,
        ),
        (
            "kvm-guest",
            None,
            "/sys/devices/system/clocksource/clocksource0/current_clocksource: kvm-clock",
            "clock-source-virtual",
            Found,
        ),
        (
            "kvm-guest",
            None,
            "/sys/kernel/security/lockdown: none [integrity] confidentiality",
            "lockdown",
            Found,
        ),
        (
            "kvm-guest",
            None,
            "/sys/kernel/security/lockdown! not there\n/proc/cmdline: lockdown=integrity",
            "lockdown",
            Unknown,
        ),
        (
            "kvm-guest",
            None,
            "/sys/devices/system/clocksource/clocksource0/current_clocksource: jiffies",
            "high-res-timers",
            Found,
        ),
        (
            "kvm-guest",
            None,
            "/dev/cpu_dma_latency! a device in the captured tree is one of this machine",
            "idle-bound-closed",
            Unknown,
        ),
        (
            "kvm-guest",
            None,
            "/proc/stat:\n|cpu0 9 0 0 9999999 0 0 0 0 0 0\n|cpu1 9 0 0 9999999 0 0 0 0 0 0",
            "steal",
            Fine,
        ),
        (
            "kvm-guest",
            None,
            "/proc/stat:\n|cpu 1 2 3",
            "steal",
            Unknown,
        ),
        (
            "kvm-guest",
            None,
            "/proc/config.gz:\n|CONFIG_HZ=1000",
            "stack-checks",
            Fine,
        ),
        (
            "kvm-guest",
            None,
            "/proc/sys/kernel/sched_rt_runtime_us: -1",
            "rt-throttling",
            Fine,
        ),
        (
            "kvm-guest",
            None,
            "/proc/sys/kernel/sched_rt_runtime_us: -1",
            "rt-group-budget",
            Fine,
        ),
        (
            "kvm-guest",
            None,
            "/proc/config.gz:\n|CONFIG_HZ=1000",
            "rt-throttling",
            NotApplicable,
        ),
        (
            "kvm-guest",
            None,
            "/proc/sys/kernel/osrelease: 6.1.0",
            "rt-throttling",
            Found,
        ),
        (
            "kvm-guest",
            None,
            "/sys/fs/cgroup/cpu/cpu.rt_runtime_us: 0",
            "rt-group-denied",
            Found,
        ),
        (
            "kvm-guest",
            None,
            "/sys/fs/cgroup/cpu/cpu.rt_runtime_us: 0\n/proc/sys/kernel/sched_rt_runtime_us: -1",
            "rt-group-denied",
            Fine,
        ),
        // What is mounted is a group below the root.
        (
            "kvm-guest",
            None,
            "/sys/fs/cgroup/cpu/cpu.rt_runtime_us: 0\n/sys/fs/cgroup/cpu/notify_on_release: 0",
            "rt-group-budget",
            Unknown,
        ),
        (
            "kvm-guest",
            None,
            "/sys/fs/cgroup/cpu/cpu.rt_runtime_us: 0\n/sys/fs/cgroup/cpu/notify_on_release: 0\n/sys/fs/cgroup/cpu/cgroup.sane_behavior: 0",
            "rt-group-budget",
            Found,
        ),
        // The mount of a container without a namespace of groups is its own group.
        (
            "kvm-guest",
            None,
            "/proc/self/cgroup: 4:cpu,cpuacct:/docker/ab\n/sys/fs/cgroup/cpu/cpu.rt_runtime_us: 0",
            "rt-group-denied",
            Found,
        ),
        (
            "kvm-guest",
            Some("1"),
            "/proc/self/cgroup: 3:cpuset:/docker/ab\n/sys/fs/cgroup/cpuset/cpuset.effective_cpus: 0",
            "cpus-allowed",
            Found,
        ),
        (
            "kvm-guest",
            None,
            "/proc/self/status:\n|CapEff:\t0000000000000000",
            "rt-priority-limit",
            Found,
        ),
        (
            "kvm-guest",
            None,
            "/proc/self/status:\n|CapEff:\t0000000000800000",
            "rt-priority-limit",
            Fine,
        ),
        (
            "kvm-guest",
            None,
            "/proc/self/status:\n|CapEff:\t0000000000800000",
            "memory-lock-limit",
            Found,
        ),
        // By a file capability, which its user's other programs do not have.
        (
            "kvm-guest",
            None,
            "/proc/self/status:\n|Uid:\t7\t7\t7\t7\n|CapEff:\t0000000000800000\n|CapAmb:\t0000000000000000",
            "rt-priority-limit",
            Found,
        ),
        (
            "kvm-guest",
            None,
            "/proc/self/status:\n|Uid:\t7\t7\t7\t7\n|CapEff:\t0000000000800000\n|CapAmb:\t0000000000800000",
            "rt-priority-limit",
            Fine,
        ),
        (
            "kvm-guest",
            None,
            "/proc/1/stat! permission denied",
            "other-real-time",
            Unknown,
        ),
        (
            "kvm-guest",
            Some("1"),
            "/proc/2/comm: bash",
            "kernel-threads",
            NotApplicable,
        ),
        (
            "kvm-guest",
            Some("1"),
            "/sys/devices/system/cpu/isolated: 1",
            "isolation",
            Fine,
        ),
        (
            "kvm-guest",
            Some("1"),
            "/sys/fs/cgroup/cpuset.cpus.isolated: 1",
            "isolation",
            Fine,
        ),
        (
            "desktop-i7-4770k",
            Some("2-3"),
            "/proc/cmdline: isolcpus=domain,2,3",
            "isolation",
            Fine,
        ),
        (
            "desktop-i7-4770k",
            None,
            "/sys/devices/system/cpu/intel_pstate/no_turbo: 1",
            "turbo",
            Fine,
        ),
        (
            "desktop-i7-4770k",
            None,
            "/sys/devices/system/machinecheck/machinecheck0/check_interval: 0",
            "machine-check-poll",
            Fine,
        ),
        (
            "laptop-all-wrong",
            None,
            "/sys/class/power_supply/AC/online: 1",
            "on-battery",
            Fine,
        ),
        // A desktop with a port for charging, and a mouse.
        (
            "desktop-i7-4770k",
            None,
            "/sys/class/power_supply/ucsi-source-psy-USBC000:001/type: USB\n\
             /sys/class/power_supply/ucsi-source-psy-USBC000:001/online: 0\n\
             /sys/class/power_supply/hidpp_battery_0/type: Battery\n\
             /sys/class/power_supply/hidpp_battery_0/scope: Device",
            "on-battery",
            NotApplicable,
        ),
        (
            "desktop-i7-4770k",
            None,
            "/sys/class/power_supply/ucsi-source-psy-USBC000:001/type: USB\n\
             /sys/class/power_supply/ucsi-source-psy-USBC000:001/online: 0\n\
             /sys/class/power_supply/BAT0/type: Battery\n\
             /sys/class/power_supply/BAT0/scope: System",
            "on-battery",
            Found,
        ),
        (
            "laptop-all-wrong",
            None,
            "/proc/sys/kernel/stack_tracer_enabled: 0",
            "stack-tracer",
            Fine,
        ),
        (
            "laptop-all-wrong",
            None,
            "/proc/sys/kernel/latencytop: 0",
            "latencytop",
            Fine,
        ),
        (
            "laptop-all-wrong",
            None,
            "/sys/devices/system/cpu/intel_uncore_frequency/package_00_die_00/min_freq_khz: 4000000",
            "uncore-frequency",
            Fine,
        ),
        (
            "laptop-all-wrong",
            None,
            "/proc/sys/kernel/watchdog: 0",
            "lockup-watchdog",
            Fine,
        ),
        (
            "laptop-all-wrong",
            None,
            "/proc/sys/kernel/watchdog: x",
            "lockup-watchdog",
            Unknown,
        ),
        (
            "laptop-all-wrong",
            Some("0"),
            "/proc/sys/kernel/watchdog_cpumask: 4-7",
            "nmi-watchdog",
            Fine,
        ),
        (
            "numa-server",
            None,
            "/proc/sys/kernel/numa_balancing: 0",
            "numa-balancing",
            Fine,
        ),
        (
            "numa-server",
            Some("0-15,32-47"),
            "/proc/sys/kernel/watchdog: 1",
            "shared-cache",
            Fine,
        ),
        (
            "telco-node-rt",
            Some("2"),
            "/sys/kernel/debug/sched/fair_server/cpu2/runtime: 0",
            "fair-server",
            Fine,
        ),
        (
            "telco-node-rt",
            Some("2"),
            "/proc/irq/102/effective_affinity_list: 2\n/proc/irq/102/smp_affinity_list: 2,34",
            "interrupts",
            Found,
        ),
        // It is allowed elsewhere only, and moves there when it next fires.
        (
            "telco-node-rt",
            Some("2"),
            "/proc/irq/102/effective_affinity_list: 2",
            "interrupts",
            Fine,
        ),
        // A queue's own mask is what was asked for: the global one narrows it.
        (
            "numa-server",
            Some("8"),
            "/sys/devices/virtual/workqueue/cpumask: 0,ff\n\
             /sys/bus/workqueue/devices/writeback/cpumask: ffffffff,ffffffff",
            "workqueues",
            Fine,
        ),
        (
            "numa-server",
            Some("8"),
            "/sys/devices/virtual/workqueue/cpumask: 0,1ff\n\
             /sys/bus/workqueue/devices/writeback/cpumask: 0,ff",
            "workqueues",
            Found,
        ),
        // One that each CPU has for itself, whatever is allowed.
        (
            "raspberry-pi-5",
            Some("3"),
            "/proc/irq/9/effective_affinity_list:",
            "interrupts",
            Fine,
        ),
        (
            "telco-node-rt",
            None,
            "/proc/900/stat: 900 (irqbalance) S 1 0 0 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0",
            "irqbalance",
            Fine,
        ),
        (
            "arm-board-rk3399",
            None,
            "/proc/cmdline: rcu_nocbs=5",
            "rcu-nocbs",
            Fine,
        ),
        (
            "arm-board-rk3399",
            None,
            "/proc/cmdline: nohz_full=4-5\n/sys/devices/system/cpu/nohz_full: 4-5",
            "rcu-nocbs",
            Fine,
        ),
        (
            "arm-board-rk3399",
            None,
            "/proc/cmdline: nohz_full=4-5",
            "rcu-nocbs",
            Found,
        ),
        (
            "arm-board-rk3399",
            None,
            "/proc/cmdline: rcu_nocbs=4-N\n/sys/devices/system/cpu/possible: 0-5",
            "rcu-nocbs",
            Fine,
        ),
        (
            "arm-board-rk3399",
            None,
            "/proc/cmdline: rcu_nocbs=1-5:1/2",
            "rcu-nocbs",
            Fine,
        ),
        (
            "arm-board-rk3399",
            None,
            "/proc/cmdline: rcu_nocbs=some",
            "rcu-nocbs",
            Unknown,
        ),
        (
            "numa-server",
            None,
            "/proc/sys/kernel/osrelease: 5.15.0-1032-realtime\n/proc/sys/kernel/version: #1 SMP PREEMPT_RT x\n\
             /boot/config-5.15.0-1032-realtime:\n|CONFIG_PREEMPT_RT=y",
            "efi-runtime",
            Fine,
        ),
        (
            "numa-server",
            None,
            "/proc/sys/kernel/osrelease: 5.15.0-1032-realtime\n/proc/sys/kernel/version: #1 SMP PREEMPT_RT x\n\
             /boot/config-5.15.0-1032-realtime:\n|CONFIG_PREEMPT_RT=y\n/proc/cmdline: efi=runtime",
            "efi-runtime",
            Found,
        ),
        (
            "arm-board-rk3399",
            None,
            "/proc/cmdline: rcu_nocbs=all\n/sys/devices/system/cpu/possible: 0-5",
            "rcu-nocbs",
            Fine,
        ),
        (
            "arm-board-rk3399",
            None,
            "/sys/devices/system/cpu/cpu5/power/pm_qos_resume_latency_us: n/a",
            "idle-deep",
            Fine,
        ),
        ("kvm-guest", None, "/.dockerenv: ", "container", Fine),
        ("kvm-guest", None, "/proc/2/comm: sh", "container", Found),
        (
            "kvm-guest",
            None,
            "/proc/self/cgroup: 0::/\n/sys/fs/cgroup/cpu.max: 50000 100000",
            "group-quota",
            Found,
        ),
        (
            "kvm-guest",
            None,
            "/proc/self/cgroup: 0::/a/b\n/sys/fs/cgroup/a/b/cpu.max: max 100000",
            "group-quota",
            Fine,
        ),
        (
            "kvm-guest",
            None,
            "/proc/self/cgroup: 1:cpu:/d\n/sys/fs/cgroup/cpu/d/cpu.cfs_quota_us: 25000",
            "group-quota",
            Found,
        ),
        (
            "kvm-guest",
            None,
            "/proc/self/cgroup: 0::/\n/sys/fs/cgroup/cpu.max: some",
            "group-quota",
            Unknown,
        ),
        (
            "arm-board-rk3399",
            None,
            "/sys/class/thermal/cooling_device0/type: cpufreq-cpu4\n/sys/class/thermal/cooling_device0/cur_state: 2",
            "thermal-throttling",
            Found,
        ),
        (
            "arm-board-rk3399",
            None,
            "/sys/class/thermal/cooling_device0/type: cpufreq-cpu4\n/sys/class/thermal/cooling_device0/cur_state: 0",
            "thermal-throttling",
            Fine,
        ),
        (
            "arm-board-rk3399",
            None,
            "/sys/devices/platform/soc/soc:firmware/get_throttled: 50000",
            "thermal-throttling",
            Found,
        ),
        // As jetson_clocks leaves it.
        (
            "jetson-agx-orin",
            None,
            "/sys/devices/system/cpu/cpu{0-7}/cpufreq/scaling_min_freq: 1728000\n\
             /sys/devices/system/cpu/cpu{0-7}/cpufreq/scaling_max_freq: 1728000",
            "governor",
            Fine,
        ),
        (
            "jetson-agx-orin",
            None,
            "/sys/devices/system/cpu/cpu{0-6}/cpufreq/scaling_min_freq: 1728000\n\
             /sys/devices/system/cpu/cpu7/cpufreq/scaling_min_freq: 115200\n\
             /sys/devices/system/cpu/cpu{0-7}/cpufreq/scaling_max_freq: 1728000",
            "governor",
            Found,
        ),
        (
            "jetson-agx-orin",
            None,
            "/var/lib/nvpmodel/status: pmode:0000",
            "power-mode",
            Fine,
        ),
        (
            "jetson-agx-orin",
            None,
            "/var/lib/nvpmodel/status: pmode:0009",
            "power-mode",
            Unknown,
        ),
        (
            "jetson-agx-orin",
            None,
            "/etc/nvpmodel.conf! permission denied",
            "power-mode",
            Unknown,
        ),
    ]
};

#[test]
fn one_file_decides() {
    for (name, cpus, files, rule, expected) in CHANGES {
        let mut changed = archive(name);
        changed.overlay(files.parse().unwrap());
        let diagnosis = judged(&changed, *cpus);
        let verdict = verdict(&diagnosis, rule);
        assert_eq!(verdict.outcome, *expected, "{name} {files}: {verdict:#?}");
    }
}
