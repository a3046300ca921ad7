// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A session of tuning: the locks, the journal, and the machine, put together.
//!
//! ```text
//! Tuner::begin(plan) -> Session            locks, journal on disk; nothing is changed yet
//! Tuner::claim() -> Claim                  locks alone, for several sessions: nobody else has one in between
//! Session::apply()                         writes, each noted before and after
//! Session::keep()    or Session::revert()  locks dropped, changes stay; or all taken back
//! Tuner::revert()                          what an earlier session left
//! ```
//!
//! What is changed is known in two places, see `places`.

mod claim;
mod origin;
mod places;

use std::path::{Path, PathBuf};
use std::time::Duration;

use punctual_model::{
    CpuSet, KeptSession, Nanos, Plan, PlanStep, StepOutcome, StepReport, TUNING_FORMAT, Target,
    TuningAction, TuningReport, Undone,
};
use punctual_sys::SysRoot;

use crate::apply::{self, Applied, Deviation, Hand, OnFailure, Reverted};
use crate::journal::{Found, Journal, JournalError, Record, SessionKeeper, discard_empty};
use crate::knob::{Live, Patient, Scope, Survey};
use crate::plan::{PlanOptions, plan_threads};
use crate::private_dir::{PrivateDir, PrivateDirError};
use crate::profile::Profile;
pub use claim::Claim;
pub use origin::{Elsewhere, Origin, is_by_number, origin};
use places::whole;

/// How long a setting may take to be read or written. Taking a CPU offline takes tenths of a second
/// on a machine under load, setting many huge pages aside longer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Clock ticks of `/proc` a second: `USER_HZ`, which is 100 on every architecture that we build for.
const TICKS_A_SECOND: u64 = 100;

/// Rounds in which threads are looked for that started while others were moved.
const ROUNDS: usize = 5;

/// A session could not begin or end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// The directory, the locks.
    #[error(transparent)]
    State(#[from] PrivateDirError),
    /// The journal.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// Changes of an earlier session are still there.
    #[error(
        "the changes of profile {} ({}, {}) are not reverted{}{}",
        session.profile, session.purpose, session.started,
        not_as_wanted(wanted), journal_of(state.as_deref())
    )]
    Unreverted {
        /// The session.
        session: Box<KeptSession>,
        /// The knobs that are not as they are wanted now.
        wanted: Vec<String>,
        /// The directory of its journal, if that is another one.
        state: Option<PathBuf>,
    },
    /// The machine-wide record cannot be read, and nothing else says what is changed.
    #[error("read the machine-wide record of what is tuned")]
    Record(#[source] Box<Self>),
    /// Its threads and processes have their numbers in another namespace.
    #[error(
        "the changes of profile {} ({}, {}) were made in {place}",
        session.profile, session.purpose, session.started
    )]
    Elsewhere {
        /// The session.
        session: Box<KeptSession>,
        /// Where that is.
        place: Elsewhere,
    },
    /// The machine's files.
    #[error(transparent)]
    Machine(#[from] punctual_sys::PathError),
}

/// Names the first knobs that are not as wanted.
fn not_as_wanted(knobs: &[String]) -> String {
    const NAMED: usize = 3;
    let names: Vec<&str> = knobs.iter().take(NAMED).map(String::as_str).collect();
    let more = match knobs.len().saturating_sub(NAMED) {
        0 if names.is_empty() => return String::new(),
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("; not as wanted now: {}{more}", names.join(", "))
}

fn journal_of(state: Option<&Path>) -> String {
    state.map_or_else(String::new, |state| {
        format!("; their journal is in {}", state.display())
    })
}

/// What an earlier session has left.
#[derive(Debug)]
pub enum Left {
    /// Nothing.
    Nothing,
    /// A journal whose changes went with the boot in which they were made.
    OtherBoot(Box<Journal>),
    /// Changes.
    Changes(Box<Journal>),
}

/// What a session is for.
#[derive(Clone, Debug)]
pub struct Purpose {
    /// Its id, unique.
    pub id: String,
    /// `apply`, `run`, `measure` or `trial`.
    pub name: String,
    /// Now, RFC 3339 in UTC.
    pub started: String,
    /// When it ends by itself, RFC 3339 in UTC.
    pub until: Option<String>,
    /// The program and its version.
    pub program: String,
}

/// Where tuning happens.
#[derive(Clone, Debug)]
pub struct Tuner {
    sys: SysRoot,
    dir: PathBuf,
    boot_id: String,
}

impl Tuner {
    /// Prepares to tune the machine of `sys`, with the journal in `dir`.
    ///
    /// # Errors
    ///
    /// Fails where the kernel does not tell its boot id.
    pub fn new(sys: &SysRoot, dir: &Path) -> Result<Self, SessionError> {
        // Without it a journal could not be told from an earlier boot's.
        let boot_id = sys.read("/proc/sys/kernel/random/boot_id")?;
        Ok(Self {
            sys: sys.clone(),
            dir: dir.to_owned(),
            boot_id: boot_id.trim().to_owned(),
        })
    }

    /// Looks for what an earlier session has left, without changing anything.
    ///
    /// # Errors
    ///
    /// Fails where the journal cannot be read.
    pub fn left(&self) -> Result<Left, SessionError> {
        Ok(match self.known()? {
            Found::Nothing | Found::Empty(_) => Left::Nothing,
            Found::Session(journal) if self.is_current(&journal) => {
                // Killed before it did anything, and nobody will.
                if is_untouched(&journal) && self.at_work()?.is_none() {
                    Left::Nothing
                } else {
                    Left::Changes(journal)
                }
            }
            Found::Session(journal) => Left::OtherBoot(journal),
        })
    }

    /// Says who is changing the machine right now.
    ///
    /// # Errors
    ///
    /// Fails where the lock cannot be looked at.
    pub fn at_work(&self) -> Result<Option<String>, SessionError> {
        if let Some(dir) = PrivateDir::open(&self.dir)?
            && let Some(holder) = dir.holder()?
        {
            return Ok(Some(holder));
        }
        match self.record()? {
            Some(dir) => Ok(dir.holder()?),
            None => Ok(None),
        }
    }

    /// Whether a journal is of this boot.
    fn is_current(&self, journal: &Journal) -> bool {
        journal.session().boot_id == self.boot_id
    }

    /// Begins a session: takes the locks, and writes the journal. The machine is not changed yet.
    ///
    /// # Errors
    ///
    /// Fails when another tuner is at work, when the changes of an earlier session are still there,
    /// and when the journal cannot be written.
    pub fn begin(&self, plan: Plan, purpose: Purpose) -> Result<Session, SessionError> {
        self.claim(&purpose.name)?.begin(plan, purpose)
    }

    /// Takes back what an earlier session has left; only that of `id`, if it is given. Waits up to
    /// `patience` for a tuner that is at work.
    ///
    /// # Errors
    ///
    /// Fails when another tuner stays at work, and where the journal cannot be read or written.
    pub fn revert(
        &self,
        id: Option<&str>,
        patience: Duration,
    ) -> Result<Option<TuningReport>, SessionError> {
        let pid = std::process::id();
        let _locks = match self.locks_to_revert(&format!("process {pid} (revert)"), patience)? {
            locks if locks.is_empty() => return Ok(None),
            locks => locks,
        };
        let journal = match self.known() {
            Ok(Found::Nothing) => {
                self.close_ended()?;
                return Ok(None);
            }
            Ok(Found::Empty(dir)) => {
                discard_empty(&dir)?;
                return Ok(None);
            }
            Ok(Found::Session(journal)) => *journal,
            Err(SessionError::Record(err)) if id.is_none() => {
                return self.without_record(*err).map(Some);
            }
            Err(SessionError::Journal(err @ JournalError::Damaged { .. })) if id.is_none() => {
                return self.without_journal(&err);
            }
            Err(err) => return Err(err),
        };
        if id.is_some_and(|id| id != journal.session().id) {
            return Ok(None);
        }
        if !self.is_current(&journal) {
            let mut report = report(&journal, TuningAction::Revert);
            // Whoever held a limit ended with that boot.
            report.held.clear();
            report.remarks.push(
                "these changes were made before the last reboot, which undid them; nothing was \
                 written"
                    .to_owned(),
            );
            journal.close()?;
            return Ok(Some(report));
        }
        let report = self.take_back(journal)?;
        if report.complete {
            self.drop_damaged_record()?;
        }
        Ok(Some(report))
    }

    /// Puts into the report of a session which settings do not read as it left them: someone else set them.
    pub fn compare(&self, journal: &Journal, report: &mut TuningReport) {
        let access = self.access();
        let online = online(&self.sys);
        for Deviation {
            target,
            value,
            said,
        } in apply::deviations(journal, &access, &online)
        {
            report.complete = false;
            report.remarks.push(said);
            let is = |step: &&mut StepReport| step.new.is_some() && step.target == target;
            if let Some(step) = report.steps.iter_mut().rfind(is) {
                step.outcome = Some(StepOutcome::ChangedMeanwhile { value });
            }
        }
    }

    /// Lists what the last session could not put back, if it was of this boot.
    ///
    /// # Errors
    ///
    /// Fails where its journal cannot be read.
    pub fn last_faults(&self) -> Result<Vec<String>, SessionError> {
        let Some(dir) = PrivateDir::open(&self.dir)? else {
            return Ok(Vec::new());
        };
        let Some(journal) = Journal::find_last(dir)? else {
            return Ok(Vec::new());
        };
        if journal.session().boot_id != self.boot_id {
            return Ok(Vec::new());
        }
        let faults = journal.report().into_iter().filter_map(|step| {
            let name = step.full_name();
            match step.undone {
                Some(Undone::Conflict { value }) => Some(format!(
                    "the last session ({}) left {name} at {value}, which another program had set; \
                     it was {} before",
                    journal.session().profile,
                    step.old
                )),
                _ => None,
            }
        });
        Ok(faults.collect())
    }

    fn access(&self) -> Patient<Live> {
        Patient::new(Live::new(self.sys.clone()), PATIENCE)
    }
}

/// Whether a session had not changed anything yet: it has neither begun a write nor a keeper.
fn is_untouched(journal: &Journal) -> bool {
    let begun = journal.entries().iter().any(|(_, progress)| progress.begun);
    !begun && !journal.is_complete() && journal.keeper().is_none()
}

/// Changes that are being made, with the locks held.
#[derive(Debug)]
pub struct Session {
    tuner: Tuner,
    access: Patient<Live>,
    _claim: Claim,
    journal: Journal,
    plan: Plan,
}

impl Session {
    /// Returns its id.
    pub fn id(&self) -> &str {
        &self.journal.session().id
    }

    /// Returns the plan.
    pub const fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Notes which process keeps watch over the session.
    ///
    /// # Errors
    ///
    /// Fails where the journal cannot be written.
    pub fn kept_by(&mut self, keeper: SessionKeeper) -> Result<(), SessionError> {
        Ok(self.journal.note(Record::Keeper(keeper))?)
    }

    /// Makes the writes.
    ///
    /// # Errors
    ///
    /// Fails when the journal cannot be written. The session is still there to be reverted.
    pub fn apply(
        &mut self,
        on_failure: OnFailure,
        stop: &dyn Fn() -> bool,
    ) -> Result<Applied, SessionError> {
        let online = self.plan.cpus_online.clone();
        let hand = Hand {
            access: &self.access,
            online: &online,
            on_failure,
            stop,
        };
        Ok(apply::apply(&mut self.journal, &hand)?)
    }

    /// Moves the threads that started while the others were moved.
    ///
    /// # Errors
    ///
    /// Fails as [`Session::apply`] does.
    pub fn follow_threads(
        &mut self,
        profile: &Profile,
        options: &PlanOptions,
        stop: &dyn Fn() -> bool,
    ) -> Result<(), SessionError> {
        let moved = |step: &PlanStep| matches!(step.target, Target::ThreadCpus(_));
        if !self.plan.steps.iter().any(moved) {
            return Ok(());
        }
        for _ in 0..ROUNDS {
            let survey = Survey::read(&self.tuner.sys, Scope::WithThreads, true);
            let more = plan_threads(profile, &survey, &self.plan, options);
            if more.is_empty() || stop() {
                break;
            }
            let online = self.plan.cpus_online.clone();
            let hand = Hand {
                access: &self.access,
                online: &online,
                on_failure: OnFailure::GoOn,
                stop,
            };
            apply::apply_more(&mut self.journal, &more, &hand)?;
            self.plan.steps.extend(more);
        }
        Ok(())
    }

    /// Reports what has become of every setting.
    pub fn report(&self) -> TuningReport {
        let mut report = report(&self.journal, TuningAction::Apply);
        report.complete = !report.steps.iter().any(StepReport::is_failure);
        report
    }

    /// Leaves the changes in place, and lets others work.
    pub fn keep(self) -> KeptSession {
        self.journal.session().clone()
    }

    /// Takes everything back.
    ///
    /// # Errors
    ///
    /// Fails where the journal cannot be written.
    pub fn revert(self) -> Result<TuningReport, SessionError> {
        take_back(self.journal, &self.access, &self.tuner)
    }
}

fn take_back(
    mut journal: Journal,
    access: &Patient<Live>,
    tuner: &Tuner,
) -> Result<TuningReport, SessionError> {
    let sys = &tuner.sys;
    // Those that are online now: a CPU that someone else took offline is no difference of ours.
    let online = online(sys);
    // A line that was cut off is gone as soon as another one is appended.
    let mut report = report(&journal, TuningAction::Revert);
    let Reverted {
        steps,
        complete,
        again,
        missing,
    } = apply::revert(&mut journal, access, sys, &online);
    report.steps = steps;
    report.complete = complete;
    if !missing.is_empty() {
        report.remarks.push(without(&missing));
    }
    if again {
        report
            .remarks
            .push("the journal is kept: `punctual tune revert` can be tried again".to_owned());
    } else {
        let id = journal.session().id.clone();
        match journal.close() {
            Err(JournalError::State(err)) if err.is_read_only() => report.remarks.push(format!(
                "its journal stays: {}; `punctual tune revert` ends it once it can be written",
                whole(&err)
            )),
            closed => {
                closed?;
                tuner.note_ended(&id);
            }
        }
    }
    Ok(report)
}

/// Says why threads did not get all their CPUs back.
fn without(missing: &CpuSet) -> String {
    let (cpus, are, them, they) = match missing.only() {
        Some(_) => ("CPU", "is", "it", "it"),
        None => ("CPUs", "are", "them", "they"),
    };
    format!(
        "{cpus} {missing} {are} offline: this kernel adds {them} to a thread's CPUs only once {they} {are} \
         online; revert again then"
    )
}

fn online(sys: &SysRoot) -> CpuSet {
    sys.fact("/sys/devices/system/cpu/online")
        .unwrap_or_default()
}

/// Reports a journal as it is.
pub fn report(journal: &Journal, action: TuningAction) -> TuningReport {
    let mut remarks = journal.remarks().to_vec();
    if journal.is_torn() {
        remarks.push(
            "the last line of the journal was cut off: its writer was interrupted before it made \
             that change"
                .to_owned(),
        );
    }
    remarks.extend(journal.damage());
    TuningReport {
        format: TUNING_FORMAT.to_owned(),
        action,
        session: Some(journal.session().clone()),
        steps: journal.report(),
        held: journal.header().held.clone(),
        complete: true,
        remarks,
    }
}

/// Returns the time since boot in clock ticks, as `/proc` counts the starts of threads.
pub fn ticks_now(sys: &SysRoot) -> u64 {
    let text = sys.read("/proc/uptime").unwrap_or_default();
    let uptime: Option<Nanos> = text
        .split_whitespace()
        .next()
        .and_then(|seconds| format!("{seconds}s").parse().ok());
    uptime.map_or(0, |uptime| uptime.get() / (1_000_000_000 / TICKS_A_SECOND))
}

#[cfg(test)]
mod tests;
