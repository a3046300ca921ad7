// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What undoes a change, on disk before the change is made.
//!
//! A journal is one file of JSON Lines, described in docs/formats/journal.md. Its first part, a header
//! and every setting with its old and its wanted value, is written under another name, synced and
//! renamed before anything is changed: if the disk is full, nothing is changed. Then a line is
//! appended before and after each write; those need not be synced, for what they are lost with, a
//! power failure, takes the changes along. A journal of another boot is therefore only history.

mod record;

use std::fs::File;
use std::io::{self, Write as _};

use punctual_model::{Codec, KeptSession, Plan, PlanStep, StepOutcome, StepReport, Target, Undone};

use crate::private_dir::{PrivateDir, PrivateDirError};

pub use record::{Entry, Header, JOURNAL_FORMAT, Record, SessionKeeper};

/// The file of the session that goes on.
const ACTIVE: &str = "journal";
/// The file of the last session, for whoever wants to know.
const LAST: &str = "journal.last";

/// The file of a session whose journal could not be read.
const DAMAGED: &str = "journal.damaged";

/// Bytes that the further lines of one setting may take.
const FURTHER_BYTES: u64 = 400;

/// A number of a setting beyond this one is damage.
const MOST_SETTINGS: usize = 1_000_000;

/// A journal could not be written, read or understood.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// The directory or a file in it cannot be used.
    #[error(transparent)]
    State(#[from] PrivateDirError),
    /// A line cannot be appended.
    #[error("append to the journal in {place}")]
    Append {
        /// The directory.
        place: String,
        /// The operating system's words.
        source: io::Error,
    },
    /// It is of a version that this program cannot read.
    #[error("the journal in {place} has format `{format}`, which this program cannot read")]
    Newer {
        /// The directory.
        place: String,
        /// Its format.
        format: String,
    },
    /// Its first line cannot be read, so neither can the rest.
    #[error("the journal in {place} is damaged: {reason}")]
    Damaged {
        /// The directory.
        place: String,
        /// How.
        reason: String,
    },
}

/// What became of one setting, as the journal has it.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Progress {
    /// Whether the write was about to be made.
    pub begun: bool,
    /// What became of it.
    pub outcome: Option<StepOutcome>,
    /// What a guarded setting read after all was applied; inner none: it was gone.
    pub after: Option<Option<String>>,
    /// Whether somebody else had set a guarded setting before it was taken back.
    pub theirs: bool,
    /// What became of taking it back.
    pub undone: Option<Undone>,
}

/// A journal.
#[derive(Debug)]
pub struct Journal {
    /// The files that hold it. Each is enough to undo the session.
    copies: Vec<Copy>,
    header: Header,
    entries: Vec<(Entry, Progress)>,
    keeper: Option<SessionKeeper>,
    complete: bool,
    reverting: bool,
    damaged_lines: Vec<usize>,
    /// Settings whose lines were cut off.
    cut_off: usize,
    torn: bool,
    remarks: Vec<String>,
}

/// One of the files that hold a journal.
#[derive(Debug)]
struct Copy {
    dir: PrivateDir,
    /// None where the file is damaged or cannot be written: nothing is appended to it.
    file: Option<File>,
    /// Where a line that was cut off begins.
    torn_at: Option<u64>,
}

impl Copy {
    fn append(&mut self, bytes: &[u8]) -> Result<(), JournalError> {
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        // The next line must not continue a torn one.
        let cut = self.torn_at.map_or(Ok(()), |at| file.set_len(at));
        // One write(2): a process that is killed has written the line or not.
        cut.and_then(|()| file.write_all(bytes))
            .map_err(|err| self.failed(err))?;
        self.torn_at = None;
        Ok(())
    }

    fn sync(&self) -> Result<(), JournalError> {
        match &self.file {
            Some(file) => file.sync_all().map_err(|err| self.failed(err)),
            None => Ok(()),
        }
    }

    fn failed(&self, source: io::Error) -> JournalError {
        JournalError::Append {
            place: self.dir.path().display().to_string(),
            source,
        }
    }
}

/// What there is in a directory.
#[derive(Debug)]
pub enum Found {
    /// No session.
    Nothing,
    /// A file without a line: a crash of a machine before anything was changed.
    Empty(PrivateDir),
    /// A session.
    Session(Box<Journal>),
}

impl Journal {
    /// Begins a session: writes all that undoes `plan` to each of `dirs`, and waits until it is on
    /// disk.
    ///
    /// # Errors
    ///
    /// Fails where it cannot be written. Then nothing is there, and nothing may be changed.
    pub fn begin(
        dirs: Vec<PrivateDir>,
        mut header: Header,
        plan: &Plan,
    ) -> Result<Self, JournalError> {
        let guards = plan.guards.iter().map(Entry::of_guard);
        let steps = plan.steps.iter().map(Entry::of_step);
        let entries: Vec<(Entry, Progress)> = guards
            .chain(steps)
            .map(|entry| (entry, Progress::default()))
            .collect();
        header.settings = Some(entries.len());
        let mut bytes = Vec::new();
        Record::Session(header.clone()).write(&mut bytes);
        for (seq, (entry, _)) in entries.iter().enumerate() {
            Record::Setting {
                seq,
                setting: entry.clone(),
            }
            .write(&mut bytes);
        }
        let reserve = FURTHER_BYTES * (entries.len() as u64 + 4);
        let mut copies: Vec<Copy> = Vec::new();
        for dir in dirs {
            match dir.write(ACTIVE, &bytes, reserve) {
                Ok(file) => copies.push(Copy {
                    dir,
                    file: Some(file),
                    torn_at: None,
                }),
                Err(err) => {
                    for copy in copies {
                        // What stays of a session that changed nothing is no hindrance.
                        drop(copy.dir.remove(ACTIVE));
                    }
                    return Err(err.into());
                }
            }
        }
        Ok(Self {
            entries,
            ..Self::of(copies, header)
        })
    }

    /// Makes one of which nothing is known but what it is of.
    const fn of(copies: Vec<Copy>, header: Header) -> Self {
        Self {
            copies,
            header,
            entries: Vec::new(),
            keeper: None,
            complete: false,
            reverting: false,
            damaged_lines: Vec::new(),
            cut_off: 0,
            torn: false,
            remarks: Vec::new(),
        }
    }

    /// Looks for a session in `dir`.
    ///
    /// # Errors
    ///
    /// Fails where the journal cannot be read, or its first line not be understood.
    pub fn find(dir: PrivateDir) -> Result<Found, JournalError> {
        Self::find_named(dir, ACTIVE)
    }

    /// Looks for the session that ended last.
    ///
    /// # Errors
    ///
    /// Fails as [`Journal::find`] does.
    pub fn find_last(dir: PrivateDir) -> Result<Option<Self>, JournalError> {
        match Self::find_named(dir, LAST)? {
            Found::Session(journal) => Ok(Some(*journal)),
            Found::Nothing | Found::Empty(_) => Ok(None),
        }
    }

    fn find_named(dir: PrivateDir, name: &str) -> Result<Found, JournalError> {
        let Some(bytes) = dir.read(name)? else {
            return Ok(Found::Nothing);
        };
        if bytes
            .iter()
            .all(|byte| *byte == 0 || byte.is_ascii_whitespace())
        {
            return Ok(Found::Empty(dir));
        }
        let place = dir.path().display().to_string();
        let lines = record::lines(&bytes, &place)?;
        // What cannot be noted can be taken back all the same.
        let file = match dir.append(name) {
            Err(err) if err.is_read_only() => None,
            file => Some(file?),
        };
        let whole = bytes.len()
            - bytes
                .rsplit(|byte| *byte == b'\n')
                .next()
                .map_or(0, <[u8]>::len);
        let copy = Copy {
            dir,
            file,
            torn_at: lines.torn.then_some(whole as u64),
        };
        let mut journal = Self {
            damaged_lines: lines.damaged,
            torn: lines.torn,
            ..Self::of(vec![copy], lines.header)
        };
        for record in lines.records {
            journal.replay(record);
        }
        journal.look_for_a_cut();
        Ok(Found::Session(Box::new(journal)))
    }

    /// The lines of all settings are on disk before one is changed: where some are missing, the file was cut off
    /// later, and what was noted of the others is lost too. Each of them may have been written.
    fn look_for_a_cut(&mut self) {
        let promised = self.header.settings.unwrap_or_default();
        self.cut_off = promised
            .min(MOST_SETTINGS)
            .saturating_sub(self.entries.len());
        if self.cut_off > 0 {
            self.torn = false;
            for (entry, progress) in &mut self.entries {
                progress.begun |= entry.new.is_some();
            }
        }
    }

    fn replay(&mut self, record: Record) {
        match record {
            // A second header would be another session's.
            Record::Session(_) => {}
            Record::Setting { seq, setting } => {
                // Lines before it may be damaged: numbers must still fit.
                while self.entries.len() < seq.min(MOST_SETTINGS) {
                    self.entries.push((Entry::lost(), Progress::default()));
                }
                self.entries.push((setting, Progress::default()));
            }
            Record::Begin { seq } => self.progress(seq, |p| p.begun = true),
            Record::Done { seq, outcome } => self.progress(seq, |p| p.outcome = Some(outcome)),
            Record::After { seq, value } => self.progress(seq, |p| p.after = Some(value)),
            Record::Undone { seq, undone } => self.progress(seq, |p| p.undone = Some(undone)),
            Record::Keeper(keeper) => self.keeper = Some(keeper),
            Record::Complete => self.complete = true,
            Record::Revert { theirs } => {
                self.reverting = true;
                for seq in theirs {
                    self.progress(seq, |p| p.theirs = true);
                }
            }
        }
    }

    fn progress(&mut self, seq: usize, change: impl FnOnce(&mut Progress)) {
        if let Some((_, progress)) = self.entries.get_mut(seq) {
            change(progress);
        }
    }

    /// Adds settings to the session, and waits until they are on disk.
    ///
    /// # Errors
    ///
    /// Fails where they cannot be written: then they must not be changed.
    pub fn add(&mut self, steps: &[PlanStep]) -> Result<(), JournalError> {
        let mut bytes = Vec::new();
        let first = self.entries.len();
        for (seq, step) in (first..).zip(steps) {
            let entry = Entry::of_step(step);
            Record::Setting {
                seq,
                setting: entry.clone(),
            }
            .write(&mut bytes);
            self.entries.push((entry, Progress::default()));
        }
        let synced = self
            .append_bytes(&bytes)
            .and_then(|()| self.copies.iter().try_for_each(Copy::sync));
        if synced.is_err() {
            self.entries.truncate(first);
        }
        synced
    }

    /// Appends a line.
    ///
    /// # Errors
    ///
    /// Fails as `write(2)` does.
    pub fn note(&mut self, record: Record) -> Result<(), JournalError> {
        let mut bytes = Vec::new();
        record.write(&mut bytes);
        self.append_bytes(&bytes)?;
        self.replay(record);
        Ok(())
    }

    fn append_bytes(&mut self, bytes: &[u8]) -> Result<(), JournalError> {
        // Each copy gets the line, also where another one cannot be written.
        let results: Vec<_> = self
            .copies
            .iter_mut()
            .map(|copy| copy.append(bytes))
            .collect();
        self.torn = false;
        results.into_iter().collect()
    }

    /// Takes another file of the same session along: what is noted goes to both, and it ends with
    /// this one. Of two files the one that knows more counts.
    #[must_use]
    pub(crate) fn joined(self: Box<Self>, other: Self) -> Self {
        // A line is written to one after the other: a kill in between leaves one of them behind.
        let knows = |journal: &Self| {
            let done = |(_, progress): &(Entry, Progress)| {
                usize::from(progress.begun)
                    + usize::from(progress.outcome.is_some())
                    + usize::from(progress.after.is_some())
                    + usize::from(progress.undone.is_some())
            };
            (
                std::cmp::Reverse(journal.damaged_lines.len() + journal.cut_off),
                journal.entries.len(),
                journal.entries.iter().map(done).sum::<usize>(),
                usize::from(journal.complete) + usize::from(journal.keeper.is_some()),
            )
        };
        let (mut more, mut less) = if knows(&other) > knows(self.as_ref()) {
            (other, *self)
        } else {
            (*self, other)
        };
        more.copies.append(&mut less.copies);
        more
    }

    /// Takes a damaged file of the same session along, which ends with this one.
    pub(crate) fn join_damaged(&mut self, dir: PrivateDir) {
        self.copies.push(Copy {
            dir,
            file: None,
            torn_at: None,
        });
    }

    /// Ends the session: its files become the last one's.
    ///
    /// # Errors
    ///
    /// Fails as `rename(2)` does.
    pub fn close(self) -> Result<(), JournalError> {
        let results: Vec<_> = self
            .copies
            .iter()
            .map(|copy| match copy.file {
                Some(_) => copy.dir.rename(ACTIVE, LAST),
                // Nobody could read it as the last session's.
                None => copy.dir.rename(ACTIVE, DAMAGED),
            })
            .collect();
        Ok(results.into_iter().collect::<Result<(), _>>()?)
    }

    /// Returns what is known of the session.
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// Returns the session.
    pub const fn session(&self) -> &KeptSession {
        &self.header.session
    }

    /// Returns the settings, in the order in which they were to be changed.
    pub fn entries(&self) -> &[(Entry, Progress)] {
        &self.entries
    }

    /// Returns the process that holds what must be held, and reverts in the end.
    pub const fn keeper(&self) -> Option<&SessionKeeper> {
        self.keeper.as_ref()
    }

    /// Whether everything had been applied.
    pub const fn is_complete(&self) -> bool {
        self.complete
    }

    /// Whether something in it cannot be read or is missing, so that settings are unknown.
    pub const fn is_damaged(&self) -> bool {
        !self.damaged_lines.is_empty() || self.cut_off > 0
    }

    /// Says what in it cannot be read or is missing.
    pub fn damage(&self) -> Vec<String> {
        let line = |line| format!("line {line} of the journal is damaged: its setting is unknown");
        let mut said: Vec<String> = self.damaged_lines.iter().map(line).collect();
        if self.cut_off > 0 {
            said.push(format!(
                "the journal is damaged, its end is missing: {} of its {} settings are unknown, and a reboot \
                 restores them",
                self.cut_off,
                self.cut_off + self.entries.len()
            ));
        }
        said
    }

    /// Whether the last line was cut off: its writer was interrupted, before what it announced.
    pub const fn is_torn(&self) -> bool {
        self.torn
    }

    /// Whether a revert has begun.
    pub const fn is_reverting(&self) -> bool {
        self.reverting
    }

    /// Notes that the threads are gone, with the namespace in which they had their numbers.
    pub(crate) fn lose_threads(&mut self) {
        let written = self.entries.iter().any(|(_, progress)| progress.begun);
        let entries = self.entries.iter().enumerate();
        let gone = entries.filter(|(_, (entry, progress))| {
            entry.target.thread().is_some()
                && (progress.begun || written && entry.new.is_none())
                && !progress.undone.as_ref().is_some_and(Undone::is_fine)
        });
        for seq in gone.map(|(seq, _)| seq).collect::<Vec<_>>() {
            let undone = Undone::Gone;
            drop(self.note(Record::Undone { seq, undone }));
            // Also where it cannot be noted.
            self.progress(seq, |progress| progress.undone = Some(Undone::Gone));
        }
    }

    /// Adds what one should know of where this journal is from.
    pub(crate) fn remark(&mut self, remark: String) {
        self.remarks.push(remark);
    }

    /// Returns what one should know of where this journal is from.
    pub fn remarks(&self) -> &[String] {
        &self.remarks
    }

    /// Reports every setting as the journal has it.
    pub fn report(&self) -> Vec<StepReport> {
        self.entries
            .iter()
            .filter(|(entry, _)| !entry.is_lost())
            .map(|(entry, progress)| entry.report(progress))
            .collect()
    }
}

/// Removes a journal without a line.
///
/// # Errors
///
/// Fails as `unlink(2)` does.
pub fn discard_empty(dir: &PrivateDir) -> Result<(), JournalError> {
    Ok(dir.remove(ACTIVE)?)
}

/// Moves a journal that cannot be read out of the way, for whoever wants to look at it.
pub(crate) fn set_aside(dir: &PrivateDir) -> Result<(), JournalError> {
    Ok(dir.rename(ACTIVE, DAMAGED)?)
}

/// Whether two values of a setting are the same.
pub(crate) fn agree(
    target: &Target,
    codec: Codec,
    a: &str,
    b: &str,
    online: &punctual_model::CpuSet,
) -> bool {
    match (target, codec) {
        (Target::ThreadCpus(_), _) => punctual_model::masks_agree(a, b, online),
        _ => a == b,
    }
}

#[cfg(test)]
mod tests;
