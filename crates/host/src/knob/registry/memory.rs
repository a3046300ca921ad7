// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Memory and its housekeeping.

use super::Knob;
use super::sched::sysctl;
use crate::knob::place::Place;
use punctual_model::Codec;

pub(super) const KNOBS: &[Knob] = &[
    sysctl!(
        "vm.stat_interval",
        "vm/stat_interval",
        Integer,
        "every how many seconds each CPU adds up its memory statistics",
        "longer: free memory in /proc is that much older"
    ),
    sysctl!(
        "vm.swappiness",
        "vm/swappiness",
        Integer,
        "how readily memory of programs is swapped out instead of cache dropped",
        "lower: less cache under pressure"
    ),
    sysctl!(
        "vm.dirty_writeback_centisecs",
        "vm/dirty_writeback_centisecs",
        Integer,
        "every how many 1/100 s the writers of dirty pages wake up; 0 never",
        "longer: more is lost in a power failure"
    ),
    sysctl!(
        "vm.dirty_expire_centisecs",
        "vm/dirty_expire_centisecs",
        Integer,
        "after how many 1/100 s a dirty page must be written",
        "longer: more is lost in a power failure"
    ),
    sysctl!(
        "vm.dirty_ratio",
        "vm/dirty_ratio",
        Integer,
        "share of memory, in %, at which a writer must write out dirty pages itself",
        "lower: more writers wait"
    ),
    sysctl!(
        "vm.dirty_background_ratio",
        "vm/dirty_background_ratio",
        Integer,
        "share of memory, in %, at which dirty pages are written in the background",
        "lower: more, smaller writing"
    ),
    sysctl!(
        "vm.compaction_proactiveness",
        "vm/compaction_proactiveness",
        Integer,
        "how much memory is compacted ahead of need, in %; 0 none",
        "0: large pages may take longer to get"
    ),
    sysctl!(
        "vm.compact_unevictable_allowed",
        "vm/compact_unevictable_allowed",
        Flag,
        "whether locked memory is moved by compaction",
        "off: fewer page faults in locked programs, more fragmented memory"
    ),
    Knob::value(
        "vm.min_free_kbytes",
        &[Place::at("/proc/sys/vm/min_free_kbytes", Codec::Integer)],
        "memory that is kept free, in KiB",
        "more: less for programs; the kernel derives its watermarks from it",
    ),
    Knob::value(
        "vm.nr_hugepages",
        &[Place::at("/proc/sys/vm/nr_hugepages", Codec::Integer)],
        "huge pages set aside",
        "their memory is gone for all else; the kernel sets aside as many as it finds",
    ),
    sysctl!(
        "vm.zone_reclaim_mode",
        "vm/zone_reclaim_mode",
        Integer,
        "whether memory of the own NUMA node is reclaimed before another node's is used",
        "on: reclaiming stalls allocations"
    ),
    sysctl!(
        "vm.watermark_boost_factor",
        "vm/watermark_boost_factor",
        Integer,
        "how much more is reclaimed after memory was fragmented, in 1/10000",
        "0: less reclaiming, more fragments"
    ),
    sysctl!(
        "kernel.numa_balancing",
        "kernel/numa_balancing",
        Integer,
        "whether pages are moved to the node that uses them",
        "off: no page faults for it; a badly placed program stays so"
    ),
    Knob::value(
        "thp.enabled",
        &[Place::at(
            "/sys/kernel/mm/transparent_hugepage/enabled",
            Codec::Choice,
        )],
        "whether ordinary memory becomes huge pages",
        "never: no stalls to make them, more TLB misses; pages that are huge stay so; khugepaged ends, and is \
         started anew on revert",
    ),
    Knob::exact(
        "thp.defrag",
        &[Place::at(
            "/sys/kernel/mm/transparent_hugepage/defrag",
            Codec::Choice,
        )],
        "whether an allocation waits for a huge page",
        "never: fewer huge pages",
    ),
    Knob::exact(
        "thp.khugepaged_defrag",
        &[Place::at(
            "/sys/kernel/mm/transparent_hugepage/khugepaged/defrag",
            Codec::Flag,
        )],
        "whether a kernel thread makes huge pages in the background",
        "off: fewer huge pages",
    ),
    Knob::value(
        "ksm.run",
        &[Place::at("/sys/kernel/mm/ksm/run", Codec::Integer)],
        "whether equal pages are merged: 0 stops, 1 runs, 2 also takes merged pages apart",
        "0: no copy on write of merged pages in the middle of work, more memory in use",
    ),
];
