// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What is below and around the kernel: hypervisor, firmware, cooling, trouble of this boot.

use punctual_model::{Evidence, Severity};

use super::super::case::{
    Answer, Case, Entry, Fix, NotKnown, evidence, fine, found, found_if, not_applicable, unread,
};
use super::super::parse::{chosen, cpu_time};
use crate::machine::Unread;
use crate::virtualization::{self, Virtual};

pub(super) const RULES: &[Entry] = &[
    Entry {
        id: "hypervisor",
        severity: Severity::High,
        title: "the machine is virtual",
        why: "The host may deschedule a virtual CPU at any time, and every timer, interrupt and \
              halt goes through it. No guest setting bounds that.",
        fix: "measure on bare metal, or have the host pin each virtual CPU to its own isolated CPU \
              at a real-time priority",
        by: &[Fix::Hypervisor],
        source: "Linux Documentation/core-api/real-time/hardware.rst (virtualization)",
        check: |case| match hypervisor(case)? {
            Some(evidence) => found("it runs under a hypervisor", vec![evidence]),
            None => fine("no sign of a hypervisor", Vec::new()),
        },
    },
    Entry {
        id: "steal",
        severity: Severity::High,
        title: "the hypervisor stole time from the judged CPUs",
        why: "Steal time is time in which a virtual CPU had work but did not run. Each such pause \
              is a latency of the same length, commonly milliseconds.",
        fix: "have the host dedicate a CPU to each virtual CPU",
        by: &[Fix::Hypervisor],
        source: "proc_stat(5)",
        check: steal,
    },
    Entry {
        id: "smi",
        severity: Severity::High,
        title: "the firmware interrupts the kernel (SMI)",
        why: "In system management mode all CPUs stop for tens of microseconds to milliseconds, \
              and the kernel can neither see nor prevent it.",
        fix: "disable the causes in the firmware setup (legacy USB, firmware power and thermal \
              management, error logging), or ask the vendor; measure with hwlatdetect",
        by: &[Fix::Firmware],
        source: "Linux Documentation/trace/hwlat_detector.rst; Intel SDM volume 4, MSR_SMI_COUNT",
        check: smi,
    },
    Entry {
        id: "thermal-throttling",
        severity: Severity::Medium,
        title: "the processor throttled because of heat",
        why: "A throttled core runs at a fraction of its frequency, and the kernel cannot prevent it.",
        fix: "improve the cooling, or limit the frequency",
        by: &[Fix::Firmware],
        source: "Linux Documentation/ABI/testing/sysfs-devices-system-cpu (thermal_throttle); sysfs-class-thermal; \
                 Raspberry Pi documentation, vcgencmd get_throttled",
        check: thermal_throttling,
    },
    Entry {
        id: "machine-check-poll",
        severity: Severity::Low,
        title: "each CPU polls for corrected hardware errors",
        why: "A timer on every CPU reads the machine check banks every check_interval seconds.",
        fix: "write 0 to check_interval, or boot with mce=ignore_ce, if something else monitors the memory",
        by: &[Fix::Setup, Fix::Boot],
        source: "Linux Documentation/arch/x86/x86_64/machinecheck.rst",
        check: machine_check_poll,
    },
    Entry {
        id: "on-battery",
        severity: Severity::Medium,
        title: "the machine runs on battery",
        why: "Firmware and power daemons lower frequencies and deepen idle states on battery.",
        fix: "plug it in",
        by: &[Fix::Setup],
        source: "Linux Documentation/ABI/testing/sysfs-class-power",
        check: on_battery,
    },
    Entry {
        id: "pcie-aspm",
        severity: Severity::Low,
        title: "PCI Express links go to sleep",
        why: "A register access, an interrupt or a transfer waits until the link is up again.",
        fix: "write performance to /sys/module/pcie_aspm/parameters/policy, or boot with \
              pcie_aspm.policy=performance; neither works with pcie_aspm=off",
        by: &[Fix::Setup, Fix::Boot, Fix::Firmware],
        source: "Linux Documentation/core-api/real-time/hardware.rst (hardware buses)",
        check: pcie_aspm,
    },
    Entry {
        id: "mitigations",
        severity: Severity::Low,
        title: "mitigations of processor flaws cost time",
        why: "They make system calls, interrupts and process switches more expensive: by small \
              constant amounts, and by flushing caches and predictors.",
        fix: "boot with mitigations=off only where nothing untrusted ever runs",
        by: &[Fix::Boot],
        source: "Linux Documentation/admin-guide/hw-vuln/index.rst; kernel-parameters.txt (mitigations=)",
        check: mitigations,
    },
    Entry {
        id: "lockdown",
        severity: Severity::Info,
        title: "the kernel is locked down",
        why: "Even root has no access to debugfs, kprobes and register writes, so less can be seen \
              and tuned: the preemption model and the fair server, for example.",
        fix: "boot with lockdown=none, where policy and secure boot allow it",
        by: &[Fix::Boot],
        source: "kernel_lockdown(7)",
        check: lockdown,
    },
    Entry {
        id: "trouble",
        severity: Severity::Medium,
        title: "the kernel has reported trouble since boot",
        why: "Warnings, lockups and stalls mean latencies of seconds, and measurements after them \
              may not be typical.",
        fix: "read the kernel log (dmesg), fix the cause, reboot",
        by: &[Fix::Setup, Fix::Rebuild],
        source: "Linux Documentation/admin-guide/tainted-kernels.rst; \
                 ABI/testing/sysfs-kernel-*_count",
        check: trouble,
    },
    Entry {
        id: "foreign-modules",
        severity: Severity::Info,
        title: "out-of-tree modules are loaded",
        why: "How long they disable interrupts or preemption is untested; some graphics drivers \
              are known for long sections.",
        fix: "measure with and without them",
        by: &[Fix::Setup],
        source: "Linux Documentation/admin-guide/tainted-kernels.rst",
        check: foreign_modules,
    },
];

/// Returns the sign of a hypervisor, if there is one.
pub(super) fn hypervisor(case: &Case<'_>) -> Result<Option<Evidence>, NotKnown> {
    let read = |path: &'static str| {
        let seen = match path {
            virtualization::CPUINFO => Some(case.text(path)?),
            _ => case.text_if(path)?,
        };
        Ok::<_, NotKnown>(seen.map(|seen| seen.value.to_owned()))
    };
    match virtualization::look(read)? {
        Virtual::Yes { path, value, .. } => Ok(Some(evidence(path, value))),
        Virtual::No => Ok(None),
        Virtual::Unknown => Err(NotKnown(vec![Evidence {
            path: virtualization::VENDOR.to_owned(),
            value: None,
            problem: Some("names no hypervisor, and this processor has no flag for one".to_owned()),
        }])),
    }
}

/// Whether this is an x86 machine.
pub(super) fn x86(case: &Case<'_>) -> Result<bool, NotKnown> {
    let cpuinfo = case.text("/proc/cpuinfo")?;
    Ok(cpuinfo
        .value
        .lines()
        .any(|line| line.starts_with("vendor_id")))
}

/// What the firmware of a Raspberry Pi says of its supply and its heat, in bits: now, and since it started. The second is
/// where the Pi 5 has it.
const PI: [&str; 2] = [
    "/sys/devices/platform/soc/soc:firmware/get_throttled",
    "/sys/devices/platform/soc@107c000000/soc@107c000000:firmware/get_throttled",
];

/// Bits of [`PI`], and what they say.
const PI_BITS: [(u32, &str); 8] = [
    (0, "the supply's voltage is too low"),
    (1, "the frequency is capped"),
    (2, "it is throttled"),
    (3, "it is near its limit of temperature"),
    (16, "the supply's voltage was too low"),
    (17, "the frequency was capped"),
    (18, "it was throttled"),
    (19, "it was near its limit of temperature"),
];

/// Boards have no count of throttling: their firmware has flags, or the kernel cools CPUs by their frequency.
fn board_throttling(case: &Case<'_>) -> Answer {
    let flags = PI.iter().find_map(|path| case.text_if(path).transpose());
    if let Some(flags) = flags.transpose()? {
        let flags = case.parsed(&flags, |text| {
            u32::from_str_radix(text.trim_start_matches("0x"), 16).ok()
        })?;
        let set: Vec<&str> = PI_BITS
            .iter()
            .filter(|(bit, _)| flags.value & (1 << bit) != 0)
            .map(|(_, says)| *says)
            .collect();
        return match set.is_empty() {
            true => fine("the firmware saw no throttling since it started", &flags),
            false => found(format!("the firmware says: {}", set.join(", ")), &flags),
        };
    }
    let mut cooled = Vec::new();
    let mut looked_at = Vec::new();
    for kind in case.files("/sys/class/thermal/", "/type")? {
        // `thermal-cpufreq-0` before 5.14, `cpufreq-cpu0` since.
        if !kind.value.contains("cpufreq") {
            continue;
        }
        let Some(state) = case.number_if(&kind.path.replace("/type", "/cur_state"))? else {
            continue;
        };
        looked_at.push(state.evidence());
        if state.value > 0 {
            cooled.push(state.evidence());
        }
    }
    // Kernels of mainline do not show what the firmware knows, and it throttles without asking the kernel.
    if cooled.is_empty()
        && let Some(board) = case.text_if("/sys/firmware/devicetree/base/model")?
        && board.value.starts_with("Raspberry Pi")
    {
        let places = PI.map(|path| unread(path, &Unread::Missing));
        return Err(NotKnown(places.into()));
    }
    if looked_at.is_empty() {
        return not_applicable("nothing here counts throttling");
    }
    found_if(
        cooled,
        "the kernel cools CPUs by a lower frequency now",
        "no CPU is cooled by a lower frequency now",
        looked_at,
    )
}

/// More than this share of a CPU's time since boot is worth a word, in parts of a million.
const STEAL_PPM: u64 = 100;

fn steal(case: &Case<'_>) -> Answer {
    let stat = case.text("/proc/stat")?;
    let mut stolen = Vec::new();
    let mut looked_at = Vec::new();
    for cpu in case.cpus.iter() {
        let Some(time) = cpu_time(stat.value, cpu) else {
            continue;
        };
        let of = format!("cpu{cpu}: {} of {} ticks stolen", time.steal, time.total);
        looked_at.push(evidence("/proc/stat", &*of));
        let limit = u128::from(time.total) * u128::from(STEAL_PPM);
        if u128::from(time.steal) * 1_000_000 > limit {
            stolen.push(evidence("/proc/stat", of));
        }
    }
    if looked_at.is_empty() {
        return Err(NotKnown(vec![Evidence {
            path: stat.path,
            value: None,
            problem: Some("has no line of a judged CPU".to_owned()),
        }]));
    }
    let says = format!(
        "{} of {} judged CPUs lost more than 0.01 % of their time",
        stolen.len(),
        looked_at.len()
    );
    found_if(
        stolen,
        says,
        "less than 0.01 % was stolen since boot",
        looked_at,
    )
}

fn smi(case: &Case<'_>) -> Answer {
    if !x86(case)? {
        return not_applicable("the processor has no system management mode");
    }
    if hypervisor(case)?.is_some() {
        return not_applicable("a guest cannot see SMIs of its host");
    }
    if !case.text("/proc/cpuinfo")?.value.contains("GenuineIntel") {
        return not_applicable("only Intel processors count SMIs");
    }
    // They stop all CPUs: any of them has the count.
    let mut counts = case.files("/dev/cpu/", "/msr")?;
    let Some(count) = counts.pop() else {
        drop(case.text("/dev/cpu/0/msr")?);
        return not_applicable("no CPU exposes its registers");
    };
    let count = case.parsed(&count, |text| text.parse::<u64>().ok())?;
    let looked_at = vec![evidence(
        count.path,
        format!("MSR_SMI_COUNT {}", count.value),
    )];
    match count.value {
        0 => fine("no SMI since the processor was reset", looked_at),
        n => found(format!("{n} since the processor was reset"), looked_at),
    }
}

fn thermal_throttling(case: &Case<'_>) -> Answer {
    let files = case.each_cpu("thermal_throttle/core_throttle_count")?;
    if files.is_empty() {
        return board_throttling(case);
    }
    let mut throttled = Vec::new();
    let mut looked_at = Vec::new();
    for (_, seen) in files {
        let count = case.parsed(&seen, |text| text.parse::<u64>().ok())?;
        looked_at.push(count.evidence());
        if count.value > 0 {
            throttled.push(count.evidence());
        }
    }
    found_if(
        throttled,
        "judged cores have throttled since boot",
        "no judged core has throttled since boot",
        looked_at,
    )
}

fn machine_check_poll(case: &Case<'_>) -> Answer {
    let path = "/sys/devices/system/machinecheck/machinecheck0/check_interval";
    // Written in hexadecimal by old kernels and decimal by new ones; 0 is 0 in both.
    let Some(seen) = case.text_if(path)? else {
        return not_applicable("machine checks are unavailable here");
    };
    match seen.value.trim() {
        "0" => fine("polling for machine checks is off", &seen),
        _ => found("it is on", &seen),
    }
}

fn on_battery(case: &Case<'_>) -> Answer {
    let types = case.files("/sys/class/power_supply/", "/type")?;
    // That of a mouse is none of the machine's, and a port for charging may be there without any.
    let is_own = |path: &str| {
        let scope = path
            .strip_suffix("/type")
            .map(|base| format!("{base}/scope"));
        let scope = scope.and_then(|path| case.text_if(&path).ok().flatten());
        scope.is_none_or(|scope| scope.value.trim() != "Device")
    };
    if !types
        .iter()
        .any(|seen| seen.value == "Battery" && is_own(&seen.path))
    {
        return not_applicable("there is no battery");
    }
    let mains = |seen: &str| matches!(seen, "Mains" | "USB");
    let supplies: Vec<_> = types
        .into_iter()
        .filter(|seen| mains(seen.value))
        .filter_map(|seen| {
            let online = seen
                .path
                .strip_suffix("/type")
                .map(|base| format!("{base}/online"))?;
            case.number_if(&online).ok().flatten()
        })
        .collect();
    if supplies.is_empty() {
        return not_applicable("no power supply reports whether it is plugged in");
    }
    let looked_at: Vec<_> = supplies.iter().map(|seen| seen.evidence()).collect();
    if supplies.iter().any(|seen| seen.value > 0) {
        return fine("the machine is plugged in", looked_at);
    }
    found("no power supply is plugged in", looked_at)
}

fn pcie_aspm(case: &Case<'_>) -> Answer {
    let Some(seen) = case.text_if("/sys/module/pcie_aspm/parameters/policy")? else {
        return not_applicable("the kernel does not manage it");
    };
    // Only a device with a PCI Express capability says how fast its link is.
    let devices = "/sys/bus/pci/devices/";
    if case.files(devices, "/current_link_speed")?.is_empty()
        && !case.files(devices, "/class")?.is_empty()
    {
        return not_applicable("no device has a PCI Express link");
    }
    let boot = case.boot()?;
    if boot.is("pcie_aspm", "off") {
        return found(
            "pcie_aspm=off leaves the links as the firmware set them",
            boot.evidence(&["pcie_aspm"]),
        );
    }
    let policy = case.parsed(&seen, chosen)?;
    match policy.value {
        "performance" => fine("PCI Express links stay powered up", &policy),
        "default" => found("the firmware decides (policy default)", &policy),
        name => found(format!("the policy is {name}"), &policy),
    }
}

fn mitigations(case: &Case<'_>) -> Answer {
    let prefix = "/sys/devices/system/cpu/vulnerabilities/";
    let all = case.files(prefix, "")?;
    if all.is_empty() {
        return not_applicable("the kernel lists no vulnerabilities");
    }
    let active: Vec<_> = all
        .iter()
        .filter(|seen| seen.value.starts_with("Mitigation"))
        .collect();
    let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let names: Vec<_> = active.iter().map(|seen| name(&seen.path)).collect();
    let looked_at = format!("{} vulnerabilities, none mitigated", all.len());
    found_if(
        active.iter().map(|seen| seen.evidence()).collect(),
        format!(
            "{} of {} known vulnerabilities are mitigated: {}",
            active.len(),
            all.len(),
            names.join(", ")
        ),
        "no vulnerability is mitigated",
        vec![evidence(prefix, looked_at)],
    )
}

fn lockdown(case: &Case<'_>) -> Answer {
    const MODE: &str = "/sys/kernel/security/lockdown";
    let Some(seen) = case.text_if(MODE)? else {
        let boot = case.boot()?;
        if boot.find("lockdown").is_some() {
            let mut looked_at = boot.evidence(&["lockdown"]);
            let hidden = Unread::LeftAlone("securityfs is not mounted");
            looked_at.push(unread(MODE, &hidden));
            return Err(NotKnown(looked_at));
        }
        return not_applicable(
            "the kernel does not say (no lockdown, or securityfs is not mounted)",
        );
    };
    let mode = case.parsed(&seen, chosen)?;
    match mode.value {
        "none" => fine("the kernel is not locked down", &mode),
        name => found(format!("the mode is {name}"), &mode),
    }
}

/// Bits of the taint mask, and their letters.
const TROUBLE: &[(u32, &str)] = &[
    (4, "M: machine check"),
    (7, "D: oops"),
    (9, "W: warning"),
    (14, "L: soft lockup"),
];

fn trouble(case: &Case<'_>) -> Answer {
    let mut signs = Vec::new();
    let mut looked_at = Vec::new();
    for name in ["oops", "warn", "softlockup", "hardlockup", "rcu_stall"] {
        if let Some(count) = case.number_if(&format!("/sys/kernel/{name}_count"))? {
            if count.value != 0 {
                signs.push(count.evidence());
            }
            looked_at.push(count.evidence());
        }
    }
    let tainted = case.value::<u64>("/proc/sys/kernel/tainted")?;
    for (bit, letter) in TROUBLE {
        if tainted.value >> bit & 1 == 1 {
            signs.push(evidence(
                &*tainted.path,
                format!("{} ({letter})", tainted.value),
            ));
        }
    }
    looked_at.push(tainted.evidence());
    found_if(
        signs,
        "the kernel has recorded trouble",
        "no lockup, stall, warning or oops",
        looked_at,
    )
}

fn foreign_modules(case: &Case<'_>) -> Answer {
    let tainted = case.value::<u64>("/proc/sys/kernel/tainted")?;
    let kinds: Vec<&str> = [(0, "proprietary"), (12, "out-of-tree")]
        .into_iter()
        .filter(|(bit, _)| tainted.value >> bit & 1 == 1)
        .map(|(_, kind)| kind)
        .collect();
    if kinds.is_empty() {
        return fine("no proprietary or out-of-tree module was loaded", &tainted);
    }
    found(
        format!("{} modules were loaded", kinds.join(" and ")),
        &tainted,
    )
}
