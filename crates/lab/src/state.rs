// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What is done of an experiment, on disk: survives SIGKILL, reboots and power loss.
//!
//! A directory has the experiment's file as it was given, the plan, and a log with a line before
//! and a line after each run, each synced. A run that began and has no end is the one that was in
//! flight: it is looked for in the store by its id, and done again only if it is not there.

mod log;

pub use log::{Attempt, Line, RunEnd};

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use punctual_sys::dir::read_regular;
use punctual_sys::{At as _, PathError, random};
use rustix::fs::{FlockOperation, flock};
use uuid::Uuid;

use crate::error::LabError;
use crate::file::FILE_LIMIT;
use crate::plan::{PLAN_FORMAT, Plan, Slot};
use log::read_log;
use punctual_model::json;

const FILE: &str = "experiment.toml";
const PLAN: &str = "plan.json";
const LOG: &str = "log.jsonl";
const LOCK: &str = "lock";

/// The state of one experiment, locked while this lives.
#[derive(Debug)]
pub struct State {
    dir: PathBuf,
    plan: Plan,
    text: String,
    log: File,
    attempts: Vec<Attempt>,
    finished: Option<String>,
    // Held as long as the experiment is carried out here.
    _lock: File,
}

/// The state of an experiment as somebody reads it who does not carry it out.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// The plan.
    pub plan: Plan,
    /// Text of the experiment's file.
    pub text: String,
    /// All tries, in their order.
    pub attempts: Vec<Attempt>,
    /// Why it is over before all blocks are done, if it is.
    pub finished: Option<String>,
    /// How many blocks it had and got, each time that it went on by an edited file.
    pub replanned: Vec<(u32, u32)>,
}

impl Snapshot {
    /// Reads the state in `dir`.
    ///
    /// # Errors
    ///
    /// [`LabError::Path`] if a file cannot be read, [`LabError::State`] if one is damaged.
    pub fn read(dir: &Path) -> Result<Self, LabError> {
        let text = read(&dir.join(FILE), FILE_LIMIT)?;
        let path = dir.join(PLAN);
        let json = read(&path, FILE_LIMIT * 64)?;
        let plan: Plan =
            serde_json::from_slice(json.as_bytes()).map_err(|err| LabError::State {
                path: path.clone(),
                reason: format!("damaged: {err}"),
            })?;
        if plan.format != PLAN_FORMAT {
            return Err(LabError::State {
                path,
                reason: format!("format {}, expected {PLAN_FORMAT}", plan.format),
            });
        }
        let log = read_log(&dir.join(LOG))?;
        Ok(Self {
            plan,
            text,
            attempts: log.attempts,
            finished: log.finished,
            replanned: log.replanned,
        })
    }
}

impl State {
    /// Makes the directory of a new experiment.
    ///
    /// # Errors
    ///
    /// [`LabError::State`] if there is one of that name; [`LabError::Path`] if it cannot be
    /// written. Nothing half-written stays.
    pub fn create(dir: &Path, plan: &Plan, text: &str) -> Result<Self, LabError> {
        if dir.symlink_metadata().is_ok() {
            return Err(LabError::State {
                path: dir.to_owned(),
                reason: "an experiment of that name exists".to_owned(),
            });
        }
        let parent = dir.parent().unwrap_or(dir);
        fs::create_dir_all(parent).at("create", parent)?;
        let tmp = parent.join(format!(".tmp-{}", random::id().map_err(LabError::Id)?));
        let made =
            make(&tmp, plan, text).and_then(|()| Ok(fs::rename(&tmp, dir).at("create", dir)?));
        if let Err(err) = made {
            // Best effort: the first error is the one to tell.
            drop(fs::remove_dir_all(&tmp));
            return Err(err);
        }
        sync_dir(parent)?;
        Self::open(dir)
    }

    /// Opens the state in `dir` to go on.
    ///
    /// # Errors
    ///
    /// [`LabError::Busy`] if somebody else carries it out; [`LabError::Path`];
    /// [`LabError::State`] if it is damaged beyond a torn last line.
    pub fn open(dir: &Path) -> Result<Self, LabError> {
        let lock = lock(dir)?;
        let snapshot = Snapshot::read(dir)?;
        let path = dir.join(LOG);
        let whole = read_log(&path)?.whole;
        let log = OpenOptions::new()
            .write(true)
            .open(&path)
            .at("open", &path)?;
        // A torn last line is what a power loss leaves: it said nothing that anybody relied on.
        log.set_len(whole).at("repair", &path)?;
        log.sync_all().at("sync", &path)?;
        drop(log);
        let log = OpenOptions::new()
            .append(true)
            .open(&path)
            .at("open", &path)?;
        Ok(Self {
            dir: dir.to_owned(),
            plan: snapshot.plan,
            text: snapshot.text,
            log,
            attempts: snapshot.attempts,
            finished: snapshot.finished,
            _lock: lock,
        })
    }

    /// Removes the experiment in `dir`: its plan and its notes, none of its runs.
    ///
    /// # Errors
    ///
    /// [`LabError::Busy`] if somebody carries it out; [`LabError::Path`] if it cannot be removed.
    pub fn remove(dir: &Path) -> Result<(), LabError> {
        let _lock = lock(dir)?;
        // At once: a directory of which half is gone could be taken for a damaged experiment.
        let parent = dir.parent().unwrap_or(dir);
        let tmp = parent.join(format!(".tmp-{}", random::id().map_err(LabError::Id)?));
        fs::rename(dir, &tmp).at("remove", dir)?;
        fs::remove_dir_all(&tmp).at("remove", &tmp)?;
        Ok(sync_dir(parent)?)
    }

    /// Goes on with another plan and text, of which [`crate::replan::obstacle`] must have found that they are of the same
    /// experiment.
    ///
    /// # Errors
    ///
    /// [`LabError::Path`] if a file cannot be written.
    pub fn replan(&mut self, plan: &Plan, text: &str) -> Result<(), LabError> {
        let before = self.plan.blocks;
        // One of the two alone can be gone on with too: cells and order are the same in both.
        replace(&self.dir, FILE, text.as_bytes())?;
        replace(&self.dir, PLAN, &json(plan, &self.dir.join(PLAN))?)?;
        self.append(&Line::Replanned {
            blocks: (before, plan.blocks),
        })?;
        self.plan = plan.clone();
        text.clone_into(&mut self.text);
        self.finished = None;
        Ok(())
    }

    /// Returns the plan.
    pub const fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Returns the text of the experiment's file.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns all tries, in their order.
    pub fn attempts(&self) -> &[Attempt] {
        &self.attempts
    }

    /// Returns why it is over before all blocks are done, if it is.
    pub fn finished(&self) -> Option<&str> {
        self.finished.as_deref()
    }

    /// Returns the directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Notes that a run is about to begin.
    pub(crate) fn begin(&mut self, slot: Slot, run: Uuid) -> Result<(), LabError> {
        self.append(&Line::Begin {
            block: slot.block,
            position: slot.position,
            cell: slot.cell,
            measurement: slot.measurement,
            run,
        })?;
        self.attempts.push(Attempt {
            slot,
            run,
            end: None,
            seconds: 0.0,
            detail: None,
        });
        Ok(())
    }

    /// Notes how a run ended.
    pub(crate) fn end(
        &mut self,
        run: Uuid,
        end: RunEnd,
        seconds: f64,
        detail: Option<String>,
    ) -> Result<(), LabError> {
        self.append(&Line::End {
            run,
            end,
            seconds,
            detail: detail.clone(),
        })?;
        if let Some(attempt) = self.attempts.iter_mut().rfind(|a| a.run == run) {
            attempt.end = Some(end);
            attempt.seconds = seconds;
            attempt.detail = detail;
        }
        Ok(())
    }

    /// Notes that it is over.
    pub(crate) fn finish(&mut self, reason: &str) -> Result<(), LabError> {
        self.append(&Line::Finished {
            reason: reason.to_owned(),
        })?;
        self.finished = Some(reason.to_owned());
        Ok(())
    }

    fn append(&mut self, line: &Line) -> Result<(), LabError> {
        let path = self.dir.join(LOG);
        let mut text = json::line(line).map_err(|err| LabError::State {
            path: path.clone(),
            reason: err.to_string(),
        })?;
        text.push(b'\n');
        let written = self.log.write_all(&text);
        Ok(written
            .and_then(|()| self.log.sync_data())
            .at("write", &path)?)
    }
}

fn make(dir: &Path, plan: &Plan, text: &str) -> Result<(), LabError> {
    fs::create_dir(dir).at("create", dir)?;
    let json = json(plan, &dir.join(PLAN))?;
    for (name, bytes) in [
        (FILE, text.as_bytes()),
        (PLAN, json.as_slice()),
        (LOG, b""),
        (LOCK, b""),
    ] {
        let path = dir.join(name);
        let mut file = File::create_new(&path).at("create", &path)?;
        file.write_all(bytes)
            .and_then(|()| file.sync_all())
            .at("write", &path)?;
    }
    Ok(sync_dir(dir)?)
}

fn json(plan: &Plan, path: &Path) -> Result<Vec<u8>, LabError> {
    json::indented(plan).map_err(|err| LabError::State {
        path: path.to_owned(),
        reason: err.to_string(),
    })
}

/// Puts new content in place of a file, or leaves the old one.
fn replace(dir: &Path, name: &str, content: &[u8]) -> Result<(), PathError> {
    let (path, new) = (dir.join(name), dir.join(format!("{name}.new")));
    let mut file = File::create(&new).at("create", &new)?;
    file.write_all(content)
        .and_then(|()| file.sync_all())
        .at("write", &new)?;
    fs::rename(&new, &path).at("write", &path)?;
    sync_dir(dir)
}

fn lock(dir: &Path) -> Result<File, LabError> {
    let path = dir.join(LOCK);
    let lock = File::open(&path).at("open", &path)?;
    match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(lock),
        Err(_) => Err(LabError::Busy {
            path: dir.to_owned(),
        }),
    }
}

fn sync_dir(dir: &Path) -> Result<(), PathError> {
    File::open(dir)
        .and_then(|dir| dir.sync_all())
        .at("sync", dir)
}

fn read(path: &Path, limit: u64) -> Result<String, LabError> {
    text_of(read_regular(path, limit).at("read", path)?, path)
}

fn text_of(bytes: Vec<u8>, path: &Path) -> Result<String, LabError> {
    String::from_utf8(bytes).map_err(|_| LabError::State {
        path: path.to_owned(),
        reason: "not text".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> Plan {
        Plan {
            format: PLAN_FORMAT.to_owned(),
            name: "x".to_owned(),
            as_written: false,
            seed: 1,
            factors: Vec::new(),
            cells: vec![Vec::new()],
            measurements: vec!["wakeup".to_owned()],
            warm_up_blocks: 0,
            blocks: 2,
            aliases: Vec::new(),
            skipped: Vec::new(),
        }
    }

    const SLOT: Slot = Slot {
        block: 0,
        position: 0,
        cell: 0,
        measurement: 0,
    };

    #[test]
    fn a_torn_last_line_is_dropped_and_the_rest_is_kept() {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join("x");
        let mut state = State::create(&dir, &plan(), "text").unwrap();
        let (one, two) = (random::id().unwrap(), random::id().unwrap());
        state.begin(SLOT, one).unwrap();
        state.end(one, RunEnd::Valid, 1.5, None).unwrap();
        state.begin(SLOT, two).unwrap();
        let why = "950000 of each 1000000 µs".to_owned();
        state.end(two, RunEnd::Invalid, 1.5, Some(why)).unwrap();
        drop(state);
        let log = dir.join(LOG);
        let mut whole = fs::read(&log).unwrap();
        let rest = whole.split_off(
            whole
                .trim_ascii_end()
                .iter()
                .rposition(|b| *b == b'\n')
                .unwrap()
                + 1,
        );
        let begun = whole.clone();
        // Wherever the last line is torn, in the middle of a letter too.
        for torn in 0..rest.len() {
            fs::write(&log, [&begun[..], &rest[..torn]].concat()).unwrap();
            let state = State::open(&dir).unwrap();
            assert_eq!(state.attempts().len(), 2, "{torn}");
            assert_eq!(state.attempts()[1].end, None);
        }
        for torn in 1..40 {
            fs::write(&log, whole.get(..whole.len() - torn).unwrap()).unwrap();
            let state = State::open(&dir).unwrap();
            assert_eq!(state.attempts().len(), 1, "{torn}");
            assert_eq!(state.attempts()[0].end, Some(RunEnd::Valid));
            drop(state);
            // The repair leaves whole lines alone.
            let repaired = fs::read(&log).unwrap();
            assert!(repaired.ends_with(b"\n") && whole.starts_with(&repaired));
        }
    }

    #[test]
    fn a_damaged_line_is_named() {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join("x");
        drop(State::create(&dir, &plan(), "").unwrap());
        fs::write(
            dir.join(LOG),
            "{\"event\":\"finished\",\"reason\":\"x\"}\nrubbish\n",
        )
        .unwrap();
        let err = State::open(&dir).unwrap_err().to_string();
        assert!(err.contains("log.jsonl: line 2:"), "{err}");
    }

    #[test]
    fn a_time_that_no_run_takes_is_an_error_with_its_line() {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join("x");
        let mut state = State::create(&dir, &plan(), "").unwrap();
        let run = random::id().unwrap();
        state.begin(SLOT, run).unwrap();
        state.end(run, RunEnd::Valid, 1.5, None).unwrap();
        drop(state);
        let log = dir.join(LOG);
        let good = String::from_utf8(fs::read(&log).unwrap()).unwrap();
        for seconds in ["1e300", "-1.0", "4e8"] {
            let bad = good.replace("\"seconds\":1.5", &format!("\"seconds\":{seconds}"));
            assert_ne!(bad, good);
            fs::write(&log, bad).unwrap();
            let err = State::open(&dir).unwrap_err().to_string();
            assert!(
                err.contains("log.jsonl: line 2: ") && err.contains("impossible"),
                "{err}"
            );
        }
    }

    #[test]
    fn an_experiment_that_is_replanned_keeps_its_runs_and_is_not_over() {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join("x");
        let mut state = State::create(&dir, &plan(), "old").unwrap();
        let run = random::id().unwrap();
        state.begin(SLOT, run).unwrap();
        state.end(run, RunEnd::Valid, 1.5, None).unwrap();
        state.finish("all blocks are done").unwrap();
        let more = Plan {
            blocks: 5,
            ..plan()
        };
        state.replan(&more, "new").unwrap();
        assert_eq!(state.finished(), None);
        drop(state);
        let read = Snapshot::read(&dir).unwrap();
        assert_eq!((read.plan.blocks, read.text.as_str()), (5, "new"));
        assert_eq!((read.attempts.len(), read.finished), (1, None));
        assert_eq!(read.replanned, [(2, 5)]);
    }

    #[test]
    fn an_experiment_is_removed_unless_it_is_being_carried_out() {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join("x");
        let state = State::create(&dir, &plan(), "").unwrap();
        assert!(matches!(State::remove(&dir), Err(LabError::Busy { .. })));
        drop(state);
        State::remove(&dir).unwrap();
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
    }

    #[test]
    fn two_cannot_carry_out_one_experiment() {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join("x");
        let first = State::create(&dir, &plan(), "").unwrap();
        assert!(matches!(State::open(&dir), Err(LabError::Busy { .. })));
        assert!(matches!(
            State::create(&dir, &plan(), ""),
            Err(LabError::State { .. })
        ));
        drop(first);
        State::open(&dir).unwrap();
    }
}
