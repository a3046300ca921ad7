// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What an earlier session has left, and what that means for whoever comes now.

use punctual_host::journal::Journal;
use punctual_host::session::{Elsewhere, Left, Origin, is_by_number, origin};
use punctual_model::{HostFacts, TuningAction, TuningInEffect, TuningReport};
use punctual_sys::SysRoot;

use super::Place;
use super::keeper::{self, is_alive};
use crate::output::remark;

/// Says, before anything else is done, that an earlier session's changes are still there.
pub(crate) fn remark_on_left(place: &Place) {
    // Whoever may not read the journal gets no remark; a broken journal is an error where it matters.
    let left = place.tuner().map(|tuner| tuner.left());
    match left {
        Ok(Ok(Left::Changes(journal))) => remark(&said_of(&place.sys, &journal)),
        Ok(Ok(Left::OtherBoot(journal))) => remark(&format!(
            "The journal of profile {} is from an earlier boot; the reboot undid its changes.",
            journal.session().profile
        )),
        _ => {}
    }
}

/// Reads the facts of the machine, and what tuning has changed of it.
pub(crate) fn host_facts(sys: &SysRoot) -> HostFacts {
    let left = Place::here().tuner().and_then(|tuner| Ok(tuner.left()?));
    let (tuning, tuning_unknown) = match left {
        Ok(Left::Changes(journal)) => (TuningInEffect::of(&status_of(sys, &journal)), None),
        Ok(Left::Nothing | Left::OtherBoot(_)) => (None, None),
        Err(_) if !punctual_sys::thread::is_root() => {
            (None, Some("only root can see it".to_owned()))
        }
        Err(err) => (None, Some(err.in_one_line())),
    };
    HostFacts {
        tuning,
        tuning_unknown,
        ..punctual_host::inspect(sys)
    }
}

/// Reports what a journal says, without what nobody holds any more.
pub(crate) fn status_of(sys: &SysRoot, journal: &Journal) -> TuningReport {
    let mut report = punctual_host::session::report(journal, TuningAction::Status);
    report.complete = journal.is_complete() && !journal.is_reverting() && !journal.is_damaged();
    let holder = Holder::of(sys, journal);
    let pid = holder.pid;
    let ended = match origin(sys, journal) {
        Origin::Here if holder.is_there() => return report,
        Origin::Here => "has ended",
        Origin::Ended => "has ended with its container",
        Origin::Elsewhere(_) => {
            unseen(&mut report, pid);
            return report;
        }
    };
    if let Some(session) = report.session.as_mut()
        && let Some(until) = session.until.take()
    {
        report.complete = false;
        report.remarks.push(format!(
            "nobody reverts this at {until}: process {pid}, which would have, {ended}; `punctual tune revert` does it"
        ));
    }
    for held in std::mem::take(&mut report.held) {
        report.complete = false;
        report.remarks.push(format!(
            "{} is NOT held: process {pid}, which held it, {ended}; to hold it again, `punctual tune revert` and apply again",
            held.knob
        ));
    }
    report
}

/// Says of what a process of another namespace holds, or is to do, that it is not known here whether it does.
fn unseen(report: &mut TuningReport, pid: u32) {
    let until = report
        .session
        .as_ref()
        .and_then(|session| session.until.as_ref());
    let until = until.map(|until| format!("is to revert this at {until}"));
    let held = std::mem::take(&mut report.held);
    report.complete &= held.is_empty();
    let held = held.iter().map(|held| format!("is to hold {}", held.knob));
    let unseen = until.into_iter().chain(held).map(|what| {
        format!(
            "process {pid} of another namespace {what}; whether it still runs is not known here"
        )
    });
    report.remarks.extend(unseen);
}

/// The process that holds what a session holds.
struct Holder {
    pid: u32,
    /// When it started, in clock ticks after boot.
    started_ticks: Option<u64>,
    /// When it had started at the latest.
    before_ticks: u64,
}

impl Holder {
    /// What is applied to stay is held by its keeper, anything else by the process that began it.
    fn of(sys: &SysRoot, journal: &Journal) -> Self {
        let session = journal.session();
        let keeper = journal.keeper().filter(|_| session.purpose == "apply");
        Self {
            pid: keeper.map_or(session.pid, |keeper| keeper.pid),
            started_ticks: keeper.map(|keeper| keeper.started_ticks),
            // A captured machine's time is not that of our processes.
            before_ticks: match sys.is_live() {
                true => journal.header().started_ticks,
                false => u64::MAX,
            },
        }
    }

    fn is_there(&self) -> bool {
        match self.started_ticks {
            Some(ticks) => is_alive(self.pid, Some(ticks)),
            None => keeper::started(self.pid).is_some_and(|at| at <= self.before_ticks),
        }
    }
}

/// Whether a session is still to be ended by a process that can be seen from here.
pub(crate) fn is_awaited(sys: &SysRoot, journal: &Journal) -> bool {
    let kept = |keeper: &punctual_host::journal::SessionKeeper| {
        is_alive(keeper.pid, Some(keeper.started_ticks))
    };
    origin(sys, journal) == Origin::Here
        && (journal.keeper().is_some_and(kept) || is_alive(journal.session().pid, None))
}

/// Says what a journal means for whoever comes now.
pub(crate) fn said_of(sys: &SysRoot, journal: &Journal) -> String {
    let session = journal.session();
    let how = match origin(sys, journal) {
        Origin::Elsewhere(place) => how_elsewhere(&place, journal),
        Origin::Ended => format!("{}. Its container has ended", how_here(journal, false)),
        Origin::Here => how_here(journal, is_alive(session.pid, None)).to_owned(),
    };
    format!(
        "Tuned: profile {} ({}, since {}) {how}.",
        session.profile, session.purpose, session.started
    )
}

fn how_here(journal: &Journal, alive: bool) -> &'static str {
    let scoped = journal.session().purpose != "apply";
    if journal.is_reverting() {
        "is taken back in part: `punctual tune revert` takes back the rest"
    } else if !alive && (scoped || !journal.is_complete()) {
        "was interrupted before its changes were reverted: `punctual tune revert` undoes them"
    } else if scoped {
        "is at work"
    } else {
        "is applied; `punctual tune revert` undoes it"
    }
}

/// Says where a session is from, and where it can be taken back.
fn how_elsewhere(place: &Elsewhere, journal: &Journal) -> String {
    match is_by_number(journal) {
        true => format!("was made in {place}: {}", place.where_to_revert()),
        false => format!("was made in {place}; `punctual tune revert` undoes it here too"),
    }
}
