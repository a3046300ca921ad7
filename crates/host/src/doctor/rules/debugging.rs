// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What was built in or switched on to find faults in the kernel, and costs time.

use punctual_model::Severity;

use super::super::case::{
    Answer, Case, Entry, Fix, evidence, fine, found, found_if, not_applicable,
};

pub(super) const RULES: &[Entry] = &[
    Entry {
        id: "lockdep",
        severity: Severity::High,
        title: "the lock validator (lockdep) is built in",
        why: "Every lock acquisition is checked against all known lock orders, often with \
              interrupts off.",
        fix: "build with CONFIG_PROVE_LOCKING, CONFIG_DEBUG_LOCK_ALLOC and CONFIG_LOCK_STAT off",
        by: &[Fix::Rebuild],
        source: "Linux Documentation/core-api/real-time/kernel-configuration.rst (PROVE_LOCKING)",
        check: |case| built(case, "PROVE_LOCKING LOCKDEP DEBUG_LOCK_ALLOC LOCK_STAT"),
    },
    Entry {
        id: "debug-locks",
        severity: Severity::Medium,
        title: "lock debugging is built in",
        why: "Every lock and unlock does extra checks, in sections that cannot be preempted.",
        fix: "build with these options off",
        by: &[Fix::Rebuild],
        source: "Linux lib/Kconfig.debug; core-api/real-time/kernel-configuration.rst (debug options)",
        check: |case| {
            built(
                case,
                "DEBUG_SPINLOCK DEBUG_MUTEXES DEBUG_RT_MUTEXES DEBUG_RWSEMS DEBUG_WW_MUTEX_SLOWPATH",
            )
        },
    },
    Entry {
        id: "debug-preempt",
        severity: Severity::Medium,
        title: "every use of per-CPU data is checked",
        why: "The check sits in nearly every kernel path: at the entry and exit of each interrupt \
              and each non-preemptible section.",
        fix: "build with CONFIG_DEBUG_PREEMPT=n; it is on by default where CONFIG_DEBUG_KERNEL is",
        by: &[Fix::Rebuild],
        source: "Linux lib/Kconfig.debug (DEBUG_PREEMPT)",
        check: |case| built(case, "DEBUG_PREEMPT"),
    },
    Entry {
        id: "sanitizers",
        severity: Severity::High,
        title: "memory accesses of the kernel are instrumented",
        why: "KASAN, KCSAN, KMSAN, KCOV and gcov add code to every access or branch and make the \
              kernel two or more times slower.",
        fix: "build with these options off",
        by: &[Fix::Rebuild],
        source: "Linux Documentation/dev-tools/kasan.rst, kcsan.rst, kmsan.rst, kcov.rst, gcov.rst",
        check: |case| {
            built(
                case,
                "KASAN_GENERIC KASAN_SW_TAGS KCSAN KMSAN KCOV GCOV_KERNEL",
            )
        },
    },
    Entry {
        id: "debug-memory",
        severity: Severity::Medium,
        title: "allocations of the kernel are checked or poisoned",
        why: "Pages and objects are filled and compared when they are allocated and freed; \
              kmemleak also scans all memory from time to time.",
        fix: "build with these options off, and remove them from the command line",
        by: &[Fix::Boot, Fix::Rebuild],
        source: "Linux Documentation/mm/slab.rst; dev-tools/kmemleak.rst; kernel-parameters.txt",
        check: debug_memory,
    },
    Entry {
        id: "debug-objects",
        severity: Severity::Medium,
        title: "kernel lists and states are checked continuously",
        why: "DEBUG_PLIST walks whole lists of waiting real-time threads; DEBUG_OBJECTS looks up \
              every timer and work item.",
        fix: "build with these options off",
        by: &[Fix::Rebuild],
        source: "Linux lib/Kconfig.debug",
        check: |case| {
            built(
                case,
                "DEBUG_OBJECTS DEBUG_PLIST DEBUG_IRQFLAGS DEBUG_TIMEKEEPING RCU_EQS_DEBUG",
            )
        },
    },
    Entry {
        id: "stack-checks",
        severity: Severity::Low,
        title: "kernel stacks are checked for overflow",
        why: "SCHED_STACK_END_CHECK looks at the end of the stack at every switch, \
              DEBUG_STACKOVERFLOW at every interrupt, DEBUG_STACK_USAGE scans the stack when a thread ends.",
        fix: "build with these options off; they are cheap, and safety may be worth it",
        by: &[Fix::Rebuild],
        source: "Linux lib/Kconfig.debug",
        check: |case| {
            built(
                case,
                "SCHED_STACK_END_CHECK DEBUG_STACKOVERFLOW DEBUG_STACK_USAGE",
            )
        },
    },
    Entry {
        id: "irqsoff-tracer",
        severity: Severity::High,
        title: "tracers of sections without interrupts or preemption are built in",
        why: "They hook every disabling and enabling of interrupts and preemption, which costs \
              time even when tracing is off.",
        fix: "build with CONFIG_IRQSOFF_TRACER and CONFIG_PREEMPT_TRACER off",
        by: &[Fix::Rebuild],
        source: "Linux Documentation/core-api/real-time/kernel-configuration.rst (IRQSOFF_TRACER)",
        check: |case| built(case, "IRQSOFF_TRACER PREEMPT_TRACER"),
    },
    Entry {
        id: "static-ftrace",
        severity: Severity::Medium,
        title: "every function of the kernel calls the tracer",
        why: "Without CONFIG_DYNAMIC_FTRACE the call remains even when tracing is off.",
        fix: "build with CONFIG_DYNAMIC_FTRACE=y, or without CONFIG_FUNCTION_TRACER",
        by: &[Fix::Rebuild],
        source: "Linux Documentation/trace/ftrace.rst (dynamic ftrace)",
        check: static_ftrace,
    },
    Entry {
        id: "kfence",
        severity: Severity::Low,
        title: "KFENCE samples allocations",
        why: "Its timer fires every sample interval. With static keys, each firing interrupts \
              every CPU, isolated ones included, to patch code.",
        fix: "write 0 to /sys/module/kfence/parameters/sample_interval, or boot with \
              kfence.sample_interval=0",
        by: &[Fix::Setup, Fix::Boot],
        source: "Linux Documentation/dev-tools/kfence.rst; lib/Kconfig.kfence (KFENCE_STATIC_KEYS)",
        check: kfence,
    },
    Entry {
        id: "init-on-free",
        severity: Severity::Low,
        title: "freed memory is overwritten",
        why: "Freeing takes time in proportion to the size, in the context of the thread that frees.",
        fix: "boot with init_on_free=0, if the protection is not needed",
        by: &[Fix::Boot, Fix::Rebuild],
        source: "Linux security/Kconfig.hardening (INIT_ON_FREE_DEFAULT_ON)",
        check: init_on_free,
    },
    Entry {
        id: "schedstats",
        severity: Severity::Low,
        title: "the scheduler keeps statistics",
        why: "Every wake-up and every context switch does extra accounting.",
        fix: "write 0 to /proc/sys/kernel/sched_schedstats",
        by: &[Fix::Tune("kernel.sched_schedstats=off"), Fix::Setup],
        source: "Linux Documentation/admin-guide/sysctl/kernel.rst (sched_schedstats)",
        check: |case| {
            off(
                case,
                "scheduler statistics",
                "/proc/sys/kernel/sched_schedstats",
            )
        },
    },
    Entry {
        id: "latencytop",
        severity: Severity::Low,
        title: "latencytop is collecting",
        why: "At the end of every sleep the kernel walks the stack of the thread.",
        fix: "write 0 to /proc/sys/kernel/latencytop",
        by: &[Fix::Tune("kernel.latencytop=off"), Fix::Setup],
        source: "Linux lib/Kconfig.debug (LATENCYTOP)",
        check: |case| off(case, "latencytop", "/proc/sys/kernel/latencytop"),
    },
    Entry {
        id: "bpf-stats",
        severity: Severity::Low,
        title: "BPF program run times are being measured",
        why: "Each run of a BPF program reads the clock twice.",
        fix: "write 0 to /proc/sys/kernel/bpf_stats_enabled",
        by: &[Fix::Tune("kernel.bpf_stats_enabled=off"), Fix::Setup],
        source: "Linux Documentation/admin-guide/sysctl/kernel.rst (bpf_stats_enabled)",
        check: |case| {
            off(
                case,
                "statistics of BPF programs",
                "/proc/sys/kernel/bpf_stats_enabled",
            )
        },
    },
];

/// Options, with a blank between two, that should not be there.
fn built(case: &Case<'_>, options: &str) -> Answer {
    let config = case.config()?;
    let options: Vec<&str> = options.split(' ').collect();
    let all = options.join(", CONFIG_");
    found_if(
        config.evidence_of_set(&options),
        "it is built in",
        format!("not built in: CONFIG_{all}"),
        vec![evidence(&*config.path, "none of them is set")],
    )
}

/// Whether a switch, called `subject`, is off.
pub(super) fn off(case: &Case<'_>, subject: &str, path: &str) -> Answer {
    match case.number_if(path)? {
        None => not_applicable("this kernel does not have it"),
        Some(seen) if seen.value == 0 => fine(format!("{subject}: off"), &seen),
        Some(seen) => found("it is on", &seen),
    }
}

fn debug_memory(case: &Case<'_>) -> Answer {
    let boot = case.boot()?;
    let config = case.config()?;
    let mut there = config.evidence_of_set(&[
        "DEBUG_PAGEALLOC_ENABLE_DEFAULT",
        "SLUB_DEBUG_ON",
        "DEBUG_VM",
    ]);
    if config.has("DEBUG_KMEMLEAK") && !config.has("DEBUG_KMEMLEAK_DEFAULT_OFF") {
        there.push(config.evidence("DEBUG_KMEMLEAK"));
    }
    for (name, off) in [
        ("slub_debug", "-"),
        ("slab_debug", "-"),
        ("page_poison", "0"),
        ("debug_pagealloc", "off"),
    ] {
        if let Some((word, value)) = boot.find(name)
            && value != off
        {
            there.push(evidence("/proc/cmdline", word));
        }
    }
    found_if(
        there,
        "allocations are checked or poisoned",
        "allocations are not checked",
        vec![evidence(&*config.path, "none of them is set")],
    )
}

fn static_ftrace(case: &Case<'_>) -> Answer {
    let config = case.config()?;
    if !config.has("FUNCTION_TRACER") {
        return not_applicable("there is no function tracer");
    }
    let looked_at = vec![
        config.evidence("FUNCTION_TRACER"),
        config.evidence("DYNAMIC_FTRACE"),
    ];
    if config.has("DYNAMIC_FTRACE") {
        return fine("functions call the tracer only while it traces", looked_at);
    }
    found("functions always call the tracer", looked_at)
}

fn kfence(case: &Case<'_>) -> Answer {
    let Some(seen) = case.number_if("/sys/module/kfence/parameters/sample_interval")? else {
        return not_applicable("the kernel has no KFENCE");
    };
    let mut looked_at = vec![seen.evidence()];
    if seen.value == 0 {
        return fine("KFENCE is off", looked_at);
    }
    let keys = case
        .machine
        .config()
        .filter(|config| config.has("KFENCE_STATIC_KEYS"));
    looked_at.extend(keys.map(|config| config.evidence("KFENCE_STATIC_KEYS")));
    let how = if keys.is_some() {
        ", and interrupts every CPU each time"
    } else {
        ""
    };
    found(
        format!("it samples every {} ms{how}", seen.value),
        looked_at,
    )
}

fn init_on_free(case: &Case<'_>) -> Answer {
    let boot = case.boot()?;
    if let Some((_, value)) = boot.find("init_on_free") {
        let looked_at = boot.evidence(&["init_on_free"]);
        return if matches!(value, "1" | "on" | "y" | "yes") {
            found("it is switched on at boot", looked_at)
        } else {
            fine("clearing freed memory is off", looked_at)
        };
    }
    let config = case.config()?;
    let looked_at = vec![config.evidence("INIT_ON_FREE_DEFAULT_ON")];
    if config.has("INIT_ON_FREE_DEFAULT_ON") {
        return found("it is on by configuration", looked_at);
    }
    fine("clearing freed memory is off", looked_at)
}
