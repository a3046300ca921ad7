// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! How the kernel was built and booted.

use punctual_model::{Evidence, Severity};

use super::super::case::{
    Answer, Boot, Case, Entry, Fix, NotKnown, evidence, fine, found, found_if, not_applicable,
};

pub(super) const RULES: &[Entry] = &[
    Entry {
        id: "preempt-rt",
        severity: Severity::High,
        title: "the kernel is not PREEMPT_RT",
        why: "In other kernels, interrupt handlers, softirqs and spinlock sections cannot be \
              preempted, so each of them delays a real-time thread for as long as it runs.",
        fix: "boot a PREEMPT_RT kernel: distributions have one (linux-image-rt, kernel-rt), and \
              since 6.12 it is an option of the mainline kernel, CONFIG_PREEMPT_RT",
        by: &[Fix::Rebuild],
        source: "Linux Documentation/core-api/real-time/theory.rst and kernel-configuration.rst",
        check: preempt_rt,
    },
    Entry {
        id: "preempt-model",
        severity: Severity::High,
        title: "the kernel preempts only at voluntary points",
        why: "With the models none and voluntary a system call of another thread runs to its end, \
              or to the next scheduling point, before a real-time thread gets the CPU.",
        fix: "boot with preempt=full, which needs PREEMPT_DYNAMIC; other kernels must \
              be built with CONFIG_PREEMPT or CONFIG_PREEMPT_RT",
        by: &[Fix::Tune("sched.preempt=full"), Fix::Boot, Fix::Rebuild],
        source: "Linux Documentation/admin-guide/kernel-parameters.txt (preempt=); \
                 kernel/Kconfig.preempt",
        check: preempt_model,
    },
    Entry {
        id: "threaded-irqs",
        severity: Severity::Low,
        title: "interrupt handlers do not run in threads",
        why: "A threaded handler has a priority, so a real-time thread above it runs first; a \
              handler in interrupt context runs before everything.",
        fix: "boot with threadirqs, then give the threads priorities with chrt",
        by: &[Fix::Boot],
        source: "Linux Documentation/admin-guide/kernel-parameters.txt (threadirqs)",
        check: threaded_irqs,
    },
    Entry {
        id: "high-res-timers",
        severity: Severity::High,
        title: "there are no high-resolution timers",
        why: "Every sleep then ends at a tick, up to 1/HZ late.",
        fix: "build with CONFIG_HIGH_RES_TIMERS=y, and remove highres=off and clocksource=jiffies from the command line",
        by: &[Fix::Boot, Fix::Rebuild],
        source: "Linux Documentation/timers/highres.rst",
        check: high_res_timers,
    },
    Entry {
        id: "tick-rate",
        severity: Severity::Info,
        title: "the tick is slower than 1000 Hz",
        why: "Timeouts that count in jiffies, in drivers and the network, and the slices of ordinary \
              threads are as coarse as 1/HZ. Threads that sleep on high-resolution timers are \
              unaffected.",
        fix: "build with CONFIG_HZ_1000=y if such timeouts matter",
        by: &[Fix::Rebuild],
        source: "Linux kernel/Kconfig.hz; Documentation/timers/hrtimers.rst",
        check: tick_rate,
    },
    Entry {
        id: "nohz-full-built",
        severity: Severity::Low,
        title: "the kernel cannot stop the tick of a busy CPU",
        why: "A thread that computes without sleeping is interrupted HZ times a second.",
        fix: "build with CONFIG_NO_HZ_FULL=y, and boot with nohz_full= for those CPUs; not for \
              threads with short sleep-wake cycles, since it makes every kernel entry and exit \
              more expensive",
        by: &[Fix::Rebuild],
        source: "Linux Documentation/timers/no_hz.rst; core-api/real-time/kernel-configuration.rst",
        check: |case| option_wanted(case, "NO_HZ_FULL"),
    },
    Entry {
        id: "rcu-nocb-built",
        severity: Severity::Low,
        title: "the kernel cannot take RCU callbacks off a CPU",
        why: "Callbacks that other work queued run in softirq context on the CPU that queued them, \
              in batches.",
        fix: "build with CONFIG_RCU_NOCB_CPU=y, and boot with rcu_nocbs= for those CPUs",
        by: &[Fix::Rebuild],
        source: "Linux Documentation/admin-guide/kernel-per-CPU-kthreads.rst",
        check: |case| option_wanted(case, "RCU_NOCB_CPU"),
    },
    Entry {
        id: "isolation-built",
        severity: Severity::Medium,
        title: "the kernel was built without CPU isolation",
        why: "isolcpus= and nohz_full= are unavailable, so timers, workqueues and unbound kernel \
              threads cannot be kept off a CPU at boot.",
        fix: "build with CONFIG_CPU_ISOLATION=y",
        by: &[Fix::Rebuild],
        source: "Linux init/Kconfig (CPU_ISOLATION)",
        check: |case| {
            // Before 4.15 it was no option.
            if super::scheduling::release(case)? < (4, 15) {
                return not_applicable("this kernel has it in any case");
            }
            option_wanted(case, "CPU_ISOLATION")
        },
    },
    Entry {
        id: "rcu-boost",
        severity: Severity::Low,
        title: "RCU readers are not boosted",
        why: "A reader preempted by a busy real-time thread delays the grace period, and memory \
              waiting to be freed piles up until the reader runs again.",
        fix: "build with CONFIG_RCU_BOOST=y (PREEMPT_RT does by default)",
        by: &[Fix::Rebuild],
        source: "Linux kernel/rcu/Kconfig (RCU_BOOST)",
        check: rcu_boost,
    },
    Entry {
        id: "slub-cpu-partial",
        severity: Severity::Low,
        title: "freeing memory is fast on average and slow at times",
        why: "When a per-CPU list of partial slabs overflows, the thread that is freeing empties \
              it under locks.",
        fix: "build with CONFIG_SLUB_CPU_PARTIAL=n",
        by: &[Fix::Rebuild],
        source: "Linux mm/Kconfig (SLUB_CPU_PARTIAL)",
        check: |case| {
            let config = case.config()?;
            found_if(
                config.evidence_of_set(&["SLUB_CPU_PARTIAL"]),
                "CONFIG_SLUB_CPU_PARTIAL is on",
                "there are no per-CPU lists of partial slabs",
                vec![config.evidence("SLUB_CPU_PARTIAL")],
            )
        },
    },
    Entry {
        id: "efi-runtime",
        severity: Severity::Medium,
        title: "EFI runtime services are on",
        why: "A call into the firmware, such as the writing of an EFI variable, can disable \
              interrupts for an unbounded time; some calls stop all CPUs.",
        fix: "boot with efi=noruntime, or keep the efi_runtime workqueue on housekeeping CPUs",
        by: &[
            Fix::Tune("workqueue.queue_cpumask@*efi*=housekeeping"),
            Fix::Boot,
        ],
        source: "Linux Documentation/core-api/real-time/hardware.rst (EFI)",
        check: efi_runtime,
    },
];

/// Whether this kernel is `PREEMPT_RT`, and the file that says so.
pub(super) fn real_time(case: &Case<'_>) -> Result<(bool, Evidence), NotKnown> {
    let file = case.value_if::<u8>("/sys/kernel/realtime");
    if let Ok(Some(file)) = file
        && file.value == 1
    {
        return Ok((true, file.evidence()));
    }
    let version = case.text("/proc/sys/kernel/version")?;
    let says = |word: &str| version.value.split_whitespace().any(|w| w == word);
    let rt = says("PREEMPT_RT") || says("PREEMPT-RT");
    Ok((rt, version.evidence()))
}

fn preempt_rt(case: &Case<'_>) -> Answer {
    let (rt, evidence) = real_time(case)?;
    if rt {
        return fine("the kernel is PREEMPT_RT", vec![evidence]);
    }
    found("PREEMPT_RT is not in /proc/version", vec![evidence])
}

/// The model of a kernel that is not `PREEMPT_RT`, how it is known, and what says so.
fn model(case: &Case<'_>) -> Result<(&'static str, &'static str, Vec<Evidence>), NotKnown> {
    const MODELS: [&str; 4] = ["none", "voluntary", "full", "lazy"];
    let named = |name: &str| MODELS.into_iter().find(|model| *model == name);
    let version = case.text("/proc/sys/kernel/version")?;
    let says = |word: &str| version.value.split_whitespace().any(|w| w == word);
    if says("PREEMPT") {
        return Ok(("full", "", vec![version.evidence()]));
    }
    if says("PREEMPT_LAZY") {
        return Ok(("lazy", "", vec![version.evidence()]));
    }
    if version.value.contains("PREEMPT_DYNAMIC") {
        let active = case.text("/sys/kernel/debug/sched/preempt");
        if let Ok(seen) = &active
            && let Some((_, rest)) = seen.value.split_once('(')
            && let Some(model) = rest.split_once(')').and_then(|(name, _)| named(name))
        {
            return Ok((model, "", vec![seen.evidence()]));
        }
        if let Some((_, value)) = case.boot()?.find("preempt")
            && let Some(model) = named(value)
        {
            return Ok((model, " since boot", case.boot()?.evidence(&["preempt"])));
        }
    }
    let config = case.config()?;
    let (model, option) = [
        ("full", "PREEMPT"),
        ("lazy", "PREEMPT_LAZY"),
        ("voluntary", "PREEMPT_VOLUNTARY"),
        ("none", "PREEMPT_NONE"),
    ]
    .into_iter()
    .find(|(_, option)| config.has(option))
    .ok_or_else(|| NotKnown(vec![config.evidence("PREEMPT_NONE")]))?;
    let mut basis = vec![config.evidence(option)];
    if !config.has("PREEMPT_DYNAMIC") {
        return Ok((model, "", basis));
    }
    // What it is now, only debugfs says, where root may still have changed it.
    basis.push(Boot::without("preempt="));
    Ok((model, " by default, not changed at boot", basis))
}

fn preempt_model(case: &Case<'_>) -> Answer {
    if real_time(case)?.0 {
        return not_applicable("PREEMPT_RT can be preempted nearly everywhere");
    }
    let (model, since, evidence) = model(case)?;
    let says = format!("the preemption model is {model}{since}");
    match model {
        "none" | "voluntary" => found(says, evidence),
        _ => fine(says, evidence),
    }
}

fn threaded_irqs(case: &Case<'_>) -> Answer {
    if real_time(case)?.0 {
        return not_applicable("PREEMPT_RT threads its handlers");
    }
    let boot = case.boot()?;
    if boot.find("threadirqs").is_some() {
        return fine("handlers run in threads", boot.evidence(&["threadirqs"]));
    }
    found(
        "they run in interrupt context",
        vec![Boot::without("threadirqs")],
    )
}

fn high_res_timers(case: &Case<'_>) -> Answer {
    let boot = case.boot()?;
    if boot.is_off("highres") {
        return found("they are switched off at boot", boot.evidence(&["highres"]));
    }
    // They are switched on once there is a clock that goes on between ticks (Documentation/timers/highres.rst).
    if let Some(clock) = case.text_if(super::time::CURRENT)?
        && clock.value.trim().ends_with("jiffies")
    {
        let what = format!(
            "the clock is {}, which stands still between ticks",
            clock.value.trim()
        );
        return found(what, &clock);
    }
    let config = case.config()?;
    let built = vec![config.evidence("HIGH_RES_TIMERS")];
    if config.has("HIGH_RES_TIMERS") {
        return fine("high-resolution timers are built in", built);
    }
    found("they are not built in", built)
}

fn tick_rate(case: &Case<'_>) -> Answer {
    let config = case.config()?;
    let looked_at = vec![config.evidence("HZ")];
    match config.value("HZ").and_then(|hz| hz.parse::<u32>().ok()) {
        Some(hz @ 1..1000) => {
            let ms = f64::from(1000) / f64::from(hz);
            found(format!("HZ is {hz}: a jiffy is {ms:.1} ms"), looked_at)
        }
        Some(hz) => fine(format!("HZ is {hz}"), looked_at),
        None => Err(NotKnown(looked_at)),
    }
}

/// An option that only CPUs set apart need.
fn option_wanted(case: &Case<'_>, option: &str) -> Answer {
    if !case.apart() {
        return not_applicable(super::NOT_APART);
    }
    let config = case.config()?;
    let looked_at = vec![config.evidence(option)];
    if config.has(option) {
        return fine(format!("CONFIG_{option} is built in"), looked_at);
    }
    found(format!("CONFIG_{option} is not built in"), looked_at)
}

fn rcu_boost(case: &Case<'_>) -> Answer {
    let config = case.config()?;
    if !config.has("PREEMPT_RCU") {
        return not_applicable("RCU readers cannot be preempted in this kernel");
    }
    let looked_at = vec![config.evidence("RCU_BOOST")];
    if config.has("RCU_BOOST") {
        return fine("RCU readers are boosted", looked_at);
    }
    found("CONFIG_RCU_BOOST is off", looked_at)
}

fn efi_runtime(case: &Case<'_>) -> Answer {
    let Some(booted) = case.text_if("/sys/firmware/efi/fw_platform_size")? else {
        return not_applicable("the machine was not booted through EFI");
    };
    let boot = case.boot()?;
    if let Some((word, value)) = boot.find("efi") {
        if value.split(',').any(|v| v == "noruntime") {
            return fine(
                "EFI runtime services are off",
                vec![evidence("/proc/cmdline", word)],
            );
        }
        if value.split(',').any(|v| v == "runtime") {
            return found(
                "they are switched on at boot",
                vec![evidence("/proc/cmdline", word)],
            );
        }
    }
    let config = case.config()?;
    let looked_at = vec![booted.evidence(), config.evidence("EFI_DISABLE_RUNTIME")];
    if config.has("EFI_DISABLE_RUNTIME") {
        return fine("EFI runtime services are off by configuration", looked_at);
    }
    // Before there was the option.
    if case
        .machine
        .version()
        .is_some_and(|version| version < (5, 19))
    {
        let (is_rt, evidence) = real_time(case)?;
        if is_rt {
            return fine(
                "PREEMPT_RT switches EFI runtime services off",
                vec![booted.evidence(), evidence],
            );
        }
    }
    found("the firmware's runtime services are on", looked_at)
}
