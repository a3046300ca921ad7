// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Scheduler, timers, watchdogs, RCU, control groups, threads.

use punctual_model::Reversibility;

use super::{Knob, KnobKind, Part, Threads};

/// Makes the knob of a sysctl.
macro_rules! sysctl {
    ($name:literal, $path:literal, $codec:ident, $about:literal, $effect:literal) => {
        Knob::exact(
            $name,
            places!($codec, concat!("/proc/sys/", $path)),
            $about,
            $effect,
        )
    };
}

pub(super) use sysctl;

/// Makes the knob of a file of the scheduler in debugfs.
macro_rules! debug {
    ($name:literal, $file:literal, $codec:ident, $about:literal, $effect:literal) => {
        Knob::exact(
            $name,
            places!($codec, concat!("/sys/kernel/debug/sched/", $file)),
            $about,
            $effect,
        )
    };
}

/// What the kernel computes anew whenever a CPU goes, comes, or gets another domain of the scheduler (`update_sysctl` in
/// `kernel/sched/fair.c`): a value from debugfs is lost then.
pub(super) const SLICES: [&str; 3] = [
    "sched.base_slice_ns",
    "sched.wakeup_granularity_ns",
    "sched.latency_ns",
];

pub(super) const KNOBS: &[Knob] = &[
    sysctl!(
        "kernel.sched_rt_runtime_us",
        "kernel/sched_rt_runtime_us",
        Integer,
        "time in each period that real-time threads may use, in µs; -1: all",
        "-1: a real-time thread that never sleeps leaves others only what the fair server of Linux 6.12 and later keeps for them"
    )
    .part(Part::Budget(0)),
    sysctl!(
        "kernel.sched_rt_period_us",
        "kernel/sched_rt_period_us",
        Integer,
        "the throttling period, in µs",
        "shorter: throttling is more frequent and shorter"
    )
    .part(Part::Budget(1)),
    Knob::exact(
        "cgroup.rt_runtime_us",
        places!(Integer, "/sys/fs/cgroup/cpu/cpu.rt_runtime_us", "/sys/fs/cgroup/cpu,cpuacct/cpu.rt_runtime_us"),
        "the same for the root control group, whose value is the one that applies with \
         RT_GROUP_SCHED; it follows kernel.sched_rt_runtime_us",
        "as kernel.sched_rt_runtime_us",
    )
    .part(Part::Budget(2)),
    Knob::exact(
        "cgroup.rt_period_us",
        places!(Integer, "/sys/fs/cgroup/cpu/cpu.rt_period_us", "/sys/fs/cgroup/cpu,cpuacct/cpu.rt_period_us"),
        "the period of the root control group; it follows kernel.sched_rt_period_us",
        "as kernel.sched_rt_period_us",
    )
    .part(Part::Budget(3)),
    sysctl!(
        "kernel.sched_rr_timeslice_ms",
        "kernel/sched_rr_timeslice_ms",
        Integer,
        "time slice of SCHED_RR, in ms",
        "the kernel rounds it to its ticks"
    ),
    sysctl!(
        "kernel.sched_deadline_period_min_us",
        "kernel/sched_deadline_period_min_us",
        Integer,
        "shortest period of SCHED_DEADLINE, in µs",
        "shorter: more interrupts"
    ),
    sysctl!(
        "kernel.sched_deadline_period_max_us",
        "kernel/sched_deadline_period_max_us",
        Integer,
        "longest period of SCHED_DEADLINE, in µs",
        "longer: less exact accounting in the kernel"
    ),
    sysctl!(
        "kernel.sched_energy_aware",
        "kernel/sched_energy_aware",
        Flag,
        "whether wake-ups go to the most energy-efficient CPU (big.LITTLE)",
        "off: threads spread over fast and slow CPUs by load alone"
    ),
    sysctl!(
        "kernel.sched_schedstats",
        "kernel/sched_schedstats",
        Flag,
        "whether the scheduler keeps statistics of waiting and sleeping",
        "off: `perf sched` and /proc/*/sched show less"
    ),
    sysctl!(
        "kernel.sched_autogroup_enabled",
        "kernel/sched_autogroup_enabled",
        Flag,
        "whether each terminal session gets an equal share of CPU time",
        "off: a parallel build takes more time from the desktop"
    ),
    sysctl!(
        "kernel.sched_cfs_bandwidth_slice_us",
        "kernel/sched_cfs_bandwidth_slice_us",
        Integer,
        "how much of a group's quota a CPU takes at a time, in µs",
        "none without CPU quotas"
    ),
    debug!(
        "sched.preempt",
        "preempt",
        Choice,
        "the preemption model (PREEMPT_DYNAMIC): none, voluntary, full, lazy",
        "full costs some throughput"
    ),
    // What is in debugfs since 5.13 was a sysctl before.
    Knob::exact(
        "sched.base_slice_ns",
        places!(Integer, "/sys/kernel/debug/sched/base_slice_ns", "/sys/kernel/debug/sched/min_granularity_ns", "/proc/sys/kernel/sched_min_granularity_ns"),
        "time slice of ordinary threads, in ns",
        "shorter: more switches",
    )
    .part(Part::Shared),
    Knob::exact(
        "sched.wakeup_granularity_ns",
        places!(Integer, "/sys/kernel/debug/sched/wakeup_granularity_ns", "/proc/sys/kernel/sched_wakeup_granularity_ns"),
        "how far ahead an ordinary thread must be to preempt another one, in ns (before 6.6)",
        "lower: wake-ups of ordinary threads preempt sooner, more switches",
    )
    .part(Part::Shared),
    Knob::exact(
        "sched.latency_ns",
        places!(Integer, "/sys/kernel/debug/sched/latency_ns", "/proc/sys/kernel/sched_latency_ns"),
        "period in which each ordinary thread runs once, in ns (before 6.6)",
        "shorter: more switches",
    )
    .part(Part::Shared),
    Knob::exact(
        "sched.migration_cost_ns",
        places!(Integer, "/sys/kernel/debug/sched/migration_cost_ns", "/proc/sys/kernel/sched_migration_cost_ns"),
        "time after its last run in which a thread counts as cache-hot, in ns",
        "lower: more migrations between CPUs",
    ),
    Knob::exact(
        "sched.nr_migrate",
        places!(Integer, "/sys/kernel/debug/sched/nr_migrate", "/proc/sys/kernel/sched_nr_migrate"),
        "maximum number of threads that load balancing moves with interrupts off",
        "lower: slower balancing",
    ),
    Knob::exact(
        "sched.fair_server_runtime_ns",
        places!(Integer, "/sys/kernel/debug/sched/fair_server/{cpu}/runtime"),
        "time in each period reserved for ordinary threads, in ns; 0: none",
        "0: an ordinary thread on the CPU of a real-time thread that never sleeps starves",
    ),
    Knob::exact(
        "sched.fair_server_period_ns",
        places!(Integer, "/sys/kernel/debug/sched/fair_server/{cpu}/period"),
        "the period of that reservation, in ns",
        "longer: the reserved time comes later and in one piece",
    ),
    sysctl!(
        "kernel.timer_migration",
        "kernel/timer_migration",
        Flag,
        "whether timers of idle CPUs move to busy ones",
        "off: idle CPUs wake up more often, fewer foreign timers on busy CPUs"
    ),
    sysctl!(
        "kernel.watchdog",
        "kernel/watchdog",
        Flag,
        "whether CPUs that hang are detected (both watchdogs)",
        "off: hangs are no longer reported"
    )
    .moves(&["kernel.soft_watchdog", "kernel.nmi_watchdog"]),
    sysctl!(
        "kernel.soft_watchdog",
        "kernel/soft_watchdog",
        Flag,
        "whether soft lockups are detected (CPUs that stop scheduling)",
        "off: such hangs are no longer reported"
    )
    .moves(&["kernel.watchdog"]),
    sysctl!(
        "kernel.nmi_watchdog",
        "kernel/nmi_watchdog",
        Flag,
        "whether hard lockups are detected (CPUs that take no interrupts)",
        "off: such hangs are not reported; frees a performance counter"
    )
    .moves(&["kernel.watchdog"]),
    sysctl!(
        "kernel.watchdog_thresh",
        "kernel/watchdog_thresh",
        Integer,
        "seconds after which a CPU counts as hung",
        "longer: fewer checks, later reports"
    ),
    sysctl!(
        "kernel.watchdog_cpumask",
        "kernel/watchdog_cpumask",
        List,
        "CPUs that the watchdogs watch",
        "hangs of other CPUs are not reported"
    ),
    sysctl!(
        "kernel.hung_task_timeout_secs",
        "kernel/hung_task_timeout_secs",
        Integer,
        "after how many seconds a thread that waits for the kernel is reported; 0 never",
        "0: such threads are not reported"
    ),
    sysctl!(
        "kernel.printk",
        "kernel/printk",
        Integers,
        "which kernel messages go to the console, and three other levels",
        "fewer messages on a slow console: fewer stalls, and less to read after a crash"
    ),
    sysctl!(
        "kernel.randomize_va_space",
        "kernel/randomize_va_space",
        Integer,
        "how far program addresses are randomised",
        "0: weaker security; running programs keep their addresses"
    )
    .part(Part::Protects("lower makes attacks easier")),
    sysctl!(
        "kernel.perf_event_paranoid",
        "kernel/perf_event_paranoid",
        Integer,
        "who may use performance counters",
        "lower: more users may observe more"
    ),
    sysctl!(
        "kernel.perf_cpu_time_max_percent",
        "kernel/perf_cpu_time_max_percent",
        Integer,
        "CPU time that event sampling may take, in %",
        "beyond it the kernel lowers the sampling rate"
    ),
    sysctl!(
        "kernel.bpf_stats_enabled",
        "kernel/bpf_stats_enabled",
        Flag,
        "whether each run of a BPF program is timed",
        "off: `bpftool prog` shows no run times"
    ),
    sysctl!(
        "kernel.latencytop",
        "kernel/latencytop",
        Flag,
        "whether latencytop records what threads wait for",
        "off: latencytop shows nothing"
    ),
    sysctl!(
        "kernel.stack_tracer_enabled",
        "kernel/stack_tracer_enabled",
        Flag,
        "whether each kernel function call measures the stack",
        "off: the deepest stack is not recorded"
    ),
    sysctl!(
        "kernel.task_delayacct",
        "kernel/task_delayacct",
        Flag,
        "whether the delays of each thread are accounted",
        "off: iotop and getdelays show none"
    ),
    sysctl!(
        "kernel.split_lock_mitigate",
        "kernel/split_lock_mitigate",
        Flag,
        "whether programs with split locks are slowed down",
        "off: such a program may stall memory accesses of all CPUs"
    ),
    Knob::exact(
        "rcu.expedited",
        places!(Flag, "/sys/kernel/rcu_expedited"),
        "whether all RCU grace periods are expedited by interrupting all CPUs",
        "on: disturbs every CPU",
    ),
    Knob::exact(
        "rcu.normal",
        places!(Flag, "/sys/kernel/rcu_normal"),
        "whether expedited grace periods become normal ones",
        "on: no such interrupts on real-time CPUs; network and module changes take longer",
    ),
    Knob::exact(
        "rcu.stall_timeout",
        places!(Integer, "/sys/module/rcupdate/parameters/rcu_cpu_stall_timeout"),
        "seconds after which a CPU that stalls RCU is reported",
        "longer: later reports",
    ),
    Knob::exact(
        "rcu.stall_suppress",
        places!(Flag, "/sys/module/rcupdate/parameters/rcu_cpu_stall_suppress"),
        "whether RCU stall reports are suppressed",
        "on: a CPU that stalls RCU is not reported, and its long console output is avoided",
    ),
    Knob::made(
        "threads.affinity",
        KnobKind::ThreadCpus(Threads::Programs),
        Reversibility::Value,
        "CPUs that programs' threads may run on; masks are narrowed, never widened",
        "threads bound only to other CPUs stay; threads that a moved thread starts later \
                 are moved back with it",
    ),
    Knob::made(
        "kthreads.affinity",
        KnobKind::ThreadCpus(Threads::Kernel),
        Reversibility::Value,
        "CPUs that the kernel's own threads may run on, as far as they can be moved",
        "per-CPU threads stay on their CPU",
    ),
    Knob::value(
        "cgroup.cpus",
        places!(List, "/sys/fs/cgroup/{group}/cpuset.cpus", "/sys/fs/cgroup/cpuset/{group}/cpuset.cpus"),
        "CPUs of the top-level control groups, which limit everything in them",
        "programs in them cannot use other CPUs, whatever they ask for; `housekeeping` leaves groups with threads that are \
         bound only to other CPUs, and that of this program; a group in use whose list was empty lists all CPUs of \
         the group above after revert",
    )
    .part(Part::Group),
    Knob::made(
        "cgroup.partition",
        KnobKind::Partition,
        Reversibility::Exact,
        "CPUs excluded from load balancing, as a cgroup partition",
        "version 1: only threads bound to them run there; version 2: only what is put into the group `punctual`, \
         which exists while it is set (echo PID > /sys/fs/cgroup/punctual/cgroup.procs)",
    )
    .moves(&SLICES),
];
