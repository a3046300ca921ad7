// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Memory and its housekeeping.

use super::sched::sysctl;
use super::{Knob, Part};

pub(super) const KNOBS: &[Knob] = &[
    sysctl!(
        "vm.stat_interval",
        "vm/stat_interval",
        Integer,
        "seconds between updates of each CPU's memory statistics",
        "longer: memory figures in /proc are older"
    ),
    sysctl!(
        "vm.swappiness",
        "vm/swappiness",
        Integer,
        "how readily the kernel swaps out programs instead of dropping cache",
        "lower: less cache under memory pressure"
    ),
    sysctl!(
        "vm.dirty_writeback_centisecs",
        "vm/dirty_writeback_centisecs",
        Integer,
        "interval at which writeback threads wake up, in 1/100 s; 0: never",
        "longer: more is lost in a power failure"
    ),
    sysctl!(
        "vm.dirty_expire_centisecs",
        "vm/dirty_expire_centisecs",
        Integer,
        "age at which a dirty page must be written, in 1/100 s",
        "longer: more is lost in a power failure"
    ),
    sysctl!(
        "vm.dirty_ratio",
        "vm/dirty_ratio",
        Integer,
        "share of memory, in %, at which a writer must write out dirty pages itself",
        "lower: more writers wait"
    ).part(Part::Share("vm.dirty_bytes")),
    sysctl!(
        "vm.dirty_background_ratio",
        "vm/dirty_background_ratio",
        Integer,
        "share of memory, in %, at which dirty pages are written in the background",
        "lower: more and smaller writes"
    ).part(Part::Share("vm.dirty_background_bytes")),
    sysctl!(
        "vm.compaction_proactiveness",
        "vm/compaction_proactiveness",
        Integer,
        "how aggressively memory is compacted proactively, in %; 0: not at all",
        "0: huge pages may take longer to allocate"
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
        places!(Integer, "/proc/sys/vm/min_free_kbytes"),
        "memory that is kept free, in KiB",
        "more: less for programs; the kernel derives its watermarks from it",
    ).part(Part::Memory { most: 10, huge: false }),
    Knob::value(
        "vm.nr_hugepages",
        places!(Integer, "/proc/sys/vm/nr_hugepages"),
        "huge pages set aside",
        "their memory is unavailable for anything else; the kernel sets aside as many as it can find",
    ).part(Part::Memory { most: 80, huge: true }),
    sysctl!(
        "vm.zone_reclaim_mode",
        "vm/zone_reclaim_mode",
        Integer,
        "whether memory of the local NUMA node is reclaimed before another node's is used",
        "on: reclaiming stalls allocations"
    ),
    sysctl!(
        "vm.watermark_boost_factor",
        "vm/watermark_boost_factor",
        Integer,
        "extra reclaim after memory was fragmented, in 1/10000",
        "0: less reclaim, more fragmentation"
    ),
    sysctl!(
        "kernel.numa_balancing",
        "kernel/numa_balancing",
        Integer,
        "whether pages are moved to the node that uses them",
        "off: no page faults for that; a badly placed program stays badly placed"
    ),
    Knob::value(
        "thp.enabled",
        places!(Choice, "/sys/kernel/mm/transparent_hugepage/enabled"),
        "whether ordinary memory becomes huge pages",
        "never: no stalls to build them, more TLB misses; existing huge pages remain; khugepaged \
         ends, and starts again on revert",
    ).moves(&["vm.min_free_kbytes"]),
    Knob::exact(
        "thp.defrag",
        places!(Choice, "/sys/kernel/mm/transparent_hugepage/defrag"),
        "whether an allocation waits for a huge page",
        "never: fewer huge pages",
    ),
    Knob::exact(
        "thp.khugepaged_defrag",
        places!(Flag, "/sys/kernel/mm/transparent_hugepage/khugepaged/defrag"),
        "whether a kernel thread makes huge pages in the background",
        "off: fewer huge pages",
    ),
    Knob::value(
        "ksm.run",
        places!(Integer, "/sys/kernel/mm/ksm/run"),
        "whether identical pages are merged: 0 stops, 1 runs, 2 stops and unmerges",
        "0: no copy-on-write faults on merged pages, more memory in use",
    ),
];
