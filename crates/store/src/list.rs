// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What is in a store, the unreadable included.

use std::io;
use std::path::PathBuf;

use punctual_sys::{At as _, PathError};
use uuid::Uuid;

use crate::clean::is_temporary;
use crate::disk::sync_dir;
use crate::error::{ReadError, StoreError};
use crate::place::{Runs, TRASH, id_of_name};
use crate::store::Store;
use crate::stored::StoredRun;

/// Everything in a store.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Listing {
    /// The runs, that which was measured or imported last first.
    pub runs: Vec<RunEntry>,
    /// What lies in the directory of the runs and is none.
    pub foreign: Vec<PathBuf>,
}

/// One run, as far as it can be read.
#[derive(Debug)]
pub struct RunEntry {
    /// The id, from the name of the directory.
    pub id: Uuid,
    /// The directory.
    pub path: PathBuf,
    /// The run, or why it cannot be read. [`ReadError::Newer`]: by this program.
    pub run: Result<StoredRun, ReadError>,
}

/// The names in the directory of the runs.
#[derive(Debug, Default)]
pub(crate) struct Names {
    /// Newest first, which is not by the start of runs: an imported one began before it got its id.
    pub(crate) ids: Vec<Uuid>,
    pub(crate) foreign: Vec<PathBuf>,
}

impl Store {
    /// Reads every run.
    ///
    /// # Errors
    /// `EACCES` if the directory of the runs cannot be read. A run that cannot be read is not an error
    /// but an entry.
    pub fn entries(&self) -> Result<Listing, StoreError> {
        let names = Names::read(self.runs())?;
        let runs = names.ids.into_iter().map(|id| self.entry(id)).collect();
        Ok(Listing {
            runs,
            foreign: names.foreign,
        })
    }

    /// Reads the run of this id, as far as it can be read.
    pub fn entry(&self, id: Uuid) -> RunEntry {
        RunEntry {
            id,
            run: read_run(self.runs(), id),
            path: self.runs().path(id),
        }
    }

    /// Whether there is a run of this id, readable or not.
    pub fn has(&self, id: Uuid) -> bool {
        let held = self.runs().open();
        held.is_ok_and(|held| held.runs.stat(id.to_string()).is_ok())
    }

    /// Removes a run, readable or not. A crash meanwhile leaves it whole or gone.
    ///
    /// # Errors
    /// `ENOENT` if there is none, `EACCES`, `EROFS` as [`StoreError::Path`].
    pub fn remove(&self, id: Uuid) -> Result<(), StoreError> {
        let runs = &self.held_to_write()?.runs;
        let (run, trash) = (id.to_string(), format!("{TRASH}{id}"));
        let at = |name: &str| runs.path().join(name);
        // From an earlier removal that did not come to its end.
        if runs.has_dir(&trash) {
            runs.remove_tree(&trash).at("remove", &at(&trash))?;
        } else if runs.stat(&trash).is_ok() {
            let kind = io::ErrorKind::AlreadyExists;
            let err = io::Error::new(kind, "in the way, and not made by this program");
            return Err(PathError::new("replace", &at(&trash), err).into());
        }
        runs.rename(&run, runs, &trash).at("remove", &at(&run))?;
        sync_dir(runs)?;
        Ok(runs.remove_tree(&trash).at("remove", &at(&trash))?)
    }
}

impl Names {
    /// Reads the names; no directory has none.
    pub(crate) fn read(runs: &Runs) -> Result<Self, PathError> {
        let held = match runs.open() {
            Err(err) if err.is_missing() => return Ok(Self::default()),
            held => held?,
        };
        let dir = &held.runs;
        let mut names = Self::default();
        for name in dir.names().at("read", dir.path())? {
            match name.to_str().and_then(id_of_name) {
                Some(id) => names.ids.push(id),
                None if is_temporary(dir, &name) => {}
                None => names.foreign.push(dir.path().join(name)),
            }
        }
        names.ids.sort_unstable_by(|a, b| b.cmp(a));
        names.foreign.sort_unstable();
        Ok(names)
    }
}

/// Reads a run of the store, whose record must have the id that its directory has.
pub(crate) fn read_run(runs: &Runs, id: Uuid) -> Result<StoredRun, ReadError> {
    let run = StoredRun::of_store(runs, id)?;
    if run.record().id != id.to_string() {
        return Err(ReadError::OtherId {
            path: runs.path(id),
            found: run.record().id.clone(),
        });
    }
    Ok(run)
}
