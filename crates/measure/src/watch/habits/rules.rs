// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The rules about what a thread does in its cycles.

use punctual_model::{Fixer, Rule, Severity};

/// What is looked for.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum Kind {
    Inversion,
    PlainLock,
    Faults,
    Output,
    Sync,
    Files,
    Memory,
    Yield,
    AboveInterrupt,
}

/// A rule, and the words for what it counts, one and several.
pub(super) struct Entry {
    pub(super) kind: Kind,
    id: &'static str,
    severity: Severity,
    title: &'static str,
    why: &'static str,
    fix: &'static str,
    by: &'static [Fixer],
    source: &'static str,
    pub(super) counts: [&'static str; 2],
}

pub(super) const RULES: &[Entry] = &[
    Entry {
        kind: Kind::Inversion,
        id: "priority-inversion",
        severity: Severity::High,
        title: "a thread of lower priority delayed it through a lock",
        why: "The holder of the lock could not run because a thread of a priority between the two had its CPU. The wait \
              lasts as long as that thread runs.",
        fix: "give the lock priority inheritance (PTHREAD_PRIO_INHERIT), or do not share it with threads of lower priority",
        by: &[Fixer::Program],
        source: "pthread_mutexattr_setprotocol(3p); Linux Documentation/locking/pi-futex.rst",
        counts: ["time", "times"],
    },
    Entry {
        kind: Kind::PlainLock,
        id: "lock-no-inheritance",
        severity: Severity::High,
        title: "waits without priority inheritance for threads of lower priority",
        why: "The thread that is to release it keeps its low priority, so any thread between the two can delay both \
              without bound.",
        fix: "use a mutex with PTHREAD_PRIO_INHERIT, or pass data without waiting (a lock-free queue, pthread_mutex_trylock)",
        by: &[Fixer::Program],
        source: "futex(2); pthread_mutexattr_setprotocol(3p); Linux Documentation/locking/pi-futex.rst",
        counts: ["wait", "waits"],
    },
    Entry {
        kind: Kind::Faults,
        id: "page-faults",
        severity: Severity::High,
        title: "takes page faults in its cycles",
        why: "The kernel finds or clears a page first, waits for other threads that change the address space, and may \
              read from the disk.",
        fix: "lock all memory with mlockall(MCL_CURRENT | MCL_FUTURE), and touch stack and heap before the loop begins",
        by: &[Fixer::Program],
        source: "mlock(2), NOTES on real-time processes",
        counts: ["page fault", "page faults"],
    },
    Entry {
        kind: Kind::Output,
        id: "output-in-cycle",
        severity: Severity::High,
        title: "writes to files or terminals in its cycles",
        why: "A write may wait for the file system's locks, for memory, for the disk when many pages are dirty, and for \
              whoever reads the terminal or the pipe.",
        fix: "pass what is to be written to an ordinary thread through memory, and write it there",
        by: &[Fixer::Program],
        source: "write(2); Linux Documentation/admin-guide/sysctl/vm.rst (dirty_ratio)",
        counts: ["write", "writes"],
    },
    Entry {
        kind: Kind::Sync,
        id: "sync-in-cycle",
        severity: Severity::High,
        title: "waits for the disk in its cycles",
        why: "fsync and its relatives return when the device has the data: milliseconds, and seconds on a busy disk.",
        fix: "have an ordinary thread write and sync the file",
        by: &[Fixer::Program],
        source: "fsync(2)",
        counts: ["call", "calls"],
    },
    Entry {
        kind: Kind::Files,
        id: "files-in-cycle",
        severity: Severity::High,
        title: "opens, reads or changes files in its cycles",
        why: "Paths are looked up under locks that all programs share, and what is not in memory comes from the disk.",
        fix: "open files before the loop begins, and read them in an ordinary thread",
        by: &[Fixer::Program],
        source: "open(2), path_resolution(7); Linux Documentation/filesystems/path-lookup.rst",
        counts: ["call", "calls"],
    },
    Entry {
        kind: Kind::Memory,
        id: "memory-in-cycle",
        severity: Severity::Medium,
        title: "asks the kernel for memory, or returns it, in its cycles",
        why: "The address space is locked against all threads of the process meanwhile, other CPUs are interrupted when \
              pages go, and each new page is a fault.",
        fix: "allocate before the loop begins, keep malloc from giving memory back (mallopt(3): M_TRIM_THRESHOLD -1, \
              M_MMAP_MAX 0), or use a pool",
        by: &[Fixer::Program],
        source: "mmap(2), brk(2), mallopt(3); Linux Documentation/mm/process_addrs.rst",
        counts: ["call", "calls"],
    },
    Entry {
        kind: Kind::AboveInterrupt,
        id: "above-its-interrupt",
        severity: Severity::Medium,
        title: "waits for interrupt threads that do not have a higher priority",
        why: "While it or a thread of its priority runs, the interrupt that it waits for next is not handled.",
        fix: "give the interrupt's thread a higher priority with chrt(1), or this thread a lower one",
        by: &[Fixer::Setup, Fixer::Program],
        source: "sched(7); Linux kernel/irq/manage.c (irq_thread)",
        counts: ["wait", "waits"],
    },
    Entry {
        kind: Kind::Yield,
        id: "yield-in-cycle",
        severity: Severity::Medium,
        title: "yields in its cycles",
        why: "A real-time thread yields only to threads of its own priority, so waiting by yielding starves what it waits \
              for. For an ordinary thread the effect is unspecified.",
        fix: "wait for the event itself: a futex, a semaphore, or a sleep to an absolute time",
        by: &[Fixer::Program],
        source: "sched_yield(2)",
        counts: ["call", "calls"],
    },
];

impl Entry {
    pub(super) fn rule(&self) -> Rule {
        Rule {
            id: self.id.to_owned(),
            severity: self.severity,
            title: self.title.to_owned(),
            why: self.why.to_owned(),
            fix: self.fix.to_owned(),
            fixed_by: self.by.to_vec(),
            knobs: Vec::new(),
            source: self.source.to_owned(),
        }
    }
}
