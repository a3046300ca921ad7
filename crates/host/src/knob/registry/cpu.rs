// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! CPUs: online, frequency, idle states, clock source.

use punctual_model::{Codec, Reversibility};

use super::{Kind, Knob};
use crate::knob::place::Place;

pub(super) const KNOBS: &[Knob] = &[
    Knob::value(
        "cpu.online",
        &[Place::at(
            "/sys/devices/system/cpu/{cpu}/online",
            Codec::Flag,
        )],
        "whether a CPU is used at all",
        "an offline CPU's threads and interrupts go elsewhere; the masks that lose their last CPU are \
         kept and put back, where the kernel serves each interrupt within its mask is its choice",
    ),
    Knob::value(
        "smt",
        &[Place::at(
            "/sys/devices/system/cpu/smt/control",
            Codec::Word,
        )],
        "whether the second thread of each core is used",
        "off takes the sibling CPUs offline: half the CPUs, without a neighbour that stalls the core",
    ),
    Knob::exact(
        "cpu.resume_latency_us",
        &[Place::at(
            "/sys/devices/system/cpu/{cpu}/power/pm_qos_resume_latency_us",
            Codec::ResumeLatency,
        )],
        "how long a CPU's idle state may take to leave, in µs; 0 is no limit, n/a no latency at all",
        "n/a makes the CPU spin when idle: full power, and a busy neighbour on a shared core",
    ),
    Knob::exact(
        "cpu.energy_perf_bias",
        &[Place::at(
            "/sys/devices/system/cpu/{cpu}/power/energy_perf_bias",
            Codec::Integer,
        )],
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
        "who chooses the frequency of CPUs",
        "performance: more power and heat, and with heat perhaps throttling",
    ),
    Knob::exact(
        "cpufreq.min_freq",
        &[Place::at(
            "/sys/devices/system/cpu/cpufreq/{policy}/scaling_min_freq",
            Codec::Integer,
        )
        .between("cpuinfo_min_freq", "cpuinfo_max_freq")],
        "lowest frequency in kHz; `max` is the highest that the hardware has",
        "more power",
    ),
    Knob::exact(
        "cpufreq.max_freq",
        &[Place::at(
            "/sys/devices/system/cpu/cpufreq/{policy}/scaling_max_freq",
            Codec::Integer,
        )
        .between("cpuinfo_min_freq", "cpuinfo_max_freq")],
        "highest frequency in kHz; `min` is the lowest that the hardware has",
        "a lower one makes everything slower, and steadier",
    ),
    Knob::exact(
        "cpufreq.epp",
        &[Place::at(
            "/sys/devices/system/cpu/cpufreq/{policy}/energy_performance_preference",
            Codec::Word,
        )
        .offering("energy_performance_available_preferences")],
        "the hardware's own choice between performance and power",
        "more power",
    ),
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
    ),
    Knob::exact(
        "uncore.min_freq",
        &[Place::at(
            "/sys/devices/system/cpu/intel_uncore_frequency/{die}/min_freq_khz",
            Codec::Integer,
        )
        .between("initial_min_freq_khz", "initial_max_freq_khz")],
        "lowest frequency of what the cores of an Intel die share (caches, memory), in kHz, or max",
        "higher: more power, less for the cores",
    ),
    Knob::exact(
        "uncore.max_freq",
        &[Place::at(
            "/sys/devices/system/cpu/intel_uncore_frequency/{die}/max_freq_khz",
            Codec::Integer,
        )
        .between("initial_min_freq_khz", "initial_max_freq_khz")],
        "highest frequency of that, in kHz, or min",
        "lower: slower memory, and steadier",
    ),
    Knob::exact(
        "cpuidle.governor",
        &[Place::at(
            "/sys/devices/system/cpu/cpuidle/current_governor",
            Codec::Word,
        )
        .offering("available_governors")],
        "who chooses the idle state of CPUs",
        "none",
    ),
    Knob::exact(
        "cpuidle.disable",
        &[Place::at(
            "/sys/devices/system/cpu/{cpu}/cpuidle/{state}/disable",
            Codec::Flag,
        )
        .between("latency", "latency")],
        "whether an idle state is kept out of use; `above 10us` keeps out those that take longer to \
         leave",
        "more power, and less turbo for the other cores",
    ),
    Knob::exact(
        "haltpoll.guest_halt_poll_ns",
        &[Place::at(
            "/sys/module/haltpoll/parameters/guest_halt_poll_ns",
            Codec::Integer,
        )],
        "how long the CPU of a virtual machine spins before it halts, in ns",
        "the spinning is paid for as CPU time",
    ),
    Knob::exact(
        "haltpoll.guest_halt_poll_grow_start",
        &[Place::at(
            "/sys/module/haltpoll/parameters/guest_halt_poll_grow_start",
            Codec::Integer,
        )],
        "the first span of that spinning, in ns",
        "the spinning is paid for as CPU time",
    ),
    Knob {
        name: "dma_latency",
        about: "how long any CPU's idle state may take to leave (/dev/cpu_dma_latency), such as 0us",
        effect: "0us makes every idle CPU spin: full power; held by a process, the kernel lifts it \
                 when that ends",
        reversibility: Reversibility::Scoped,
        kind: Kind::Held("/dev/cpu_dma_latency"),
    },
    Knob::exact(
        "clocksource",
        &[Place::at(
            "/sys/devices/system/clocksource/clocksource0/current_clocksource",
            Codec::Word,
        )
        .offering("available_clocksource")],
        "what the kernel reads the time from",
        "a slow one (hpet, acpi_pm) makes every look at the clock a microsecond",
    ),
];
