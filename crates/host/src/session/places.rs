// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Where it is known what is changed.
//!
//! There may be many directories with journals, but there is one machine: so each session keeps a
//! second copy of its journal in [`RECORD`], which is root's alone and goes with the boot, as the
//! changes do. Either copy undoes the session. The record says in whose directory the other one is,
//! so that a tuner that is given another directory finds it, and so that a deleted journal is no
//! reason to say that nothing is changed.
//!
//! | the record | the journal here | what counts |
//! |---|---|---|
//! | is of this boot | is of the same session | whichever knows more; what is noted goes to both |
//! | is of this boot | gone, damaged, no file, or none | the record, with the journal in the directory that it names |
//! | is of this boot | another session of this boot | the session that began later: undoing goes backwards |
//! | gone, or of another boot | | the journal here; if it is damaged, nothing is known: an error |
//! | says that the session ended | is of that session | nothing: it was taken back from a root that does not have this directory |
//! | cannot be read | of this boot | the journal here, with a remark |
//! | cannot be read | none | nothing is known: an error |

use std::error::Error;
use std::path::Path;
use std::time::Duration;

use punctual_model::{TuningAction, TuningReport};

use super::{SessionError, Tuner, is_untouched};
use crate::journal::{Found, Journal, JournalError, set_aside};
use crate::private_dir::{Lock, PrivateDir, PrivateDirError};

/// The directory of the machine-wide record and of the machine's lock.
const RECORD: &str = "/run/punctual";

/// The file in it that lists the sessions that ended, by their ids.
const ENDED: &str = "ended";

/// How many of them it keeps: the last ones.
const MOST_ENDED: usize = 1_000;

/// Where it would be made: a machine without it keeps no record.
const ABOVE: &str = "/run";

impl Tuner {
    /// Opens the directory of the machine-wide record, if there is one.
    pub(super) fn record(&self) -> Result<Option<PrivateDir>, SessionError> {
        if !self.sys.exists(ABOVE) {
            return Ok(None);
        }
        Ok(PrivateDir::open(&self.sys.within(RECORD)?)?)
    }

    /// Opens it, and makes it where there is none.
    pub(super) fn made_record(&self) -> Result<Option<PrivateDir>, SessionError> {
        if !self.sys.exists(ABOVE) {
            return Ok(None);
        }
        Ok(Some(PrivateDir::create(&self.sys.within(RECORD)?)?))
    }

    /// Takes the locks of what is there to be reverted; none if nothing is.
    ///
    /// A record that cannot be trusted is in nobody's way here: the journal alone undoes its session.
    pub(super) fn locks_to_revert(
        &self,
        who: &str,
        patience: Duration,
    ) -> Result<Vec<Lock>, SessionError> {
        let mut locks = Vec::new();
        if let Some(dir) = PrivateDir::open(&self.dir)? {
            locks.push(dir.lock(who, patience)?);
        }
        let record = self.record().and_then(|record| {
            let lock = record.map(|record| record.lock(who, patience));
            Ok(lock.transpose()?)
        });
        match record {
            Err(err) if locks.is_empty() || is_busy(&err) => return Err(err),
            // There is none, or none that could be used.
            lock => locks.extend(lock.ok().flatten()),
        }
        Ok(locks)
    }

    /// Finds the session whose changes are the machine's.
    pub(super) fn known(&self) -> Result<Found, SessionError> {
        let own = match PrivateDir::open(&self.dir)? {
            Some(dir) => Journal::find(dir),
            None => Ok(Found::Nothing),
        };
        let own = match own {
            Ok(Found::Session(own)) if self.has_ended(&own.session().id) => Ok(Found::Nothing),
            own => own,
        };
        let record = self.record().and_then(|record| match record {
            Some(dir) => Ok(Journal::find(dir)?),
            None => Ok(Found::Nothing),
        });
        let record = match record {
            Ok(Found::Session(record)) if self.is_current(&record) => *record,
            // One of another boot is nobody's, and the next session takes its place.
            Ok(_) => return Ok(own?),
            Err(err) => return self.in_spite_of(err, own?),
        };
        match own {
            Ok(Found::Session(own)) if own.session().id == record.session().id => {
                Ok(session(own.joined(record)))
            }
            Ok(Found::Session(own)) if self.is_later(&own, &record) => Ok(session(*own)),
            Ok(_) => Ok(session(self.with_its_journal(record))),
            // Damaged, or no file at all, such as a directory or a link that leads elsewhere.
            Err(err @ (JournalError::Damaged { .. } | JournalError::State(_)))
                if self.is_ours(&record) =>
            {
                let mut record = record;
                record.remark(format!(
                    "{}: the machine-wide record is used instead",
                    whole(&err)
                ));
                if let Some(dir) = PrivateDir::open(&self.dir)? {
                    record.join_damaged(dir);
                }
                Ok(session(record))
            }
            Err(err) => Err(err.into()),
        }
    }

    /// Lists the sessions that ended, the last one last.
    fn ended(&self) -> Vec<String> {
        let Ok(Some(dir)) = self.record() else {
            return Vec::new();
        };
        let text = dir.read(ENDED).ok().flatten().unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        text.lines().map(str::to_owned).collect()
    }

    /// Whether the machine-wide record says that a session ended: then its journal here is left over, because whoever reverted
    /// it has other files at this path.
    fn has_ended(&self, id: &str) -> bool {
        let is_last = || {
            let dir = self.record().ok()??;
            let last = Journal::find_last(dir).ok()??;
            Some(self.is_current(&last) && last.session().id == id)
        };
        self.ended().iter().any(|ended| ended == id) || is_last().unwrap_or_default()
    }

    /// Notes that a session ended.
    pub(super) fn note_ended(&self, id: &str) {
        let Ok(Some(dir)) = self.record() else {
            return;
        };
        let mut ended = self.ended();
        ended.push(id.to_owned());
        let first = ended.len().saturating_sub(MOST_ENDED);
        let kept: String = ended
            .iter()
            .skip(first)
            .map(|id| format!("{id}\n"))
            .collect();
        // It ended all the same, and its files say so.
        drop(dir.write(ENDED, kept.as_bytes(), 0));
    }

    /// Ends the journal here of a session that ended elsewhere.
    pub(super) fn close_ended(&self) -> Result<(), SessionError> {
        let Some(dir) = PrivateDir::open(&self.dir)? else {
            return Ok(());
        };
        match Journal::find(dir)? {
            Found::Session(own) if self.has_ended(&own.session().id) => Ok(own.close()?),
            _ => Ok(()),
        }
    }

    /// Whether a record is of a session whose journal is in this tuner's directory.
    fn is_ours(&self, record: &Journal) -> bool {
        let state = record.header().state.as_ref();
        state.is_none_or(|state| *state == self.dir)
    }

    /// Whether the journal of another session is of changes that were made after the record's.
    fn is_later(&self, own: &Journal, record: &Journal) -> bool {
        let began = |journal: &Journal| journal.header().began();
        self.is_current(own)
            && !is_untouched(own)
            && (is_untouched(record) || began(own) > began(record))
    }

    /// Adds the journal of the same session, wherever it is.
    fn with_its_journal(&self, mut record: Journal) -> Journal {
        let gone = |place: &Path| {
            format!(
                "{} has no journal of this, as seen from here: this is from the machine-wide record",
                place.display()
            )
        };
        let Some(place) = record
            .header()
            .state
            .clone()
            .filter(|_| !self.is_ours(&record))
        else {
            record.remark(gone(&self.dir));
            return record;
        };
        // What a captured machine's record says of directories means nothing here.
        let found = match self.sys.is_live() || place.starts_with(self.sys.full("/")) {
            true => PrivateDir::open(&place).map(|dir| dir.map(Journal::find)),
            false => Ok(None),
        };
        match found {
            Ok(Some(Ok(Found::Session(journal))))
                if journal.session().id == record.session().id =>
            {
                let mut joined = journal.joined(record);
                joined.remark(format!("the journal is in {}", place.display()));
                joined
            }
            _ => {
                record.remark(gone(&place));
                record
            }
        }
    }

    /// What is known where the record cannot be read.
    fn in_spite_of(&self, err: SessionError, own: Found) -> Result<Found, SessionError> {
        match own {
            Found::Session(mut own) if self.is_current(&own) => {
                own.remark(format!(
                    "the machine-wide record cannot be used: {}",
                    whole(&err)
                ));
                Ok(Found::Session(own))
            }
            _ => Err(SessionError::Record(Box::new(err))),
        }
    }

    /// Moves a record that cannot be read out of the way, once nothing is changed any more.
    pub(super) fn drop_damaged_record(&self) -> Result<(), SessionError> {
        // One that cannot even be opened has been remarked on, and is not touched.
        let Ok(Some(dir)) = self.record() else {
            return Ok(());
        };
        let damaged = matches!(Journal::find(dir), Err(JournalError::Damaged { .. }));
        match self.record()?.filter(|_| damaged) {
            Some(dir) => Ok(set_aside(&dir)?),
            None => Ok(()),
        }
    }

    /// Reverts where nothing says what is changed: moves a damaged record out of the way.
    pub(super) fn without_record(&self, err: SessionError) -> Result<TuningReport, SessionError> {
        let damaged = matches!(err, SessionError::Journal(JournalError::Damaged { .. }));
        let Some(dir) = self.record().ok().flatten().filter(|_| damaged) else {
            return Err(SessionError::Record(Box::new(err)));
        };
        unknown(&err, "record", &dir)
    }

    /// Reverts where the journal here cannot be read, and no record knows its session: moves it out of the way, and
    /// takes back what the record knows of another directory.
    pub(super) fn without_journal(
        &self,
        err: &JournalError,
    ) -> Result<Option<TuningReport>, SessionError> {
        let Some(dir) = PrivateDir::open(&self.dir)? else {
            return Ok(None);
        };
        let unknown = unknown(err, "journal", &dir)?;
        let Ok(Found::Session(journal)) = self.known() else {
            return Ok(Some(unknown));
        };
        let mut report = self.take_back(*journal)?;
        report.complete = false;
        report.remarks.push(format!(
            "{}: its changes are unknown, and only those of the session in the machine-wide record were taken back; \
             the journal is kept as {}/journal.damaged; a reboot restores every setting",
            whole(err),
            dir.path().display()
        ));
        Ok(Some(report))
    }
}

/// Moves what cannot be read out of the way, and reports that.
fn unknown(err: &dyn Error, what: &str, dir: &PrivateDir) -> Result<TuningReport, SessionError> {
    set_aside(dir)?;
    let remark = format!(
        "{}: the changes are unknown, and nothing was written; the {what} is kept as \
         {}/journal.damaged; a reboot restores every setting",
        whole(err),
        dir.path().display()
    );
    Ok(TuningReport {
        complete: false,
        ..TuningReport::remark(TuningAction::Revert, remark)
    })
}

fn session(journal: Journal) -> Found {
    Found::Session(Box::new(journal))
}

fn is_busy(err: &SessionError) -> bool {
    matches!(err, SessionError::State(PrivateDirError::Busy { .. }))
}

/// Says an error with its causes.
pub(super) fn whole(err: &dyn Error) -> String {
    let mut said = err.to_string();
    let mut cause = err.source();
    while let Some(err) = cause {
        said = format!("{said}: {err}");
        cause = err.source();
    }
    said
}
