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
use crate::knob::place::Place;
use punctual_model::Codec;

/// The directory of frequency policies.
macro_rules! cpufreq {
    ($path:literal, $codec:ident) => {
        Place::at(
            concat!("/sys/devices/system/cpu/cpufreq/", $path),
            Codec::$codec,
        )
    };
}

/// The directory of sets of CPUs, version 1.
macro_rules! cpuset {
    ($path:literal) => {
        Place::at(
            concat!("/sys/fs/cgroup/cpuset/", $path, "/cpuset.cpus"),
            Codec::List,
        )
    };
}

pub(super) const KEPT: &[Knob] = &[
    Knob::kept(
        "block.iosched",
        &[Place::at(
            "/sys/block/{disk}/queue/iosched/{tunable}",
            Codec::Word,
        )],
    ),
    Knob::kept(
        "cpufreq.tunable",
        &[
            cpufreq!("{policy}/schedutil/{tunable}", Word),
            cpufreq!("{policy}/ondemand/{tunable}", Word),
            cpufreq!("{policy}/conservative/{tunable}", Word),
        ],
    )
    .forgotten(),
    // Where all policies share them.
    Knob::kept(
        "cpufreq.shared_tunable",
        &[
            cpufreq!("schedutil/{tunable}", Word),
            cpufreq!("ondemand/{tunable}", Word),
            cpufreq!("conservative/{tunable}", Word),
        ],
    )
    .part(Part::Shared),
    // Where the governor is another one it reads `<unsupported>`.
    Knob::kept(
        "cpufreq.setspeed",
        &[cpufreq!("{policy}/scaling_setspeed", Integer)],
    )
    .forgotten(),
    Knob::kept("cpufreq.boost", &[cpufreq!("{policy}/boost", Flag)]).forgotten(),
    Knob::kept(
        "cpufreq.min_perf_pct",
        &[Place::at(
            "/sys/devices/system/cpu/intel_pstate/min_perf_pct",
            Codec::Integer,
        )],
    ),
    // The deepest first: they are put back in the opposite order, and a set must lie in the one above.
    Knob::kept(
        "cgroup.inner_cpus",
        &[
            cpuset!("{group}/{inner}/{inner}/{inner}"),
            cpuset!("{group}/{inner}/{inner}"),
            cpuset!("{group}/{inner}"),
        ],
    )
    .part(Part::Group),
];
