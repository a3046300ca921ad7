// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Nothing that the program changes outlives it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::common::{Home, machine};

/// What a measurement could have changed, by file.
fn settings() -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for path in [
        "/proc/sys/kernel/sched_rt_runtime_us",
        "/proc/sys/kernel/sched_rt_period_us",
        "/proc/sys/kernel/timer_migration",
        "/proc/sys/vm/swappiness",
        "/sys/devices/system/cpu/online",
        "/sys/devices/system/cpu/cpuidle/current_governor",
        "/sys/devices/system/clocksource/clocksource0/current_clocksource",
        "/proc/irq/default_smp_affinity",
    ] {
        found.extend(machine::read(Path::new(path)).map(|value| (path.to_owned(), value)));
    }
    let irqs = fs::read_dir("/proc/irq").into_iter().flatten().flatten();
    for path in irqs.map(|irq| irq.path().join("smp_affinity")) {
        let value = machine::read(&path);
        found.extend(value.map(|value| (path.display().to_string(), value)));
    }
    found
}

#[test]
fn a_measurement_changes_nothing_that_outlives_it() {
    let home = Home::alone();
    let (before, latency) = (settings(), machine::dma_latency());
    let own = machine::threads(std::process::id());
    if machine::root() {
        home.measure("--threads 3 --priority-spread --duration 300ms --load cpu:1,memory:1M");
        home.measure("--threads 1 --priority d:500us:1ms --pin none --samples 20");
    }
    home.quick(&[]);
    assert_eq!(settings(), before);
    assert!(machine::dma_latency_is_back(latency));
    assert!(machine::processes_of(&home.store()).is_empty());
    let policies = |threads: &[machine::Thread]| threads.iter().map(|t| t.policy).max();
    assert_eq!(
        policies(&machine::threads(std::process::id())),
        policies(&own)
    );
}

#[test]
fn a_measurement_writes_to_its_store_alone() {
    let home = Home::new();
    let elsewhere = home.dir().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let mut command = home.command(crate::common::QUICK);
    for variable in ["HOME", "XDG_DATA_HOME", "TMPDIR"] {
        command.env(variable, &elsewhere);
    }
    command.current_dir(&elsewhere);
    crate::common::finish(command).record();
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
    let mut names: Vec<_> = fs::read_dir(home.store())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["lock", "runs", "store.json"]);
}
