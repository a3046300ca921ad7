// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Runs of guests as runs of the store here.

use std::path::PathBuf;
use std::time::SystemTime;

use jiff::Timestamp;
use punctual_kernel::GuestTarget;
use punctual_kernel::boot::{Design, Machine, SHIFT};
use punctual_kernel::guest::{RunAnswer, run_checks};
use punctual_model::{Check, GUEST_RUN_FORMAT, Guest, GuestAgent, GuestTime, Nanos, RunRecord};
use punctual_store::{Raw, Store, StoreError};
use uuid::Uuid;

use super::Visit;

/// The record of a run.
const RECORD: &str = "run.json";

/// The kernel's log, kept with the run.
const CONSOLE: &str = "console.log";

/// Makes the record of a run in a guest of what the guest recorded. None if it made no run.
pub(crate) fn record(
    (target, design, agent): (&GuestTarget, &Design, GuestAgent),
    visit: &Visit,
    answer: &RunAnswer,
    started: SystemTime,
) -> serde_json::Result<Option<RunRecord>> {
    let Some(bytes) = answer.files.get(RECORD) else {
        return Ok(None);
    };
    let mut record: RunRecord = serde_json::from_slice(bytes)?;
    GUEST_RUN_FORMAT.clone_into(&mut record.format);
    // The guest's calendar begins anew each time.
    record.started = Timestamp::try_from(started).ok().map(|t| t.to_string());
    let checks = run_checks(&visit.answer, answer, design, target.asked_model());
    record.checks.extend(checks);
    record.valid = record.checks.iter().all(Check::passed);
    record.guest = Some(Guest {
        kernel_sha256: Some(visit.booted.kernel_sha256.clone()),
        unpacked: visit.booted.unpacked,
        ..guest(target, design, agent)
    });
    if record.is_virtual() {
        // Lists show tags; the figures of an export must not lose it either.
        record.tags.insert("time".to_owned(), "virtual".to_owned());
    }
    Ok(Some(record))
}

/// Puts what a guest sent of a run, with the log of its kernel, into the store.
pub(crate) fn keep(
    store: &Store,
    id: Uuid,
    visit: &Visit,
    answer: &RunAnswer,
    record: &RunRecord,
) -> Result<PathBuf, StoreError> {
    let files = answer.files.iter();
    let files = files.map(|(name, bytes)| (name.as_str(), bytes.as_slice()));
    let log = (CONSOLE, visit.booted.console.as_slice());
    store
        .begin(id, Raw::Drop)?
        .adopt(files.chain([log]), record)
}

/// Describes the guest for the record.
fn guest(target: &GuestTarget, design: &Design, agent: GuestAgent) -> Guest {
    let time = match design.machine {
        Machine::Kvm => GuestTime::Real,
        Machine::Tcg => GuestTime::Emulated,
        Machine::Virtual => GuestTime::Virtual,
    };
    Guest {
        kernel: target.kernel.display().to_string(),
        kernel_sha256: None,
        time,
        instruction_ns: (time == GuestTime::Virtual).then(|| Nanos::new(1 << SHIFT)),
        command_line: design.command_line(),
        cpus: design.cpus,
        memory_bytes: design.memory.get(),
        nodes: (design.nodes > 1).then_some(design.nodes),
        seed: design.seed,
        agent: Some(agent),
        unpacked: false,
    }
}
