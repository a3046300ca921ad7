// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Takes back what a journal has, newest first.
//!
//! A setting is written only if it reads what this session gave it. Anything else is someone else's
//! wish, and stays.
//!
//! The kernel changes some settings because of others, on the way back too. Whether such a setting is
//! somebody else's wish is therefore judged before the first write, and noted; those that are not are
//! put back last. What was refused is tried once more after that: some old values the kernel takes only
//! when another setting is back. In the end everything that was taken back is read once more.
//!
//! A thread is as before if it may run on every CPU that it could run on then, also on one that has gone
//! offline since. Older kernels (seen: 5.10 and 6.1) cut that one off when the old mask is written.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use punctual_model::{
    CpuId, CpuSet, Gathered as _, Ordered as _, StepOutcome, StepReport, Target, Undone,
};
use punctual_sys::SysRoot;

use super::inherit;
use crate::journal::{Entry, Journal, Progress, Record, agree};
use crate::knob::{Access, AccessError, Fault};
use crate::plan::PARTITION;

/// How a revert ended.
#[derive(Clone, Debug)]
pub struct Reverted {
    /// Every setting that was dealt with, in that order.
    pub steps: Vec<StepReport>,
    /// Whether everything is as it was before.
    pub complete: bool,
    /// Whether what is not could perhaps be taken back later.
    pub again: bool,
    /// Offline CPUs that threads cannot be given back before they are online.
    pub missing: CpuSet,
}

/// The CPUs that matter to the masks of threads.
#[derive(Clone, Copy)]
pub(super) struct Cpus<'a> {
    /// Those that are online: who set a mask is judged by these alone.
    pub(super) online: &'a CpuSet,
    /// Those that are there, or were when the session began: a thread gets them back.
    pub(super) known: &'a CpuSet,
}

/// What there is to do about a setting.
enum Due {
    /// Nothing: it was never written, or is done with.
    Nothing,
    /// Write the old value where this one reads; any other one is someone else's.
    From(String),
    /// The same, where this one reads or one on the way to it: the write may have been cut off.
    Towards(String),
    /// Write the old value, whatever reads: the kernel itself changed it.
    Always,
    /// Leave it: somebody else has set it.
    Leave,
}

/// Rounds in which what the kernel has moved meanwhile is put back.
const ROUNDS: usize = 3;

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
    let known = known(journal, sys, online);
    let cpus = Cpus {
        online,
        known: &known,
    };
    let theirs = theirs(journal, access, online);
    if !journal.is_reverting() {
        let theirs = theirs.iter().copied().collect();
        drop(journal.note(Record::Revert { theirs }));
    }
    let ours = ours(journal, access, online);
    let moved_by_kernel = threads_kept(journal, &theirs);
    let mut moved = still_back(journal, access, &known);
    // What was dealt with, the newest first.
    let mut dealt: Vec<(usize, Undone)> = Vec::new();
    for seq in order(journal) {
        let Some((entry, progress)) = journal.entries().get(seq).cloned() else {
            continue;
        };
        let due = match theirs.contains(&seq) {
            true => Due::Leave,
            false => match due(&entry, &progress, journal) {
                Due::From(_) if is_in_use(&entry, sys) => Due::Leave,
                Due::From(_)
                    if ours.contains(&entry.target) || moved_by_kernel.contains(&entry.target) =>
                {
                    Due::Always
                }
                due => due,
            },
        };
        let undone = match due {
            Due::Nothing => match progress.undone {
                Some(undone) => undone,
                None => continue,
            },
            due => {
                let undone = write_back(&entry, &due, access, cpus)
                    .unwrap_or_else(|| read_back(&entry, access, cpus));
                note(journal, seq, &undone);
                if undone.is_fine() {
                    moved.insert(seq);
                }
                undone
            }
        };
        dealt.push((seq, undone));
    }
    try_again(journal, &mut moved, &mut dealt, access, cpus);
    settle(journal, &moved, &mut dealt, access, cpus);
    let mut steps: Vec<StepReport> = dealt
        .into_iter()
        .filter_map(|(seq, undone)| {
            let (entry, progress) = journal.entries().get(seq)?;
            Some(entry.report(&Progress {
                undone: Some(undone),
                ..progress.clone()
            }))
        })
        .collect();
    let again = |undone: &Undone| {
        matches!(
            undone,
            Undone::Refused { .. } | Undone::NotRestored { .. } | Undone::Hung
        )
    };
    let again = steps.iter().filter_map(|s| s.undone.as_ref()).any(again);
    steps.extend(inherit::give_back(journal, access, sys, cpus));
    // Those that the session itself took offline are back by now.
    let online = sys.fact("/sys/devices/system/cpu/online");
    let offline = known.without(&online.unwrap_or_else(|| cpus.online.clone()));
    let missing = steps.iter().flat_map(|step| cut_off(step, &offline));
    let missing: CpuSet = missing.collect();
    let fine = |step: &StepReport| step.undone.as_ref().is_some_and(Undone::is_fine);
    Reverted {
        complete: !journal.is_damaged() && steps.iter().all(fine),
        again: again || !missing.is_empty(),
        missing,
        steps,
    }
}

/// Lists the CPUs that are online, or were when the session began and can be again.
fn known(journal: &Journal, sys: &SysRoot, online: &CpuSet) -> CpuSet {
    let before = journal.header().online.clone().unwrap_or_default();
    // One that was taken out of the machine is nothing that a thread could get back.
    let there: Option<CpuSet> = sys.fact("/sys/devices/system/cpu/present");
    let there = there.unwrap_or_else(|| before.clone());
    online.iter().chain(before.common(&there).iter()).collect()
}

/// Lists those of `offline` that a thread had before and has not got back.
fn cut_off(step: &StepReport, offline: &CpuSet) -> Vec<CpuId> {
    match (&step.target, &step.undone) {
        (Target::ThreadCpus(_), Some(Undone::NotRestored { value })) => {
            let old: CpuSet = step.old.parse().unwrap_or_default();
            let now: CpuSet = value.parse().unwrap_or_default();
            old.common(offline).without(&now).iter().collect()
        }
        _ => Vec::new(),
    }
}

/// Lists the settings, the newest first. A set of CPUs or memory that was empty cannot be emptied while
/// processes are in its group: a group that was made goes first, with its processes, and takes the set along.
fn order(journal: &Journal) -> Vec<usize> {
    let entries = journal.entries();
    let group = |seq: usize| {
        let (entry, _) = entries.get(seq)?;
        if !entry.old.is_empty() {
            return None;
        }
        let (above, _) = file(entry)?.rsplit_once('/')?;
        entries.iter().position(
            |(made, _)| matches!(&made.target, Target::Directory { path } if path == above),
        )
    };
    let mut order: Vec<usize> = (0..entries.len()).rev().collect();
    order.order_by_key(|seq| match group(*seq) {
        Some(group) => (Reverse(group), true),
        None => (Reverse(*seq), false),
    });
    order
}

fn file(entry: &Entry) -> Option<&str> {
    match &entry.target {
        Target::File { path } => Some(path),
        _ => None,
    }
}

fn note(journal: &mut Journal, seq: usize, undone: &Undone) {
    let undone = undone.clone();
    drop(journal.note(Record::Undone { seq, undone }));
}

/// Lists the settings that were only kept and that somebody else has set since everything was applied.
/// After the first write of a revert that can no longer be told: it is what was noted then.
fn theirs(journal: &Journal, access: &dyn Access, online: &CpuSet) -> BTreeSet<usize> {
    let is_theirs = |entry: &Entry, progress: &Progress| {
        let Some(Some(after)) = &progress.after else {
            return false;
        };
        let Ok(now) = super::value(access, &entry.target, entry.codec) else {
            return false;
        };
        let same = |a: &str, b: &str| agree(&entry.target, entry.codec, a, b, online);
        // A thread whose CPU went is let onto all others when it wakes up, which may be later.
        let freed = entry.target.thread().is_some()
            && now.parse().is_ok_and(|set| online.without(&set).is_empty());
        !same(&now, after) && !same(&now, &entry.old) && !freed
    };
    let entries = journal.entries().iter().enumerate();
    let found = entries.filter(|(_, (entry, progress))| {
        if journal.is_reverting() {
            progress.theirs
        } else {
            entry.new.is_none() && progress.undone.is_none() && is_theirs(entry, progress)
        }
    });
    found.map(|(seq, _)| seq).into_set()
}

/// Lists the threads whose CPUs were kept besides, and that nobody else has moved: what they read now is the kernel's doing.
fn threads_kept(journal: &Journal, theirs: &BTreeSet<usize>) -> BTreeSet<Target> {
    let entries = journal.entries().iter().enumerate();
    let kept = entries.filter(|(seq, (entry, _))| {
        entry.new.is_none() && entry.target.thread().is_some() && !theirs.contains(seq)
    });
    kept.map(|(_, (entry, _))| entry.target.clone()).into_set()
}

/// Lists the settings that read what this session gave them: what they read later, while others are
/// taken back, is the kernel's doing.
fn ours(journal: &Journal, access: &dyn Access, online: &CpuSet) -> Vec<Target> {
    // Of several steps the last one counts.
    let mut last: Vec<(&Entry, String)> = Vec::new();
    for (entry, progress) in journal.entries() {
        if let Due::From(given) = due(entry, progress, journal)
            && entry.target.thread().is_none()
        {
            last.retain(|(other, _)| other.target != entry.target);
            last.push((entry, given));
        }
    }
    let found = last.into_iter().filter(|(entry, given)| {
        super::value(access, &entry.target, entry.codec)
            .is_ok_and(|now| agree(&entry.target, entry.codec, &now, given, online))
    });
    found.map(|(entry, _)| entry.target.clone()).collect()
}

/// Lists the settings that were only kept and that an earlier try has put back, as far as they still
/// are: what this one takes back may move them again.
fn still_back(journal: &Journal, access: &dyn Access, known: &CpuSet) -> BTreeSet<usize> {
    let entries = journal.entries().iter().enumerate();
    let back = entries.filter(|(_, (entry, progress))| {
        entry.new.is_none()
            && progress.undone.as_ref().is_some_and(Undone::is_fine)
            && super::value(access, &entry.target, entry.codec)
                .is_ok_and(|now| agree(&entry.target, entry.codec, &now, &entry.old, known))
    });
    back.map(|(seq, _)| seq).into_set()
}

/// Tries once more what the kernel refused: it may take the old value only now that another setting is
/// back, or have brought it with that one. A disk's queue is as deep as it was once its scheduler is back.
///
/// Nothing is read back before everything is written. Of the lockup watchdogs' switches, the main one and one
/// of the others must be on for either to have an effect; until then, reading one resets it (Linux 6.12 and
/// older, `proc_watchdog_common`).
fn try_again(
    journal: &mut Journal,
    moved: &mut BTreeSet<usize>,
    dealt: &mut [(usize, Undone)],
    access: &dyn Access,
    cpus: Cpus<'_>,
) {
    let target = |seq: usize| Some(&journal.entries().get(seq)?.0.target);
    let refused =
        |undone: &Undone| matches!(undone, Undone::Refused { .. } | Undone::NotRestored { .. });
    let again = dealt.iter().filter(|(_, undone)| refused(undone));
    let again = again.filter_map(|(seq, _)| {
        let same = || {
            let all = dealt.iter();
            all.filter(|(other, _)| target(*other) == target(*seq))
        };
        // Of several steps the first has the value that it was before.
        let (first, _) = same().min_by_key(|(other, _)| *other)?;
        let theirs = same().any(|(_, undone)| matches!(undone, Undone::Conflict { .. }));
        (!theirs).then_some((*seq, *first))
    });
    let written = again.filter_map(|(seq, first)| {
        let (entry, _) = journal.entries().get(first)?;
        let known = write_back(entry, &Due::Always, access, cpus);
        Some((seq, entry.clone(), known))
    });
    for (seq, entry, known) in written.collect::<Vec<_>>() {
        let undone = known.unwrap_or_else(|| read_back(&entry, access, cpus));
        note(journal, seq, &undone);
        if undone.is_fine() {
            moved.insert(seq);
        }
        if let Some((_, said)) = dealt.iter_mut().find(|(other, _)| *other == seq) {
            *said = undone;
        }
    }
}

/// Reads everything once more that was taken back, and puts back what the kernel has moved meanwhile.
fn settle(
    journal: &mut Journal,
    moved: &BTreeSet<usize>,
    dealt: &mut [(usize, Undone)],
    access: &dyn Access,
    cpus: Cpus<'_>,
) {
    // A setting that several steps change was as the first of them found it.
    let mut all: Vec<(usize, Entry)> = Vec::new();
    for (seq, (entry, _)) in journal.entries().iter().enumerate() {
        let known = all.iter().any(|(_, other)| other.target == entry.target);
        if moved.contains(&seq) && !known {
            all.push((seq, entry.clone()));
        }
    }
    let failed = |target: &Target| {
        dealt.iter().any(|(seq, undone)| {
            let entry = journal.entries().get(*seq);
            !undone.is_fine() && entry.is_some_and(|(entry, _)| entry.target == *target)
        })
    };
    all.retain(|(_, entry)| !failed(&entry.target));
    // None where it is as before, or gone.
    let differs = |entry: &Entry| {
        let now = super::value(access, &entry.target, entry.codec).ok()?;
        (!is_back(entry, &now, access, cpus.known)).then_some(now)
    };
    let mut say = |journal: &mut Journal, seq: usize, undone: Undone| {
        note(journal, seq, &undone);
        if let Some((_, said)) = dealt.iter_mut().find(|(other, _)| *other == seq) {
            *said = undone;
        }
    };
    for _ in 0..ROUNDS {
        let mut quiet = true;
        for (seq, entry) in all.iter().rev() {
            if differs(entry).is_none() {
                continue;
            }
            quiet = false;
            match put_back(entry, access) {
                Ok(()) => say(journal, *seq, Undone::Restored),
                Err(err) => say(journal, *seq, lost(err, entry)),
            }
        }
        if quiet {
            return;
        }
    }
    for (seq, entry) in &all {
        if let Some(value) = differs(entry) {
            say(journal, *seq, Undone::NotRestored { value });
        }
    }
}

fn due(entry: &Entry, progress: &Progress, journal: &Journal) -> Due {
    if entry.is_lost() || progress.undone.as_ref().is_some_and(Undone::is_fine) {
        return Due::Nothing;
    }
    let Some(new) = &entry.new else {
        // Kept only: the kernel may have changed it as soon as the first write was made.
        let entries = journal.entries();
        let any = entries.iter().any(|(_, other)| other.begun);
        // A step of the same setting that found somebody else's value has left it.
        let left = entries.iter().any(|(other, progress)| {
            let outcome = progress.outcome.as_ref();
            other.target == entry.target
                && matches!(outcome, Some(StepOutcome::ChangedMeanwhile { .. }))
        });
        return if any && !left {
            Due::Always
        } else {
            Due::Nothing
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
        None | Some(StepOutcome::Hung) if entry.is_stepwise() => Due::Towards(new.clone()),
        // Nothing is known to have been written: only what reads as wanted is ours.
        _ => Due::From(new.clone()),
    }
}

/// Whether a number lies between two others.
fn is_between(value: &str, a: &str, b: &str) -> bool {
    let number = |text: &str| text.trim().parse::<u64>().ok();
    let (Some(value), Some(a), Some(b)) = (number(value), number(a), number(b)) else {
        return false;
    };
    (a.min(b)..=a.max(b)).contains(&value)
}

/// Whether other groups have come to use a controller that this session switched on: without it their limits would be gone.
fn is_in_use(entry: &Entry, sys: &SysRoot) -> bool {
    let Target::Controller { path, .. } = &entry.target else {
        return false;
    };
    let Some((root, _)) = path.rsplit_once('/') else {
        return false;
    };
    let limits = |group: &String| {
        ["cpuset.cpus", "cpuset.mems"].iter().any(|file| {
            sys.read(&format!("{root}/{group}/{file}"))
                .is_ok_and(|list| !list.trim().is_empty())
        })
    };
    let groups = sys.names(root).unwrap_or_default();
    groups
        .iter()
        .any(|group| group != PARTITION && limits(group))
}

/// Writes the old value, unless something speaks against it: then it returns what became of the setting.
fn write_back(entry: &Entry, due: &Due, access: &dyn Access, cpus: Cpus<'_>) -> Option<Undone> {
    let same = |a: &str, b: &str, cpus| agree(&entry.target, entry.codec, a, b, cpus);
    let found = match super::value(access, &entry.target, entry.codec) {
        Ok(value) => value,
        Err(err) => return Some(lost(err, entry)),
    };
    if same(&found, &entry.old, cpus.known) {
        return Some(Undone::AlreadyBack);
    }
    let ours = match due {
        Due::From(ours) => same(&found, ours, cpus.online),
        Due::Towards(ours) => {
            same(&found, ours, cpus.online) || is_between(&found, &entry.old, ours)
        }
        Due::Always => true,
        Due::Leave | Due::Nothing => false,
    };
    if !ours {
        return Some(match is_back(entry, &found, access, cpus.known) {
            true => Undone::AlreadyBack,
            false => Undone::Conflict { value: found },
        });
    }
    put_back(entry, access).err().map(|err| lost(err, entry))
}

/// Reads what was written back.
fn read_back(entry: &Entry, access: &dyn Access, cpus: Cpus<'_>) -> Undone {
    match super::value(access, &entry.target, entry.codec) {
        Ok(value) if is_back(entry, &value, access, cpus.known) => Undone::Restored,
        Ok(value) => Undone::NotRestored { value },
        Err(err) => lost(err, entry),
    }
}

/// Writes the old value. The kernel refuses to empty the CPUs of a group that has processes: with all CPUs
/// of the group above it is as free as it was.
fn put_back(entry: &Entry, access: &dyn Access) -> Result<(), AccessError> {
    let write = |value: &str| access.write(&entry.target, &entry.codec.written(value));
    let written = write(&entry.old);
    match all_cpus(entry, access) {
        Some(all) if written.as_ref().is_err_and(|e| e.fault == Fault::Refused) => {
            write(&all.to_string())
        }
        _ => written,
    }
}

/// Whether a setting that reads `now` is as it was before.
fn is_back(entry: &Entry, now: &str, access: &dyn Access, known: &CpuSet) -> bool {
    agree(&entry.target, entry.codec, now, &entry.old, known)
        || all_cpus(entry, access).is_some_and(|all| {
            now.parse()
                .is_ok_and(|now: CpuSet| all.without(&now).is_empty())
        })
}

/// Returns the CPUs that a group can have, where it is not limited to some of them by itself.
fn all_cpus(entry: &Entry, access: &dyn Access) -> Option<CpuSet> {
    let group = file(entry)?.strip_suffix("/cpuset.cpus")?;
    let (above, _) = group.rsplit_once('/').filter(|_| entry.old.is_empty())?;
    let above = format!("{above}/cpuset.cpus.effective");
    [above.as_str(), "/sys/devices/system/cpu/possible"]
        .into_iter()
        .filter_map(|path| access.read(&Target::file(path)).ok()?.trim().parse().ok())
        .find(|cpus: &CpuSet| !cpus.is_empty())
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
