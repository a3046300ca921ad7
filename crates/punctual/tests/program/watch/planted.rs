// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Culprits that are planted in the kernel: its soft interrupts, its memory, its CPUs.

use std::path::Path;

use punctual_sys::SysRoot;

use super::{watched, watched_with};
use crate::common::{Home, machine};

#[test]
fn a_flood_of_soft_interrupts_goes_before_the_thread_that_caused_it() {
    let home = Home::alone();
    let Some(seen) = watched(&home, "softirq", 400) else {
        return;
    };
    seen.is_first("softirq", Some("NET_RX"));
    seen.is_counted("softirq", 3);
}

#[test]
fn memory_that_is_asked_for_in_a_cycle_is_named_by_its_call() {
    let home = Home::alone();
    let Some(seen) = watched(&home, "allocation", 400) else {
        return;
    };
    assert_eq!(seen.strikes, 16);
    seen.is_first("call", Some("mmap"));
    seen.is_counted("call", 3);
    // All memory is present, so that no fault takes the blame.
    let habits = seen.record["watched"]["habits"].as_array().unwrap();
    let memory = habits.iter().find(|h| h["rule"]["id"] == "memory-in-cycle");
    assert_eq!(memory.unwrap()["cycles"], seen.strikes - 1);
}

#[test]
fn a_thread_that_is_moved_from_cpu_to_cpu_is_told_so() {
    let home = Home::alone();
    if machine::read(Path::new("/sys/devices/system/cpu/online"))
        .is_none_or(|cpus| cpus.trim() == "0")
    {
        return machine::skip("migration", "one CPU alone");
    }
    let Some(seen) = watched_with(&home, "3300us", "migration", 400) else {
        return;
    };
    seen.is_first("migration", None);
    // The cycles that begin late because of one are counted too: four on an idle machine, five beside other work.
    seen.is_counted("migration", 8);
    let number = |key: &str| seen.thread[key].as_u64().unwrap();
    assert!(
        number("migrations") >= 2 * seen.strikes,
        "{:#}",
        seen.thread
    );
}

/// The last CPU, which is online again when this is dropped.
struct LastCpu(String);

impl LastCpu {
    fn find() -> Option<Self> {
        let online = SysRoot::live()
            .read("/sys/devices/system/cpu/online")
            .ok()?;
        let last = online.trim().rsplit([',', '-']).next()?.to_owned();
        let path = format!("/sys/devices/system/cpu/cpu{last}/online");
        (last != "0" && Path::new(&path).exists()).then_some(Self(path))
    }
}

impl Drop for LastCpu {
    fn drop(&mut self) {
        let sys = SysRoot::live();
        if sys.read(&self.0).is_ok_and(|now| now != "1") {
            sys.write(&self.0, "1").unwrap();
        }
    }
}

/// How long the others stop is up to the machine: that it makes cycles late is shown with a made-up trace.
#[test]
fn a_cpu_that_goes_offline_loses_no_event_and_the_kernels_stopper_is_called_so() {
    let home = Home::alone();
    let Some(last) = LastCpu::find().filter(|_| machine::root()) else {
        return machine::skip("stop-machine", "no CPU that goes offline, or no root");
    };
    let Some(seen) = watched_with(&home, "3500us", "stop-machine", 400) else {
        return;
    };
    assert!(seen.strikes > 0);
    assert_eq!(SysRoot::live().read(&last.0).unwrap(), "1");
    assert_eq!(seen.thread["cycles"], 399);
    let checks = seen.record["checks"].as_array().unwrap();
    let lost = checks.iter().find(|check| check["id"] == "lost-events");
    assert_eq!(lost.unwrap()["status"], "pass", "{lost:?}");
    for culprit in seen.culprits() {
        let name = culprit["name"].as_str().unwrap_or_default();
        let what = culprit["what"].as_str().unwrap();
        assert_eq!(
            name.starts_with("migration/"),
            what.contains("CPU stopper"),
            "{culprit:#}"
        );
    }
}
