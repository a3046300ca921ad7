// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What a capture leaves out: names, numbers and addresses that tell whose machine it is.
//!
//! Files are captured by name, so what is not in their list is not there at all. Of those that are
//! (the command line, the processor's description, the processes, ...) only what decides something
//! stays; and in all of it, hardware addresses, UUIDs and long hexadecimal numbers are blanked.

use std::collections::BTreeMap;

use super::config::is_config;
use super::files::is_named;
use super::{Archive, Machine, Reading};

/// Kernel parameters whose value decides something. Others stay out.
const PARAMETERS: &[&str] = &[
    "audit",
    "clocksource",
    "console",
    "cpuidle.off",
    "debug_pagealloc",
    "efi",
    "highres",
    "hpet",
    "idle",
    "init_on_alloc",
    "init_on_free",
    "intel_idle.max_cstate",
    "intel_pstate",
    "irqaffinity",
    "isolcpus",
    "kthread_cpus",
    "lockdown",
    "mce",
    "mitigations",
    "nmi_watchdog",
    "noefi",
    "nohz",
    "nohz_full",
    "nosmt",
    "nosoftlockup",
    "notsc",
    "nowatchdog",
    "page_poison",
    "pcie_aspm",
    "pcie_aspm.policy",
    "preempt",
    "processor.max_cstate",
    "psi",
    "quiet",
    "rcu_nocb_poll",
    "rcu_nocbs",
    "rcupdate.rcu_normal_after_boot",
    "rcutree.enable_rcu_lazy",
    "rcutree.kthread_prio",
    "skew_tick",
    "slab_debug",
    "slub_debug",
    "threadirqs",
    "transparent_hugepage",
    "tsc",
];

/// Lines of `/proc/cpuinfo` that stay, of the first processor.
const PROCESSOR: &[&str] = &[
    "processor",
    "vendor_id",
    "cpu family",
    "model",
    "model name",
    "stepping",
    "flags",
    "Features",
    "Hardware",
    "CPU implementer",
    "CPU architecture",
    "CPU part",
    "cpu",
    "cpu model",
    "uarch",
];

/// Lines of `/proc/*/status` that stay.
const STATUS: &[&str] = &["CapEff", "Cpus_allowed", "Cpus_allowed_list"];

/// Lines of the status of a thread that stay.
const THREAD: &[&str] = &["Tgid", "Cpus_allowed_list"];

/// Control groups that are called so on every machine.
const GROUPS: &[&str] = &[
    "init.scope",
    "machine.slice",
    "punctual",
    "system.slice",
    "user.slice",
];

impl Archive {
    /// Makes an archive of a machine, without what tells whose machine it is.
    pub fn of(machine: &Machine) -> Self {
        let mut files = BTreeMap::new();
        for (path, reading) in &machine.files {
            if let Some(reading) = kept(machine, path, reading) {
                files.insert(blank(path), reading.map(|text| anonymous(path, &text)));
            }
        }
        Self { files }
    }
}

/// Returns what stays of a file; nothing if it goes altogether.
fn kept(machine: &Machine, path: &str, reading: &Reading) -> Option<Reading> {
    // Devices of memory and files are on every machine, and no disks.
    if ["loop", "ram", "zram"]
        .iter()
        .any(|kind| path.starts_with(&format!("/sys/block/{kind}")))
    {
        return None;
    }
    let Ok(text) = reading else {
        // Without a value there is nothing to tell.
        return (!is_process(path) && thread_of(path).is_none()).then(|| reading.clone());
    };
    let text = match path {
        "/proc/cmdline" => parameters(text),
        "/proc/cpuinfo" => processor(text),
        "/proc/self/cgroup" => groups(text),
        "/proc/stat" => lines(text, |line| line.starts_with("cpu")),
        "/proc/swaps" => swaps(text),
        "/proc/meminfo" => lines(text, |line| line.starts_with("MemTotal:")),
        _ if let Some(directory) = thread_of(path) => thread(machine, directory, path, text)?,
        _ if path.ends_with("/status") => lines(text, |line| {
            STATUS.contains(&line.split(':').next().unwrap_or_default())
        }),
        _ if is_config(path) => machine.config()?.lines(),
        _ if is_process(path) => process(text)?,
        // The name of the group is somebody's, and so is the file in it.
        _ if path.starts_with("/sys/fs/cgroup/") && !is_named(path) && !is_usual_group(path) => {
            return None;
        }
        _ => text.clone(),
    };
    Some(Ok(text))
}

fn lines(text: &str, stays: impl Fn(&str) -> bool) -> String {
    let lines: Vec<_> = text.lines().filter(|line| stays(line)).collect();
    lines.join("\n")
}

fn parameters(text: &str) -> String {
    let words = text
        .split_whitespace()
        .take_while(|word| *word != "--")
        .filter(|word| PARAMETERS.contains(&word.split('=').next().unwrap_or_default()));
    words.collect::<Vec<_>>().join(" ")
}

fn processor(text: &str) -> String {
    let first = text.split("\n\n").next().unwrap_or_default();
    let stays = |line: &str| PROCESSOR.contains(&line.split(':').next().unwrap_or_default().trim());
    // Old ARM boards name the hardware once, at the end.
    let rest = text.get(first.len()..).unwrap_or_default();
    let mut kept = lines(first, stays);
    for line in rest.lines().filter(|line| line.starts_with("Hardware")) {
        kept.push('\n');
        kept.push_str(line);
    }
    kept
}

/// Keeps which hierarchies there are, and puts the process in the root of each.
fn groups(text: &str) -> String {
    let roots = text.lines().filter_map(|line| {
        let (number, rest) = line.split_once(':')?;
        let (controllers, _) = rest.split_once(':')?;
        Some(format!("{number}:{controllers}:/"))
    });
    roots.collect::<Vec<_>>().join("\n")
}

/// Keeps the sizes and not the names of swap files.
fn swaps(text: &str) -> String {
    let lines =
        text.lines()
            .enumerate()
            .map(|(index, line)| match line.split_once(char::is_whitespace) {
                Some((_, rest)) if index > 0 => format!("/dev/swap{index} {}", rest.trim_start()),
                _ => line.to_owned(),
            });
    lines.collect::<Vec<_>>().join("\n")
}

/// Whether a path is that of a process other than those with a known role.
fn is_process(path: &str) -> bool {
    let pid = path
        .strip_prefix("/proc/")
        .and_then(|rest| rest.strip_suffix("/stat"));
    pid.is_some_and(|pid| !pid.is_empty() && pid.bytes().all(|b| b.is_ascii_digit()))
}

/// Keeps the first process, kernel threads of a real-time policy, and services known to matter.
fn process(text: &str) -> Option<String> {
    let process = crate::doctor::Process::parse(text)?;
    if process.pid == 1 {
        // That it can be read says that the others could be, too.
        return Some(text.replacen(&format!("({})", process.name), "(init)", 1));
    }
    let stays = (process.is_kernel && process.priority > 0)
        || crate::doctor::SERVICES.contains(&process.name.as_str());
    stays.then(|| text.to_owned())
}

/// Returns the directory of a thread that a path is in.
fn thread_of(path: &str) -> Option<&str> {
    let (directory, _) = path.rsplit_once('/')?;
    (path.starts_with("/proc/") && directory.contains("/task/")).then_some(directory)
}

/// Keeps the first process's thread and the kernel's own, but those that do work of the moment.
fn thread(machine: &Machine, directory: &str, path: &str, text: &str) -> Option<String> {
    let stat = machine.read(&format!("{directory}/stat")).ok()?;
    let process = crate::doctor::Process::parse(stat)?;
    let first = process.pid == 1;
    let stays = first || (process.is_kernel && !process.name.starts_with("kworker/"));
    let of_status = |line: &str| THREAD.contains(&line.split(':').next().unwrap_or_default());
    stays.then(|| match path.rsplit_once('/') {
        Some((_, "status")) => lines(text, of_status),
        _ if first => text.replacen(&format!("({})", process.name), "(init)", 1),
        _ => text.to_owned(),
    })
}

/// Whether a path is that of a control group whose name tells nothing.
fn is_usual_group(path: &str) -> bool {
    let file = path.rsplit_once("/cpuset.cpus").map(|(_, rest)| rest);
    path.split('/').any(|part| GROUPS.contains(&part))
        && matches!(file, Some("" | ".effective" | ".partition"))
}

/// Blanks what could be an address or a serial number.
fn anonymous(path: &str, text: &str) -> String {
    // Capabilities, masks and times are long numbers; of these files only such lines are left.
    if path.ends_with("/status") || is_process(path) || thread_of(path).is_some() {
        return text.to_owned();
    }
    blank(text)
}

/// Replaces hardware addresses, UUIDs and runs of twelve and more hexadecimal digits by `x`.
fn blank(text: &str) -> String {
    let is_part = |b: u8| b.is_ascii_hexdigit() || matches!(b, b':' | b'-');
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.bytes().position(|b| b.is_ascii_hexdigit()) {
        out.push_str(&rest[..start]);
        let length = rest[start..].bytes().take_while(|b| is_part(*b)).count();
        let run = rest[start..start + length].trim_end_matches([':', '-'].as_slice());
        out.push_str(if tells(run) { "x" } else { run });
        rest = &rest[start + run.len()..];
    }
    out.push_str(rest);
    out
}

/// Whether a run of hexadecimal digits, colons and hyphens names one machine or device.
fn tells(run: &str) -> bool {
    let long = run
        .split([':', '-'].as_slice())
        .any(|part| part.len() >= 12);
    let pairs = run.split(':').filter(|part| part.len() == 2).count();
    long || (pairs >= 6)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archived(path: &str, text: &str) -> Option<String> {
        let files = BTreeMap::from([(path.to_owned(), Ok(text.to_owned()))]);
        let archive = Archive::of(&Machine::from_files(files));
        let reading = archive.files.into_values().next()?;
        reading.ok()
    }

    #[test]
    fn addresses_and_serial_numbers_are_blanked_and_masks_are_not() {
        assert_eq!(blank("enx001122aabbcc-rx-0"), "enxx-rx-0");
        assert_eq!(blank("a 00:1b:21:0a:0b:0c b"), "a x b");
        assert_eq!(
            blank("root=UUID=0a1b2c3d-1111-2222-3333-0123456789ab"),
            "root=UUID=x"
        );
        let harmless = "ffffffff,00000001 0000:3b:00.0 PCI-MSIX-0000:00:01.0 0-7,16-23";
        assert_eq!(blank(harmless), harmless);
    }

    #[test]
    fn of_a_command_line_only_known_parameters_stay() {
        let line = "BOOT_IMAGE=/vmlinuz root=UUID=1 ro isolcpus=2-3 quiet ip=10.0.0.1 \
                    nohz_full=2-3 -- init isolcpus=9";
        let kept = archived("/proc/cmdline", line).unwrap();
        assert_eq!(kept, "isolcpus=2-3 quiet nohz_full=2-3");
    }

    #[test]
    fn serial_numbers_names_and_processes_stay_out() {
        let cpuinfo = "processor\t: 0\nmodel name\t: ARMv7\nSerial\t: 10000000\n\nprocessor\t: 1\n\n\
                       Hardware\t: BCM2711\nSerial\t\t: 100000002fcdcfb7";
        let kept = archived("/proc/cpuinfo", cpuinfo).unwrap();
        assert_eq!(
            kept,
            "processor\t: 0\nmodel name\t: ARMv7\nHardware\t: BCM2711"
        );
        assert_eq!(
            archived(
                "/proc/self/cgroup",
                "1:cpu:/docker/secret\n0::/user.slice/ada"
            )
            .unwrap(),
            "1:cpu:/\n0::/"
        );
        let swaps = "Filename Type\n/home/ada/swap\\040file file 8 0 -2";
        let kept = archived("/proc/swaps", swaps).unwrap();
        assert_eq!(kept, "Filename Type\n/dev/swap1 file 8 0 -2");
        assert_eq!(archived("/proc/4711/stat", "4711 (secret) S 1 1 1 0"), None);
        assert_eq!(
            archived("/sys/fs/cgroup/cpu/docker/secret/cpu.rt_runtime_us", "0"),
            None
        );
        let partition = |group: &str| {
            let path = format!("/sys/fs/cgroup/{group}/cpuset.cpus.partition");
            archived(&path, "isolated")
        };
        assert_eq!(partition("secret"), None);
        assert_eq!(partition("punctual").unwrap(), "isolated");
    }
}
