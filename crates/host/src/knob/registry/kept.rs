// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Settings that nobody sets here, but that the kernel changes because of a knob.
//!
//! Another I/O scheduler or frequency governor comes with tunables of its own, and those of the one
//! before are gone (block/elevator.c, drivers/cpufreq/cpufreq_governor.c, seen on Linux 6.18). A queue's
//! depth resets the depth for writes (block/mq-deadline.c). Turbo bounds the least performance of
//! `intel_pstate` and goes to every policy's `boost`. A set of CPUs (version 1) forgets a CPU that goes
//! offline, and so do the sets in it.

use super::{Knob, Part};

/// Files below the directory of frequency policies.
macro_rules! cpufreq {
    ($codec:ident, $($path:literal),+ $(,)?) => {
        places!($codec, $(concat!("/sys/devices/system/cpu/cpufreq/", $path)),+)
    };
}

/// Sets of CPUs, version 1.
macro_rules! cpuset {
    ($($path:literal),+ $(,)?) => {
        places!(List, $(concat!("/sys/fs/cgroup/cpuset/", $path, "/cpuset.cpus")),+)
    };
}

pub(super) const KEPT: &[Knob] = &[
    Knob::kept(
        "block.iosched",
        places!(Word, "/sys/block/{disk}/queue/iosched/{tunable}"),
    ),
    Knob::kept(
        "cpufreq.tunable",
        cpufreq!(
            Word,
            "{policy}/schedutil/{tunable}",
            "{policy}/ondemand/{tunable}",
            "{policy}/conservative/{tunable}"
        ),
    )
    .forgotten(),
    // Where all policies share them.
    Knob::kept(
        "cpufreq.shared_tunable",
        cpufreq!(
            Word,
            "schedutil/{tunable}",
            "ondemand/{tunable}",
            "conservative/{tunable}"
        ),
    )
    .part(Part::Shared),
    // Where the governor is another one it reads `<unsupported>`.
    Knob::kept(
        "cpufreq.setspeed",
        cpufreq!(Integer, "{policy}/scaling_setspeed"),
    )
    .forgotten(),
    Knob::kept("cpufreq.boost", cpufreq!(Flag, "{policy}/boost")).forgotten(),
    Knob::kept(
        "cpufreq.min_perf_pct",
        places!(Integer, "/sys/devices/system/cpu/intel_pstate/min_perf_pct"),
    ),
    // The deepest first: they are put back in the opposite order, and a set must lie in the one above.
    Knob::kept(
        "cgroup.inner_cpus",
        cpuset!(
            "{group}/{inner}/{inner}/{inner}",
            "{group}/{inner}/{inner}",
            "{group}/{inner}"
        ),
    )
    .part(Part::Group),
];
