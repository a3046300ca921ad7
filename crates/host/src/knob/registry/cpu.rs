// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! CPUs: online, frequency, idle states, clock source.

use punctual_model::{Codec, Reversibility};

use super::sched::SLICES;
use super::{Knob, KnobKind, Part};
use crate::knob::place::Place;

pub(super) const KNOBS: &[Knob] = &[
    Knob::value(
        "cpu.online",
        places!(Flag, "/sys/devices/system/cpu/{cpu}/online"),
        "whether a CPU is online",
        "threads and interrupts of an offline CPU move elsewhere; masks that lose their last CPU \
         are saved and restored; within its mask, the kernel chooses the CPU of each interrupt",
    )
    .part(Part::Cpu)
    .moves(&SLICES),
    Knob::value(
        "smt",
        places!(Word, "/sys/devices/system/cpu/smt/control"),
        "whether the SMT siblings are used",
        "off: the siblings go offline; half the CPUs, but no neighbour that stalls the core",
    )
    .part(Part::Siblings)
    .moves(&["cpu.online", SLICES[0], SLICES[1], SLICES[2]]),
    Knob::exact(
        "cpu.resume_latency_us",
        places!(
            ResumeLatency,
            "/sys/devices/system/cpu/{cpu}/power/pm_qos_resume_latency_us"
        ),
        "maximum idle-state exit latency of a CPU, in µs; 0: no limit, n/a: no latency at all",
        "n/a: the CPU spins when idle: full power, and a busy sibling on a shared core",
    ),
    Knob::exact(
        "cpu.energy_perf_bias",
        places!(
            Integer,
            "/sys/devices/system/cpu/{cpu}/power/energy_perf_bias"
        ),
        "Intel's hint between performance (0) and power saving (15)",
        "more power",
    ),
    Knob::exact(
        "cpufreq.governor",
        &[Place::at(
            "/sys/devices/system/cpu/cpufreq/{policy}/scaling_governor",
            Codec::Word,
        )
        .offering("scaling_available_governors")],
        "the CPU frequency governor",
        "performance: more power and heat, and with heat perhaps throttling",
    )
    .moves(&[
        "cpufreq.min_freq",
        "cpufreq.max_freq",
        "cpufreq.epp",
        "cpufreq.tunable",
        "cpufreq.setspeed",
        "cpufreq.shared_tunable",
    ])
    .forgotten(),
    Knob::exact(
        "cpufreq.min_freq",
        &[Place::at(
            "/sys/devices/system/cpu/cpufreq/{policy}/scaling_min_freq",
            Codec::Integer,
        )
        .between("cpuinfo_min_freq", "cpuinfo_max_freq")],
        "lowest frequency in kHz; `max`: the highest of the hardware",
        "more power",
    )
    .part(Part::Lower("cpufreq.max_freq"))
    .moves(&["cpufreq.max_freq"])
    .forgotten(),
    Knob::exact(
        "cpufreq.max_freq",
        &[Place::at(
            "/sys/devices/system/cpu/cpufreq/{policy}/scaling_max_freq",
            Codec::Integer,
        )
        .between("cpuinfo_min_freq", "cpuinfo_max_freq")],
        "highest frequency in kHz; `min`: the lowest of the hardware",
        "lower: everything is slower, and steadier",
    )
    .moves(&["cpufreq.min_freq"])
    .forgotten(),
    Knob::exact(
        "cpufreq.epp",
        &[Place::at(
            "/sys/devices/system/cpu/cpufreq/{policy}/energy_performance_preference",
            Codec::Word,
        )
        .offering("energy_performance_available_preferences")],
        "the hardware's preference between performance and power saving",
        "more power",
    )
    .forgotten(),
    Knob::exact(
        "cpufreq.turbo",
        &[
            Place::at(
                "/sys/devices/system/cpu/intel_pstate/no_turbo",
                Codec::InvertedFlag,
            ),
            Place::at("/sys/devices/system/cpu/cpufreq/boost", Codec::Flag),
        ],
        "whether frequencies above the nominal one are used",
        "off: slower, but independent of heat and of what the other cores do",
    )
    .moves(&[
        "cpufreq.min_freq",
        "cpufreq.max_freq",
        "cpufreq.boost",
        "cpufreq.min_perf_pct",
    ]),
    Knob::exact(
        "uncore.min_freq",
        &[Place::at(
            "/sys/devices/system/cpu/intel_uncore_frequency/{die}/min_freq_khz",
            Codec::Integer,
        )
        .between("initial_min_freq_khz", "initial_max_freq_khz")],
        "lowest uncore frequency of an Intel die (caches, memory), in kHz, or max",
        "higher: more power, less for the cores",
    ),
    Knob::exact(
        "uncore.max_freq",
        &[Place::at(
            "/sys/devices/system/cpu/intel_uncore_frequency/{die}/max_freq_khz",
            Codec::Integer,
        )
        .between("initial_min_freq_khz", "initial_max_freq_khz")],
        "highest uncore frequency of an Intel die, in kHz, or min",
        "lower: slower memory, and steadier",
    ),
    Knob::exact(
        "cpuidle.governor",
        &[Place::at(
            "/sys/devices/system/cpu/cpuidle/current_governor",
            Codec::Word,
        )
        .offering("available_governors")],
        "the cpuidle governor",
        "none",
    ),
    Knob::exact(
        "cpuidle.disable",
        &[Place::at(
            "/sys/devices/system/cpu/{cpu}/cpuidle/{state}/disable",
            Codec::Flag,
        )
        .between("latency", "latency")],
        "whether an idle state is disabled; `above 10us` disables those with a longer exit latency",
        "more power, and less turbo for the other cores",
    )
    .forgotten(),
    Knob::exact(
        "haltpoll.guest_halt_poll_ns",
        places!(
            Integer,
            "/sys/module/haltpoll/parameters/guest_halt_poll_ns"
        ),
        "how long a virtual CPU spins before it halts, in ns",
        "spinning costs CPU time",
    ),
    Knob::exact(
        "haltpoll.guest_halt_poll_grow_start",
        places!(
            Integer,
            "/sys/module/haltpoll/parameters/guest_halt_poll_grow_start"
        ),
        "initial length of that spinning, in ns",
        "spinning costs CPU time",
    ),
    Knob::made(
        "dma_latency",
        KnobKind::Held(crate::dma_latency::PLACE),
        Reversibility::Scoped,
        "maximum idle-state exit latency of all CPUs (/dev/cpu_dma_latency), such as 0us",
        "0us: every idle CPU spins at full power; a process holds it, and the kernel lifts \
                 it when that process ends",
    ),
    Knob::exact(
        "clocksource",
        &[Place::at(
            "/sys/devices/system/clocksource/clocksource0/current_clocksource",
            Codec::Word,
        )
        .offering("available_clocksource")],
        "the clock source of the kernel",
        "hpet, acpi_pm: every read of the clock takes a microsecond",
    )
    .part(Part::Never(
        "jiffies",
        "the clock would advance in steps of milliseconds",
    )),
];
