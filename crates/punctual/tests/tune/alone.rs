// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Each knob alone, and every setting of this machine before and after: what the kernel moves along
//! with a knob, on the way there or back, is back too.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::io::Read as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::common::{finish, machine};
use crate::live::{Live, other_value};

/// Where settings are.
const ROOTS: [&str; 10] = [
    "/proc/sys",
    "/proc/irq",
    "/sys/kernel/mm",
    "/sys/kernel/rcu_normal",
    "/sys/kernel/rcu_expedited",
    "/sys/devices/system",
    "/sys/devices/virtual/workqueue",
    "/sys/fs/cgroup",
    "/sys/kernel/debug/sched",
    "/sys/power",
];

/// Files that are no settings: counters, names of processes, what is different with each look.
const NO_SETTINGS: [&str; 10] = [
    "ns_last_pid",
    "/random/",
    "uevent",
    "cgroup.procs",
    "cgroup.threads",
    "/tasks",
    "usage",
    "pressure",
    "/memory/",
    "/wakeup_count",
];

/// Reads every file below the roots that can be read and written.
fn settings() -> BTreeMap<String, String> {
    let mut roots: Vec<PathBuf> = ROOTS.iter().map(PathBuf::from).collect();
    for (class, below) in [("/sys/block", "queue"), ("/sys/class/net", "")] {
        let devices = fs::read_dir(class).into_iter().flatten().flatten();
        // The device of a class is a link to its directory.
        roots.extend(devices.filter_map(|device| {
            let real = fs::canonicalize(device.path()).ok()?;
            Some(real.join(below))
        }));
    }
    let modules = fs::read_dir("/sys/module").into_iter().flatten().flatten();
    roots.extend(modules.map(|module| module.path().join("parameters")));
    add_power(Path::new("/sys/devices"), &mut roots);
    let mut found = BTreeMap::new();
    while let Some(path) = roots.pop() {
        let Ok(meta) = fs::symlink_metadata(&path) else {
            continue;
        };
        let name = path.display().to_string();
        if NO_SETTINGS.iter().any(|part| name.contains(part)) {
            continue;
        }
        if meta.is_dir() {
            let inside = fs::read_dir(&path).into_iter().flatten().flatten();
            roots.extend(inside.map(|entry| entry.path()));
        } else if meta.is_file() && meta.mode() & 0o222 != 0 && meta.mode() & 0o444 != 0 {
            found.insert(name, text(&path));
        }
    }
    found
}

/// Adds the directory of each device's power management.
fn add_power(device: &Path, roots: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(device).into_iter().flatten().flatten() {
        if entry.file_name() == "power" {
            roots.push(entry.path());
        } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            add_power(&entry.path(), roots);
        }
    }
}

fn text(path: &Path) -> String {
    // O_NONBLOCK: what waits for an event must not make the test wait.
    let open = OpenOptions::new()
        .read(true)
        .custom_flags(0o4000)
        .open(path);
    let mut bytes = Vec::new();
    match open.and_then(|file| file.take(65_536).read_to_end(&mut bytes)) {
        Ok(_) => String::from_utf8_lossy(&bytes).trim().to_owned(),
        Err(err) => format!("error {:?}", err.kind()),
    }
}

/// Returns the names of those that differ.
fn differing(a: &BTreeMap<String, String>, b: &BTreeMap<String, String>) -> BTreeSet<String> {
    let names = a.keys().chain(b.keys());
    let names = names.filter(|name| a.get(*name) != b.get(*name));
    names.cloned().collect()
}

/// Settings that are not as the kernel has them by itself, so that what puts a default back is seen.
struct Unusual(Vec<(PathBuf, String)>);

impl Unusual {
    fn new() -> Self {
        let mut unusual = Self(Vec::new());
        unusual.set("/proc/sys/vm/min_free_kbytes", "30000");
        unusual.set("/sys/devices/system/cpu/cpu1/cpuidle/state1/disable", "1");
        unusual.set(
            "/sys/devices/system/cpu/cpu1/power/pm_qos_resume_latency_us",
            "77",
        );
        for disk in fs::read_dir("/sys/block").into_iter().flatten().flatten() {
            let queue = disk.path().join("queue");
            if !text(&queue.join("scheduler")).contains("[mq-deadline]") {
                continue;
            }
            let file = |name: &str| queue.join(name).display().to_string();
            unusual.set(&file("nr_requests"), "100");
            unusual.set(&file("iosched/async_depth"), "33");
            unusual.set(&file("iosched/read_expire"), "600");
        }
        unusual
    }

    fn set(&mut self, path: &str, value: &str) {
        let path = PathBuf::from(path);
        let old = text(&path);
        if path.exists() && fs::write(&path, value).is_ok() {
            self.0.push((path, old));
        }
    }
}

impl Drop for Unusual {
    fn drop(&mut self) {
        for (path, old) in self.0.iter().rev() {
            fs::write(path, old).unwrap();
        }
    }
}

/// What to set of each knob: small steps, of all instances at once.
fn wishes(live: &Live) -> BTreeMap<String, Vec<String>> {
    let mut wishes: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for knob in live.knobs() {
        let name = knob["knob"].as_str().unwrap().to_owned();
        let value = match name.as_str() {
            "kernel.sched_rt_runtime_us" => Some("900000".to_owned()),
            "cpu.online" if knob["instance"] == "1" => Some("0".to_owned()),
            _ => other_value(&knob),
        };
        if let Some(value) = value.filter(|_| knob["writable"]["answer"] == "yes") {
            let full = match knob["instance"].as_str() {
                Some(instance) => format!("{name}@{instance}"),
                None => name.clone(),
            };
            wishes
                .entry(name)
                .or_default()
                .push(format!("{full}={value}"));
        }
    }
    wishes
}

#[test]
fn each_knob_alone_leaves_every_setting_of_the_machine_as_it_was() {
    let Some(live) = Live::new() else { return };
    let unusual = Unusual::new();
    let wishes = wishes(&live);
    let first = settings();
    std::thread::sleep(Duration::from_millis(500));
    // What changes by itself says nothing.
    let mut by_itself = differing(&first, &settings());
    let mut faults = Vec::new();
    let mut changed = 0;
    for (knob, settings_of_it) in &wishes {
        for attempt in 1.. {
            let before = settings();
            let options = settings_of_it.iter().flat_map(|set| ["--set", set]);
            let applied = finish(live.command(["apply"].into_iter().chain(options)));
            let reverted = live.tune("revert --json");
            let after = settings();
            let mut differ = differing(&before, &after);
            differ.retain(|name| !by_itself.contains(name));
            if differ.is_empty() && reverted.code() == 0 {
                changed += usize::from(applied.code() == 0);
                break;
            }
            // Others use this machine too, and the kernel takes memory in and gives it back: what
            // differs is this knob's doing if it does again.
            if attempt == 3 {
                let values: Vec<_> = differ
                    .iter()
                    .map(|name| (name, before.get(name), after.get(name)))
                    .collect();
                faults.push(format!("{knob}: {values:#?} {reverted:#?}"));
            }
            for name in &differ {
                // As before for the next ones; what is gone cannot be.
                drop(before.get(name).map(|old| fs::write(name, old)));
            }
            if attempt == 3 {
                break;
            }
            std::thread::sleep(Duration::from_millis(300));
            by_itself.extend(differing(&before, &settings()));
        }
    }
    drop(unusual);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(changed >= 30, "{changed} of {}", wishes.len());
}

#[test]
fn the_memory_kept_free_is_as_before_after_huge_pages_were_switched() {
    let Some(live) = Live::new() else { return };
    let (free, pages) = (
        "/proc/sys/vm/min_free_kbytes",
        "/sys/kernel/mm/transparent_hugepage/enabled",
    );
    if !Path::new(pages).exists() {
        machine::skip("thp", "this kernel has no transparent huge pages");
        return;
    }
    let mode = text(Path::new(pages));
    let mut kept = Unusual(vec![(free.into(), text(Path::new(free)))]);
    for (name, other) in [
        ("[never]", "madvise"),
        ("[madvise]", "always"),
        ("[always]", "never"),
    ] {
        if !mode.contains(name) {
            continue;
        }
        // The kernel also sets it when memory comes or goes: then once more.
        let mut seen = Vec::new();
        for _ in 0..5 {
            kept.set(free, "30000");
            live.tune(&format!("apply --set thp.enabled={other}"))
                .fine();
            let reverted = live.tune("revert");
            let now = text(Path::new(free));
            assert_eq!(text(Path::new(pages)), mode);
            if now == "30000" && reverted.code() == 0 {
                return;
            }
            // It is no success that is none.
            assert!(
                now == "30000" || reverted.code() == 4,
                "{now}: {reverted:#?}"
            );
            seen.push((now, reverted.stdout.clone()));
        }
        panic!("{seen:#?}");
    }
}
