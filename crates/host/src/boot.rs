// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Kernel arguments: which a profile may ask for.

use crate::profile::BootArgument;

/// The arguments that matter here (Documentation/admin-guide/kernel-parameters.txt), and what for.
const KNOWN: &[(&str, &str)] = &[
    ("audit", "whether system calls are audited"),
    ("clocksource", "what the time is read from"),
    ("cpuidle.off", "no idle states"),
    ("cpuidle.governor", "who chooses the idle state"),
    ("cpufreq.off", "no changes of frequency"),
    ("hugepages", "huge pages set aside"),
    ("hugepagesz", "their size"),
    ("default_hugepagesz", "the default size of huge pages"),
    ("idle", "poll: idle CPUs spin"),
    ("intel_idle.max_cstate", "deepest idle state"),
    ("intel_pstate", "who chooses the frequency of Intel CPUs"),
    ("amd_pstate", "who chooses the frequency of AMD CPUs"),
    ("iommu", "how devices reach memory"),
    ("intel_iommu", "how devices reach memory on Intel"),
    ("irqaffinity", "CPUs of interrupts"),
    ("isolcpus", "CPUs without ordinary threads"),
    ("mce", "how machine checks are polled"),
    ("mitigations", "against faults of the CPU"),
    ("nmi_watchdog", "whether hangs are detected by NMI"),
    ("nohz", "no tick on idle CPUs"),
    ("nohz_full", "no tick on CPUs with one thread"),
    ("nosmt", "no second threads of cores"),
    ("nosoftlockup", "no detection of soft lockups"),
    ("nowatchdog", "no watchdogs"),
    ("numa_balancing", "whether pages follow their users"),
    ("pcie_aspm", "power saving of PCI Express"),
    ("preempt", "how far the kernel lets itself be preempted"),
    ("processor.max_cstate", "deepest idle state"),
    ("rcu_nocb_poll", "the callback threads poll"),
    ("rcu_nocbs", "CPUs whose RCU callbacks run elsewhere"),
    ("rcupdate.rcu_normal_after_boot", "no hurried grace periods"),
    ("rcutree.kthread_prio", "priority of RCU's threads"),
    ("rcutree.enable_rcu_lazy", "whether callbacks wait"),
    (
        "rcutree.nohz_full_patience_delay",
        "how long RCU waits for CPUs without a tick",
    ),
    ("skew_tick", "ticks of CPUs apart from each other"),
    ("threadirqs", "interrupts are served by threads"),
    ("transparent_hugepage", "whether memory becomes huge pages"),
    ("tsc", "whether the TSC is trusted"),
    ("workqueue.power_efficient", "whether work leaves idle CPUs"),
    ("workqueue.unbound_cpus", "CPUs of unbound kernel work"),
];

/// Whether an argument is one of those known here.
pub(crate) fn is_known(name: &str) -> bool {
    KNOWN.iter().any(|(known, _)| *known == name)
}

/// Lists the known names.
pub(crate) fn known_names() -> impl Iterator<Item = &'static str> {
    KNOWN.iter().map(|(name, _)| *name)
}

/// Says what is wrong with an argument.
pub(crate) fn check(argument: &BootArgument) -> Result<(), String> {
    let name = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if argument.name.is_empty() || !argument.name.chars().all(name) {
        return Err("a kernel argument has letters, digits, `.`, `_` and `-`".to_owned());
    }
    let Some(value) = &argument.value else {
        return Ok(());
    };
    let bare = value.replace("{rt}", "").replace("{housekeeping}", "");
    // It goes into files that a shell reads: nothing that one could take for more than text.
    let text = |c: char| c.is_ascii_alphanumeric() || "._-,:/=+@".contains(c);
    if value.is_empty() || !bare.chars().all(text) {
        return Err(
            "expected text without blanks, quotes and `$`, with {rt} and {housekeeping} for CPUs"
                .to_owned(),
        );
    }
    Ok(())
}
