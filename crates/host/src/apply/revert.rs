// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Takes back what a journal has, newest first.
//!
//! A setting is written only if it reads what this session gave it. Anything else is someone else's
//! wish, and stays.

use punctual_model::{CpuSet, StepOutcome, StepReport, Target, Undone};
use punctual_sys::SysRoot;

use super::inherit;
use crate::journal::{Entry, Journal, Progress, Record, agree};
use crate::knob::{Access, AccessError, Fault};

/// How a revert ended.
#[derive(Clone, Debug)]
pub struct Reverted {
    /// Every setting that was dealt with, in that order.
    pub steps: Vec<StepReport>,
    /// Whether everything is as it was before.
    pub complete: bool,
    /// Whether what is not could perhaps be taken back later.
    pub again: bool,
}

/// What there is to do about a setting.
enum Due {
    /// Nothing: it was never written, or is done with.
    Nothing,
    /// Write the old value where this one reads; any other one is someone else's.
    From(String),
    /// Write the old value, whatever reads: the kernel itself changed it.
    Always,
}

/// Takes back the session of `journal`. Threads that inherited from a moved one are looked for in
/// `sys`.
///
/// A journal that cannot be written any more is no reason to stop: what was done can be seen on the
/// machine, should this be interrupted.
pub fn revert(
    journal: &mut Journal,
    access: &dyn Access,
    sys: &SysRoot,
    online: &CpuSet,
) -> Reverted {
    let mut reverted = Reverted {
        steps: Vec::new(),
        complete: journal.damaged_lines().is_empty(),
        again: false,
    };
    for seq in (0..journal.entries().len()).rev() {
        let Some((entry, progress)) = journal.entries().get(seq).cloned() else {
            continue;
        };
        let undone = match due(&entry, &progress, journal) {
            Due::Nothing => match progress.undone {
                Some(undone) => undone,
                None => continue,
            },
            due => {
                let undone = undo(&entry, &due, access, online);
                let noted = undone.clone();
                drop(journal.note(Record::Undone { seq, undone: noted }));
                undone
            }
        };
        reverted.complete &= undone.is_fine();
        reverted.again |= matches!(
            undone,
            Undone::Refused { .. } | Undone::NotRestored { .. } | Undone::Hung
        );
        reverted.steps.push(entry.report(&Progress {
            undone: Some(undone),
            ..progress
        }));
    }
    let inherited = inherit::give_back(journal, access, sys, online);
    reverted.complete &= inherited
        .iter()
        .all(|step| step.undone.as_ref().is_some_and(Undone::is_fine));
    reverted.steps.extend(inherited);
    reverted
}

fn due(entry: &Entry, progress: &Progress, journal: &Journal) -> Due {
    if entry.is_lost() || progress.undone.as_ref().is_some_and(Undone::is_fine) {
        return Due::Nothing;
    }
    let Some(new) = &entry.new else {
        // Kept only: the kernel may have changed it as soon as the first write was made.
        let any = journal.entries().iter().any(|(_, other)| other.begun);
        return match &progress.after {
            _ if !any => Due::Nothing,
            Some(Some(after)) => Due::From(after.clone()),
            _ => Due::Always,
        };
    };
    if !progress.begun {
        return Due::Nothing;
    }
    match &progress.outcome {
        Some(
            StepOutcome::AlreadySo | StepOutcome::Vanished | StepOutcome::ChangedMeanwhile { .. },
        ) => Due::Nothing,
        Some(StepOutcome::Normalised { value } | StepOutcome::Invalid { value }) => {
            Due::From(value.clone())
        }
        // Nothing is known to have been written: only what reads as wanted is ours.
        _ => Due::From(new.clone()),
    }
}

fn undo(entry: &Entry, due: &Due, access: &dyn Access, online: &CpuSet) -> Undone {
    let same = |a: &str, b: &str| agree(&entry.target, entry.codec, a, b, online);
    let found = match super::value(access, &entry.target, entry.codec) {
        Ok(value) => value,
        Err(err) => return lost(err, entry),
    };
    if same(&found, &entry.old) {
        return Undone::AlreadyBack;
    }
    if let Due::From(ours) = due
        && !same(&found, ours)
    {
        return Undone::Conflict { value: found };
    }
    if let Err(err) = access.write(&entry.target, &entry.codec.written(&entry.old)) {
        return lost(err, entry);
    }
    match super::value(access, &entry.target, entry.codec) {
        Ok(value) if same(&value, &entry.old) => Undone::Restored,
        Ok(value) => Undone::NotRestored { value },
        Err(err) => lost(err, entry),
    }
}

fn lost(err: AccessError, entry: &Entry) -> Undone {
    match err.fault {
        // A group that was made and is gone is as it was before.
        Fault::Gone if matches!(entry.target, Target::Directory { .. }) => Undone::AlreadyBack,
        Fault::Gone => Undone::Gone,
        Fault::Hung => Undone::Hung,
        Fault::Refused => Undone::Refused { reason: err.reason },
    }
}
