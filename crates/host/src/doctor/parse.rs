// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The forms in which the kernel says things.

use std::collections::BTreeMap;

use punctual_model::{Codec, CpuId, CpuSet};
use punctual_sys::proc::Stat;
pub(crate) use punctual_sys::proc::{is_of_user_namespace, status};

/// Services that move interrupts, change frequencies, or watch the system in ways that real-time
/// work notices.
pub(crate) const SERVICES: &[&str] = &[
    "auditd",
    "irqbalance",
    "ksmtuned",
    "power-profiles-",
    "thermald",
    "tuned",
];

/// Reads a hexadecimal mask of CPUs, such as `ff` or `00000001,ffffffff`.
pub(crate) fn mask(text: &str) -> Option<CpuSet> {
    Codec::Mask.canonical(text).ok()?.parse().ok()
}

/// Reads a list of CPUs as the command line has it: `N` is the `last` one, `all` each, `0-15:2/4` the first two of
/// every four (Linux Documentation/admin-guide/kernel-parameters.rst). None where it is no list, or one that needs
/// the last CPU, which is not known.
pub(crate) fn cpu_list(text: &str, last: Option<CpuId>) -> Option<CpuSet> {
    let number = |word: &str| match word {
        "N" => last,
        _ => word.parse().ok(),
    };
    let mut all = Vec::new();
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let (range, stride) = match part.split_once(':') {
            Some((range, stride)) => (range, Some(stride)),
            None => (part, None),
        };
        let (first, end) = match (range, range.split_once('-')) {
            ("all" | "ALL" | "All", _) => (0, last?),
            (_, Some((first, end))) => (number(first)?, number(end)?),
            (_, None) => (number(range)?, number(range)?),
        };
        let (used, group) = match stride {
            Some(stride) => stride.split_once('/')?,
            None => ("1", "1"),
        };
        let (used, group): (CpuId, CpuId) = (used.parse().ok()?, group.parse().ok()?);
        if first > end || group == 0 || used > group || end > MOST_CPUS {
            return None;
        }
        all.extend((first..=end).filter(|cpu| (cpu - first) % group < used));
    }
    Some(all.into_iter().collect())
}

/// No kernel has more (`NR_CPUS`).
const MOST_CPUS: CpuId = 8_192;

/// Returns what is in brackets: `never` of `always madvise [never]`.
pub(crate) fn chosen(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once('[')?;
    Some(rest.split_once(']')?.0)
}

/// Returns the soft limit of a resource in a `limits` file, which may be `unlimited`.
pub(crate) fn soft_limit<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()
}

/// Bits of the set of capabilities (capabilities(7)).
pub(crate) const CAP_IPC_LOCK: u32 = 14;
pub(crate) const CAP_SYS_NICE: u32 = 23;

/// Returns the effective capabilities in a status file, as they stand there, if `bit` is one of them.
pub(crate) fn capability(text: &str, bit: u32) -> Option<Option<&str>> {
    let word = status(text, "CapEff")?;
    let bits = u64::from_str_radix(word, 16).ok()?;
    Some((bits >> bit & 1 == 1).then_some(word))
}

/// An interrupt of `/proc/interrupts`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Interrupt {
    pub(crate) number: u32,
    /// How often each CPU handled it.
    pub(crate) counts: BTreeMap<CpuId, u64>,
    /// The devices that use it.
    pub(crate) devices: String,
}

/// Reads the interrupts that have a number.
pub(crate) fn interrupts(text: &str) -> Vec<Interrupt> {
    let mut lines = text.lines();
    let heading = lines.next().unwrap_or_default();
    let cpus: Vec<CpuId> = heading
        .split_whitespace()
        .filter_map(|word| word.strip_prefix("CPU")?.parse().ok())
        .collect();
    lines
        .filter_map(|line| {
            let (number, rest) = line.split_once(':')?;
            let number = number.trim().parse().ok()?;
            let mut words = rest.split_whitespace();
            let mut counts = BTreeMap::new();
            for cpu in &cpus {
                counts.insert(*cpu, words.next()?.parse().ok()?);
            }
            // What is left is the controller, its own number and trigger, and then the devices.
            let left: Vec<&str> = words.collect();
            let trigger = |word: &&str| {
                ["edge", "level", "Edge", "Level", "fasteoi"]
                    .iter()
                    .any(|t| word.ends_with(t))
            };
            let devices = match left.iter().position(trigger) {
                Some(at) => left.get(at + 1..).unwrap_or_default(),
                None => left.get(2..).unwrap_or_default(),
            };
            Some(Interrupt {
                number,
                counts,
                devices: devices.join(" "),
            })
        })
        .collect()
}

/// What of a process matters (proc_pid_stat(5)).
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    pub(crate) name: String,
    /// Whether it is a thread of the kernel.
    pub(crate) is_kernel: bool,
    /// Its real-time priority, 0 if it has none.
    pub(crate) priority: u32,
    /// Whether its policy is `SCHED_DEADLINE`, which comes before every priority.
    pub(crate) has_deadlines: bool,
}

impl Process {
    /// Reads a line of `/proc/PID/stat`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let stat = Stat::parse(text)?;
        let parent: u32 = stat.number(4)?;
        Some(Self {
            pid: stat.id,
            name: stat.name.to_owned(),
            is_kernel: stat.id == 2 || parent == 2,
            priority: stat.number(40)?,
            has_deadlines: stat.number(41) == Some(6),
        })
    }
}

/// Processor time of a CPU since boot, in ticks of `/proc/stat`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct CpuTime {
    pub(crate) total: u64,
    pub(crate) steal: u64,
}

/// Reads the line of one CPU of `/proc/stat` (proc_stat(5)).
pub(crate) fn cpu_time(text: &str, cpu: CpuId) -> Option<CpuTime> {
    let name = format!("cpu{cpu}");
    let line = text
        .lines()
        .find(|line| line.split_whitespace().next() == Some(&name))?;
    let fields: Vec<u64> = line
        .split_whitespace()
        .skip(1)
        .map(|field| field.parse().ok())
        .collect::<Option<_>>()?;
    // user, nice, system, idle, iowait, irq, softirq, steal; guest time is part of user time.
    let total = fields
        .iter()
        .take(8)
        .fold(0, |sum: u64, n| sum.saturating_add(*n));
    Some(CpuTime {
        total,
        steal: fields.get(7).copied()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_are_read_from_their_low_end() {
        assert_eq!(mask("3").unwrap().to_string(), "0-1");
        assert_eq!(mask("00000001,80000000\n").unwrap().to_string(), "31-32");
        assert_eq!(mask("0").unwrap().to_string(), "");
        assert_eq!(mask("x"), None);
        assert_eq!(mask(""), None);
        assert_eq!(
            mask(&format!("1{}", ",00000000".repeat(32))),
            None,
            "CPU 1024"
        );
    }

    #[test]
    fn a_list_of_the_command_line_may_have_strides_and_names() {
        let list = |text| cpu_list(text, Some(7)).map(|cpus| cpus.to_string());
        for (text, expected) in [
            ("2-3,5", Some("2-3,5")),
            ("6-N", Some("6-7")),
            ("all", Some("0-7")),
            ("0-7:1/2", Some("0,2,4,6")),
            ("N,0-6:2/4", Some("0-1,4-5,7")),
            ("", Some("")),
            ("3-2", None),
            ("0-7:1/0", None),
            ("0-4000000000", None),
            ("x", None),
        ] {
            assert_eq!(list(text).as_deref(), expected, "{text}");
        }
        assert_eq!(cpu_list("N", None), None);
    }

    #[test]
    fn interrupts_are_read_on_x86_and_arm() {
        let text = "           CPU0       CPU2\n  1:        9          4   IO-APIC    1-edge      i8042\n \
                    16: 1 2 IR-IO-APIC 16-fasteoi xhci_hcd:usb1, snd_hda_intel\n 30: 0 7 GICv3 27 Level \
                    arch_timer\nNMI: 1 1 Non-maskable interrupts\n 31: 4\n";
        let all = interrupts(text);
        assert_eq!(all.len(), 3);
        assert_eq!(all[0].counts, BTreeMap::from([(0, 9), (2, 4)]));
        assert_eq!(all[0].devices, "i8042");
        assert_eq!(all[1].devices, "xhci_hcd:usb1, snd_hda_intel");
        assert_eq!((all[2].number, all[2].devices.as_str()), (30, "arch_timer"));
    }

    #[test]
    fn a_process_may_be_called_anything() {
        let tail = "S 2 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 -51 0 1 0 12 0 0 1 0 0 0 0 0 0 0 \
                    2147483647 0 0 0 0 17 1 50 1 0 0 0 0 0 0 0 0 0 0 0";
        let process = Process::parse(&format!("90 (irq/9-a) (b) {tail}")).unwrap();
        assert_eq!(process.name, "irq/9-a) (b");
        assert_eq!(
            (process.pid, process.priority, process.is_kernel),
            (90, 50, true)
        );
        assert_eq!(Process::parse("90 (short) S"), None);
    }

    #[test]
    fn stolen_time_is_the_eighth_figure() {
        let text = "cpu  9 9 9 9 9 9 9 9 0 0\ncpu1 1 2 3 4 5 6 7 8 100 100\n";
        assert_eq!(
            cpu_time(text, 1),
            Some(CpuTime {
                total: 36,
                steal: 8
            })
        );
        assert_eq!(cpu_time(text, 0), None);
    }
}
