// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A set's file and its analysis, before it runs.

use std::path::Path;

use punctual_model::tasks::{CriticalSection, TaskPolicy, TaskSet, TasksPlan};
use punctual_model::{CpuSet, Nanos, json};
use punctual_sys::SysRoot;
use punctual_tasks::{Limits, check, critical_instant};

use super::TasksArgs;
use crate::cpus::{cpus, usable};
use crate::error::CliError;
use crate::sets;

/// The most that a guest is given as an argument: the kernel takes 128 KiB.
const GUEST_LIMIT: usize = 120 << 10;

/// Analyses the set for this machine.
pub(super) fn here(home: Option<&Path>, args: &TasksArgs) -> Result<TasksPlan, CliError> {
    let sys = SysRoot::live();
    let there = cpus(&sys)?;
    let all = match &args.common.cpus {
        Some(list) => usable("--cpus", list, &there)?,
        None => there.allowed.clone(),
    };
    let (set, not_understood) = prepared(home, args)?;
    for task in set.tasks.iter().filter(|task| !task.cpus.is_empty()) {
        usable(&format!("task {}: cpus", task.name), &task.cpus, &there)?;
    }
    let limits = sets::limits(&sys, &there.online);
    Ok(plan(&set, not_understood, &all, &limits))
}

/// Analyses the set for a guest with this number of CPUs, and returns the options that the guest gets.
pub(crate) fn for_guest(
    home: Option<&Path>,
    args: &TasksArgs,
    count: u32,
) -> Result<Vec<String>, CliError> {
    let machine: CpuSet = (0..count).collect();
    let (set, not_understood) = prepared(home, args)?;
    let all = args.common.cpus.as_ref().unwrap_or(&machine);
    for cpus in set.tasks.iter().map(|task| &task.cpus).chain([all]) {
        let missing = cpus.without(&machine);
        if !missing.is_empty() {
            return Err(
                CliError::usage(format!("CPU {missing}: the guest has only {machine}"))
                    .hint("run all tasks on it: --cpus 0"),
            );
        }
    }
    // Which kernel it is only the guest knows, so its admission is the kernel's alone.
    let limits = Limits {
        server_ns: None,
        ..Limits::usual(count)
    };
    let found = plan(&set, not_understood, all, &limits);
    let json = json::line(&found)
        .map_err(|err| CliError::failed_to("give the set to the guest").because(err))?;
    let json = String::from_utf8_lossy(&json).into_owned();
    if json.len() > GUEST_LIMIT {
        let tasks = set.tasks.len();
        return Err(CliError::usage(format!(
            "{}: with its analysis the set of {tasks} tasks is too large for a guest",
            args.path().display()
        )));
    }
    Ok(vec!["--analysed".to_owned(), json])
}

fn plan(set: &TaskSet, not_understood: Vec<String>, cpus: &CpuSet, limits: &Limits) -> TasksPlan {
    let check = check(set, not_understood, cpus, limits);
    TasksPlan {
        critical: critical_instant(&check),
        check,
    }
}

/// Reads the set and makes it the one that runs.
fn prepared(home: Option<&Path>, args: &TasksArgs) -> Result<(TaskSet, Vec<String>), CliError> {
    let longer = |span: &mut Nanos| *span = scaled(*span, args.scale);
    let change = |set: &mut TaskSet| {
        for task in &mut set.tasks {
            if args.common.cpus.is_some() {
                task.cpus = CpuSet::default();
            }
            longer(&mut task.execution_ns);
            if let TaskPolicy::Deadline { runtime_ns } = &mut task.policy {
                longer(runtime_ns);
            }
            stretch(&mut task.sections, args.scale);
        }
    };
    sets::read(home, args.path(), args.overheads.as_deref(), change)
}

fn stretch(sections: &mut [CriticalSection], factor: f64) {
    for section in sections {
        section.length_ns = scaled(section.length_ns, factor);
        stretch(&mut section.sections, factor);
    }
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a day times a thousand; beyond the range it saturates"
)]
fn scaled(span: Nanos, factor: f64) -> Nanos {
    Nanos::new((span.get() as f64 * factor).round().max(1.0) as u64)
}
