// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Interrupts, work queues, disks and networks.

use punctual_model::Reversibility;

use super::sched::sysctl;
use super::{Knob, KnobKind, Part};

/// Makes the knob of a file of a disk's request queue.
macro_rules! queue {
    ($name:literal, $file:literal, $codec:ident, $about:literal, $effect:literal) => {
        Knob::exact(
            $name,
            places!($codec, concat!("/sys/block/{disk}/queue/", $file)),
            $about,
            $effect,
        )
    };
}

/// Makes the knob of a file of a network interface.
macro_rules! net {
    ($name:literal, $file:literal, $codec:ident, $about:literal, $effect:literal) => {
        Knob::exact(
            $name,
            places!($codec, concat!("/sys/class/net/{net}/", $file)),
            $about,
            $effect,
        )
    };
}

pub(super) const KNOBS: &[Knob] = &[
    // A new interrupt gets a copy of it (`irq_setup_affinity` in kernel/irq/manage.c).
    Knob::value(
        "irq.default_affinity",
        places!(Mask, "/proc/irq/default_smp_affinity"),
        "CPUs that interrupts requested later may go to",
        "no effect until a driver requests one; such an interrupt keeps these CPUs after revert",
    ),
    Knob::value(
        "irq.affinity",
        places!(Mask, "/proc/irq/{irq}/smp_affinity"),
        "CPUs that an interrupt may go to",
        "its handler runs there; interrupts tied to CPUs by the kernel or the hardware stay, which \
         is not a failure; the kernel chooses a CPU within the mask",
    )
    .part(Part::Interrupts),
    Knob::made(
        "irq.thread_policy",
        KnobKind::IrqThreadPolicy,
        Reversibility::Exact,
        "scheduling policy of the threads that serve interrupts (threadirqs, PREEMPT_RT)",
        "above the measured threads' priority they delay these threads, below it devices wait",
    ),
    Knob::exact(
        "workqueue.cpumask",
        places!(Mask, "/sys/devices/virtual/workqueue/cpumask"),
        "CPUs that unbound kernel work may run on",
        "that work has fewer CPUs to run on",
    ),
    Knob::exact(
        "workqueue.queue_cpumask",
        places!(Mask, "/sys/devices/virtual/workqueue/{queue}/cpumask"),
        "CPUs of the work queues that have a mask of their own, such as writeback",
        "that work has fewer CPUs to run on",
    ),
    Knob::exact(
        "workqueue.cpu_intensive_thresh_us",
        places!(
            Integer,
            "/sys/module/workqueue/parameters/cpu_intensive_thresh_us"
        ),
        "after how many µs a work item counts as CPU-intensive, so that others need not wait for it",
        "lower: more worker threads",
    ),
    Knob::exact(
        "workqueue.power_efficient",
        places!(Flag, "/sys/module/workqueue/parameters/power_efficient"),
        "whether CPU-bound work items may move to save power",
        "on: such work leaves isolated CPUs",
    ),
    Knob::exact(
        "block.scheduler",
        places!(Choice, "/sys/block/{disk}/queue/scheduler"),
        "the I/O scheduler of a disk",
        "the queue is drained first; its depth and write-back throttling may follow, and are kept",
    )
    .moves(&[
        "block.nr_requests",
        "block.wbt_lat_usec",
        "block.rq_affinity",
        "block.iosched",
    ]),
    queue!(
        "block.rq_affinity",
        "rq_affinity",
        Integer,
        "where a request completes: 0 anywhere, 1 in the requester's group of CPUs, 2 on the requester's CPU",
        "2: completions stay on the requesting CPUs, 0: on those that take the interrupt"
    ),
    queue!(
        "block.wbt_lat_usec",
        "wbt_lat_usec",
        Integer,
        "target read latency for which background writes are throttled, in µs; 0: no throttling",
        "0: writes may delay reads"
    ),
    queue!(
        "block.nomerges",
        "nomerges",
        Integer,
        "how hard the kernel tries to merge requests: 0 fully, 2 not at all",
        "2: less CPU time per request, more requests"
    ),
    queue!(
        "block.nr_requests",
        "nr_requests",
        Integer,
        "depth of the queue",
        "smaller: shorter waits, less throughput"
    )
    .moves(&["block.iosched"]),
    queue!(
        "block.read_ahead_kb",
        "read_ahead_kb",
        Integer,
        "how far a file is read ahead, in KiB",
        "smaller: less throughput of sequential reading"
    ),
    net!(
        "net.rps_cpus",
        "queues/{rx}/rps_cpus",
        Mask,
        "CPUs that received packets are spread over; empty is the CPU of the interrupt",
        "packets are processed there"
    )
    .part(Part::Spread),
    net!(
        "net.xps_cpus",
        "queues/{tx}/xps_cpus",
        Mask,
        "CPUs that use a transmit queue",
        "none for others"
    )
    .part(Part::Queue),
    net!(
        "net.threaded",
        "threaded",
        Integer,
        "whether packets are received by threads, which can be placed and prioritised",
        "1: one more context switch for each burst of packets"
    ),
    net!(
        "net.gro_flush_timeout",
        "gro_flush_timeout",
        Integer,
        "how long packets may wait to be merged, in ns",
        "longer: fewer interrupts, later packets"
    ),
    net!(
        "net.napi_defer_hard_irqs",
        "napi_defer_hard_irqs",
        Integer,
        "how often in a row the interrupt of an idle interface stays off",
        "with gro_flush_timeout: fewer interrupts, later packets"
    ),
    sysctl!(
        "net.core.busy_poll",
        "net/core/busy_poll",
        Integer,
        "how long poll(2) spins for packets, in µs",
        "the spinning is CPU time"
    ),
    sysctl!(
        "net.core.busy_read",
        "net/core/busy_read",
        Integer,
        "how long a read from a socket spins for packets, in µs",
        "the spinning is CPU time"
    ),
];
