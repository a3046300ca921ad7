// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Threads inherit the CPUs of the thread that starts them. Those that a moved thread started since
//! are given what it had, if they still have what it was given.

use std::collections::BTreeMap;

use punctual_model::{CpuSet, Gathered as _, StepReport, Target, Undone, masks_agree};
use punctual_sys::SysRoot;

use super::revert::Cpus;
use crate::journal::{Entry, Journal};
use crate::knob::{Access, Thread, list_threads};

/// Generations that are looked at: whoever is deeper has inherited from one of them.
const GENERATIONS: usize = 64;

/// Gives the threads that were started by moved ones their CPUs back.
pub(super) fn give_back(
    journal: &Journal,
    access: &dyn Access,
    sys: &SysRoot,
    cpus: Cpus<'_>,
) -> Vec<StepReport> {
    let moved: BTreeMap<i32, &Entry> = journal
        .entries()
        .iter()
        .filter(|(entry, progress)| {
            entry.new.is_some()
                && progress.outcome.as_ref().is_some_and(|o| o.is_fine())
                // Its number may be another's by now, also in another namespace.
                && progress.undone != Some(Undone::Gone)
        })
        .filter_map(|(entry, _)| match &entry.target {
            Target::ThreadCpus(thread) => Some((thread.tid, entry)),
            _ => None,
        })
        .into_map();
    if moved.is_empty() {
        return Vec::new();
    }
    let threads = list_threads(sys);
    let parents: BTreeMap<i32, i32> = threads.iter().map(|t| (t.process, t.parent)).into_map();
    let began = journal.header().started_ticks;
    threads
        .iter()
        .filter(|thread| thread.id.started_ticks >= began && !thread.fixed)
        .filter(|thread| !moved.contains_key(&thread.id.tid))
        .filter_map(|thread| {
            let entry = heir_of(thread, &moved, &parents)?;
            let given = entry.new.as_deref()?;
            masks_agree(&thread.cpus.to_string(), given, cpus.online)
                .then(|| restore(thread, entry, access, cpus.known))
        })
        .collect()
}

/// Finds the moved thread that this one has its CPUs from.
fn heir_of<'a>(
    thread: &Thread,
    moved: &BTreeMap<i32, &'a Entry>,
    parents: &BTreeMap<i32, i32>,
) -> Option<&'a Entry> {
    let mut process = thread.process;
    for _ in 0..GENERATIONS {
        if let Some(entry) = moved.get(&process) {
            return Some(entry);
        }
        process = *parents.get(&process)?;
    }
    None
}

fn restore(thread: &Thread, entry: &Entry, access: &dyn Access, known: &CpuSet) -> StepReport {
    let target = Target::ThreadCpus(thread.id.clone());
    let undone = match access.write(&target, &entry.old) {
        Ok(()) => match access.read(&target) {
            // It may be in a cpuset that has only some of them, and had no others before.
            Ok(value) if masks_agree(&value, &entry.old, known) || is_part(&value, &entry.old) => {
                Undone::Restored
            }
            Ok(value) => Undone::NotRestored { value },
            Err(_) => Undone::Gone,
        },
        Err(err) if err.fault == crate::knob::Fault::Gone => Undone::Gone,
        Err(err) => Undone::Refused { reason: err.reason },
    };
    StepReport {
        knob: entry.knob.clone(),
        instance: Some(thread.id.tid.to_string()),
        target,
        old: entry.old.clone(),
        new: entry.new.clone(),
        begun: false,
        outcome: None,
        undone: Some(undone),
    }
}

/// Whether these are CPUs, and none but those of `all`.
fn is_part(some: &str, all: &str) -> bool {
    match (some.parse::<CpuSet>(), all.parse::<CpuSet>()) {
        (Ok(some), Ok(all)) => !some.is_empty() && some.common(&all) == some,
        _ => false,
    }
}
