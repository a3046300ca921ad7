// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! How fast the judged CPUs run, and who decides.

use punctual_model::Severity;

use super::super::case::{
    Answer, Case, Entry, Fix, Seen, evidence, fine, found, found_if, named, not_applicable,
};

pub(super) const RULES: &[Entry] = &[
    Entry {
        id: "governor",
        severity: Severity::Medium,
        title: "the frequency of the judged CPUs follows the load",
        why: "After a pause a CPU runs slowly until the frequency is raised again, which takes \
              time.",
        fix: "write performance to scaling_governor of these CPUs (cpupower frequency-set -g performance; \
              on a Jetson also jetson_clocks)",
        by: &[Fix::Tune("cpufreq.governor=performance"), Fix::Boot],
        source: "Linux Documentation/admin-guide/pm/cpufreq.rst; \
                 core-api/real-time/kernel-configuration.rst",
        check: governor,
    },
    Entry {
        id: "power-mode",
        severity: Severity::Low,
        title: "the board's power mode limits its CPUs",
        why: "A Jetson's power modes other than MAXN cap frequencies of CPUs and memory, and take CPUs offline: \
              run times in one mode say little about another.",
        fix: "measure in the mode that the board will be used in; MAXN has no limits where supply and cooling allow it: \
              nvpmodel -m ID, with an ID of /etc/nvpmodel.conf (nvpmodel -q names the current one)",
        by: &[Fix::Setup],
        source: "NVIDIA Jetson Linux Developer Guide, Platform Power and Performance (nvpmodel)",
        check: power_mode,
    },
    Entry {
        id: "energy-preference",
        severity: Severity::Low,
        title: "the processor is set to save energy",
        why: "With hardware-managed frequencies the preference decides how quickly the processor speeds up.",
        fix: "write performance to energy_performance_preference of these CPUs",
        by: &[Fix::Tune("cpufreq.epp=performance")],
        source: "Linux Documentation/admin-guide/pm/intel_pstate.rst and amd-pstate.rst",
        check: |case| {
            let none = "the processor does not manage its frequency by itself";
            each(case, "cpufreq/energy_performance_preference", none, |p| {
                matches!(p, "performance" | "0")
            })
        },
    },
    Entry {
        id: "energy-bias",
        severity: Severity::Low,
        title: "the processor is biased towards saving energy",
        why: "The bias register lets the processor trade speed, and the depth of idle states, for energy: \
              0 is performance, 15 is saving.",
        fix: "write 0 to power/energy_perf_bias of these CPUs (x86_energy_perf_policy performance)",
        by: &[Fix::Tune("cpu.energy_perf_bias=0"), Fix::Firmware],
        source: "Linux Documentation/admin-guide/pm/intel_epb.rst",
        check: |case| {
            each(
                case,
                "power/energy_perf_bias",
                "the processor has no energy bias register",
                |b| b == "0",
            )
        },
    },
    Entry {
        id: "turbo",
        severity: Severity::Low,
        title: "turbo frequencies are on",
        why: "The speed of a core then depends on temperature and on how many other cores are busy, so run times \
              vary.",
        fix: "write 1 to intel_pstate/no_turbo, or 0 to cpufreq/boost, if consistent run times \
              matter more than short ones",
        by: &[Fix::Tune("cpufreq.turbo=off"), Fix::Firmware],
        source: "Linux Documentation/admin-guide/pm/cpufreq.rst (frequency boost support)",
        check: turbo,
    },
    Entry {
        id: "uncore-frequency",
        severity: Severity::Low,
        title: "the frequency of the interconnect follows the load",
        why: "Caches, memory and devices are slower to access after a pause.",
        fix: "copy max_freq_khz to min_freq_khz",
        by: &[Fix::Tune("uncore.min_freq=max"), Fix::Setup, Fix::Firmware],
        source: "Linux Documentation/admin-guide/pm/intel_uncore_frequency_scaling.rst",
        check: uncore,
    },
];

/// A file of each judged CPU that should have a certain content.
fn each(case: &Case<'_>, name: &str, none: &str, good: fn(&str) -> bool) -> Answer {
    let files = case.each_cpu(name)?;
    if files.is_empty() {
        return not_applicable(none);
    }
    let words = |seen: &[(u32, Seen<&str>)]| {
        let mut values: Vec<_> = seen.iter().map(|(_, seen)| seen.value.trim()).collect();
        values.sort_unstable();
        values.dedup();
        values.join(", ")
    };
    let all = words(&files);
    let looked_at: Vec<_> = files.iter().map(|(_, seen)| seen.evidence()).collect();
    let bad: Vec<_> = files
        .into_iter()
        .filter(|(_, seen)| !good(seen.value.trim()))
        .collect();
    let cpus: punctual_model::CpuSet = bad.iter().map(|(cpu, _)| *cpu).collect();
    let says = format!("{} on {}", words(&bad), named(&cpus));
    let evidence = bad.into_iter().map(|(_, seen)| seen.evidence()).collect();
    found_if(
        evidence,
        says,
        format!("all judged CPUs have {all}"),
        looked_at,
    )
}

/// A governor decides nothing where the lowest frequency is also the highest, as `jetson_clocks` leaves it.
fn governor(case: &Case<'_>) -> Answer {
    let lowest = case.each_cpu("cpufreq/scaling_min_freq")?;
    let highest = case.each_cpu("cpufreq/scaling_max_freq")?;
    let mut fixed = Vec::new();
    for (cpu, low) in &lowest {
        let high = highest.iter().find(|(other, _)| other == cpu);
        if let Some((_, high)) = high.filter(|(_, high)| high.value.trim() == low.value.trim()) {
            fixed.extend([low.evidence(), high.evidence()]);
        }
    }
    if !fixed.is_empty() && fixed.len() == 2 * case.cpus.len() {
        return fine(
            "the lowest frequency of the judged CPUs is also the highest",
            fixed,
        );
    }
    let none = "the kernel does not manage CPU frequency here";
    each(case, "cpufreq/scaling_governor", none, |g| {
        g == "performance"
    })
}

/// `pmode:0002`, which nvpmodel writes, is the ID of a line `< POWER_MODEL ID=2 NAME=MODE_30W >`.
fn power_mode(case: &Case<'_>) -> Answer {
    let Some(status) = case.text_if("/var/lib/nvpmodel/status")? else {
        return not_applicable("no nvpmodel has set a power mode");
    };
    let id = case.parsed(&status, |text| {
        let mode = text
            .split_whitespace()
            .find_map(|word| word.strip_prefix("pmode:"))?;
        mode.parse::<u32>().ok()
    })?;
    let modes = case.text("/etc/nvpmodel.conf")?;
    let name = case.parsed(&modes, |text| {
        let lines = text
            .lines()
            .filter_map(|line| line.strip_prefix("< POWER_MODEL "));
        let mut named = lines.filter_map(|line| {
            let value = |key: &str| {
                line.split_whitespace()
                    .find_map(|word| word.strip_prefix(key))
            };
            let of: u32 = value("ID=")?.parse().ok()?;
            (of == id.value).then(|| value("NAME="))?
        });
        named.next().map(ToOwned::to_owned)
    })?;
    let looked_at = vec![
        id.evidence(),
        evidence(
            "/etc/nvpmodel.conf",
            format!("POWER_MODEL ID={} NAME={}", id.value, name.value),
        ),
    ];
    match name.value.starts_with("MAXN") {
        true => fine(format!("the power mode is {}", name.value), looked_at),
        false => found(format!("the power mode is {}", name.value), looked_at),
    }
}

fn turbo(case: &Case<'_>) -> Answer {
    let dir = crate::machine::CPU;
    if let Some(no_turbo) = case.number_if(&format!("{dir}/intel_pstate/no_turbo"))? {
        let looked_at = vec![no_turbo.evidence()];
        return match no_turbo.value {
            0 => found("they are on", looked_at),
            _ => fine("turbo frequencies are off", looked_at),
        };
    }
    let Some(boost) = case.number_if(&format!("{dir}/cpufreq/boost"))? else {
        return not_applicable("the kernel does not control turbo here");
    };
    let looked_at = vec![boost.evidence()];
    match boost.value {
        0 => fine("turbo frequencies are off", looked_at),
        _ => found("they are on", looked_at),
    }
}

fn uncore(case: &Case<'_>) -> Answer {
    let mut any = false;
    let mut moving = Vec::new();
    let dir = "/sys/devices/system/cpu/intel_uncore_frequency/";
    for low in case.files(dir, "/min_freq_khz")? {
        let Some(base) = low.path.strip_suffix("min_freq_khz") else {
            continue;
        };
        let high = case.number_if(&format!("{base}max_freq_khz"))?;
        let low = case.parsed(&low, |text| text.parse::<i64>().ok())?;
        any = true;
        if let Some(high) = high.filter(|high| high.value != low.value) {
            moving.extend([low.evidence(), high.evidence()]);
        }
    }
    if !any {
        return not_applicable("the kernel does not control it here");
    }
    found_if(
        moving,
        "it may move",
        "the frequency of the interconnect is fixed",
        Vec::new(),
    )
}
