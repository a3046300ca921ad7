// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Scheduler, timers, watchdogs, RCU, control groups, threads.

use punctual_model::{Codec, Reversibility};

use super::{Kind, Knob, Threads};
use crate::knob::place::Place;

/// Makes the knob of a sysctl.
macro_rules! sysctl {
    ($name:literal, $path:literal, $codec:ident, $about:literal, $effect:literal) => {
        Knob::exact(
            $name,
            &[Place::at(concat!("/proc/sys/", $path), Codec::$codec)],
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
            &[Place::at(
                concat!("/sys/kernel/debug/sched/", $file),
                Codec::$codec,
            )],
            $about,
            $effect,
        )
    };
}

pub(super) const KNOBS: &[Knob] = &[
    sysctl!(
        "kernel.sched_rt_runtime_us",
        "kernel/sched_rt_runtime_us",
        Integer,
        "share of each period that real-time threads may use, in µs; -1 is all of it",
        "with -1 a real-time thread that never sleeps owns its CPU for good"
    ),
    sysctl!(
        "kernel.sched_rt_period_us",
        "kernel/sched_rt_period_us",
        Integer,
        "the period of that share, in µs",
        "a shorter one throttles more often and for less long"
    ),
    Knob::exact(
        "cgroup.rt_runtime_us",
        &[
            Place::at("/sys/fs/cgroup/cpu/cpu.rt_runtime_us", Codec::Integer),
            Place::at(
                "/sys/fs/cgroup/cpu,cpuacct/cpu.rt_runtime_us",
                Codec::Integer,
            ),
        ],
        "the same share for the root control group, which is the one that counts where there is one \
         (RT_GROUP_SCHED); it follows kernel.sched_rt_runtime_us",
        "as kernel.sched_rt_runtime_us",
    ),
    Knob::exact(
        "cgroup.rt_period_us",
        &[
            Place::at("/sys/fs/cgroup/cpu/cpu.rt_period_us", Codec::Integer),
            Place::at(
                "/sys/fs/cgroup/cpu,cpuacct/cpu.rt_period_us",
                Codec::Integer,
            ),
        ],
        "its period; it follows kernel.sched_rt_period_us",
        "as kernel.sched_rt_period_us",
    ),
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
        "shorter ones cost more interrupts"
    ),
    sysctl!(
        "kernel.sched_deadline_period_max_us",
        "kernel/sched_deadline_period_max_us",
        Integer,
        "longest period of SCHED_DEADLINE, in µs",
        "longer ones make the kernel's sums less exact"
    ),
    sysctl!(
        "kernel.sched_energy_aware",
        "kernel/sched_energy_aware",
        Flag,
        "whether wake-ups go to the CPU that costs the least energy (big.LITTLE)",
        "off: threads spread over fast and slow CPUs by load alone"
    ),
    sysctl!(
        "kernel.sched_schedstats",
        "kernel/sched_schedstats",
        Flag,
        "whether the scheduler keeps statistics of waiting and sleeping",
        "off: `perf sched` and /proc/*/sched say less"
    ),
    sysctl!(
        "kernel.sched_autogroup_enabled",
        "kernel/sched_autogroup_enabled",
        Flag,
        "whether each session of a terminal gets an equal share of the CPU",
        "off: a compiler with many processes takes more from the desktop"
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
        "how far the kernel lets itself be preempted (PREEMPT_DYNAMIC): none, voluntary, full, lazy",
        "full costs some throughput"
    ),
    // What is in debugfs since 5.13 was a sysctl before.
    Knob::exact(
        "sched.base_slice_ns",
        &[
            Place::at("/sys/kernel/debug/sched/base_slice_ns", Codec::Integer),
            Place::at("/sys/kernel/debug/sched/min_granularity_ns", Codec::Integer),
            Place::at("/proc/sys/kernel/sched_min_granularity_ns", Codec::Integer),
        ],
        "time slice of ordinary threads, in ns",
        "shorter: more switches",
    ),
    Knob::exact(
        "sched.wakeup_granularity_ns",
        &[
            Place::at(
                "/sys/kernel/debug/sched/wakeup_granularity_ns",
                Codec::Integer,
            ),
            Place::at(
                "/proc/sys/kernel/sched_wakeup_granularity_ns",
                Codec::Integer,
            ),
        ],
        "how far ahead an ordinary thread must be to preempt another one, in ns (before 6.6)",
        "lower: wake-ups of ordinary threads preempt sooner, more switches",
    ),
    Knob::exact(
        "sched.latency_ns",
        &[
            Place::at("/sys/kernel/debug/sched/latency_ns", Codec::Integer),
            Place::at("/proc/sys/kernel/sched_latency_ns", Codec::Integer),
        ],
        "span in which each ordinary thread runs once, in ns (before 6.6)",
        "shorter: more switches",
    ),
    Knob::exact(
        "sched.migration_cost_ns",
        &[
            Place::at("/sys/kernel/debug/sched/migration_cost_ns", Codec::Integer),
            Place::at("/proc/sys/kernel/sched_migration_cost_ns", Codec::Integer),
        ],
        "how recently a thread must have run to count as still in the cache, in ns",
        "lower: more moves between CPUs",
    ),
    Knob::exact(
        "sched.nr_migrate",
        &[
            Place::at("/sys/kernel/debug/sched/nr_migrate", Codec::Integer),
            Place::at("/proc/sys/kernel/sched_nr_migrate", Codec::Integer),
        ],
        "most threads that balancing moves with interrupts off",
        "lower: slower balancing",
    ),
    Knob::exact(
        "sched.fair_server_runtime_ns",
        &[Place::at(
            "/sys/kernel/debug/sched/fair_server/{cpu}/runtime",
            Codec::Integer,
        )],
        "what ordinary threads are promised of each period beside real-time threads, in ns; 0 is none",
        "0: an ordinary thread on the CPU of a real-time thread that never sleeps starves",
    ),
    Knob::exact(
        "sched.fair_server_period_ns",
        &[Place::at(
            "/sys/kernel/debug/sched/fair_server/{cpu}/period",
            Codec::Integer,
        )],
        "the period of that promise, in ns",
        "longer: the ordinary threads' share comes later and in one piece",
    ),
    sysctl!(
        "kernel.timer_migration",
        "kernel/timer_migration",
        Flag,
        "whether timers of idle CPUs move to busy ones",
        "off: more wake-ups of idle CPUs, fewer foreign timers on busy ones"
    ),
    sysctl!(
        "kernel.watchdog",
        "kernel/watchdog",
        Flag,
        "whether CPUs that hang are detected (both watchdogs)",
        "off: a hang is not reported any more"
    ),
    sysctl!(
        "kernel.soft_watchdog",
        "kernel/soft_watchdog",
        Flag,
        "whether CPUs on which nothing is scheduled are detected",
        "off: such a hang is not reported any more"
    ),
    sysctl!(
        "kernel.nmi_watchdog",
        "kernel/nmi_watchdog",
        Flag,
        "whether CPUs that take no interrupt are detected",
        "off: such a hang is not reported; frees a performance counter"
    ),
    sysctl!(
        "kernel.watchdog_thresh",
        "kernel/watchdog_thresh",
        Integer,
        "after how many seconds a CPU hangs",
        "longer: fewer looks, later reports"
    ),
    sysctl!(
        "kernel.watchdog_cpumask",
        "kernel/watchdog_cpumask",
        List,
        "CPUs that the watchdogs watch",
        "a hang of another CPU is not reported"
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
        "which kernel messages go to the console, and three more levels",
        "fewer messages on a slow console: fewer stalls, and less to read after a crash"
    ),
    sysctl!(
        "kernel.randomize_va_space",
        "kernel/randomize_va_space",
        Integer,
        "how far the addresses of programs are random",
        "0 weakens the machine's security; programs that run already keep theirs"
    ),
    sysctl!(
        "kernel.perf_event_paranoid",
        "kernel/perf_event_paranoid",
        Integer,
        "who may use performance counters",
        "lower: more users may look at more"
    ),
    sysctl!(
        "kernel.perf_cpu_time_max_percent",
        "kernel/perf_cpu_time_max_percent",
        Integer,
        "CPU time that the sampling of events may take, in %",
        "the kernel lowers the rate of samples beyond it"
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
        "whether what threads wait for is recorded",
        "off: latencytop shows nothing"
    ),
    sysctl!(
        "kernel.stack_tracer_enabled",
        "kernel/stack_tracer_enabled",
        Flag,
        "whether each kernel function measures the stack",
        "off: the deepest stack is not known"
    ),
    sysctl!(
        "kernel.task_delayacct",
        "kernel/task_delayacct",
        Flag,
        "whether delays of each thread are added up",
        "off: iotop and getdelays show none"
    ),
    sysctl!(
        "kernel.split_lock_mitigate",
        "kernel/split_lock_mitigate",
        Flag,
        "whether programs that lock across two cache lines are slowed down",
        "off: such a program may hold up the memory of all CPUs"
    ),
    Knob::exact(
        "rcu.expedited",
        &[Place::at("/sys/kernel/rcu_expedited", Codec::Flag)],
        "whether grace periods are hurried with interrupts to all CPUs",
        "on disturbs every CPU",
    ),
    Knob::exact(
        "rcu.normal",
        &[Place::at("/sys/kernel/rcu_normal", Codec::Flag)],
        "whether hurried grace periods are slowed to normal ones",
        "on: no interrupts to real-time CPUs for them; changes of the network or of modules take longer",
    ),
    Knob::exact(
        "rcu.stall_timeout",
        &[Place::at(
            "/sys/module/rcupdate/parameters/rcu_cpu_stall_timeout",
            Codec::Integer,
        )],
        "after how many seconds a CPU that holds up RCU is reported",
        "longer: later reports",
    ),
    Knob::exact(
        "rcu.stall_suppress",
        &[Place::at(
            "/sys/module/rcupdate/parameters/rcu_cpu_stall_suppress",
            Codec::Flag,
        )],
        "whether such reports are left out",
        "on: a CPU that holds up RCU is not reported, nor is its long console output",
    ),
    Knob {
        name: "threads.affinity",
        about: "CPUs that the threads of programs may run on: they keep what they had of them",
        effect: "threads that are bound to other CPUs alone stay; what a moved thread starts later is \
                 moved back with it",
        reversibility: Reversibility::Value,
        kind: Kind::ThreadCpus(Threads::Programs),
    },
    Knob {
        name: "kthreads.affinity",
        about: "CPUs that the kernel's own threads may run on, as far as they can be moved",
        effect: "threads of one CPU stay where they belong",
        reversibility: Reversibility::Value,
        kind: Kind::ThreadCpus(Threads::Kernel),
    },
    Knob::exact(
        "cgroup.cpus",
        &[
            Place::at("/sys/fs/cgroup/{group}/cpuset.cpus", Codec::List),
            Place::at("/sys/fs/cgroup/cpuset/{group}/cpuset.cpus", Codec::List),
        ],
        "CPUs of the control groups at the top, which bound all that run in them",
        "programs in them cannot use other CPUs, whatever they ask for",
    ),
    Knob {
        name: "cgroup.partition",
        about: "CPUs that scheduling is not balanced over: a partition of control groups",
        effect: "nothing runs there but what is bound to it; the group `punctual` exists meanwhile",
        reversibility: Reversibility::Exact,
        kind: Kind::Partition,
    },
];
