// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The arguments that matter here (Documentation/admin-guide/kernel-parameters.txt).

use crate::machine::Machine;
use crate::profile::BootArgument;

/// Name, what it is for, and the kernel option without which it does nothing.
const KNOWN: &[(&str, &str, Option<&str>)] = &[
    ("amd_pstate", "frequency driver for AMD CPUs", None),
    ("audit", "whether system calls are audited", None),
    ("clocksource", "clock source", None),
    ("cpufreq.off", "no frequency scaling", None),
    ("cpuidle.governor", "cpuidle governor", None),
    ("cpuidle.off", "no idle states", None),
    ("default_hugepagesz", "default size of huge pages", None),
    ("hugepages", "huge pages set aside", None),
    ("hugepagesz", "size of those huge pages", None),
    ("idle", "poll: idle CPUs spin", None),
    (
        "intel_idle.max_cstate",
        "the deepest idle state of Intel CPUs",
        None,
    ),
    ("intel_iommu", "how devices reach memory on Intel", None),
    ("intel_pstate", "frequency driver for Intel CPUs", None),
    ("iommu", "how devices reach memory", None),
    ("irqaffinity", "CPUs for interrupts", None),
    (
        "isolcpus",
        "CPUs isolated from ordinary threads",
        Some("CPU_ISOLATION"),
    ),
    ("mce", "how machine checks are polled", None),
    ("mitigations", "mitigations of CPU vulnerabilities", None),
    (
        "nmi_watchdog",
        "whether the NMI watchdog detects hangs",
        None,
    ),
    ("nohz", "no tick on idle CPUs", None),
    (
        "nohz_full",
        "no tick on CPUs with one runnable thread",
        Some("NO_HZ_FULL"),
    ),
    ("nosmt", "SMT off", None),
    ("nosoftlockup", "no soft lockup detection", None),
    ("nowatchdog", "no watchdogs", None),
    (
        "numa_balancing",
        "whether pages move to the node that uses them",
        None,
    ),
    (
        "pcie_aspm",
        "off: power saving of PCI Express stays as the firmware set it",
        None,
    ),
    ("pcie_aspm.policy", "power saving of PCI Express", None),
    ("preempt", "the preemption model", Some("PREEMPT_DYNAMIC")),
    (
        "processor.max_cstate",
        "the deepest idle state of ACPI",
        None,
    ),
    (
        "rcu_nocb_poll",
        "RCU callback threads poll instead of being woken",
        Some("RCU_NOCB_CPU"),
    ),
    (
        "rcu_nocbs",
        "CPUs whose RCU callbacks run elsewhere",
        Some("RCU_NOCB_CPU"),
    ),
    (
        "rcupdate.rcu_normal_after_boot",
        "no expedited grace periods",
        None,
    ),
    (
        "rcutree.enable_rcu_lazy",
        "whether RCU callbacks are delayed to save power",
        Some("RCU_NOCB_CPU"),
    ),
    ("rcutree.kthread_prio", "priority of RCU's threads", None),
    (
        "rcutree.nohz_full_patience_delay",
        "how long RCU waits for CPUs without a tick",
        None,
    ),
    ("skew_tick", "the ticks of the CPUs are staggered", None),
    (
        "threadirqs",
        "interrupt handlers run in threads",
        Some("IRQ_FORCED_THREADING"),
    ),
    (
        "transparent_hugepage",
        "whether memory becomes huge pages",
        None,
    ),
    ("tsc", "whether the time stamp counter is trusted", None),
    (
        "workqueue.power_efficient",
        "whether work moves away from idle CPUs",
        None,
    ),
    (
        "workqueue.unbound_cpus",
        "CPUs for unbound kernel work",
        None,
    ),
];

/// Whether an argument is one of those known here.
pub(crate) fn is_known(name: &str) -> bool {
    known_names().any(|known| known == name)
}

/// Lists the known names.
pub(crate) fn known_names() -> impl Iterator<Item = &'static str> {
    KNOWN.iter().map(|(name, ..)| *name)
}

/// Says what an argument is for.
pub(crate) fn about(name: &str) -> &'static str {
    let known = KNOWN.iter().find(|(known, ..)| *known == name);
    known.map_or("as the profile says", |(_, about, _)| about)
}

/// Says why the kernel of `machine` would not heed an argument, as far as its version and
/// configuration are known.
pub(crate) fn unheeded(word: &str, machine: &Machine) -> Option<String> {
    let (name, value) = word.split_once('=').unwrap_or((word, ""));
    let version = machine.version();
    if name == "isolcpus"
        && let Some(version) = version
    {
        // kernel/sched/isolation.c: one that it does not know makes these kernels drop all of it.
        let flags = [("managed_irq", (5, 6)), ("domain", (4, 15))];
        let mut unknown = flags.iter().filter(|(_, since)| version < *since);
        let given = |flag: &str| value.split(',').any(|part| part == flag);
        if let Some((flag, (major, minor))) = unknown.find(|(flag, _)| given(flag)) {
            return Some(format!(
                "kernels before {major}.{minor} do not know `{flag}` and ignore the argument: \
                 write a profile that names only the CPUs"
            ));
        }
        if version < (4, 15) {
            // No option was needed for it.
            return None;
        }
    }
    let (.., needed) = KNOWN.iter().find(|(known, ..)| *known == name)?;
    let config = machine.config()?;
    let option = needed.filter(|option| !config.has(option))?;
    Some(format!("this kernel is built without CONFIG_{option}"))
}

/// Says why the kernel of `machine`, started with the arguments `given`, does without an argument what the argument asks for.
pub(crate) fn implied(word: &str, machine: &Machine, given: &[&str]) -> Option<&'static str> {
    if word == "nosoftlockup" && given.contains(&"nowatchdog") {
        return Some("`nowatchdog` includes it");
    }
    let config = machine.config()?;
    let fixed = !config.has("PREEMPT_DYNAMIC");
    match word {
        "threadirqs" if config.has("PREEMPT_RT") => Some("PREEMPT_RT always does so"),
        "preempt=full" if fixed && config.has("PREEMPT_RT") => Some("PREEMPT_RT includes it"),
        "preempt=full" if fixed && config.has("PREEMPT") => Some("the kernel is built so"),
        "preempt=none" if fixed && config.has("PREEMPT_NONE") => Some("the kernel is built so"),
        _ => None,
    }
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
