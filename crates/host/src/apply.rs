// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Makes the writes of a plan, and takes them back.

mod inherit;
mod revert;

use punctual_model::{Codec, CpuSet, PlanStep, StepOutcome, Target, Undone};

use crate::journal::{Entry, Journal, JournalError, Progress, Record, agree};
use crate::knob::{Access, AccessError, Fault, Knob, find};

pub use revert::{Reverted, revert};

/// What happens to the other settings when one is unavailable.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum OnFailure {
    /// They are applied.
    GoOn,
    /// None of them stays.
    RollBack,
}

/// How the writing of a plan ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Applied {
    /// Every setting was dealt with.
    Complete,
    /// One was unavailable, and the others are to be rolled back.
    Failed,
    /// The end was asked for.
    Interrupted,
}

/// Who changes the settings, and how.
#[derive(Clone, Copy)]
pub struct Hand<'a> {
    /// Where the settings are.
    pub access: &'a dyn Access,
    /// Online CPUs before anything was changed.
    pub online: &'a CpuSet,
    /// What happens when one is unavailable.
    pub on_failure: OnFailure,
    /// Whether the end was asked for.
    pub stop: &'a dyn Fn() -> bool,
}

impl std::fmt::Debug for Hand<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hand")
            .field("online", self.online)
            .field("on_failure", &self.on_failure)
            .finish_non_exhaustive()
    }
}

/// Makes the writes that `journal` was begun with.
///
/// # Errors
///
/// Fails when the journal cannot be written. What was written to the machine before is in it.
pub fn apply(journal: &mut Journal, hand: &Hand<'_>) -> Result<Applied, JournalError> {
    let ended = write_from(journal, 0, hand)?;
    if ended != Applied::Complete {
        return Ok(ended);
    }
    let all: Vec<(usize, Entry, Progress)> = journal
        .entries()
        .iter()
        .enumerate()
        .filter(|(_, (entry, _))| !entry.is_lost())
        // A thread may have moved itself: that is no doing of the kernel's.
        .filter(|(_, (entry, _))| entry.new.is_none() || entry.target.thread().is_none())
        .map(|(seq, (entry, progress))| (seq, entry.clone(), progress.clone()))
        .collect();
    for (seq, entry, progress) in &all {
        let value = value(hand.access, &entry.target, entry.codec).ok();
        if entry.new.is_none() {
            journal.note(Record::After { seq: *seq, value })?;
            continue;
        }
        // A later step may have moved it: the kernel makes another value of it after all.
        let last = |(_, other, _): &&(usize, Entry, Progress)| other.target == entry.target;
        let is_last = all.iter().rev().find(last).map(|(seq, ..)| seq) == Some(seq);
        let Some(value) = value.filter(|_| is_last) else {
            continue;
        };
        if let Some(given) = given(entry, progress)
            && !agree(&entry.target, entry.codec, &value, &given, hand.online)
        {
            let outcome = StepOutcome::Normalised { value };
            journal.note(Record::Done { seq: *seq, outcome })?;
        }
    }
    journal.note(Record::Complete)?;
    Ok(Applied::Complete)
}

/// Returns the value that a step has given its setting, if it has.
fn given(entry: &Entry, progress: &Progress) -> Option<String> {
    match progress.outcome.as_ref()? {
        StepOutcome::Applied => entry.new.clone(),
        StepOutcome::Normalised { value } => Some(value.clone()),
        _ => None,
    }
}

/// Makes further writes in the same session.
///
/// # Errors
///
/// Fails as [`apply`] does.
pub fn apply_more(
    journal: &mut Journal,
    steps: &[PlanStep],
    hand: &Hand<'_>,
) -> Result<Applied, JournalError> {
    let first = journal.entries().len();
    journal.add(steps)?;
    write_from(journal, first, hand)
}

fn write_from(
    journal: &mut Journal,
    first: usize,
    hand: &Hand<'_>,
) -> Result<Applied, JournalError> {
    let mut followers = followers(journal);
    for seq in first..journal.entries().len() {
        let Some((entry, _)) = journal.entries().get(seq) else {
            break;
        };
        let Some(new) = entry.new.clone() else {
            continue;
        };
        if (hand.stop)() {
            return Ok(Applied::Interrupted);
        }
        let entry = entry.clone();
        journal.note(Record::Begin { seq })?;
        let reads = |follower: &Entry| {
            value(hand.access, &follower.target, follower.codec).is_ok_and(|now| {
                agree(
                    &follower.target,
                    follower.codec,
                    &now,
                    &follower.old,
                    hand.online,
                )
            })
        };
        let other = |follower: &Entry| follower.target != entry.target;
        // There may be many threads, and hardly a step changes them.
        let leads = find(&entry.knob).is_some_and(Knob::places_threads);
        let led =
            |follower: &Entry| other(follower) && (leads || follower.target.thread().is_none());
        let before: Vec<bool> = followers.iter().map(|f| led(f) && reads(f)).collect();
        let follower = followers.iter().find(|follower| !other(follower));
        let write = Write {
            target: &entry.target,
            codec: entry.codec,
            old: follower.map_or(&entry.old, |follower| &follower.old),
            new: &new,
        };
        let outcome = write.make(hand);
        for (follower, _) in followers.iter_mut().zip(before).filter(|(_, was)| *was) {
            if let Ok(now) = value(hand.access, &follower.target, follower.codec) {
                follower.old = now;
            }
        }
        let failed = outcome.is_failure_of(&entry.knob);
        journal.note(Record::Done { seq, outcome })?;
        if failed && hand.on_failure == OnFailure::RollBack {
            return Ok(Applied::Failed);
        }
    }
    Ok(Applied::Complete)
}

/// Lists the steps whose settings the kernel moves because of others: they are kept besides. What this
/// session's own writes make of them is no wish of somebody else's.
fn followers(journal: &Journal) -> Vec<Entry> {
    let entries = || journal.entries().iter().map(|(entry, _)| entry);
    let kept = |step: &&Entry| entries().any(|e| e.new.is_none() && e.target == step.target);
    let steps = entries().filter(|entry| entry.new.is_some());
    steps.filter(kept).cloned().collect()
}

/// One write and what is expected of it.
struct Write<'a> {
    target: &'a Target,
    codec: Codec,
    old: &'a str,
    new: &'a str,
}

impl Write<'_> {
    fn make(&self, hand: &Hand<'_>) -> StepOutcome {
        let same = |a: &str, b: &str| agree(self.target, self.codec, a, b, hand.online);
        // Someone may have changed it since the plan was made: then the journal has not its value.
        match value(hand.access, self.target, self.codec) {
            Ok(value) if same(&value, self.new) => return StepOutcome::AlreadySo,
            Ok(value) if !same(&value, self.old) => {
                return StepOutcome::ChangedMeanwhile { value };
            }
            Ok(_) => {}
            Err(err) if err.fault == Fault::Refused => {
                return StepOutcome::Unreadable { reason: err.reason };
            }
            Err(err) => return gone_or_hung(err),
        }
        let written = self.codec.written(self.new);
        if let Err(err) = hand.access.write(self.target, &written) {
            return gone_or_hung(err);
        }
        match value(hand.access, self.target, self.codec) {
            Ok(value) if same(&value, self.new) => StepOutcome::Applied,
            Ok(value) if same(&value, self.old) => StepOutcome::Ignored,
            // `isolated invalid (...)`: a partition that the kernel could not make.
            Ok(value) if value.contains(" invalid") => StepOutcome::Invalid { value },
            Ok(value) => StepOutcome::Normalised { value },
            Err(err) if err.fault == Fault::Refused => {
                StepOutcome::Unreadable { reason: err.reason }
            }
            Err(err) => gone_or_hung(err),
        }
    }
}

fn gone_or_hung(err: AccessError) -> StepOutcome {
    match err.fault {
        Fault::Gone => StepOutcome::Vanished,
        Fault::Hung => StepOutcome::Hung,
        Fault::Refused => StepOutcome::Refused { reason: err.reason },
    }
}

/// A setting that was applied and now reads differently.
#[derive(Debug)]
pub(crate) struct Deviation {
    pub(crate) target: Target,
    /// What it reads.
    pub(crate) value: String,
    /// The same in words.
    pub(crate) said: String,
}

/// Lists the settings that were applied and now read differently.
pub(crate) fn deviations(
    journal: &Journal,
    access: &dyn Access,
    online: &CpuSet,
) -> Vec<Deviation> {
    let applied = journal
        .entries()
        .iter()
        // What a revert has taken back already is nobody else's doing.
        .filter(|(_, progress)| !progress.undone.as_ref().is_some_and(Undone::is_fine))
        .filter_map(|(entry, progress)| Some((entry, given(entry, progress)?)));
    // The last step of a setting that has several is the one that counts.
    let mut last: Vec<(&Entry, String)> = Vec::new();
    for (entry, given) in applied {
        last.retain(|(other, _)| other.target != entry.target);
        last.push((entry, given));
    }
    let differing = last.into_iter().filter_map(|(entry, given)| {
        let now = value(access, &entry.target, entry.codec).ok()?;
        // One that was killed may not have said so.
        let same = |value: &str| agree(&entry.target, entry.codec, &now, value, online);
        let same = same(&given) || journal.is_reverting() && same(&entry.old);
        let name = entry.full_name();
        (!same).then(|| Deviation {
            target: entry.target.clone(),
            said: format!("{name} reads {now} now, not {given}: another program set it"),
            value: now,
        })
    });
    differing.collect()
}

/// Reads a setting in canonical form.
fn value(access: &dyn Access, target: &Target, codec: Codec) -> Result<String, AccessError> {
    let raw = access.read(target)?;
    codec.canonical(&raw).map_err(|err| AccessError {
        what: target.to_string(),
        fault: Fault::Refused,
        reason: err.to_string(),
    })
}

#[cfg(test)]
mod tests;
